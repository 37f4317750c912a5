//! TLS 1.2 and 1.3, with the system's roots or an authority of the operator's.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    CertificateError, ClientConfig, Error, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};

use crate::warnings::Warnings;

/// The names under which a directory may hold the authority, in this order.
const FILES: [&str; 5] = [
    "ca.crt",
    "ca.pem",
    "cacert.pem",
    "ca-bundle.crt",
    "root.crt",
];

/// What a certificate in PEM form begins with.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// Why the operator's authority cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error(
        "{} has neither ca.crt nor ca.pem (nor cacert.pem, ca-bundle.crt, root.crt); mount the authority's certificate there, name another \
         directory with --tls-secret-path, or leave --enable-private-registries-tls out",
        directory.display()
    )]
    Missing { directory: PathBuf },
    #[error("cannot read {}", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("{} holds no certificate in PEM form", file.display())]
    Parse { file: PathBuf },
}

/// Why a TLS connection was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFailure {
    kind: Kind,
    /// The authority that was tried before the system's roots.
    custom: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    UnknownAuthority,
    Expired,
    OtherName,
    /// Something else about the certificate, in the library's words.
    Certificate(String),
    /// The host answered something that is not TLS.
    NotTls,
    /// The connection ended without an answer: the host does not understand
    /// TLS, or somebody on the way does not want it.
    Cut,
    /// No version, algorithm or the like in common.
    Protocol(String),
}

impl TlsFailure {
    pub(super) fn of(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let kind = match inner {
            Some(Error::InvalidCertificate(why)) => match why {
                // Another authority of the same name, such as its successor, signs
                // with another key.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    Kind::UnknownAuthority
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    Kind::Expired
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Kind::OtherName,
                why => Kind::Certificate(why.to_string()),
            },
            Some(Error::InvalidMessage(_)) => Kind::NotTls,
            None => Kind::Cut,
            Some(other) => Kind::Protocol(other.to_string()),
        };
        Self { kind, custom: None }
    }

    /// What to report when the authority in `file` did not help and the system's
    /// roots did not either: the error of the side that knew the authority says more.
    pub(super) fn or_else(self, system: Self, file: PathBuf) -> Self {
        let kind = match self.kind {
            Kind::UnknownAuthority => system.kind,
            kind => kind,
        };
        Self {
            kind,
            custom: Some(file),
        }
    }

    /// Whether other roots might help.
    pub(super) fn is_about_trust(&self) -> bool {
        !matches!(self.kind, Kind::NotTls | Kind::Cut | Kind::Protocol(_))
    }

    /// Whether the host may be one that speaks plain HTTP.
    pub(crate) fn is_not_tls(&self) -> bool {
        matches!(self.kind, Kind::NotTls | Kind::Cut)
    }

    /// Whether the host itself answered, in clear.
    pub(crate) fn is_answered_in_clear(&self) -> bool {
        self.kind == Kind::NotTls
    }
}

impl std::error::Error for TlsFailure {}

impl fmt::Display for TlsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, &self.custom) {
            (Kind::UnknownAuthority, None) => f.write_str(
                "its certificate is signed by an authority that this system does not trust; if it \
                 is a private one, put the authority's certificate as ca.crt into the directory of \
                 --tls-secret-path and set --enable-private-registries-tls",
            ),
            (Kind::UnknownAuthority, Some(file)) => write!(
                f,
                "its certificate is signed neither by the authority in {} nor by one that this \
                 system trusts; put the certificate of the authority that signed it into that file",
                file.display()
            ),
            (Kind::Expired, _) => f.write_str(
                "its certificate has expired; renew it on the registry, and check this machine's \
                 clock",
            ),
            (Kind::OtherName, _) => f.write_str(
                "its certificate is for another name; use a name that the certificate has, or \
                 issue one with this name as subject alternative name",
            ),
            (Kind::Certificate(why), _) => write!(f, "its certificate is not acceptable: {why}"),
            (Kind::NotTls, _) => f.write_str(
                "it does not speak TLS; if it is meant to be spoken to in plain HTTP, name it in \
                 --insecure-registries",
            ),
            (Kind::Cut, _) => f.write_str(
                "it ends the connection before TLS begins; if it is meant to be spoken to in plain \
                 HTTP, name it in --insecure-registries",
            ),
            (Kind::Protocol(why), _) => write!(
                f,
                "no TLS connection can be agreed on ({why}); TLS 1.2 or later is needed"
            ),
        }
    }
}

