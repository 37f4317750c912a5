//! The templates in force: those of the ConfigMap that the operator has named, in the
//! runner's own namespace; without one those of a PodTemplate and a ServiceTemplate in
//! the namespace of the pods; without these the inline ones. The ConfigMap is polled,
//! because the roles of Porch's runner do not allow watching it. An invalid new version
//! is reported in the log and in the status of `FunctionConfig` objects, and changes
//! nothing.

use std::{future::Future, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, PodTemplate};
use kube::{Api, Client};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use super::template::Templates;
use crate::{
    function_config::kind::ServiceTemplate,
    pod::{
        cluster::api,
        watching::follow::{Followed, Seen},
    },
};

/// As Porch 1.6 calls them.
const POD_TEMPLATE: &str = "base-pod-template";
const SERVICE_TEMPLATE: &str = "base-service-template";

/// How long a changed ConfigMap may go unnoticed.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// What is known: nothing yet, the templates, or why there are none.
type Known = Option<Result<Arc<Templates>, Arc<str>>>;

#[derive(Debug, Clone)]
pub(crate) struct CurrentTemplate {
    known: watch::Receiver<Known>,
    /// Why the newest version is not used.
    trouble: watch::Receiver<Option<Arc<str>>>,
}

/// The other end of it.
struct Teller {
    known: watch::Sender<Known>,
    trouble: watch::Sender<Option<Arc<str>>>,
}

impl CurrentTemplate {
    fn pair() -> (Teller, Self) {
        let (known, receiver) = watch::channel(None);
        let (trouble, troubles) = watch::channel(None);
        let current = Self {
            known: receiver,
            trouble: troubles,
        };
        (Teller { known, trouble }, current)
    }

    /// Those of a ConfigMap, and the task that looks at it.
    pub(crate) fn of(api: Api<ConfigMap>, name: String) -> (Self, impl Future<Output = ()> + Send) {
        let (teller, current) = Self::pair();
        (current, poll(api, name, teller))
    }

    /// Those of objects in the namespace of the pods, as far as there are some, and
    /// the task that watches them.
    pub(crate) fn of_objects(
        client: &Client,
        namespace: &str,
        wrapper: &str,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (teller, current) = Self::pair();
        let pods = Followed::new(client, namespace, Some(POD_TEMPLATE));
        let services = Followed::new(client, namespace, Some(SERVICE_TEMPLATE));
        (current, follow(pods, services, wrapper.to_owned(), teller))
    }

