//! Fetches the documents of one image, in the order in which they refer to each other.

use http::Method;

use super::{FetchError, Image, session::Session, wire::Answer};
use crate::{
    digest::Digest,
    manifest::{ACCEPTED, Descriptor, ImageConfig, Manifest},
};

/// An index leads to an image, and an index of indexes is already unusual.
const DEEPEST_INDEX: usize = 3;

impl Session<'_> {
    pub(super) async fn image(&mut self) -> Result<Image, FetchError> {
        let image = self.reference.to_string();
        let top = self
            .ask(Method::GET, &self.manifest_path(), ACCEPTED)
            .await?;
        let digest = match self.reference.digest() {
            Some(digest) => {
                verify(&top, digest)?;
                digest.clone()
            }
            None => match told_digest(&top) {
                Some(digest) => {
                    verify(&top, &digest)?;
                    digest
                }
                None => Digest::of(&top.body),
            },
        };
        let mut manifest = digest.clone();
        let mut answer = top;
        for _ in 0..=DEEPEST_INDEX {
            let document = Manifest::parse(&answer.body);
            let document = document.map_err(|source| FetchError::Document {
                url: answer.url.to_string(),
                source,
            })?;
            match document {
                Manifest::Image { config } => return self.run(digest, manifest, &config).await,
                Manifest::Index(offered) => {
                    let wanted = &self.client.platform;
                    let chosen = wanted
                        .choose(&offered)
                        .ok_or_else(|| FetchError::Platform {
                            image: image.clone(),
                            wanted: wanted.clone(),
                            offered: platforms(&offered),
                        })?;
                    manifest = chosen.digest.clone();
                }
            }
            let path = format!("/v2/{}/manifests/{manifest}", self.reference.path());
            answer = self.ask(Method::GET, &path, ACCEPTED).await?;
            verify(&answer, &manifest)?;
        }
        Err(FetchError::Nesting { image })
    }

    /// What the image runs, by its configuration.
    async fn run(
        &mut self,
        digest: Digest,
        manifest: Digest,
        config: &Digest,
    ) -> Result<Image, FetchError> {
        let path = format!("/v2/{}/blobs/{config}", self.reference.path());
        let answer = self.ask(Method::GET, &path, "*/*").await?;
        verify(&answer, config)?;
        let config = ImageConfig::parse(&answer.body);
        let config = config.map_err(|source| FetchError::Document {
            url: answer.url.to_string(),
            source,
        })?;
        if config.command.is_empty() {
            return Err(FetchError::NoCommand {
                image: self.reference.to_string(),
            });
        }
        Ok(Image {
            digest,
            manifest,
            platform: config.platform,
            command: config.command,
        })
    }

    pub(super) async fn digest(&mut self) -> Result<Option<Digest>, FetchError> {
        let answer = self
            .ask(Method::HEAD, &self.manifest_path(), ACCEPTED)
            .await?;
        Ok(told_digest(&answer))
    }

    fn manifest_path(&self) -> String {
        let name = match (self.reference.digest(), self.reference.tag()) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.unwrap_or("latest").to_owned(),
        };
        format!("/v2/{}/manifests/{name}", self.reference.path())
    }
}

fn verify(answer: &Answer, expected: &Digest) -> Result<(), FetchError> {
    let actual = expected.computed_like_this(&answer.body);
    if actual == *expected {
        return Ok(());
    }
    Err(FetchError::Digest {
        url: answer.url.to_string(),
        expected: expected.clone(),
        actual,
    })
}

fn told_digest(answer: &Answer) -> Option<Digest> {
    let value = answer.headers.get("docker-content-digest")?;
    value.to_str().ok()?.parse().ok()
}

fn platforms(offered: &[Descriptor]) -> String {
    let names = offered.iter().filter_map(|offer| offer.platform.as_ref());
    let names: Vec<String> = names.take(20).map(ToString::to_string).collect();
    if names.is_empty() {
        "none that it names".to_owned()
    } else {
        names.join(", ")
    }
}
