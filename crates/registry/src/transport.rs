//! The way to a host: addresses, proxies, TLS, and the rules for plain HTTP.
//! The client decides what is sent over it.

mod connect;
mod dial;
mod plain;
mod proxy;
mod tls;

use std::{path::PathBuf, sync::Arc, time::Duration};

pub use connect::ConnectError;
pub(crate) use connect::Connection;
use hyper_util::client::proxy::matcher::Matcher;
pub(crate) use plain::{PlainHttp, is_loopback};
use rustls::ClientConfig;
pub use tls::{TlsFailure, TrustError};

use crate::{url::Endpoint, warnings::Warnings};

/// How hosts may be reached.
#[derive(Debug, Clone, Default)]
pub struct Transport {
    /// A directory with the certificate of an authority to trust before the
    /// system's, in `ca.crt`, `ca.pem` or another of the usual files.
    pub authority: Option<PathBuf>,
    /// Registries, `host` or `host:port`, that may be asked over plain HTTP.
    pub insecure: Vec<String>,
}

/// The authority that vouched for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsPath {
    /// Nobody: plain HTTP.
    Plain,
    /// The system's roots.
    System,
    /// The authority in this file.
    Custom(PathBuf),
    /// The system's roots, after the authority in this file did not know the host.
    SystemAfterCustom(PathBuf),
}

/// Opens connections.
#[derive(Debug)]
pub(crate) struct Connector {
    authority: Option<PathBuf>,
    plain: PlainHttp,
    system: Arc<ClientConfig>,
    proxies: Matcher,
    pub(crate) warnings: Warnings,
}

impl Connector {
    pub(crate) fn new(transport: Transport) -> Self {
        Self {
            authority: transport.authority,
            plain: PlainHttp::new(&transport.insecure),
            system: tls::system(),
            proxies: Matcher::from_env(),
            warnings: Warnings::default(),
        }
    }

    pub(crate) fn plain(&self) -> &PlainHttp {
        &self.plain
    }

    /// Connects to exactly this endpoint: custom authority first, then, if the
    /// certificate is the trouble, the system's.
    pub(crate) async fn connect(
        &self,
        endpoint: &Endpoint,
        patience: Duration,
    ) -> Result<Connection, ConnectError> {
        let link = async |tls| {
            let opened = connect::open(endpoint, tls, &self.proxies);
            let opened = tokio::time::timeout(patience, opened).await;
            opened.unwrap_or(Err(ConnectError::Timeout { after: patience }))
        };
        if endpoint.scheme == crate::url::Scheme::Http {
            return Ok(Connection::new(link(None).await?, TlsPath::Plain));
        }
        let Some(directory) = &self.authority else {
            let opened = link(Some(&self.system)).await?;
            return Ok(Connection::new(opened, TlsPath::System));
        };
        let (file, custom) = tls::custom(directory, &self.warnings).await?;
        match link(Some(&custom)).await {
            Ok(opened) => Ok(Connection::new(opened, TlsPath::Custom(file))),
            Err(ConnectError::Tls(first)) if first.is_about_trust() => {
                match link(Some(&self.system)).await {
                    Ok(opened) => {
                        let path = TlsPath::SystemAfterCustom(file);
                        Ok(Connection::new(opened, path))
                    }
                    Err(ConnectError::Tls(second)) => {
                        Err(ConnectError::Tls(first.or_else(second, file)))
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }
}
