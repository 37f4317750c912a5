//! Registries that are overloaded: they get few requests at a time, and none at
//! all while they want to be left alone.

// Helpers may panic like the tests they serve.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use registry::{FetchError, Timeouts};
use support::{Asking, Documents, Server, assert_says, respond, with};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::task::AbortOnDropHandle;

const TOLD: &str = r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}"#;

#[tokio::test]
async fn a_registry_that_wants_a_long_pause_is_asked_once_by_many_calls() {
    for status in [429, 503] {
        let server =
            Server::start(move |_| with(respond(status, TOLD), "retry-after", "120")).await;
        let asking = Asking::with("", Timeouts::default());
        let began = Instant::now();
        for number in 0..20 {
            let image = format!("{}/fn{number}:v1", server.host());
            let error = asking.fetch(&image).await.unwrap_err();
            assert!(matches!(error, FetchError::Unavailable { .. }), "{error}");
            assert_says(&error, "\"TOOMANYREQUESTS slow down\"");
            assert_says(
                &error,
                "it asked for a pause, so it is not asked again for 1",
            );
            assert!(!error.is_definite(), "the image is not at fault");
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "all of them at once"
        );
        assert_eq!(server.lines().len(), 1, "{:?}", server.lines());
    }
}

#[tokio::test]
async fn a_pause_of_one_registry_is_none_of_another() {
    let busy = Server::start(|_| with(respond(429, ""), "retry-after", "120")).await;
    let image = Documents::new("/fn");
    let other = Server::start(move |seen| image.answer(seen)).await;
    let asking = Asking::with("", Timeouts::default());
    asking.failure(&busy).await;
    let found = asking.fetch(&format!("{}/fn:v1", other.host())).await;
    assert_eq!(found.unwrap().command, ["/fn"]);
}

#[tokio::test]
async fn a_short_pause_is_waited_for_by_everybody() {
    let image = Documents::new("/fn");
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |seen| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => with(respond(429, TOLD), "retry-after", "1"),
        _ => image.answer(seen),
    })
    .await;
    let asking = Asking::with("", Timeouts::default());
    let began = Instant::now();
    let [first, second] = [1, 2].map(|number| format!("{}/fn{number}:v1", server.host()));
    let (first, second) = tokio::join!(asking.fetch(&first), asking.fetch(&second));
    assert_eq!(first.unwrap().command, second.unwrap().command);
    assert!(began.elapsed() >= Duration::from_secs(1));
}

/// Counts requests, and answers none before it is let.
struct Held {
    host: String,
    asked: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

/// What all of them share: a permit for every request, and one for every answer.
#[derive(Clone)]
struct Course {
    requests: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

impl Held {
    async fn start(course: &Course) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let (count, course) = (Arc::clone(&asked), course.clone());
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(hold(stream, Arc::clone(&count), course.clone()));
            }
        });
        Self {
            host,
            asked,
            _task: AbortOnDropHandle::new(task),
        }
    }
}

async fn hold(mut stream: TcpStream, asked: Arc<AtomicUsize>, course: Course) {
    let mut request = [0; 4096];
    if stream.read(&mut request).await.is_err() || request[0] == 22 {
        let _ = stream.write_all(b"HTTP/1.1 400 No TLS\r\n\r\n").await;
        return;
    }
    asked.fetch_add(1, Ordering::SeqCst);
    course.requests.add_permits(1);
    course.answers.acquire().await.unwrap().forget();
    let missing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    let _ = stream.write_all(missing).await;
}

#[tokio::test]
async fn registries_get_few_requests_at_a_time_and_all_in_the_end() {
    let course = Course {
        requests: Arc::new(Semaphore::new(0)),
        answers: Arc::new(Semaphore::new(0)),
    };
    let servers = [
        Held::start(&course).await,
        Held::start(&course).await,
        Held::start(&course).await,
    ];
    let asking = Arc::new(Asking::with("", Timeouts::default()));
    let mut callers = JoinSet::new();
    for number in 0..20 {
        for server in &servers {
            let image = format!("{}/fn{number}:v1", server.host);
            let asking = Arc::clone(&asking);
            callers.spawn(async move { asking.fetch(&image).await.unwrap_err() });
        }
    }
    let sixteen = timeout(Duration::from_secs(8), course.requests.acquire_many(16)).await;
    sixteen.unwrap().unwrap().forget();
    let one_more = timeout(Duration::from_millis(300), course.requests.acquire()).await;
    assert!(one_more.is_err(), "a seventeenth request at a time");
    for server in &servers {
        let asked = server.asked.load(Ordering::SeqCst);
        assert!(asked <= 8, "{asked}: one registry has no more than half");
    }
    course.answers.add_permits(60);
    let outcomes = callers.join_all().await;
    assert_eq!(outcomes.len(), 60);
    for error in outcomes {
        assert!(matches!(error, FetchError::Missing { .. }), "{error}");
    }
}
