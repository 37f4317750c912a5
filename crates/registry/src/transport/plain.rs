//! Plain HTTP: allowed where nobody listens in, or where the operator says so.

use std::net::IpAddr;

use super::ConnectError;
use crate::url::Endpoint;

/// The rules, and the registries that the operator named.
#[derive(Debug)]
pub(crate) struct PlainHttp {
    named: Vec<String>,
}

impl PlainHttp {
    pub(crate) fn new(named: &[String]) -> Self {
        Self {
            named: named.to_vec(),
        }
    }

    /// Whether plain HTTP may be spoken to the endpoint's host.
    pub(crate) fn allows(&self, endpoint: &Endpoint) -> bool {
        let host = endpoint.host.as_str();
        is_loopback(host)
            || host.ends_with(".local")
            || host.parse().is_ok_and(is_private)
            || self.names(endpoint)
    }

    /// Whether the operator named the endpoint.
    pub(crate) fn names(&self, endpoint: &Endpoint) -> bool {
        self.named.iter().any(|name| is_named(name, endpoint))
    }

    /// Whether credentials may be sent to the endpoint, which is spoken to in plain
    /// HTTP because `error` was all that came of TLS. An attacker who can cut connections
    /// must not get them by that alone.
    pub(crate) fn may_show_credentials(&self, endpoint: &Endpoint, error: &ConnectError) -> bool {
        let answered = match error {
            ConnectError::Tls(failure) => failure.is_answered_in_clear(),
            _ => false,
        };
        answered || is_loopback(&endpoint.host) || self.names(endpoint)
    }
}

/// Whether `name`, with or without a port, means the endpoint.
fn is_named(name: &str, endpoint: &Endpoint) -> bool {
    let named = Endpoint::of_registry(endpoint.scheme, name);
    let has_port = name
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.ends_with(']'));
    named.is_some_and(|named| {
        named.host == endpoint.host && (!has_port || named.port == endpoint.port)
    })
}

/// Whether what is sent to `host` stays on this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_some_and(|address| address.is_loopback())
}

/// RFC 1918.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::{transport::TlsFailure, url::Scheme};

    #[test]
    fn who_cuts_connections_gets_no_credentials_by_that() {
        let rules = PlainHttp::new(&["lab.local".into()]);
        let failed = |error: &io::Error| ConnectError::Tls(TlsFailure::of(error));
        let cut = failed(&io::ErrorKind::ConnectionReset.into());
        let ended = failed(&io::ErrorKind::UnexpectedEof.into());
        let refused = ConnectError::Tcp(io::ErrorKind::ConnectionRefused.into());
        let garbage = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        let answered = failed(&io::Error::other(garbage));
        for (registry, without_answer) in [
            ("10.1.2.3:5000", false),
            ("registry.local", false),
            ("lab.local", true),
            ("localhost:5000", true),
        ] {
            let endpoint = Endpoint::of_registry(Scheme::Http, registry).unwrap();
            for error in [&cut, &ended, &refused] {
                let may = rules.may_show_credentials(&endpoint, error);
                assert_eq!(may, without_answer, "{registry}: {error}");
            }
            assert!(
                rules.may_show_credentials(&endpoint, &answered),
                "{registry}"
            );
        }
    }

    #[test]
    fn plain_http_is_for_near_private_and_named_hosts() {
        let rules = PlainHttp::new(&[
            "Lab.example.com".into(),
            "other.example.com:5000".into(),
            "[2001:db8::1]:5000".into(),
        ]);
        for (registry, allowed) in [
            ("localhost", true),
            ("localhost:5000", true),
            ("a.localhost", true),
            ("127.0.0.1:5000", true),
            ("127.9.9.9", true),
            ("[::1]:5000", true),
            ("registry.local", true),
            ("registry.local:5000", true),
            ("10.1.2.3", true),
            ("172.16.0.1:80", true),
            ("172.31.255.255", true),
            ("192.168.1.1", true),
            ("lab.example.com", true),
            ("lab.example.com:5000", true),
            ("other.example.com:5000", true),
            ("[2001:db8::1]:5000", true),
            ("[2001:db8::1]:5001", false),
            ("other.example.com:5001", false),
            ("other.example.com", false),
            ("example.com", false),
            ("local", false),
            ("localhost.example.com", false),
            ("registry.local.example.com", false),
            ("172.32.0.1", false),
            ("11.0.0.1", false),
            ("169.254.169.254", false),
            ("[fd00::1]", false),
            ("10.example.com", false),
        ] {
            let endpoint = Endpoint::of_registry(Scheme::Http, registry).unwrap();
            assert_eq!(rules.allows(&endpoint), allowed, "{registry}");
        }
    }
}
