//! The docker config file: entries, and which of them belongs to an image.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::Deserialize;

use super::{Credentials, CredentialsError, Found, Origin};
use crate::{reference::Reference, secret::Secret};

#[derive(Debug)]
pub(super) struct DockerConfig {
    path: PathBuf,
    file: File,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    auth: Option<Secret>,
    username: Option<String>,
    password: Option<Secret>,
    identitytoken: Option<Secret>,
    registrytoken: Option<Secret>,
}

/// The user name by which helpers and `auth` say that the rest is an identity token.
pub(super) const TOKEN_USER: &str = "<token>";

impl DockerConfig {
    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Self, CredentialsError> {
        // serde_json's own message would quote what it stumbled over.
        let parsed = serde_json::from_slice(text);
        let file = parsed.map_err(|error| CredentialsError::Parse {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The helper for the image's registry, and the name by which it knows it.
    pub(super) fn helper<'a>(&'a self, reference: &'a Reference) -> Option<(&'a str, &'a str)> {
        let helpers = &self.file.cred_helpers;
        let own = best(helpers.keys(), reference).map(|key| (helpers[key].as_str(), key.as_str()));
        let store = self.file.creds_store.as_deref();
        own.or(store.map(|store| (store, server(reference))))
            .filter(|(helper, _)| !helper.is_empty())
    }

    /// What the file itself says about the image's registry.
    pub(super) fn entry(&self, reference: &Reference) -> Result<Found, CredentialsError> {
        let Some(key) = best(self.file.auths.keys(), reference) else {
            let file = Some(self.path.clone());
            let origin = Origin {
                file,
                ..Origin::default()
            };
            return Ok(Found {
                credentials: None,
                origin,
            });
        };
        let credentials = self.file.auths[key].credentials();
        let credentials = credentials.map_err(|InvalidAuth| CredentialsError::Entry {
            path: self.path.clone(),
            entry: key.clone(),
        })?;
        let username = match &credentials {
            Some(Credentials::Basic { username, .. }) => Some(username.clone()),
            _ => None,
        };
        Ok(Found {
            origin: Origin {
                file: Some(self.path.clone()),
                // An empty entry only says that a helper has it.
                entry: credentials.is_some().then(|| key.clone()),
                helper: None,
                username,
            },
            credentials,
        })
    }
}

/// The name under which Docker keeps credentials for the image's registry.
fn server(reference: &Reference) -> &str {
    match reference.domain() {
        "docker.io" => "https://index.docker.io/v1/",
        domain => domain,
    }
}

struct InvalidAuth;

impl Entry {
    fn credentials(&self) -> Result<Option<Credentials>, InvalidAuth> {
        let given = |secret: &Option<Secret>| {
            let secret = secret.clone();
            secret.filter(|secret| !secret.reveal().is_empty())
        };
        if let Some(token) = given(&self.registrytoken) {
            return Ok(Some(Credentials::Token(token)));
        }
        if let Some(token) = given(&self.identitytoken) {
            return Ok(Some(Credentials::Identity(token)));
        }
        if let Some(auth) = given(&self.auth) {
            return decode(auth.reveal()).map(Some).ok_or(InvalidAuth);
        }
        Ok(self.username.clone().map(|username| Credentials::Basic {
            username,
            password: given(&self.password).unwrap_or_else(|| Secret::new("")),
        }))
    }
}

/// Not every tool pads its base64.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn decode(auth: &str) -> Option<Credentials> {
    let text = String::from_utf8(BASE64.decode(auth.trim()).ok()?).ok()?;
    let (username, password) = text.split_once(':')?;
    // Some tools pad with NUL.
    let password = Secret::new(password.trim_matches('\0'));
    Some(match username {
        TOKEN_USER => Credentials::Identity(password),
        _ => Credentials::Basic {
            username: username.to_owned(),
            password,
        },
    })
}

/// Of the keys that cover the image, the most specific one.
fn best<'a>(keys: impl Iterator<Item = &'a String>, reference: &Reference) -> Option<&'a String> {
    let covering = keys.filter_map(|key| Some((Key::read(key).covers(reference)?, key)));
    let best = covering.max_by_key(|(length, key)| (*length, key.len()));
    best.map(|(_, key)| key)
}

/// A key taken apart: `https://registry.example.com:5000/team/`.
struct Key<'a> {
    registry: String,
    path: &'a str,
}

impl<'a> Key<'a> {
    fn read(key: &'a str) -> Self {
        let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.trim_matches('/');
        Self {
            registry: registry(host),
            // The API's version is not part of a repository's name.
            path: match path {
                "v1" | "v2" => "",
                _ => path
                    .strip_prefix("v1/")
                    .or_else(|| path.strip_prefix("v2/"))
                    .unwrap_or(path),
            },
        }
    }

    /// The length of what matches beyond the registry; `None` if it is another's.
    fn covers(&self, reference: &Reference) -> Option<usize> {
        if self.registry != registry(reference.domain()) {
            return None;
        }
        let rest = reference.path().strip_prefix(self.path)?;
        let whole_parts = self.path.is_empty() || rest.is_empty() || rest.starts_with('/');
        whole_parts.then_some(self.path.len())
    }
}

/// One name per registry: Docker Hub has several, and port 443 is the default.
fn registry(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    match host.strip_suffix(":443").unwrap_or(&host) {
        "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
        host => host.to_owned(),
    }
}

#[cfg(test)]
mod tests;
