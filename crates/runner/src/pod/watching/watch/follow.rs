//! Follows all objects of a kind that need not be there: a custom kind is looked for
//! every [`LOOK_INTERVAL`] until somebody installs it. Neither its absence nor a role
//! that does not let the runner list it is an error; both are logged once. If the role
//! stops allowing it, objects that were seen stay in use: an API server that has just
//! started may refuse what it allows a moment later, and pods must not be replaced for
//! that.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc, time::Duration};

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::{
    Api, Client, Resource, ResourceExt as _,
    runtime::watcher::{self, Event},
};
use metrics::pods::{WATCHES, Watched};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::{
    keeper::{is_expired, status, wish},
    pauses::Pauses,
};
use crate::pod::cluster::{
    WATCH_SECONDS,
    api::{self, jittered},
};

/// How long a kind, or a role that allows to list it, may go unnoticed.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// How long a kind that was there has to be away to count as gone: an API server that
/// has just started may not know it yet.
const GONE_FOR: Duration = Duration::from_secs(5);

/// What is seen of a kind.
#[derive(Debug, Clone)]
pub(crate) enum Seen<K> {
    /// It is not installed.
    Absent,
    /// The runner's role does not allow to list it.
    Denied,
    Objects(Vec<Arc<K>>),
}

impl<K> Seen<K> {
    pub(crate) fn objects(&self) -> &[Arc<K>] {
        match self {
            Self::Objects(objects) => objects,
            Self::Absent | Self::Denied => &[],
        }
    }
}

/// A kind in a namespace.
#[derive(Clone)]
#[allow(missing_debug_implementations)]
pub(crate) struct Followed<K> {
    client: Client,
    pub(crate) api: Api<K>,
    /// Only the object of this name.
    only: Option<&'static str>,
}

/// What can be followed.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static
{
}

/// How the watch of a kind is counted.
fn counted<K: Kind>() -> Watched {
    match &*K::plural(&()) {
        "functionconfigs" => Watched::FunctionConfigs,
        _ => Watched::Templates,
    }
}

impl<K: Kind> Followed<K> {
    pub(crate) fn new(client: &Client, namespace: &str, only: Option<&'static str>) -> Self {
        Self {
            client: client.clone(),
            api: Api::namespaced(client.clone(), namespace),
            only,
        }
    }

    /// Tells what is seen, at first and whenever it changes. Never ends.
    pub(crate) async fn run(self, mut tell: impl FnMut(Seen<K>)) {
        let kind = K::kind(&());
        let mut is_denied = false;
        let mut has_objects = false;
        let mut tell = |seen: Seen<K>| match seen {
            Seen::Denied if has_objects => {}
            seen => {
                has_objects = matches!(seen, Seen::Objects(_));
                tell(seen);
            }
        };
        loop {
            match self.is_installed().await {
                Some(true) => {}
                Some(false) => {
                    tell(Seen::Absent);
                    sleep(jittered(LOOK_INTERVAL)).await;
                    continue;
                }
                None => {
                    sleep(jittered(GONE_FOR)).await;
                    continue;
                }
            }
            match self.watch(&mut is_denied, &mut tell).await {
                End::Gone => sleep(jittered(GONE_FOR)).await,
                End::Denied => {
                    if !std::mem::replace(&mut is_denied, true) {
                        tracing::info!(
                            "the runner's role does not let it list and watch {kind} objects; \
                             only what was read of them before is used (docs/operations.md, \
                             \"Which Porch?\")"
                        );
                        tell(Seen::Denied);
                    }
                    sleep(jittered(LOOK_INTERVAL)).await;
                }
            }
        }
    }

    /// Whether the API server has the kind, by its list of what there is, which
    /// everybody may read; `None` if it does not answer.
    async fn is_installed(&self) -> Option<bool> {
        if K::group(&()).is_empty() {
            return Some(true);
        }
        let version = K::api_version(&());
        let has = |list: APIResourceList| {
            let plural = K::plural(&());
            list.resources.iter().any(|known| known.name == plural)
        };
        match api::once(self.client.list_api_group_resources(&version)).await {
            Ok(list) => Some(has(list)),
            Err(error) if error.says_it_is_gone() || error.is_denied() => Some(false),
            Err(_) => None,
        }
    }

    async fn watch(&self, is_denied: &mut bool, tell: &mut impl FnMut(Seen<K>)) -> End {
        let kind = K::kind(&());
        let mut config = watcher::Config::default().timeout(WATCH_SECONDS);
        if let Some(name) = self.only {
            config = config.fields(&format!("metadata.name={name}"));
        }
        let begin = || watcher::watcher(self.api.clone(), config.clone());
        let events = begin();
        pin_mut!(events);
        let mut pauses = Pauses::default();
        let mut in_trouble = false;
        let mut objects: BTreeMap<String, Arc<K>> = BTreeMap::new();
        // A list that is coming in replaces what was known.
        let mut listed: BTreeMap<String, Arc<K>> = BTreeMap::new();
        // Kube's streams go on after an error and end never.
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => {
                    listed.clear();
                    continue;
                }
                Ok(Event::InitApply(object)) => {
                    listed.insert(object.name_any(), Arc::new(object));
                    continue;
                }
                Ok(Event::InitDone) => {
                    WATCHES.of(counted::<K>()).heard();
                    objects = std::mem::take(&mut listed);
                    *is_denied = false;
                    if std::mem::take(&mut in_trouble) {
                        tracing::info!("watching {kind} objects again");
                    }
                }
                Ok(Event::Apply(object)) => {
                    WATCHES.of(counted::<K>()).heard();
                    objects.insert(object.name_any(), Arc::new(object));
                }
                Ok(Event::Delete(object)) => {
                    WATCHES.of(counted::<K>()).heard();
                    objects.remove(&object.name_any());
                }
                Err(error) => {
                    match status(&error).map(|status| status.code) {
                        Some(404) => return End::Gone,
                        Some(403) => return End::Denied,
                        _ => {}
                    }
                    WATCHES.of(counted::<K>()).interrupted();
                    let is_expired = is_expired(&error);
                    if !is_expired && !std::mem::replace(&mut in_trouble, true) {
                        tracing::warn!(%error, "cannot watch {kind} objects; trying again");
                    }
                    let pause = pauses.after_failure(Instant::now());
                    sleep(jittered(pause).max(wish(&error))).await;
                    // By a list, whose end says that all is well.
                    events.set(begin());
                    continue;
                }
            }
            tell(Seen::Objects(objects.values().cloned().collect()));
        }
        End::Gone
    }
}

