//! Every way to authenticate works against a real registry, and every failure names its cause.

use anyhow::{Result, ensure};
use e2e::inspection::{Inspect, write_program};
use e2e::real_registry::{Certificates, Guard, Images, PASSWORD, RealRegistry, USER};
use e2e::token_server::{IDENTITY_TOKEN, Issues, TokenServer};
use serde_json::{Value, json};

fn images() -> Result<Images> {
    let images = Images::new()?;
    images.store_command("team/fn:v1", "/fn")?;
    Ok(images)
}

/// `user:password` as docker configs have it.
fn auth(user: &str, password: &str) -> Value {
    use base64::Engine as _;
    let pair = format!("{user}:{password}");
    json!({ "auth": base64::prelude::BASE64_STANDARD.encode(pair) })
}

#[test]
fn an_open_registry_wants_no_credentials() -> Result<()> {
    let images = images()?;
    let registry = RealRegistry::start(&images, Guard::Open)?;
    let image = format!("{}/team/fn:v1", registry.host());
    let inspected = Inspect::new(&image)?.run()?.succeeded()?;
    ensure!(
        inspected.answer["command"] == json!(["/fn"]),
        "{inspected:?}"
    );
    ensure!(inspected.answer["credentials"].is_null(), "{inspected:?}");
    ensure!(
        inspected.answer["tls"] == "none: plain HTTP",
        "{inspected:?}"
    );
    let digest = inspected.answer["digest"].as_str().unwrap_or_default();
    let by_digest = format!("{}/team/fn@{digest}", registry.host());
    let again = Inspect::new(&by_digest)?.run()?.succeeded()?;
    ensure!(again.answer["digest"] == digest, "{again:?}");
    Ok(())
}

#[test]
fn every_form_of_a_password_is_accepted() -> Result<()> {
    let certificates = Certificates::new()?;
    let images = images()?;
    let registry = RealRegistry::start(&images, Guard::Password(&certificates))?;
    let host = registry.host();
    let image = format!("{host}/team/fn:v1");
    for (key, entry) in [
        (host.clone(), auth(USER, PASSWORD)),
        (
            host.clone(),
            json!({ "username": USER, "password": PASSWORD }),
        ),
        (format!("https://{host}"), auth(USER, PASSWORD)),
        (format!("https://{host}/v2/"), auth(USER, PASSWORD)),
        (format!("{host}/team"), auth(USER, PASSWORD)),
    ] {
        // A shorter key must not win.
        let auths =
            json!({ host.split(':').next().unwrap_or(""): auth("x", "y"), key.clone(): entry });
        let inspect = Inspect::new(&image)?.private(&auths)?;
        let inspected = inspect
            .trusting(&certificates.authority())
            .run()?
            .succeeded()?;
        ensure!(
            inspected.answer["command"] == json!(["/fn"]),
            "{inspected:?}"
        );
        ensure!(
            inspected.answer["credentials"]["entry"] == key,
            "{inspected:?}"
        );
        ensure!(
            inspected.answer["credentials"]["username"] == USER,
            "{inspected:?}"
        );
    }
    Ok(())
}

#[test]
fn a_wrong_password_and_a_missing_entry_are_told_apart() -> Result<()> {
    let certificates = Certificates::new()?;
    let images = images()?;
    let registry = RealRegistry::start(&images, Guard::Password(&certificates))?;
    let host = registry.host();
    for (auths, expected) in [
        (
            json!({ &host: auth(USER, "wrong-password") }),
            "rejects the user name or the password; check the entry",
        ),
        (
            json!({ "other.example.com": auth(USER, PASSWORD) }),
            "has no entry for it; add one under \"auths\"",
        ),
    ] {
        let inspect = Inspect::new(&format!("{host}/team/fn:v1"))?.private(&auths)?;
        let inspected = inspect.trusting(&certificates.authority()).run()?;
        ensure!(inspected.complaint()?.contains(expected), "{inspected:?}");
        ensure!(
            !format!("{inspected:?}").contains("wrong-password"),
            "a secret is shown"
        );
    }
    Ok(())
}

