//! Where the page and the metrics are, by OpenTelemetry's variables for Prometheus.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, lookup_host},
    time::timeout,
};

use super::access::{Rules, Visible};

const EXPORTER: &str = "OTEL_METRICS_EXPORTER";
const HOST: &str = "OTEL_EXPORTER_PROMETHEUS_HOST";
const PORT: &str = "OTEL_EXPORTER_PROMETHEUS_PORT";

const LOOKED_UP_WITHIN: Duration = Duration::from_secs(5);

/// Where to listen, and for whom.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) rules: Rules,
    /// What was not understood, and is not used.
    pub(crate) complaint: Option<String>,
}

impl Address {
    /// By the environment; `None` if nobody is to see anything.
    pub(crate) fn read(page: Visible, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let exporter = variable(EXPORTER).unwrap_or_default();
        let metrics_for_all = exporter.split(',').any(|word| word.trim() == "prometheus");
        if page == Visible::Nobody && !metrics_for_all {
            return None;
        }
        let mut complaint = None;
        let port = variable(PORT).map_or(Some(9464), |text| {
            let port = text.trim().parse().ok();
            if port.is_none() {
                complaint = Some(format!("{PORT}={text:?} is not a port; 9464 is used"));
            }
            port
        });
        Some(Self {
            host: variable(HOST).unwrap_or_else(|| "localhost".to_owned()),
            port: port.unwrap_or(9464),
            rules: Rules {
                page,
                metrics_for_all,
            },
            complaint,
        })
    }

    pub(super) async fn bind(&self) -> io::Result<TcpListener> {
        // Not looked up: the answer may be an address that clients of IPv4 do not reach.
        let host = match self.host.as_str() {
            "localhost" => "127.0.0.1",
            host => host.trim_matches(['[', ']']),
        };
        let found = timeout(LOOKED_UP_WITHIN, lookup_host((host, self.port))).await;
        let found: Vec<SocketAddr> = found
            .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "its name is not known in time"))??
            .collect();
        TcpListener::bind(&*found).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: Visible, variables: &[(&str, &str)]) -> Option<Address> {
        let value = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        };
        Address::read(page, value)
    }

    #[test]
    fn without_variables_it_is_on_this_machine() {
        let address = read(Visible::Loopback, &[]).unwrap();
        assert_eq!((&*address.host, address.port), ("localhost", 9464));
        assert!(!address.rules.metrics_for_all);
        assert!(read(Visible::Nobody, &[]).is_none());
    }

    #[test]
    fn as_porch_deploys_it_metrics_are_for_the_cluster_and_the_page_is_not() {
        let porch = [(EXPORTER, "prometheus"), (HOST, "0.0.0.0"), (PORT, "9464")];
        let address = read(Visible::Loopback, &porch).unwrap();
        assert_eq!(address.host, "0.0.0.0");
        assert!(address.rules.metrics_for_all);
        assert_eq!(address.rules.page, Visible::Loopback);
        assert!(read(Visible::Nobody, &porch).is_some());
    }

    #[test]
    fn a_port_that_is_none_is_complained_about() {
        let address = read(Visible::All, &[(PORT, "metrics")]).unwrap();
        assert_eq!(address.port, 9464);
        assert!(address.complaint.unwrap().contains("\"metrics\""));
    }
}
