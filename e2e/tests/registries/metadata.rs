//! What is asked of a real registry, how often, and what its images turn out to run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use e2e::inspection::Inspect;
use e2e::real_registry::{Certificates, Guard, Images, PASSWORD, RealRegistry, USER};
use e2e::token_server::TokenServer;
use registry::{Client, Keychain, Metadata, Reference, Timeouts, Transport};
use serde_json::json;

fn metadata(ttl: Duration) -> Metadata<Client> {
    let client = Client::new(Keychain::Default, Transport::default(), Timeouts::default());
    Metadata::new(client, Some(ttl))
}

async fn command(metadata: &Metadata<Client>, image: &Reference) -> Result<Vec<String>> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    Ok(metadata.get(image, deadline).await?.command.clone())
}

fn run(test: impl Future<Output = Result<()>>) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(test)
}

#[test]
fn two_hundred_concurrent_misses_make_one_manifest_and_one_config_request() -> Result<()> {
    let images = Images::new()?;
    images.store_command("fn:v1", "/fn")?;
    let registry = RealRegistry::start(&images, Guard::Open)?;
    let image: Reference = format!("{}/fn:v1", registry.host()).parse()?;
    run(async {
        let metadata = Arc::new(metadata(Duration::from_secs(600)));
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let (metadata, image) = (Arc::clone(&metadata), image.clone());
            callers.spawn(async move { command(&metadata, &image).await });
        }
        for found in callers.join_all().await {
            ensure!(found? == ["/fn"], "another command");
        }
        Ok(())
    })?;
    let requests = registry.requests();
    let count = |part: &str| requests.iter().filter(|line| line.contains(part)).count();
    ensure!(
        (count("/manifests/"), count("/blobs/")) == (1, 1),
        "{requests:?}"
    );
    ensure!(requests.len() == 2, "{requests:?}");
    Ok(())
}

#[test]
fn a_moved_tag_is_noticed_and_a_registry_that_is_down_disturbs_nothing() -> Result<()> {
    let images = Images::new()?;
    images.store_command("fn:v1", "/old")?;
    let registry = RealRegistry::start(&images, Guard::Open)?;
    let image: Reference = format!("{}/fn:v1", registry.host()).parse()?;
    run(async {
        let metadata = metadata(Duration::from_millis(200));
        ensure!(
            command(&metadata, &image).await? == ["/old"],
            "the old command"
        );
        images.store_command("fn:v1", "/new")?;
        let moved = async {
            while metadata.statistics().moved == 0 {
                let began = Instant::now();
                command(&metadata, &image).await?;
                // Who waited would do so for as long as the registry: 10 s if it is silent.
                ensure!(
                    began.elapsed() < Duration::from_secs(5),
                    "nobody waits for a refresh"
                );
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        };
        let noticed = tokio::time::timeout(Duration::from_secs(20), moved).await;
        noticed.context("the move was not noticed")??;
        ensure!(
            command(&metadata, &image).await? == ["/new"],
            "the new command"
        );
        drop(registry);
        let failed = async {
            while metadata.statistics().failures == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), failed).await?;
        ensure!(command(&metadata, &image).await? == ["/new"], "still known");
        Ok(())
    })
}

/// How long somebody waits to hear that an image is not there.
fn missing(host: &str, image: &str, guard: Guard<'_>) -> Result<Duration> {
    let entry = json!({ "username": USER, "password": PASSWORD });
    let inspect = Inspect::new(&format!("{host}/{image}"))?;
    let inspect = inspect.private(&json!({ host: entry }))?;
    let inspect = match guard {
        Guard::Password(certificates) => inspect.trusting(&certificates.authority()),
        Guard::Open | Guard::Tokens(_) => inspect,
    };
    let began = Instant::now();
    let inspected = inspect.run()?;
    let took = began.elapsed();
    let complaint = inspected.complaint()?;
    ensure!(
        complaint.contains("check the name and whether it was pushed"),
        "{complaint}"
    );
    Ok(took)
}

#[test]
fn a_missing_tag_fails_in_under_two_seconds_on_every_path() -> Result<()> {
    const SOON: Duration = Duration::from_secs(2);
    let certificates = Certificates::new()?;
    let tokens = TokenServer::start()?;
    let images = Images::new()?;
    images.store_command("fn:v1", "/fn")?;
    for guard in [
        Guard::Open,
        Guard::Password(&certificates),
        Guard::Tokens(&tokens),
    ] {
        let registry = RealRegistry::start(&images, guard)?;
        let host = registry.host();
        for image in ["fn:none", "none:v1"] {
            let mut least = Duration::MAX;
            // Once more if it was held up: what takes long does so every time.
            for _ in 0..3 {
                least = least.min(missing(&host, image, guard)?);
                if least < SOON {
                    break;
                }
            }
            ensure!(least < SOON, "{image}: {least:?}");
        }
    }
    Ok(())
}

#[test]
fn both_dialects_and_several_platforms_are_understood() -> Result<()> {
    let images = Images::new()?;
    let spec = ImageSpec {
        entrypoint: vec!["/fn".to_owned()],
        cmd: vec!["--flag".to_owned()],
        ..ImageSpec::default()
    };
    let many = ImageSpec {
        architectures: ["arm64", "amd64", "s390x"].map(str::to_owned).to_vec(),
        ..spec.clone()
    };
    images.store("fn:oci", &spec, "oci")?;
    images.store("fn:docker", &spec, "v2s2")?;
    images.store("fn:many-oci", &many, "oci")?;
    images.store("fn:many-docker", &many, "v2s2")?;
    let registry = RealRegistry::start(&images, Guard::Open)?;
    let platform = registry::Platform::host();
    for tag in ["oci", "docker", "many-oci", "many-docker"] {
        let image = format!("{}/fn:{tag}", registry.host());
        let answer = Inspect::new(&image)?.run()?.succeeded()?.answer;
        ensure!(answer["command"] == json!(["/fn", "--flag"]), "{answer}");
        let expected = format!("linux/{}", platform.architecture);
        ensure!(answer["platform"] == expected, "{answer}");
        let is_index = answer["digest"] != answer["manifest"];
        ensure!(
            is_index == tag.starts_with("many"),
            "pods run the index: {answer}"
        );
    }
    let foreign = ImageSpec {
        architectures: ["s390x", "riscv64"].map(str::to_owned).to_vec(),
        ..spec
    };
    images.store("fn:foreign", &foreign, "oci")?;
    let inspected = Inspect::new(&format!("{}/fn:foreign", registry.host()))?.run()?;
    let complaint = inspected.complaint()?;
    ensure!(
        complaint.contains("only for linux/s390x, linux/riscv64"),
        "{complaint}"
    );
    Ok(())
}
