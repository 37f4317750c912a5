//! Compares a bundled function with its Go program: `speed FUNCTION PROGRAM INPUT [CALLS]`.
//! Both run in turn, so that whatever else the machine does falls on both, and
//! the ratios of time, of processor time and of memory are printed. FUNCTION may name its
//! release (`apply-setters@v0.2.2`); PROGRAM is `-` where there is none to compare with.
//! INPUT is a file, or `canonical=BYTES`, `mixed=BYTES` or `odd=BYTES` for a list of
//! Deployments as kyaml writes them, with one in ten as people write them, or with all of
//! them so.

use std::{
    env, fs,
    io::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use functions::{Clock, catalog};
use lists::{Objects, config, list};

#[path = "../../../bench/src/lists.rs"]
mod lists;

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (function, program, input, calls) = match words[..] {
        [function, program, input] => (function, program, input, 10),
        [function, program, input, calls] => {
            (function, program, input, calls.parse().expect("a number"))
        }
        _ => {
            eprintln!("usage: speed FUNCTION PROGRAM INPUT [CALLS]");
            std::process::exit(2);
        }
    };
    let bundled = catalog::find(function).expect("a bundled function");
    let objects = match input.split_once('=') {
        Some(("canonical", bytes)) => Some((Objects::Canonical, bytes)),
        Some(("mixed", bytes)) => Some((Objects::OneInTenOdd, bytes)),
        Some(("odd", bytes)) => Some((Objects::AllOdd, bytes)),
        _ => None,
    };
    let input = match objects {
        Some((objects, bytes)) => {
            let config = config(bundled.function.name);
            let config = config.expect("a configuration of this function");
            let bytes = bytes.parse().expect("a number of bytes");
            list(objects, bytes, config).into_bytes()
        }
        None => fs::read(input).expect("an input file"),
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut memory, mut above_idle) = (0, 0);
    for call in 0..calls {
        let idle = status_kib("self", "VmRSS:");
        forget_peak();
        let input_of_call = input.clone();
        ours.push(measured("self", || {
            let ended = bundled.run(input_of_call, &Clock::default());
            assert_eq!(ended.expect("no deadline").exit, 0);
        }));
        if call == 0 {
            // Later calls find memory that the first one has left.
            above_idle = status_kib("self", "VmHWM:").saturating_sub(idle);
        }
        if program != "-" {
            theirs.push(measured("children", || {
                memory = memory.max(run(program, &input));
            }));
        }
    }
    let ours = median(&mut ours);
    let theirs = (!theirs.is_empty()).then(|| median(&mut theirs));
    let theirs = theirs.unwrap_or_default();
    println!(
        "{:>24}{:>14}{:>14}{:>8}",
        "", "in process", "program", "ratio"
    );
    for (what, ours, theirs) in [
        ("time of a call", ours.0, theirs.0),
        ("processor time", ours.1, theirs.1),
    ] {
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        println!("{what:>24}{ours:>14.2?}{theirs:>14.2?}{ratio:>8.1}");
    }
    let ratio = ratio(memory, above_idle);
    println!(
        "{:>24}{above_idle:>10} KiB{memory:>10} KiB{ratio:>8.1}",
        "memory above idle"
    );
    println!(
        "{:>24}{:>14.1}",
        "times the list",
        self::ratio(above_idle * 1024, input.len() as u64)
    );
}

#[allow(clippy::cast_precision_loss, reason = "a ratio to be read")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// The most memory of this process is counted anew from here on.
fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("/proc");
}

/// Wall and processor time, each.
type Times = (Duration, Duration);

fn measured(whose: &str, call: impl FnOnce()) -> Times {
    let (before, started) = (processor_time(whose), Instant::now());
    call();
    (
        started.elapsed(),
        processor_time(whose).saturating_sub(before),
    )
}

fn median(times: &mut [Times]) -> Times {
    let middle = times.len() / 2;
    times.sort_by_key(|(wall, _)| *wall);
    let wall = times[middle].0;
    times.sort_by_key(|(_, processor)| *processor);
    // Processor time is counted in hundredths of a second: quick calls may have none.
    (wall, times[middle].1.max(Duration::from_micros(100)))
}

/// The processor time of this process, or of its children that have ended.
fn processor_time(whose: &str) -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
    let first = if whose == "self" { 11 } else { 13 };
    let ticks = fields
        .skip(first)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().expect("ticks"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// Runs the program, and returns the most memory it had, in KiB.
fn run(program: &str, input: &[u8]) -> u64 {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let pid = child.id().to_string();
    let mut stdin = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        let watched = scope.spawn(move || {
            let mut most = 0;
            loop {
                match status_kib(&pid, "VmHWM:") {
                    0 => return most,
                    now => most = now,
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        child.wait_with_output().expect("the program ends");
        watched.join().expect("watched")
    })
}

/// A field of a process's status; 0 once it has ended.
fn status_kib(pid: &str, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
