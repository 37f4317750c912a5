//! Service addresses, as nftables rules of the node's own network namespace.

use anyhow::Result;
use serde_json::json;

use super::{Launch, Ready};
use crate::binaries::Binaries;
use crate::kubeconfig;
use crate::layout::{NODE_ADDRESS, NODE_NAME, POD_RANGE, state, write};

const HEALTH_PORT: u16 = 10256;

pub(super) const READY: Ready = Ready::Http {
    port: HEALTH_PORT,
    path: "/healthz",
};

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": POD_RANGE,
        "hostnameOverride": NODE_NAME,
        "bindAddress": NODE_ADDRESS,
        "healthzBindAddress": format!("{NODE_ADDRESS}:{HEALTH_PORT}"),
        "clientConnection": { "kubeconfig": kubeconfig::of("kube-proxy") },
        // These would be set for the whole machine; 0 leaves them alone.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        // A lower score needs a capability that containers and small machines lack.
        "oomScoreAdj": 0,
        "nftables": { "minSyncPeriod": "100ms" },
    });
    let file = state("kube-proxy/config.json");
    write(&file, &config.to_string())?;
    Ok(Launch {
        program: binaries.program("kube-proxy"),
        arguments: vec![format!("--config={}", file.display()), "--v=1".to_owned()],
    })
}
