//! Docker's credential helpers: programs named `docker-credential-…` that are
//! given a registry's name and answer with a user name and a secret.

use std::time::Duration;

use bytes::Bytes;
use process::{Command, Environment, Exit, Limits, RunError};
use serde::Deserialize;
use tokio::time::Instant;

use super::{Credentials, CredentialsError, Found, Origin, docker_config::DockerConfig};
use crate::{auth::docker_config::TOKEN_USER, reference::Reference, secret::Secret};

/// A helper asks a keychain or a cloud; a helper that needs longer hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers are a name and a token.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Why a helper has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    #[error("its name {0:?} is not one word of letters, digits, dots, dashes and underscores")]
    Name(String),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("it failed ({exit}): {message}")]
    Failed { exit: Exit, message: String },
    #[error("its answer is not the JSON of a credential helper")]
    Answer,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: Secret,
}

/// The helper's answer; `None` if there is no helper, or it knows nothing.
pub(super) async fn ask(
    config: &DockerConfig,
    reference: &Reference,
    deadline: Instant,
) -> Result<Option<Found>, CredentialsError> {
    let Some((helper, server)) = config.helper(reference) else {
        return Ok(None);
    };
    let helper = format!("docker-credential-{helper}");
    let answer = run(&helper, server, deadline).await;
    let answer = answer.map_err(|source| CredentialsError::Helper {
        path: config.path().to_owned(),
        helper: helper.clone(),
        source,
    })?;
    Ok(answer.map(|Answer { username, secret }| Found {
        origin: Origin {
            file: Some(config.path().to_owned()),
            entry: None,
            helper: Some(helper),
            username: (username != TOKEN_USER).then(|| username.clone()),
        },
        credentials: Some(match username.as_str() {
            TOKEN_USER => Credentials::Identity(secret),
            _ => Credentials::Basic {
                username,
                password: secret,
            },
        }),
    }))
}

async fn run(helper: &str, server: &str, deadline: Instant) -> Result<Option<Answer>, HelperError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if !helper.chars().all(is_word) {
        return Err(HelperError::Name(helper.to_owned()));
    }
    // Helpers of clouds find their own credentials in the environment.
    let command = Command::new(helper, Environment::Inherited).args(["get"]);
    let limits = Limits {
        output: LONGEST_ANSWER,
        deadline: deadline.min(Instant::now() + PATIENCE),
    };
    let server = Bytes::copy_from_slice(server.as_bytes());
    let completed = process::run(&command, server, limits).await?;
    if completed.exit == Exit::Code(0) {
        let answer = serde_json::from_slice(&completed.stdout);
        // serde_json's own message would quote what it stumbled over.
        return answer.map(Some).map_err(|_| HelperError::Answer);
    }
    // Helpers complain on standard output, in words that Docker compares, too.
    let told = String::from_utf8_lossy(&completed.stdout);
    if told.contains("credentials not found") {
        return Ok(None);
    }
    let told = if told.trim().is_empty() || told.contains("\"Secret\"") {
        String::from_utf8_lossy(&completed.log)
    } else {
        told
    };
    Err(HelperError::Failed {
        exit: completed.exit,
        message: told.trim().chars().take(300).collect(),
    })
}
