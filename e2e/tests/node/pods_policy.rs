//! The image policy on a real node: what runs is the digest that was verified, and a refusal
//! reaches the caller before there is a pod. `interop` has the same signatures made by cosign.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::registry::Registry;
use e2e::runner::{Runner, publish, publish_wrapper, script};
use e2e::{Scope, scenario};
use rcgen::{KeyPair, SigningKey as _};
use registry::Digest;
use serde_json::json;
use tonic::Code;

/// The registry's word about signatures is kept for 10 s, and so is a failed start, or longer.
const ALLOWED_WITHIN: Duration = Duration::from_secs(60);

fn digest(content: &str) -> String {
    Digest::of(content.as_bytes()).to_string()
}

/// Publishes what cosign would as the signature of `image` in `repository`.
fn sign(key: &KeyPair, repository: &str, image: &str) -> Result<()> {
    let payload = json!({ "critical": {
        "identity": { "docker-reference": repository },
        "image": { "docker-manifest-digest": image },
        "type": "cosign container image signature",
    }, "optional": null })
    .to_string();
    let signature = STANDARD.encode(key.sign(payload.as_bytes())?);
    let config = "{}".to_owned();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.oci.image.config.v1+json",
                    "digest": digest(&config), "size": config.len() },
        "layers": [{ "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
                     "digest": digest(&payload), "size": payload.len(),
                     "annotations": { "dev.cosignproject.cosign/signature": signature } }],
    });
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    write("version", "Directory Transport Version: 1.1\n")?;
    write("manifest.json", &manifest.to_string())?;
    for content in [&config, &payload] {
        write(digest(content).trim_start_matches("sha256:"), content)?;
    }
    let copied = Command::new("skopeo")
        .args([
            "--insecure-policy",
            "copy",
            "--quiet",
            "--dest-tls-verify=false",
        ])
        .arg(format!("dir:{}", folder.path().display()))
        .arg(format!(
            "docker://{repository}:{}.sig",
            image.replace(':', "-")
        ))
        .output()?;
    let said = String::from_utf8_lossy(&copied.stderr);
    ensure!(copied.status.success(), "{said}");
    Ok(())
}

/// A policy of this text, in which `team.pub` is the key, and the flag for it.
fn policy(folder: &Path, key: &KeyPair, text: &str) -> Result<String> {
    fs::write(folder.join("team.pub"), key.public_key_pem())?;
    let path = folder.join("policy.yaml");
    fs::write(&path, text)?;
    Ok(format!("--image-policy={}", path.display()))
}

/// What a caller hears whom the policy refuses, by this rule; there is no pod then.
async fn is_refused(scope: &Scope, runner: &Runner, image: &str, rule: &str) -> Result<()> {
    let told = runner.call(image).await.err().context("no error")?;
    ensure!(told.code() == Code::PermissionDenied, "{told}");
    ensure!(told.message().contains(rule), "no {rule}: {told}");
    let (pods, _) = scope.functions().await?;
    ensure!(pods.is_empty(), "a pod of what is not signed");
    Ok(())
}

/// Calls until what was refused runs: the refusal is remembered for seconds.
async fn comes_to_run(runner: &Runner, image: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        match runner.call(image).await {
            Ok(_) => return Ok(()),
            Err(told) if told.code() != Code::PermissionDenied => bail!("{told}"),
            Err(told) => ensure!(begin.elapsed() < ALLOWED_WITHIN, "still refused: {told}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[test]
fn a_pod_runs_the_digest_that_was_verified_and_what_is_not_signed_gets_none() {
    scenario(async |scope| {
        let folder = tempfile::tempdir()?;
        let key = KeyPair::generate()?;
        let text = "rules: [{name: signed, allow: ['**'], verify: {keys: [team.pub]}}]";
        let flag = policy(folder.path(), &key, text)?;
        let repository = format!("test/{}", scope.namespace());
        let name = format!("{}/{repository}", Registry::Open.address());
        let signed = Registry::Open.publish(&repository, "v1", &script("exec cat"))?;
        let runner = Runner::start(scope, &[&flag])?;
        is_refused(scope, &runner, &signed.reference, "rule \"signed\"").await?;

        // Signed later, it runs, without a restart.
        sign(&key, &name, &signed.digest)?;
        comes_to_run(&runner, &signed.reference).await?;
        let pod = scope.only_pod().await?;
        let spec = pod.spec.context("a pod")?;
        let image = spec.containers[0].image.clone().unwrap_or_default();
        ensure!(
            image == format!("{name}@{}", signed.digest),
            "it runs {image}"
        );

        // The tag moves to what nobody has signed: the pod of the verified digest goes on, and there
        // is none of the other.
        let unsigned = Registry::Open.publish(&repository, "v1", &script("exec cat -"))?;
        ensure!(unsigned.digest != signed.digest, "it did not move");
        runner
            .call(&signed.reference)
            .await
            .context("the verified one runs on")?;
        let by_digest = format!("{name}@{}", unsigned.digest);
        let told = runner.call(&by_digest).await.err().context("no error")?;
        ensure!(told.code() == Code::PermissionDenied, "{told}");
        Ok(())
    });
}

#[test]
fn a_wrapper_that_is_not_signed_gets_no_pod_and_a_signed_one_runs_by_its_digest() {
    scenario(async |scope| {
        let folder = tempfile::tempdir()?;
        let key = KeyPair::generate()?;
        let text = "wrapper: {verify: {keys: [team.pub]}}\nrules: [{name: all, allow: ['**']}]";
        let flag = policy(folder.path(), &key, text)?;
        let image = publish(scope, "echo", &script("exec cat"))?;
        // Of the test's own repository, in which nothing is signed yet, and named by its tag.
        let repository = format!("test/wrapper-{}", scope.namespace());
        let pinned = publish_wrapper(&repository, "v1")?;
        let (name, digest) = pinned.split_once('@').context("a digest")?;
        let name = name.trim_end_matches(":v1");
        let setup = Runner::setup(scope, &[&flag]).with_wrapper(&format!("{name}:v1"));
        let runner = setup.start()?;
        is_refused(scope, &runner, &image, "rule \"wrapper\"").await?;

        sign(&key, name, digest)?;
        comes_to_run(&runner, &image).await?;
        let spec = scope.only_pod().await?.spec.context("a pod")?;
        let wrapper = spec.init_containers.iter().flatten().next();
        let wrapper = wrapper.and_then(|container| container.image.clone());
        ensure!(wrapper == Some(format!("{name}@{digest}")), "{wrapper:?}");
        Ok(())
    });
}
