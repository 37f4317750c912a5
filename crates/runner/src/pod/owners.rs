//! Which runners live. Each keeps a Lease object in the pod namespace and renews
//! it; whose lease is gone, or was not renewed for [`EXPIRY`] as seen from here,
//! is dead, and its pods may be adopted or collected. Times are measured by this
//! process alone, so clocks need not agree.
//!
//! Where leases are not allowed nobody can be known to be dead: foreign pods are
//! then left alone until their time is over, which a live owner extends.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::api::{self, ApiError};

/// Marks the leases of runners; its value is the runner's identity.
const RUNNER_LABEL: &str = "fn.kpt.dev/runner";

/// Between attempts to make the lease.
const FIRST_ATTEMPTS: Duration = Duration::from_secs(1);
const RENEWAL: Duration = Duration::from_secs(5);
/// Several renewals may be lost before a runner counts as dead.
const EXPIRY: Duration = Duration::from_secs(30);
/// For saying goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Owners {
    api: Api<Lease>,
    me: String,
    seen: Mutex<Seen>,
    begun: watch::Sender<bool>,
}

/// What has been seen of others.
#[derive(Debug, Clone, Default)]
enum Seen {
    /// Not looked yet.
    #[default]
    Nothing,
    /// The last renewal of each runner, and when it was first seen.
    Leases(HashMap<String, (Option<MicroTime>, Instant)>),
    Denied,
}

/// What is known of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Me,
    Alive,
    Dead,
    Unknown,
}

impl Owners {
    pub fn new(api: Api<Lease>, me: &str) -> Self {
        Self {
            api,
            me: me.to_owned(),
            seen: Mutex::default(),
            begun: watch::channel(false).0,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn life(&self, owner: &str) -> Life {
        if owner == self.me {
            return Life::Me;
        }
        match &*self.seen() {
            Seen::Nothing | Seen::Denied => Life::Unknown,
            Seen::Leases(leases) => match leases.get(owner) {
                Some((_, since)) if since.elapsed() < EXPIRY => Life::Alive,
                _ => Life::Dead,
            },
        }
    }

    /// Tells that we live, and looks who else does, until that has worked or
    /// turned out not to be allowed.
    pub async fn begin(&self) {
        let mut trouble = None;
        loop {
            self.round(&mut trouble).await;
            if !matches!(*self.seen(), Seen::Nothing) {
                break;
            }
            sleep(FIRST_ATTEMPTS).await;
        }
        self.begun.send_replace(true);
    }

    /// Waits until others can see that we live. A pod that is made before could
    /// be taken for that of a dead runner.
    pub async fn begun(&self) {
        let mut begun = self.begun.subscribe();
        // It cannot fail: the sender is our own.
        let _ = begun.wait_for(|begun| *begun).await;
    }

    /// Renews and looks until leases turn out not to be allowed.
    pub async fn keep(&self) {
        let mut trouble = None;
        while !matches!(*self.seen(), Seen::Denied) {
            sleep(RENEWAL).await;
            self.round(&mut trouble).await;
        }
    }

    /// Tells that we are gone, so that others need not wait.
    pub async fn leave(&self) {
        let (name, parameters) = (self.name(), DeleteParams::default());
        let _ = timeout(GOODBYE, self.api.delete(&name, &parameters)).await;
    }

    async fn round(&self, trouble: &mut Option<String>) {
        let outcome = match self.renew().await {
            Ok(()) => self.look().await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => *trouble = None,
            Err(error) if error.is_denied() => {
                tracing::warn!(
                    "leases cannot be used, so pods of a runner that has ended are not adopted \
                     and stay until their time is over; to change that, allow create, patch, list \
                     and delete of leases (coordination.k8s.io) in the pod namespace: {}",
                    error.message
                );
                *self.seen() = Seen::Denied;
            }
            Err(error) => {
                if trouble.is_none() {
                    tracing::warn!("cannot renew the runner's lease: {}", error.message);
                }
                *trouble = Some(error.message);
                // Nobody can be seen to renew now, so nobody is dead for that.
                self.excuse();
            }
        }
    }

    async fn renew(&self) -> Result<(), ApiError> {
        let now = MicroTime(Timestamp::now());
        let patch = json!({ "spec": { "renewTime": now, "holderIdentity": self.me } });
        let patch = Patch::Merge(&patch);
        let parameters = PatchParams::default();
        match api::once(self.api.patch(&self.name(), &parameters, &patch)).await {
            Err(error) if error.code == Some(404) => {}
            outcome => return outcome.map(drop),
        }
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name()),
                labels: Some([(RUNNER_LABEL.to_owned(), self.me.clone())].into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.me.clone()),
                lease_duration_seconds: i32::try_from(EXPIRY.as_secs()).ok(),
                renew_time: Some(now),
                ..LeaseSpec::default()
            }),
        };
        let created = api::once(self.api.create(&PostParams::default(), &lease)).await;
        created.map(drop)
    }

    async fn look(&self) -> Result<(), ApiError> {
        let parameters = ListParams::default().labels(RUNNER_LABEL);
        let list = api::once(self.api.list(&parameters)).await?;
        let now = Instant::now();
        let mut seen = self.seen();
        let before = match std::mem::take(&mut *seen) {
            Seen::Leases(before) => before,
            _ => HashMap::new(),
        };
        let mut leases = HashMap::new();
        for lease in list.items {
            let labels = lease.metadata.labels.unwrap_or_default();
            let Some(owner) = labels.get(RUNNER_LABEL).filter(|owner| **owner != self.me) else {
                continue;
            };
            let renewed = lease.spec.and_then(|spec| spec.renew_time);
            let since = match before.get(owner) {
                Some((old, since)) if *old == renewed => *since,
                _ => now,
            };
            leases.insert(owner.clone(), (renewed, since));
        }
        *seen = Seen::Leases(leases);
        Ok(())
    }

    fn excuse(&self) {
        if let Seen::Leases(leases) = &mut *self.seen() {
            for (_, since) in leases.values_mut() {
                *since = Instant::now();
            }
        }
    }

    /// Runners that are dead by their lease, which is still there.
    pub fn dead(&self) -> Vec<String> {
        match &*self.seen() {
            Seen::Leases(leases) => leases
                .iter()
                .filter(|(_, (_, since))| since.elapsed() >= EXPIRY)
                .map(|(owner, _)| owner.clone())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Removes a dead runner's lease, once nothing of it is left.
    pub async fn bury(&self, owner: &str) {
        let name = lease_name(owner);
        let _ = api::once(self.api.delete(&name, &DeleteParams::default())).await;
    }

    fn name(&self) -> String {
        lease_name(&self.me)
    }
}

fn lease_name(owner: &str) -> String {
    format!("function-runner-{owner}")
}
