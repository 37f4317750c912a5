use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::{task::JoinSet, time::sleep};

use super::*;
use crate::{
    client::{Client, Image},
    platform::Platform,
};

const TTL: Duration = Duration::from_secs(600);

/// A registry whose tags are set by the test, and whose every inquiry is counted.
#[derive(Clone, Default)]
struct Scripted(Arc<Script>);

#[derive(Default)]
struct Script {
    /// Tag to version.
    tags: Mutex<HashMap<String, u8>>,
    down: Mutex<bool>,
    takes: Mutex<Duration>,
    fetches: AtomicU64,
    digests: AtomicU64,
}

impl Scripted {
    fn with(tag: &str, version: u8) -> Self {
        let scripted = Self::default();
        scripted.set(tag, version);
        scripted
    }

    fn set(&self, tag: &str, version: u8) {
        self.0.tags.lock().insert(tag.to_owned(), version);
    }

    fn counts(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        (read(&self.0.fetches), read(&self.0.digests))
    }

    async fn answer(&self, reference: &Reference) -> Result<Image, FetchError> {
        let takes = *self.0.takes.lock();
        sleep(takes).await;
        let image = reference.to_string();
        if *self.0.down.lock() {
            return Err(FetchError::Deadline { image });
        }
        let tag = reference.tag().unwrap_or("digest");
        assert_ne!(tag, "panic");
        match self.0.tags.lock().get(tag) {
            Some(version) => Ok(image_of(*version)),
            None => Err(FetchError::Missing {
                image,
                registry: "r".into(),
                what: "x",
            }),
        }
    }
}

impl Source for Scripted {
    type Answer = Image;

    fn digest_of(image: &Image) -> Option<&Digest> {
        Some(&image.digest)
    }

    async fn fetch(&self, reference: &Reference) -> Result<Image, FetchError> {
        count(&self.0.fetches);
        self.answer(reference).await
    }

    async fn digest(&self, reference: &Reference) -> Result<Option<Digest>, FetchError> {
        count(&self.0.digests);
        Ok(Some(self.answer(reference).await?.digest))
    }
}

fn image_of(version: u8) -> Image {
    Image {
        digest: Digest::of(&[version]),
        manifest: Digest::of(&[version]),
        platform: Platform::host(),
        command: vec!["/fn".into()],
    }
}

fn reference(text: &str) -> Reference {
    text.parse().unwrap()
}

async fn get(metadata: &Metadata<Scripted>, image: &str) -> Result<Arc<Image>, MetadataError> {
    let deadline = Instant::now() + Duration::from_secs(5);
    metadata.get(&reference(image), deadline).await
}

#[tokio::test(start_paused = true)]
async fn concurrent_misses_make_one_inquiry() {
    let source = Scripted::with("v1", 1);
    *source.0.takes.lock() = Duration::from_secs(1);
    let metadata = Arc::new(Metadata::new(source.clone(), Some(TTL)));
    let mut callers = JoinSet::new();
    for _ in 0..200 {
        let metadata = Arc::clone(&metadata);
        callers.spawn(async move { get(&metadata, "a/b:v1").await.unwrap() });
    }
    let answers = callers.join_all().await;
    assert!(answers.iter().all(|image| **image == image_of(1)));
    assert_eq!(source.counts(), (1, 0));
    let statistics = metadata.statistics();
    assert_eq!((statistics.misses, statistics.joined), (1, 199));
}

#[tokio::test(start_paused = true)]
async fn a_moved_tag_is_noticed_after_the_ttl_and_delays_nobody() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap();
    source.set("v1", 2);
    sleep(TTL * 9 / 10 - Duration::from_secs(1)).await;
    assert_eq!(*get(&metadata, "a/b:v1").await.unwrap(), image_of(1));
    assert_eq!(source.counts(), (1, 0), "its answer is still young");

    *source.0.takes.lock() = TTL / 5;
    sleep(TTL / 10 + Duration::from_secs(2)).await;
    assert_eq!(source.counts(), (1, 1));
    let before = Instant::now();
    assert_eq!(*get(&metadata, "a/b:v1").await.unwrap(), image_of(1));
    assert_eq!(before.elapsed(), Duration::ZERO, "a refresh is under way");

    sleep(TTL / 2).await;
    assert_eq!(*get(&metadata, "a/b:v1").await.unwrap(), image_of(2));
    assert_eq!(metadata.statistics().moved, 1);
}

