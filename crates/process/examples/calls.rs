//! Runs a program in a closed loop, started ahead or not, and prints how long a call took:
//! `calls COUNT_AHEAD CALLERS SECONDS FILE PROGRAM [ARG…]`. Without a server around it, this shows
//! what the starts themselves cost; with `CONFINE=1` in its environment, of confined programs, with
//! `CONTAINER=FOLDER` as in a container with this folder for temporary files, or none if it is empty.
#![allow(clippy::unwrap_used)]

use std::{
    env, fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use process::{Ahead, Bounds, Command, Environment, Exit, Gate, Limits, Profile, memory};
use tokio::task::JoinSet;

fn main() {
    process::adopt_orphans();
    if env::var_os("CONFINE").is_some() {
        let offered = process::confine_beside(&env::temp_dir(), memory::budget(None));
        println!("{}", offered.unwrap());
    }
    if let Some(folder) = env::var_os("CONTAINER") {
        let folder = Some(Path::new(&folder)).filter(|it| !it.as_os_str().is_empty());
        println!("{:?}", process::confine_in_container(folder).unwrap());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(measure());
}

async fn measure() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [ahead, callers, seconds, file, program, args @ ..] = &words[..] else {
        panic!("usage: calls COUNT_AHEAD CALLERS SECONDS FILE PROGRAM [ARG…]");
    };
    let bounds = Bounds::new(ahead.parse().unwrap(), Duration::from_secs(60));
    let ahead = Arc::new(Ahead::new(bounds, Gate::new(memory::budget(None))));
    tokio::spawn(ahead.keep());
    let command = Command::new(program, Environment::Minimal)
        .confined(Profile::default())
        .args(args);
    let input = Bytes::from(fs::read(file).unwrap());
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds.parse().unwrap());
    let mut running = JoinSet::new();
    for _ in 0..callers.parse().unwrap() {
        let (ahead, command, input) = (Arc::clone(&ahead), command.clone(), input.clone());
        running.spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < end {
                let begin = Instant::now();
                let limits = Limits {
                    output: 8 << 20,
                    deadline: tokio::time::Instant::now() + Duration::from_secs(60),
                };
                let done = ahead.run(&command, input.clone(), limits).await.unwrap();
                assert_eq!(done.exit, Exit::Code(0));
                times.push(begin.elapsed());
            }
            times
        });
    }
    let mut times: Vec<Duration> = running.join_all().await.into_iter().flatten().collect();
    let took = begin.elapsed();
    times.sort();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!(
        "{callers} callers: {} calls, {:.0}/s, p10 {:.2} p50 {:.2} p90 {:.2} p99 {:.2} ms",
        times.len(),
        times.len() as f64 / took.as_secs_f64(),
        percentile(10),
        percentile(50),
        percentile(90),
        percentile(99),
    );
}
