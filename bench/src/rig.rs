//! The two sides on the node: the same functions, the same flags, a namespace each.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use acceptance::program::Program;
use anyhow::{Context, Result, ensure};
use cluster::image::{Entry, ImageSpec};
use cluster::layout::state;
use cluster::peer::Peer;
use cluster::registry::{Published, Registry};
use cluster::seed::{function_program, function_reference};
use tempfile::TempDir;
use tokio::time::sleep;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Peer,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Ours, Self::Peer];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Peer => "peer",
        }
    }
}

/// Where the images of the exec runtime would be, if it looked.
pub(crate) const EXEC_IDENTITY: &str = "bench.local/identity:v1";
pub(crate) const EXEC_SET_NAMESPACE: &str = "bench.local/set-namespace:v1";

/// Everything that is there before the first call. Its namespaces go with it.
#[derive(Debug)]
pub(crate) struct Rig {
    peer: Peer,
    folder: TempDir,
    wrappers: [String; 2],
    /// The identity function's image.
    pub(crate) identity: String,
    /// That of the real set-namespace.
    pub(crate) set_namespace: String,
    /// No test may break the node meanwhile.
    _lock: File,
}

impl Rig {
    pub(crate) fn build() -> Result<Self> {
        let lock = File::create(state("scenario.lock"))?;
        lock.lock_shared()?;
        let peer = Peer::built()?;
        let folder = TempDir::new()?;
        let functions = folder.path().join("functions");
        fs::create_dir(&functions)?;
        crate::material::identity(&functions)?;
        fs::copy(
            function_program("set-namespace")?,
            functions.join("set-namespace-go"),
        )?;
        let config = format!(
            "functions:\n- function: identity\n  images: ['{EXEC_IDENTITY}']\n\
             - function: set-namespace-go\n  images: ['{EXEC_SET_NAMESPACE}']\n"
        );
        fs::write(folder.path().join("config.yaml"), config)?;
        let wrappers = [
            publish("wrapper", &images::wrapper(&ours("")))?.pinned(),
            publish("peer-wrapper", &peer.wrapper_image())?.pinned(),
        ];
        let rig = Self {
            peer,
            wrappers,
            identity: publish("identity", &identity_image(&functions, 0))?.reference,
            set_namespace: function_reference("set-namespace").context("no set-namespace")?,
            folder,
            _lock: lock,
        };
        for side in Side::BOTH {
            let namespace = rig.namespace(side);
            kubectl(&["create", "namespace", &namespace])?;
            // Without it the API server refuses pods.
            let account = ["wait", "--for=create", "serviceaccount/default"];
            kubectl(&[&account[..], &["-n", &namespace]].concat())?;
        }
        Ok(rig)
    }

    /// Images of several functions that do the same under different names.
    pub(crate) fn several(&self, count: usize) -> Result<Vec<String>> {
        let functions = self.folder.path().join("functions");
        let one = |number: usize| {
            let image = identity_image(&functions, number + 1);
            Ok(publish(&format!("identity-{number}"), &image)?.reference)
        };
        (0..count).map(one).collect()
    }

    /// A runner with the pod runtime alone.
    pub(crate) async fn with_pods(&self, side: Side) -> Result<Program> {
        let mut command = command((side == Side::Peer).then_some(&self.peer));
        let wrapper = match side {
            Side::Ours => &self.wrappers[0],
            Side::Peer => &self.wrappers[1],
        };
        command
            .args(["--disable-runtimes=exec", "--warm-up-pod-cache=false"])
            .arg(format!("--pod-namespace={}", self.namespace(side)))
            .env("WRAPPER_SERVER_IMAGE", wrapper);
        Program::start(command, TempDir::new()?).await
    }

    /// A runner with the exec runtime alone.
    pub(crate) async fn with_exec(&self, side: Side) -> Result<Program> {
        let folder = self.folder.path();
        let mut command = command((side == Side::Peer).then_some(&self.peer));
        command
            .arg("--disable-runtimes=pod")
            .arg(format!(
                "--functions={}",
                folder.join("functions").display()
            ))
            .arg(format!("--config={}", folder.join("config.yaml").display()));
        Program::start(command, TempDir::new()?).await
    }

    /// Removes all pods of a side, and lets its runner hear of it.
    pub(crate) async fn clear(&self, side: Side) -> Result<()> {
        let namespace = self.namespace(side);
        let grace = "--grace-period=1";
        kubectl(&["delete", "pods,services", "--all", grace, "-n", &namespace])?;
        sleep(Duration::from_millis(500)).await;
        Ok(())
    }

    /// What lands in every pod, in bytes.
    pub(crate) fn wrapper_size(&self, side: Side) -> Result<u64> {
        let programs = match side {
            // The probe is the wrapper under another name.
            Side::Ours => vec![ours("wrapper-server")],
            Side::Peer => vec![self.peer.wrapper.clone(), self.peer.probe.clone()],
        };
        let sizes = programs
            .iter()
            .map(|program| Ok(fs::metadata(program)?.len()));
        sizes.sum()
    }

    fn namespace(&self, side: Side) -> String {
        format!("bench-{}-{}", side.name(), std::process::id())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for side in Side::BOTH {
            let _ = kubectl(&["delete", "namespace", &self.namespace(side), "--wait=false"]);
        }
    }
}

/// Starts ours, or the peer's server if that is given.
pub(crate) fn command(peer: Option<&Peer>) -> Command {
    let ours = || ours("function-runner");
    let mut command = Command::new(peer.map_or_else(ours, |peer| peer.server.clone()));
    // Nobody collects here, and the peer would go on trying to send.
    for exporter in ["OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER"] {
        command.env(exporter, "none");
    }
    command
}

/// Under a tag of this run's own: the peer cannot use digests, and nodes keep what a tag once meant.
fn publish(name: &str, image: &ImageSpec) -> Result<Published> {
    let tag = format!("v{}", std::process::id());
    Registry::Open.publish(&format!("bench/{name}"), &tag, image)
}

/// An image that holds the identity function alone; its number makes it another one.
fn identity_image(functions: &Path, number: usize) -> ImageSpec {
    ImageSpec {
        entries: vec![Entry::program("identity", functions.join("identity"))],
        entrypoint: vec!["/identity".to_owned()],
        env: vec![format!("NUMBER={number}")],
        ..ImageSpec::default()
    }
}

/// One of our own programs, as `make build` makes it.
fn ours(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../target/release")
        .join(program)
}

/// Inside the node it is in the path, with the administrator's access.
fn kubectl(words: &[&str]) -> Result<()> {
    let output = Command::new("kubectl")
        .args(words)
        .output()
        .context("could not run kubectl: is this inside the node?")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kubectl {words:?}: {said}");
    Ok(())
}
