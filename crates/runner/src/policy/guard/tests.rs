use std::{
    convert::Infallible,
    fs,
    io::{self, Write},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use registry::{Keychain, Timeouts, Transport};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::policy::PolicyFile;

/// A key for these tests alone, made with openssl; its private half was not kept.
const OURS: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8KO+3nQxEuHXonyRaeTFPCGiZ9OH\n\
    pLMghdxbXKdgu3Qft2SJZkzO11jQQ9P8fhN5cFlrFa9ke64W+lNT26Ej+A==\n\
    -----END PUBLIC KEY-----\n";

/// Another one, which has signed nothing.
const ANOTHERS: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n\
    6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n\
    -----END PUBLIC KEY-----\n";

/// What the key has signed: the digest of `image`.
const PAYLOAD: &str = "{\"critical\":{\"identity\":{\"docker-reference\":\"example.com/fn\"},\
    \"image\":{\"docker-manifest-digest\":\
    \"sha256:6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d\"},\
    \"type\":\"cosign container image signature\"},\"optional\":null}";
const SIGNATURE: &str = "MEQCIG6/r6kq7vZkxbpL0cDatRlUqPixX1K9R5ylupSTXR05AiBTcElY5KSr57XLbUavmWgz\
    08eia6//09r8MgOgEsKWjg==";

fn digest() -> Digest {
    Digest::of(b"image")
}

/// What a registry has, and how often it was asked.
#[derive(Debug, Default)]
struct Shelf {
    is_signed: AtomicBool,
    is_closed: AtomicBool,
    requests: AtomicUsize,
}

impl Shelf {
    fn answer(&self, path: &str) -> Response<Full<Bytes>> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let payload = Digest::of(PAYLOAD.as_bytes());
        let place = format!("/manifests/{}.sig", digest()).replace(':', "-");
        let (code, body) = if self.is_closed.load(Ordering::Relaxed) {
            (StatusCode::FORBIDDEN, String::new())
        } else if !self.is_signed.load(Ordering::Relaxed) {
            (StatusCode::NOT_FOUND, String::new())
        } else if path.ends_with(&place) {
            let layer = format!(
                r#"{{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json","digest":"{payload}","annotations":{{"dev.cosignproject.cosign/signature":"{SIGNATURE}"}}}}"#
            );
            (StatusCode::OK, format!(r#"{{"layers":[{layer}]}}"#))
        } else if path.ends_with(&format!("/blobs/{payload}")) {
            (StatusCode::OK, PAYLOAD.to_owned())
        } else {
            (StatusCode::NOT_FOUND, String::new())
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = code;
        response
    }
}

/// A guard, its policy's file, and the registry that it asks.
struct Post {
    guard: Guard,
    current: Arc<Current>,
    folder: TempDir,
    shelf: Arc<Shelf>,
    host: String,
    _registry: AbortOnDropHandle<()>,
}

impl Post {
    async fn new(policy: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let shelf = Arc::<Shelf>::default();
        let shared = Arc::clone(&shelf);
        let registry = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shelf = Arc::clone(&shared);
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = shelf.answer(request.uri().path());
                    async move { Ok::<_, Infallible>(answer) }
                });
                let stream = TokioIo::new(stream);
                connections.spawn(http1::Builder::new().serve_connection(stream, service));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ours.pub"), OURS).unwrap();
        fs::write(folder.path().join("anothers.pub"), ANOTHERS).unwrap();
        let file = folder.path().join("policy.yaml");
        fs::write(&file, policy).unwrap();
        let current = Arc::new(Current::start(PolicyFile(file)).unwrap());
        let transport = Transport {
            authority: None,
            insecure: vec![host.clone()],
        };
        let client = Client::new(Keychain::Default, transport, Timeouts::default());
        Self {
            guard: Guard::new(Arc::clone(&current), Arc::new(client)),
            current,
            folder,
            shelf,
            host,
            _registry: AbortOnDropHandle::new(registry),
        }
    }

    fn becomes(&self, policy: &str) {
        fs::write(self.folder.path().join("policy.yaml"), policy).unwrap();
        self.current.look();
    }

    fn image(&self, tag: &str) -> Reference {
        format!("{}/fn:{tag}", self.host).parse().unwrap()
    }

    async fn admit(&self) -> Result<Admission, Refused> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let image = self.image("v1");
        self.guard.admit(&image, &digest(), deadline).await
    }

    async fn admit_wrapper(&self) -> Result<(), Refused> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let image = self.image("v1");
        self.guard.admit_wrapper(&image, &digest(), deadline).await
    }

    fn signs(&self) {
        self.shelf.is_signed.store(true, Ordering::Relaxed);
    }

    fn requests(&self) -> usize {
        self.shelf.requests.load(Ordering::Relaxed)
    }
}

/// As if this time went by. Time stands still only here: a registry is asked in between,
/// and no clock that runs ahead waits for its answer.
async fn passes(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    // Whoever slept until now goes first.
    tokio::task::yield_now().await;
}

fn policy(mode: &str, key: &str) -> String {
    format!("rules: [{{name: signed, allow: ['**'], verify: {{mode: {mode}, keys: [{key}]}}}}]")
}

fn denial(outcome: Result<Admission, Refused>) -> String {
    match outcome {
        Err(Refused::Denied(reason)) => reason,
        other => panic!("it is not denied: {other:?}"),
    }
}

const HOUR: Duration = Duration::from_secs(3600);
/// Longer than the registry's word about signatures is kept.
const A_WHILE: Duration = Duration::from_secs(11);

