//! What can be asked about: an image, its signatures, and the tags of a repository.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Metadata, MetadataError, Source};
use crate::{
    client::{Client, FetchError, Image},
    digest::Digest,
    reference::Reference,
    signature::{self, Signature},
};

/// A list may be long, so fewer are kept than of images.
const MOST_LISTS: usize = 256;

impl Source for Client {
    type Answer = Image;

    async fn fetch(&self, reference: &Reference) -> Result<Image, FetchError> {
        Client::fetch(self, reference, far_away()).await
    }

    fn digest_of(image: &Image) -> Option<&Digest> {
        Some(&image.digest)
    }

    async fn digest(&self, reference: &Reference) -> Result<Option<Digest>, FetchError> {
        Client::digest(self, reference, far_away()).await
    }
}

/// Asks for lists of tags.
#[derive(Debug)]
pub struct Tags(Arc<Client>);

/// The tags of repositories, for many callers: references without tag and digest.
pub type TagLists = Metadata<Tags>;

impl TagLists {
    /// `ttl` as for images.
    pub fn of(client: Arc<Client>, ttl: Option<Duration>) -> Self {
        Self {
            most_entries: MOST_LISTS,
            ..Self::new(Tags(client), ttl)
        }
    }
}

impl Source for Tags {
    type Answer = Vec<String>;

    async fn fetch(&self, reference: &Reference) -> Result<Vec<String>, FetchError> {
        self.0.tags(reference, far_away()).await.0
    }

    fn digest_of(_: &Vec<String>) -> Option<&Digest> {
        None
    }

    async fn digest(&self, _: &Reference) -> Result<Option<Digest>, FetchError> {
        Ok(None)
    }
}

/// Asks for what claims to be an image's signature.
#[derive(Debug)]
pub struct Signatures(Arc<Client>);

/// The signatures of images, for many callers. They are kept under the tag that cosign
/// gives them, of which the digest is a part.
pub type SignatureLists = Metadata<Signatures>;

/// How old the answer may be: somebody who is refused signs the image and tries again.
const SIGNATURES_KEPT: Duration = Duration::from_secs(10);

impl SignatureLists {
    pub fn of(client: Arc<Client>) -> Self {
        // Asked again only when somebody wants to know.
        Self::new(Signatures(client), None)
    }

    /// What claims to be a signature of the image's digest.
    pub async fn of_image(
        &self,
        image: &Reference,
        digest: &Digest,
        deadline: Instant,
    ) -> Result<Arc<Vec<Signature>>, MetadataError> {
        let place = signature::place(image, digest);
        self.get_younger(&place, SIGNATURES_KEPT, deadline).await
    }
}

impl Source for Signatures {
    type Answer = Vec<Signature>;

    async fn fetch(&self, place: &Reference) -> Result<Vec<Signature>, FetchError> {
        let Some(digest) = signature::digest_of_place(place) else {
            return Ok(Vec::new());
        };
        self.0.signatures(place, &digest, far_away()).await
    }

    fn digest_of(_: &Vec<Signature>) -> Option<&Digest> {
        None
    }

    async fn digest(&self, _: &Reference) -> Result<Option<Digest>, FetchError> {
        Ok(None)
    }
}

/// The client's own limit comes first: many may be waiting for the answer, each
/// with a deadline of its own.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
