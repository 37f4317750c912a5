//! Small inputs that would make a bundled function use all memory, or all time: each
//! ends in a clear error, a runner of 256 MiB lives on, and other calls do not wait.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use acceptance::{Server, cgroup::Cgroup, evaluate, server::binary};
use proto::EvaluateFunctionRequest;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tonic::{Code, Request, Status, transport::Channel};

const MEMORY: u64 = 256 << 20;
/// What other calls may wait for a hostile one.
const DELAY: Duration = Duration::from_millis(100);
/// How many other calls are made beside a hostile one, at least: the worst twentieth of
/// them is 5.
const BESIDE: usize = 100;
/// How many of them are made at a time.
const CALLERS: usize = 4;
/// How often others may have to wait before that is the runner's doing.
const TRIES: usize = 3;

/// A runner with as much memory as a small container has.
fn small_runner(cgroup: &Cgroup) -> Server {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config.yaml");
    fs::write(&config, "functions: []\n").unwrap();
    let mut command = cgroup.command(&binary("function-runner"));
    command
        .args(["--port=0", "--disable-runtimes=pod"])
        .arg(format!("--config={}", config.display()));
    Server::start(command, folder)
}

fn call(image: &str, config: &str, items: &str) -> EvaluateFunctionRequest {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\
         functionConfig:\n{config}"
    );
    EvaluateFunctionRequest {
        resource_list: list.into(),
        image: image.to_owned(),
        tag: String::new(),
    }
}

const DATA: &str = "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data:\n";
const REPLACEMENTS: &str = "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  \
                            metadata: {name: c}\n  replacements:\n";
const OBJECT: &str = "- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n";

fn setters_that_name_setters() -> EvaluateFunctionRequest {
    let setter = |level| {
        format!(
            "    s{level}: \"{}\"\n",
            format!("${{s{}}}", level + 1).repeat(4)
        )
    };
    let data: String = (0..30).map(setter).collect();
    let items = format!("{OBJECT}  v: x # kpt-set: ${{s0}}\n");
    call(
        "apply-setters:v0.2.2",
        &format!("{DATA}{data}    s30: x\n"),
        &items,
    )
}

fn a_spec_copied_into_itself() -> EvaluateFunctionRequest {
    let copy = |at| {
        format!(
            "  - source: {{kind: A, fieldPath: spec}}\n    targets:\n    - select: {{kind: A}}\n      \
             fieldPaths: [spec.a{at}]\n      options: {{create: true}}\n"
        )
    };
    let copies: String = (0..30).map(copy).collect();
    let items = format!("{OBJECT}  spec: {{x: {{y: 1}}}}\n");
    call(
        "apply-replacements:v0.1.5",
        &format!("{REPLACEMENTS}{copies}"),
        &items,
    )
}

fn a_large_label_on_many_objects() -> EvaluateFunctionRequest {
    let object = |at| format!("- {{apiVersion: v1, kind: A, metadata: {{name: a{at}}}}}\n");
    let items: String = (0..20_000).map(object).collect();
    let label = "x".repeat(1 << 20);
    call(
        "set-labels:v0.2.5",
        &format!("{DATA}    l: {label}\n"),
        &items,
    )
}

/// Each of the expressions is as large as one may be, and takes a millisecond.
fn many_expressions(count: usize) -> EvaluateFunctionRequest {
    let reject = |at| format!("      - {{kind: 'a{at}[^a]{{250}}'}}\n");
    let rejects: String = (0..count).map(reject).collect();
    let target = format!(
        "  - source: {{kind: A, fieldPath: metadata.name}}\n    targets:\n    - select: {{kind: A}}\n      \
         fieldPaths: [spec.b]\n      reject:\n{rejects}"
    );
    call(
        "apply-replacements:v0.1.6",
        &format!("{REPLACEMENTS}{target}"),
        OBJECT,
    )
}

/// Replacements that look at every object, and change none.
fn replacements_without_targets() -> EvaluateFunctionRequest {
    let object = |at| format!("- {{apiVersion: v1, kind: A, metadata: {{name: a{at}}}}}\n");
    let items: String = (0..5_000).map(object).collect();
    let none = "  - {source: {kind: A, name: a4999, fieldPath: metadata.name}, targets: []}\n";
    call(
        "apply-replacements:v0.1.5",
        &(REPLACEMENTS.to_owned() + &none.repeat(20_000)),
        &items,
    )
}

/// A list that takes about as long to be read as its caller waits.
fn a_list_that_is_long() -> EvaluateFunctionRequest {
    let fields = "  - {a: b, c: [d, e, f]}\n".repeat(200_000);
    let items =
        format!("- apiVersion: v1\n  kind: Kptfile\n  metadata: {{name: a}}\n  v:\n{fields}");
    call(
        "set-project-id:v0.2.1",
        &format!("{DATA}    project-id: p\n"),
        &items,
    )
}

/// An expression with many states, all of which are looked at for each byte of a text.
fn a_slow_expression() -> EvaluateFunctionRequest {
    let items = format!("{OBJECT}  v: {}\n", "ax".repeat(1 << 20));
    let data = "    by-value-regex: '(.*x){90}y'\n    put-value: z\n";
    call("search-replace:v0.2.4", &format!("{DATA}{data}"), &items)
}

