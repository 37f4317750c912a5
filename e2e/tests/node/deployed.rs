//! The runner as its operators get it: the images of `make images`, deployed from `deploy/` into
//! namespaces that enforce Pod Security, called through its service.

use std::time::{Duration, Instant};

use acceptance::evaluate;
use anyhow::{Context, Result, ensure};
use cluster::seed::function_reference;
use e2e::deployment::{self, components, deploy, kubectl, namespaces, render};
use e2e::runner::{publish, script};
use e2e::{Calls, Scope, pod, scenario};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::ListParams;
use proto::EvaluateFunctionRequest;
use serde_json::{Value, json};
use tonic::Request;
use tonic::transport::Channel;

/// How long a call or an adoption may take.
const PATIENCE: Duration = Duration::from_secs(60);

const SET_NAMESPACE: &str = "
functionConfig: { apiVersion: v1, kind: ConfigMap, metadata: { name: c }, data: { namespace: prod } }
";

const STARLARK: &str = "
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: StarlarkRun
  metadata: { name: c }
  source: |
    for item in ctx.resource_list['items']:
      item['metadata']['namespace'] = 'prod'
";

/// Evaluates a function that is to put the only item into the namespace prod.
async fn put_into_prod(channel: Channel, image: &str, config: &str) -> Result<()> {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  \
         kind: ConfigMap\n  metadata:\n    name: a\n{config}"
    );
    let mut request = Request::new(EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.to_owned(),
        tag: String::new(),
    });
    request.set_timeout(PATIENCE);
    let answer = evaluate(channel, request).await?;
    let list = String::from_utf8(answer.resource_list.to_vec())?;
    ensure!(list.contains("namespace: prod\n"), "{image}: {list}");
    Ok(())
}

fn catalog(function: &str) -> String {
    format!("ghcr.io/kptdev/krm-functions-catalog/{function}")
}

async fn only_function_pod(functions: &Scope) -> Result<Pod> {
    let (mut pods, services) = functions.functions().await?;
    let counts = (pods.len(), services.len());
    ensure!(counts == (1, 1), "{counts:?} pods and services");
    pods.pop().context("a pod")
}

async fn runners(scope: &Scope) -> Result<Vec<Pod>> {
    let ours = ListParams::default().labels("app=function-runner");
    Ok(scope.api::<Pod>().list(&ours).await?.items)
}

