//! The certificates in force: their files, followed for changes. New certificates apply to
//! new connections; open connections keep theirs until they reach the highest age of a
//! connection.

use std::sync::Arc;

use rustls::ServerConfig;

use super::settings::Texts;
use crate::{
    config::TlsConfig,
    followed::{Files, Followed},
};

pub(crate) type Current = Followed<TlsConfig>;

#[derive(Debug)]
pub(crate) struct Certificates {
    texts: Texts,
    pub(super) settings: Arc<ServerConfig>,
}

impl Files for TlsConfig {
    type Value = Certificates;

    fn read(&self, known: Option<&Certificates>) -> Result<Option<Certificates>, String> {
        let told = |why| format!("TLS: {why}");
        let texts = Texts::read(self).map_err(told)?;
        if known.is_some_and(|known| known.texts == texts) {
            return Ok(None);
        }
        let settings = Arc::new(texts.settings(self).map_err(told)?);
        Ok(Some(Certificates { texts, settings }))
    }

    fn tell(&self, _: &Certificates) {
        tracing::info!(path = %self.certificate.display(), "certificates are in use");
    }
}