#[tokio::test(start_paused = true)]
async fn a_tag_that_did_not_move_is_not_fetched_again() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap();
    sleep(TTL * 3 + Duration::from_secs(1)).await;
    assert_eq!(source.counts(), (1, 3));
    assert_eq!(metadata.statistics().refreshes, 3);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_down_does_not_disturb_what_is_known() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap();
    *source.0.down.lock() = true;
    sleep(TTL * 2).await;
    assert_eq!(*get(&metadata, "a/b:v1").await.unwrap(), image_of(1));
    // Back again: noticed without waiting for another whole TTL.
    *source.0.down.lock() = false;
    source.set("v1", 2);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(*get(&metadata, "a/b:v1").await.unwrap(), image_of(2));
}

#[tokio::test(start_paused = true)]
async fn digests_and_tags_without_a_ttl_are_asked_for_once() {
    let source = Scripted::with("v1", 1);
    source.set("digest", 1);
    let day = Duration::from_secs(24 * 3600);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    let digest = format!("a/b@{}", Digest::of(b"x"));
    get(&metadata, &digest).await.unwrap();
    sleep(day).await;
    get(&metadata, &digest).await.unwrap();
    assert_eq!(source.counts(), (1, 0));

    let for_ever = Metadata::new(source.clone(), None);
    get(&for_ever, "a/b:v1").await.unwrap();
    sleep(day).await;
    get(&for_ever, "a/b:v1").await.unwrap();
    assert_eq!(source.counts(), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_missing_tag_is_remembered_briefly() {
    let source = Scripted::default();
    let metadata = Metadata::new(source.clone(), Some(TTL));
    for _ in 0..3 {
        let told = get(&metadata, "a/b:v1").await.unwrap_err();
        assert!(matches!(told, MetadataError::Fetch(_)), "{told}");
    }
    assert_eq!(source.counts().0, 1);
    source.set("v1", 1);
    sleep(Duration::from_secs(11)).await;
    assert_eq!(*get(&metadata, "a/b:v1").await.unwrap(), image_of(1));
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_asked_again_at_once() {
    let source = Scripted::with("v1", 1);
    *source.0.down.lock() = true;
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap_err();
    *source.0.down.lock() = false;
    tokio::task::yield_now().await;
    get(&metadata, "a/b:v1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_little_time_leaves_the_inquiry_to_the_others() {
    let source = Scripted::with("v1", 1);
    *source.0.takes.lock() = Duration::from_secs(3);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    let image = reference("a/b:v1");
    let hurried = metadata.get(&image, Instant::now() + Duration::from_secs(1));
    let (hurried, patient) = tokio::join!(hurried, get(&metadata, "a/b:v1"));
    let told = hurried.unwrap_err();
    assert!(matches!(told, MetadataError::Deadline { .. }), "{told}");
    patient.unwrap();
    assert_eq!(source.counts().0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_tag_that_nobody_wants_is_forgotten() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap();
    sleep(Duration::from_secs(2 * 3600)).await;
    assert_eq!(metadata.statistics().entries, 0);
    let counts = source.counts();
    sleep(Duration::from_secs(2 * 3600)).await;
    assert_eq!(source.counts(), counts, "nobody asks any more");
}

#[tokio::test(start_paused = true)]
async fn the_longest_unused_entry_makes_room() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), None);
    for number in 0..=MOST_ENTRIES {
        get(&metadata, &format!("a/b{number}:v1")).await.unwrap();
        sleep(Duration::from_millis(1)).await;
    }
    let statistics = metadata.statistics();
    assert_eq!((statistics.entries, statistics.evicted), (MOST_ENTRIES, 1));
    get(&metadata, "a/b1:v1").await.unwrap();
    assert_eq!(metadata.statistics().hits, 1);
    get(&metadata, "a/b0:v1").await.unwrap();
    assert_eq!(metadata.statistics().hits, 1, "the first was forgotten");
}

#[tokio::test(start_paused = true)]
async fn names_that_do_not_exist_displace_no_image() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), None);
    for number in 0..MOST_ENTRIES - 1 {
        get(&metadata, &format!("a/b{number}:v1")).await.unwrap();
    }
    for number in 0..100 {
        let missing = get(&metadata, &format!("a/b{number}:v2")).await;
        missing.unwrap_err();
    }
    let before = metadata.statistics();
    assert_eq!(before.evicted, 99, "each makes room for the next");
    get(&metadata, "a/b0:v1").await.unwrap();
    assert_eq!(metadata.statistics().hits, before.hits + 1);
}

