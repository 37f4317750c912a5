//! Which runners are alive. Each keeps a Lease object in the pod namespace and renews
//! it. A runner whose lease is gone or is no longer renewed is dead, and its pods may
//! be adopted or collected.
//!
//! Where leases are not allowed, no runner can be known to be dead: pods of others are
//! then left alone until their TTL has passed, which a live owner extends. The runner
//! tries again every minute. Where it may have a lease and may not list those of others,
//! it renews its own as often as always: others may see it. Once leases have worked, a refusal is treated as any other
//! error, because roles are replaced and authorisers fail for a moment, and a runner
//! that stopped renewing would be taken for dead while it lives.

mod census;

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

pub(crate) use census::{Census, Life};
use census::{Found, MISSED_LOOKS};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use metrics::pods::LEASE;
use serde_json::json;
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

use crate::pod::{
    cluster::api::{self, ApiError},
    watching::deletion,
};

/// Marks the leases of runners; its value is the runner's identity.
const RUNNER_LABEL: &str = "fn.kpt.dev/runner";

/// Between attempts to make the lease.
const FIRST_ATTEMPTS: Duration = Duration::from_secs(1);
/// Between renewals, and between regular looks.
const RENEWAL: Duration = Duration::from_secs(5);
/// Between questions whether leases are still not allowed.
const DENIED: Duration = Duration::from_secs(60);
/// For deleting our lease at the end.
const GOODBYE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Owners {
    api: Api<Lease>,
    me: String,
    census: Mutex<Census>,
    access: watch::Sender<Access>,
    /// Of our own lease.
    uid: Mutex<Option<String>>,
    /// Notified when a runner has gone or died.
    departures: Notify,
}

/// Whether leases can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    NotTried,
    Works,
    /// Others see that we live; we do not see them.
    OnlyOurOwn,
    Denied,
}

impl Owners {
    pub(crate) fn new(api: Api<Lease>, me: &str) -> Self {
        Self {
            api,
            me: me.to_owned(),
            census: Mutex::new(Census::new(me)),
            access: watch::channel(Access::NotTried).0,
            uid: Mutex::default(),
            departures: Notify::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Census> {
        self.census.lock()
    }

    /// What is known of the runners that objects name. One without a lease may
    /// have begun since the last look, so that is looked up; where it cannot be,
    /// nothing is known of that runner.
    pub(crate) async fn census(&self, named: impl IntoIterator<Item = &str>) -> Census {
        let known = self.known().clone();
        let is_denied = matches!(*self.access.borrow(), Access::Denied | Access::OnlyOurOwn);
        if is_denied || named.into_iter().all(|owner| known.knows(owner)) {
            return known;
        }
        match self.look(false).await {
            Ok(()) => self.known().complete(),
            Err(_) => known,
        }
    }

    /// Creates our lease and reads those of others, until that has worked or
    /// turned out not to be allowed.
    pub(crate) async fn begin(&self) {
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
    pub(crate) async fn begun(&self) {
        let mut access = self.access.subscribe();
        // It cannot fail: the sender is our own.
        let _ = access.wait_for(|access| *access != Access::NotTried).await;
    }

    /// Whether others can see that we live.
    pub(crate) fn has_lease(&self) -> bool {
        matches!(*self.access.borrow(), Access::Works | Access::OnlyOurOwn)
    }

    /// Renews the lease and reads the others; where leases are not allowed, tries again every
    /// minute.
    pub(crate) async fn keep(&self) {
        let mut trouble = None;
        loop {
            let is_denied = *self.access.borrow() == Access::Denied;
            sleep(if is_denied { DENIED } else { RENEWAL }).await;
            self.round(&mut trouble).await;
        }
    }

    /// Waits until a runner has gone or died, so that its pods need not wait for
    /// the next scan.
    pub(crate) async fn departure(&self) {
        self.departures.notified().await;
    }

    /// Deletes our lease, so that others need not wait.
    pub(crate) async fn leave(&self) {
        let uid = self.uid().clone();
        let (name, parameters) = (lease_name(&self.me), deletion(uid, None));
        let _ = timeout(GOODBYE, self.api.delete(&name, &parameters)).await;
    }

    /// Removes a dead runner's lease, once nothing of it is left. Not if the runner
    /// has renewed it meanwhile.
    pub(crate) async fn bury(&self, owner: &str) {
        let Some(lease) = self.known().lease(owner).cloned() else {
            return;
        };
        let parameters = deletion(lease.uid, lease.version);
        let name = lease_name(owner);
        let _ = api::once(self.api.delete(&name, &parameters)).await;
    }

    fn uid(&self) -> MutexGuard<'_, Option<String>> {
        self.uid.lock()
    }

    async fn round(&self, trouble: &mut Option<String>) {
        let renewed = self.renew().await;
        let is_renewed = renewed.is_ok();
        LEASE.renewed(is_renewed);
        let outcome = match renewed {
            Ok(()) => self.look(true).await,
            Err(error) => Err(error),
        };
        LEASE.holders.set(self.known().living() as u64);
        let access = *self.access.borrow();
        match (outcome, access) {
            (Ok(()), _) => {
                if trouble.take().is_some() {
                    tracing::info!("the runner's lease is renewed again");
                } else if matches!(access, Access::Denied | Access::OnlyOurOwn) {
                    tracing::info!("leases can be used now");
                }
                self.access.send_replace(Access::Works);
            }
            (Err(error), Access::Denied | Access::OnlyOurOwn) if is_renewed => {
                tracing::debug!("leases of others cannot be listed: {}", error.message);
                *trouble = None;
                self.access.send_replace(Access::OnlyOurOwn);
            }
            (Err(error), Access::Denied) => {
                tracing::debug!("leases still cannot be used: {}", error.message);
            }
            (Err(error), Access::NotTried) if error.is_denied() => {
                tracing::warn!(
                    "leases cannot be used, so pods of a runner that has ended are not adopted \
                     and stay until their TTL has passed; to change that, allow create, patch, list \
                     and delete of leases (coordination.k8s.io) in the pod namespace: {}",
                    error.message
                );
                let access = if is_renewed {
                    Access::OnlyOurOwn
                } else {
                    Access::Denied
                };
                self.access.send_replace(access);
            }
            (Err(error), _) => {
                if trouble.is_none() {
                    tracing::warn!(
                        "cannot renew the runner's lease, trying again: {}",
                        error.message
                    );
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
            Err(error) if error.says_it_is_gone() => {}
            outcome => return outcome.map(|lease| *self.uid() = lease.uid()),
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
        created.map(|lease| *self.uid() = lease.uid())
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
    let metadata = lease.metadata;
    Some(Found {
        owner: metadata.labels?.remove(RUNNER_LABEL)?,
        renewed: lease.spec.and_then(|spec| spec.renew_time),
        uid: metadata.uid,
        version: metadata.resource_version,
    })
}

fn lease_name(owner: &str) -> String {
    format!("function-runner-{owner}")
}

#[cfg(test)]
mod tests;
