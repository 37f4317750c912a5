//! Which image runs: references of every form, private registries, and tags that move.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::registry::{PASSWORD, Registry, USER};
use e2e::runner::{Runner, call, publish, script};
use e2e::scenario;
use e2e::template::docker_config;
use tonic::Code;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn digests_uppercase_tags_and_ports_all_run() {
    scenario(async |scope| {
        let tag = format!("V1_Beta.{}", scope.namespace());
        let repository = "test/3rd_party.fn";
        let image = Registry::Open.publish(repository, &tag, &script("exec cat"))?;
        ensure!(image.reference.contains(":5000/"), "{}", image.reference);
        let name = format!("{}/{repository}", Registry::Open.address());
        let runner = Runner::start(scope, &[])?;
        for reference in [
            image.reference.clone(),
            format!("{name}@{}", image.digest),
            format!("{}@{}", image.reference, image.digest),
        ] {
            runner.call(&reference).await.context(reference)?;
        }
        let (pods, services) = scope.functions().await?;
        ensure!(
            (pods.len(), services.len()) == (3, 3),
            "one for each reference"
        );
        for pod in pods {
            let image = pod.spec.and_then(|spec| spec.containers[0].image.clone());
            let image = image.unwrap_or_default();
            ensure!(image.contains("@sha256:"), "not pinned: {image}");
        }
        Ok(())
    });
}

/// The flags for a private registry with this docker config.
fn private(folder: &tempfile::TempDir, config: &str) -> Result<Vec<String>> {
    let file = folder.path().join("config.json");
    std::fs::write(&file, config)?;
    let authority = Registry::Private.authority().context("an authority")?;
    let authority = authority.parent().context("a folder")?.to_owned();
    Ok(vec![
        "--enable-private-registries".to_owned(),
        format!("--registry-auth-secret-path={}", file.display()),
        "--enable-private-registries-tls".to_owned(),
        format!("--tls-secret-path={}", authority.display()),
    ])
}

#[test]
fn a_private_image_is_looked_up_and_pulled_with_the_secret_and_a_wrong_one_is_told() {
    scenario(async |scope| {
        let spec = script("exec cat");
        let image = Registry::Private.publish("team/echo", scope.namespace(), &spec)?;
        let folder = tempfile::tempdir()?;
        let wrong = private(&folder, &docker_config(Registry::Private, USER, "wrong"))?;
        let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
        let runner = Runner::start(scope, &wrong)?;
        let begin = Instant::now();
        let told = runner
            .call(&image.reference)
            .await
            .err()
            .context("no error")?;
        println!("{told}");
        ensure!(begin.elapsed() < Duration::from_secs(10), "late");
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        drop(runner);

        let right = private(&folder, &docker_config(Registry::Private, USER, PASSWORD))?;
        let right: Vec<&str> = right.iter().map(String::as_str).collect();
        let runner = Runner::start(scope, &right)?;
        runner.call(&image.reference).await?;
        let repository = image.reference.rsplit_once(':').context("a tag")?.0;
        let by_digest = format!("{repository}@{}", image.digest);
        runner.call(&by_digest).await.context("by digest")?;
        let (pods, _) = scope.functions().await?;
        for pod in pods {
            let secrets = pod.spec.and_then(|spec| spec.image_pull_secrets);
            ensure!(
                secrets.is_some_and(|secrets| secrets.len() == 1),
                "no secret"
            );
        }
        Ok(())
    });
}

#[test]
fn a_moved_tag_rolls_the_pod_over_under_load() {
    scenario(async |scope| {
        let image = publish(scope, "moving", &script("echo one >&2; exec cat"))?;
        let args = ["--image-metadata-ttl=2s", "--scan-interval=1s"];
        let runner = Runner::start(scope, &args)?;
        let channel = runner.server.connect().await;
        let answer = call(channel.clone(), &image, LONG).await?;
        ensure!(answer.log == "one\n", "another one");
        let load = runner.calls(&image).callers(3).start();
        load.goes_on(3).await?;
        publish(scope, "moving", &script("echo two >&2; exec cat"))?;
        let begin = Instant::now();
        while call(channel.clone(), &image, LONG).await?.log != "two\n" {
            ensure!(begin.elapsed() < LONG, "still the old one");
        }
        load.goes_on(3).await?;
        load.end().await?;
        scope.functions_become(1, 1).await
    });
}
