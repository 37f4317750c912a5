//! The node does what a real cluster does, as far as the tests of the runner rely on it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cluster::image::{Entry, ImageSpec};
use cluster::registry::{PASSWORD, Registry, USER};
use cluster::seed::BUSYBOX;
use e2e::{Scope, audited_requests, pod, report, scenario};
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret, Service};
use kube::Api;
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

#[test]
fn a_cluster_ip_service_resolves_by_name_and_connects() {
    scenario(async |scope| {
        let server = "while true; do echo hello | nc -l -p 7000; done";
        scope.create_pod("server", pod::shell(server)).await?;
        let service = json!({
            "metadata": { "name": "greeter" },
            "spec": { "selector": { "app": "server" }, "ports": [{ "port": 7000 }] },
        });
        scope.create_object::<Service>(service).await?;
        let name = format!("greeter.{}.svc.cluster.local", scope.namespace());
        ensure!(
            greeting(&name).await? == "hello\n",
            "another greeting, from the test"
        );
        let client = format!("nc {name} 7000");
        scope.create_pod("client", pod::shell(&client)).await?;
        scope.pod_becomes("client", "over", pod::is_over).await?;
        ensure!(
            scope.pod_log("client").await? == "hello\n",
            "another greeting, from a pod"
        );
        Ok(())
    });
}

/// Connects until somebody answers: the name, the route and the server each come in their time.
async fn greeting(name: &str) -> Result<String> {
    let attempt = async || -> Result<String> {
        let mut connection = TcpStream::connect((name, 7000)).await?;
        let mut text = String::new();
        connection.read_to_string(&mut text).await?;
        ensure!(!text.is_empty(), "the connection brought nothing");
        Ok(text)
    };
    let answered = async {
        loop {
            match attempt().await {
                Ok(text) => return text,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), answered)
        .await
        .context("nobody answered")
}

#[test]
fn a_private_image_pulls_with_a_pull_secret_and_not_without() {
    scenario(async |scope| {
        // A tag of its own: the node must not have the image from an earlier run.
        let tag = scope.namespace();
        let private = Registry::Private.publish("secret/hello", tag, &says("private"))?;
        let login = json!({ "auths": { Registry::Private.address(): {
            "username": USER, "password": PASSWORD,
        }}});
        let secret = json!({
            "metadata": { "name": "login" },
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": { ".dockerconfigjson": login.to_string() },
        });
        scope.create_object::<Secret>(secret).await?;
        // Without first: afterwards the image would be on the node already.
        scope
            .create_pod("without", pod::image(&private.reference))
            .await?;
        scope
            .pod_becomes("without", "refused", pod::has_reason("ErrImagePull"))
            .await?;
        let mut with = pod::image(&private.reference);
        with["imagePullSecrets"] = json!([{ "name": "login" }]);
        scope.create_pod("with", with).await?;
        scope.pod_becomes("with", "over", pod::is_over).await?;
        ensure!(scope.pod_log("with").await? == "private\n");
        Ok(())
    });
}

#[test]
fn an_image_that_does_not_exist_shows_err_image_pull() {
    scenario(async |scope| {
        let missing = format!("{}/no/such:image", Registry::Open.address());
        scope.create_pod("missing", pod::image(&missing)).await?;
        scope
            .pod_becomes("missing", "refused", pod::has_reason("ErrImagePull"))
            .await?;
        Ok(())
    });
}

#[test]
fn a_pod_over_its_memory_limit_is_oom_killed() {
    scenario(async |scope| {
        // One endless line: tail keeps all of it.
        let mut hungry = pod::shell("exec tail /dev/zero");
        hungry["containers"][0]["resources"] = json!({ "limits": { "memory": "32Mi" } });
        scope.create_pod("hungry", hungry).await?;
        scope
            .pod_becomes("hungry", "OOM killed", pod::has_reason("OOMKilled"))
            .await?;
        Ok(())
    });
}

#[test]
fn an_image_runs_with_its_own_entrypoint_command_user_and_environment() {
    scenario(async |scope| {
        let spec = ImageSpec {
            entries: vec![Entry::program("bin/busybox", BUSYBOX)],
            entrypoint: words("/bin/busybox sh -c"),
            cmd: vec!["/bin/busybox id -u; echo $COLOUR".to_owned()],
            user: Some("10001".to_owned()),
            env: words("COLOUR=green"),
            architectures: words("arm64 amd64 riscv64"),
            ..ImageSpec::default()
        };
        let image = Registry::Open.publish("smoke/settings", "v1", &spec)?;
        scope
            .create_pod("settings", pod::image(&image.reference))
            .await?;
        let pod = scope.pod_becomes("settings", "over", pod::is_over).await?;
        ensure!(scope.pod_log("settings").await? == "10001\ngreen\n");
        // With several architectures, that is the digest of the index.
        let status = pod
            .status
            .and_then(|status| status.container_statuses)
            .unwrap_or_default();
        ensure!(
            status[0].image_id.ends_with(&image.digest),
            "it runs {}",
            status[0].image_id
        );
        Ok(())
    });
}

#[test]
fn a_test_that_panics_leaves_no_namespace_and_shows_its_pods_log() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let panicked = std::panic::catch_unwind(|| {
        scenario(async |scope| {
            scope
                .create_pod("talker", pod::shell("echo evidence"))
                .await?;
            scope.pod_becomes("talker", "over", pod::is_over).await?;
            sender.send((scope.namespace().to_owned(), report(scope).await))?;
            panic!("as planned");
        });
    });
    assert!(panicked.is_err());
    let (namespace, report) = receiver.recv().unwrap();
    assert!(
        report.contains("== log of talker/main\nevidence"),
        "{report}"
    );
    assert!(report.contains("== kubelet about it\n"), "{report}");
    scenario(async |scope| {
        let namespaces: Api<Namespace> = Api::all(scope.client());
        let gone = await_condition(namespaces, &namespace, |found: Option<&Namespace>| {
            found.is_none()
        });
        tokio::time::timeout(Duration::from_secs(60), gone).await??;
        Ok(())
    });
}

