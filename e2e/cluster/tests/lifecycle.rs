//! The node comes up and goes away as promised. These tests run on the host, one at a time, and
//! replace whatever node is up; programs and packages must be there already (`make e2e`).

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use cluster::cgroup;
use cluster::component::Component;
use cluster::layout::root;
use cluster::process::{Process, wait_until};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use traces::Traces;

mod traces;

/// The machine, without a node, for one test.
fn machine() -> Result<MutexGuard<'static, ()>> {
    static MACHINE: Mutex<()> = Mutex::new(());
    let guard = MACHINE.lock();
    run("down")?;
    Ok(guard)
}

fn command(verb: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cluster"));
    command.args(verb.split(' '));
    command
}

/// What the command prints; it must succeed.
fn run(verb: &str) -> Result<String> {
    let output = command(verb).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cluster {verb}: {complaint}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Refuses to build or install, so success shows that everything was there.
const UP: &str = "up --cached";

fn processes() -> Result<Vec<Process>> {
    Component::ALL.into_iter().map(Component::running).collect()
}

#[test]
fn nothing_is_left_after_down() -> Result<()> {
    let _machine = machine()?;
    let before = Traces::take()?;
    run(UP)?;
    use_it_carelessly()?;
    let during = Traces::take()?;
    run("down")?;
    // An empty difference proves something only if the node itself makes one.
    let seen = before.difference(&during).join("\n");
    for kind in ["process", "control group", "file"] {
        ensure!(
            seen.contains(&format!("new {kind}")),
            "a running node shows no new {kind}"
        );
    }
    assert_eq!(before.difference(&Traces::take()?), Vec::<String>::new());
    Ok(())
}

/// A pod with volumes runs, a service has rules, somebody is inside, a component hangs, another
/// has crashed.
fn use_it_carelessly() -> Result<()> {
    let image = cluster::seed::busybox_reference();
    let pod = json!({ "spec": {
        "volumes": [
            { "name": "settings", "configMap": { "name": "settings" } },
            { "name": "memory", "emptyDir": { "medium": "Memory" } },
        ],
        "containers": [{
            "name": "web",
            "image": image,
            "command": ["sleep", "600"],
            "volumeMounts": [
                { "name": "settings", "mountPath": "/settings" },
                { "name": "memory", "mountPath": "/memory" },
            ],
        }],
    }});
    let kubectl = |arguments: &str| run(&format!("exec -- kubectl {arguments}"));
    kubectl("create configmap settings --from-literal=colour=blue")?;
    kubectl(&format!(
        "run web --image={image} --port=80 --expose --overrides={pod}"
    ))?;
    kubectl("wait --for=condition=Ready pod/web --timeout=60s")?;
    command("exec -- sleep 600").spawn()?;
    Component::Containerd.running()?.pause()?;
    Component::Kubelet.running()?.kill()
}

#[test]
fn a_built_node_is_ready_within_thirty_seconds_and_a_second_up_keeps_it() -> Result<()> {
    let _machine = machine()?;
    let began = Instant::now();
    // Two at once: one makes the node, the other finds it.
    let other = thread::spawn(|| run(UP));
    let first = run(UP)?;
    let second = other
        .join()
        .map_err(|_| anyhow!("the second up panicked"))??;
    ensure!(
        began.elapsed() < Duration::from_secs(30),
        "it took {:?}",
        began.elapsed()
    );
    let made = |text: &&String| text.contains("the node is Ready after");
    assert_eq!(
        [&first, &second].into_iter().filter(made).count(),
        1,
        "{first}{second}"
    );
    let before = processes()?;
    run(UP)?;
    assert_eq!(before, processes()?);
    run("down")?;
    run("down")?;
    ensure!(!root().exists());
    Ok(())
}

#[test]
fn a_crash_half_way_or_a_power_cut_does_not_break_the_next_start() -> Result<()> {
    let _machine = machine()?;
    let mut crashing = command(UP).spawn()?;
    wait_until(
        Duration::from_secs(30),
        "the API server to be started",
        || Ok(Component::ApiServer.process().is_some()),
    )?;
    crashing.kill()?;
    crashing.wait()?;
    run(UP)?;
    let crashed = processes()?;
    cgroup::kill_all()?;
    ensure!(run("status").is_err(), "a node without processes is not up");
    run(UP)?;
    ensure!(
        processes()?
            .iter()
            .all(|process| !crashed.contains(process))
    );
    run("down")?;
    Ok(())
}

#[test]
fn everything_that_is_missing_is_said_at_once() -> Result<()> {
    let output = command("up").env("PATH", "/nowhere").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    for missing in ["no Go in PATH", "no `ip`", "Debian packages are missing"] {
        ensure!(said.contains(missing), "{said}");
    }
    ensure!(!output.status.success());
    Ok(())
}

#[test]
fn a_cache_that_the_node_could_not_see_is_refused() -> Result<()> {
    let cache = "/var/lib/somewhere";
    let output = command(UP).env("FUNCTION_RUNNER_CACHE", cache).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains(cache), "{said}");
    Ok(())
}

#[test]
fn without_root_nothing_is_tried() -> Result<()> {
    // A copy, where nobody may read it.
    let directory = std::env::temp_dir().join(format!("without-root-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let program = directory.join("cluster");
    // By another process: a start in another thread could inherit the file, and keep it busy.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_cluster"))
        .arg(&program)
        .status()?;
    ensure!(copied.success(), "no copy");
    for verb in ["up", "down"] {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        let output = nobody.arg(&program).arg(verb).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && said.contains("not root"),
            "{said}"
        );
    }
    fs::remove_dir_all(directory)?;
    Ok(())
}