#[test]
fn the_default_keychain_asks_its_helpers() -> Result<()> {
    let certificates = Certificates::new()?;
    let images = images()?;
    let registry = RealRegistry::start(&images, Guard::Password(&certificates))?;
    let host = registry.host();
    let answer = json!({ "ServerURL": &host, "Username": USER, "Secret": PASSWORD });
    for (config, script, expected) in [
        (
            json!({ "credHelpers": { &host: "test" } }),
            format!("read -r server; [ \"$server\" = {host} ] && echo '{answer}'"),
            None,
        ),
        (
            json!({ "credsStore": "test", "auths": { &host: {} } }),
            format!("echo '{answer}'"),
            None,
        ),
        (
            json!({ "credsStore": "test", "auths": { &host: auth(USER, PASSWORD) } }),
            "echo credentials not found in native keychain; exit 1".to_owned(),
            None,
        ),
        (
            json!({ "credsStore": "test" }),
            "echo credentials not found in native keychain; exit 1".to_owned(),
            Some("has no entry for it"),
        ),
        (
            json!({ "credsStore": "test" }),
            "echo the vault is locked; exit 3".to_owned(),
            Some("it failed (exit code 3): the vault is locked"),
        ),
        (
            json!({ "credsStore": "test" }),
            format!("echo '{PASSWORD}'"),
            Some("its answer is not the JSON of a credential helper"),
        ),
        (
            json!({ "credsStore": "absent" }),
            String::new(),
            Some("cannot start docker-credential-absent"),
        ),
    ] {
        let inspect = Inspect::new(&format!("{host}/team/fn:v1"))?;
        let home = inspect.home().to_owned();
        std::fs::create_dir(home.join(".docker"))?;
        std::fs::write(home.join(".docker/config.json"), config.to_string())?;
        write_program(
            &home,
            "docker-credential-test",
            &format!("#!/bin/sh\n{script}\n"),
        )?;
        let path = format!("{}:{}", home.display(), std::env::var("PATH")?);
        let inspect = inspect
            .env("PATH", path)
            .trusting(&certificates.authority());
        let inspected = inspect.run()?;
        match expected {
            None => ensure!(inspected.code == Some(0), "{config}: {inspected:?}"),
            Some(expected) => ensure!(inspected.complaint()?.contains(expected), "{inspected:?}"),
        }
        ensure!(
            !format!("{inspected:?}").contains(PASSWORD),
            "a secret is shown"
        );
    }
    Ok(())
}

#[test]
fn tokens_are_fetched_with_a_password_or_an_identity_token() -> Result<()> {
    let tokens = TokenServer::start()?;
    let images = images()?;
    let registry = RealRegistry::start(&images, Guard::Tokens(&tokens))?;
    let host = registry.host();
    for entry in [
        auth(USER, PASSWORD),
        json!({ "identitytoken": IDENTITY_TOKEN }),
    ] {
        let inspect = Inspect::new(&format!("{host}/team/fn:v1"))?;
        let inspected = inspect
            .private(&json!({ &host: entry }))?
            .run()?
            .succeeded()?;
        ensure!(
            inspected.answer["command"] == json!(["/fn"]),
            "{inspected:?}"
        );
    }
    Ok(())
}

#[test]
fn what_is_wrong_with_a_token_is_told() -> Result<()> {
    let tokens = TokenServer::start()?;
    let images = images()?;
    let registry = RealRegistry::start(&images, Guard::Tokens(&tokens))?;
    let host = registry.host();
    let right = auth(USER, PASSWORD);
    for (issues, auths, expected) in [
        (
            Issues::Asked,
            json!({ &host: auth(USER, "wrong-password") }),
            "rejects the user name or the password",
        ),
        (
            Issues::Asked,
            json!({ &host: { "identitytoken": "expired-identity" } }),
            "it may have expired, so log in again",
        ),
        (Issues::Asked, json!({}), "has no entry for it"),
        (
            Issues::Nothing,
            json!({ &host: right }),
            "does not let user \"test-user\" pull team/fn",
        ),
        (
            Issues::Expired,
            json!({ &host: right }),
            "does not accept the token that http://127.0.0.1",
        ),
    ] {
        tokens.issue(issues);
        let inspect = Inspect::new(&format!("{host}/team/fn:v1"))?.private(&auths)?;
        let inspected = inspect.run()?;
        ensure!(
            inspected.complaint()?.contains(expected),
            "{issues:?}: {inspected:?}"
        );
        let shown = format!("{inspected:?}");
        ensure!(
            !shown.contains("wrong-password") && !shown.contains("expired-identity"),
            "{shown}"
        );
    }
    Ok(())
}
