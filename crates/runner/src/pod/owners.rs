//! Which runners live. Each keeps a Lease object in the pod namespace and renews
//! it; whose lease is gone, or is not renewed any more, is dead, and its pods may
//! be adopted or collected.
//!
//! Where leases are not allowed nobody can be known to be dead: foreign pods are
//! then left alone until their time is over, which a live owner extends.

mod census;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use census::{Census, Life};
use census::{Found, MISSED_LOOKS};
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
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use super::api::{self, ApiError};

/// Marks the leases of runners; its value is the runner's identity.
const RUNNER_LABEL: &str = "fn.kpt.dev/runner";

/// Between attempts to make the lease.
const FIRST_ATTEMPTS: Duration = Duration::from_secs(1);
/// Between renewals, and between regular looks.
const RENEWAL: Duration = Duration::from_secs(5);
/// For saying goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Owners {
    api: Api<Lease>,
    me: String,
    census: Mutex<Census>,
    access: watch::Sender<Access>,
    /// Told when a runner has gone or died.
    departures: Notify,
}

/// Whether leases can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    NotTried,
    Works,
    Denied,
}

impl Owners {
    pub fn new(api: Api<Lease>, me: &str) -> Self {
        Self {
            api,
            me: me.to_owned(),
            census: Mutex::new(Census::new(me)),
            access: watch::channel(Access::NotTried).0,
            departures: Notify::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Census> {
        self.census.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the runners that objects name. One without a lease may
    /// have begun since the last look, so that is looked up; where it cannot be,
    /// nothing is known of that runner.
    pub async fn census(&self, named: impl IntoIterator<Item = &str>) -> Census {
        let known = self.known().clone();
        let is_denied = *self.access.borrow() == Access::Denied;
        if is_denied || named.into_iter().all(|owner| known.knows(owner)) {
            return known;
        }
        match self.look(false).await {
            Ok(()) => self.known().complete(),
            Err(_) => known,
        }
    }

    /// Tells that we live, and looks who else does, until that has worked or
    /// turned out not to be allowed.
    pub async fn begin(&self) {
        let mut trouble = None;
        loop {
            self.round(&mut trouble).await;
            if *self.access.borrow() != Access::NotTried {
                return;
            }
            sleep(FIRST_ATTEMPTS).await;
        }
    }

    /// Waits until others can see that we live. A pod that is made before could
    /// be taken for that of a dead runner.
    pub async fn begun(&self) {
        let mut access = self.access.subscribe();
        // It cannot fail: the sender is our own.
        let _ = access.wait_for(|access| *access != Access::NotTried).await;
    }

    /// Renews and looks until leases turn out not to be allowed.
    pub async fn keep(&self) {
        let mut trouble = None;
        while *self.access.borrow() != Access::Denied {
            sleep(RENEWAL).await;
            self.round(&mut trouble).await;
        }
    }

    /// Waits until a runner has gone or died, so that its pods need not wait for
    /// the next scan.
    pub async fn departure(&self) {
        self.departures.notified().await;
    }

    /// Tells that we are gone, so that others need not wait.
    pub async fn leave(&self) {
        let (name, parameters) = (lease_name(&self.me), DeleteParams::default());
        let _ = timeout(GOODBYE, self.api.delete(&name, &parameters)).await;
    }

    /// Removes a dead runner's lease, once nothing of it is left.
    pub async fn bury(&self, owner: &str) {
        let name = lease_name(owner);
        let _ = api::once(self.api.delete(&name, &DeleteParams::default())).await;
    }

    async fn round(&self, trouble: &mut Option<String>) {
        let outcome = match self.renew().await {
            Ok(()) => self.look(true).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => {
                *trouble = None;
                self.access.send_replace(Access::Works);
            }
            Err(error) if error.is_denied() => {
                tracing::warn!(
                    "leases cannot be used, so pods of a runner that has ended are not adopted \
                     and stay until their time is over; to change that, allow create, patch, list \
                     and delete of leases (coordination.k8s.io) in the pod namespace: {}",
                    error.message
                );
                self.access.send_replace(Access::Denied);
            }
            Err(error) => {
                if trouble.is_none() {
                    tracing::warn!("cannot renew the runner's lease: {}", error.message);
                }
                *trouble = Some(error.message);
                self.known().excuse();
            }
        }
    }

    async fn renew(&self) -> Result<(), ApiError> {
        let (name, now) = (lease_name(&self.me), MicroTime(Timestamp::now()));
        let patch = json!({ "spec": { "renewTime": now, "holderIdentity": self.me } });
        let patch = Patch::Merge(&patch);
        let parameters = PatchParams::default();
        match api::once(self.api.patch(&name, &parameters, &patch)).await {
            Err(error) if error.code == Some(404) => {}
            outcome => return outcome.map(drop),
        }
        let expiry = RENEWAL * MISSED_LOOKS;
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(name),
                labels: Some([(RUNNER_LABEL.to_owned(), self.me.clone())].into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.me.clone()),
                lease_duration_seconds: i32::try_from(expiry.as_secs()).ok(),
                renew_time: Some(now),
                ..LeaseSpec::default()
            }),
        };
        let created = api::once(self.api.create(&PostParams::default(), &lease)).await;
        created.map(drop)
    }

