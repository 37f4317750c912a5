//! The pod runtime's parts, their order at start and stop, and the tasks that
//! they need. The process owns and watches them; two of them end here, in order.

use std::{convert::Infallible, env, sync::Arc};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use registry::{Metadata, TagLists, Timeouts};
use service::{Tasks, Tracing};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Config, PodConfig},
    exec,
    function_config::live::{Live, PodSide},
    images,
    pod::{
        calling::{Connection, Evidence, PodEvaluator, Wrappers},
        cluster::{Cluster, WITHOUT_PODS, api::Gate},
        functions::{Defaults, Functions},
        names::unique,
        objects::{Objects, Removals},
        owning::{Owners, Roster, Stage, Us},
        shown::shown,
        starting::{CurrentTemplate, Images, Materials, PodLauncher, PullSecret, ServiceOwners},
        sweeping::{Memory, Routine, Sweeper, give_up},
        watching::{Loss, Watch},
    },
    policy::Guard,
    pool::{Pool, Settings, Worker},
    status::PodSource,
    stop::PODS_LEFT_WITHIN,
    tags::RegistryTags,
};

const WRAPPER_IMAGE: &str = "WRAPPER_SERVER_IMAGE";

/// Losses that wait to be heard.
const LOSSES: usize = 64;

#[derive(Debug)]
pub(crate) struct PodRuntime {
    owners: Arc<Owners>,
    stop: CancellationToken,
    worker: Ending,
    routine: Ending,
    is_ready: watch::Receiver<bool>,
    tags: Arc<TagLists>,
    roster: Arc<Roster>,
    watch: Watch<Pod>,
}

impl PodRuntime {
    /// Begins to watch, adopt and warm up; the evaluator may be used at once. Objects
    /// configure `exec`, too.
    pub(crate) async fn start(
        config: &Config,
        exec: Option<Arc<exec::Current>>,
        guard: Guard,
        tracing: Arc<Tracing>,
        tasks: &mut Tasks,
    ) -> Result<(Self, PodEvaluator)> {
        let wrapper = env::var(WRAPPER_IMAGE).unwrap_or_default();
        let wrapper = Some(wrapper).filter(|image| !image.is_empty());
        let wrapper = wrapper.with_context(|| {
            format!(
                "the pod runtime needs the environment variable {WRAPPER_IMAGE}: the image with \
                 the wrapper server; {WITHOUT_PODS}"
            )
        })?;
        let cluster = Cluster::find().await?;
        let parts = Parts::make(config, &cluster, &wrapper, guard.clone(), tracing, tasks);
        let (worker, pool) = Worker::new(
            Arc::clone(&parts.launcher),
            config.pod.scan_interval,
            config.pod.max_pods,
        );
        let live = Live {
            exec,
            pods: Some(PodSide {
                functions: Arc::clone(&parts.functions),
                template_trouble: parts.templates.trouble(),
            }),
            gate: parts.objects.gate.clone(),
            default_prefix: config.default_image_prefix.clone(),
        };
        tasks.spawn(
            "function configs",
            live.run(&cluster.client, &config.pod.namespace),
        );
        let stop = CancellationToken::new();
        let (worker, worker_ends) = with_ending(worker.run(stop.clone()));
        tasks.spawn("pool worker", worker);
        let report = report(parts.lost, Arc::clone(&parts.roster), pool.clone());
        tasks.spawn("lost pods", report);
        let sweeper = Sweeper {
            objects: Arc::clone(&parts.objects),
            wrappers: Arc::clone(&parts.wrappers),
            roster: Arc::clone(&parts.roster),
            owners: Arc::clone(&parts.owners),
            us: Arc::clone(&parts.us),
            templates: parts.templates.clone(),
            functions: Arc::clone(&parts.functions),
            metadata: Arc::clone(&parts.evidence.metadata),
            start_timeout: config.pod.start_timeout,
            pool: pool.clone(),
            ttl: config.pod.ttl,
            memory: Memory::default(),
        };
        let (ready, is_ready) = watch::channel(false);
        let routine = Routine {
            sweeper,
            functions: Arc::clone(&parts.functions),
            warm_up: config.pod.warm_up,
            scan_interval: config.pod.scan_interval,
            review: Notify::new(),
            tags: Box::new(RegistryTags(Arc::clone(&parts.tags))),
        };
        let (adopted, has_adopted) = watch::channel(false);
        let until_stop = stop.clone();
        let (routine, routine_ends) = with_ending(async move {
            until_stop
                .run_until_cancelled(routine.run(adopted, ready))
                .await;
        });
        tasks.spawn("life of the pods", routine);
        let evaluator = PodEvaluator {
            pool,
            functions: parts.functions,
            roster: parts.roster,
            witness: parts.evidence,
            has_adopted,
            max_message_size: config.max_message_size,
            guard,
        };
        let runtime = Self {
            owners: parts.owners,
            stop,
            worker: worker_ends,
            routine: routine_ends,
            is_ready,
            tags: parts.tags,
            roster: Arc::clone(&evaluator.roster),
            watch: parts.objects.watch.clone(),
        };
        Ok((runtime, evaluator))
    }

    /// Tells the status page which pods there are.
    pub(crate) fn shown(&self) -> PodSource {
        let (roster, watch) = (Arc::clone(&self.roster), self.watch.clone());
        Box::new(move || shown(&roster, &watch))
    }

    /// The tags that pods could run.
    pub(crate) fn tags(&self) -> RegistryTags {
        RegistryTags(Arc::clone(&self.tags))
    }

