//! One connection: to the host or through a proxy, wrapped in TLS or not, and
//! HTTP/1.1 on top.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::{client::proxy::matcher::Matcher, rt::TokioIo};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::{TlsFailure, TlsPath, TrustError, dial::dial, proxy};
use crate::url::Endpoint;

/// A connection on which one request after the other may be sent.
#[derive(Debug)]
pub(crate) struct Connection {
    opened: Opened,
    pub(crate) path: TlsPath,
}

#[derive(Debug)]
pub(super) struct Opened {
    sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes; ends with the connection.
    _driver: AbortOnDropHandle<()>,
}

/// Why a connection was not made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("its name cannot be resolved; check its spelling and the DNS")]
    Resolve(#[source] io::Error),
    #[error("nothing accepts connections there; check that it runs and can be reached from here")]
    Tcp(#[source] io::Error),
    #[error("no connection within {} s; check that it can be reached from here", after.as_secs_f32())]
    Timeout { after: Duration },
    #[error("the proxy {proxy} refuses the connection")]
    Proxy { proxy: String, source: io::Error },
    #[error(transparent)]
    Tls(TlsFailure),
    #[error("the certificate authority to trust is missing")]
    Trust(#[from] TrustError),
    #[error("the connection was lost while it was being opened")]
    Handshake(#[source] hyper::Error),
}

impl Connection {
    pub(super) fn new(opened: Opened, path: TlsPath) -> Self {
        Self { opened, path }
    }

    pub(crate) fn sender(&mut self) -> &mut SendRequest<Full<Bytes>> {
        &mut self.opened.sender
    }
}

pub(super) async fn open(
    endpoint: &Endpoint,
    tls: Option<&Arc<ClientConfig>>,
    proxies: &Matcher,
) -> Result<Opened, ConnectError> {
    let stream = match proxy::on_the_way(proxies, endpoint) {
        Some(proxy) => proxy.connect(endpoint).await?,
        None => dial(&endpoint.host, endpoint.port).await?,
    };
    let Some(tls) = tls else {
        return converse(stream).await;
    };
    let name = ServerName::try_from(endpoint.host.clone());
    let name = name.map_err(|error| ConnectError::Resolve(io::Error::other(error)))?;
    let connecting = TlsConnector::from(Arc::clone(tls)).connect(name, stream);
    let stream = connecting.await;
    let stream = stream.map_err(|error| ConnectError::Tls(TlsFailure::of(&error)))?;
    converse(stream).await
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Opened, ConnectError> {
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = handshake.map_err(ConnectError::Handshake)?;
    let driver = tokio::spawn(async move {
        // The task that waits for an answer gets the error.
        let _ = connection.await;
    });
    Ok(Opened {
        sender,
        _driver: AbortOnDropHandle::new(driver),
    })
}
