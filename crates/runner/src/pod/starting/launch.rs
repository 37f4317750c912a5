//! Brings up pods on a real cluster, and removes them.
//!
//! ```text
//! image metadata ─► template ─► pull secret ─► service and pod ─► address ─► connection
//!                                              └ the service gets its pod as owner, beside: no start
//!                                                waits for that, and it may come later
//! ```
//! The start timeout bounds all steps together, and during each step the roster knows
//! what the pod waits for. Requests that may succeed later are repeated. The log says
//! how long each phase took, and so does the error of callers that got no pod.

mod counted;
mod create;
mod explain;
mod phases;
mod service_owners;
mod traced;
mod wrapper;

use std::{sync::Arc, time::Duration};

use explain::{not_admitted, unknown_image};
use parking_lot::Mutex;
use phases::{Phases, Told};
use registry::{Client, Metadata, Reference};
use service::{Trace, Tracing};
pub(crate) use service_owners::ServiceOwners;
use tokio::time::{Instant, timeout_at};
use traced::traced;

use super::{current_template::CurrentTemplate, pull_secret::PullSecret};
use crate::{
    pod::{
        calling::{Connection, Evidence, Origin, Wrappers, check},
        functions::Functions,
        names::{pod_name, unique},
        objects::Objects,
        owning::{Owners, Roster, Us},
        watching::{Progress, SeenPod, StartPhase},
    },
    policy::Guard,
    pool::{Failure, Launcher, Outlook, PodId},
};

/// A start in a trace.
const SPAN: &str = "pod start";

/// Starts pods. `pod::runtime` puts it together; nobody else reaches its parts.
#[derive(Debug)]
pub(crate) struct PodLauncher {
    pub(in crate::pod) objects: Arc<Objects>,
    pub(in crate::pod) wrappers: Arc<Wrappers>,
    pub(in crate::pod) evidence: Arc<Evidence>,
    pub(in crate::pod) service_owners: ServiceOwners,
    pub(in crate::pod) roster: Arc<Roster>,
    pub(in crate::pod) owners: Arc<Owners>,
    pub(in crate::pod) us: Arc<Us>,
    pub(in crate::pod) images: Images,
    pub(in crate::pod) materials: Materials,
    pub(in crate::pod) start_timeout: Duration,
    pub(in crate::pod) tracing: Arc<Tracing>,
}

/// Which image a function's reference stands for, and whether it may run.
#[derive(Debug)]
pub(crate) struct Images {
    pub(in crate::pod) metadata: Arc<Metadata<Client>>,
    pub(in crate::pod) guard: Guard,
}

/// What pods are made of, besides their image.
#[derive(Debug)]
pub(crate) struct Materials {
    pub(in crate::pod) templates: CurrentTemplate,
    pub(in crate::pod) functions: Arc<Functions>,
    pub(in crate::pod) pull_secret: Option<PullSecret>,
    pub(in crate::pod) max_message_size: usize,
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
        check::check(&*self.evidence, &connection.name, answers).await
    }

    async fn delete(&self, pod: PodId) {
        if let Some(leaving) = self.roster.leave(pod) {
            self.objects.remove_of(&self.us.owner, &leaving.name).await;
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
        self.images
            .guard
            .lets_ask(&reference)
            .map_err(not_admitted)?;
        let image = self.images.metadata.get(&reference, deadline).await;
        let image = image.map_err(|error| unknown_image(&error))?;
        // What the pod is made of is what was verified: it is pinned to this digest.
        let admitted = self
            .images
            .guard
            .admit(&reference, &image.digest, deadline)
            .await;
        admitted.map_err(not_admitted)?;
        clock.over(StartPhase::Metadata);
        let name = pod_name(function, &image.digest.to_string(), &unique());
        self.roster.name(id, &name);
        let of_image = |failure: Failure| failure.of_image(&image.digest.to_string());
        let service = self
            .create(function, &reference, &image, &name, id, deadline)
            .await
            .map_err(of_image)?;
        clock.over(StartPhase::Create);
        self.roster.waits_for(id, "its containers".into());
        let come_up = async {
            self.objects.watch.addressed(&name).await;
            self.wrappers
                .address(&name, service.as_ref())
                .connect()
                .await
        };
        let look = |pod: &SeenPod| {
            clock.see(pod);
            self.roster.waits_for(id, waits_for(pod));
        };
        // Cancel-safe: whichever is first, the others are of no use any more.
        let channel = tokio::select! {
            channel = come_up => channel,
            reason = self.loses_its_service(&name) => {
                let outlook = Outlook::Taken;
                return Err(of_image(Failure { outlook, ..Failure::passing(reason) }));
            }
            reason = self.objects.watch.follow(&name, look) => {
                return Err(of_image(self.failure(&name, reason).await));
            }
        };
        let channel = channel.map_err(|error| Failure::passing(error.to_string()))?;
        clock.over(StartPhase::Wrapper);
        tracing::info!(name, "a pod is up: {}", clock.line());
        let usage = self.roster.ready(id);
        // From here on losses are reported to the pool; one before that is ours.
        if let Some(reason) = self.objects.watch.loss(&name) {
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

    /// Somebody has deleted it: nothing reaches the pod any more.
    async fn loses_its_service(&self, name: &str) -> String {
        let services = &self.objects.service_watch;
        services.appears(name).await;
        services.lost(name).await
    }
}

/// The phases of a start that is under way, and the present moment.
struct Clock(Mutex<Phases>);

impl Clock {
    fn with<T>(&self, work: impl FnOnce(&mut Phases, Instant) -> T) -> T {
        let mut phases = self.0.lock();
        work(&mut phases, Instant::now())
    }

    fn over(&self, phase: StartPhase) {
        self.with(|phases, now| phases.over(phase, now));
    }

    fn see(&self, pod: &SeenPod) {
        self.with(|phases, now| phases.see(pod, now));
    }

    fn line(&self) -> String {
        self.with(|phases, now| phases.line(now))
    }

    fn into_phases(self) -> Phases {
        self.0.into_inner()
    }
}

/// What a pod that has not answered yet waits for.
fn waits_for(pod: &SeenPod) -> String {
    match &pod.progress {
        Progress::Waiting(what) => what.clone(),
        _ => "the wrapper server's answer".into(),
    }
}
