//! Keeps the settings of objects in force, and writes the objects' status.
//!
//! One task: it follows the objects, applies them to both runtimes, and only then writes
//! their status and releases those that are being deleted. So an observed generation in
//! a status is in force.

use std::{collections::HashMap, env, sync::Arc, time::Duration};

use kube::{
    Api, Client, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::Value;
use service::Tasks;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    choose::{Chosen, Complaints, choose},
    kind::FunctionConfig,
    report::{self, Written},
};
use crate::{
    config::Config,
    exec,
    pod::{
        cluster::{
            Cluster, IN_CLUSTER,
            api::{ApiError, Gate, jittered},
        },
        functions::Functions,
        watching::follow::{Followed, Seen},
    },
};

/// When a status that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(30);

/// How long to look at files: a hung disk must not hold up everything else.
const APPLIED_WITHIN: Duration = Duration::from_secs(10);

/// The runtimes that objects configure.
pub(crate) struct Live {
    pub(crate) exec: Option<Arc<exec::Current>>,
    pub(crate) pods: Option<PodSide>,
    pub(crate) gate: Gate,
    /// What the empty prefix stands for.
    pub(crate) default_prefix: String,
}

pub(crate) struct PodSide {
    pub(crate) functions: Arc<Functions>,
    /// Why the newest template is not used.
    pub(crate) template_trouble: watch::Receiver<Option<Arc<str>>>,
}

/// What is known, and what was done about it.
#[derive(Default)]
struct Done {
    objects: Vec<Arc<FunctionConfig>>,
    chosen: Arc<Chosen>,
    /// How often they were applied.
    turn: u64,
    /// By object.
    written: HashMap<String, Written>,
    is_denied: bool,
    /// Whether something could not be written and is to be tried again.
    is_behind: bool,
}

impl Live {
    /// For a runner without pods, which works without a cluster: objects count if it
    /// runs in one.
    pub(crate) async fn without_pods(
        config: &Config,
        exec: Option<Arc<exec::Current>>,
        tasks: &mut Tasks,
    ) {
        if exec.is_none() || env::var_os(IN_CLUSTER).is_none() {
            return;
        }
        match Cluster::find().await {
            Ok(cluster) => {
                let live = Self {
                    exec,
                    pods: None,
                    gate: Gate::new(cluster.headers.clone()),
                    default_prefix: config.default_image_prefix.clone(),
                };
                let live = live.run(&cluster.client, &config.pod.namespace);
                tasks.spawn("function configs", live);
            }
            Err(error) => tracing::info!("FunctionConfig objects are not used: {error:#}"),
        }
    }

    /// Never ends.
    pub(crate) fn run(
        self,
        client: &Client,
        namespace: &str,
    ) -> impl Future<Output = ()> + Send + use<> {
        let followed = Followed::<FunctionConfig>::new(client, namespace, None);
        let api = followed.api.clone();
        async move {
            let (sender, seen) = watch::channel(Seen::Absent);
            let follow = followed.run(|seen| {
                sender.send_replace(seen);
            });
            futures::join!(follow, self.act(&api, seen));
        }
    }

