//! The kubelet: runs pods through containerd, in control groups of its own tree.

use anyhow::Result;
use serde_json::json;

use super::{Launch, Ready, containerd};
use crate::binaries::Binaries;
use crate::kubeconfig;
use crate::layout::{
    CLUSTER_DOMAIN, NODE_ADDRESS, NODE_NAME, ca_certificate, control_group, state, write,
};

const HEALTH_PORT: u16 = 10248;

pub(super) const READY: Ready = Ready::Http {
    port: HEALTH_PORT,
    path: "/healthz",
};

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "healthzBindAddress": NODE_ADDRESS,
        "healthzPort": HEALTH_PORT,
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": true },
            "x509": { "clientCAFile": ca_certificate() },
        },
        "authorization": { "mode": "Webhook" },
        "clusterDNS": [NODE_ADDRESS],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": "/etc/resolv.conf",
        "containerRuntimeEndpoint": format!("unix://{}", containerd::SOCKET),
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        // containerd has the same setting; there may be no systemd to ask.
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", control_group()),
        "failSwapOn": false,
        "failCgroupV1": false,
        "oomScoreAdj": 0,
        // A developer's full disk is no reason to evict; neither is it one to delete images.
        "evictionHard": {
            "memory.available": "1%",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        // By default a volume over its limit is found after two minutes.
        "volumeStatsAggPeriod": "5s",
        "serializeImagePulls": false,
        // The defaults throttle a test that starts many pods at once.
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
    });
    let file = state("kubelet/config.json");
    write(&file, &config.to_string())?;
    Ok(Launch {
        program: binaries.program("kubelet"),
        arguments: vec![
            format!("--config={}", file.display()),
            format!("--kubeconfig={}", kubeconfig::of("kubelet").display()),
            format!("--node-ip={NODE_ADDRESS}"),
            format!("--hostname-override={NODE_NAME}"),
            "--v=2".to_owned(),
        ],
    })
}