#[test]
fn requests_to_the_api_server_can_be_counted() {
    scenario(async |scope| {
        let lists = |scope: &Scope| -> Result<usize> {
            let requests = audited_requests(scope.namespace())?;
            let is_list = |event: &&Value| {
                event["verb"] == "list" && event["objectRef"]["resource"] == "pods"
            };
            Ok(requests.iter().filter(is_list).count())
        };
        let before = lists(scope)?;
        for _ in 0..3 {
            scope.api::<Pod>().list(&ListParams::default()).await?;
        }
        let counted = async {
            while lists(scope)? != before + 3 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        };
        tokio::time::timeout(Duration::from_secs(10), counted).await?
    });
}

#[test]
fn a_pod_that_breaks_pod_security_is_refused_where_that_is_enforced() {
    scenario(async |scope| {
        let enforce = json!({ "metadata": { "labels": {
            "pod-security.kubernetes.io/enforce": "restricted",
        }}});
        let namespaces: Api<Namespace> = Api::all(scope.client());
        let patch = kube::api::Patch::Merge(enforce);
        namespaces
            .patch(
                scope.namespace(),
                &kube::api::PatchParams::default(),
                &patch,
            )
            .await?;
        let refused = scope.create_pod("careless", pod::shell("true")).await;
        let complaint = format!("{:#}", refused.err().context("the pod was accepted")?);
        ensure!(complaint.contains("violates PodSecurity"), "{complaint}");
        Ok(())
    });
}

fn says(text: &str) -> ImageSpec {
    ImageSpec {
        entries: vec![Entry::program("bin/busybox", BUSYBOX)],
        entrypoint: words("/bin/busybox echo"),
        cmd: vec![text.to_owned()],
        ..ImageSpec::default()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
