//! Which clients may connect: the names that their certificates must have, beyond being
//! signed by the right authority.

use std::{str::FromStr, sync::Arc};

use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};
use webpki::EndEntityCert;

/// A name that a certificate has among its subject's alternative names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientName {
    /// In lower case.
    Dns(String),
    /// As SPIFFE ids are. Compared to the letter.
    Uri(String),
}

impl FromStr for ClientName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text.contains("://") {
            return Ok(Self::Uri(text.to_owned()));
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || !text.chars().all(is_part) {
            return Err(
                "DNS names and URIs such as spiffe://cluster.local/ns/a/sa/b, separated by commas",
            );
        }
        Ok(Self::Dns(text.to_ascii_lowercase()))
    }
}

/// Whether one of the certificate's names is allowed.
fn is_allowed(names: &[ClientName], certificate: &EndEntityCert<'_>) -> bool {
    names.iter().any(|name| match name {
        ClientName::Dns(name) => {
            let mut own = certificate.valid_dns_names();
            own.any(|own| own.eq_ignore_ascii_case(name))
        }
        ClientName::Uri(name) => certificate.valid_uri_names().any(|own| own == name),
    })
}

/// The names that a certificate has, for the operator who has to correct the list.
fn names_of(certificate: &EndEntityCert<'_>) -> String {
    let names = certificate
        .valid_dns_names()
        .chain(certificate.valid_uri_names());
    let names: Vec<String> = names.take(5).map(|name| format!("{name:.200}")).collect();
    names.join(", ")
}

#[derive(Debug, thiserror::Error)]
#[error("none of the client's names is in --allowed-clients; it has: {0}")]
struct NotAllowed(String);

/// Verifies as usual, and then looks at the names.
#[derive(Debug)]
pub(super) struct AllowedClients {
    pub(super) authority: Arc<dyn ClientCertVerifier>,
    pub(super) names: Vec<ClientName>,
}

impl ClientCertVerifier for AllowedClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.authority.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self
            .authority
            .verify_client_cert(end_entity, intermediates, now)?;
        let certificate = EndEntityCert::try_from(end_entity);
        let certificate = certificate.map_err(|_| CertificateError::BadEncoding)?;
        if is_allowed(&self.names, &certificate) {
            return Ok(verified);
        }
        let error = NotAllowed(names_of(&certificate));
        Err(CertificateError::Other(OtherError(Arc::new(error))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authority
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authority
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authority.supported_verify_schemes()
    }
}