    async fn look(&self, is_regular: bool) -> Result<(), ApiError> {
        let parameters = ListParams::default().labels(RUNNER_LABEL);
        let list = api::once(self.api.list(&parameters)).await?;
        let found = list.items.into_iter().filter_map(found).collect();
        let mut census = self.known();
        let before = census.clone();
        census.observe(found, is_regular);
        if census.misses_someone_of(&before) {
            self.departures.notify_one();
        }
        Ok(())
    }
}

fn found(lease: Lease) -> Option<Found> {
    let owner = lease.metadata.labels?.remove(RUNNER_LABEL)?;
    Some((owner, lease.spec.and_then(|spec| spec.renew_time)))
}

fn lease_name(owner: &str) -> String {
    format!("function-runner-{owner}")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::pod::fake;

    fn lease(owner: &str) -> Value {
        json!({ "metadata": { "name": lease_name(owner), "labels": { RUNNER_LABEL: owner } },
                "spec": { "renewTime": "2026-01-01T00:00:00.000000Z" } })
    }

    /// Owners over a cluster whose answers to lists are taken from the front.
    fn owners(mut lists: Vec<(u16, Value)>) -> Owners {
        lists.reverse();
        let lists = Mutex::new(lists);
        let client = fake::client(move |request| {
            if request.method() == http::Method::GET {
                lists.lock().unwrap().pop().expect("one look too many")
            } else {
                (200, lease("me"))
            }
        });
        Owners::new(Api::namespaced(client, "pods"), "me")
    }

    fn list(owners: &[&str]) -> (u16, Value) {
        let items: Vec<Value> = owners.iter().map(|owner| lease(owner)).collect();
        let list = json!({ "kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1",
                           "metadata": {}, "items": items });
        (200, list)
    }

    #[tokio::test]
    async fn a_runner_that_began_after_the_last_look_is_alive() {
        let owners = owners(vec![list(&["me"]), list(&["me", "new"])]);
        owners.begin().await;
        let census = owners.census(["me", "new"]).await;
        assert_eq!(census.life("new"), Life::Alive);
        assert_eq!(census.life("me"), Life::Me);
    }

    #[tokio::test]
    async fn a_runner_without_a_lease_is_dead_and_that_is_looked_up_each_time() {
        let owners = owners(vec![list(&["old"]), list(&[]), list(&["old"])]);
        owners.begin().await;
        assert_eq!(owners.census(["old"]).await.life("old"), Life::Alive);
        assert_eq!(owners.census(["gone"]).await.life("gone"), Life::Dead);
        owners.departure().await;
        assert_eq!(owners.census(["old"]).await.life("old"), Life::Alive);
    }

    #[tokio::test]
    async fn where_nothing_can_be_looked_up_nobody_is_dead() {
        let failing = owners(vec![list(&[]), fake::refusal(500, "Internal", "no")]);
        failing.begin().await;
        assert_eq!(failing.census(["other"]).await.life("other"), Life::Unknown);

        let denied = owners(vec![fake::refusal(403, "Forbidden", "no")]);
        denied.begin().await;
        denied.begun().await;
        assert_eq!(denied.census(["other"]).await.life("other"), Life::Unknown);
        denied.keep().await;
    }
}
