//! What the client asks a registry, and what it makes of the answers.

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

use causes::in_full;
use registry::{Metadata, Timeouts, Transport};
use support::{Asking, Documents, Log, Server, assert_says, respond, with};
use tokio::{task::JoinSet, time::Instant};

const USER_PASSWORD: &str = "Basic dXNlcjpwYXNzd29yZA==";

fn entry(host: &str, entry: &str) -> String {
    format!(r#""{host}":{entry}"#)
}

#[tokio::test]
async fn a_public_image_takes_two_requests_and_no_credentials() {
    let image = Documents::new("/fn");
    let server = Server::start(move |seen| image.answer(seen)).await;
    let host = server.host();
    let asking = Asking::with(
        &entry(&host, r#"{"auth":"dXNlcjpwYXNzd29yZA=="}"#),
        Timeouts::default(),
    );
    let (found, report) = asking.inspect(&format!("{host}/team/fn:v1")).await;
    assert_eq!(found.unwrap().command, ["/fn"]);
    let lines = server.lines();
    assert_eq!(lines[0], "GET /v2/team/fn/manifests/v1");
    assert!(
        lines[1].starts_with("GET /v2/team/fn/blobs/sha256:"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2);
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.authorization.is_none())
    );
    assert_eq!(report.credentials, None);
}

#[tokio::test]
async fn two_hundred_concurrent_misses_make_one_manifest_and_one_config_request() {
    let image = Documents::new("/fn");
    let server = Server::start(move |seen| image.answer(seen)).await;
    let asking = Asking::with("", Timeouts::default());
    let metadata = Arc::new(Metadata::new(asking.client, Some(Duration::from_secs(600))));
    let mut callers = JoinSet::new();
    for _ in 0..200 {
        let metadata = Arc::clone(&metadata);
        let reference = format!("{}/fn:v1", server.host()).parse().unwrap();
        callers.spawn(async move {
            let deadline = Instant::now() + Duration::from_secs(20);
            metadata.get(&reference, deadline).await.unwrap()
        });
    }
    callers.join_all().await;
    let lines = server.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("/manifests/") && lines[1].contains("/blobs/"));
}

