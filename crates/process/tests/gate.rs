//! What the gate promises, shown with programs that take memory: `tail -c` keeps
//! as much of its input as it is asked for.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bytes::Bytes;
use process::{Ahead, Bounds, Command, Completed, Environment, Exit, Gate, Limits, RunError};
use tokio::task::JoinSet;

const MIB: u64 = 1 << 20;

fn shell(script: &str) -> Command {
    Command::new("/bin/sh", Environment::Minimal).args(["-c", script])
}

/// Takes this much memory, in a helper, and has it for a while.
fn hog(mib: u64) -> String {
    let bytes = mib * MIB;
    format!("{{ head -c {bytes} /dev/zero; sleep 1; }} | tail -c {bytes} | tail -c 1 | wc -c")
}

/// Programs behind a gate that is watched.
struct Runner {
    ahead: Ahead,
    _watching: JoinSet<()>,
}

impl Runner {
    fn new(memory: u64) -> Self {
        let bounds = Bounds::new(0, Duration::from_secs(1));
        let ahead = Ahead::new(bounds, Gate::new(memory));
        let mut _watching = JoinSet::new();
        _watching.spawn(ahead.keep());
        Self { ahead, _watching }
    }

    async fn run(&self, script: &str, time: Duration) -> Result<Completed, RunError> {
        let limits = Limits {
            output: 1000,
            deadline: tokio::time::Instant::now() + time,
        };
        self.ahead.run(&shell(script), Bytes::new(), limits).await
    }
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_program_that_needs_more_than_there_is_fails_alone_and_is_then_refused() {
    let runner = Runner::new(200 * MIB);
    let other = async {
        let done = runner.run("sleep 1; echo ok", LONG).await.unwrap();
        assert_eq!((done.exit, &done.stdout[..]), (Exit::Code(0), &b"ok\n"[..]));
    };
    let large = hog(400);
    let ((), answer) = tokio::join!(other, runner.run(&large, LONG));
    let Err(RunError::NotEnoughMemory {
        needed, available, ..
    }) = answer
    else {
        panic!("{answer:?}")
    };
    assert!(
        needed > available && available <= 200 * MIB,
        "{needed} {available}"
    );
    let answer = runner.run(&large, LONG).await;
    let is_refused = matches!(
        answer,
        Err(RunError::NotEnoughMemory { has_run: false, .. })
    );
    assert!(is_refused, "{answer:?}");
    assert!(runner.run("exit 0", LONG).await.is_ok());
}

#[tokio::test]
async fn programs_that_fit_alone_but_not_together_all_succeed() {
    let runner = Runner::new(400 * MIB);
    let script = hog(250);
    let calls = (0..4).map(|_| runner.run(&script, LONG));
    for answer in futures_of(calls).await {
        assert_eq!(answer.unwrap().stdout, "1\n");
    }
}

#[tokio::test]
async fn a_call_that_gets_no_room_in_time_says_what_is_in_its_way() {
    let runner = Runner::new(400 * MIB);
    let script = hog(300);
    runner.run(&script, LONG).await.unwrap();
    // Callers are served in order: the first one is asked first.
    let first = runner.run(&script, LONG);
    let second = runner.run(&script, Duration::from_millis(300));
    let (first, second) = tokio::join!(biased; first, second);
    first.unwrap();
    let is_late = matches!(second, Err(RunError::NotBegunInTime { running: 1, .. }));
    assert!(is_late, "{second:?}");
}

#[tokio::test]
async fn programs_that_sleep_do_not_hold_up_others() {
    let runner = Runner::new(1 << 40);
    let sleepers = (0..40).map(|_| runner.run("exec sleep 6", LONG));
    let other = async {
        let begin = std::time::Instant::now();
        runner.run("exit 0", LONG).await.unwrap();
        begin.elapsed()
    };
    let (_, waited) = tokio::join!(biased; futures_of(sleepers), other);
    assert!(waited < Duration::from_secs(6), "{waited:?}");
}

#[tokio::test]
async fn a_program_is_killed_before_this_process_when_memory_runs_out() {
    let own: i32 = std::fs::read_to_string("/proc/self/oom_score_adj")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let runner = Runner::new(1 << 40);
    // A program that should need little becomes the first to go a moment after its start.
    let script = format!(
        "while [ $(cat /proc/self/oom_score_adj) = {own} ]; do sleep 0.01; done; \
         cat /proc/self/oom_score_adj"
    );
    let done = runner.run(&script, LONG).await.unwrap();
    let raised: i32 = std::str::from_utf8(&done.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(raised, (own + 500).min(1000));
}

/// All answers, of calls that run at the same time.
async fn futures_of<F: Future>(calls: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut answers: Vec<Option<F::Output>> = calls.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (call, answer) in calls.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let std::task::Poll::Ready(ready) = call.as_mut().poll(context)
            {
                *answer = Some(ready);
            }
        }
        if answers.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}