    async fn act(
        &self,
        api: &Api<FunctionConfig>,
        mut seen: watch::Receiver<Seen<FunctionConfig>>,
    ) {
        let mut of_exec = self.exec.as_ref().map(|exec| exec.complaints());
        let pods = self.pods.as_ref();
        let mut of_template = pods.map(|pods| pods.template_trouble.clone());
        let mut done = Done::default();
        loop {
            let again = async {
                if !done.is_behind {
                    std::future::pending::<()>().await;
                }
                sleep(jittered(AGAIN)).await;
            };
            // Cancel-safe: what is not heard now is heard next.
            tokio::select! {
                changed = seen.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    done.objects = seen.borrow_and_update().objects().to_vec();
                    self.apply(&mut done).await;
                }
                () = next(&mut of_exec) => {}
                () = next(&mut of_template) => {}
                () = again => {}
            }
            let exec = of_exec
                .as_mut()
                .map(|told| told.borrow_and_update().clone());
            let template = of_template.as_mut();
            let template = template.and_then(|told| told.borrow_and_update().clone());
            let errors = errors(&done, exec.unwrap_or_default(), template.as_deref());
            self.tell(api, &mut done, &errors).await;
        }
    }

    /// Puts the objects in force.
    async fn apply(&self, done: &mut Done) {
        let objects = done.objects.iter().map(Arc::as_ref);
        let chosen = Arc::new(choose(objects, &self.default_prefix));
        if let Some(exec) = self.exec.clone().filter(|_| chosen != done.chosen) {
            let objects = Arc::clone(&chosen);
            done.turn += 1;
            let turn = done.turn;
            let applied = tokio::task::spawn_blocking(move || exec.apply(&objects, turn));
            if timeout(APPLIED_WITHIN, applied).await.is_err() {
                tracing::warn!("checking the executables of FunctionConfig objects takes long");
            }
        }
        if let Some(pods) = &self.pods {
            pods.functions.apply(&chosen.pods);
        }
        done.chosen = chosen;
    }

    /// Writes what is new.
    async fn tell(&self, api: &Api<FunctionConfig>, done: &mut Done, errors: &Complaints) {
        let objects = done.objects.clone();
        done.written
            .retain(|name, _| objects.iter().any(|object| object.name_any() == *name));
        done.is_behind = false;
        let parameters = PatchParams::default();
        for object in objects {
            let name = object.name_any();
            if let Some(patch) = report::release(&object) {
                let patch: Patch<Value> = Patch::Merge(patch);
                let released = api.patch(&name, &parameters, &patch);
                let released = self.gate.once_uncounted(released).await;
                done.hear(&name, "let go of", released.map(drop));
                continue;
            }
            if object.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let complaints = errors.get(&name).map_or(&[][..], Vec::as_slice);
            let before = done.written.get(&name);
            let (now, patch) = report::status(&object, complaints, before);
            if let Some(patch) = patch {
                let patch: Patch<Value> = Patch::Merge(patch);
                let written = api.patch_status(&name, &parameters, &patch);
                let written = self.gate.once_uncounted(written).await.map(drop);
                if !done.hear(&name, "write the status of", written) {
                    continue;
                }
            }
            done.written.insert(name, now);
        }
    }
}

impl Done {
    /// Whether that is all there is to do about it.
    fn hear(&mut self, name: &str, what: &str, answer: Result<(), ApiError>) -> bool {
        let Err(error) = answer else {
            return true;
        };
        if error.is_conflict() || error.says_it_is_gone() {
            // It has changed, or is gone: the watch will report it.
            return true;
        }
        let reason = &error.message;
        if error.is_denied() {
            if !std::mem::replace(&mut self.is_denied, true) {
                tracing::info!(
                    "the runner's role does not let it {what} FunctionConfig objects, which are used \
                     nevertheless (docs/operations.md, \"Which Porch?\"): {reason}"
                );
            }
            return true;
        }
        tracing::debug!(name, "cannot {what} a FunctionConfig: {reason}");
        self.is_behind = true;
        false
    }
}

/// Waits for a change; for ever if there is no source of changes.
async fn next<T>(told: &mut Option<watch::Receiver<T>>) {
    let is_told = match told {
        Some(told) => told.changed().await.is_ok(),
        None => false,
    };
    if !is_told {
        std::future::pending::<()>().await;
    }
}

/// All that is wrong with each object.
fn errors(done: &Done, exec: Complaints, template: Option<&str>) -> Complaints {
    let mut all = done.chosen.complaints.clone();
    for (name, told) in exec {
        all.entry(name).or_default().extend(told);
    }
    if let Some(trouble) = template {
        let uses_pods = |object: &&Arc<FunctionConfig>| object.spec.get("podExecutor").is_some();
        for object in done.objects.iter().filter(uses_pods) {
            let told = all.entry(object.name_any()).or_default();
            told.push(trouble.to_owned());
        }
    }
    all
}
