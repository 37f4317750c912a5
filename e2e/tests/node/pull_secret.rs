//! The pull secret on a real API server: made, compared, replaced, and good for pulling.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cluster::image::{Entry, ImageSpec};
use cluster::registry::{PASSWORD, Registry, USER};
use cluster::seed::BUSYBOX;
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::{PodSpec, Secret};
use runner::pull_secret::{Kept, PullSecret, attach};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

const NAME: &str = "auth-secret";

struct File {
    path: PathBuf,
    _folder: TempDir,
}

impl File {
    fn new(content: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let path = folder.path().join(".dockerconfigjson");
        fs::write(&path, content)?;
        Ok(Self {
            path,
            _folder: folder,
        })
    }

    fn secret(&self, scope: &Scope) -> PullSecret {
        PullSecret::new(scope.client(), scope.namespace(), NAME, &self.path)
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[test]
fn the_secret_is_created_compared_and_updated() {
    scenario(async |scope| {
        let file = File::new(r#"{"auths":{}}"#)?;
        let secret = file.secret(scope);
        ensure!(
            secret.keep(soon()).await? == Kept::Created,
            "it was not there"
        );
        let made = scope.api::<Secret>().get(NAME).await?;
        ensure!(
            made.type_.as_deref() == Some("kubernetes.io/dockerconfigjson"),
            "{made:?}"
        );
        let content = |secret: &Secret| {
            let data = secret.data.as_ref()?.get(".dockerconfigjson")?;
            String::from_utf8(data.0.clone()).ok()
        };
        ensure!(
            content(&made).as_deref() == Some(r#"{"auths":{}}"#),
            "other content"
        );

        ensure!(secret.keep(soon()).await? == Kept::Alone, "it is equal");
        let same = scope.api::<Secret>().get(NAME).await?;
        let version = |secret: &Secret| secret.metadata.resource_version.clone();
        ensure!(
            version(&same) == version(&made),
            "an equal secret was touched"
        );

        let changed = r#"{"auths":{"example.com":{"auth":"eDp5"}}}"#;
        fs::write(&file.path, changed)?;
        ensure!(
            secret.keep(soon()).await? == Kept::Updated,
            "the file has changed"
        );
        let updated = scope.api::<Secret>().get(NAME).await?;
        ensure!(
            content(&updated).as_deref() == Some(changed),
            "other content"
        );
        ensure!(
            updated.metadata.uid == made.metadata.uid,
            "it is the same object"
        );
        Ok(())
    });
}

#[test]
fn runners_that_come_at_once_agree() {
    scenario(async |scope| {
        let file = File::new(r#"{"auths":{}}"#)?;
        for round in ["create", "update"] {
            fs::write(&file.path, format!(r#"{{"auths":{{}},"round":"{round}"}}"#))?;
            let runners = (0..4).map(async |_| file.secret(scope).keep(soon()).await);
            let kept = futures::future::try_join_all(runners).await?;
            let done = kept.iter().filter(|kept| **kept != Kept::Alone).count();
            ensure!(done >= 1, "{kept:?}");
            ensure!(
                file.secret(scope).keep(soon()).await? == Kept::Alone,
                "{round}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_secret_of_another_kind_and_a_file_that_is_none_are_told() {
    scenario(async |scope| {
        let other = json!({ "metadata": { "name": NAME }, "stringData": { "mine": "x" } });
        scope.create_object::<Secret>(other).await?;
        let file = File::new("{}")?;
        let is_refused_with = async |words: &[&str]| {
            let refused = file.secret(scope).keep(soon()).await;
            let told = refused.err().context("an error")?.to_string();
            let are_told = words.iter().all(|words| told.contains(words));
            ensure!(are_told, "{told}");
            Ok(())
        };
        is_refused_with(&["its type is Opaque", "--registry-auth-secret-name"]).await?;
        fs::write(&file.path, "{ secret")?;
        is_refused_with(&["is not JSON: see line 1, column 3"]).await?;
        fs::remove_file(&file.path)?;
        is_refused_with(&["cannot read the docker config"]).await?;
        Ok(())
    });
}

#[test]
fn a_private_image_is_pulled_with_the_attached_secret_only() {
    scenario(async |scope| {
        let spec = ImageSpec {
            entries: vec![Entry::program("bin/busybox", BUSYBOX)],
            entrypoint: vec![
                "/bin/busybox".to_owned(),
                "sleep".to_owned(),
                "600".to_owned(),
            ],
            ..ImageSpec::default()
        };
        let tag = scope.namespace();
        let image = Registry::Private.publish("team/private", tag, &spec)?;
        let entry = json!({ "username": USER, "password": PASSWORD });
        let config = json!({ "auths": { Registry::Private.address(): entry } });
        let file = File::new(&config.to_string())?;
        file.secret(scope).keep(soon()).await?;

        let without = json!({ "containers": [{
            "name": "main", "image": image.reference, "imagePullPolicy": "Always",
        }] });
        let mut with: PodSpec = serde_json::from_value(without.clone())?;
        attach(&mut with, NAME);
        scope.create_pod("without", without).await?;
        scope
            .create_pod("with", serde_json::to_value(with)?)
            .await?;
        scope
            .pod_becomes("with", "running", pod::is_running)
            .await?;
        let refused = |status: &_| {
            pod::has_reason("ErrImagePull")(status) || pod::has_reason("ImagePullBackOff")(status)
        };
        scope
            .pod_becomes("without", "refused its image", refused)
            .await?;
        Ok(())
    });
}
