//! Brings up pods on a real cluster, and removes them.
//!
//! ```text
//! image metadata ─► template ─► pull secret ─► service and pod ─► address ─► connection
//!                                              └ the service gets its pod as owner, beside
//! ```
//! Every step is bounded by the start timeout, and while it lasts the roster
//! knows what the pod waits for. Requests that may succeed later are repeated.
//! What the time went to is in the log, and callers who got no pod hear it, too.

mod counted;
mod create;
mod explain;
mod phases;
mod remove;
#[cfg(test)]
mod tests;
mod traced;
mod wrapper;

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use explain::{not_admitted, unknown_image};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
pub use phases::Phase;
use phases::{Phases, Told};
use registry::{Client, Metadata, Reference};
use service::{Trace, Tracing};
use tokio::time::{Instant, timeout_at};
use traced::traced;

use super::{
    api::Gate,
    check,
    connect::{Address, Connection, Origin},
    current_template::CurrentTemplate,
    functions::Functions,
    names::pod_name,
    owners::Owners,
    progress::Progress,
    pull_secret::PullSecret,
    roster::Roster,
    seen::{SeenPod, SeenService},
    watch::Watch,
};
use crate::{
    policy::Guard,
    pool::{Failure, Launcher, PodId},
};

/// A start in a trace.
const SPAN: &str = "pod start";

#[derive(Debug)]
pub struct PodLauncher {
    pub pods: Api<Pod>,
    pub services: Api<Service>,
    pub gate: Gate,
    pub namespace: String,
    pub cluster_domain: String,
    pub start_timeout: Duration,
    pub max_message_size: usize,
    pub owner: String,
    /// Names this process among all that ever were this runner.
    pub incarnation: String,
    pub owners: Arc<Owners>,
    pub watch: Watch<Pod>,
    pub service_watch: Watch<Service>,
    pub roster: Arc<Roster>,
    pub metadata: Metadata<Client>,
    pub templates: CurrentTemplate,
    pub functions: Arc<Functions>,
    pub pull_secret: Option<PullSecret>,
    pub pull_secret_name: String,
    pub(crate) guard: Guard,
    pub tracing: Arc<Tracing>,
}

impl Launcher for PodLauncher {
    type Connection = Connection;

    async fn start(
        &self,
        function: &str,
        pod: PodId,
        cause: &Trace,
    ) -> Result<Connection, Failure> {
        let mut span = match cause.id() {
            Some(_) => cause.span(SPAN),
            None => self.tracing.unasked(SPAN),
        };
        let began = Instant::now();
        let deadline = began + self.start_timeout;
        let clock = Clock(Mutex::new(Phases::begin(began)));
        self.roster.begin(pod, function);
        let outcome = timeout_at(deadline, self.bring_up(function, pod, deadline, &clock)).await;
        let (phases, now) = (clock.into_phases(), Instant::now());
        let is_late = outcome.is_err();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(_) => {
                let waits_for = self.roster.starting(function);
                let waits_for = waits_for.as_deref().unwrap_or("its start");
                let seconds = self.start_timeout.as_secs_f32();
                let told = Told(&phases, now);
                Err(Failure::passing(format!(
                    "no pod within {seconds} s (--pod-start-timeout): it waited for {waits_for}; \
                     {told}"
                )))
            }
        };
        // Somebody may be waiting for it and hear of it, or nobody, if it was to
        // replace another.
        if let Err(failure) = &outcome {
            tracing::warn!(function, "a pod did not come up: {}", failure.reason);
        }
        counted::ended(
            function,
            &phases.spent(now),
            outcome.as_ref().err(),
            is_late,
        );
        span.set("krm.function.image", function.to_owned());
        traced(span, phases.spent(now), began, outcome)
    }

    fn adopted(&self, pod: PodId, connection: &Connection) {
        self.roster.adopted(&connection.name, pod);
    }

    async fn check(&self, connection: &Connection) -> Result<(), Failure> {
        let answers = || check::is_serving(&connection.channel);
        check::check(self, &connection.name, answers).await
    }

    async fn delete(&self, pod: PodId) {
        if let Some(name) = self.roster.leave(pod) {
            self.remove(&name).await;
        }
    }
}

