//! Who may see what, decided from plain facts of a request.
//!
//! The page shows names of functions and why calls failed. So it answers only requests
//! from this machine, including those of `kubectl port-forward`, unless `--status=all`.
//! Requests of a browser on this machine may come from a foreign web page whose name
//! resolves to our address, so requests for names that could be foreign are refused.

use std::net::IpAddr;

/// Who may see the page, by --status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visible {
    Nobody,
    Loopback,
    All,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Health,
    Metrics,
    /// The page and everything that belongs to it.
    Page,
}

/// What is open to whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) page: Visible,
    /// Whether Prometheus was asked for; otherwise metrics are for this machine.
    pub(super) metrics_for_all: bool,
}

/// Why somebody does not get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    TurnedOff,
    NotLocal,
    ForeignHost,
}

impl Refused {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::TurnedOff => "the status page is turned off (--status=false)\n",
            Self::NotLocal => {
                "this answers callers on the same machine only: use `kubectl port-forward`, or start \
                 the runner with --status=all\n"
            }
            Self::ForeignHost => {
                "the Host header names neither an address nor localhost: use one of them in the URL\n"
            }
        }
    }
}

impl Rules {
    pub(super) fn check(
        self,
        wanted: Wanted,
        peer: IpAddr,
        host: Option<&str>,
    ) -> Result<(), Refused> {
        let is_local = peer.to_canonical().is_loopback();
        let is_open = match wanted {
            Wanted::Health => return Ok(()),
            Wanted::Metrics => self.metrics_for_all,
            Wanted::Page if self.page == Visible::Nobody => return Err(Refused::TurnedOff),
            Wanted::Page => self.page == Visible::All,
        };
        if !is_open && !is_local {
            return Err(Refused::NotLocal);
        }
        match host {
            Some(host) if !is_ours(host, is_open) => Err(Refused::ForeignHost),
            None if wanted == Wanted::Page => Err(Refused::ForeignHost),
            _ => Ok(()),
        }
    }
}

/// Whether nobody else could own the name: an address, localhost, or, where more than
/// this machine may ask, a name that only a cluster knows.
fn is_ours(host: &str, in_cluster: bool) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_local = name == "localhost" || name.ends_with(".localhost");
    let is_cluster = !name.contains('.') || name.ends_with(".svc") || name.ends_with(".local");
    name.parse::<IpAddr>().is_ok() || is_local || (in_cluster && is_cluster && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: Rules = Rules {
        page: Visible::Loopback,
        metrics_for_all: false,
    };
    const PROMETHEUS: Rules = Rules {
        metrics_for_all: true,
        ..CLOSED
    };
    const OPEN: Rules = Rules {
        page: Visible::All,
        ..PROMETHEUS
    };
    const OFF: Rules = Rules {
        page: Visible::Nobody,
        ..PROMETHEUS
    };

    #[test]
    fn everything_has_its_audience() {
        use Wanted::{Health, Metrics, Page};
        let address = "10.0.0.7:9464";
        for (rules, wanted, peer, host, expected) in [
            (CLOSED, Page, "127.0.0.1", "localhost:9464", Ok(())),
            (CLOSED, Page, "::1", "[::1]:9464", Ok(())),
            (CLOSED, Page, "::ffff:127.0.0.1", "127.0.0.1", Ok(())),
            (CLOSED, Page, "10.0.0.9", address, Err(Refused::NotLocal)),
            (CLOSED, Metrics, "10.0.0.9", address, Err(Refused::NotLocal)),
            (CLOSED, Health, "10.0.0.9", address, Ok(())),
            (PROMETHEUS, Metrics, "10.0.0.9", address, Ok(())),
            (
                PROMETHEUS,
                Metrics,
                "10.0.0.9",
                "runner.porch.svc:9464",
                Ok(()),
            ),
            (
                PROMETHEUS,
                Page,
                "10.0.0.9",
                address,
                Err(Refused::NotLocal),
            ),
            (OPEN, Page, "10.0.0.9", address, Ok(())),
            (OFF, Page, "127.0.0.1", "localhost", Err(Refused::TurnedOff)),
            (OFF, Metrics, "10.0.0.9", address, Ok(())),
        ] {
            let found = rules.check(wanted, peer.parse().unwrap(), Some(host));
            assert_eq!(found, expected, "{wanted:?} for {peer} by {host}");
        }
    }

    #[test]
    fn a_foreign_name_for_our_address_is_refused() {
        let peer = IpAddr::from([127, 0, 0, 1]);
        for host in [
            "evil.example",
            "evil.example:9464",
            "localhost.evil.example",
            "",
        ] {
            for rules in [CLOSED, OPEN] {
                for wanted in [Wanted::Page, Wanted::Metrics] {
                    let found = rules.check(wanted, peer, Some(host));
                    assert_eq!(found, Err(Refused::ForeignHost), "{host:?}");
                }
            }
        }
        let found = CLOSED.check(Wanted::Page, peer, None);
        assert_eq!(found, Err(Refused::ForeignHost));
        // A name that only a cluster knows could be anybody's page here.
        let found = CLOSED.check(Wanted::Page, peer, Some("intranet"));
        assert_eq!(found, Err(Refused::ForeignHost));
    }
}
