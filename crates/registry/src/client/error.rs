//! Why an image's metadata could not be fetched. Every cause has a message of its own
//! that says what to do; no message contains a secret.

use std::time::Duration;

use http::StatusCode;

use crate::{
    auth::{CredentialsError, Origin},
    digest::Digest,
    manifest::InvalidDocument,
    platform::Platform,
    transport::ConnectError,
    url::Endpoint,
};

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("cannot look up the credentials for {registry}")]
    Credentials {
        registry: String,
        source: Box<CredentialsError>,
    },
    #[error("the port of {registry} is not valid; the highest port is 65535")]
    InvalidPort { registry: String },
    #[error("cannot connect to {endpoint}")]
    Connect {
        endpoint: Endpoint,
        source: ConnectError,
    },
    #[error("cannot authenticate at {registry}")]
    Authenticate {
        registry: String,
        source: AuthenticateError,
    },
    #[error(
        "{registry} does not let {who} pull {repository}{told}; ask for the right to pull it, and \
         check its name"
    )]
    Denied {
        registry: String,
        repository: String,
        who: String,
        /// In the registry's words.
        told: String,
    },
    #[error("there is no {image}: {registry} {what}; check the name and whether it was pushed")]
    Missing {
        image: String,
        registry: String,
        what: &'static str,
    },
    #[error("{url} cannot answer at the moment ({status}{told}){}", pause(*retry_after))]
    Unavailable {
        url: String,
        status: StatusCode,
        told: String,
        /// For how long the registry wants no requests.
        retry_after: Option<Duration>,
    },
    #[error("{url} gave an unexpected answer ({status}{told}); is it a registry?")]
    Unexpected {
        url: String,
        status: StatusCode,
        told: String,
    },
    #[error("the connection was lost during a request to {url}")]
    Lost { url: String, source: hyper::Error },
    #[error("{url} did not send its whole answer within {:.1} s", after.as_secs_f32())]
    Slow { url: String, after: Duration },
    #[error("the answer of {url} is longer than {limit} bytes, the limit for such a document")]
    TooLarge { url: String, limit: usize },
    #[error("{url} redirects {why}")]
    Redirect { url: String, why: String },
    #[error(
        "{url} sent other content than was asked for: its digest is {actual} instead of {expected}; \
         the registry or a proxy in front of it is broken or was tampered with"
    )]
    Digest {
        url: String,
        expected: Digest,
        actual: Digest,
    },
    #[error("{url} sent a document that cannot be read")]
    Document {
        url: String,
        source: InvalidDocument,
    },
    #[error("the indexes of {image} refer to each other and never to an image")]
    Nesting { image: String },
    #[error("{image} has no image for {wanted}, only for {offered}")]
    Platform {
        image: String,
        wanted: Platform,
        offered: String,
    },
    #[error(
        "{image} has neither ENTRYPOINT nor CMD, so there is nothing to run; add an ENTRYPOINT to \
         its Dockerfile"
    )]
    NoCommand { image: String },
    #[error(
        "{image} has too many tags to search for a version constraint; name a version instead of the \
         constraint"
    )]
    TooManyTags { image: String },
    #[error(
        "the list of {image}'s tags does not end: it refers {why}; name a version instead of a \
         constraint"
    )]
    Pages { image: String, why: &'static str },
    #[error("the deadline passed before the registry had answered all questions about {image}")]
    Deadline { image: String },
}

/// Why authentication failed.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    #[error("it wants credentials, but {}", missing(.0))]
    MissingEntry(Box<Origin>),
    #[error("it rejects the user name or the password; check {0}")]
    Rejected(Box<Origin>),
    #[error("it rejects the token; it may have expired, so log in again and renew {0}")]
    ExpiredToken(Box<Origin>),
    #[error(
        "it does not accept the token that {realm} issued for it; check that the registry trusts \
         that server and that their clocks agree"
    )]
    TokenRefused { realm: String },
    #[error("it wants a user name and a password, but {0} has only an identity token")]
    NoPassword(Box<Origin>),
    #[error("it wants neither Basic nor Bearer authentication, and others are not supported")]
    Challenge,
    #[error(
        "it wants its tokens fetched from {realm}, another host over plain HTTP; that is refused, \
         because credentials could be stolen there"
    )]
    PlainRealm { realm: String },
    #[error(
        "it wants credentials, but none are sent: it can be reached over plain HTTP only, because \
         TLS connections to it are cut or refused, perhaps by somebody else; give the registry a \
         certificate, or name {host} in --insecure-registries"
    )]
    CutTls { host: String },
    #[error("it wants its tokens fetched from {realm:?}, which is not a URL")]
    InvalidRealm { realm: String },
    #[error("its token server failed")]
    TokenServer(#[source] Box<FetchError>),
    #[error("the answer of its token server {realm} has no token")]
    TokenAnswer { realm: String },
}

fn pause(wished: Option<Duration>) -> String {
    wished.map_or_else(String::new, |time| {
        let seconds = time.as_secs_f32().ceil();
        format!("; it asked for a pause, so it is not asked again for {seconds} s")
    })
}

fn missing(origin: &Origin) -> String {
    match &origin.file {
        Some(file) => format!(
            "{} has no entry for it; add one under \"auths\"",
            file.display()
        ),
        None => "there is no docker config; log in with docker login, or set \
                 --enable-private-registries and --registry-auth-secret-path"
            .to_owned(),
    }
}

impl FetchError {
    /// Whether the same question may have a better answer in a moment.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Lost { .. } | Self::Slow { .. } => true,
            Self::Connect { source, .. } => {
                !matches!(source, ConnectError::Tls(_) | ConnectError::Trust(_))
            }
            Self::Authenticate {
                source: AuthenticateError::TokenServer(source),
                ..
            } => source.is_transient(),
            _ => false,
        }
    }

    /// For how long the host wants no requests, if it said so.
    pub(crate) fn wished_pause(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } => *retry_after,
            Self::Authenticate {
                source: AuthenticateError::TokenServer(source),
                ..
            } => source.wished_pause(),
            _ => None,
        }
    }

    /// Whether the image or the credentials are at fault: the answer stays the same
    /// until somebody changes something.
    pub fn is_definite(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::Denied { .. }
            | Self::Platform { .. }
            | Self::NoCommand { .. }
            | Self::Document { .. }
            | Self::Nesting { .. }
            | Self::TooManyTags { .. }
            | Self::Pages { .. }
            | Self::Authenticate { .. } => !self.is_transient(),
            _ => false,
        }
    }
}
