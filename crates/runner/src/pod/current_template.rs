//! The templates that hold at the moment: the inline ones, or those of a
//! ConfigMap in the runner's own namespace. That one is polled, because the
//! roles of Porch's runner do not allow to watch it. A bad new version is told in
//! the log and changes nothing.

use std::{future::Future, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use super::{api, template::Templates};

/// How long a changed ConfigMap may go unnoticed.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// What is known: nothing yet, the templates, or why there are none.
type Known = Option<Result<Arc<Templates>, Arc<str>>>;

#[derive(Debug, Clone)]
pub struct CurrentTemplate(watch::Receiver<Known>);

impl CurrentTemplate {
    /// Always the same.
    pub fn fixed(templates: Templates) -> Self {
        Self(watch::channel(Some(Ok(Arc::new(templates)))).1)
    }

    /// Those of a ConfigMap, and the task that looks at it.
    pub fn of(api: Api<ConfigMap>, name: String) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, receiver) = watch::channel(None);
        (Self(receiver), poll(api, name, sender))
    }

    /// The templates, as soon as it is known whether there are any.
    pub async fn get(&self, deadline: Instant) -> Result<Arc<Templates>, Arc<str>> {
        let mut receiver = self.0.clone();
        let known = timeout_at(deadline, receiver.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(known)) => known.clone().unwrap_or_else(|| Err("no template".into())),
            _ => Err("the ConfigMap with the pod template was not read in time".into()),
        }
    }

    /// The version that holds, if one is known.
    pub fn version(&self) -> Option<String> {
        match &*self.0.borrow() {
            Some(Ok(templates)) => Some(templates.version.clone()),
            _ => None,
        }
    }

    /// Waits for another version.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn poll(api: Api<ConfigMap>, name: String, sender: watch::Sender<Known>) {
    let mut told: Option<String> = None;
    loop {
        let trouble = match look(&api, &name).await {
            Ok(templates) => {
                sender.send_if_modified(|known| {
                    let is_new =
                        !matches!(known, Some(Ok(old)) if old.version == templates.version);
                    if is_new {
                        tracing::info!(
                            version = templates.version,
                            "pod template ConfigMap {name:?} is in use"
                        );
                        *known = Some(Ok(Arc::new(templates)));
                    }
                    is_new
                });
                None
            }
            Err(trouble) => {
                let text: Arc<str> = trouble.as_str().into();
                sender.send_if_modified(|known| {
                    let is_good = matches!(known, Some(Ok(_)));
                    if !is_good {
                        *known = Some(Err(text));
                    }
                    !is_good
                });
                Some(trouble)
            }
        };
        if let Some(trouble) = trouble.as_ref().filter(|new| told.as_ref() != Some(*new)) {
            tracing::error!("{trouble}; a version read before stays in use");
        }
        told = trouble;
        sleep(LOOK_INTERVAL).await;
    }
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
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;
    use crate::pod::fake;

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
            move |_| answer.lock().unwrap().clone()
        });
        let (current, poll) = CurrentTemplate::of(Api::namespaced(client, "own"), "own".into());
        let poll = tokio::spawn(poll);
        let told = next(&current).await.unwrap_err();
        assert!(told.contains("--function-pod-template"), "{told}");
        assert_eq!(current.version(), None);

        *answer.lock().unwrap() = config_map(BAD);
        let told = next(&current).await.unwrap_err();
        assert!(told.contains("no container is named"), "{told}");

        *answer.lock().unwrap() = config_map(GOOD);
        let good = next(&current).await.unwrap();
        *answer.lock().unwrap() = config_map(BAD);
        let kept = next(&current).await.unwrap();
        assert_eq!(kept.version, good.version, "the good one stays");
        poll.abort();
    }
}
