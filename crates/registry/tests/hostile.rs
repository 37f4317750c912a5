//! Registries that lie, flood, or want credentials that are not theirs.

// Helpers may panic like the tests they serve.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    convert::Infallible,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use causes::in_full;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use registry::{Digest, FetchError, Timeouts, Transport};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use support::{Asking, Documents, Server, assert_says, respond, with};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

const PASSWORD: &str = r#"{"username":"user","password":"pa55word"}"#;

/// The kind of an error; if it is another, all that it says.
macro_rules! assert_failure {
    ($error:expr, $kind:pat) => {
        assert!(matches!($error, $kind), "{}", in_full(&$error))
    };
}

fn asking() -> Asking {
    Asking::with("", Timeouts::default())
}

#[tokio::test]
async fn content_with_another_digest_is_refused() {
    let right = Documents::new("/fn");
    let wanted = Digest::of(right.manifest.as_bytes());
    let evil = Documents::new("/evil");
    let lying_about_the_tag = {
        let (evil, wanted) = (evil.clone(), wanted.to_string());
        Server::start(move |_| {
            with(
                respond(200, evil.manifest.clone()),
                "docker-content-digest",
                &wanted,
            )
        })
        .await
    };
    let swapping_manifests = {
        let evil = evil.clone();
        Server::start(move |seen| evil.answer(seen)).await
    };
    let swapping_configs = Server::start(move |seen| {
        if seen.line.contains("/blobs/") {
            evil.answer(seen)
        } else {
            right.answer(seen)
        }
    })
    .await;
    for (server, name) in [
        (&lying_about_the_tag, ":v1".to_owned()),
        (&swapping_manifests, format!("@{wanted}")),
        (&swapping_configs, ":v1".to_owned()),
        (&swapping_configs, format!("@{wanted}")),
    ] {
        let error = asking()
            .fetch(&format!("{}/fn{name}", server.host()))
            .await
            .unwrap_err();
        assert_failure!(error, FetchError::Digest { .. });
    }
}

#[tokio::test]
async fn an_endless_manifest_is_cut_off() {
    let server = Server::start(|_| {
        let endless = Endless(Bytes::from(vec![b' '; 64 * 1024]));
        http::Response::new(endless.boxed())
    })
    .await;
    let error = asking().failure(&server).await;
    assert_failure!(error, FetchError::TooLarge { .. });
    assert_eq!(server.lines().len(), 1);
}

/// A body that never ends.
struct Endless(Bytes);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

