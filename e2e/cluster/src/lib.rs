//! A real Kubernetes node on this machine: for tests, and for people who want to look at one.
//!
//! It lives in a network and a mount namespace of its own and in one state directory, so the host
//! keeps its addresses, firewall, mounts and settings, and everything goes when it goes. At most one
//! node exists at a time, and one more for each name that `FUNCTION_RUNNER_NODE` is given. `docs/testing.md` shows it in use.

pub mod binaries;
pub mod cgroup;
mod command;
pub mod component;
pub mod down;
pub mod exec;
mod kubeconfig;
pub mod layout;
mod lock;
pub mod namespaces;
mod packages;
mod parts;
pub mod peer;
mod pki;
mod prerequisites;
pub mod process;
pub mod registry;
pub mod seed;
pub mod status;
pub mod up;

pub use images::layout as image;