#[tokio::test]
async fn a_known_image_takes_little_memory() {
    let client = Client::new(
        crate::auth::Keychain::Default,
        crate::transport::Transport::default(),
        crate::client::Timeouts::default(),
    );
    let (state, _) = watch::channel(State::Asking);
    let keeper = Keeper {
        source: Arc::new(client),
        shared: std::sync::Weak::new(),
        reference: reference("a/b:v1"),
        ttl: Some(TTL),
        state,
        too_old: Arc::default(),
    };
    let size = size_of_val(&keeper.run());
    assert!(size < 1000, "a sleeping keeper of {size} bytes");
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_about_together_is_spread_by_and_by() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    for number in 0..100 {
        get(&metadata, &format!("a/b{number}:v1")).await.unwrap();
    }
    sleep(TTL * 19 / 20).await;
    let (_, early) = source.counts();
    assert!((10..90).contains(&early), "{early} of 100 at half time");
    // The clock ticks in milliseconds: the latest wakes in the tick of this task, or after it.
    sleep(TTL / 20 + Duration::from_millis(2)).await;
    assert_eq!(source.counts().1, 100, "and none is too late");
}

#[tokio::test(start_paused = true)]
async fn an_inquiry_that_panics_costs_its_callers_only() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    let told = get(&metadata, "a/b:panic").await.unwrap_err();
    assert!(matches!(told, MetadataError::Lost { .. }), "{told}");
    assert_eq!(metadata.statistics().entries, 0);
    get(&metadata, "a/b:v1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_after_the_cache_is_gone() {
    let source = Scripted::with("v1", 1);
    *source.0.takes.lock() = Duration::from_secs(1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap();
    drop(metadata);
    sleep(TTL * 3).await;
    assert_eq!(source.counts(), (1, 0));
    assert_eq!(Arc::strong_count(&source.0), 1, "its keepers are gone, too");
}

#[tokio::test(start_paused = true)]
async fn an_answer_too_old_for_somebody_is_looked_up_again_at_once() {
    let source = Scripted::with("v1", 1);
    // Also where answers are kept for ever.
    for ttl in [Some(TTL), None] {
        source.set("v1", 1);
        let metadata = Metadata::new(source.clone(), ttl);
        let image = reference("a/b:v1");
        let young = |seconds| {
            let deadline = Instant::now() + Duration::from_secs(5);
            metadata.get_younger(&image, Duration::from_secs(seconds), deadline)
        };
        get(&metadata, "a/b:v1").await.unwrap();
        source.set("v1", 2);
        sleep(Duration::from_secs(20)).await;
        assert_eq!(*young(30).await.unwrap(), image_of(1), "young enough");
        assert_eq!(*young(10).await.unwrap(), image_of(2));
        *source.0.down.lock() = true;
        sleep(Duration::from_secs(20)).await;
        let failures = metadata.statistics().failures;
        assert_eq!(*young(10).await.unwrap(), image_of(2), "what is known");
        assert_eq!(
            *young(10).await.unwrap(),
            image_of(2),
            "and no new question"
        );
        assert_eq!(metadata.statistics().failures, failures + 1);
        *source.0.down.lock() = false;
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_has_no_time_for_a_younger_answer_gets_the_known_one() {
    let source = Scripted::with("v1", 1);
    let metadata = Metadata::new(source.clone(), Some(TTL));
    get(&metadata, "a/b:v1").await.unwrap();
    sleep(Duration::from_secs(20)).await;
    *source.0.takes.lock() = Duration::from_secs(60);
    let image = reference("a/b:v1");
    let deadline = Instant::now() + Duration::from_secs(1);
    let found = metadata.get_younger(&image, Duration::ZERO, deadline).await;
    assert_eq!(*found.unwrap(), image_of(1));
    assert_eq!(Instant::now(), deadline);
}