fn index_of(digest: &Digest) -> String {
    format!(r#"{{"schemaVersion":2,"manifests":[{{"digest":"{digest}"}}]}}"#)
}

#[tokio::test]
async fn indexes_that_lead_nowhere_are_left() {
    // By true digests they can only form a long chain …
    let mut chain = vec![index_of(&Digest::of(b"the end"))];
    for _ in 0..9 {
        let next = index_of(&Digest::of(chain[chain.len() - 1].as_bytes()));
        chain.push(next);
    }
    let top = chain[9].clone();
    let server = Server::start(move |seen| {
        let asked_for = |index: &&String| {
            seen.line
                .ends_with(&Digest::of(index.as_bytes()).to_string())
        };
        let index = chain.iter().find(asked_for).unwrap_or(&top);
        respond(200, index.clone())
    })
    .await;
    let error = asking().failure(&server).await;
    assert_failure!(error, FetchError::Nesting { .. });
    assert!(server.lines().len() <= 5, "{:?}", server.lines());

    // … and a loop needs false ones.
    let index = index_of(&Digest::of(b"itself"));
    let server = Server::start(move |_| respond(200, index.clone())).await;
    let error = asking().failure(&server).await;
    assert_failure!(error, FetchError::Digest { .. });
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_host() {
    let image = Documents::new("/fn");
    let elsewhere = {
        let image = image.clone();
        Server::start(move |_| respond(200, image.config.clone())).await
    };
    let target = format!("http://localhost:{}/bucket?signature=x", elsewhere.port);
    let server = Server::start(move |seen| match seen.authorization {
        None => with(respond(401, ""), "www-authenticate", "Basic"),
        Some(_) if seen.line.contains("/blobs/") => with(respond(307, ""), "location", &target),
        Some(_) => image.answer(seen),
    })
    .await;
    let host = server.host();
    let asking = Asking::with(&format!(r#""{host}":{PASSWORD}"#), Timeouts::default());
    let (found, report) = asking.inspect(&format!("{host}/fn:v1")).await;
    assert_eq!(found.unwrap().command, ["/fn"]);
    let seen = elsewhere.seen();
    assert_eq!(
        (seen.len(), seen[0].line.as_str()),
        (1, "GET /bucket?signature=x")
    );
    assert_eq!(seen[0].authorization, None);
    let shown = format!("{report:?}");
    assert!(
        !shown.contains("signature"),
        "a signed URL is a secret: {shown}"
    );
}

#[tokio::test]
async fn credentials_do_not_come_back_after_a_detour_over_another_host() {
    let image = Documents::new("/fn");
    // The other host leads to where it came from; it is told that place by its path.
    let elsewhere = Server::start(|seen| {
        let back = seen
            .line
            .rsplit_once("/back/")
            .unwrap()
            .1
            .replace("%2F", "/");
        with(respond(307, ""), "location", &format!("http://{back}"))
    })
    .await;
    let detour = elsewhere.port;
    let server = Server::start(move |seen| match &seen.authorization {
        None if seen.line.ends_with("/home") => respond(200, image.config.clone()),
        None => with(respond(401, ""), "www-authenticate", "Basic"),
        Some(_) if seen.line.contains("/blobs/") => {
            let back = format!("{}%2Fhome", seen.host);
            let location = format!("http://localhost:{detour}/back/{back}");
            with(respond(307, ""), "location", &location)
        }
        Some(_) => image.answer(seen),
    })
    .await;
    let host = server.host();
    let asking = Asking::with(&format!(r#""{host}":{PASSWORD}"#), Timeouts::default());
    asking.fetch(&format!("{host}/fn:v1")).await.unwrap();
    let seen = server.seen();
    let home = seen.iter().find(|seen| seen.line.ends_with("/home"));
    assert_eq!(home.unwrap().authorization, None);
}

#[tokio::test]
async fn the_host_behind_a_redirect_cannot_ask_for_credentials() {
    let elsewhere = Server::start(|_| with(respond(401, ""), "www-authenticate", "Basic")).await;
    let target = format!("http://localhost:{}/x", elsewhere.port);
    let server = Server::start(move |_| with(respond(307, ""), "location", &target)).await;
    let auths = format!(
        r#""{}":{PASSWORD},"localhost:{}":{PASSWORD}"#,
        server.host(),
        elsewhere.port
    );
    let asking = Asking::with(&auths, Timeouts::default());
    let error = asking.failure(&server).await;
    assert_failure!(error, FetchError::Unexpected { .. });
    let seen = [server.seen(), elsewhere.seen()].concat();
    assert!(
        seen.iter().all(|seen| seen.authorization.is_none()),
        "{seen:?}"
    );
}

#[tokio::test]
async fn redirects_end_and_stay_off_plain_http_in_the_open() {
    for (location, expected) in [
        ("/v2/again", "more than 5 times"),
        (
            "http://registry.example.com/x",
            "in plain HTTP, which is not allowed",
        ),
        ("ftp://localhost/x", "to a place that is not a URL"),
    ] {
        let server = Server::start(move |_| with(respond(302, ""), "location", location)).await;
        let error = asking().failure(&server).await;
        assert_says(&error, expected);
    }
}

#[tokio::test]
async fn a_foreign_realm_over_plain_http_gets_nothing() {
    let thief = Server::start(|_| respond(200, r#"{"token":"t"}"#)).await;
    let challenge = format!("Bearer realm=\"http://localhost:{}/token?x\"", thief.port);
    let server =
        Server::start(move |_| with(respond(401, ""), "www-authenticate", &challenge)).await;
    let host = server.host();
    for auths in [String::new(), format!(r#""{host}":{PASSWORD}"#)] {
        let asking = Asking::with(&auths, Timeouts::default());
        let error = asking.fetch(&format!("{host}/fn:v1")).await.unwrap_err();
        assert_says(&error, "another host over plain HTTP");
    }
    assert!(thief.lines().is_empty(), "{:?}", thief.lines());
}

/// A registry that has no image; it speaks TLS until it is told not to.
async fn changing_its_mind(
    is_plain: Arc<AtomicBool>,
    folder: &Path,
) -> (u16, AbortOnDropHandle<()>) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("ca.crt"), certified.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let tls = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if is_plain.load(Ordering::SeqCst) {
                answer_404(&mut stream).await;
            } else if let Ok(mut stream) = tls.accept(stream).await {
                answer_404(&mut stream).await;
            }
        }
    });
    (port, AbortOnDropHandle::new(task))
}

async fn answer_404(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await;
    let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(answer).await;
    let _ = stream.shutdown().await;
}

#[tokio::test]
async fn who_has_spoken_tls_is_never_asked_in_plain_http_again() {
    let folder = tempfile::tempdir().unwrap();
    let is_plain = Arc::new(AtomicBool::new(false));
    let (port, _task) = changing_its_mind(Arc::clone(&is_plain), folder.path()).await;
    let transport = Transport {
        authority: Some(folder.path().to_owned()),
        ..Transport::default()
    };
    let asking = |transport| Asking::over(transport, "", Timeouts::default());
    let (one, image) = (asking(transport.clone()), format!("localhost:{port}/fn:v1"));
    let error = one.fetch(&image).await.unwrap_err();
    assert_failure!(error, FetchError::Missing { .. });
    is_plain.store(true, Ordering::SeqCst);
    let error = one.fetch(&image).await.unwrap_err();
    assert_failure!(error, FetchError::Connect { .. });
    // A client that never saw it speak TLS may use plain HTTP, which is allowed for this host.
    let error = asking(transport).fetch(&image).await.unwrap_err();
    assert_failure!(error, FetchError::Missing { .. });
}