#[tokio::test]
async fn a_password_is_shown_once_asked_for_and_then_with_every_request() {
    let image = Documents::new("/fn");
    let server = Server::start(move |seen| match seen.authorization.as_deref() {
        Some(USER_PASSWORD) => image.answer(seen),
        _ => with(respond(401, ""), "www-authenticate", "Basic realm=\"r\""),
    })
    .await;
    let host = server.host();
    let asking = Asking::with(
        &entry(&host, r#"{"username":"user","password":"password"}"#),
        Timeouts::default(),
    );
    let (found, report) = asking.inspect(&format!("{host}/fn:v1")).await;
    found.unwrap();
    let shown: Vec<bool> = server
        .seen()
        .iter()
        .map(|seen| seen.authorization.is_some())
        .collect();
    assert_eq!(shown, [false, true, true]);
    let origin = report.credentials.unwrap();
    assert_eq!(origin.username.as_deref(), Some("user"));
    assert_eq!(origin.entry, Some(host));
}

#[tokio::test]
async fn credentials_over_plain_http_beyond_loopback_are_warned_of_once() {
    let (log, _guard) = Log::capture();
    let image = Documents::new("/fn");
    let server = Server::start(move |seen| match seen.authorization.as_deref() {
        Some(USER_PASSWORD) => image.answer(seen),
        _ => with(respond(401, ""), "www-authenticate", "Basic realm=\"r\""),
    })
    .await;
    let password = r#"{"username":"user","password":"password"}"#;
    // An address that leads to loopback without being one of its names.
    let far = format!("0.0.0.0:{}", server.port);
    let auths = format!(
        "{},{}",
        entry(&server.host(), password),
        entry(&far, password)
    );
    let transport = Transport {
        insecure: vec![far.clone()],
        ..Transport::default()
    };
    let asking = Asking::over(transport, &auths, Timeouts::default());
    let warnings = || {
        log.text()
            .matches("in plain HTTP, where others may read them")
            .count()
    };
    asking
        .fetch(&format!("{}/fn:v1", server.host()))
        .await
        .unwrap();
    assert_eq!(warnings(), 0);
    for _ in 0..2 {
        asking.fetch(&format!("{far}/fn:v1")).await.unwrap();
    }
    assert_eq!(warnings(), 1, "{}", log.text());
    // And a host that is not named is not spoken to in plain HTTP at all.
    let stranger = Asking::with(&auths, Timeouts::default());
    let error = stranger.fetch(&format!("{far}/fn:v1")).await.unwrap_err();
    assert_says(&error, "--insecure-registries");
}

/// A registry that wants tokens from itself, and how it was asked for them.
async fn with_tokens(accepts: &'static str) -> Server {
    let image = Documents::new("/fn");
    let port = Arc::new(AtomicUsize::new(0));
    let known = Arc::clone(&port);
    let server = Server::start(move |seen| {
        if seen.line.contains("/token") {
            let right = seen.authorization.as_deref() == Some(USER_PASSWORD)
                || seen.body.contains("refresh_token=identity%3D");
            if right {
                return respond(200, r#"{"token":"issued"}"#);
            }
            let refusal = r#"{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}"#;
            return respond(401, refusal);
        }
        if seen.authorization.as_deref() == Some(accepts) {
            return image.answer(seen);
        }
        let port = port.load(Ordering::SeqCst);
        let error = match seen.authorization {
            Some(_) => ",error=\"insufficient_scope\"",
            None => "",
        };
        let challenge = format!(
            "Bearer realm=\"http://127.0.0.1:{port}/token?a=b\",service=\"the registry\",scope=\"repository:fn:pull\"{error}"
        );
        with(respond(401, ""), "www-authenticate", &challenge)
    })
    .await;
    known.store(server.port.into(), Ordering::SeqCst);
    server
}

#[tokio::test]
async fn a_token_is_fetched_as_the_challenge_says_and_used_for_all() {
    let server = with_tokens("Bearer issued").await;
    let host = server.host();
    let asking = Asking::with(
        &entry(&host, r#"{"auth":"dXNlcjpwYXNzd29yZA=="}"#),
        Timeouts::default(),
    );
    asking.fetch(&format!("{host}/fn:v1")).await.unwrap();
    let lines = server.lines();
    let token = "GET /token?a=b&service=the%20registry&scope=repository%3Afn%3Apull";
    assert_eq!(lines[1], token);
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[tokio::test]
async fn an_identity_token_is_traded_in() {
    let server = with_tokens("Bearer issued").await;
    let host = server.host();
    let asking = Asking::with(
        &entry(&host, r#"{"identitytoken":"identity="}"#),
        Timeouts::default(),
    );
    asking.fetch(&format!("{host}/fn:v1")).await.unwrap();
    let asked = &server.seen()[1];
    assert_eq!(asked.line, "POST /token?a=b");
    assert!(
        asked.body.contains("grant_type=refresh_token"),
        "{}",
        asked.body
    );
    assert!(
        asked
            .body
            .contains("service=the%20registry&scope=repository%3Afn%3Apull")
    );
}

#[tokio::test]
async fn every_refusal_has_words_of_its_own() {
    let issued = with_tokens("Bearer issued").await;
    let denying = with_tokens("Bearer other").await;
    let basic =
        Server::start(|_| with(respond(401, ""), "www-authenticate", "Basic realm=\"r\"")).await;
    let forbidding = Server::start(|_| {
        respond(
            403,
            r#"{"errors":[{"code":"DENIED","message":"not yours"}]}"#,
        )
    })
    .await;
    let odd = Server::start(|_| with(respond(401, ""), "www-authenticate", "Negotiate")).await;
    let right = r#"{"auth":"dXNlcjpwYXNzd29yZA=="}"#;
    let wrong = r#"{"username":"user","password":"wrong"}"#;
    for (server, credentials, expected, requests) in [
        (
            &issued,
            wrong,
            "rejects the user name or the password; check the entry",
            2,
        ),
        (
            &issued,
            r#"{"identitytoken":"old"}"#,
            "it may have expired, so log in again",
            2,
        ),
        (
            &issued,
            "",
            "has no entry for it; add one under \"auths\"",
            2,
        ),
        (&denying, right, "does not let user \"user\" pull fn", 3),
        (
            &basic,
            wrong,
            "rejects the user name or the password; check the entry",
            2,
        ),
        (
            &basic,
            "",
            "has no entry for it; add one under \"auths\"",
            1,
        ),
        (
            &basic,
            r#"{"identitytoken":"t"}"#,
            "it wants a user name and a password, but the entry",
            1,
        ),
        (
            &basic,
            r#"{"registrytoken":"old"}"#,
            "it may have expired, so log in again",
            2,
        ),
        (
            &forbidding,
            right,
            "does not let anonymous users pull fn, \"DENIED not yours\"",
            1,
        ),
        (&odd, right, "neither Basic nor Bearer", 1),
    ] {
        let host = server.host();
        let before = server.lines().len();
        let auths = if credentials.is_empty() {
            String::new()
        } else {
            entry(&host, credentials)
        };
        let asking = Asking::with(&auths, Timeouts::default());
        let error = asking.fetch(&format!("{host}/fn:v1")).await.unwrap_err();
        let text = in_full(&error);
        assert!(text.contains(expected), "{expected}: {text}");
        assert_eq!(
            server.lines().len() - before,
            requests,
            "no repetition: {text}"
        );
    }
}

#[tokio::test]
async fn changed_credentials_count_from_the_next_request_on() {
    let image = Documents::new("/fn");
    let server = Server::start(move |seen| match seen.authorization.as_deref() {
        Some(USER_PASSWORD) => image.answer(seen),
        _ => with(respond(401, ""), "www-authenticate", "Basic realm=\"r\""),
    })
    .await;
    let asking = Asking::with("", Timeouts::default());
    let name = format!("{}/fn:v1", server.host());
    asking.fetch(&name).await.unwrap_err();
    let auths = entry(&server.host(), r#"{"auth":"dXNlcjpwYXNzd29yZA=="}"#);
    std::fs::write(&asking.file, format!(r#"{{"auths":{{{auths}}}}}"#)).unwrap();
    asking.fetch(&name).await.unwrap();
}

#[tokio::test]
async fn a_missing_tag_fails_at_once() {
    let server =
        Server::start(|_| respond(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#)).await;
    let asking = Asking::with("", Timeouts::default());
    let began = Instant::now();
    let error = asking
        .fetch(&format!("{}/fn:none", server.host()))
        .await
        .unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_says(&error, "has no such tag or digest");
    assert_eq!(server.lines().len(), 1);
}

#[tokio::test]
async fn trouble_that_may_pass_is_outlasted() {
    for status in [429, 500, 502, 503, 504] {
        let image = Documents::new("/fn");
        let asked = AtomicUsize::new(0);
        let server = Server::start(move |seen| match asked.fetch_add(1, Ordering::SeqCst) {
            0 | 2 => respond(status, ""),
            _ => image.answer(seen),
        })
        .await;
        let asking = Asking::with("", Timeouts::default());
        asking
            .fetch(&format!("{}/fn:v1", server.host()))
            .await
            .unwrap();
        assert_eq!(
            server.lines().len(),
            4,
            "each of the two requests was repeated once"
        );
    }
}

#[tokio::test]
async fn trouble_that_stays_is_told_after_three_attempts() {
    let server = Server::start(|_| {
        respond(
            503,
            r#"{"errors":[{"code":"DOWN","message":"for repair"}]}"#,
        )
    })
    .await;
    let asking = Asking::with("", Timeouts::default());
    let error = asking.failure(&server).await;
    assert_says(&error, "503 Service Unavailable, \"DOWN for repair\"");
    assert_eq!(server.lines().len(), 3);
}

#[tokio::test]
async fn an_image_without_a_command_is_told_how_to_get_one() {
    let config = r#"{"os":"linux","architecture":"amd64","config":{}}"#;
    let mut image = Documents::new("");
    image.manifest = image.manifest.replace(
        &registry::Digest::of(image.config.as_bytes()).to_string(),
        &registry::Digest::of(config.as_bytes()).to_string(),
    );
    image.config = config.to_owned();
    let server = Server::start(move |seen| image.answer(seen)).await;
    let asking = Asking::with("", Timeouts::default());
    let error = asking.failure(&server).await;
    assert_says(&error, "neither ENTRYPOINT nor CMD");
}
