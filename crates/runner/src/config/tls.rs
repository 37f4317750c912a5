//! The flags of TLS, some of which need others.

use std::path::PathBuf;

use goflags::{FlagError, Flags};

use super::{file, list};
use crate::tls::ClientName;

#[derive(Debug, Clone)]
pub(crate) struct TlsConfig {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// `None`: clients need no certificate.
    pub(crate) client_ca: Option<PathBuf>,
    /// Empty: every client with a certificate of the authority.
    pub(crate) allowed_clients: Vec<ClientName>,
}

impl TlsConfig {
    /// `None`: plain text. If TLS cannot be set up, that is an error: nobody should
    /// rely on protection that is not there.
    pub(super) fn read(flags: &Flags) -> Result<Option<Self>, FlagError> {
        let certificate = file(flags, "tls-cert-file")?;
        let key = file(flags, "tls-key-file")?;
        let client_ca = file(flags, "client-ca-file")?;
        let allowed_clients = flags.get("allowed-clients", names)?;
        let needs = |flag: &'static str, other: &str| FlagError::Invalid {
            flag,
            value: flags.text(flag).unwrap_or_default(),
            expected: format!("{other} beside it"),
        };
        if !allowed_clients.is_empty() && client_ca.is_none() {
            return Err(needs("allowed-clients", "--client-ca-file"));
        }
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(Self {
                certificate,
                key,
                client_ca,
                allowed_clients,
            })),
            (None, None) if client_ca.is_some() => Err(needs(
                "client-ca-file",
                "--tls-cert-file and --tls-key-file",
            )),
            (None, None) => Ok(None),
            (Some(_), None) => Err(needs("tls-cert-file", "--tls-key-file")),
            (None, Some(_)) => Err(needs("tls-key-file", "--tls-cert-file")),
        }
    }
}

fn names(text: &str) -> Result<Vec<ClientName>, &'static str> {
    list(text)?.iter().map(|name| name.parse()).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Request};

    #[test]
    fn a_wish_that_could_not_be_kept_is_refused() {
        let parsed = |line: &str| {
            let words = line.split_whitespace().map(Into::into).collect();
            Config::parse(words).map(|request| match request {
                Request::Serve(config) => config.tls.is_some(),
                Request::Print(_) => panic!("{line}"),
            })
        };
        assert!(!parsed("").unwrap());
        let pair = "--tls-cert-file=a --tls-key-file=b";
        assert!(parsed(pair).unwrap());
        let names = "--client-ca-file=c --allowed-clients=porch.example,spiffe://a/ns/b";
        assert!(parsed(&format!("{pair} {names}")).unwrap());
        for line in [
            "--tls-cert-file=a",
            "--tls-key-file=b",
            "--client-ca-file=c",
            names,
            "--tls-cert-file=a --tls-key-file=b --allowed-clients=x",
            "--tls-cert-file=a --tls-key-file=b --client-ca-file=c --allowed-clients=a/b",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
