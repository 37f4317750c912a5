//! A namespace of one test, and the few verbs that every test needs in it.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::layout::admin_kubeconfig;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Pod, PodStatus, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{Condition, await_condition, conditions};
use kube::{Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long a state may take to be reached. Image pulls and restarts with their pauses fit in.
const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace that nothing else uses.
#[derive(Clone)]
pub struct Scope {
    client: Client,
    namespace: String,
}

impl Debug for Scope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scope")
            .field("namespace", &self.namespace)
            .finish()
    }
}

impl Scope {
    /// Makes a namespace named after the running test, ready for its first pod.
    pub(crate) async fn create() -> Result<Self> {
        let client = admin_client().await?;
        let namespace: Namespace = serde_json::from_value(json!({
            "metadata": { "generateName": format!("{}-", as_name(&test_name())) },
        }))?;
        let made = Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await?;
        let namespace = made.metadata.name.context("the namespace got no name")?;
        let scope = Self { client, namespace };
        // Without it the API server refuses pods.
        scope
            .becomes::<ServiceAccount>("default", "made", conditions::is_created())
            .await?;
        Ok(scope)
    }

    /// Another namespace that is there and nobody else's: it goes with this one.
    pub async fn adopt_namespace(&self, namespace: &str) -> Result<Self> {
        let namespaces: Api<Namespace> = Api::all(self.client());
        let owner = namespaces.get(&self.namespace).await?;
        let reference = owner.controller_owner_ref(&());
        let patch = json!({ "metadata": { "ownerReferences": [reference] } });
        namespaces
            .patch(namespace, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(Self {
            client: self.client(),
            namespace: namespace.to_owned(),
        })
    }

    /// The same namespace for another thread: connections live where they were made.
    pub async fn elsewhere(&self) -> Result<Self> {
        Ok(Self {
            client: admin_client().await?,
            namespace: self.namespace.clone(),
        })
    }

    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The namespace's objects of one kind.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Creates an object from its JSON form; kind and version come from the type.
    pub async fn create_object<K>(&self, object: Value) -> Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        let object = serde_json::from_value(object).context("not an object of this kind")?;
        Ok(self.api().create(&PostParams::default(), &object).await?)
    }

    /// Creates a pod from its `spec`.
    pub async fn create_pod(&self, name: &str, spec: Value) -> Result<Pod> {
        let pod = json!({ "metadata": { "name": name, "labels": { "app": name } }, "spec": spec });
        self.create_object(pod).await
    }

    /// Watches an object until the condition holds.
    pub async fn becomes<K>(
        &self,
        name: &str,
        what: &str,
        condition: impl Condition<K>,
    ) -> Result<Option<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let wait = await_condition(self.api::<K>(), name, condition);
        let outcome = tokio::time::timeout(PATIENCE, wait)
            .await
            .with_context(|| {
                format!(
                    "{} {name} was not {what} within {} s",
                    K::kind(&()),
                    PATIENCE.as_secs()
                )
            })?;
        Ok(outcome?)
    }

    /// Watches a pod until its status satisfies the condition; see [`crate::pod`] for some.
    pub async fn pod_becomes(
        &self,
        name: &str,
        what: &str,
        condition: impl Fn(&PodStatus) -> bool,
    ) -> Result<Pod> {
        let holds = |pod: Option<&Pod>| {
            pod.and_then(|pod| pod.status.as_ref())
                .is_some_and(&condition)
        };
        let pod = self.becomes::<Pod>(name, what, holds).await?;
        pod.with_context(|| format!("pod {name} is gone"))
    }

    /// What a pod's only, or first, container has printed.
    pub async fn pod_log(&self, name: &str) -> Result<String> {
        Ok(self
            .api::<Pod>()
            .logs(name, &kube::api::LogParams::default())
            .await?)
    }

    /// Deletes the namespace; its pods do not get time to say goodbye.
    pub(crate) async fn remove(&self) -> Result<()> {
        let at_once = DeleteParams::default().grace_period(0);
        self.api::<Pod>()
            .delete_collection(&at_once, &ListParams::default())
            .await?;
        let namespaces: Api<Namespace> = Api::all(self.client());
        namespaces
            .delete(&self.namespace, &DeleteParams::background())
            .await?;
        Ok(())
    }
}

/// The administrator's way to the API server, of the runtime that runs this.
pub(crate) async fn admin_client() -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(admin_kubeconfig())?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Client::try_from(config)?)
}

/// The test harness names each test's thread after it.
fn test_name() -> String {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    name.rsplit("::").next().unwrap_or("test").to_owned()
}

/// A name that Kubernetes accepts, with room for the suffix that makes it unique.
fn as_name(name: &str) -> String {
    let plain = name.replace('_', "-");
    plain
        .chars()
        .take(50)
        .collect::<String>()
        .trim_end_matches('-')
        .to_owned()
}
