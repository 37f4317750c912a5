//! Version constraints against real registries, with and without pages. No node is needed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use e2e::inspection::{Inspect, Inspected};
use e2e::many_tags::{BEST, CONSTRAINT, COUNT, store};
use e2e::real_registry::{Certificates, Guard, Images, PASSWORD, RealRegistry, USER};
use e2e::token_server::TokenServer;
use registry::{Client, Keychain, Reference, TagLists, Timeouts, Transport};
use serde_json::{Value, json};
use tokio::time::Instant;

fn running(command: &str) -> ImageSpec {
    ImageSpec {
        entrypoint: vec![command.to_owned()],
        ..ImageSpec::default()
    }
}

fn many() -> Result<Images> {
    let images = Images::new()?;
    store(&images, "team/fn", &running("/best"), &running("/other"))?;
    Ok(images)
}

/// The tag lists that were asked for with success, without their beginning.
fn lists(registry: &RealRegistry) -> Vec<String> {
    let requests = registry.requests();
    let asked = requests.iter().filter(|line| line.ends_with(" 200"));
    let asked = asked.filter_map(|line| line.strip_prefix("GET /v2/team/fn/tags/list"));
    asked.map(str::to_owned).collect()
}

fn check(inspected: &Inspected, host: &str) -> Result<()> {
    let answer = &inspected.answer;
    let of = |value: &Value| value.as_array().map_or(0, Vec::len);
    ensure!(
        answer["image"] == format!("{host}/team/fn:{BEST}"),
        "{}",
        answer["image"]
    );
    ensure!(
        answer["command"] == json!(["/best"]),
        "{}",
        answer["command"]
    );
    let tags = &answer["tags"];
    ensure!(tags["matching"][0] == BEST, "{}", tags["matching"][0]);
    ensure!(of(&tags["matching"]) == 900, "{}", of(&tags["matching"]));
    ensure!(
        of(&tags["others"]) == COUNT - 900,
        "{}",
        of(&tags["others"])
    );
    let why = |tag: &str| {
        let others = tags["others"].as_array().into_iter().flatten();
        let mut named = others.filter(|other| other["tag"] == tag);
        named.next().map(|other| other["why"].clone())
    };
    for (tag, reason) in [
        ("v0.3.17", "does not satisfy >=v0.4.0"),
        ("v0.5.0", "does not satisfy <v0.5"),
        ("latest", "is not a version"),
        ("v0.4.900-git-1234567", "is a build of a commit"),
        (
            "v0.4.901-rc1",
            "is a prerelease, and the constraint names none",
        ),
    ] {
        ensure!(why(tag) == Some(reason.into()), "{tag}: {:?}", why(tag));
    }
    Ok(())
}

#[test]
fn the_highest_of_2500_tags_is_found_in_pages_of_1000_behind_every_guard() -> Result<()> {
    let images = many()?;
    let (certificates, tokens) = (Certificates::new()?, TokenServer::start()?);
    for guard in [
        Guard::Open,
        Guard::Password(&certificates),
        Guard::Tokens(&tokens),
    ] {
        let registry = RealRegistry::start_v3(&images, guard)?;
        let host = registry.host();
        let auths = json!({ &host: { "username": USER, "password": PASSWORD } });
        let mut inspect = Inspect::new(&format!("{host}/team/fn"))?.flags(&["--tag", CONSTRAINT]);
        if !matches!(guard, Guard::Open) {
            inspect = inspect.private(&auths)?.trusting(&certificates.authority());
        }
        check(&inspect.run()?.succeeded()?, &host)?;
        let lists = lists(&registry);
        ensure!(lists.len() == 3, "{lists:?}");
        ensure!(lists[0] == "?n=1000 200", "{lists:?}");
        for list in &lists[1..] {
            ensure!(
                list.contains("last=v0.") && list.contains("n=1000"),
                "{lists:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_registry_that_sends_no_pages_is_asked_once() -> Result<()> {
    let images = many()?;
    let registry = RealRegistry::start(&images, Guard::Open)?;
    let host = registry.host();
    let inspect = Inspect::new(&format!("{host}/team/fn:v9"))?.flags(&["--tag", CONSTRAINT]);
    check(&inspect.run()?.succeeded()?, &host)?;
    ensure!(lists(&registry).len() == 1, "{:?}", lists(&registry));
    Ok(())
}

#[test]
fn why_a_constraint_leads_to_no_image_is_told() -> Result<()> {
    let images = Images::new()?;
    images.store_command("team/fn:v0.4.1", "/fn")?;
    let registry = RealRegistry::start_v3(&images, Guard::Open)?;
    let host = registry.host();
    for (repository, expected) in [
        ("team/fn", format!("no tag of {host}/team/fn satisfies >=9")),
        (
            "team/missing",
            "has no such repository, or does not list its tags".to_owned(),
        ),
    ] {
        let inspect = Inspect::new(&format!("{host}/{repository}"))?.flags(&["--tag", ">=9"]);
        let inspected = inspect.run()?;
        ensure!(inspected.complaint()?.contains(&expected), "{inspected:?}");
    }
    Ok(())
}

#[tokio::test]
async fn many_callers_share_one_list_and_keep_it_while_the_registry_is_down() -> Result<()> {
    let images = many()?;
    let registry = RealRegistry::start_v3(&images, Guard::Open)?;
    let repository: Reference = format!("{}/team/fn", registry.host()).parse()?;
    let client = Client::new(Keychain::Default, Transport::default(), Timeouts::default());
    let lists_of = Arc::new(TagLists::of(
        Arc::new(client),
        Some(Duration::from_secs(600)),
    ));
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (lists, repository) = (Arc::clone(&lists_of), repository.clone());
        callers.spawn(async move { lists.get(&repository, deadline).await });
    }
    for tags in callers.join_all().await {
        ensure!(tags?.len() == COUNT, "another list");
    }
    ensure!(lists(&registry).len() == 3, "{:?}", lists(&registry));
    drop(registry);
    let asked = lists_of.get_younger(&repository, Duration::ZERO, deadline);
    let tags = asked.await.context("what is known stays known")?;
    ensure!(tags.len() == COUNT, "another list");
    ensure!(lists_of.statistics().failures == 1, "nobody was asked");
    Ok(())
}
