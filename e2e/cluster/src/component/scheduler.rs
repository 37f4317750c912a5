//! The scheduler: one node to choose from, and the verdict "unschedulable".

use anyhow::Result;

use super::{Launch, Ready};
use crate::binaries::Binaries;
use crate::kubeconfig;
use crate::layout::NODE_ADDRESS;

pub(super) const READY: Ready = Ready::Port(10259);

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    Ok(Launch {
        program: binaries.program("kube-scheduler"),
        arguments: vec![
            format!("--kubeconfig={}", kubeconfig::of("scheduler").display()),
            format!("--bind-address={NODE_ADDRESS}"),
            // Its own limit of 50 would make a thousand pods wait for each other.
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=500".to_owned(),
            "--leader-elect=false".to_owned(),
            "--v=1".to_owned(),
        ],
    })
}
