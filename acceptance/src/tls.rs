//! Authorities and certificates for tests.

use std::{
    io::Write as _,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType, date_time_ymd,
};

/// Signs certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// When a certificate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    /// It has expired.
    Past,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        // Others of the same name would be taken for it.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("authority {number} of a test");
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("signed").pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    pub fn pem(&self) -> String {
        self.pem.clone()
    }

    /// Writes `NAME.crt` and `NAME.key` with these DNS names and URIs. The key comes
    /// first: a certificate without its key would be read as a mistake.
    pub fn issue(&self, folder: &Path, name: &str, names: &[&str], validity: Validity) {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names
            .iter()
            .map(|name| {
                let text = (*name).try_into().expect("ASCII");
                if name.contains("://") {
                    SanType::URI(text)
                } else {
                    SanType::DnsName(text)
                }
            })
            .collect();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if validity == Validity::Past {
            params.not_before = date_time_ymd(2019, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        let write = |extension: &str, text: String| {
            replace(&folder.join(format!("{name}.{extension}")), &text);
        };
        write("key", key.serialize_pem());
        write("crt", certificate.pem());
    }
}

/// Gives a file this content in one step, as a mounted Secret changes.
pub fn replace(path: &Path, text: &str) {
    let folder = path.parent().expect("a folder");
    let mut file = tempfile::NamedTempFile::new_in(folder).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.persist(path).expect("replaced");
}
