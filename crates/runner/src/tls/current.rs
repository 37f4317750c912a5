//! The certificates that hold at the moment. The files are read at start, when they must
//! be right, and looked at again every [`LOOK_INTERVAL`]: good new ones count for every
//! connection from then on, bad ones are reported and change nothing. Connections that
//! are open stay so until they are as old as a connection may get.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustls::ServerConfig;

use super::settings::Texts;
use crate::config::TlsConfig;

/// As for other files.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Current {
    config: TlsConfig,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    texts: Texts,
    settings: Arc<ServerConfig>,
    /// Why the newest version is not used.
    trouble: Option<String>,
}

impl Current {
    pub(crate) fn start(config: &TlsConfig) -> anyhow::Result<Self> {
        let read = || {
            let texts = Texts::read(config)?;
            let settings = Arc::new(texts.settings(config)?);
            Ok((texts, settings))
        };
        let (texts, settings) = read().map_err(|why: String| anyhow::anyhow!("TLS: {why}"))?;
        Ok(Self {
            config: config.clone(),
            known: Mutex::new(Known {
                texts,
                settings,
                trouble: None,
            }),
        })
    }

    /// What counts for a connection that begins now.
    pub(super) fn settings(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.known().settings)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks again and again. Never ends.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let current = Arc::clone(&self);
            // Files may be on a slow disk.
            let looked = tokio::task::spawn_blocking(move || current.look()).await;
            if let Err(error) = looked {
                tracing::error!(%error, "looking at the certificates failed");
            }
        }
    }

    fn look(&self) {
        let looked = Texts::read(&self.config).and_then(|texts| {
            if texts == self.known().texts {
                return Ok(None);
            }
            let settings = texts.settings(&self.config)?;
            Ok(Some((texts, Arc::new(settings))))
        });
        let mut known = self.known();
        match looked {
            Ok(new) => {
                if let Some((texts, settings)) = new {
                    tracing::info!("new certificates are in use");
                    (known.texts, known.settings) = (texts, settings);
                }
                known.trouble = None;
            }
            Err(trouble) => {
                if known.trouble.as_ref() != Some(&trouble) {
                    tracing::error!("TLS: {trouble}; what was read before stays in use");
                    known.trouble = Some(trouble);
                }
            }
        }
    }
}
