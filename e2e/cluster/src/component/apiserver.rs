//! The API server: RBAC and Node authorization as in a real cluster, and an audit log.

use anyhow::Result;

use super::{Launch, Ready, etcd};
use crate::binaries::Binaries;
use crate::layout::{
    API_PORT, CLUSTER_DOMAIN, NODE_ADDRESS, SERVICE_RANGE, audit_log, ca_certificate, state, write,
};
use crate::pki::{self, Identity};

/// One line per request that was answered, without bodies: enough to count who asked what.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ['system:apiserver', 'system:kube-controller-manager', 'system:kube-scheduler']
- level: None
  userGroups: ['system:nodes']
- level: Metadata
";

pub(super) const READY: Ready = Ready::ApiServer;

pub(super) fn launch(binaries: &Binaries) -> Result<Launch> {
    let policy = state("kube-apiserver/audit-policy.yaml");
    write(&policy, AUDIT_POLICY)?;
    let serving = Identity::of("apiserver");
    let kubelet_client = Identity::of("admin");
    let (signing_key, verifying_key) = pki::service_account_keys();
    let issuer = format!("https://kubernetes.default.svc.{CLUSTER_DOMAIN}");
    Ok(Launch {
        program: binaries.program("kube-apiserver"),
        arguments: vec![
            format!("--etcd-servers={}", etcd::CLIENT_URL),
            format!("--advertise-address={NODE_ADDRESS}"),
            format!("--bind-address={NODE_ADDRESS}"),
            format!("--secure-port={API_PORT}"),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
            format!("--client-ca-file={}", ca_certificate().display()),
            format!("--tls-cert-file={}", serving.certificate.display()),
            format!("--tls-private-key-file={}", serving.key.display()),
            format!(
                "--kubelet-client-certificate={}",
                kubelet_client.certificate.display()
            ),
            format!("--kubelet-client-key={}", kubelet_client.key.display()),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            format!("--service-account-issuer={issuer}"),
            format!(
                "--service-account-signing-key-file={}",
                signing_key.display()
            ),
            format!("--service-account-key-file={}", verifying_key.display()),
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", audit_log().display()),
            "--v=1".to_owned(),
        ],
    })
}
