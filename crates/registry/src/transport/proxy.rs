//! Proxies, as `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` name them. They are for
//! TLS only: hosts that may be asked over plain HTTP are near, and reached directly.

use std::{io, str};

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{ConnectError, dial::dial, plain::is_loopback};
use crate::url::{Endpoint, Scheme};

/// A proxy's answer is a line and a few headers.
const LONGEST_ANSWER: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct Proxy(Intercept);

/// The proxy that the environment puts before `endpoint`, if any.
pub(super) fn on_the_way(proxies: &Matcher, endpoint: &Endpoint) -> Option<Proxy> {
    // The loopback of the proxy's machine would be meant otherwise.
    if endpoint.scheme == Scheme::Http || is_loopback(&endpoint.host) {
        return None;
    }
    let uri: Uri = endpoint.to_string().parse().ok()?;
    proxies.intercept(&uri).map(Proxy)
}

impl Proxy {
    /// A stream through the proxy to the endpoint.
    pub(super) async fn connect(&self, endpoint: &Endpoint) -> Result<TcpStream, ConnectError> {
        let uri = self.0.uri();
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(80);
        let refused = |source| ConnectError::Proxy {
            proxy: format!("{host}:{port}"),
            source,
        };
        if uri.scheme_str() != Some("http") {
            let told = "only proxies with http:// URLs are supported";
            return Err(refused(io::Error::other(told)));
        }
        let mut stream = match dial(host.trim_matches(['[', ']']), port).await {
            Ok(stream) => stream,
            Err(error) => return Err(refused(io::Error::other(error))),
        };
        self.tunnel(&mut stream, endpoint).await.map_err(refused)?;
        Ok(stream)
    }

    async fn tunnel(&self, stream: &mut TcpStream, endpoint: &Endpoint) -> io::Result<()> {
        let host = if endpoint.host.contains(':') {
            format!("[{}]:{}", endpoint.host, endpoint.port)
        } else {
            format!("{}:{}", endpoint.host, endpoint.port)
        };
        let mut request = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
        if let Some(authorization) = self.0.basic_auth() {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(authorization.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        stream.write_all(&request).await?;
        // Byte by byte: what follows the answer belongs to the endpoint.
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() == LONGEST_ANSWER {
                return Err(io::Error::other("its answer is too long"));
            }
            answer.push(stream.read_u8().await?);
        }
        let line = answer.split(|byte| *byte == b'\r').next();
        let line = line
            .and_then(|line| str::from_utf8(line).ok())
            .unwrap_or_default();
        match line.split(' ').nth(1) {
            Some(status) if status.starts_with('2') => Ok(()),
            _ => Err(io::Error::other(format!("it answered {line:?}"))),
        }
    }
}
