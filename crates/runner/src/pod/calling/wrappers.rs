//! Where the wrapper of a pod is.

use std::sync::Arc;

use tonic::transport::Channel;

use super::connect::Address;
use crate::pod::{objects::Objects, watching::SeenService};

#[derive(Debug)]
pub(crate) struct Wrappers {
    pub(crate) objects: Arc<Objects>,
    pub(crate) cluster_domain: String,
}

impl Wrappers {
    /// Connects to a pod that is there already.
    pub(crate) async fn reach(&self, name: &str) -> Result<Channel, String> {
        let address = self.address(name, None);
        // Cancel-safe: whichever is first, the other is of no use any more.
        tokio::select! {
            channel = address.connect() => channel.map_err(|error| error.to_string()),
            reason = self.objects.watch.lost(name) => Err(reason),
        }
    }

    /// Where a pod's wrapper is, by its service as it was created or is seen.
    pub(crate) fn address(&self, name: &str, created: Option<&SeenService>) -> Address {
        let (namespace, domain) = (&self.objects.namespace, &self.cluster_domain);
        let seen = || self.objects.service_watch.get(name)?.address;
        let ip = created.and_then(|service| service.address).or_else(seen);
        let host = format!("{name}.{namespace}.svc.{domain}");
        Address { host, ip }
    }
}
