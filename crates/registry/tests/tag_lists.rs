//! Lists of tags: pages, bounds, and one list for many callers.

// Helpers may panic like the tests they serve.
#![allow(clippy::unwrap_used)]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use causes::in_full;
use http::Response;
use registry::{FetchError, Reference, TagLists, Timeouts};
use support::{Asking, Body, Seen, Server, assert_says, respond, with};
use tokio::{task::JoinSet, time::Instant};

const USER_PASSWORD: &str = "Basic dXNlcjpwYXNzd29yZA==";

fn page(tags: &[&str]) -> Response<Body> {
    respond(
        200,
        serde_json::json!({ "name": "fn", "tags": tags }).to_string(),
    )
}

/// Three pages, the second behind `link`.
fn three_pages(seen: &Seen, link: &str) -> Response<Body> {
    let next = |page, link: &str| with(page, "link", &format!("<{link}>; rel=\"next\""));
    match seen.line.as_str() {
        "GET /v2/team/fn/tags/list?n=1000" => next(page(&["v1", "v2"]), link),
        "GET /v2/team/fn/tags/list?last=v2&n=1000" => next(
            page(&["v3", "not a tag", "v2"]),
            "/v2/team/fn/tags/list?last=v3",
        ),
        "GET /v2/team/fn/tags/list?last=v3" => page(&["v4"]),
        _ => respond(404, ""),
    }
}

async fn tags(asking: &Asking, server: &Server) -> Result<Vec<String>, FetchError> {
    let reference: Reference = format!("{}/team/fn:v9", server.host()).parse().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    asking.client.tags(&reference, deadline).await.0
}

fn anybody() -> Asking {
    Asking::with("", Timeouts::default())
}

#[tokio::test]
async fn pages_are_followed_by_relative_and_absolute_links() {
    for link in [
        "/v2/team/fn/tags/list?last=v2&n=1000",
        "?last=v2&n=1000",
        "https://inside.example:5000/v2/team/fn/tags/list?last=v2&n=1000",
    ] {
        let server = Server::start(move |seen| three_pages(seen, link)).await;
        let found = tags(&anybody(), &server).await.unwrap();
        assert_eq!(found, ["v1", "v2", "v3", "v4"], "{link}");
        assert_eq!(server.lines().len(), 3);
    }
}

#[tokio::test]
async fn credentials_go_with_every_page_and_to_no_other_host() {
    let other = Server::start(|_| page(&["v666"])).await;
    let link = format!(
        "http://localhost:{}/v2/team/fn/tags/list?last=v2&n=1000",
        other.port
    );
    let server = Server::start(move |seen| match seen.authorization.as_deref() {
        Some(USER_PASSWORD) => three_pages(seen, &link),
        _ => with(respond(401, ""), "www-authenticate", "Basic realm=\"r\""),
    })
    .await;
    let entry = format!(
        r#""{}":{{"username":"user","password":"password"}}"#,
        server.host()
    );
    let asking = Asking::with(&entry, Timeouts::default());
    let found = tags(&asking, &server).await.unwrap();
    assert_eq!(found, ["v1", "v2", "v3", "v4"]);
    assert!(other.seen().is_empty(), "{:?}", other.lines());
    let shown = server
        .seen()
        .iter()
        .filter(|seen| seen.authorization.is_some())
        .count();
    assert_eq!(shown, 3);
}

#[tokio::test]
async fn lists_without_an_end_are_left_and_told() {
    let circle =
        Server::start(|_| with(page(&["v1"]), "link", "</v2/team/fn/tags/list?n=1000>")).await;
    let error = tags(&anybody(), &circle).await.unwrap_err();
    assert_says(
        &error,
        "it refers to a page that was read before; name a version instead",
    );
    assert_eq!(circle.lines().len(), 1);

    let count = AtomicUsize::new(0);
    let endless = Server::start(move |_| {
        let next = count.fetch_add(1, Ordering::SeqCst);
        with(
            page(&["v1"]),
            "link",
            &format!("</v2/team/fn/tags/list?last={next}>"),
        )
    })
    .await;
    let error = tags(&anybody(), &endless).await.unwrap_err();
    assert_says(&error, "it refers to more pages than any list of tags has");
    assert_eq!(endless.lines().len(), 200);

    let nowhere = Server::start(|_| with(page(&["v1"]), "link", "<ftp://x/y>; rel=next")).await;
    let error = tags(&anybody(), &nowhere).await.unwrap_err();
    assert_says(&error, "it refers to a place that is not a URL");
}

