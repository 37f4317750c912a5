//! Container images, without Kubernetes. So far: how they are named. Talking to
//! registries (manifests, credentials, TLS) will live here, too.

mod reference;

pub use reference::{InvalidReference, Reference};
