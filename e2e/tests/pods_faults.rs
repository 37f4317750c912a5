//! What goes wrong with pods: the next call succeeds, or the caller hears why, in seconds.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cluster::image::ImageSpec;
use e2e::runner::{Runner, call, publish, script};
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use serde_json::json;
use tonic::{Code, Status};

const LONG: Duration = Duration::from_secs(60);

async fn only_pod(scope: &Scope) -> Result<Pod> {
    let (pods, _) = scope.functions().await?;
    ensure!(pods.len() == 1, "{} pods", pods.len());
    pods.into_iter().next().context("a pod")
}

#[test]
fn after_a_pod_was_deleted_or_killed_the_next_call_succeeds() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let runner = Runner::start(scope, &["--scan-interval=2s"])?;
        runner.call(&image).await?;

        let first = only_pod(scope).await?;
        let at_once = DeleteParams::default().grace_period(0);
        scope
            .api::<Pod>()
            .delete(&first.name_any(), &at_once)
            .await?;
        runner.call(&image).await.context("after a deletion")?;

        let second = only_pod(scope).await?;
        ensure!(second.name_any() != first.name_any(), "a new pod");
        for process in pod::processes(&second, "function")? {
            process.kill()?;
        }
        runner.call(&image).await.context("after a kill")?;

        let third = only_pod(scope).await?;
        let name = third.name_any();
        let deletion = DeleteParams::default();
        scope.api::<Service>().delete(&name, &deletion).await?;
        runner.call(&image).await.context("without a service")?;
        scope.functions_become(1, 1).await
    });
}

/// Calls, and returns what the caller heard; not later than within 20 seconds.
async fn heard(runner: &Runner, image: &str) -> Result<Status> {
    let begin = Instant::now();
    let status = runner.call(image).await.err().context("no error")?;
    let took = begin.elapsed();
    println!("{took:?}: {status}");
    ensure!(took < Duration::from_secs(20), "told after {took:?}");
    Ok(status)
}

#[test]
fn what_cannot_run_is_told_in_seconds_and_leaves_nothing() {
    scenario(async |scope| {
        let runner = Runner::start(scope, &[])?;
        let address = cluster::registry::Registry::Open.address();
        let missing = heard(&runner, &format!("{address}/test/none:v1")).await?;
        ensure!(missing.code() == Code::FailedPrecondition, "{missing}");
        ensure!(missing.message().contains("check the name"), "{missing}");

        let empty = publish(scope, "empty", &ImageSpec::default())?;
        let told = heard(&runner, &empty).await?;
        ensure!(told.message().contains("neither ENTRYPOINT"), "{told}");

        ensure!(heard(&runner, "").await?.code() == Code::InvalidArgument);
        scope.functions_become(0, 0).await
    });
}

/// A template in the runner's own namespace, which outside of a cluster is porch-system.
async fn publish_template(scope: &Scope, name: &str, pod: &str) -> Result<()> {
    use k8s_openapi::api::core::v1::Namespace;
    use kube::api::{Api, PostParams};
    let namespaces: Api<Namespace> = Api::all(scope.client());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": "porch-system" } }))?;
    let _ = namespaces.create(&PostParams::default(), &namespace).await;
    let service = "apiVersion: v1\nkind: Service\nspec:\n  ports:\n  - port: 9446\n    \
                   protocol: TCP\n    targetPort: 9446\n  selector:\n    \
                   fn.kpt.dev/image: to-be-replaced\n  type: ClusterIP\n";
    let config_map: ConfigMap = serde_json::from_value(json!({
        "metadata": { "name": name },
        "data": { "template": pod, "serviceTemplate": service },
    }))?;
    let config_maps: Api<ConfigMap> = Api::namespaced(scope.client(), "porch-system");
    let _ = config_maps.delete(name, &DeleteParams::default()).await;
    config_maps
        .create(&PostParams::default(), &config_map)
        .await?;
    Ok(())
}

const SEED: &str = r#"apiVersion: v1
kind: Pod
annotations:
  cluster-autoscaler.kubernetes.io/safe-to-evict: true
