//! TLS, for clusters without a mesh and without network policies that keep others out.
//!
//! ```text
//! files ─► settings: a rustls configuration ─► Current follows them ─► Port: connections of the server
//!              └ clients: whose certificates count                     client: those of eval and probe
//! ```
//! Without the flags the port speaks plain text, as Porch does; nothing here is used then.

mod client;
mod clients;
mod current;
mod port;
mod settings;

pub(crate) use client::{FLAGS as CLIENT_FLAGS, TlsClient};
pub(crate) use clients::ClientName;
pub(crate) use current::Current;
pub(crate) use port::Port;
