//! The controllers: service accounts, endpoints, garbage collection, namespaces.

use anyhow::Result;

use super::{Launch, Ready};
use crate::binaries::Binaries;
use crate::kubeconfig;
use crate::layout::{NODE_ADDRESS, POD_RANGE, SERVICE_RANGE, ca_certificate};
use crate::pki;

pub(super) const READY: Ready = Ready::Port(10257);

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let kubeconfig = kubeconfig::of("controller-manager");
    let (signing_key, _) = pki::service_account_keys();
    Ok(Launch {
        program: binaries.program("kube-controller-manager"),
        arguments: vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--bind-address={NODE_ADDRESS}"),
            format!("--cluster-cidr={POD_RANGE}"),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
            format!("--root-ca-file={}", ca_certificate().display()),
            format!(
                "--service-account-private-key-file={}",
                signing_key.display()
            ),
            "--use-service-account-credentials=true".to_owned(),
            // Its own limit would cost four seconds of every start.
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=500".to_owned(),
            // Alone, it need not spend seconds on winning an election.
            "--leader-elect=false".to_owned(),
            "--v=1".to_owned(),
        ],
    })
}