/// Why a watch has ended.
enum End {
    /// The kind is not there, it seems.
    Gone,
    Denied,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodTemplate;
    use parking_lot::Mutex;
    use serde_json::{Value, json};
    use tokio::time::timeout;

    use super::*;
    use crate::{function_config::kind::FunctionConfig, pod::cluster::fake};

    fn list(kind: &str, names: &[&str]) -> (u16, Value) {
        let items: Vec<Value> = (names.iter())
            .map(|name| json!({ "metadata": { "name": name, "resourceVersion": "7" } }))
            .collect();
        let list = json!({ "kind": format!("{kind}List"), "apiVersion": "v1",
                           "metadata": { "resourceVersion": "5" }, "items": items });
        (200, list)
    }

    /// What is seen within some minutes, without repetitions, and how often was asked.
    async fn seen<K: Kind>(
        followed: impl FnOnce(Client) -> Followed<K>,
        answer: impl Fn(&str, usize) -> (u16, Value) + Send + Sync + 'static,
    ) -> (Vec<String>, usize) {
        let asked = Arc::new(Mutex::new(0));
        let client = fake::client({
            let asked = Arc::clone(&asked);
            move |request| {
                let mut asked = asked.lock();
                *asked += 1;
                answer(request.uri().path(), *asked)
            }
        });
        let mut told: Vec<String> = Vec::new();
        let tell = |seen: Seen<K>| {
            let words = match &seen {
                Seen::Absent => "absent".to_owned(),
                Seen::Denied => "denied".to_owned(),
                Seen::Objects(objects) => {
                    let names: Vec<String> = objects.iter().map(|o| o.name_any()).collect();
                    names.join(",")
                }
            };
            if told.last() != Some(&words) {
                told.push(words);
            }
        };
        let run = followed(client).run(tell);
        let _ = timeout(Duration::from_secs(300), run).await;
        let asked = *asked.lock();
        (told, asked)
    }

    const DISCOVERY: &str = "/apis/config.porch.kpt.dev/v1alpha1";

    fn kinds(names: &[&str]) -> (u16, Value) {
        let resource = |name: &&str| {
            json!({ "name": name, "kind": "X", "namespaced": true,
                                             "singularName": "", "verbs": [] })
        };
        let resources: Vec<Value> = names.iter().map(resource).collect();
        (
            200,
            json!({ "groupVersion": "config.porch.kpt.dev/v1alpha1", "resources": resources }),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_there_is_looked_for_by_discovery_alone_until_it_comes() {
        let (told, asked) = seen(
            |client| Followed::<FunctionConfig>::new(&client, "pods", None),
            |path, asked| match (path, asked) {
                (DISCOVERY, 1..3) => fake::refusal(404, "NotFound", "no such group"),
                (DISCOVERY, 3) => kinds(&["repositories"]),
                (DISCOVERY, _) => kinds(&["repositories", "functionconfigs"]),
                (_, 0..4) => panic!("{path} was asked for"),
                _ => list("FunctionConfig", &["a", "b"]),
            },
        )
        .await;
        assert_eq!(told, ["absent", "a,b"]);
        assert!(asked < 200, "{asked} requests in five minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_that_does_not_allow_it_is_told_once_and_a_new_one_is_noticed() {
        let (told, asked) = seen(
            |client| Followed::<PodTemplate>::new(&client, "pods", Some("base-pod-template")),
            |_, asked| match asked {
                0..5 => fake::refusal(403, "Forbidden", "no"),
                _ => list("PodTemplate", &["base-pod-template"]),
            },
        )
        .await;
        assert_eq!(told, ["denied", "base-pod-template"]);
        assert!(asked > 4, "{asked}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_that_is_taken_away_changes_nothing_of_what_was_seen() {
        let (told, asked) = seen(
            |client| Followed::<PodTemplate>::new(&client, "pods", Some("base-pod-template")),
            |_, asked| match asked {
                0..3 => list("PodTemplate", &["base-pod-template"]),
                _ => fake::refusal(403, "Forbidden", "not yet"),
            },
        )
        .await;
        assert_eq!(told, ["base-pod-template"]);
        assert!(asked > 4, "{asked}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_removed_is_absent_and_trouble_changes_nothing() {
        let (told, _) = seen(
            |client| Followed::<FunctionConfig>::new(&client, "pods", None),
            |path, asked| match (path, asked) {
                (DISCOVERY, 0..20) => kinds(&["functionconfigs"]),
                (DISCOVERY, _) => kinds(&[]),
                (_, 4..8) => fake::refusal(500, "InternalError", "etcd is ill"),
                (_, 20..) => fake::refusal(404, "NotFound", "gone"),
                _ => list("FunctionConfig", &["a"]),
            },
        )
        .await;
        assert_eq!(told, ["a", "absent"]);
    }
}