#[tokio::test]
async fn more_tags_or_bytes_than_any_function_has_are_refused() {
    let many = Server::start(|_| {
        let tags: Vec<String> = (0..20_001).map(|number| format!("v1.0.{number}")).collect();
        page(&tags.iter().map(String::as_str).collect::<Vec<_>>())
    })
    .await;
    let error = tags(&anybody(), &many).await.unwrap_err();
    assert_says(
        &error,
        "has too many tags to search for a version constraint; name a version",
    );

    let count = AtomicUsize::new(0);
    let long = Server::start(move |_| {
        let next = count.fetch_add(1, Ordering::SeqCst);
        let name = "x".repeat(3 * 1024 * 1024);
        with(
            page(&[&name]),
            "link",
            &format!("</v2/team/fn/tags/list?last={next}>"),
        )
    })
    .await;
    let error = tags(&anybody(), &long).await.unwrap_err();
    assert!(
        matches!(error, FetchError::TooManyTags { .. }),
        "{}",
        in_full(&error)
    );
    assert_eq!(long.lines().len(), 3);
}

#[tokio::test]
async fn a_repository_without_tags_is_not_one_that_is_missing() {
    let empty = Server::start(|_| respond(200, r#"{"name":"fn","tags":null}"#)).await;
    assert!(tags(&anybody(), &empty).await.unwrap().is_empty());
    let missing = Server::start(|_| respond(404, r#"{"errors":[{"code":"NAME_UNKNOWN"}]}"#)).await;
    let error = tags(&anybody(), &missing).await.unwrap_err();
    assert_says(&error, "/team/fn: 127.0.0.1:");
    assert_says(&error, "has no such repository, or does not list its tags");
    let junk = Server::start(|_| respond(200, "<html>")).await;
    let error = tags(&anybody(), &junk).await.unwrap_err();
    assert_says(
        &error,
        "sent a document that cannot be read: it is not valid JSON",
    );
}

#[tokio::test]
async fn many_callers_share_a_list_which_outlives_its_registry() {
    let is_down = Arc::new(AtomicBool::new(false));
    let has_new = Arc::new(AtomicBool::new(false));
    let (down, new) = (Arc::clone(&is_down), Arc::clone(&has_new));
    let server = Server::start(move |_| {
        if down.load(Ordering::SeqCst) {
            respond(500, "")
        } else if new.load(Ordering::SeqCst) {
            page(&["v1", "v2"])
        } else {
            page(&["v1"])
        }
    })
    .await;
    let reference: Reference = format!("{}/fn", server.host()).parse().unwrap();
    let day = Duration::from_secs(24 * 3600);
    let lists = Arc::new(TagLists::of(Arc::new(anybody().client), Some(day)));
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let (lists, reference) = (Arc::clone(&lists), reference.clone());
        callers.spawn(async move {
            let deadline = Instant::now() + Duration::from_secs(60);
            lists.get(&reference, deadline).await.unwrap()
        });
    }
    assert!(callers.join_all().await.iter().all(|tags| **tags == ["v1"]));
    assert_eq!(server.lines().len(), 1);

    let deadline = Instant::now() + Duration::from_secs(60);
    let young = |age| lists.get_younger(&reference, age, deadline);
    is_down.store(true, Ordering::SeqCst);
    // The registry is asked, and what is known is used all the same.
    assert_eq!(*young(Duration::ZERO).await.unwrap(), ["v1"]);
    assert!(server.lines().len() > 1);
    is_down.store(false, Ordering::SeqCst);
    has_new.store(true, Ordering::SeqCst);
    assert_eq!(*young(day).await.unwrap(), ["v1"], "young enough");
    assert_eq!(*young(Duration::ZERO).await.unwrap(), ["v1", "v2"]);
    assert_eq!(
        *lists.get(&reference, deadline).await.unwrap(),
        ["v1", "v2"]
    );
}
