//! From the files to what rustls needs: pure but for reading them.

use std::{fmt, path::Path, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    version::{TLS12, TLS13},
};

use super::clients::AllowedClients;
use crate::config::TlsConfig;

/// HTTP/2 is all that is spoken. grpc-go insists on hearing it.
pub(super) const ALPN: &[u8] = b"h2";

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What the files hold, to see whether it has changed. It does not print the key.
#[derive(PartialEq, Eq)]
pub(super) struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts").finish_non_exhaustive()
    }
}

impl Texts {
    pub(super) fn read(config: &TlsConfig) -> Result<Self, String> {
        Ok(Self {
            certificate: read(&config.certificate)?,
            key: read(&config.key)?,
            client_ca: config.client_ca.as_deref().map(read).transpose()?,
        })
    }

    /// A server's configuration. No session is resumed: a client that comes back shows its
    /// certificate again, and it is checked against the authority in force then.
    pub(super) fn settings(&self, config: &TlsConfig) -> Result<ServerConfig, String> {
        let chain = certificates(&self.certificate, &config.certificate)?;
        let key = private_key(&self.key, &config.key)?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| error.to_string())?;
        let builder = match (&self.client_ca, &config.client_ca) {
            (Some(text), Some(path)) => {
                let roots = Arc::new(roots(text, path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                let authority = verifier
                    .build()
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                if config.allowed_clients.is_empty() {
                    builder.with_client_cert_verifier(authority)
                } else {
                    let names = config.allowed_clients.clone();
                    builder.with_client_cert_verifier(Arc::new(AllowedClients { authority, names }))
                }
            }
            _ => builder.with_no_client_auth(),
        };
        let mut settings = builder.with_single_cert(chain, key).map_err(|error| {
            let (certificate, key) = (config.certificate.display(), config.key.display());
            format!("{certificate} and {key} do not fit together: {error}")
        })?;
        settings.alpn_protocols = vec![ALPN.to_vec()];
        settings.session_storage = Arc::new(NoServerSessionStorage {});
        settings.send_tls13_tickets = 0;
        Ok(settings)
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

pub(super) fn certificates(
    text: &[u8],
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, String> {
    let path = path.display();
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match all {
        Ok(all) if all.is_empty() => Err(format!("{path} holds no PEM certificate")),
        all => all.map_err(|error| format!("{path} is not valid PEM: {error}")),
    }
}

pub(super) fn private_key(text: &[u8], path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let key = PrivateKeyDer::from_pem_slice(text);
    key.map_err(|error| {
        format!(
            "{} holds no usable PEM private key: {error}",
            path.display()
        )
    })
}

pub(super) fn roots(text: &[u8], path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(text, path)? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(roots)
}