    /// The templates, as soon as it is known whether there are any.
    pub(crate) async fn get(&self, deadline: Instant) -> Result<Arc<Templates>, Arc<str>> {
        let mut receiver = self.known.clone();
        let known = timeout_at(deadline, receiver.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(known)) => known.clone().unwrap_or_else(|| Err("no template".into())),
            _ => Err("the pod template was not read in time".into()),
        }
    }

    /// Those that hold, if some are known.
    pub(crate) fn current(&self) -> Option<Arc<Templates>> {
        match &*self.known.borrow() {
            Some(Ok(templates)) => Some(Arc::clone(templates)),
            _ => None,
        }
    }

    /// The version that holds, if one is known.
    pub(crate) fn version(&self) -> Option<String> {
        self.current().map(|templates| templates.version.clone())
    }

    /// Why the newest version is not used, whenever that changes.
    pub(crate) fn trouble(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.trouble.clone()
    }

    /// Waits for another version.
    pub(crate) async fn changed(&mut self) {
        if self.known.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Teller {
    /// Good templates replace those before; trouble changes nothing but itself.
    fn tell(&self, read: Result<Templates, String>, source: &str) {
        let trouble = match read {
            Ok(templates) => {
                self.known.send_if_modified(|known| {
                    let is_same = |old: &Templates| {
                        old.version == templates.version
                            && old.service_version == templates.service_version
                    };
                    let is_new = !matches!(known, Some(Ok(old)) if is_same(old));
                    if is_new {
                        tracing::info!(version = templates.version, "{source} is in use");
                        *known = Some(Ok(Arc::new(templates)));
                    }
                    is_new
                });
                None
            }
            Err(trouble) => {
                let text: Arc<str> = trouble.into();
                self.known.send_if_modified(|known| {
                    let is_good = matches!(known, Some(Ok(_)));
                    if !is_good {
                        *known = Some(Err(Arc::clone(&text)));
                    }
                    !is_good
                });
                Some(text)
            }
        };
        self.trouble.send_if_modified(|known| {
            let is_new = *known != trouble;
            if let Some(trouble) = trouble.as_ref().filter(|_| is_new) {
                tracing::error!("{trouble}; a version read before stays in use");
            }
            *known = trouble;
            is_new
        });
    }
}

async fn poll(api: Api<ConfigMap>, name: String, teller: Teller) {
    let source = format!("pod template ConfigMap {name:?}");
    loop {
        teller.tell(look(&api, &name).await, &source);
        sleep(LOOK_INTERVAL).await;
    }
}

async fn follow(
    pods: Followed<PodTemplate>,
    services: Followed<ServiceTemplate>,
    wrapper: String,
    teller: Teller,
) {
    let (pod, mut pod_seen) = watch::channel(None);
    let (service, mut service_seen) = watch::channel(None);
    let tell = async {
        loop {
            {
                let (pod, service) = (
                    pod_seen.borrow_and_update(),
                    service_seen.borrow_and_update(),
                );
                if let (Some(pod), Some(service)) = (&*pod, &*service) {
                    let (pod, service) = (first(pod), first(service));
                    let source = match pod {
                        Some(_) => format!("the PodTemplate {POD_TEMPLATE:?}"),
                        None => "the inline pod template".into(),
                    };
                    let read = Templates::from_objects(pod, service, &wrapper);
                    teller.tell(read.map_err(|error| error.to_string()), &source);
                }
            }
            // Cancel-safe: what is not heard now is heard next.
            let changed = tokio::select! {
                changed = pod_seen.changed() => changed,
                changed = service_seen.changed() => changed,
            };
            if changed.is_err() {
                return;
            }
        }
    };
    futures::join!(
        pods.run(|seen| {
            pod.send_replace(Some(seen));
        }),
        services.run(|seen| {
            service.send_replace(Some(seen));
        }),
        tell,
    );
}

fn first<K>(seen: &Seen<K>) -> Option<&K> {
    seen.objects().first().map(Arc::as_ref)
}

async fn look(api: &Api<ConfigMap>, name: &str) -> Result<Templates, String> {
    let config_map = api::once(api.get(name)).await.map_err(|error| {
        format!(
            "cannot get the pod template ConfigMap {name:?}, which --function-pod-template names: {}",
            error.message
        )
    })?;
    Templates::from_config_map(&config_map).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::cluster::fake;

    const GOOD: &str = "spec:\n  containers:\n  - name: function\n    command: [a]\n";
    const BAD: &str = "spec:\n  containers: []\n";

    fn config_map(pod: &str) -> (u16, Value) {
        let object = json!({ "metadata": { "name": "own" },
                             "data": { "template": pod, "serviceTemplate": "spec: {}\n" } });
        (200, object)
    }

    /// What holds after the next look.
    async fn next(current: &CurrentTemplate) -> Result<Arc<Templates>, Arc<str>> {
        sleep(2 * LOOK_INTERVAL).await;
        current.get(Instant::now()).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_bad_version_is_told_unless_a_good_one_was_there_before() {
        let answer = Arc::new(Mutex::new(fake::refusal(404, "NotFound", "not found")));
        let client = fake::client({
            let answer = Arc::clone(&answer);
            move |_| answer.lock().clone()
        });
        let (current, poll) = CurrentTemplate::of(Api::namespaced(client, "own"), "own".into());
        let poll = tokio::spawn(poll);
        let told = next(&current).await.unwrap_err();
        assert!(told.contains("--function-pod-template"), "{told}");
        assert_eq!(current.version(), None);

        *answer.lock() = config_map(BAD);
        let told = next(&current).await.unwrap_err();
        assert!(told.contains("no container is named"), "{told}");

        *answer.lock() = config_map(GOOD);
        let good = next(&current).await.unwrap();
        *answer.lock() = config_map(BAD);
        let kept = next(&current).await.unwrap();
        assert_eq!(kept.version, good.version, "the good one stays");
        poll.abort();
    }
}
