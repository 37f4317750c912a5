//! A real Go function on large lists, in the exec runtime of a runner that has 1 GiB, as a
//! container would have it: calls wait for each other's memory instead of ending the runner.

use std::time::{Duration, Instant};

use acceptance::{Server, cgroup::Cgroup, evaluate, server::binary};
use anyhow::{Context, Result, ensure};
use cluster::seed::function_program;
use proto::EvaluateFunctionRequest;
use tempfile::TempDir;
use tonic::{Code, transport::Channel};

const IMAGE: &str = "test/set-namespace:v1";
const GIB: u64 = 1 << 30;

/// set-namespace takes more than 1 GiB for a list of so many bytes.
const TOO_LARGE: usize = 24_000_000;

/// A list of about this many bytes, for set-namespace.
fn list(bytes: usize) -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  \
                    apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: config}\n  data: \
                    {namespace: new}\nitems:\n"
        .to_owned();
    for n in 0.. {
        if list.len() >= bytes {
            break;
        }
        list += &format!(
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c{n}\n    namespace: \
             old\n    labels:\n      app: a{n}\n  data:\n    one: first value of {n}\n    two: \
             second value of {n}\n"
        );
    }
    list
}

/// A runner in a cgroup, whose only function is the real set-namespace.
fn runner(cgroup: &Cgroup, flags: &[&str]) -> Result<Server> {
    let folder = TempDir::new()?;
    let config = folder.path().join("config.yaml");
    let text = format!("functions:\n- function: set-namespace\n  images: ['{IMAGE}']\n");
    std::fs::write(&config, text)?;
    let program = function_program("set-namespace")?;
    let functions = program.parent().context("a folder")?;
    let mut command = cgroup.command(&binary("function-runner"));
    command
        .args(["--port=0", "--disable-runtimes=pod"])
        .args(flags)
        .arg(format!("--functions={}", functions.display()))
        .arg(format!("--config={}", config.display()));
    Ok(Server::start(command, folder))
}

async fn set_namespace(channel: Channel, list: String) -> Result<String, tonic::Status> {
    let request = EvaluateFunctionRequest {
        resource_list: list.into_bytes().into(),
        image: IMAGE.to_owned(),
        tag: String::new(),
    };
    let mut request = tonic::Request::new(request);
    request.set_timeout(Duration::from_secs(240));
    let answer = evaluate(channel, request).await?;
    Ok(String::from_utf8_lossy(&answer.resource_list).into_owned())
}

async fn all_succeed(count: usize) -> Result<()> {
    let cgroup = Cgroup::new(GIB).context("a cgroup for memory, as root")?;
    let server = runner(&cgroup, &[])?;
    let channel = server.connect().await;
    let list = list(4_500_000);
    let begin = Instant::now();
    let calls = (0..count).map(|_| set_namespace(channel.clone(), list.clone()));
    for answer in futures::future::join_all(calls).await {
        let answer = answer?;
        ensure!(answer.contains("namespace: new") && !answer.contains("namespace: old"));
        ensure!(answer.len() > 4_000_000, "{} bytes", answer.len());
    }
    println!("{count} calls in {:?}", begin.elapsed());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_large_calls_of_a_go_function_both_succeed_in_one_gibibyte() -> Result<()> {
    all_succeed(2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_large_calls_at_once_succeed_one_after_the_other() -> Result<()> {
    all_succeed(10).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_needs_more_than_there_is_fails_alone() -> Result<()> {
    let cgroup = Cgroup::new(GIB).context("a cgroup for memory, as root")?;
    let larger = format!("--max-request-body-size={}", 2 * TOO_LARGE);
    let server = runner(&cgroup, &[&larger])?;
    let channel = server.connect().await;
    let small = set_namespace(channel.clone(), list(100_000));
    let large = set_namespace(channel.clone(), list(TOO_LARGE));
    let (small, large) = futures::join!(small, large);
    small?;
    let status = large.err().context("it cannot fit")?;
    ensure!(status.code() == Code::ResourceExhausted, "{status:?}");
    ensure!(status.message().contains("MiB"), "{status:?}");
    set_namespace(channel, list(100_000)).await?;
    Ok(())
}
