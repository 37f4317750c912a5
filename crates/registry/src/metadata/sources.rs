//! What can be asked about: an image, and the tags of a repository.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Metadata, Source};
use crate::{
    client::{Client, FetchError, Image},
    digest::Digest,
    reference::Reference,
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

/// The client's own limit comes first: many may be waiting for the answer, each
/// with a deadline of its own.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
