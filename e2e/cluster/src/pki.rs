//! Certificates and keys of one node's life: made when it starts, gone with its state.

use std::path::PathBuf;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::layout::{ca_certificate, state, write};

/// The test authority; it signs for servers and for clients.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Authority")
    }
}

impl Authority {
    /// Makes a new authority and writes its certificate; its key stays in memory.
    pub(crate) fn create() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "function-runner test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        write(&ca_certificate(), &certificate.pem())?;
        Ok(Self {
            issuer: Issuer::new(params, key),
        })
    }

    /// A certificate for a server that is known by these names and addresses.
    pub(crate) fn server(&self, name: &str, subjects: &[String]) -> Result<Identity> {
        self.sign(
            name,
            name,
            None,
            subjects,
            ExtendedKeyUsagePurpose::ServerAuth,
        )
    }

    /// A certificate by which the API server knows `user` as a member of `group`.
    pub(crate) fn client(&self, name: &str, user: &str, group: Option<&str>) -> Result<Identity> {
        self.sign(name, user, group, &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        file: &str,
        common_name: &str,
        group: Option<&str>,
        subjects: &[String],
        purpose: ExtendedKeyUsagePurpose,
    ) -> Result<Identity> {
        let mut params = CertificateParams::new(subjects)?;
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        if let Some(group) = group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate()?;
        let identity = Identity::of(file);
        write(
            &identity.certificate,
            &params.signed_by(&key, &self.issuer)?.pem(),
        )?;
        write(&identity.key, &key.serialize_pem())?;
        Ok(identity)
    }
}

/// A certificate and its key, as files.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Identity {
    /// Where the identity of that name is kept.
    #[must_use]
    pub(crate) fn of(name: &str) -> Self {
        let file = |kind: &str| state("pki").join(format!("{name}.{kind}"));
        Self {
            certificate: file("crt"),
            key: file("key"),
        }
    }
}

/// The key pair that signs service account tokens: (private, public).
#[must_use]
pub(crate) fn service_account_keys() -> (PathBuf, PathBuf) {
    (
        state("pki/service-account.key"),
        state("pki/service-account.pub"),
    )
}

pub(crate) fn create_service_account_keys() -> Result<()> {
    let key = KeyPair::generate()?;
    let (private, public) = service_account_keys();
    write(&private, &key.serialize_pem())?;
    write(&public, &key.public_key_pem())
}
