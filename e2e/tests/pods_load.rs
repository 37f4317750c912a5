//! The pod runtime under load: restarts that no retrying client notices, and churn that leaves
//! nothing behind.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use acceptance::system::open_descriptors;
use anyhow::{Context, Result, ensure};
use e2e::runner::{Runner, call, publish, script};
use e2e::{audited_requests, scenario};
use futures::future::join_all;
use tonic::Code;
use tonic::transport::Endpoint;

const LONG: Duration = Duration::from_secs(60);

/// Calls until one is answered, as a client does that retries what is unavailable.
async fn call_until_answered(endpoint: &Endpoint, image: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let trouble = match endpoint.connect().await {
            Ok(channel) => match call(channel, image, LONG).await {
                Ok(_) => return Ok(()),
                Err(status) if status.code() == Code::Unavailable => status.to_string(),
                // The connection was cut before the answer came.
                Err(status) if status.code() == Code::Unknown => status.to_string(),
                Err(status) => return Err(status).context("not to be retried"),
            },
            Err(error) => error.to_string(),
        };
        ensure!(begin.elapsed() < Duration::from_secs(30), "{trouble}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_restart_under_load_is_not_noticed_by_clients_that_retry() {
    scenario(async |scope| {
        let image = publish(scope, "echo", &script("exec cat"))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let flag = format!("--port={port}");
        let mut runner = Runner::start(scope, &[&flag])?;
        runner.call(&image).await?;
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"))?;
        let end = Instant::now() + Duration::from_secs(15);
        let load = (0..4).map(|_| {
            let (endpoint, image) = (endpoint.clone(), image.clone());
            tokio::spawn(async move {
                let mut calls = 0;
                while Instant::now() < end {
                    call_until_answered(&endpoint, &image).await?;
                    calls += 1;
                }
                anyhow::Ok(calls)
            })
        });
        let load: Vec<_> = load.collect();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let scope_again = scope.clone();
        // Ends and starts while calls come in, which needs this thread.
        let restarted = tokio::task::spawn_blocking(move || {
            runner.server.terminate();
            ensure!(runner.server.wait().success(), "it did not end well");
            Runner::start(&scope_again, &[&flag])
        });
        let _runner = restarted.await??;
        for calls in join_all(load).await {
            let calls = calls??;
            ensure!(calls > 10, "only {calls} calls");
        }
        let requests = audited_requests(scope.namespace())?;
        let created = requests
            .iter()
            .filter(|event| event["verb"] == "create" && event["objectRef"]["resource"] == "pods")
            .count();
        ensure!(created == 1, "{created} pods were created");
        Ok(())
    });
}

#[test]
fn churn_leaves_no_descriptors_and_no_objects() {
    scenario(async |scope| {
        let mut images = Vec::new();
        for number in 0..5 {
            let function = script(&format!("exec cat # {number}"));
            images.push(publish(scope, &format!("echo-{number}"), &function)?);
        }
        let runner = Runner::start(scope, &["--pod-ttl=1s", "--scan-interval=1s"])?;
        let channel = runner.server.connect().await;
        let mut descriptors = Vec::new();
        for _ in 0..4 {
            let calls = images
                .iter()
                .map(|image| call(channel.clone(), image, LONG));
            for answer in join_all(calls).await {
                answer?;
            }
            scope.functions_become(0, 0).await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            descriptors.push(open_descriptors(runner.server.pid()));
        }
        println!("descriptors after each round of 5 pods: {descriptors:?}");
        ensure!(descriptors[3] <= descriptors[0] + 2, "{descriptors:?}");
        Ok(())
    });
}