/// Trusts whom the system trusts. `SSL_CERT_FILE` and `SSL_CERT_DIR` count.
pub(super) fn system() -> Arc<ClientConfig> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (good, _) = roots.add_parsable_certificates(loaded.certs);
    if good == 0 {
        tracing::warn!(
            "this system has no root certificates: no registry's certificate will be trusted \
             except by --enable-private-registries-tls"
        );
    }
    config(roots)
}

/// Trusts the authorities in `directory` only.
pub(super) async fn custom(
    directory: &Path,
    warnings: &Warnings,
) -> Result<(PathBuf, Arc<ClientConfig>), TrustError> {
    for name in FILES {
        let file = directory.join(name);
        match tokio::fs::read(&file).await {
            Ok(text) => {
                let trusted = roots(&text);
                if trusted.roots.is_empty() {
                    return Err(TrustError::Parse { file });
                }
                for position in &trusted.unusable {
                    warnings.once(format!(
                        "certificate {position} of {} is damaged or not one of an authority; the \
                         others in that file are used",
                        file.display()
                    ));
                }
                return Ok((file, config(trusted.roots)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(TrustError::Read { file, source }),
        }
    }
    Err(TrustError::Missing {
        directory: directory.to_owned(),
    })
}

/// The authorities of a file.
struct Trusted {
    roots: RootCertStore,
    /// The certificates that are none, counted from 1.
    unusable: Vec<usize>,
}

/// Each certificate by itself: a damaged one does not void the others.
fn roots(text: &[u8]) -> Trusted {
    let text = String::from_utf8_lossy(text);
    let mut trusted = Trusted {
        roots: RootCertStore::empty(),
        unusable: Vec::new(),
    };
    for (before, (begin, _)) in text.match_indices(BEGIN).enumerate() {
        let rest = &text[begin..];
        let next = rest[BEGIN.len()..].find(BEGIN);
        let section = next.map_or(rest, |next| &rest[..BEGIN.len() + next]);
        let added = CertificateDer::from_pem_slice(section.as_bytes())
            .ok()
            .map(|certificate| trusted.roots.add(certificate));
        if !matches!(added, Some(Ok(()))) {
            trusted.unusable.push(before + 1);
        }
    }
    trusted
}

fn config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3");
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(name: &str) -> String {
        let mut parameters = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().pem()
    }

    #[test]
    fn a_damaged_certificate_does_not_void_the_others() {
        let (first, last) = (authority("first"), authority("last"));
        let no_base64 = format!("{BEGIN}\n!!!\n-----END CERTIFICATE-----\n");
        let no_certificate = format!("{BEGIN}\nAAAA\n-----END CERTIFICATE-----\n");
        let no_end = format!("{BEGIN}\nMIIB\n");
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (text, good, unusable) in [
            (format!("{first}{last}"), 2, vec![]),
            (format!("# the old one\n{first}\n{last}"), 2, vec![]),
            (format!("{first}{no_base64}{last}"), 2, vec![2]),
            (format!("{no_certificate}{first}{last}"), 2, vec![1]),
            (format!("{first}{no_end}{last}"), 2, vec![2]),
            (format!("{key}{first}{last}{no_end}"), 2, vec![3]),
            (no_base64.clone(), 0, vec![1]),
            (key.to_owned(), 0, vec![]),
            ("no certificate".to_owned(), 0, vec![]),
        ] {
            let trusted = roots(text.as_bytes());
            assert_eq!(trusted.roots.len(), good, "{text}");
            assert_eq!(trusted.unusable, unusable, "{text}");
        }
    }
}
