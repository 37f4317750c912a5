//! Moving tags, such as `latest`, that the tables of releases do not have. If the registry
//! says that such a tag has the digest of a release's tag, it is that release
//! (decision 0086).
//!
//! The registry is asked only where pods could run the image as well. If it does not
//! answer, one call waits for a moment, and for [`QUIET`] the next ones do not ask.

use std::time::Duration;

use functions::{
    catalog::Chosen,
    reference::{self, Rules},
};
use parking_lot::{Mutex, MutexGuard};
use registry::{Client, Digest, Image, Metadata, MetadataError, Source};
use tokio::time::Instant;

/// How long a call waits for registries; what they say later is there for the next one.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long registries are left alone that did not answer.
const QUIET: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct MovingTags<S: Source = Client> {
    rules: Rules,
    images: Metadata<S>,
    quiet_until: Mutex<Option<Instant>>,
}

impl<S: Source<Answer = Image>> MovingTags<S> {
    pub(super) fn new(rules: Rules, images: Metadata<S>) -> Self {
        Self {
            rules,
            images,
            quiet_until: Mutex::default(),
        }
    }

    /// The release that `image` is at the moment, if it is one that is reproduced.
    pub(super) async fn release(&self, image: &str) -> Option<Chosen> {
        let candidates = reference::candidates(image, &self.rules);
        if candidates.is_empty() || self.is_quiet() {
            return None;
        }
        let deadline = Instant::now() + PATIENCE;
        let digest = self.digest(image, deadline).await?;
        let text = digest.to_string();
        let is_known = |(chosen, _): &&(Chosen, String)| chosen.release.digests.contains(&&*text);
        if let Some((chosen, _)) = candidates.iter().find(is_known) {
            return Some(*chosen);
        }
        for (chosen, tag) in candidates {
            // A mirror need not hold every release.
            if self.digest(&tag, deadline).await.as_ref() == Some(&digest) {
                return Some(chosen);
            }
            if self.is_quiet() {
                return None;
            }
        }
        None
    }

    async fn digest(&self, image: &str, deadline: Instant) -> Option<Digest> {
        let reference = image.parse().ok()?;
        match self.images.get(&reference, deadline).await {
            Ok(image) => Some(image.digest.clone()),
            Err(MetadataError::Fetch(error)) if error.is_definite() => None,
            Err(error) => {
                tracing::debug!(image, "cannot find out which release this is: {error}");
                self.lock().replace(Instant::now() + QUIET);
                None
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.lock().is_some_and(|until| Instant::now() < until)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.quiet_until.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use registry::{FetchError, Platform, Reference};

    use super::*;

    /// Every tag is its own content, but those that `same` names have one.
    struct Tags {
        same: [&'static str; 2],
        answers: bool,
        asked: &'static AtomicUsize,
    }

    impl Source for Tags {
        type Answer = Image;

        fn digest_of(image: &Image) -> Option<&Digest> {
            Some(&image.digest)
        }

        async fn fetch(&self, reference: &Reference) -> Result<Image, FetchError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if !self.answers {
                std::future::pending::<()>().await;
            }
            let tag = reference.tag().unwrap_or_default();
            let content = if self.same.contains(&tag) {
                self.same[0]
            } else {
                tag
            };
            let digest = Digest::of(content.as_bytes());
            Ok(Image {
                manifest: digest.clone(),
                digest,
                platform: Platform::host(),
                command: vec!["fn".into()],
            })
        }

        async fn digest(&self, reference: &Reference) -> Result<Option<Digest>, FetchError> {
            Ok(Some(self.fetch(reference).await?.digest))
        }
    }

    fn moving(tags: Tags) -> MovingTags<Tags> {
        MovingTags::new(Rules::default(), Metadata::new(tags, None))
    }

    #[tokio::test]
    async fn a_moving_tag_with_the_digest_of_a_release_is_that_release() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let moving = moving(Tags {
            same: ["unstable", "v0.4.1"],
            answers: true,
            asked: &ASKED,
        });
        let unstable = moving.release("gcr.io/kpt-fn/set-namespace:unstable").await;
        assert_eq!(unstable.unwrap().to_string(), "set-namespace@v0.4.1");
        let asked = ASKED.load(Ordering::Relaxed);
        let again = moving.release("gcr.io/kpt-fn/set-namespace:unstable").await;
        assert_eq!((again, ASKED.load(Ordering::Relaxed)), (unstable, asked));
    }

    #[tokio::test]
    async fn a_moving_tag_with_another_digest_is_left_to_pods() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let moving = moving(Tags {
            same: ["none", "none"],
            answers: true,
            asked: &ASKED,
        });
        for image in [
            "gcr.io/kpt-fn/set-namespace:unstable",
            "example.com/team/function:v1",
        ] {
            assert_eq!(moving.release(image).await, None, "{image}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_registry_that_does_not_answer_is_left_alone_for_a_minute() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let moving = moving(Tags {
            same: ["none", "none"],
            answers: false,
            asked: &ASKED,
        });
        let begin = Instant::now();
        for _ in 0..100 {
            let release = moving.release("gcr.io/kpt-fn/set-namespace:unstable").await;
            assert_eq!(release, None);
        }
        assert!(begin.elapsed() < 2 * PATIENCE, "{:?}", begin.elapsed());
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    }
}
