//! The way to the cluster: in-cluster configuration, else `KUBECONFIG`, else the
//! default kubeconfig. And who and where we are in it.

pub(crate) mod api;
#[cfg(test)]
pub(crate) mod fake;
mod headers;

use std::{env, time::Duration};

use anyhow::{Context as _, Result};
use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};
use tower::util::MapResponseLayer;

pub(crate) use headers::{ServerHeaders, as_asked};

/// How to go on without any of this.
pub(crate) const WITHOUT_PODS: &str =
    "to run functions as local executables only, start with --disable-runtimes=pod";

/// Longer than an API server at work takes, short enough to try again.
const CONNECT: Duration = Duration::from_secs(5);

/// The longest silence on a connection. Watches are ended by the API server before
/// that, so a connection that is silent for longer is dead, whatever TCP thinks.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);

/// How long the API server lets a watch go on; another one continues it.
pub(crate) const WATCH_SECONDS: u32 = 30;

/// Where the runner is when its service account does not say.
const DEFAULT_NAMESPACE: &str = "porch-system";

/// Every pod of a cluster has it.
pub(crate) const IN_CLUSTER: &str = "KUBERNETES_SERVICE_HOST";

#[allow(missing_debug_implementations)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// What its answers say beside their content.
    pub(crate) headers: ServerHeaders,
    /// The runner's own.
    pub(crate) namespace: String,
    /// Names this runner among others: the same after a restart of its
    /// container, another one for another pod.
    pub(crate) identity: String,
}

impl Cluster {
    /// Reads the configuration; whether the cluster answers is found out later.
    pub(crate) async fn find() -> Result<Self> {
        let is_inside = env::var_os(IN_CLUSTER).is_some();
        let mut config = if is_inside {
            Config::incluster().context("cannot use the in-cluster configuration")
        } else {
            from_kubeconfig().await
        }
        .with_context(|| format!("the pod runtime needs a cluster; {WITHOUT_PODS}"))?;
        config.connect_timeout = Some(CONNECT);
        config.read_timeout = Some(SILENCE);
        // `api` decides which requests are repeated, and when, and reports it to callers that wait.
        config.default_retry = false;
        let namespace = if is_inside {
            config.default_namespace.clone()
        } else {
            DEFAULT_NAMESPACE.to_owned()
        };
        let client = ClientBuilder::try_from(config)
            .with_context(|| format!("cannot use the cluster's configuration; {WITHOUT_PODS}"))?;
        let headers = ServerHeaders::default();
        let hearing = headers.clone();
        let hear = MapResponseLayer::new(move |response| hearing.hear(response));
        Ok(Self {
            client: client.with_layer(&hear).build(),
            headers,
            namespace,
            identity: identity(is_inside),
        })
    }
}

async fn from_kubeconfig() -> Result<Config> {
    let advice = "set KUBECONFIG to a kubeconfig file, or run inside a cluster";
    let kubeconfig = Kubeconfig::read().context(advice)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    config.context(advice)
}

/// A pod's name is its own for life. Elsewhere processes of one machine have to
/// differ, and a restarted one is another.
fn identity(is_inside: bool) -> String {
    let from = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let host = from("HOSTNAME").or_else(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(name.trim().to_owned())
    });
    let host = host.unwrap_or_else(|| "runner".into());
    let name = match from("POD_NAME") {
        Some(name) => name,
        None if is_inside => host,
        None => format!("{host}-{}", super::names::unique()),
    };
    as_name(&name)
}

/// At most 40 characters, as a name of an object and a label may have them.
fn as_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    // The end distinguishes replicas.
    let start = plain.len().saturating_sub(40);
    plain[start..].trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_labels_that_keep_their_end() {
        assert_eq!(
            as_name("function-runner-5d9c-x2k"),
            "function-runner-5d9c-x2k"
        );
        assert_eq!(as_name("My.Host_1-"), "my-host-1");
        let long = as_name(&format!("{}-x2k", "a".repeat(80)));
        assert!(long.len() <= 40 && long.ends_with("a-x2k"), "{long}");
    }
}
