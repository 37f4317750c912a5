//! The image policy on a real node: what runs is the digest that was verified, and a refusal
//! reaches the caller before there is a pod. `interop` has the same signatures made by cosign.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::registry::Registry;
use e2e::runner::{Runner, script};
use e2e::scenario;
use rcgen::{KeyPair, SigningKey as _};
use registry::Digest;
use serde_json::json;
use tonic::Code;

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

/// A policy that wants everything signed by `key`, and the flag for it.
fn policy(folder: &Path, key: &KeyPair) -> Result<String> {
    fs::write(folder.join("team.pub"), key.public_key_pem())?;
    let path = folder.join("policy.yaml");
    let text = "rules: [{name: signed, allow: ['**'], verify: {keys: [team.pub]}}]";
    fs::write(&path, text)?;
    Ok(format!("--image-policy={}", path.display()))
}

#[test]
fn a_pod_runs_the_digest_that_was_verified_and_what_is_not_signed_gets_none() {
    scenario(async |scope| {
        let folder = tempfile::tempdir()?;
        let key = KeyPair::generate()?;
        let flag = policy(folder.path(), &key)?;
        let repository = format!("test/{}", scope.namespace());
        let name = format!("{}/{repository}", Registry::Open.address());
        let signed = Registry::Open.publish(&repository, "v1", &script("exec cat"))?;
        let runner = Runner::start(scope, &[&flag])?;

        let told = runner
            .call(&signed.reference)
            .await
            .err()
            .context("no error")?;
        ensure!(told.code() == Code::PermissionDenied, "{told}");
        ensure!(told.message().contains("rule \"signed\""), "{told}");
        let (pods, _) = scope.functions().await?;
        ensure!(pods.is_empty(), "a pod of an image that is not signed");
        drop(runner);

        sign(&key, &name, &signed.digest)?;
        let runner = Runner::start(scope, &[&flag])?;
        runner.call(&signed.reference).await?;
        let (pods, _) = scope.functions().await?;
        let spec = pods
            .first()
            .and_then(|pod| pod.spec.clone())
            .context("a pod")?;
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
