//! Secrets are never seen: not in logs, not in errors, not in `Debug`.

// Helpers may panic like the tests they serve.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use causes::in_full;
use parking_lot::Mutex;
use registry::Timeouts;
use support::{Asking, Log, Server, respond, with};

/// Every form in which the test's secrets might be seen.
const SECRETS: &[&str] = &[
    "pa55word",
    "dXNlcjpwYTU1d29yZA==",
    "1dent/1ty",
    "1dent%2F1ty",
    "reg1stry",
    "1ssued",
];

#[tokio::test]
async fn no_secret_is_ever_shown() {
    let (log, _guard) = Log::capture();

    // A registry that repeats whatever it is sent, in every place it has.
    let port = Arc::new(Mutex::new(0));
    let known = Arc::clone(&port);
    let echo = Server::start(move |seen| {
        let port = *port.lock();
        let sent = format!("{:?} {}", seen.authorization, seen.body).replace(['"', '\\'], "'");
        let error = format!(r#"{{"errors":[{{"code":"DENIED","message":"{sent}"}}]}}"#);
        let basic = seen.line.contains("/basic/");
        match (seen.line.contains("/token"), &seen.authorization) {
            (true, _) if seen.line.contains("fails") => respond(503, error),
            (true, _) => respond(200, r#"{"token":"1ssued"}"#),
            (false, None) if basic => with(respond(401, ""), "www-authenticate", "Basic"),
            (false, None) => {
                let fails = if seen.line.contains("/fails/") {
                    "fails"
                } else {
                    ""
                };
                let challenge = format!("Bearer realm=\"http://127.0.0.1:{port}/token{fails}\"");
                with(respond(401, ""), "www-authenticate", &challenge)
            }
            (false, Some(_)) if seen.line.contains("/odd/") => respond(418, error),
            (false, Some(_)) => respond(403, error),
        }
    })
    .await;
    *known.lock() = echo.port;

    let mut shown = String::new();
    let mut sent = String::new();
    for credentials in [
        r#"{"username":"user","password":"pa55word"}"#,
        r#"{"auth":"dXNlcjpwYTU1d29yZA=="}"#,
        r#"{"identitytoken":"1dent/1ty"}"#,
        r#"{"registrytoken":"reg1stry"}"#,
    ] {
        for repository in ["basic/fn", "token/fn", "fails/fn", "odd/fn"] {
            let auths = format!(r#""{}":{credentials}"#, echo.host());
            let asking = Asking::with(&auths, Timeouts::default());
            let image = format!("{}/{repository}:v1", echo.host());
            let (found, report) = asking.inspect(&image).await;
            let error = found.unwrap_err();
            shown += &format!(
                "{} {error:?} {report:?} {:?}",
                in_full(&error),
                asking.client
            );
        }
    }
    for seen in echo.seen() {
        sent += &format!("{seen:?}");
    }
    shown += &log.text();
    // The rest is sent in another form.
    for secret in SECRETS
        .iter()
        .filter(|secret| !["pa55word", "1dent/1ty"].contains(secret))
    {
        assert!(sent.contains(secret), "the test has sent {secret}");
    }
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    assert!(
        shown.contains("DENIED"),
        "the registry's words are shown otherwise"
    );
}
