//! Where a signal goes, by the variables `OTEL_EXPORTER_OTLP_*` and those of the signal,
//! `OTEL_EXPORTER_OTLP_TRACES_*` and `…_METRICS_*`, which win. Pure: the environment is
//! a function from names to values.

use std::{fmt, path::PathBuf, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

/// As the specification says.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Traces,
    Metrics,
}

impl Signal {
    /// In variables.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }
}

/// How it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Grpc,
}

/// A collector, and how to speak to it.
#[derive(Clone)]
pub(crate) struct Destination {
    pub(crate) protocol: Protocol,
    /// For HTTP with the signal's path, for gRPC without one.
    pub(crate) endpoint: Uri,
    /// May hold credentials: never log them.
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    /// The authority to trust instead of the system's.
    pub(crate) certificate: Option<PathBuf>,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination")
            .field("protocol", &self.protocol)
            .field("endpoint", &self.to_string())
            .finish_non_exhaustive()
    }
}

/// For a log: without a user or a query, which may be credentials.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = &self.endpoint;
        let scheme = endpoint.scheme_str().unwrap_or("http");
        let host = endpoint.host().unwrap_or_default();
        let port = endpoint.port_u16().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        write!(f, "{scheme}://{host}{port}{}", endpoint.path())
    }
}

/// A variable's value makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{variable} is {value:?}, which {reason}")]
pub(crate) struct Invalid {
    pub(crate) variable: String,
    pub(crate) value: String,
    pub(crate) reason: &'static str,
}

impl Destination {
    /// What the environment says about a signal.
    pub(crate) fn read(
        signal: Signal,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Invalid> {
        let own = |name: &str| {
            let variable = format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.variable());
            environment(&variable).map(|value| (variable, value))
        };
        let general = |name: &str| {
            let variable = format!("OTEL_EXPORTER_OTLP_{name}");
            environment(&variable).map(|value| (variable, value))
        };
        let either = |name: &str| own(name).or_else(|| general(name));

        let protocol = match either("PROTOCOL") {
            None => Protocol::Http,
            Some((_, value)) if value == "http/protobuf" => Protocol::Http,
            Some((_, value)) if value == "grpc" => Protocol::Grpc,
            Some(other) => return Err(invalid(other, "is neither http/protobuf nor grpc")),
        };
        let timeout = match either("TIMEOUT") {
            None => TIMEOUT,
            Some((variable, value)) => match value.parse() {
                Ok(milliseconds) => Duration::from_millis(milliseconds),
                Err(_) => {
                    return Err(invalid(
                        (variable, value),
                        "is not a number of milliseconds",
                    ));
                }
            },
        };
        let endpoint = match protocol {
            Protocol::Grpc => {
                let insecure = either("INSECURE").is_some_and(|(_, value)| value == "true");
                let given = either("ENDPOINT");
                grpc_endpoint(given, insecure)?
            }
            Protocol::Http => match own("ENDPOINT") {
                Some(given) => uri(given)?,
                None => {
                    let (variable, base) = general("ENDPOINT")
                        .unwrap_or_else(|| (String::new(), "http://localhost:4318".into()));
                    let base = base.trim_end_matches('/');
                    uri((variable, format!("{base}/v1/{}", signal.name())))?
                }
            },
        };
        let headers = either("HEADERS").map(headers).transpose()?;
        Ok(Self {
            protocol,
            endpoint,
            headers: headers.unwrap_or_default(),
            timeout,
            certificate: either("CERTIFICATE").map(|(_, file)| file.into()),
        })
    }
}

fn invalid((variable, value): (String, String), reason: &'static str) -> Invalid {
    Invalid {
        variable,
        value,
        reason,
    }
}

