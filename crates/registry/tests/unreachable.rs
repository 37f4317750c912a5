//! Registries that stall, break off, or are not there.

// Helpers may panic like the tests they serve.
#![allow(clippy::unwrap_used)]

mod support;

use std::{sync::Arc, time::Duration};

use causes::in_full;
use parking_lot::Mutex;
use registry::{FetchError, Timeouts};
use support::{Asking, Documents, assert_says};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep},
};
use tokio_util::task::AbortOnDropHandle;

/// Serves raw connections, after those that try TLS were told not to.
async fn raw<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> (String, AbortOnDropHandle<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut first = [0];
            if stream.peek(&mut first).await.is_ok() && first[0] == 22 {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                continue;
            }
            connections.spawn(serve(stream));
        }
    });
    (host, AbortOnDropHandle::new(task))
}

#[tokio::test]
async fn who_accepts_and_never_answers_is_left_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deaf = silent.local_addr().unwrap().to_string();
    let (mute, _task) = raw(async |stream| {
        sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    for host in [deaf, mute] {
        fails_in_time(&host).await;
    }
}

/// In the time that all requests have together: nothing else would end in it.
async fn fails_in_time(host: &str) {
    let timeouts = Timeouts {
        connect: Duration::from_secs(30),
        request: Duration::from_secs(30),
        total: Duration::from_millis(1500),
    };
    let began = Instant::now();
    let error = Asking::with("", timeouts)
        .fetch(&format!("{host}/fn:v1"))
        .await
        .unwrap_err();
    let took = began.elapsed();
    let enough = Duration::from_secs(10);
    assert!(took < enough, "{took:?}: {}", in_full(&error));
}

#[tokio::test]
async fn who_drips_bytes_is_left_in_time() {
    for head in ["HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", ""] {
        let (host, _task) = raw(move |mut stream| async move {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(b"H").await.is_ok() {
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        fails_in_time(&host).await;
    }
}

#[tokio::test]
async fn a_request_has_less_time_than_all_of_them() {
    let (host, _task) = raw(async |stream| {
        sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let timeouts = Timeouts {
        connect: Duration::from_secs(20),
        request: Duration::from_millis(200),
        total: Duration::from_secs(20),
    };
    let began = Instant::now();
    let (found, report) = Asking::with("", timeouts)
        .inspect(&format!("{host}/fn:v1"))
        .await;
    let error = found.unwrap_err();
    assert!(
        matches!(error, FetchError::Slow { .. }),
        "{}",
        in_full(&error)
    );
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let asked = report
        .exchanges
        .iter()
        .filter(|exchange| exchange.action == "GET");
    assert_eq!(asked.count(), 3, "{report:?}");
}

#[tokio::test]
async fn the_callers_deadline_is_kept() {
    let (host, _task) = raw(async |stream| {
        sleep(Duration::from_secs(60)).await;
        drop(stream);
    })
    .await;
    let asking = Asking::with("", Timeouts::default());
    let began = Instant::now();
    let deadline = began + Duration::from_millis(300);
    let reference = format!("{host}/fn:v1").parse().unwrap();
    asking.client.fetch(&reference, deadline).await.unwrap_err();
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let image = Documents::new("/fn");
    let refusals = Arc::new(Mutex::new(1));
    let (host, _task) = raw(move |mut stream| {
        let (image, refusals) = (image.clone(), Arc::clone(&refusals));
        async move {
            let mut request = vec![0; 4096];
            let Ok(length) = stream.read(&mut request).await else {
                return;
            };
            if std::mem::replace(&mut *refusals.lock(), 0) == 1 {
                return;
            }
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let body = if request.contains("/manifests/") {
                &image.manifest
            } else {
                &image.config
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    })
    .await;
    let asking = Asking::with("", Timeouts::default());
    assert_eq!(
        asking
            .fetch(&format!("{host}/fn:v1"))
            .await
            .unwrap()
            .command,
        ["/fn"]
    );
}

#[tokio::test]
async fn a_dead_host_and_an_unknown_name_are_told_apart() {
    let port = {
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
        gone.local_addr().unwrap().port()
    };
    for (image, expected) in [
        (
            format!("127.0.0.1:{port}/fn:v1"),
            "nothing accepts connections there",
        ),
        (
            "no-such-registry.invalid/fn:v1".to_owned(),
            "its name cannot be resolved",
        ),
    ] {
        let asking = Asking::with("", Timeouts::default());
        let began = Instant::now();
        let error = asking.fetch(&image).await.unwrap_err();
        assert_says(&error, expected);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
