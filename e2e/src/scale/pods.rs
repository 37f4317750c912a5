//! The pods of all runners, as the API server has them.

use std::fmt::Debug;
use std::net::IpAddr;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kube::api::{Api, ListParams, PartialObjectMeta, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::scope::Scope;

/// As many as the API server likes to send at once.
const PAGE: u32 = 500;

/// What is looked at of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) template: String,
}

/// How many there are, by the API server's own count.
pub(super) async fn count(scope: &Scope) -> Result<usize> {
    let one = ListParams::default().limit(1);
    let list = scope.api::<Pod>().list_metadata(&one).await?;
    let more = list.metadata.remaining_item_count.unwrap_or(0);
    Ok(list.items.len() + usize::try_from(more)?)
}

/// All that are not on their way out, in the order of their names.
pub(super) async fn all(scope: &Scope) -> Result<Vec<Seen>> {
    let pods = pages(&scope.api::<Pod>()).await?;
    let stay = pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let seen = stay.map(|pod| {
        let annotation = |key| pod.annotations().get(key).cloned().unwrap_or_default();
        Seen {
            name: pod.name_any(),
            owner: annotation("fn.kpt.dev/owner"),
            template: annotation("fn.kpt.dev/template-version"),
        }
    });
    let mut found: Vec<Seen> = seen.collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// How many services do not name their pod as their owner yet. That is written after a start, and by and by.
pub(super) async fn services_without_owner(scope: &Scope) -> Result<usize> {
    let services = pages(&scope.api::<Service>()).await?;
    let ownerless = |service: &&PartialObjectMeta<Service>| service.owner_references().is_empty();
    Ok(services.iter().filter(ownerless).count())
}

/// What all objects of a kind say about themselves.
async fn pages<K>(api: &Api<K>) -> Result<Vec<PartialObjectMeta<K>>>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut found = Vec::new();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = api.list_metadata(&page).await?;
        found.extend(list.items);
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}

/// Where a pod is.
pub(super) async fn address(scope: &Scope, name: &str) -> Result<IpAddr> {
    let pod = scope.api::<Pod>().get(name).await?;
    let address = pod.status.and_then(|status| status.pod_ip);
    let address = address.with_context(|| format!("{name} has no address"))?;
    Ok(address.parse()?)
}

/// Changes pods in a way that means nothing to anybody, one after the other.
pub(super) async fn poke(scope: &Scope, names: &[String], times: usize) -> Result<()> {
    let api = scope.api::<Pod>();
    for (number, name) in names.iter().cycle().take(times).enumerate() {
        // Always as long, so that every event is.
        let mark = format!("{:06}", number + 1);
        let patch = json!({ "metadata": { "annotations": { "scale.test/poked": mark } } });
        api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    Ok(())
}