fn uri((variable, value): (String, String)) -> Result<Uri, Invalid> {
    let parsed: Option<Uri> = value.parse().ok();
    let is_usable = |uri: &Uri| {
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        is_http && uri.host().is_some_and(|host| !host.is_empty())
    };
    parsed
        .filter(is_usable)
        .ok_or_else(|| invalid((variable, value), "is not an http:// or https:// URL"))
}

/// `host:port` as well as a URL.
fn grpc_endpoint(given: Option<(String, String)>, insecure: bool) -> Result<Uri, Invalid> {
    let Some((variable, value)) = given else {
        return Ok(Uri::from_static("http://localhost:4317"));
    };
    let whole = if value.contains("://") {
        value
    } else if insecure {
        format!("http://{value}")
    } else {
        format!("https://{value}")
    };
    uri((variable, whole))
}

/// `name=value,name=value`, the values percent-encoded.
fn headers((variable, text): (String, String)) -> Result<HeaderMap, Invalid> {
    let mut headers = HeaderMap::new();
    for entry in text.split(',').filter(|entry| !entry.trim().is_empty()) {
        let header = || {
            let (name, value) = entry.split_once('=')?;
            let name: HeaderName = name.trim().parse().ok()?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        };
        let Some((name, value)) = header() else {
            // The value may be a credential.
            let told = (variable, "…".into());
            return Err(invalid(told, "is not a list of name=value"));
        };
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(signal: Signal, variables: &[(&str, &str)]) -> Result<Destination, Invalid> {
        Destination::read(signal, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_endpoint_is_made_of_what_the_variables_say() {
        let all = "OTEL_EXPORTER_OTLP_ENDPOINT";
        let traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        for (variables, expected) in [
            (vec![], "http://localhost:4318/v1/traces"),
            (vec![(all, "http://a:1/")], "http://a:1/v1/traces"),
            (vec![(all, "https://a/otlp")], "https://a/otlp/v1/traces"),
            (
                vec![(all, "http://a:1"), (traces, "http://b:2/x")],
                "http://b:2/x",
            ),
            (vec![grpc], "http://localhost:4317/"),
            (vec![grpc, (all, "http://a:1")], "http://a:1/"),
            (vec![grpc, (all, "a:1")], "https://a:1/"),
            (
                vec![grpc, (all, "a:1"), ("OTEL_EXPORTER_OTLP_INSECURE", "true")],
                "http://a:1/",
            ),
        ] {
            let read = read(Signal::Traces, &variables).unwrap();
            assert_eq!(read.endpoint.to_string(), expected, "{variables:?}");
        }
        let metrics = read(Signal::Metrics, &[(traces, "http://b:2/x")]).unwrap();
        assert_eq!(metrics.endpoint.path(), "/v1/metrics");
    }

    #[test]
    fn a_signals_own_variable_wins() {
        let read = read(
            Signal::Metrics,
            &[
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
                ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "250"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "a=b"),
                (
                    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
                    "api-key=s%20ecret, x=y",
                ),
            ],
        );
        let read = read.unwrap();
        assert_eq!(read.protocol, Protocol::Http);
        assert_eq!(read.timeout, Duration::from_millis(250));
        assert_eq!(read.headers.get("api-key").unwrap(), "s ecret");
        assert_eq!(read.headers.get("x").unwrap(), "y");
        assert_eq!(read.headers.len(), 2);
    }

    #[test]
    fn nonsense_is_named_with_its_variable_and_secrets_are_not_repeated() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "smoke signals"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "file:///etc"),
        ] {
            let told = read(Signal::Traces, &[(name, value)])
                .unwrap_err()
                .to_string();
            assert!(told.contains(name) && told.contains(value), "{told}");
        }
        let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization hunter2")];
        let told = read(Signal::Traces, &variables).unwrap_err().to_string();
        assert!(!told.contains("hunter2"), "{told}");
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@a:1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2"),
        ];
        let read = read(Signal::Traces, &variables).unwrap();
        let shown = format!("{read} {read:?}");
        assert!(shown.contains("http://a:1/v1/traces"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
