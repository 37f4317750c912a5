//! Effects on the cluster: what function pods need there.

pub mod pull_secret;
