//! What is asked of real registries, and what becomes of their answers. In a program apart from
//! the node's tests: some of these have to be quick.

mod auth;
mod metadata;
mod tags;
mod tls;
