//! The wrapper server where it belongs: PID 1 of strangers' containers, under Pod Security
//! "restricted".

use std::path::PathBuf;
use std::time::Duration;

use acceptance::{LIST, call, evaluate};
use anyhow::{Context, Result, ensure};
use cluster::image::{Entry, ImageSpec};
use cluster::process::{Process, wait_until};
use cluster::registry::Registry;
use cluster::seed::{BUSYBOX, function_reference};
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::Pod;
use proto::EvaluateFunctionRequest;
use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};

/// The static binary that `make build` makes, which `make e2e` sees to.
fn binary() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/release/wrapper-server"
    ))
}

/// An image with the wrapper, and a shell to write functions in.
fn publish(scope: &Scope) -> Result<String> {
    let mut entries = vec![
        Entry::program("bin/busybox", BUSYBOX),
        Entry::program("wrapper-server/wrapper-server", binary()),
    ];
    for applet in ["sh", "cat", "cp", "setsid", "sleep"] {
        let (path, target) = (format!("bin/{applet}"), "busybox".to_owned());
        entries.push(Entry::Link { path, target });
    }
    let spec = ImageSpec {
        entries,
        env: vec!["PATH=/bin".to_owned()],
        ..ImageSpec::default()
    };
    Ok(Registry::Open
        .publish("wrapper", scope.namespace(), &spec)?
        .reference)
}

fn restricted() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "runAsNonRoot": true,
        "runAsUser": 10001,
        "capabilities": { "drop": ["ALL"] },
        "seccompProfile": { "type": "RuntimeDefault" },
    })
}

/// Creates the pod and connects to its wrapper as soon as that answers.
async fn connect(scope: &Scope, name: &str, spec: Value) -> Result<(Pod, Channel)> {
    scope.create_pod(name, spec).await?;
    let pod = scope.pod_becomes(name, "running", pod::is_running).await?;
    let address = pod
        .status
        .as_ref()
        .and_then(|status| status.pod_ip.as_deref());
    let endpoint = format!(
        "http://{}:9446",
        address.context("a running pod has an address")?
    );
    let endpoint = Endpoint::from_shared(endpoint)?;
    let connected = async {
        loop {
            match endpoint.connect().await {
                Ok(channel) => return channel,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let channel = tokio::time::timeout(Duration::from_secs(20), connected).await;
    Ok((pod, channel.context("the wrapper does not answer")?))
}

#[test]
fn the_wrapper_is_pid_1_and_whatever_a_function_leaves_ends_with_its_call() {
    scenario(async |scope| {
        // One stays in the group, one leaves it, one also loses its environment. None of them has
        // the standard output: a call would wait for the end of that.
        let function = "{ sleep 1000 & setsid sleep 1000 & \
                        /bin/busybox env -i /bin/busybox setsid /bin/busybox sleep 1000 & } > /dev/null; \
                        exec cat";
        let spec = json!({
            "containers": [{
                "name": "function",
                "image": publish(scope)?,
                "command": ["/wrapper-server/wrapper-server", "--port", "9446", "--"],
                "args": ["sh", "-c", function],
                "securityContext": restricted(),
            }],
        });
        let (pod, channel) = connect(scope, "function", spec).await?;
        for _ in 0..3 {
            let answer = evaluate(channel.clone(), call("any", LIST)).await?;
            ensure!(answer.resource_list == LIST, "another list came back");
        }
        wait_until(
            Duration::from_secs(10),
            "only the wrapper to be left",
            || {
                let processes = pod::processes(&pod, "function")?;
                // A zombie would be counted: it has its place in the process table.
                Ok(processes.len() == 1 && processes.iter().all(Process::is_alive))
            },
        )
    });
}

#[test]
fn a_real_function_of_a_scratch_image_is_served_by_a_copied_wrapper() {
    scenario(async |scope| {
        let tools = json!([{ "name": "tools", "mountPath": "/wrapper-server-tools" }]);
        let image = function_reference("set-namespace").context("a function of the node")?;
        let spec = json!({
            "initContainers": [{
                "name": "copy-wrapper-server",
                "image": publish(scope)?,
                "command": ["cp", "-a", "/wrapper-server/.", "/wrapper-server-tools"],
                "securityContext": restricted(),
                "volumeMounts": tools,
            }],
            "containers": [{
                "name": "function",
                "image": image,
                "command": ["/wrapper-server-tools/wrapper-server"],
                "args": ["--port", "9446", "--max-request-body-size", "6291456", "--",
                         "/usr/local/bin/function"],
                "securityContext": restricted(),
                "volumeMounts": tools,
            }],
            "volumes": [{ "name": "tools", "emptyDir": {} }],
        });
        let (_, channel) = connect(scope, "set-namespace", spec).await?;
        let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  \
                    apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: input\n  data:\n    \
                    namespace: shop\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    \
                    name: settings\n    namespace: old\n";
        let request = EvaluateFunctionRequest {
            resource_list: list.into(),
            image,
            tag: String::new(),
        };
        let answer = evaluate(channel, request).await?;
        let text = String::from_utf8_lossy(&answer.resource_list).into_owned();
        ensure!(
            text.contains("    name: settings\n    namespace: shop\n"),
            "{text}"
        );
        Ok(())
    });
}
