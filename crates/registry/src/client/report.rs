//! What happened on the way to an answer, for people who ask why.

use std::{fmt, time::Duration};

use crate::{auth::Origin, transport::TlsPath};

/// The course of the requests about one image. It holds no secrets.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub exchanges: Vec<Exchange>,
    /// Where the registry's credentials were looked for; `None` if it wanted none.
    pub credentials: Option<Origin>,
    /// How the registry was reached, if it was.
    pub tls: Option<TlsPath>,
}

/// One request, or one connection.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What was done: `connect`, `GET`, `HEAD` or `POST`.
    pub action: String,
    /// Without its query.
    pub url: String,
    pub outcome: String,
    pub took: Duration,
}

impl Report {
    /// These requests, and others after them.
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        self.exchanges.extend(later.exchanges);
        Self {
            exchanges: self.exchanges,
            credentials: later.credentials.or(self.credentials),
            tls: later.tls.or(self.tls),
        }
    }

    /// Notes the beginning; what never ends stays noted as unanswered.
    pub(super) fn begin(&mut self, action: &str, url: &impl fmt::Display) -> usize {
        self.exchanges.push(Exchange {
            action: action.to_owned(),
            url: url.to_string(),
            outcome: "no answer".to_owned(),
            took: Duration::ZERO,
        });
        self.exchanges.len() - 1
    }

    pub(super) fn end(&mut self, exchange: usize, outcome: String, took: Duration) {
        let exchange = &mut self.exchanges[exchange];
        exchange.outcome = outcome;
        exchange.took = took;
    }

    /// Replaces the last outcome, now that more is known.
    pub(super) fn amend(&mut self, outcome: String) {
        if let Some(last) = self.exchanges.last_mut() {
            last.outcome = outcome;
        }
    }
}

impl fmt::Display for TlsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("none: plain HTTP"),
            Self::System => f.write_str("verified by the system's roots"),
            Self::Custom(file) => write!(f, "verified by {}", file.display()),
            Self::SystemAfterCustom(file) => write!(
                f,
                "verified by the system's roots, after {} did not",
                file.display()
            ),
        }
    }
}