    /// Waits until adoption is done and every function of the warm-up is ready
    /// or has failed.
    pub(crate) async fn ready(&self) {
        let mut is_ready = self.is_ready.clone();
        // An error means that nobody will ever say so.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }

    /// Leaves the pods, for the next runner to adopt. No call may use them any
    /// more. Starts under way are not waited for.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        let leave = async {
            // The task that renews the lease would create it again.
            let _ = self.routine.await;
            self.owners.leave().await;
        };
        let left = async { tokio::join!(self.worker, leave) };
        let _ = timeout(PODS_LEFT_WITHIN, left).await;
    }
}

/// Ends, with an error, when a task has ended.
type Ending = oneshot::Receiver<Infallible>;

/// The task, and the signal of its end.
fn with_ending(task: impl Future<Output = ()>) -> (impl Future<Output = ()>, Ending) {
    let (running, ending) = oneshot::channel();
    let task = async {
        let _running = running;
        task.await;
    };
    (task, ending)
}

/// The parts that know each other.
struct Parts {
    objects: Arc<Objects>,
    wrappers: Arc<Wrappers>,
    us: Arc<Us>,
    evidence: Arc<Evidence>,
    templates: CurrentTemplate,
    launcher: Arc<PodLauncher>,
    roster: Arc<Roster>,
    functions: Arc<Functions>,
    owners: Arc<Owners>,
    lost: mpsc::Receiver<Loss>,
    tags: Arc<TagLists>,
}

impl Parts {
    fn make(
        config: &Config,
        cluster: &Cluster,
        wrapper: &str,
        guard: Guard,
        tracing: Arc<Tracing>,
        tasks: &mut Tasks,
    ) -> Self {
        let (pod, registry) = (&config.pod, &config.registry);
        let client = || cluster.client.clone();
        let pods: Api<Pod> = Api::namespaced(client(), &pod.namespace);
        let service_api: Api<Service> = Api::namespaced(client(), &pod.namespace);
        let (losses, lost) = mpsc::channel(LOSSES);
        let (watch, keep) = Watch::new(&cluster.client, &pod.namespace, losses.clone());
        tasks.spawn("watch of pods", keep);
        let (service_watch, keep) = Watch::new(&cluster.client, &pod.namespace, losses);
        tasks.spawn("watch of services", keep);
        let templates = templates(pod, cluster, wrapper, tasks);
        let defaults = Defaults {
            settings: Settings {
                ttl: pod.ttl,
                max_waitlist_length: pod.max_waitlist_length,
                max_pods: pod.max_parallel_pods,
                max_queued: config.max_queued_per_function,
                is_warm_up: false,
                min_pods: 0,
                revision: 0,
            },
            warm_up: pod.warm_up,
            max_retries: pod.max_grpc_retries,
            retry_lost_calls: pod.retry_lost_calls,
        };
        let prefix = &config.default_image_prefix;
        let functions = Functions::new(&pod.cache_config, prefix, defaults);
        let functions = Arc::new(functions.expecting_file(pod.cache_config_is_given));
        let leases = Api::namespaced(client(), &pod.namespace);
        let owners = Arc::new(Owners::new(leases, &cluster.identity));
        let roster = Arc::new(Roster::default());
        let gate = Gate::new(cluster.headers.clone());
        let pull_secret = registry.private.then(|| {
            let (name, file) = (&registry.pull_secret, &registry.auth_file);
            PullSecret::new(client(), &pod.namespace, name, file).through(gate.clone())
        });
        let images = Arc::new(images::client(registry, Timeouts::default()));
        let tags = TagLists::of(Arc::clone(&images), registry.metadata_ttl);
        let objects = Arc::new(Objects {
            namespace: pod.namespace.clone(),
            pods,
            services: service_api,
            gate,
            watch,
            service_watch,
            removals: Removals::default(),
        });
        let evidence = Arc::new(Evidence {
            objects: Arc::clone(&objects),
            metadata: Arc::new(Metadata::new(images, registry.metadata_ttl)),
        });
        let (service_owners, give) = ServiceOwners::new(Arc::clone(&objects));
        tasks.spawn("owners of services", give);
        let wrappers = Arc::new(Wrappers {
            objects: Arc::clone(&objects),
            cluster_domain: pod.cluster_domain.clone(),
        });
        let us = Arc::new(Us {
            owner: cluster.identity.clone(),
            incarnation: unique(),
        });
        let launcher = PodLauncher {
            objects: Arc::clone(&objects),
            wrappers: Arc::clone(&wrappers),
            evidence: Arc::clone(&evidence),
            service_owners,
            roster: Arc::clone(&roster),
            owners: Arc::clone(&owners),
            us: Arc::clone(&us),
            images: Images {
                metadata: Arc::clone(&evidence.metadata),
                guard,
            },
            materials: Materials {
                templates: templates.clone(),
                functions: Arc::clone(&functions),
                pull_secret,
                max_message_size: config.max_message_size,
            },
            start_timeout: pod.start_timeout,
            tracing,
        };
        Self {
            objects,
            wrappers,
            us,
            evidence,
            templates,
            launcher: Arc::new(launcher),
            roster,
            functions,
            owners,
            lost,
            tags: Arc::new(tags),
        }
    }
}

/// Those of a ConfigMap in our own namespace, else what objects beside the pods say.
fn templates(
    config: &PodConfig,
    cluster: &Cluster,
    wrapper: &str,
    tasks: &mut Tasks,
) -> CurrentTemplate {
    if let Some(name) = config.template.clone() {
        let api = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let (templates, poll) = CurrentTemplate::of(api, name);
        tasks.spawn("pod template", poll);
        return templates;
    }
    let (client, namespace) = (&cluster.client, &config.namespace);
    let (templates, follow) = CurrentTemplate::of_objects(client, namespace, wrapper);
    tasks.spawn("pod template", follow);
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
