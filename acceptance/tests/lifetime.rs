//! The server over time: many calls, callers that give up, the way down.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use acceptance::{LIST, Server, call, evaluate, image, server::binary, system};
use proto::EvaluateFunctionResponse;
use tempfile::TempDir;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::timeout,
};
use tokio_stream::StreamExt as _;
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile");

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_leave_descriptors_and_memory_flat() {
    let server = Server::runner(&[]);
    let channel = server.connect().await;
    let calls = async |count: usize| {
        let mut calls = JoinSet::new();
        for worker in 0..16 {
            let channel = channel.clone();
            calls.spawn(async move {
                for n in 0..count / 16 {
                    // Good and bad calls in turn: both must give back what they took.
                    let name = if (worker + n) % 4 == 0 {
                        "fails-with-results"
                    } else {
                        "echo"
                    };
                    let answer = evaluate(channel.clone(), call(name, LIST)).await;
                    assert_eq!(answer.is_ok(), name == "echo", "{answer:?}");
                }
            });
        }
        calls.join_all().await;
    };
    // What is allocated once is allocated now.
    calls(1000).await;
    server.assert_nothing_left_running();
    let descriptors = system::open_descriptors(server.pid());
    let memory = system::resident_kib(server.pid());
    calls(10_000).await;
    server.assert_nothing_left_running();
    descriptors_return_to(&server, descriptors);
    system::wait_until("memory kept", || match system::resident_kib(server.pid()) {
        after if after < memory + 4 * 1024 => Ok(()),
        after => Err(format!("{memory} KiB before, {after} KiB after")),
    });
}

