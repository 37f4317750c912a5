//! Pods from templates of the user's own: what they say holds, errors in them are reported, and a new
//! version replaces pods without a failed call.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::registry::Registry;
use cluster::seed::busybox_reference;
use e2e::runner::{Runner, call, publish, script};
use e2e::template::{self, docker_config, documented_but};
use e2e::{Scope, scenario};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use serde_json::json;
use tonic::Code;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn under_load_a_new_template_replaces_pods_and_one_that_cannot_start_replaces_nothing() {
    scenario(async |scope| {
        let flag = template::publish(scope, "own", template::DOCUMENTED).await?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &[&flag])?;
        runner.call(&image).await?;
        let old = scope.only_pod().await?.name_any();
        let load = runner.calls(&image).callers(4).start();
        load.goes_on(4).await?;
        let hopeless = documented_but(&[("/wrapper-server/.", "/nowhere/.")])?;
        template::publish(scope, "own", &hopeless).await?;
        runner.logs("a pod did not come up", LONG).await?;
        ensure!(
            scope.pod_names().await?.contains(&old),
            "the old pod is gone"
        );
        load.goes_on(4).await?;
        let labels = "kind: Pod\nmetadata:\n  labels:\n    team: a\n";
        let labelled = documented_but(&[("kind: Pod\n", labels)])?;
        template::publish(scope, "own", &labelled).await?;
        let begin = Instant::now();
        let new = loop {
            let names = scope.pod_names().await?;
            if names.len() == 1 && names[0] != old {
                break scope.only_pod().await?;
            }
            ensure!(begin.elapsed() < LONG, "not replaced: {names:?}");
            load.goes_on(1).await?;
        };
        ensure!(new.labels().contains_key("team"), "{:?}", new.labels());
        load.goes_on(4).await?;
        load.end().await?;
        scope.functions_become(1, 1).await
    });
}

#[test]
fn what_a_template_says_of_security_secrets_sidecars_and_resources_holds() {
    scenario(async |scope| {
        let own = documented_but(&[
            (
                "spec:\n",
                "spec:\n  securityContext: { runAsUser: 1234, runAsGroup: 1234 }\n  \
                 imagePullSecrets: [{ name: own }]\n",
            ),
            (
                "  containers:\n",
                &format!(
                    "  containers:\n    - name: sidecar\n      image: {}\n      command: [sleep, '3600']\n",
                    busybox_reference()
                ),
            ),
            (
                "      image: image-replaced-by-kpt-func-image\n",
                "      image: image-replaced-by-kpt-func-image\n      resources: { limits: { memory: 96Mi } }\n",
            ),
        ])?;
        let flag = template::publish(scope, "own", &own).await?;
        let image = publish(scope, "who", &script("busybox id -u >&2; exec cat"))?;
        let runner = Runner::start(scope, &[&flag])?;
        let answer = runner.call(&image).await?;
        ensure!(answer.log == "1234\n", "{:?}", answer.log);
        let spec = scope.only_pod().await?.spec.context("a spec")?;
        let secrets = spec.image_pull_secrets.unwrap_or_default();
        ensure!(
            secrets.iter().any(|secret| secret.name == "own"),
            "{secrets:?}"
        );
        let names: Vec<&str> = spec.containers.iter().map(|c| c.name.as_str()).collect();
        ensure!(names == ["sidecar", "function"], "{names:?}");
        let limits = spec.containers[1]
            .resources
            .as_ref()
            .and_then(|r| r.limits.as_ref());
        let memory = limits.and_then(|limits| limits.get("memory"));
        ensure!(
            memory.is_some_and(|memory| memory.0 == "96Mi"),
            "{limits:?}"
        );
        Ok(())
    });
}

#[test]
fn a_template_that_breaks_the_contract_is_told_with_its_place() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let broken = documented_but(&[("name: function\n", "name: main\n")])?;
        let flag = template::publish(scope, "broken", &broken).await?;
        let runner = Runner::start(scope, &[&flag])?;
        let told = runner.heard(&image).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        for words in [
            &format!("{}-broken", scope.namespace()),
            "key \"template\"",
            "no container is named \"function\"",
        ] {
            ensure!(told.message().contains(words), "no {words:?} in {told}");
        }
        // Repaired, it works without a restart.
        template::publish(scope, "broken", template::DOCUMENTED).await?;
        let begin = Instant::now();
        while let Err(told) = runner.call(&image).await {
            ensure!(begin.elapsed() < LONG, "{told}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        scope.functions_become(1, 1).await
    });
}

