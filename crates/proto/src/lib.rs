//! The wire contract: `evaluator.proto` and its bindings, shared by both
//! servers, the command-line client and the tests. Nothing here decides
//! anything; `service` says what the messages mean.

// Generated code is not held to our lints.
#![allow(
    missing_debug_implementations,
    unreachable_pub,
    clippy::all,
    clippy::pedantic
)]

tonic::include_proto!("evaluator");

/// The service's full name, as health checks ask for it.
pub const SERVICE_NAME: &str = function_evaluator_server::SERVICE_NAME;

/// The encoded `FileDescriptorSet` of the contract, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/evaluator.bin"));