/// Waits until a pod has logged these words.
async fn log_says(scope: &Scope, pod: &str, words: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let log = scope.pod_log(pod).await?;
        if log.contains(words) {
            return Ok(());
        }
        ensure!(begin.elapsed() < PATIENCE, "no {words:?} in {log}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn every_component_is_accepted_by_the_api_server_without_a_warning() {
    scenario(async |scope| {
        let all = components()?;
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut choices: Vec<&[&str]> = all.chunks(1).collect();
        // Probes of porch-1.6 do not speak TLS: its own comment says so.
        let together: Vec<&str> = all.iter().copied().filter(|name| *name != "tls").collect();
        choices.extend([&[][..], &together[..]]);
        for chosen in choices {
            let manifests = known_here(&render(scope, chosen, &[])?);
            kubectl(
                &["apply", "--server-side", "-f", "-"],
                &namespaces(&manifests),
            )?;
            scope
                .adopt_namespace(&deployment::functions_namespace(scope))
                .await?;
            let arguments = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
            let told = kubectl(&arguments, &manifests).with_context(|| format!("{chosen:?}"))?;
            for (component, object) in [
                ("", "deployment.apps/function-runner"),
                ("replicas", "poddisruptionbudget.policy/function-runner"),
                ("isolation", "networkpolicy.networking.k8s.io/function-pods"),
                ("pod-template", "configmap/kpt-function-eval-pod-template"),
                (
                    "porch-1.6",
                    "role.rbac.authorization.k8s.io/porch-function-configs",
                ),
            ] {
                let expected = component.is_empty() || chosen.contains(&component);
                ensure!(told.contains(object) == expected, "{chosen:?}: {told}");
            }
        }
        Ok(())
    });
}

#[test]
fn only_the_runner_itself_is_given_a_token_of_a_service_account() {
    scenario(async |scope| {
        let mut choices: Vec<Vec<String>> = components()?.into_iter().map(|it| vec![it]).collect();
        choices.push(Vec::new());
        for chosen in choices {
            let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
            let manifests = known_here(&render(scope, &chosen, &[])?);
            let arguments = ["create", "--dry-run=client", "-o", "json", "-f", "-"];
            let objects = kubectl(&arguments, &manifests)?;
            // One JSON document after the other, or a list of them.
            let mut objects = serde_json::Deserializer::from_str(&objects)
                .into_iter::<Value>()
                .collect::<Result<Vec<_>, _>>()?;
            if let [list] = &objects[..]
                && let Some(items) = list["items"].as_array()
            {
                objects = items.clone();
            }
            let of_kind =
                |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
            let accounts: Vec<_> = of_kind("ServiceAccount").collect();
            let names: Vec<_> = accounts.iter().map(|it| &it["metadata"]["name"]).collect();
            ensure!(names.contains(&&json!("default")), "{chosen:?}: {names:?}");
            for account in accounts {
                let automount = &account["automountServiceAccountToken"];
                ensure!(*automount == json!(false), "{chosen:?}: {account}");
            }
            for deployment in of_kind("Deployment") {
                let pod = &deployment["spec"]["template"]["spec"];
                let automount = &pod["automountServiceAccountToken"];
                ensure!(*automount == json!(true), "{chosen:?}: it needs its token");
            }
            for template in of_kind("ConfigMap").filter_map(|it| it["data"]["template"].as_str()) {
                let line = "\n  automountServiceAccountToken: false\n";
                ensure!(template.contains(line), "{chosen:?}: {template}");
            }
        }
        Ok(())
    });
}

/// Whether a function's pod has no token, by its own word and by its volumes.
fn has_no_token(pod: &Pod) -> Result<()> {
    let spec = pod.spec.as_ref().context("a pod")?;
    let automount = spec.automount_service_account_token;
    ensure!(automount == Some(false), "automount: {automount:?}");
    let volumes = serde_json::to_string(&spec.volumes)?;
    ensure!(!volumes.contains("serviceAccountToken"), "{volumes}");
    Ok(())
}

/// Without the kinds of operators that this node does not have.
fn known_here(manifests: &str) -> String {
    let elsewhere = ["cert-manager.io/", "monitoring.coreos.com/"];
    let is_known = |manifest: &&str| {
        let is_theirs = |group| manifest.contains(&format!("apiVersion: {group}"));
        !elsewhere.into_iter().any(is_theirs)
    };
    let known: Vec<&str> = manifests.split("\n---\n").filter(is_known).collect();
    known.join("\n---\n")
}

#[test]
fn under_restricted_pod_security_it_serves_both_runtimes_and_a_restart_keeps_its_pods() {
    scenario(async |scope| {
        let functions = deploy(scope, &[], &["--scan-interval=2s"]).await?;
        for restricted in [scope, &functions] {
            let refused = restricted.create_pod("careless", pod::shell("true")).await;
            let refused = refused.err().context("a careless pod is admitted")?;
            let told = format!("{refused:#}");
            ensure!(told.contains("PodSecurity \"restricted"), "{told}");
        }

        let channel = deployment::connect(scope).await?;
        let (bundled, script) = (catalog("set-namespace:v0.4.5"), catalog("starlark:v0.5.5"));
        put_into_prod(channel.clone(), &bundled, SET_NAMESPACE).await?;
        put_into_prod(channel.clone(), &script, STARLARK).await?;
        functions.functions_become(0, 0).await?;

        let real = function_reference("set-namespace").context("a function of the node's")?;
        put_into_prod(channel, &real, SET_NAMESPACE).await?;
        let function = only_function_pod(&functions).await?;
        has_no_token(&function)?;

        let old = runners(scope).await?;
        let log = scope.pod_log(&old[0].name_any()).await?;
        ensure!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");

        deployment::restart(scope).await?;
        let is_old = |pod: &Pod| old.iter().any(|old| old.uid() == pod.uid());
        let new: Vec<_> = runners(scope).await?;
        let new = new
            .iter()
            .find(|pod| !is_old(pod))
            .context("a new runner")?;
        log_says(scope, &new.name_any(), "adopted a pod").await?;
        let channel = deployment::connect(scope).await?;
        put_into_prod(channel, &real, SET_NAMESPACE).await?;
        let kept = only_function_pod(&functions).await?;
        ensure!(kept.uid() == function.uid(), "another pod");
        Ok(())
    });
}

#[test]
fn two_replicas_with_the_template_of_the_documentation_serve_too() {
    scenario(async |scope| {
        e2e::runner::publish_wrapper("nephio/porch-wrapper-server", "latest")?;
        let all = ["isolation", "pod-template", "replicas"];
        let functions = deploy(scope, &all, &[]).await?;
        let count = runners(scope).await?.len();
        ensure!(count == 2, "{count} runners");
        let channel = deployment::connect(scope).await?;
        let real = function_reference("set-namespace").context("a function of the node's")?;
        put_into_prod(channel, &real, SET_NAMESPACE).await?;
        let function = only_function_pod(&functions).await?;
        has_no_token(&function)?;
        let init = function
            .spec
            .as_ref()
            .and_then(|spec| spec.init_containers.as_ref());
        let init = init.and_then(|all| all[0].image.as_deref());
        let expected = "docker.io/nephio/porch-wrapper-server:latest";
        ensure!(init == Some(expected), "{init:?}");
        Ok(())
    });
}

#[test]
fn a_rolling_update_of_two_replicas_fails_no_call() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        deploy(scope, &["replicas"], &[]).await?;
        put_into_prod(
            deployment::connect(scope).await?,
            &catalog("set-namespace:v0.4.5"),
            SET_NAMESPACE,
        )
        .await?;
        let old = runners(scope).await?;
        let calls = Calls::to(&deployment::address(scope), &image)
            .callers(2)
            .pausing(Duration::from_millis(10));
        let kept = calls.clone().start();
        let anew = calls.connecting_anew().start();
        kept.goes_on(10).await?;
        anew.goes_on(10).await?;
        deployment::restart(scope).await?;
        // Available are the new ones alone; the old ones still come to their end.
        for pod in &old {
            let is_gone = |pod: Option<&Pod>| pod.is_none();
            scope
                .becomes::<Pod>(&pod.name_any(), "gone", is_gone)
                .await?;
        }
        kept.goes_on(10).await?;
        anew.goes_on(10).await?;
        kept.end().await.context("over a connection that is kept")?;
        anew.end().await.context("with a connection per call")?;
        Ok(())
    });
}
