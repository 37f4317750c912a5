//! Porch 1.6 sends a version constraint beside the image: pods run the highest tag that satisfies it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::many_tags::{BEST, CONSTRAINT, store};
use e2e::real_registry::{Guard, Images, RealRegistry};
use e2e::runner::{Runner, script};
use e2e::scenario;
use kube::ResourceExt;
use tonic::Code;

fn echoing(version: &str) -> cluster::image::ImageSpec {
    script(&format!("echo {version} >&2; cat"))
}

#[test]
fn a_constraint_runs_its_highest_tag_in_a_pod_also_while_the_registry_is_down() {
    scenario(async |scope| -> Result<()> {
        let images = Images::new()?;
        store(&images, "test/tagged", &echoing(BEST), &echoing("another"))?;
        let registry = RealRegistry::start_v3(&images, Guard::Open)?;
        let image = format!("{}/test/tagged", registry.host());
        let runner = Runner::start(scope, &["--image-metadata-ttl=1s"])?;

        let answer = runner.call_tagged(&image, CONSTRAINT).await?;
        ensure!(answer.log == format!("{BEST}\n"), "{:?}", answer.log);
        let pod = scope.only_pod().await?;
        let function = pod
            .annotations()
            .values()
            .any(|value| *value == format!("{image}:{BEST}"));
        ensure!(function, "{:?}", pod.annotations());
        let pages = registry.requests();
        let pages = pages
            .iter()
            .filter(|line| line.contains("/tags/list"))
            .count();
        ensure!(pages >= 3, "{pages} pages");

        // The same tag by its name is the same pod.
        let named = runner.call_tagged(&format!("{image}:latest"), BEST).await?;
        ensure!(named.log == answer.log, "{:?}", named.log);
        ensure!(
            scope.only_pod().await?.name_any() == pod.name_any(),
            "another pod"
        );

        let status = runner
            .call_tagged(&image, ">=9")
            .await
            .err()
            .context("no error")?;
        ensure!(status.code() == Code::NotFound, "{status}");
        ensure!(
            status.message().contains("2500 tags at 127.0.0.1"),
            "{status}"
        );

        drop(registry);
        let words = "cannot check whether it has changed in its registry";
        runner.logs(words, Duration::from_secs(60)).await?;
        let answer = runner.call_tagged(&image, CONSTRAINT).await?;
        ensure!(answer.log == format!("{BEST}\n"), "{:?}", answer.log);
        // What is not known cannot be found out now, and the caller's error says so.
        let other = image.replace("tagged", "other");
        let status = runner
            .call_tagged(&other, CONSTRAINT)
            .await
            .err()
            .context("no error")?;
        ensure!(status.code() == Code::Unavailable, "{status}");
        let told = format!("satisfies {CONSTRAINT:?}, because 127.0.0.1");
        ensure!(status.message().contains(&told), "{status}");
        runner.stop()
    });
}
