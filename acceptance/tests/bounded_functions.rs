//! Small inputs that would make a bundled function use all memory, or all time: each
//! ends in a clear error, a runner of 256 MiB lives on, and other calls do not wait.

use std::{
    fs,
    time::{Duration, Instant},
};

use acceptance::{Server, cgroup::Cgroup, evaluate, server::binary};
use proto::EvaluateFunctionRequest;
use tempfile::TempDir;
use tonic::{Code, Request, Status, transport::Channel};

const MEMORY: u64 = 256 << 20;
/// What other calls may wait for a hostile one.
const DELAY: Duration = Duration::from_millis(100);

/// A runner with as much memory as a small container has; `None`, and said, where
/// nobody can limit it. In CI somebody has to.
fn small_runner(cgroup: Option<&Cgroup>) -> Option<Server> {
    let Some(cgroup) = cgroup else {
        let why = "this needs root and a cgroup for memory";
        eprintln!("LEFT OUT: {why}");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
        return None;
    };
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config.yaml");
    fs::write(&config, "functions: []\n").unwrap();
    let mut command = cgroup.command(&binary("function-runner"));
    command
        .args(["--port=0", "--disable-runtimes=pod"])
        .arg(format!("--config={}", config.display()));
    Some(Server::start(command, folder))
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

/// A list that takes longer to be read than its caller waits.
fn a_list_that_is_long() -> EvaluateFunctionRequest {
    let fields = "  - {a: b, c: [d, e, f]}\n".repeat(150_000);
    let items =
        format!("- apiVersion: v1\n  kind: Kptfile\n  metadata: {{name: a}}\n  v:\n{fields}");
    call(
        "set-project-id:v0.2.1",
        &format!("{DATA}    project-id: p\n"),
        &items,
    )
}

/// Small calls until `hostile` has ended: its answer, and the median of their times.
async fn beside(
    channel: Channel,
    hostile: impl Future<Output = Result<(), Status>>,
) -> (Result<(), Status>, Duration) {
    let small = || async {
        let begin = Instant::now();
        let small = call(
            "set-namespace:v0.4.5",
            &format!("{DATA}    namespace: prod\n"),
            OBJECT,
        );
        evaluate(channel.clone(), small).await.unwrap();
        begin.elapsed()
    };
    let mut times = Vec::new();
    let mut hostile = std::pin::pin!(hostile);
    let mut ended = None;
    while ended.is_none() || times.len() < 9 {
        tokio::select! {
            answer = &mut hostile, if ended.is_none() => ended = Some(answer),
            time = small() => times.push(time),
        }
    }
    times.sort();
    (ended.unwrap(), times[times.len() / 2])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_wants_all_memory_or_all_time_fails_alone() {
    let cgroup = Cgroup::new(MEMORY);
    let Some(server) = small_runner(cgroup.as_ref()) else {
        return;
    };
    let channel = server.connect().await;
    let (_, alone) = beside(channel.clone(), async { Ok(()) }).await;
    let spends = "far more of its list";
    for (hostile, timeout, words) in [
        (setters_that_name_setters(), 60, Some(spends)),
        (a_spec_copied_into_itself(), 60, Some(spends)),
        (a_large_label_on_many_objects(), 60, Some(spends)),
        (replacements_without_targets(), 1, None),
        (a_list_that_is_long(), 1, None),
    ] {
        let image = hostile.image.clone();
        let mut request = Request::new(hostile);
        request.set_timeout(Duration::from_secs(timeout));
        let hostile = evaluate(channel.clone(), request);
        let (answer, time) = beside(channel.clone(), async { hostile.await.map(drop) }).await;
        let late = time.saturating_sub(alone);
        assert!(
            late < DELAY,
            "{image}: others took {time:?} instead of {alone:?}"
        );
        match (answer, words) {
            (Err(status), Some(words)) => {
                assert!(status.message().contains(words), "{image}: {status:?}");
            }
            // Whichever a machine meets first: the deadline, or the bound of memory.
            (Err(status), None) => assert!(
                matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled)
                    || status.message().contains(spends)
                    // It was read in time, which showed that it is no Kptfile of kpt's.
                    || status.message().contains("failed to read Kptfile"),
                "{image}: {status:?}"
            ),
            // A machine may be fast enough for a long list.
            (Ok(()), words) => assert_eq!(words, None, "{image} was answered"),
        }
    }
    let (_, after) = beside(channel, async { Ok(()) }).await;
    assert!(after < alone + DELAY, "{after:?} instead of {alone:?}");
}
