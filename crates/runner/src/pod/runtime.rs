//! The pod runtime's parts, their order at start and stop, and the tasks that
//! they need. Every task is owned here and ends with the runtime.

use std::{env, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use registry::{Metadata, Timeouts};
use tokio::{
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    cluster::{Cluster, WITHOUT_PODS},
    connect::Connection,
    current_template::CurrentTemplate,
    evaluate::PodEvaluator,
    functions::{Defaults, Functions},
    launch::PodLauncher,
    life::Life,
    owners::Owners,
    pull_secret::PullSecret,
    roster::{Roster, Stage},
    sweep::{Sweeper, give_up},
    template::Templates,
    unix_now,
    watch::{Loss, Watch},
};
use crate::{
    config::Config,
    images,
    pool::{Pool, Settings, Worker},
};

const WRAPPER_IMAGE: &str = "WRAPPER_SERVER_IMAGE";

/// Losses that wait to be heard.
const LOSSES: usize = 64;

/// The worker ends its deletions by itself within five seconds.
const WORKER_ENDS_WITHIN: Duration = Duration::from_secs(6);

#[derive(Debug)]
pub struct PodRuntime {
    owners: Arc<Owners>,
    stop: CancellationToken,
    worker: JoinHandle<()>,
    /// Everything that may end at any time; ends with the runtime.
    tasks: JoinSet<()>,
    is_ready: watch::Receiver<bool>,
}

impl PodRuntime {
    /// Begins to watch, adopt and warm up; the evaluator may be used at once.
    pub async fn start(config: &Config) -> Result<(Self, PodEvaluator)> {
        let wrapper = env::var(WRAPPER_IMAGE).unwrap_or_default();
        let wrapper = Some(wrapper).filter(|image| !image.is_empty());
        let wrapper = wrapper.with_context(|| {
            format!(
                "the pod runtime needs the environment variable {WRAPPER_IMAGE}: the image with \
                 the wrapper server; {WITHOUT_PODS}"
            )
        })?;
        let cluster = Cluster::find().await?;
        let mut tasks = JoinSet::new();
        let parts = Parts::make(config, &cluster, &wrapper, &mut tasks);
        let (worker, pool) = Worker::new(
            Arc::clone(&parts.launcher),
            config.pod.scan_interval,
            config.pod.max_pods,
        );
        let stop = CancellationToken::new();
        let worker = tokio::spawn(worker.run(stop.clone()));
        let (launcher, roster) = (&parts.launcher, &parts.roster);
        tasks.spawn(report(parts.lost, Arc::clone(roster), pool.clone()));
        let sweeper = Sweeper {
            launcher: Arc::clone(launcher),
            services: parts.services,
            owners: Arc::clone(&parts.owners),
            pool: pool.clone(),
            began: unix_now(),
            ttl: config.pod.ttl,
        };
        let (ready, is_ready) = watch::channel(false);
        let life = Life {
            sweeper,
            functions: Arc::clone(&parts.functions),
            warm_up: config.pod.warm_up,
            scan_interval: config.pod.scan_interval,
        };
        let (adopted, has_adopted) = watch::channel(false);
        tasks.spawn(life.run(adopted, ready));
        let evaluator = PodEvaluator {
            pool,
            functions: parts.functions,
            roster: parts.roster,
            witness: Arc::clone(launcher),
            has_adopted,
            max_message_size: config.max_message_size,
        };
        let runtime = Self {
            owners: parts.owners,
            stop,
            worker,
            tasks,
            is_ready,
        };
        Ok((runtime, evaluator))
    }

    /// Waits until adoption is done and every function of the warm-up is ready
    /// or has failed.
    pub async fn ready(&self) {
        let mut is_ready = self.is_ready.clone();
        // An error means that nobody will ever say so.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }

    /// Ends everything. Pods stay, for the next runner to adopt.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let _ = timeout(WORKER_ENDS_WITHIN, self.worker).await;
        self.tasks.shutdown().await;
        self.owners.leave().await;
    }
}

/// The parts that know each other.
struct Parts {
    launcher: Arc<PodLauncher>,
    roster: Arc<Roster>,
    functions: Arc<Functions>,
    owners: Arc<Owners>,
    services: Watch<Service>,
    lost: mpsc::Receiver<Loss>,
}

impl Parts {
    fn make(config: &Config, cluster: &Cluster, wrapper: &str, tasks: &mut JoinSet<()>) -> Self {
        let (pod, registry) = (&config.pod, &config.registry);
        let client = || cluster.client.clone();
        let pods: Api<Pod> = Api::namespaced(client(), &pod.namespace);
        let service_api: Api<Service> = Api::namespaced(client(), &pod.namespace);
        let (losses, lost) = mpsc::channel(LOSSES);
        let (watch, keep) = Watch::new(pods.clone(), losses.clone());
        tasks.spawn(keep);
        let (services, keep) = Watch::new(service_api.clone(), losses);
        tasks.spawn(keep);
        let templates = templates(pod.template.as_deref(), cluster, wrapper, tasks);
        let defaults = Defaults {
            settings: Settings {
                ttl: pod.ttl,
                max_waitlist_length: pod.max_waitlist_length,
                max_pods: pod.max_parallel_pods,
                max_queued: config.max_queued_per_function,
                is_warm_up: false,
                revision: 0,
            },
            warm_up: pod.warm_up,
            max_retries: pod.max_grpc_retries,
            retry_lost_calls: pod.retry_lost_calls,
        };
        let prefix = &config.default_image_prefix;
        let functions = Arc::new(Functions::new(&pod.cache_config, prefix, defaults));
        let leases = Api::namespaced(client(), &pod.namespace);
        let owners = Arc::new(Owners::new(leases, &cluster.identity));
        let roster = Arc::new(Roster::default());
        let pull_secret = registry.private.then(|| {
            let (name, file) = (&registry.pull_secret, &registry.auth_file);
            PullSecret::new(client(), &pod.namespace, name, file)
        });
        let images = images::client(registry, Timeouts::default());
        let launcher = PodLauncher {
            pods,
            services: service_api,
            namespace: pod.namespace.clone(),
            cluster_domain: pod.cluster_domain.clone(),
            start_timeout: pod.start_timeout,
            max_message_size: config.max_message_size,
            owner: cluster.identity.clone(),
            owners: Arc::clone(&owners),
            watch,
            roster: Arc::clone(&roster),
            metadata: Metadata::new(images, registry.metadata_ttl),
            templates,
            functions: Arc::clone(&functions),
            pull_secret,
            pull_secret_name: registry.pull_secret.clone(),
        };
        Self {
            launcher: Arc::new(launcher),
            roster,
            functions,
            owners,
            services,
            lost,
        }
    }
}

/// The inline template, or the one of a ConfigMap in our own namespace.
fn templates(
    config_map: Option<&str>,
    cluster: &Cluster,
    wrapper: &str,
    tasks: &mut JoinSet<()>,
) -> CurrentTemplate {
    let Some(name) = config_map else {
        return CurrentTemplate::fixed(Templates::inline(wrapper));
    };
    let api = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let (templates, poll) = CurrentTemplate::of(api, name.to_owned());
    tasks.spawn(poll);
    templates
}

/// Tells the pool what the watches have lost. Pods that are not ready yet are
/// their start's business.
async fn report(mut lost: mpsc::Receiver<Loss>, roster: Arc<Roster>, pool: Pool<Connection>) {
    while let Some((name, reason)) = lost.recv().await {
        let entry = roster.get(&name);
        let ready = entry.filter(|entry| entry.stage == Stage::Ready);
        if let Some(id) = ready.and_then(|entry| entry.id) {
            give_up(&pool, &name, id, reason);
        }
    }
}
