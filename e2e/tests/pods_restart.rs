//! Runners come and go, and so does the API server: pods are adopted, and calls go on.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::component::Component;
use cluster::registry::{PASSWORD, Registry, USER};
use e2e::runner::{Runner, call, publish, script};
use e2e::{Scope, outage_scenario, scenario};
use serde_json::json;

const LONG: Duration = Duration::from_secs(60);

async fn pod_names(scope: &Scope) -> Result<Vec<String>> {
    let (pods, _) = scope.functions().await?;
    Ok(pods.iter().map(kube::ResourceExt::name_any).collect())
}

#[test]
fn a_runner_that_restarts_adopts_its_pods_whether_it_ended_well_or_not() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let mut runner = Runner::start(scope, &[])?;
        runner.call(&image).await?;
        let pods = pod_names(scope).await?;
        runner.server.terminate();
        ensure!(runner.server.wait().success(), "it did not end well");

        // Another runner, after one that has said goodbye.
        let runner = Runner::start_as(scope, "runner-0", &[])?;
        let begin = Instant::now();
        runner.call(&image).await?;
        ensure!(begin.elapsed() < Duration::from_secs(1), "not warm");
        ensure!(pod_names(scope).await? == pods, "not adopted");

        // The same one, after a crash.
        drop(runner);
        let runner = Runner::start_as(scope, "runner-0", &[])?;
        runner.call(&image).await?;
        ensure!(pod_names(scope).await? == pods, "not adopted");
        Ok(())
    });
}

#[test]
fn two_runners_keep_apart_and_the_survivor_takes_over() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let args = ["--scan-interval=2s", "--max-parallel-pods-per-function=2"];
        let first = Runner::start(scope, &args)?;
        let second = Runner::start(scope, &args)?;
        first.call(&image).await?;
        second.call(&image).await?;
        let pods = pod_names(scope).await?;
        ensure!(pods.len() == 2, "each has its own: {pods:?}");
        tokio::time::sleep(Duration::from_secs(6)).await;
        ensure!(
            pod_names(scope).await?.len() == 2,
            "a foreign pod was deleted"
        );
        drop(first);
        let channel = second.server.connect().await;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(45) {
            call(channel.clone(), &image, LONG)
                .await
                .context("at the survivor")?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        ensure!(second.server.log().contains("adopted a pod"), "not adopted");
        let mut after = pod_names(scope).await?;
        let mut before = pods;
        after.sort();
        before.sort();
        ensure!(after == before, "{after:?}");
        Ok(())
    });
}

#[test]
fn while_the_api_server_is_down_warm_calls_go_on() {
    outage_scenario(async |scope, node| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let other = publish(scope, "other", &script("exec cat"))?;
        // The scheduler itself takes up to half a minute to notice that the API server is back.
        let args = ["--scan-interval=2s", "--pod-start-timeout=2m"];
        let runner = Runner::start(scope, &args)?;
        runner.call(&image).await?;
        let pods = pod_names(scope).await?;
        let channel = runner.server.connect().await;
        let outage = node.stop(Component::ApiServer)?;
        let told = call(channel.clone(), &other, Duration::from_secs(3)).await;
        let told = told.err().context("no error")?;
        println!("{told}");
        ensure!(told.message().contains("API server"), "{told}");
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(27) {
            call(channel.clone(), &image, LONG).await.context("warm")?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        outage.end()?;
        call(channel.clone(), &other, LONG + LONG)
            .await
            .context("afterwards")?;
        call(channel.clone(), &image, LONG).await?;
        let after = pod_names(scope).await?;
        ensure!(
            after.iter().any(|name| *name == pods[0]),
            "the warm pod is gone"
        );
        Ok(())
    });
}

#[test]
fn a_private_image_is_looked_up_and_pulled_with_the_secret() {
    scenario(async |scope| {
        let spec = script("exec cat");
        let image = Registry::Private.publish("team/echo", scope.namespace(), &spec)?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("config.json");
        let entry = json!({ "username": USER, "password": PASSWORD });
        let config = json!({ "auths": { Registry::Private.address(): entry } });
        std::fs::write(&file, config.to_string())?;
        let authority = Registry::Private.authority().context("an authority")?;
        let authority = authority.parent().context("a folder")?.to_owned();
        let auth = format!("--registry-auth-secret-path={}", file.display());
        let tls = format!("--tls-secret-path={}", authority.display());
        let args = [
            "--enable-private-registries",
            &auth,
            "--enable-private-registries-tls",
            &tls,
        ];
        let runner = Runner::start(scope, &args)?;
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