/// A call, and its deadline.
async fn hostile(
    channel: Channel,
    call: EvaluateFunctionRequest,
    deadline: Duration,
) -> Result<(), Status> {
    let mut request = Request::new(call);
    request.set_timeout(deadline);
    evaluate(channel, request).await.map(drop)
}

async fn small(channel: Channel) -> Duration {
    let begin = Instant::now();
    let small = call(
        "set-namespace:v0.4.5",
        &format!("{DATA}    namespace: prod\n"),
        OBJECT,
    );
    evaluate(channel, small).await.unwrap();
    begin.elapsed()
}

/// What nineteen of twenty calls stay below. The worst of all would be a judgement on the
/// machine: on a busy one some call waits for a processor, whatever the runner does. A
/// runner in which hostile calls hold up others holds up nearly all of them.
fn nearly_all(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 19 / 20]
}

/// The least time of some tries, until one is below `enough`: a busy machine holds calls up
/// now and then, a runner that does so does it every time.
async fn least(enough: Duration, mut tried: impl AsyncFnMut() -> Duration) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..TRIES {
        least = least.min(tried().await);
        if least < enough {
            break;
        }
    }
    least
}

/// Small calls, as long as hostile ones run: so many of them at a time, each again when it
/// has ended, until there are times enough. What they end with, and [`nearly_all`].
async fn beside(
    channel: &Channel,
    at_a_time: usize,
    call: &EvaluateFunctionRequest,
    deadline: Duration,
) -> (Vec<Result<(), Status>>, Duration) {
    let is_enough = Arc::new(AtomicBool::new(false));
    let mut hostile_calls = JoinSet::new();
    for _ in 0..at_a_time {
        let (channel, call, is_enough) = (channel.clone(), call.clone(), Arc::clone(&is_enough));
        hostile_calls.spawn(async move {
            let mut answers = Vec::new();
            while answers.is_empty() || !is_enough.load(Ordering::Relaxed) {
                answers.push(hostile(channel.clone(), call.clone(), deadline).await);
            }
            answers
        });
    }
    let times = small_calls(channel, BESIDE).await;
    is_enough.store(true, Ordering::Relaxed);
    let answers = hostile_calls.join_all().await.concat();
    (answers, nearly_all(times))
}

/// The times of so many small calls, [`CALLERS`] at a time.
async fn small_calls(channel: &Channel, count: usize) -> Vec<Duration> {
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let channel = channel.clone();
        callers.spawn(async move {
            let mut times = Vec::new();
            while times.len() < count / CALLERS {
                times.push(small(channel.clone()).await);
                // Hostile calls last for some tenths of a second: small ones are spread over that.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            times
        });
    }
    callers.join_all().await.concat()
}

/// A list that a fast machine has read in time: then its Kptfile is not one.
fn is_late_or_refused(status: &Status) -> bool {
    is_late(status) || status.message().contains("failed to find Kptfile")
}

fn is_late(status: &Status) -> bool {
    matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and a cgroup for memory"]
async fn what_wants_all_memory_or_all_time_fails_alone() {
    let cgroup = Cgroup::new(MEMORY).expect("root, and a cgroup for memory");
    let server = small_runner(&cgroup);
    let channel = server.connect().await;
    let alone = nearly_all(small_calls(&channel, BESIDE).await);
    let enough = alone + DELAY;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let long = Duration::from_secs(60);
    let soon = Duration::from_millis(300);
    let spends = |status: &Status| status.message().contains("far more of its list");
    type Ends = dyn Fn(&Status) -> bool;
    for (call, deadline, at_a_time, ends) in [
        (setters_that_name_setters(), long, 1, &spends as &Ends),
        (a_spec_copied_into_itself(), long, 1, &spends),
        (a_large_label_on_many_objects(), long, 1, &spends),
        (many_expressions(1000), long, 1, &spends),
        (replacements_without_targets(), soon, 1, &is_late),
        (a_list_that_is_long(), soon / 5, 1, &is_late_or_refused),
        (a_slow_expression(), soon, 1, &is_late),
        // As many as there are threads for functions.
        (replacements_without_targets(), soon, processors, &is_late),
        (a_slow_expression(), soon, processors, &is_late),
        // So small that it is tried where calls are served.
        (many_expressions(300), soon / 5, processors, &is_late),
    ] {
        let image = call.image.clone();
        let tried = async || {
            let (answers, time) = beside(&channel, at_a_time, &call, deadline).await;
            for answer in answers {
                let status = answer.expect_err(&image);
                assert!(ends(&status), "{image}: {status:?}");
            }
            time
        };
        let time = least(enough, tried).await;
        assert!(
            time < enough,
            "{image}, {at_a_time} at a time: others took {time:?} instead of {alone:?}"
        );
    }
    let tried = async || nearly_all(small_calls(&channel, BESIDE).await);
    let after = least(enough, tried).await;
    assert!(after < enough, "{after:?} instead of {alone:?}");
}