#[tokio::test]
async fn a_good_verdict_is_kept_by_digest_and_the_registry_is_asked_once() {
    let post = Post::new(&policy("enforce", "ours.pub")).await;
    post.signs();
    let admission = post.admit().await.unwrap();
    assert_eq!(admission.rule.as_deref(), Some("signed"));
    let key = PublicKey::from_pem(OURS).unwrap();
    assert_eq!(admission.signed_by.as_ref(), Some(key.fingerprint()));
    assert_eq!(admission.warning, None);
    let asked = post.requests();
    assert!(asked > 0);

    passes(HOUR).await;
    assert_eq!(post.admit().await.as_ref(), Ok(&admission));
    // By digest: the tag is of no account, and a registry that is down neither.
    post.shelf.is_closed.store(true, Ordering::Relaxed);
    let deadline = Instant::now() + HOUR;
    let other = post.image("v2");
    let again = post.guard.admit(&other, &digest(), deadline).await;
    assert_eq!(again, Ok(admission));
    assert_eq!(post.requests(), asked, "it was asked again");
}

#[tokio::test]
async fn a_key_that_the_policy_names_no_longer_counts_no_longer() {
    let post = Post::new(&policy("enforce", "ours.pub")).await;
    post.signs();
    post.admit().await.unwrap();
    post.becomes(&policy("enforce", "anothers.pub"));
    let told = denial(post.admit().await);
    assert!(
        told.contains("none of its 1 signatures is by one of the keys"),
        "{told}"
    );
    let deadline = Instant::now() + HOUR;
    let (image, digest) = (post.image("v1"), digest());
    let pod = post.guard.admit_pod(&image, Some(&digest), deadline).await;
    assert!(
        matches!(pod, Err(Refused::Denied(_))),
        "a pod that is there goes on"
    );

    // The same name of a file, and another key in it.
    post.becomes(&policy("enforce", "ours.pub"));
    post.admit().await.unwrap();
    fs::write(post.folder.path().join("ours.pub"), ANOTHERS).unwrap();
    post.current.look();
    denial(post.admit().await);
}

#[tokio::test]
async fn an_image_that_is_signed_later_is_admitted_seconds_later_without_a_restart() {
    let post = Post::new(&policy("enforce", "ours.pub")).await;
    let told = denial(post.admit().await);
    assert!(
        told.contains("rule \"signed\"") && told.contains("it is not signed"),
        "{told}"
    );
    let asked = post.requests();
    post.signs();
    denial(post.admit().await);
    assert_eq!(post.requests(), asked, "asked again at once");
    passes(A_WHILE).await;
    post.admit().await.unwrap();
}

#[tokio::test]
async fn a_rule_that_only_warns_lets_an_image_run_and_says_so_once() {
    let (log, _guard) = Log::capture();
    let post = Post::new(&policy("warn", "ours.pub")).await;
    for _ in 0..3 {
        let admission = post.admit().await.unwrap();
        assert_eq!(admission.signed_by, None);
        let warning = admission.warning.unwrap();
        assert!(warning.contains("it is not signed"), "{warning}");
        // Each time by the registry's newest word.
        passes(A_WHILE).await;
    }
    let words = "runs nevertheless, because the rule only warns";
    assert_eq!(log.text().matches(words).count(), 1, "{}", log.text());

    let unknown = Post::new(&policy("warn", "ours.pub")).await;
    unknown.shelf.is_closed.store(true, Ordering::Relaxed);
    let warning = unknown.admit().await.unwrap().warning.unwrap();
    assert!(warning.contains("could not be checked"), "{warning}");

    post.becomes(&policy("enforce", "ours.pub"));
    denial(post.admit().await);
}

#[tokio::test]
async fn where_the_registry_does_not_say_whether_it_is_signed_the_call_is_unavailable() {
    let post = Post::new(&policy("enforce", "ours.pub")).await;
    post.shelf.is_closed.store(true, Ordering::Relaxed);
    let refused = post.admit().await.unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("which could not be checked"), "{told}");
    let error = refused.of("fn");
    assert!(
        matches!(error, EvaluateError::Unavailable { .. }),
        "{error}"
    );
    // That the registry refuses to say is remembered for seconds only.
    passes(A_WHILE).await;
    post.shelf.is_closed.store(false, Ordering::Relaxed);
    post.signs();
    post.admit().await.unwrap();
}

#[tokio::test]
async fn the_wrapper_has_to_be_signed_if_the_policy_wants_that_and_only_then() {
    let open = "rules: [{name: all, allow: ['**']}]";
    let post = Post::new(open).await;
    assert!(!post.guard.verifies_wrapper());
    post.admit_wrapper().await.unwrap();
    assert_eq!(post.requests(), 0);

    post.becomes(&format!(
        "wrapper: {{verify: {{keys: [ours.pub]}}}}\n{open}"
    ));
    assert!(post.guard.verifies_wrapper());
    let told = post.admit_wrapper().await.unwrap_err().to_string();
    assert!(
        told.contains("rule \"wrapper\"") && told.contains("it is not signed"),
        "{told}"
    );
    post.admit().await.expect("functions need no signature");
    post.signs();
    passes(A_WHILE).await;
    post.admit_wrapper().await.unwrap();
}

#[tokio::test]
async fn a_pod_that_does_not_say_what_it_is_made_of_is_not_used_under_a_policy() {
    let post = Post::new("rules: [{name: all, allow: ['**']}]").await;
    let (image, deadline) = (post.image("v1"), Instant::now());
    let told = post.guard.admit_pod(&image, None, deadline).await;
    assert!(matches!(told, Err(Refused::Denied(_))), "{told:?}");
    let open = Guard::default();
    assert_eq!(open.admit_pod(&image, None, deadline).await, Ok(()));
}

/// Everything that this thread logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures until the guard is dropped.
    fn capture() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
