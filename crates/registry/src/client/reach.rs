//! The connections for the requests about one image: opened when needed, used again,
//! and the choice between HTTPS and plain HTTP.

use std::time::Duration;

use causes::in_full;
use tokio::time::Instant;

use super::{FetchError, session::Session};
use crate::{
    transport::{ConnectError, Connection, TlsPath},
    url::{Endpoint, Scheme},
};

impl Session<'_> {
    /// An open connection to the endpoint, out of the session's hands.
    pub(super) async fn connection(
        &mut self,
        endpoint: &Endpoint,
    ) -> Result<Connection, FetchError> {
        let open = self.connections.iter().position(|(to, _)| to == endpoint);
        if let Some(open) = open {
            let (_, mut connection) = self.connections.swap_remove(open);
            if connection.sender().ready().await.is_ok() {
                return Ok(connection);
            }
        }
        let connected = self.connect(endpoint).await;
        connected.map_err(|source| FetchError::Connect {
            endpoint: endpoint.clone(),
            source,
        })
    }

    async fn connect(&mut self, endpoint: &Endpoint) -> Result<Connection, ConnectError> {
        let began = Instant::now();
        let noted = self.report.begin("connect", endpoint);
        let patience = self.client.timeouts.connect.min(self.patience());
        let connected = self.client.connector.connect(endpoint, patience).await;
        let outcome = match &connected {
            Ok(connection) => connection.path.to_string(),
            Err(error) => in_full(error),
        };
        self.report.end(noted, outcome, began.elapsed());
        let connection = connected?;
        if endpoint.scheme == Scheme::Https {
            self.client.hosts.spoke_tls(endpoint);
        }
        if let TlsPath::SystemAfterCustom(file) = &connection.path {
            self.client.connector.warnings.once(format!(
                "the certificate of {endpoint} is not signed by the authority in {}, but by one \
                 that this system trusts: that one is trusted",
                file.display()
            ));
        }
        Ok(connection)
    }

    /// The registry's endpoint: HTTPS, or plain HTTP where that is allowed and
    /// nothing else is spoken.
    pub(super) async fn registry(&mut self) -> Result<Endpoint, FetchError> {
        if let Some(endpoint) = &self.registry {
            return Ok(endpoint.clone());
        }
        let host = self.reference.host();
        let endpoint = |scheme| {
            Endpoint::of_registry(scheme, host).ok_or_else(|| FetchError::InvalidPort {
                registry: host.to_owned(),
            })
        };
        let (secure, plain) = (endpoint(Scheme::Https)?, endpoint(Scheme::Http)?);
        let hosts = &self.client.hosts;
        let _place = hosts.enter(&secure).await;
        if let Some(error) = hosts.resting(&secure).or_else(|| hosts.resting(&plain)) {
            let noted = self.report.begin("connect", &secure);
            self.report.end(noted, error.to_string(), Duration::ZERO);
            return Err(error);
        }
        let mut connected = self.connect(&secure).await;
        let mut chosen = secure;
        if let Err(error) = &connected
            && speaks_plain_http_maybe(error, chosen.port != plain.port)
            && self.client.connector.plain().allows(&plain)
            && !self.client.hosts.speaks_tls(&chosen)
        {
            let rules = self.client.connector.plain();
            self.keeps_credentials = !rules.may_show_credentials(&plain, error);
            self.report
                .amend("no TLS there, and plain HTTP is allowed for this host".to_owned());
            connected = self.connect(&plain).await;
            chosen = plain;
        }
        let connection = connected.map_err(|source| FetchError::Connect {
            endpoint: chosen.clone(),
            source,
        })?;
        self.report.tls = Some(connection.path.clone());
        self.connections.push((chosen.clone(), connection));
        self.registry = Some(chosen.clone());
        Ok(chosen)
    }
}

/// Never after an error with a certificate: a host that has one speaks TLS.
fn speaks_plain_http_maybe(error: &ConnectError, on_another_port: bool) -> bool {
    match error {
        ConnectError::Tls(failure) => failure.is_not_tls(),
        ConnectError::Tcp(_) | ConnectError::Timeout { .. } => on_another_port,
        _ => false,
    }
}