spec:
  initContainers:
    - name: copy-wrapper-server
      image: docker.io/nephio/porch-wrapper-server:latest
      command: 
        - cp
        - -a
        - /wrapper-server/.
        - /wrapper-server-tools
      volumeMounts:
        - name: wrapper-server-tools
          mountPath: /wrapper-server-tools
  containers:
    - name: function
      image: image-replaced-by-kpt-func-image
      command: 
        - /wrapper-server-tools/wrapper-server
      volumeMounts:
        - name: wrapper-server-tools
          mountPath: /wrapper-server-tools
  volumes:
    - name: wrapper-server-tools
      emptyDir: {}
"#;

#[test]
fn the_template_of_the_documentation_works_and_a_new_version_replaces_its_pods() {
    scenario(async |scope| {
        e2e::runner::publish_wrapper("nephio/porch-wrapper-server", "latest")?;
        let name = scope.namespace();
        publish_template(scope, name, SEED).await?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        let template = format!("--function-pod-template={name}");
        let runner = Runner::start(scope, &[&template])?;
        runner.call(&image).await?;
        let old = only_pod(scope).await?.name_any();
        let labelled = SEED.replacen(
            "kind: Pod\n",
            "kind: Pod\nmetadata:\n  labels:\n    team: a\n",
            1,
        );
        publish_template(scope, name, &labelled).await?;
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(12) {
            runner.call(&image).await.context("while it is replaced")?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let new = only_pod(scope).await?;
        ensure!(new.name_any() != old, "not replaced");
        ensure!(new.labels().get("team").is_some(), "{:?}", new.labels());
        Ok(())
    });
}

#[test]
fn crashes_are_told_with_their_last_words_and_a_hopeless_wait_with_the_schedulers() {
    scenario(async |scope| {
        e2e::runner::publish_wrapper("nephio/porch-wrapper-server", "latest")?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        let name = format!("{}-crash", scope.namespace());
        let crash = SEED.replace(
            "        - /wrapper-server-tools/wrapper-server\n",
            "        - /bin/sh\n        - -c\n        - echo the last words >&2; exit 4\n",
        );
        publish_template(scope, &name, &crash).await?;
        let runner = Runner::start(scope, &[&format!("--function-pod-template={name}")])?;
        let told = heard(&runner, &image).await?;
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        ensure!(told.message().contains("exit code 4"), "{told}");
        ensure!(told.message().contains("the last words"), "{told}");
        scope.functions_become(0, 0).await?;

        let name = format!("{}-nowhere", scope.namespace());
        let nowhere = SEED.replacen("spec:\n", "spec:\n  nodeSelector: { no: where }\n", 1);
        publish_template(scope, &name, &nowhere).await?;
        let template = format!("--function-pod-template={name}");
        let runner = Runner::start(scope, &[&template, "--pod-start-timeout=10s"])?;
        let channel = runner.server.connect().await;
        let told = call(channel, &image, Duration::from_secs(3)).await;
        let told = told.err().context("no error")?;
        println!("{told}");
        ensure!(told.code() == Code::DeadlineExceeded, "{told}");
        ensure!(told.message().contains("node"), "{told}");
        ensure!(told.message().contains("match"), "{told}");
        ensure!(only_pod(scope).await.is_ok(), "others may still need it");
        scope.functions_become(0, 0).await
    });
}

#[test]
fn a_pod_whose_image_cannot_be_pulled_is_told_in_the_kubelets_words() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let name = scope.namespace();
        let broken = SEED.replace("porch-wrapper-server:latest", "no-such-image:v9");
        publish_template(scope, name, &broken).await?;
        let runner = Runner::start(scope, &[&format!("--function-pod-template={name}")])?;
        let told = heard(&runner, &image).await?;
        ensure!(told.message().contains("no-such-image"), "{told}");
        ensure!(told.code() == Code::FailedPrecondition, "{told}");
        let _ = LONG;
        scope.functions_become(0, 0).await
    });
}
