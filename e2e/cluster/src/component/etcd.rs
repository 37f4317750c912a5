//! The API server's storage: in one state directory, on loopback, without waiting for the disk.

use anyhow::Result;

use super::{Launch, Ready};
use crate::binaries::Binaries;
use crate::layout::{NODE_ADDRESS, state};

/// Where the API server finds it.
pub(super) const CLIENT_URL: &str = "http://127.0.0.1:2379";
const METRICS_PORT: u16 = 2381;

pub(super) const READY: Ready = Ready::Http {
    port: METRICS_PORT,
    path: "/health",
};

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let peer = "http://127.0.0.1:2380";
    Ok(Launch {
        program: binaries.program("etcd"),
        arguments: vec![
            "--name=node".to_owned(),
            format!("--data-dir={}", state("etcd").display()),
            format!("--listen-client-urls={CLIENT_URL}"),
            format!("--advertise-client-urls={CLIENT_URL}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=node={peer}"),
            format!("--listen-metrics-urls=http://{NODE_ADDRESS}:{METRICS_PORT}"),
            // A node that loses power is thrown away, so syncing would protect nothing.
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ],
    })
}
