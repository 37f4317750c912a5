//! Who reaches whom where the NetworkPolicies of `deploy/components` are enforced: by rules of nftables that
//! are derived from them (`e2e::network_policies`), between real pods.

use std::process::Command;

use acceptance::{LIST, evaluate};
use anyhow::{Context, Result, ensure};
use e2e::deployment::{connect, deploy, kubectl};
use e2e::network_policies::{Enforced, Party};
use e2e::runner::publish;
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use kube::api::ListParams;
use proto::EvaluateFunctionRequest;
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::pods_hostile::hostile;

/// The API server's own address, on the node.
const NODE: &str = "198.19.0.1:6443";

async fn attempt(channel: &Channel, image: &str, what: &str) -> Result<String, Status> {
    let request = Request::new(EvaluateFunctionRequest {
        resource_list: format!("{LIST}# try: {what}\n").into(),
        image: image.to_owned(),
        tag: String::new(),
    });
    let answer = evaluate(channel.clone(), request).await?;
    Ok(String::from_utf8_lossy(&answer.resource_list).into_owned())
}

/// A pod that does nothing, with its name as its label `app`.
async fn idle(scope: &Scope, name: &str) -> Result<Pod> {
    let spec = pod::restricted(pod::shell("exec sleep 600"));
    scope.create_pod(name, spec).await?;
    scope.pod_becomes(name, "running", pod::is_running).await?;
    Ok(scope.api::<Pod>().get(name).await?)
}

/// Whether a connection from one pod to a port of another one comes about.
fn reaches(from: &Pod, to: &Pod, port: u16) -> Result<bool> {
    let container = &from.spec.as_ref().context("a pod's spec")?.containers[0].name;
    let processes = pod::processes(from, container)?;
    let pid = processes.first().context("a process of the pod")?.pid();
    let status = to.status.as_ref().and_then(|it| it.pod_ip.as_deref());
    let address = status.context("an address")?;
    let connect = format!("exec 3<> /dev/tcp/{address}/{port}");
    let tried = Command::new("nsenter")
        .args(["--net", "--target", &pid.to_string()])
        .args(["timeout", "4", "bash", "-c", &connect])
        .output()?;
    // Refused is as good as connected: something answered.
    let told = String::from_utf8_lossy(&tried.stderr);
    Ok(tried.status.success() || told.contains("refused"))
}

#[test]
fn only_porch_reaches_the_runner_only_the_runner_reaches_functions_and_these_reach_nobody() {
    scenario(async |scope| {
        let functions = deploy(scope, &["callers", "isolation"], &[]).await?;
        let other = format!("{}-other", scope.namespace());
        kubectl(&["create", "namespace", &other], "")?;
        let elsewhere = scope.adopt_namespace(&other).await?;
        let image = publish(scope, "hostile", &hostile()?)?;
        let channel = connect(scope).await?;
        let (tcp, resolver) = (format!("tcp {NODE}"), "read /etc/resolv.conf");
        // Without rules the function has a network.
        let told = attempt(&channel, &image, resolver).await?;
        let server = told.split("nameserver ").nth(1).context("a name server")?;
        let server: String = server
            .chars()
            .take_while(|it| !it.is_whitespace() && *it != '\\')
            .collect();
        let udp = format!("ask {server}:53");
        for what in [&tcp, &udp] {
            attempt(&channel, &image, what).await.context("no rules")?;
        }

        let porch = idle(scope, "porch-server").await?;
        let neighbour = idle(scope, "neighbour").await?;
        let stranger = idle(&elsewhere, "porch-server").await?;
        let of_runner = ListParams::default().labels("app=function-runner");
        let runners = scope.api::<Pod>().list(&of_runner).await?.items;
        let (mut pods, _) = functions.functions().await?;
        let function = pods.pop().context("a function's pod")?;
        let mut policies = Vec::new();
        for namespace in [scope, &functions] {
            let found = namespace.api::<NetworkPolicy>();
            policies.extend(found.list(&ListParams::default()).await?.items);
        }
        ensure!(policies.len() == 2, "{policies:?}");
        let others = [&porch, &neighbour, &stranger, &function];
        let parties = others.into_iter().chain(&runners).map(Party::of);
        let parties: Vec<Party> = parties.collect::<Result<_>>()?;
        let _enforced = Enforced::begin(scope.namespace(), &policies, &parties)?;

        let runner = runners.first().context("a runner")?;
        for (from, to, port, expected) in [
            (&porch, runner, 9445, true),
            (&porch, runner, 9464, false),
            (&neighbour, runner, 9445, false),
            (&stranger, runner, 9445, false),
            (&function, runner, 9445, false),
            (runner, &function, 9446, true),
            (runner, &function, 80, false),
            (&porch, &function, 9446, false),
            (&stranger, &function, 9446, false),
            (&function, &stranger, 80, false),
            // What no policy selects is open, as ever.
            (&stranger, &neighbour, 80, true),
            (runner, &stranger, 80, true),
        ] {
            let found = reaches(from, to, port)?;
            let names = (from.name_any(), to.name_any());
            ensure!(found == expected, "{names:?}, port {port}: {found}");
        }
        for what in [&tcp, &udp] {
            let stopped = attempt(&channel, &image, what).await;
            let status = stopped.err().with_context(|| format!("{what} succeeded"))?;
            println!("{what}: {status}");
            ensure!(status.message().contains("stopped:"), "{what}: {status}");
        }
        let next = attempt(&channel, &image, "nothing").await;
        next.map(drop).context("the next call")
    });
}
