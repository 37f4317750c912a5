//! Compares a bundled function with its Go program: `speed FUNCTION PROGRAM INPUT [CALLS]`
//! prints the time of a call and the most memory, of both, and the ratios.

use std::{
    env, fs,
    io::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use functions::{Clock, catalog};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [function, program, input, rest @ ..] = &words[..] else {
        eprintln!("usage: speed FUNCTION PROGRAM INPUT [CALLS]");
        std::process::exit(2);
    };
    let calls: u32 = rest
        .first()
        .map_or(20, |calls| calls.parse().expect("a number of calls"));
    let function = catalog::find(function).expect("a bundled function");
    let input = fs::read(input).expect("an input file");
    let ours = time(calls, || {
        function
            .run(&input, &Clock::default())
            .expect("no deadline");
    });
    let own_memory = peak_memory();
    let theirs = time(calls.min(20), || run(program, &input));
    println!("in process  {ours:>12.1?} per call, {own_memory} KiB at most");
    println!("{program}  {theirs:>12.1?} per call");
    println!(
        "{:.1} times faster",
        theirs.as_secs_f64() / ours.as_secs_f64()
    );
}

fn time(calls: u32, mut call: impl FnMut()) -> Duration {
    call();
    let started = Instant::now();
    for _ in 0..calls {
        call();
    }
    started.elapsed() / calls
}

fn run(program: &str, input: &[u8]) {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("the program ends");
    });
}

/// The most memory that this process ever had, in KiB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
