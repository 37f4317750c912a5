//! TLS as `eval` and the probe speak it, with the flags of the well-known
//! grpc-health-probe.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use causes::in_full;
use goflags::{FlagError, Flags, Group, flag};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};

use super::settings::{ALPN, certificates, private_key, provider, read, roots};
use crate::config;

pub(crate) const FLAGS: Group = Group {
    title: "TLS",
    flags: &[
        flag::switch("tls", "false", "Speak TLS."),
        flag::value(
            "tls-ca-cert",
            "FILE",
            "",
            "The authority that has signed the server's certificate; otherwise the system's.",
        ),
        flag::value("tls-client-cert", "FILE", "", "Our own certificate."),
        flag::value("tls-client-key", "FILE", "", "Its key."),
        flag::value(
            "tls-server-name",
            "NAME",
            "",
            "The name that the server's certificate has, if it is not the address's.",
        ),
        flag::switch(
            "tls-no-verify",
            "false",
            "Believe any server. For a look, never for secrets.",
        ),
    ],
};

/// Where to connect, and how.
#[derive(Debug)]
pub(crate) struct TlsClient {
    address: String,
    /// `None`: plain text.
    wanted: Option<Wanted>,
    connect_timeout: Duration,
}

#[derive(Debug)]
struct Wanted {
    ca: Option<PathBuf>,
    own: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
    no_verify: bool,
}

impl TlsClient {
    pub(crate) fn read(
        flags: &Flags,
        address: String,
        connect_timeout: Duration,
    ) -> Result<Self, FlagError> {
        let is_tls = flags.switch("tls")?;
        // As the well-known program does: half a wish is a mistake.
        let depends = |name: &'static str, needed: &str| FlagError::Invalid {
            flag: name,
            value: String::new(),
            expected: format!("to be given together with {needed}"),
        };
        for flag in FLAGS.flags.iter().filter(|flag| flag.name != "tls") {
            if flags.is_given(flag.name) && !is_tls {
                return Err(depends(flag.name, "--tls"));
            }
        }
        let (cert, key) = (
            config::file(flags, "tls-client-cert")?,
            config::file(flags, "tls-client-key")?,
        );
        let own = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(_), None) => return Err(depends("tls-client-cert", "--tls-client-key")),
            (None, Some(_)) => return Err(depends("tls-client-key", "--tls-client-cert")),
        };
        let ca = config::file(flags, "tls-ca-cert")?;
        let no_verify = flags.switch("tls-no-verify")?;
        let server_name = flags.text("tls-server-name")?;
        let server_name = Some(server_name).filter(|name| !name.is_empty());
        if no_verify && (ca.is_some() || server_name.is_some()) {
            return Err(FlagError::Invalid {
                flag: "tls-no-verify",
                value: "true".into(),
                expected: "neither --tls-ca-cert nor --tls-server-name beside it".into(),
            });
        }
        let wanted = Wanted {
            ca,
            own,
            server_name,
            no_verify,
        };
        Ok(Self {
            address,
            wanted: is_tls.then_some(wanted),
            connect_timeout,
        })
    }

    /// Connects, or says why not.
    pub(crate) async fn connect(&self) -> Result<Channel, String> {
        let address = &self.address;
        let endpoint = Endpoint::from_shared(format!("http://{address}"));
        let endpoint = endpoint.map_err(|error| in_full(&error))?;
        let endpoint = endpoint
            .connect_timeout(self.connect_timeout)
            // Long messages of failed functions come as headers.
            .http2_max_header_list_size(64 * 1024);
        let Some(wanted) = &self.wanted else {
            return endpoint.connect().await.map_err(|error| last_cause(&error));
        };
        let connector = TlsConnector::from(Arc::new(wanted.settings()?));
        let host = address
            .rsplit_once(':')
            .map_or(&**address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = wanted.server_name.as_deref().unwrap_or(host).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| format!("{name:?} is not a name that a certificate could have"))?;
        let address = address.clone();
        let dial = tower::service_fn(move |_| {
            let (connector, name, address) = (connector.clone(), name.clone(), address.clone());
            async move {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let stream = connector.connect(name, stream).await?;
                Ok::<_, io::Error>(TokioIo::new(stream))
            }
        });
        let channel = endpoint.connect_with_connector(dial).await;
        channel.map_err(|error| last_cause(&error))
    }
}

/// "transport error" is what all that is built upon it says.
fn last_cause(error: &dyn std::error::Error) -> String {
    let first = std::iter::successors(Some(error), |error| error.source());
    first.last().map_or_else(String::new, ToString::to_string)
}

impl Wanted {
    fn settings(&self) -> Result<ClientConfig, String> {
        let builder = ClientConfig::builder_with_provider(provider());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = if self.no_verify {
            let anybody = Arc::new(Anybody(provider()));
            builder
                .dangerous()
                .with_custom_certificate_verifier(anybody)
        } else {
            builder.with_root_certificates(self.roots()?)
        };
        let mut settings = match &self.own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(&read(certificate)?, certificate)?;
                let key = private_key(&read(key)?, key)?;
                let built = builder.with_client_auth_cert(chain, key);
                built.map_err(|error| format!("{}: {error}", certificate.display()))?
            }
        };
        settings.alpn_protocols = vec![ALPN.to_vec()];
        Ok(settings)
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        if let Some(path) = &self.ca {
            return roots(&read(path)?, path);
        }
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        Ok(roots)
    }
}

/// Believes any server, as it was asked to.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
