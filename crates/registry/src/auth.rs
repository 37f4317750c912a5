//! Credentials: which ones go with an image, and where they come from.
//!
//! ```text
//! private registries off, or gcr.io/kpt-fn/…: the default keychain
//!     $DOCKER_CONFIG/config.json or ~/.docker/config.json, with its helper programs
//! otherwise: the file of --registry-auth-secret-path, without helpers
//! ```
//! Files are read whenever credentials are needed, which the metadata cache
//! makes rare, so a changed file is used from the next request on.

mod docker_config;
mod helper;

use std::{
    env, fmt, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use docker_config::DockerConfig;
pub use helper::HelperError;
use tokio::time::Instant;

use crate::{reference::Reference, secret::Secret, url::escaped};

/// Where credentials come from.
#[derive(Debug, Clone)]
pub enum Keychain {
    /// As Docker finds them for the user who runs this process.
    Default,
    /// From this docker config, except for the default registry.
    File(PathBuf),
}

/// Images below this prefix are public; they never get the file's credentials.
const DEFAULT_REGISTRY: &str = "gcr.io/kpt-fn/";

/// What to show to a registry, if it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    Basic {
        username: String,
        password: Secret,
    },
    /// Exchanged for an access token at the registry's token server.
    Identity(Secret),
    /// Sent as it is.
    Token(Secret),
}

/// Credentials, and what may be said about them in messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) credentials: Option<Credentials>,
    pub(crate) origin: Origin,
}

/// Where credentials were found, or looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The docker config; `None` if there is none.
    pub file: Option<PathBuf>,
    /// The key of the entry in it.
    pub entry: Option<String>,
    /// The program that was asked.
    pub helper: Option<String>,
    pub username: Option<String>,
}

/// Why credentials could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("cannot read the docker config {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "the docker config {} is not valid: line {line}, column {column} is not JSON of the form \
         {{\"auths\": {{\"registry.example.com\": {{\"auth\": \"…\"}}}}}}", path.display()
    )]
    Parse {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    #[error(
        "the entry {entry:?} of the docker config {} has an auth that is not the base64 form of \
         user:password", path.display()
    )]
    Entry { path: PathBuf, entry: String },
    #[error("the credential helper {helper} of {} failed", path.display())]
    Helper {
        path: PathBuf,
        helper: String,
        source: HelperError,
    },
}

impl Keychain {
    /// The credentials for `reference`, if there are any.
    pub(crate) async fn find(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> Result<Found, CredentialsError> {
        let image = format!("{}/{}", reference.domain(), reference.path());
        match self {
            Self::File(path) if !image.starts_with(DEFAULT_REGISTRY) => {
                let text = read(path).await?;
                DockerConfig::parse(path, &text)?.entry(reference)
            }
            Self::Default | Self::File(_) => {
                let Some(path) = default_file() else {
                    return Ok(Found::default());
                };
                let text = match read(&path).await {
                    Ok(text) => text,
                    Err(CredentialsError::Read { source, .. })
                        if source.kind() == io::ErrorKind::NotFound =>
                    {
                        return Ok(Found::default());
                    }
                    Err(error) => return Err(error),
                };
                let config = DockerConfig::parse(&path, &text)?;
                match helper::ask(&config, reference, deadline).await? {
                    Some(found) => Ok(found),
                    None => config.entry(reference),
                }
            }
        }
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, CredentialsError> {
    tokio::fs::read(path)
        .await
        .map_err(|source| CredentialsError::Read {
            path: path.to_owned(),
            source,
        })
}

fn default_file() -> Option<PathBuf> {
    let folder = match env::var_os("DOCKER_CONFIG").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir()?.join(".docker"),
    };
    Some(folder.join("config.json"))
}

impl Credentials {
    /// The value of an `Authorization` header that shows a name and a password.
    pub(crate) fn basic(username: &str, password: &Secret) -> Secret {
        let pair = format!("{username}:{}", password.reveal());
        Secret::new(format!("Basic {}", BASE64_STANDARD.encode(pair)))
    }

    /// `text` without these credentials in any form in which they were sent.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        match self {
            Self::Basic { username, password } => {
                let sent = Self::basic(username, password);
                let encoded = sent.reveal().trim_start_matches("Basic ");
                password.hide_in(&Secret::new(encoded).hide_in(text))
            }
            Self::Identity(token) | Self::Token(token) => {
                let in_a_form = Secret::new(escaped(token.reveal()).to_string());
                token.hide_in(&in_a_form.hide_in(text))
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(file) = &self.file else {
            return f.write_str("none: there is no docker config");
        };
        let file = file.display();
        match (&self.helper, &self.entry) {
            (Some(helper), _) => write!(f, "the helper {helper} of {file}")?,
            (None, Some(entry)) => write!(f, "the entry {entry:?} of {file}")?,
            (None, None) => return write!(f, "none: {file} has no entry for this registry"),
        }
        match &self.username {
            Some(username) => write!(f, ", user {username:?}"),
            None => Ok(()),
        }
    }
}
