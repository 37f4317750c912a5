//! Asks a registry about one image, or for a repository's tags.
//!
//! ```text
//! manifest (of the tag or digest) ─► index? ─► the platform's manifest ─► configuration
//! ```
//! Everything that is fetched is bounded in size and time and, where a digest is
//! known, checked against it. Images are remembered by the metadata cache, not here;
//! the client only remembers until when a host has asked for a pause.

mod authenticate;
mod error;
mod hosts;
mod image;
mod reach;
mod report;
mod retry;
mod session;
mod signatures;
mod tag_list;
mod wire;

use std::time::Duration;

pub use error::{AuthenticateError, FetchError};
use hosts::Hosts;
pub use report::{Exchange, Report};
use session::Session;
use tokio::time::{Instant, timeout_at};

use crate::{
    auth::Keychain,
    digest::Digest,
    platform::Platform,
    reference::Reference,
    signature::Signature,
    transport::{Connector, Transport},
};

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// From the look-up of a name to the end of the TLS handshake.
    pub connect: Duration,
    /// One request, with its connection and its whole answer.
    pub request: Duration,
    /// All requests for one image, repeated ones and pauses included.
    pub total: Duration,
}

impl Default for Timeouts {
    /// Manifests and configurations are small: a registry that needs longer has failed.
    /// All of it fits twice into the time that a pod may take to start.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(10),
            total: Duration::from_secs(30),
        }
    }
}

/// What is to be known about an image before it can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What the reference stood for: of the index where there is one, so that
    /// every node finds the image for its own processor.
    pub digest: Digest,
    /// The manifest that was chosen for the platform.
    pub manifest: Digest,
    pub platform: Platform,
    /// The entrypoint followed by the arguments that come with it; not empty.
    pub command: Vec<String>,
}

/// Talks to registries.
#[derive(Debug)]
pub struct Client {
    keychain: Keychain,
    connector: Connector,
    timeouts: Timeouts,
    platform: Platform,
    hosts: Hosts,
}

impl Client {
    pub fn new(keychain: Keychain, transport: Transport, timeouts: Timeouts) -> Self {
        Self {
            keychain,
            connector: Connector::new(transport),
            timeouts,
            platform: Platform::host(),
            hosts: Hosts::new(),
        }
    }

    /// What a registry knows about an image.
    pub async fn fetch(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> Result<Image, FetchError> {
        self.inspect(reference, deadline).await.0
    }

    /// The same, and how it was found out or why not.
    pub async fn inspect(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> (Result<Image, FetchError>, Report) {
        let mut session = Session::new(self, reference, self.until(deadline));
        let image = within(reference, self.until(deadline), session.image()).await;
        (image, session.report)
    }

    /// The digest that a tag stands for now, if the registry says so without
    /// sending the manifest. Such questions do not count as pulls.
    pub async fn digest(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> Result<Option<Digest>, FetchError> {
        let mut session = Session::new(self, reference, self.until(deadline));
        within(reference, self.until(deadline), session.digest()).await
    }

    /// The tags of the reference's repository, and how they were found out or why not.
    pub async fn tags(
        &self,
        reference: &Reference,
        deadline: Instant,
    ) -> (Result<Vec<String>, FetchError>, Report) {
        let repository = reference.repository();
        let mut session = Session::new(self, &repository, self.until(deadline));
        let tags = within(&repository, self.until(deadline), session.tags()).await;
        (tags, session.report)
    }

    /// What claims to be a signature of the image with this digest, in the reference's
    /// repository. Whether it is one is for [`crate::signed_by`] to say.
    pub async fn signatures(
        &self,
        reference: &Reference,
        digest: &Digest,
        deadline: Instant,
    ) -> Result<Vec<Signature>, FetchError> {
        let mut session = Session::new(self, reference, self.until(deadline));
        within(reference, self.until(deadline), session.signatures(digest)).await
    }

    fn until(&self, deadline: Instant) -> Instant {
        deadline.min(Instant::now() + self.timeouts.total)
    }
}

async fn within<T>(
    reference: &Reference,
    deadline: Instant,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    let outcome = timeout_at(deadline, work).await;
    outcome.unwrap_or_else(|_| {
        Err(FetchError::Deadline {
            image: reference.to_string(),
        })
    })
}