#[test]
fn a_crash_is_told_with_its_last_words() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let crash = documented_but(&[(
            "        - /wrapper-server-tools/wrapper-server\n",
            "        - /bin/sh\n        - -c\n        - echo the last words >&2; exit 4\n",
        )])?;
        let flag = template::publish(scope, "crash", &crash).await?;
        let runner = Runner::start(scope, &[&flag])?;
        let told = runner.heard(&image).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("exit code 4"), "{told}");
        ensure!(told.message().contains("the last words"), "{told}");
        scope.functions_become(0, 0).await
    });
}

#[test]
fn a_hopeless_wait_is_told_in_the_schedulers_words_and_ends_with_the_start_timeout() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let nowhere = documented_but(&[("spec:\n", "spec:\n  nodeSelector: { no: where }\n")])?;
        let flag = template::publish(scope, "nowhere", &nowhere).await?;
        let runner = Runner::start(scope, &[&flag, "--pod-start-timeout=25s"])?;
        let channel = runner.server.connect().await;
        let patient = tokio::spawn({
            let (channel, image) = (channel.clone(), image.clone());
            async move { call(channel, &image, LONG).await }
        });
        let begin = Instant::now();
        let told = loop {
            let told = call(channel.clone(), &image, Duration::from_secs(4)).await;
            let told = told.err().context("no error")?;
            println!("{told}");
            // On a busy machine the client's own clock may be first: then it heard nothing.
            let heard_nothing = told.code() == Code::Cancelled;
            if !heard_nothing || begin.elapsed() > Duration::from_secs(15) {
                break told;
            }
        };
        ensure!(told.code() == Code::DeadlineExceeded, "{told}");
        ensure!(told.message().contains("didn't match Pod's node"), "{told}");
        ensure!(scope.only_pod().await.is_ok(), "others may still need it");

        let told = patient.await?.err().context("no error")?;
        println!("{told}");
        ensure!(told.code() == Code::Unavailable, "{told}");
        ensure!(told.message().contains("--pod-start-timeout"), "{told}");
        ensure!(told.message().contains("didn't match Pod's node"), "{told}");
        scope.functions_become(0, 0).await
    });
}

/// A secret with which nothing can be pulled.
async fn create_wrong_secret(scope: &Scope) -> Result<()> {
    let config = docker_config(Registry::Private, "test-user", "wrong");
    let secret = json!({
        "metadata": { "name": "wrong" },
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": { ".dockerconfigjson": config },
    });
    scope.create_object::<Secret>(secret).await?;
    Ok(())
}

#[test]
fn what_cannot_be_pulled_is_told_in_the_kubelets_words() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let missing = documented_but(&[("porch-wrapper-server:latest", "no-such-image:v9")])?;
        let flag = template::publish(scope, "missing", &missing).await?;
        let runner = Runner::start(scope, &[&flag])?;
        let told = runner.heard(&image).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("no-such-image"), "{told}");
        scope.functions_become(0, 0).await?;

        create_wrong_secret(scope).await?;
        let spec = script("exec cat");
        let private = Registry::Private.publish("team/wrapper", scope.namespace(), &spec)?;
        let wrong = documented_but(&[
            (
                "docker.io/nephio/porch-wrapper-server:latest",
                &private.reference,
            ),
            ("spec:\n", "spec:\n  imagePullSecrets: [{ name: wrong }]\n"),
        ])?;
        let flag = template::publish(scope, "wrong", &wrong).await?;
        let runner = Runner::start(scope, &[&flag])?;
        let told = runner.heard(&image).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("ErrImagePull"), "{told}");
        ensure!(told.message().contains("401 Unauthorized"), "{told}");
        scope.functions_become(0, 0).await
    });
}
