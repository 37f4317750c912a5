//! Answers a registry's challenge: with a password, or with a token from the
//! token server that the challenge names.

use http::{Method, StatusCode};
use serde::Deserialize;

use super::{
    AuthenticateError, FetchError,
    session::{Session, told_code},
    wire::{Answer, Outgoing},
};
use crate::{
    auth::{Credentials, Found, Origin},
    challenge::{Bearer, Challenge},
    secret::Secret,
    url::{Scheme, Url, form},
};

/// The client's name for token servers, which require one.
const CLIENT_ID: &str = "function-runner";

/// The `Authorization` header that the registry wants to see.
pub(super) async fn answer(
    session: &mut Session<'_>,
    challenge: &Challenge,
    asked: &Answer,
) -> Result<Secret, FetchError> {
    let found = credentials(session).await?;
    if session.keeps_credentials && found.credentials.is_some() {
        let host = asked.url.endpoint.authority().to_string();
        return Err(session.cannot_authenticate(AuthenticateError::CutTls { host }));
    }
    match (challenge, &found.credentials) {
        (_, Some(Credentials::Token(token))) => Ok(bearer(token)),
        (Challenge::Basic, Some(Credentials::Basic { username, password })) => {
            Ok(Credentials::basic(username, password))
        }
        (Challenge::Basic, Some(Credentials::Identity(_))) => {
            let source = AuthenticateError::NoPassword(Box::new(found.origin));
            Err(session.cannot_authenticate(source))
        }
        (Challenge::Basic, None) => {
            Err(session
                .cannot_authenticate(AuthenticateError::MissingEntry(Box::new(found.origin))))
        }
        (Challenge::Bearer(wanted), credentials) => {
            let url = realm(session, wanted, asked)?;
            let token = token(session, &url, wanted, credentials.as_ref(), &found.origin).await?;
            Ok(bearer(&token))
        }
    }
}

/// Why the registry still says no.
pub(super) fn rejected(
    session: &Session<'_>,
    challenge: &Challenge,
    answer: &Answer,
) -> FetchError {
    let Found {
        credentials,
        origin,
    } = session.found.clone().unwrap_or_default();
    session.cannot_authenticate(match (challenge, credentials) {
        (_, None) => AuthenticateError::MissingEntry(Box::new(origin)),
        (_, Some(Credentials::Token(_))) => AuthenticateError::ExpiredToken(Box::new(origin)),
        (Challenge::Basic, Some(Credentials::Identity(_))) => {
            AuthenticateError::NoPassword(Box::new(origin))
        }
        (Challenge::Basic, Some(Credentials::Basic { .. })) => {
            AuthenticateError::Rejected(Box::new(origin))
        }
        (Challenge::Bearer(bearer), Some(_)) => match bearer.error.as_deref() {
            Some("insufficient_scope") => return session.denied(answer),
            _ => AuthenticateError::TokenRefused {
                realm: bearer.realm.clone(),
            },
        },
    })
}

async fn credentials(session: &mut Session<'_>) -> Result<Found, FetchError> {
    if let Some(found) = &session.found {
        return Ok(found.clone());
    }
    let keychain = &session.client.keychain;
    let found = keychain.find(session.reference, session.deadline).await;
    let found = found.map_err(|source| FetchError::Credentials {
        registry: session.reference.domain().to_owned(),
        source: Box::new(source),
    })?;
    session.report.credentials = Some(found.origin.clone());
    session.found = Some(found.clone());
    Ok(found)
}

fn bearer(token: &Secret) -> Secret {
    Secret::new(format!("Bearer {}", token.reveal()))
}

/// Where tokens are to be fetched. Over plain HTTP that can only be the
/// registry's own host, and only if it speaks plain HTTP itself.
fn realm(session: &Session<'_>, wanted: &Bearer, asked: &Answer) -> Result<Url, FetchError> {
    let shown = wanted
        .realm
        .split('?')
        .next()
        .unwrap_or_default()
        .to_owned();
    let Some(url) = Url::parse(&wanted.realm) else {
        let source = AuthenticateError::InvalidRealm { realm: shown };
        return Err(session.cannot_authenticate(source));
    };
    let registry = &asked.url.endpoint;
    let is_own = registry.scheme == Scheme::Http && url.endpoint.host == registry.host;
    if url.endpoint.scheme == Scheme::Http && !is_own {
        let source = AuthenticateError::PlainRealm { realm: shown };
        return Err(session.cannot_authenticate(source));
    }
    Ok(url)
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<Secret>,
    access_token: Option<Secret>,
}

async fn token(
    session: &mut Session<'_>,
    realm: &Url,
    wanted: &Bearer,
    credentials: Option<&Credentials>,
    origin: &Origin,
) -> Result<Secret, FetchError> {
    let pull = format!("repository:{}:pull", session.reference.path());
    let scope = wanted.scope.as_deref().unwrap_or(&pull);
    let service = wanted.service.as_deref().unwrap_or_default();
    let (url, outgoing) = request(realm, scope, service, credentials);
    let answer = session.follow(&url, &outgoing).await;
    let token_server =
        |error| session.cannot_authenticate(AuthenticateError::TokenServer(Box::new(error)));
    let answer = answer.map_err(token_server)?;
    let refused = match answer.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => true,
        // How OAuth says that a refresh token is no longer good.
        StatusCode::BAD_REQUEST => matches!(credentials, Some(Credentials::Identity(_))),
        _ => false,
    };
    if refused {
        let denied = told_code(&answer.body).as_deref() == Some("DENIED");
        return Err(session.cannot_authenticate(match credentials {
            None => AuthenticateError::MissingEntry(Box::new(origin.clone())),
            Some(_) if denied => return Err(session.denied(&answer)),
            Some(Credentials::Basic { .. }) => {
                AuthenticateError::Rejected(Box::new(origin.clone()))
            }
            Some(_) => AuthenticateError::ExpiredToken(Box::new(origin.clone())),
        }));
    }
    let answer = session.succeeded(answer).map_err(token_server)?;
    let parsed: Option<TokenAnswer> = serde_json::from_slice(&answer.body).ok();
    let token = parsed.and_then(|answer| answer.token.or(answer.access_token));
    let token = token.filter(|token| !token.reveal().is_empty());
    token.ok_or_else(|| {
        let realm = realm.to_string();
        session.cannot_authenticate(AuthenticateError::TokenAnswer { realm })
    })
}

/// How to ask for a token: identity tokens are exchanged by a form, everything else
/// asks with a query.
fn request(
    realm: &Url,
    scope: &str,
    service: &str,
    credentials: Option<&Credentials>,
) -> (Url, Outgoing) {
    let mut outgoing = Outgoing {
        method: Method::GET,
        accept: "application/json",
        authorization: None,
        body: None,
    };
    if let Some(Credentials::Identity(token)) = credentials {
        outgoing.method = Method::POST;
        outgoing.body = Some(Secret::new(form([
            ("grant_type", "refresh_token"),
            ("service", service),
            ("scope", scope),
            ("client_id", CLIENT_ID),
            ("refresh_token", token.reveal()),
        ])));
        return (realm.clone(), outgoing);
    }
    let mut url = realm.clone();
    if !service.is_empty() {
        url = url.with_parameter("service", service);
    }
    // Several scopes are several parameters.
    for scope in scope.split_whitespace() {
        url = url.with_parameter("scope", scope);
    }
    if let Some(Credentials::Basic { username, password }) = credentials {
        outgoing.authorization = Some(Credentials::basic(username, password));
    }
    (url, outgoing)
}
