//! The end of the process leaves nothing running. One test in a binary of its
//! own: afterwards nothing can be started.
#![allow(clippy::unwrap_used)]

use std::{fs, thread, time::Duration};

use bytes::Bytes;
use process::{Command, Environment, Limits, run};

fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: String = lists.collect();
    let state = |pid: &str| fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let live = pids.split_whitespace().filter_map(state);
    live.filter(|stat| !stat.contains(") Z ")).collect()
}

#[test]
fn the_end_catches_what_is_just_being_started() {
    process::adopt_orphans();
    let limits = || Limits {
        output: 1000,
        deadline: tokio::time::Instant::now() + Duration::from_secs(60),
    };
    // Each thread goes on to start programs until it is refused.
    let threads: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(move || {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_all().build().unwrap();
                runtime.block_on(async {
                    let mut calls = tokio::task::JoinSet::new();
                    let command = Command::new("/bin/sleep", Environment::Minimal).args(["60"]);
                    for _ in 0..400 {
                        let command = command.clone();
                        calls.spawn(async move { run(&command, Bytes::new(), limits()).await });
                        tokio::task::yield_now().await;
                    }
                    calls.join_all().await.len()
                })
            })
        })
        .collect();
    while children().len() < 20 {
        thread::yield_now();
    }
    process::end_all(Duration::from_secs(20));
    assert_eq!(children(), Vec::<String>::new());
    let answered: usize = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    assert_eq!(answered, 8 * 400);
    assert_eq!(children(), Vec::<String>::new());
}
