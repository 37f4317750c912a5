//! What a function that means harm can do in a real pod: nothing to its wrapper, to the runner or to
//! its neighbours. Each attempt fails, its caller hears why, and the function's next call is answered.
//!
//! Network is the cluster's to take away (`components/isolation`): `network`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use cluster::image::{Entry, ImageSpec};
use cluster::process::Process;
use e2e::runner::{Runner, publish, script};
use e2e::{Scope, pod, scenario};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use tonic::{Code, Status};

/// What makes any system call for the hostile function.
const PERL: &str = "/usr/bin/perl";

/// The hostile function of the exec runtime's tests, and Perl, with the libraries that they are
/// linked with.
pub(crate) fn hostile() -> Result<ImageSpec> {
    let program = env!("CARGO_BIN_EXE_hostile-function");
    let ldd = Command::new("ldd").args([program, PERL]).output()?;
    let told = String::from_utf8(ldd.stdout)?;
    let libraries = told
        .lines()
        .filter(|line| !line.ends_with(':'))
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    // Most are in both lists.
    let paths: BTreeSet<&str> = libraries.chain([PERL]).collect();
    let mut entries = vec![Entry::program("hostile", program)];
    let program = |path: &str| Entry::program(path.trim_start_matches('/'), path);
    entries.extend(paths.into_iter().map(program));
    Ok(ImageSpec {
        entrypoint: vec!["/hostile".to_owned()],
        entries,
        ..ImageSpec::default()
    })
}

/// A runner with a hostile function and a harmless neighbour, both warm.
struct Stage<'a> {
    scope: &'a Scope,
    runner: Runner,
    hostile: String,
    echo: String,
}

impl<'a> Stage<'a> {
    async fn set(scope: &'a Scope) -> Result<Self> {
        let hostile = publish(scope, "hostile", &hostile()?)?;
        let echo = publish(scope, "echo", &script("exec cat"))?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("pod-cache-config.yaml");
        let limits = "resources: { limits: { memory: 256Mi } }";
        std::fs::write(&file, format!("- name: {hostile}\n  {limits}\n"))?;
        let config = format!("--pod-cache-config={}", file.display());
        let flags = [&config, "--scan-interval=2s", "--retry-lost-calls=false"];
        let runner = Runner::start(scope, &flags)?;
        runner.call(&echo).await?;
        Ok(Self {
            scope,
            runner,
            hostile,
            echo,
        })
    }

    async fn attempt(&self, what: &str) -> Result<String, Status> {
        let list = format!("{LIST}# try: {what}\n");
        let answer = self.runner.call_on(&self.hostile, list).await?;
        Ok(String::from_utf8_lossy(&answer.resource_list).into_owned())
    }

    /// The hostile function's.
    async fn pod(&self) -> Result<Pod> {
        let (pods, _) = self.scope.functions().await?;
        let is_its = |pod: &Pod| pod.name_any().starts_with("hostile-");
        pods.into_iter().find(is_its).context("no pod of it")
    }

    /// The attempt fails for the reason given, and everybody else goes on.
    async fn is_stopped(&self, what: &str, words: &str) -> Result<Status> {
        let status = match self.attempt(what).await {
            Err(status) => status,
            Ok(list) => anyhow::bail!("{what} succeeded: {list}"),
        };
        println!("{what}: {status}");
        ensure!(status.message().contains(words), "{what}: {status}");
        let neighbour = self.runner.call(&self.echo).await.context("a neighbour")?;
        ensure!(neighbour.resource_list == LIST, "not the neighbour's list");
        self.attempt("nothing").await.context("the next call")?;
        Ok(status)
    }
}

/// The attempt fails for the reason given. A pod has no docker config to read: the kubelet pulls its
/// image, and nothing of the pull secret is mounted.
fn attempt_is_stopped(what: &str, words: &str) {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        stage.is_stopped(what, words).await.map(drop)
    });
}

#[test]
fn a_hostile_function_in_a_pod_finds_no_token() {
    let token = "read /var/run/secrets/kubernetes.io/serviceaccount/token";
    attempt_is_stopped(token, "No such file or directory");
}

#[test]
fn a_hostile_function_in_a_pod_cannot_read_the_environment_of_process_1() {
    attempt_is_stopped("read /proc/1/environ", "Permission denied");
}

#[test]
fn a_hostile_function_in_a_pod_cannot_look_into_its_wrapper() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        for what in ["runner environ", "runner mem"] {
            stage.is_stopped(what, "Permission denied").await?;
        }
        Ok(())
    });
}

#[test]
fn a_hostile_function_in_a_pod_cannot_write_to_its_image() {
    attempt_is_stopped("write /etc/mine", "Read-only file system");
}

#[test]
fn a_hostile_function_in_a_pod_cannot_signal_its_wrapper() {
    attempt_is_stopped("signal", "Operation not permitted");
}

