//! Addresses of requests: just enough of URLs for registries, whose parts are
//! few and where the difference between two hosts decides about credentials.

use std::fmt;

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

/// Who answers: credentials for one endpoint are never sent to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub scheme: Scheme,
    /// Lower-case; IPv6 addresses without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) endpoint: Endpoint,
    /// Begins with a slash.
    pub(crate) path_and_query: String,
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Endpoint {
    /// The endpoint of a registry as references name it: `host[:port]`.
    pub(crate) fn of_registry(scheme: Scheme, registry: &str) -> Option<Self> {
        let (host, port) = match registry.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (registry, scheme.default_port()),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self {
            scheme,
            host: host.to_ascii_lowercase(),
            port,
        })
    }

    /// Host and port as a `Host` header has them.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == self.scheme.default_port() {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

impl Url {
    pub(crate) fn new(endpoint: Endpoint, path_and_query: String) -> Self {
        Self {
            endpoint,
            path_and_query,
        }
    }

    /// Reads an absolute URL. User names in it are refused: they hide the host.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let scheme = match uri.scheme_str()? {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return None,
        };
        let authority = uri.authority()?.as_str();
        if authority.contains('@') {
            return None;
        }
        let path_and_query = uri.path_and_query().map_or("/", |path| path.as_str());
        Some(Self {
            endpoint: Endpoint::of_registry(scheme, authority).filter(|it| !it.host.is_empty())?,
            // An authority may be followed by a query at once.
            path_and_query: if path_and_query.starts_with('/') {
                path_and_query.to_owned()
            } else {
                format!("/{path_and_query}")
            },
        })
    }

    /// Where a `Location` of this URL's answer leads.
    pub(crate) fn join(&self, location: &str) -> Option<Self> {
        if location.starts_with('/') && !location.starts_with("//") {
            let uri: Uri = location.parse().ok()?;
            return Some(Self::new(self.endpoint.clone(), uri.to_string()));
        }
        Self::parse(location)
    }

    /// With another parameter in the query.
    pub(crate) fn with_parameter(mut self, name: &str, value: &str) -> Self {
        let separator = if self.path_and_query.contains('?') {
            '&'
        } else {
            '?'
        };
        self.path_and_query.push(separator);
        self.path_and_query.push_str(&form([(name, value)]));
        self
    }
}

/// Without the query: it may be signed, which makes it a secret.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path_and_query.split('?').next().unwrap_or_default();
        write!(f, "{}{path}", self.endpoint)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}", self.authority())
    }
}

/// Parameters as forms and queries carry them.
pub(crate) fn form<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = parameters.into_iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={}", escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// What a value may have as it is: the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A value as forms and queries carry it.
pub(crate) fn escaped(value: &str) -> impl fmt::Display {
    utf8_percent_encode(value, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown_without_their_query() {
        for (text, shown, port) in [
            ("https://a.b/token?x=y", "https://a.b/token", 443),
            ("http://A.b:5000", "http://a.b:5000/", 5000),
            ("https://[::1]:5000/x", "https://[::1]:5000/x", 5000),
            ("https://a.b?secret", "https://a.b/", 443),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.to_string().as_str(), url.endpoint.port), (shown, port));
        }
        for text in [
            "",
            "/x",
            "ftp://a.b/",
            "https://user:pw@a.b/",
            "https://",
            "a.b/c",
            "http://a.b:99999/",
        ] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }

    #[test]
    fn locations_lead_on() {
        let url = Url::parse("https://a.b/v2/x?y").unwrap();
        for (location, target) in [
            ("/other?z=1", Some("https://a.b/other")),
            ("http://c.d/e", Some("http://c.d/e")),
            ("//c.d/e", None),
            ("e/f", None),
        ] {
            let joined = url.join(location).map(|url| url.to_string());
            assert_eq!(joined.as_deref(), target, "{location}");
        }
    }

    #[test]
    fn parameters_are_escaped() {
        let url = Url::parse("https://a.b/t").unwrap();
        let url = url
            .with_parameter("scope", "repository:a/b:pull")
            .with_parameter("x", "ä&=");
        assert_eq!(
            url.path_and_query,
            "/t?scope=repository%3Aa%2Fb%3Apull&x=%C3%A4%26%3D"
        );
    }
}
