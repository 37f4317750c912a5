//! What a function that means harm can do in a real pod: nothing to its wrapper, to the runner or to
//! its neighbours. Each attempt fails, its caller hears why, and the function's next call is answered.
//!
//! Network is the cluster's to take away (`components/isolation`): `acceptance: network_policies`.

use std::process::Command;
use std::time::Duration;

use acceptance::LIST;
use anyhow::{Context, Result, ensure};
use cluster::image::{Entry, ImageSpec};
use cluster::process::Process;
use e2e::runner::{Runner, publish, script};
use e2e::{Scope, pod, scenario};
use tonic::{Code, Status};

/// The hostile function of the exec runtime's tests, with the libraries that it is linked with.
fn hostile() -> Result<ImageSpec> {
    let program = env!("CARGO_BIN_EXE_hostile-function");
    let ldd = Command::new("ldd").arg(program).output()?;
    let told = String::from_utf8(ldd.stdout)?;
    let libraries = told
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    let mut entries = vec![Entry::program("hostile", program)];
    entries.extend(libraries.map(|path| Entry::program(path.trim_start_matches('/'), path)));
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

#[test]
fn a_hostile_function_in_a_pod_finds_no_secret() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        let token = "read /var/run/secrets/kubernetes.io/serviceaccount/token";
        stage.is_stopped(token, "No such file or directory").await?;
        for what in ["read /proc/1/environ", "runner environ", "runner mem"] {
            stage.is_stopped(what, "Permission denied").await?;
        }
        let elsewhere = stage.is_stopped("write /etc/mine", "Read-only file system");
        elsewhere.await.map(drop)
    });
}

#[test]
fn a_hostile_function_in_a_pod_can_neither_signal_its_wrapper_nor_open_files_without_end() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        let signal = stage.is_stopped("signal", "Operation not permitted");
        signal.await?;
        let open = stage.is_stopped("open 1000000", "Too many open files");
        open.await.map(drop)
    });
}

#[test]
fn a_hostile_function_in_a_pod_gets_neither_processes_nor_memory_without_end() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        let fork = stage.is_stopped("fork 10", "processes, and may have 256");
        ensure!(fork.await?.code() == Code::ResourceExhausted);
        for what in ["allocate 1000", "allocate-in-many 10 100"] {
            let status = stage.is_stopped(what, "hostile").await?;
            // The wrapper ends it with the numbers, unless the kernel is quicker.
            let by_wrapper = status.code() == Code::ResourceExhausted
                && status.message().contains("raise the memory limit");
            let by_kernel = status.code() == Code::Internal && status.message().contains("137");
            ensure!(by_wrapper || by_kernel, "{what}: {status}");
        }
        Ok(())
    });
}

#[test]
fn a_daemon_in_a_pod_ends_with_its_call() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        stage.attempt("daemon").await.context("a daemon")?;
        let (pods, _) = stage.scope.functions().await?;
        let name = |pod: &&_| kube::ResourceExt::name_any(*pod).starts_with("hostile-");
        let pod = pods.iter().find(name).context("no pod of it")?;
        let begin = std::time::Instant::now();
        loop {
            // The wrapper alone, and what it has started ahead: both do not sleep for a minute.
            let left = pod::processes(pod, "function")?;
            let sleeps = |process: &&Process| {
                let line = std::fs::read_to_string(format!("/proc/{}/cmdline", process.pid()));
                line.is_ok_and(|line| line.contains("sleep"))
            };
            let daemons = left.iter().filter(sleeps).count();
            if daemons == 0 {
                break;
            }
            let waited = begin.elapsed();
            ensure!(
                waited < Duration::from_secs(5),
                "{daemons} after {waited:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stage.attempt("nothing").await.context("the next call")?;
        Ok(())
    });
}

#[test]
fn a_hostile_function_in_a_pod_that_fills_its_volume_is_evicted_and_its_caller_told() {
    scenario(async |scope| {
        let stage = Stage::set(scope).await?;
        // The template's limit is 1 GiB; every other file has no name, and the kubelet does not see it.
        let status = stage.is_stopped("fill 2400", "tmp").await?;
        ensure!(status.message().contains("hostile"), "{status}");
        Ok(())
    });
}