/// What was open for calls is closed a moment after them.
fn descriptors_return_to(server: &Server, before: usize) {
    system::wait_until("descriptors left", || {
        match system::open_descriptors(server.pid()) {
            now if now <= before => Ok(()),
            now => Err(format!("{before} before, {now} now")),
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_of_calls_is_given_back_when_they_are_over() {
    let patience = Duration::from_secs(20);
    for (server, name, calls, size, patience) in [
        (Server::runner(&[]), "echo", 16, 4_500_000, patience),
        (Server::wrapper("echo"), "echo", 16, 4_500_000, patience),
        // None of them is large, but together they are.
        (Server::runner(&[]), "echo", 200, 200_000, patience),
        // Their callers give up.
        (
            Server::runner(&[]),
            "hangs",
            16,
            4_500_000,
            Duration::from_secs(1),
        ),
    ] {
        let list = format!("{LIST}#{}", "x".repeat(size));
        let channel = server.connect().await;
        let before = system::resident_kib(server.pid());
        let mut answers = JoinSet::new();
        for _ in 0..calls {
            let answer = evaluate(channel.clone(), call(name, list.clone()));
            answers.spawn(timeout(patience, answer));
        }
        for answer in answers.join_all().await {
            assert_eq!(answer.is_ok_and(|answer| answer.is_ok()), name == "echo");
        }
        system::wait_until("memory kept", || match system::resident_kib(server.pid()) {
            now if now < before + 16 * 1024 => Ok(()),
            now => Err(format!(
                "{before} KiB before, {now} KiB now, {calls} × {size}"
            )),
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_callers_that_give_up_leave_nothing_running() {
    for server in [Server::runner(&[]), Server::wrapper("leaves-grandchildren")] {
        let channel = server.connect().await;
        let name = "leaves-grandchildren";
        // After one call everything is open that stays open.
        assert!(evaluate(channel.clone(), call(name, LIST)).await.is_ok());
        let descriptors = system::open_descriptors(server.pid());
        for _ in 0..10 {
            let mut calls = JoinSet::new();
            for n in 0..100 {
                let channel = channel.clone();
                let name = ["hangs", "leaves-grandchildren", "takes-a-second"][n % 3];
                calls.spawn(async move {
                    let call = evaluate(channel, call(name, LIST));
                    let patience = Duration::from_millis(n as u64 * 3);
                    let _ = timeout(patience, call).await;
                });
            }
            calls.join_all().await;
        }
        server.assert_nothing_left_running();
        descriptors_return_to(&server, descriptors);
        // Nobody's place is taken, and the connection still works.
        assert!(evaluate(channel.clone(), call(name, LIST)).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_under_load_loses_no_call_in_flight() {
    for mut server in [runner_of_hostile(&[]), wrapper_of_hostile()] {
        let mut health = HealthClient::new(server.connect().await);
        let mut watch = health
            .watch(HealthCheckRequest::default())
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            watch.next().await.unwrap().unwrap().status(),
            ServingStatus::Serving
        );

        let channel = server.connect().await;
        let calls = Held::on(&server, std::iter::repeat_n(channel, 50));
        server.terminate();
        assert_eq!(
            watch.next().await.unwrap().unwrap().status(),
            ServingStatus::NotServing
        );
        calls.assert_answered().await;
        assert_eq!(server.wait().code(), Some(0));
    }
}

/// A runner with a function that ends when it is told to, and with one that echoes.
fn runner_of_hostile(args: &[&str]) -> Server {
    let folder = TempDir::new().expect("a folder");
    let functions = folder.path().join("functions");
    fs::create_dir(&functions).expect("a folder");
    fs::copy(HOSTILE, functions.join("hostile")).expect("a copy");
    let echo = acceptance::server::functions().join("echo");
    fs::copy(echo, functions.join("echo")).expect("a copy");
    let entry = |name| format!("- function: {name}\n  images: ['{}']\n", image(name));
    let config = folder.path().join("config.yaml");
    let entries = entry("hostile") + &entry("echo");
    fs::write(&config, format!("functions:\n{entries}")).expect("a file");
    let mut command = Command::new(binary("function-runner"));
    command
        .args(["--port=0", "--disable-runtimes=pod", "--started-ahead=0"])
        .arg(format!("--functions={}", functions.display()))
        .arg(format!("--config={}", config.display()))
        .args(args);
    Server::start(command, folder)
}

fn wrapper_of_hostile() -> Server {
    let mut command = Command::new(binary("wrapper-server"));
    command.args(["--port=0", "--started-ahead=0", "--", HOSTILE]);
    Server::start(command, TempDir::new().expect("a folder"))
}

/// Calls in flight that end when they are let go, however long a busy machine takes to
/// start them.
struct Held {
    calls: JoinSet<Result<EvaluateFunctionResponse, Status>>,
    /// They end when this file has gone.
    file: PathBuf,
}

impl Held {
    /// One call for each channel. Returns when all of them run.
    fn on(server: &Server, channels: impl IntoIterator<Item = Channel>) -> Self {
        let file = server.folder.path().join("held");
        fs::write(&file, "").expect("a file");
        let list = format!("{LIST}# try: until-gone {}\n", file.display());
        let calls: JoinSet<_> = channels
            .into_iter()
            .map(|channel| evaluate(channel, call("hostile", list.clone())))
            .collect();
        system::wait_until("calls in flight", || {
            match system::descendants(server.pid()).len() {
                running if running >= calls.len() => Ok(()),
                few => Err(format!("{few} processes")),
            }
        });
        Self { calls, file }
    }

    /// Lets them go: each has its answer.
    async fn assert_answered(self) {
        fs::remove_file(&self.file).expect("the file");
        for answer in self.calls.join_all().await {
            assert!(answer.unwrap().resource_list.starts_with(LIST.as_bytes()));
        }
    }
}

/// A call that hangs, and the processes that it consists of.
struct Hanging {
    call: JoinHandle<Result<EvaluateFunctionResponse, Status>>,
    processes: Vec<(u32, String)>,
}

impl Hanging {
    async fn on(server: &Server) -> Self {
        let call = tokio::spawn(evaluate(server.connect().await, call("hangs", LIST)));
        // The script and what it waits for.
        system::wait_until("the call in flight", || {
            match system::descendants(server.pid()).len() {
                2.. => Ok(()),
                few => Err(format!("{few} processes")),
            }
        });
        Self {
            call,
            processes: system::descendants(server.pid()),
        }
    }

    /// The caller has heard that it was cut off, and none of the processes is left.
    async fn assert_cut_off(self) {
        let status = self.call.await.unwrap().unwrap_err();
        let lost = [
            Code::Unavailable,
            Code::Unknown,
            Code::Internal,
            Code::Cancelled,
        ];
        assert!(lost.contains(&status.code()), "{status:?}");
        for (pid, name) in &self.processes {
            system::wait_until(name, || {
                // A number may have been taken over by somebody else meanwhile.
                match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                    Ok(stat) if stat.starts_with(name.as_str()) => Err("it still runs".into()),
                    _ => Ok(()),
                }
            });
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_drain_is_bounded_and_ends_what_still_runs() {
    let mut server = Server::runner(&["--drain-timeout=1s"]);
    let hanging = Hanging::on(&server).await;
    server.terminate();
    let begin = Instant::now();
    assert_eq!(server.wait().code(), Some(0));
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    hanging.assert_cut_off().await;
}

/// Far less than a server takes that waits for its calls or its callers, which is 25 s or more;
/// far more than it takes to end, also on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let runner = Server::runner(&["--drain-timeout=60s"]);
    for mut server in [runner, Server::wrapper("hangs")] {
        let hanging = Hanging::on(&server).await;
        server.terminate();
        server.wait_for_log("stopping");
        let begin = Instant::now();
        server.terminate();
        assert_eq!(server.wait().code(), Some(1));
        assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
        hanging.assert_cut_off().await;
    }
}

/// One call over a connection of its own.
async fn call_anew(server: &Server) -> anyhow::Result<()> {
    let address = format!("http://{}", server.address());
    let channel = Endpoint::from_shared(address)?.connect().await?;
    evaluate(channel, call("echo", LIST)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_sigterm_callers_that_have_not_heard_of_it_are_still_served() {
    // Long enough for what is done in it, also on a busy machine.
    let mut server = runner_of_hostile(&["--lame-duck=10s"]);
    let mut health = HealthClient::new(server.connect().await);
    let old_connection = server.connect().await;
    let begin = Instant::now();
    server.terminate();
    server.wait_for_log("new calls are still answered");
    let status = health.check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(status.into_inner().status(), ServingStatus::NotServing);
    for _ in 0..5 {
        call_anew(&server)
            .await
            .expect("a new connection is served");
    }
    // Their answers come after the listener is closed, also on an old connection.
    let in_flight = Held::on(&server, [old_connection, server.connect().await]);
    server.wait_for_log("no new connections");
    assert!(begin.elapsed() >= Duration::from_secs(10));
    assert!(call_anew(&server).await.is_err());
    in_flight.assert_answered().await;
    assert_eq!(server.wait().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn sigint_and_a_second_signal_do_not_wait_for_anybody() {
    // The lame duck is a part of the drain.
    let patient = ["--lame-duck=60s", "--drain-timeout=60s"];
    let mut server = Server::runner(&patient);
    server.interrupt();
    let begin = Instant::now();
    assert_eq!(server.wait().code(), Some(0));
    assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());

    let mut server = Server::runner(&patient);
    server.terminate();
    server.wait_for_log("new calls are still answered");
    let begin = Instant::now();
    server.terminate();
    assert_eq!(server.wait().code(), Some(1));
    assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
}

/// Whoever ends a container kills the function first, and the wrapper a moment later.
#[tokio::test]
async fn a_wrapper_that_may_be_killed_next_does_not_say_yet_that_its_function_was() {
    let server = Server::wrapper("kills-itself");
    let begin = Instant::now();
    let answer = evaluate(server.connect().await, call("kills-itself", LIST)).await;
    assert_eq!(answer.unwrap_err().code(), Code::Internal);
    let took = begin.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
}