#[test]
fn a_hostile_function_in_a_pod_cannot_trace_its_wrapper() {
    attempt_is_stopped("ptrace", "ptrace: Operation not permitted");
}

#[test]
fn a_hostile_function_in_a_pod_cannot_open_files_without_end() {
    attempt_is_stopped("open 1000000", "Too many open files");
}

#[test]
fn a_hostile_function_in_a_pod_gets_no_processes_without_end() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        let fork = stage.is_stopped("fork 10", "processes, and may have 256");
        ensure!(fork.await?.code() == Code::ResourceExhausted);
        Ok(())
    });
}

#[test]
fn a_hostile_function_in_a_pod_gets_no_memory_without_end_in_one_process() {
    memory_ends("allocate 1000");
}

#[test]
fn a_hostile_function_in_a_pod_gets_no_memory_without_end_in_many_processes() {
    memory_ends("allocate-in-many 10 100");
}

fn memory_ends(what: &str) {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        let status = stage.is_stopped(what, "hostile").await?;
        // The wrapper ends it with the numbers, unless the kernel is quicker.
        let by_wrapper = status.code() == Code::ResourceExhausted
            && status.message().contains("raise the memory limit");
        let by_kernel = status.code() == Code::Internal && status.message().contains("137");
        ensure!(by_wrapper || by_kernel, "{what}: {status}");
        Ok(())
    });
}

#[test]
fn a_daemon_in_a_pod_ends_with_its_call() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        // It was alive when the function answered.
        let list = stage.attempt("daemon").await.context("a daemon")?;
        let (_, daemon) = list
            .trim_end()
            .rsplit_once("a daemon: ")
            .context("no daemon")?;
        let pod = stage.pod().await?;
        let gone = || {
            let left = pod::processes(&pod, "function").ok()?;
            (!left.iter().any(|process| is_daemon(process, daemon))).then_some(())
        };
        becomes("the daemon gone", gone).await?;
        stage.attempt("nothing").await.context("the next call")?;
        Ok(())
    });
}

/// Whether a process has this number in its container, and is the daemon.
fn is_daemon(process: &Process, number: &str) -> bool {
    let read = |file| std::fs::read_to_string(format!("/proc/{}/{file}", process.pid()));
    let (Ok(status), Ok(line)) = (read("status"), read("cmdline")) else {
        // It has ended since.
        return false;
    };
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let own = numbers.and_then(|numbers| numbers.split_whitespace().last());
    own == Some(number) && line.contains("daemon-stays")
}

#[test]
fn temporary_files_in_a_pod_are_out_of_reach_for_other_calls_and_gone_after_their_own() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        stage.attempt("nothing").await.context("a first call")?;
        let pod = stage.pod().await?;
        let wrappers = pod::wrappers(&pod)?;
        let wrapper = wrappers.first().context("a wrapper")?.pid();
        let root = format!("/proc/{wrapper}/root");
        let secrets = || found(&format!("{root}/wrapper-server-temporary"), "secret");
        let reader = async {
            let secret = becomes("the other call's file", || secrets().pop()).await?;
            let secret = format!("/{}", secret.strip_prefix(&root)?.display());
            for what in ["read", "write"] {
                let what = format!("{what} {secret}");
                stage.is_stopped(&what, "Permission denied").await?;
            }
            anyhow::Ok(())
        };
        // Cancel-safe: the writer's caller goes when the reader has tried, and so does the call.
        tokio::select! {
            read = reader => read?,
            answer = stage.attempt("temporary 300") => anyhow::bail!("it has ended: {answer:?}"),
        }
        let none = || secrets().is_empty().then_some(());
        becomes("the other call's file gone", none).await?;
        // The same after a call that ended by itself.
        stage.attempt("temporary 0").await?;
        becomes("its file gone", none).await
    });
}

#[test]
fn a_hostile_function_in_a_pod_gets_no_temporary_files_without_end() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        let fill = stage.is_stopped("fill 2400", "temporary files").await?;
        ensure!(fill.code() == Code::ResourceExhausted, "{fill}");
        Ok(())
    });
}

/// Files of this name, in folders of calls.
fn found(folder: &str, name: &str) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let files = below(folder.into()).into_iter().flat_map(below);
    files.filter(|path| path.ends_with(name)).collect()
}

/// Looks again and again until there is what is looked for.
async fn becomes<T>(what: &str, look: impl Fn() -> Option<T>) -> Result<T> {
    let begin = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        let waited = begin.elapsed();
        ensure!(
            waited < Duration::from_secs(10),
            "{what}: not after {waited:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_hostile_function_in_a_pod_that_fills_its_volume_is_evicted_and_its_caller_told() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        // The template's limit is 1 GiB; the wrapper looks at a call's own temporary files only.
        let status = stage.is_stopped("fill 1200 /tmp", "tmp").await?;
        ensure!(status.message().contains("hostile"), "{status}");
        Ok(())
    });
}
