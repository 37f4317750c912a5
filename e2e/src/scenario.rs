//! The frame around a test: everything it made goes away, and a failure brings its evidence.

use std::fs::File;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::layout::state;
use cluster::namespaces;
use futures::FutureExt;

use crate::outage::Breakable;
use crate::report::report;
use crate::scope::Scope;

/// No test hangs the suite; the slowest takes a fraction of this on two busy cores.
const LIMIT: Duration = Duration::from_secs(600);

/// For what happens before and after a test; a cluster that needs longer does not work.
const FRAME: Duration = Duration::from_secs(120);

/// Runs a test in a namespace of its own, beside others.
///
/// # Panics
/// If the test fails, after printing what the cluster has to say about it.
pub fn scenario(test: impl AsyncFnOnce(&Scope) -> Result<()>) {
    beside_others(LIMIT, test);
}

/// The same for what takes longer than a test.
pub(crate) fn beside_others(limit: Duration, test: impl AsyncFnOnce(&Scope) -> Result<()>) {
    let _others = lock_cluster(File::lock_shared);
    run(limit, async |scope| test(scope).await);
}

/// Runs a test that may break the cluster, with no other test beside it.
///
/// # Panics
/// As [`scenario`].
pub fn outage_scenario(test: impl AsyncFnOnce(&Scope, &Breakable) -> Result<()>) {
    alone(LIMIT, async |scope, node| test(scope, &node).await);
}

/// The same for what takes longer than a test.
pub(crate) fn alone(limit: Duration, test: impl AsyncFnOnce(&Scope, Breakable) -> Result<()>) {
    let _alone = lock_cluster(File::lock);
    run(limit, async |scope| test(scope, Breakable::attach()?).await);
}

/// Locked shared by tests that use the cluster and alone by tests that break it, across processes.
/// A test that waits keeps its turn, so that a stream of users does not hold up a test that wants
/// to be alone.
fn lock_cluster(lock: impl FnOnce(&File) -> io::Result<()>) -> File {
    assert!(
        namespaces::inside(),
        "this test belongs inside the node: run `make e2e`, or `cluster exec -- cargo test -p e2e`"
    );
    let open = |name| File::create(state(name)).expect("the scenarios' lock can be opened");
    let turn = open("scenario.turn");
    turn.lock().expect("the scenarios' turn can be taken");
    let file = open("scenario.lock");
    lock(&file).expect("the scenarios' lock can be taken");
    file
}

fn run(limit: Duration, test: impl AsyncFnOnce(&Scope) -> Result<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let scope = limited(FRAME, Scope::create())
            .await
            .expect("a namespace for the test");
        let outcome = AssertUnwindSafe(limited(limit, test(&scope)))
            .catch_unwind()
            .await;
        if !matches!(outcome, Ok(Ok(()))) {
            eprintln!("{}", report(&scope).await);
        }
        let removed = limited(FRAME, scope.remove()).await;
        match outcome {
            Err(panic) => resume_unwind(panic),
            // With its causes, without a trace of where it was made.
            Ok(Err(error)) => panic!("{error:#}"),
            Ok(Ok(())) => removed.expect("the test's namespace can be removed"),
        }
    });
}

async fn limited<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = tokio::time::timeout(limit, work).await;
    outcome.with_context(|| format!("no end within {} s", limit.as_secs()))?
}