impl PodLauncher {
    async fn bring_up(
        &self,
        function: &str,
        id: PodId,
        deadline: Instant,
        clock: &Clock,
    ) -> Result<Connection, Failure> {
        let reference: Reference = function
            .parse()
            .map_err(|error| Failure::lasting(format!("invalid image reference: {error}")))?;
        self.guard.lets_ask(&reference).map_err(not_admitted)?;
        let image = self.metadata.get(&reference, deadline).await;
        let image = image.map_err(|error| unknown_image(&error))?;
        // What the pod is made of is what was verified: it is pinned to this digest.
        let admitted = self.guard.admit(&reference, &image.digest, deadline).await;
        admitted.map_err(not_admitted)?;
        clock.over(Phase::Metadata);
        let name = pod_name(function, &image.digest.to_string(), &unique());
        self.roster.name(id, &name);
        let of_image = |failure: Failure| failure.of_image(&image.digest.to_string());
        let service = self
            .create(function, &reference, &image, &name, id, deadline)
            .await
            .map_err(of_image)?;
        clock.over(Phase::Create);
        self.roster.waits_for(id, "its containers".into());
        let come_up = async {
            self.watch.addressed(&name).await;
            self.address(&name, service.as_ref()).connect().await
        };
        let look = |pod: &SeenPod| {
            clock.see(pod);
            self.roster.waits_for(id, waits_for(pod));
        };
        // Cancel-safe: whichever is first, the other is of no use any more.
        let channel = tokio::select! {
            channel = come_up => channel,
            reason = self.watch.follow(&name, look) => {
                return Err(of_image(self.failure(&name, reason).await));
            }
        };
        let channel = channel.map_err(|error| Failure::passing(error.to_string()))?;
        clock.over(Phase::Wrapper);
        tracing::info!(name, "a pod is up: {}", clock.line());
        let usage = self.roster.ready(id);
        // From here on losses are reported to the pool; one before that is ours.
        if let Some(reason) = self.watch.loss(&name) {
            return Err(of_image(self.failure(&name, reason).await));
        }
        Ok(Connection {
            name: name.into(),
            channel,
            usage,
            origin: Origin {
                digest: Some(image.digest.clone()),
                start: None,
            },
        })
    }

    /// Connects to a pod that is there already.
    pub async fn reach(&self, name: &str) -> Result<tonic::transport::Channel, String> {
        let address = self.address(name, None);
        // Cancel-safe: whichever is first, the other is of no use any more.
        tokio::select! {
            channel = address.connect() => channel.map_err(|error| error.to_string()),
            reason = self.watch.lost(name) => Err(reason),
        }
    }

    /// Where a pod's wrapper is, by its service as it was created or is seen.
    fn address(&self, name: &str, created: Option<&SeenService>) -> Address {
        let (namespace, domain) = (&self.namespace, &self.cluster_domain);
        let seen = || self.service_watch.get(name)?.address;
        let ip = created.and_then(|service| service.address).or_else(seen);
        let host = format!("{name}.{namespace}.svc.{domain}");
        Address { host, ip }
    }
}

/// The phases of a start that is under way, and the present moment.
struct Clock(Mutex<Phases>);

impl Clock {
    fn with<T>(&self, work: impl FnOnce(&mut Phases, Instant) -> T) -> T {
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut phases, Instant::now())
    }

    fn over(&self, phase: Phase) {
        self.with(|phases, now| phases.over(phase, now));
    }

    fn see(&self, pod: &SeenPod) {
        self.with(|phases, now| phases.see(pod, now));
    }

    fn line(&self) -> String {
        self.with(|phases, now| phases.line(now))
    }

    fn into_phases(self) -> Phases {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a pod that has not answered yet waits for.
fn waits_for(pod: &SeenPod) -> String {
    match &pod.progress {
        Progress::Waiting(what) => what.clone(),
        _ => "the wrapper server's answer".into(),
    }
}

/// Tells pods of the same image apart: five letters and digits by chance.
pub(super) fn unique() -> String {
    const DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut number = RandomState::new().hash_one(std::time::SystemTime::now());
    let mut text = String::new();
    for _ in 0..5 {
        let digit = number % DIGITS.len() as u64;
        text.push(char::from(DIGITS[usize::try_from(digit).unwrap_or(0)]));
        number /= DIGITS.len() as u64;
    }
    text
}
