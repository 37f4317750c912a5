//! What a soak's functions are made of, and what its runners follow: images, executables, and the
//! files and the template that change while they run.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cluster::image::ImageSpec;
use cluster::registry::Registry;
use tempfile::TempDir;

use super::call::{Function, Script};
use super::fault::Followed;
use super::list::source;
use super::objects;
use crate::runner::script;
use crate::scope::Scope;
use crate::template;

/// Images of a script that do the same and are not the same.
pub(crate) const VARIANTS: u64 = 2;

/// What callers name.
#[derive(Debug)]
pub(crate) struct Images {
    pods: Vec<(Script, String)>,
    executables: Vec<(Script, String)>,
}

impl Images {
    pub(crate) fn of(&self, function: Function) -> &str {
        let of = |images: &'_ [(Script, String)], script| {
            images.iter().position(|(it, _)| *it == script)
        };
        match function {
            Function::SetNamespace => "set-namespace:v0.4.5",
            // Releases before it end well with an error among their results.
            Function::Misconfigured => "set-namespace:v0.4.6",
            Function::SetLabels => "set-labels:v0.2.2",
            Function::Starlark => "starlark:v0.5.5",
            Function::Pod(script) => of(&self.pods, script).map_or("", |at| &self.pods[at].1),
            Function::Executable(script) => {
                of(&self.executables, script).map_or("", |at| &self.executables[at].1)
            }
        }
    }
}

/// Files of the runners, and the versions that they have had.
#[derive(Debug)]
pub(crate) struct Material {
    folder: TempDir,
    scope: Scope,
    wrapper: String,
    version: Cell<u64>,
}

impl Material {
    /// Writes and publishes everything.
    pub(crate) async fn prepare(scope: &Scope, wrapper: &str) -> Result<(Self, Images)> {
        let material = Self {
            folder: TempDir::new()?,
            scope: scope.clone(),
            wrapper: wrapper.to_owned(),
            version: Cell::new(0),
        };
        let functions = material.functions();
        fs::create_dir(&functions)?;
        let (mut pods, mut executables) = (Vec::new(), Vec::new());
        for script in Script::ALL {
            let path = functions.join(script.name());
            fs::write(&path, format!("#!/bin/sh\n{}\n", source(script, "sed")))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            executables.push((script, format!("soak.example/{}:v1", script.name())));
            pods.push((script, material.publish(script, scope.namespace(), 0)?));
        }
        for followed in [
            Followed::Policy,
            Followed::ExecConfig,
            Followed::CacheConfig,
        ] {
            material.change(followed).await?;
        }
        material.change(Followed::Template).await?;
        Ok((material, Images { pods, executables }))
    }

    /// Publishes a variant of a function under a tag; its reference.
    pub(crate) fn publish(&self, function: Script, tag: &str, variant: u64) -> Result<String> {
        let spec = variant_of(function, variant);
        let repository = format!("test/{}", function.name());
        Ok(Registry::Open.publish(&repository, tag, &spec)?.reference)
    }

    /// Another variant under the tag that callers name.
    pub(crate) fn move_tag(&self, function: Script) -> Result<()> {
        let variant = self.next_version() % VARIANTS;
        self.publish(function, self.scope.namespace(), variant)?;
        Ok(())
    }

    fn functions(&self) -> PathBuf {
        self.folder.path().join("functions")
    }

    fn next_version(&self) -> u64 {
        self.version.replace(self.version.get() + 1)
    }

    fn path(&self, followed: Followed) -> PathBuf {
        self.folder.path().join(match followed {
            Followed::Policy => "policy.yaml",
            Followed::ExecConfig => "config.yaml",
            Followed::CacheConfig => "pod-cache-config.yaml",
            Followed::Template | Followed::FunctionConfig => "not-a-file",
        })
    }

    /// The flags of runners that follow all of this.
    pub(crate) fn flags(&self) -> Vec<String> {
        let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
        vec![
            file("functions", &self.functions()),
            file("config", &self.path(Followed::ExecConfig)),
            file("pod-cache-config", &self.path(Followed::CacheConfig)),
            file("image-policy", &self.path(Followed::Policy)),
            template::flag(&self.scope, "soak"),
        ]
    }

    /// A new version that means the same.
    pub(crate) async fn change(&self, followed: Followed) -> Result<()> {
        let version = self.next_version();
        let text = match followed {
            Followed::Policy => format!("rules: [{{name: all-{version}, allow: ['**']}}]\n"),
            Followed::ExecConfig => exec_config(version),
            Followed::CacheConfig => self.cache_config(version),
            Followed::Template => self.template(version)?,
            Followed::FunctionConfig => return objects::change(&self.scope, version).await,
        };
        self.write(followed, &text).await
    }

    /// A version that nobody understands.
    pub(crate) async fn break_it(&self, followed: Followed) -> Result<()> {
        self.write(followed, "functions: [ {\n").await
    }

    async fn write(&self, followed: Followed, text: &str) -> Result<()> {
        if followed == Followed::Template {
            return template::write(&self.scope, "soak", text).await;
        }
        // In one step, as a ConfigMap's mount does it.
        let draft = tempfile::NamedTempFile::new_in(self.folder.path())?;
        fs::write(draft.path(), text)?;
        draft
            .persist(self.path(followed))
            .context("a new version")?;
        Ok(())
    }

    fn cache_config(&self, version: u64) -> String {
        let entry = |script: Script| {
            let (name, tag) = (script.name(), self.scope.namespace());
            let image = format!("{}/test/{name}:{tag}", Registry::Open.address());
            let length = 2 + version % 2;
            format!(
                "- name: {image}\n  maxParallelPodsPerFunction: 2\n  maxWaitlistLength: {length}\n"
            )
        };
        [Script::Quick, Script::Slow].map(entry).concat()
    }

    fn template(&self, version: u64) -> Result<String> {
        let labels = format!("kind: Pod\nmetadata:\n  labels:\n    version: v{version}\n");
        template::documented_but(&[
            ("kind: Pod\n", &labels),
            (
                "docker.io/nephio/porch-wrapper-server:latest",
                &self.wrapper,
            ),
        ])
    }
}

fn variant_of(function: Script, variant: u64) -> ImageSpec {
    script(&format!(": {variant}; {}", source(function, "busybox sed")))
}

fn exec_config(version: u64) -> String {
    let entry = |script: Script| {
        let name = script.name();
        format!("- function: {name}\n  images: ['soak.example/{name}:v1']\n")
    };
    let functions = Script::ALL.map(entry).concat();
    format!("# version {version}\nfunctions:\n{functions}")
}
