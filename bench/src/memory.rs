//! The resident memory of a runner and of all that it keeps running, functions started ahead
//! included: as soon as it no longer changes, or the most of it during a call.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use acceptance::system::descendants;
use anyhow::{Context, Result};
use tokio::time::sleep;

/// What a start or a load leaves behind is given back within a second or so, or not at all.
const BETWEEN: Duration = Duration::from_millis(500);
/// So many samples in a row have to agree …
const AGREEING: usize = 4;
/// … within this share of the largest.
const TOLERANCE: f64 = 0.02;
/// After this many the rest counts as noise: 15 s.
const MOST_SAMPLES: usize = 30;

/// Never less than what is steady: of the last samples the largest counts.
pub(crate) async fn steady_megabytes(runner: u32) -> f64 {
    let mut samples = Vec::new();
    while samples.len() < MOST_SAMPLES && !is_steady(&samples) {
        sleep(BETWEEN).await;
        samples.push(megabytes(runner));
    }
    last(&samples).iter().copied().fold(0.0, f64::max)
}

/// The most that a runner takes beyond what it has when idle, and its functions take, until `work` has ended.
pub(crate) async fn peak_megabytes(
    runner: u32,
    work: impl Future<Output = Result<()>>,
) -> Result<f64> {
    // It may still hold what an earlier call has left.
    steady_megabytes(runner).await;
    let idle = status_kib(runner, "VmRSS:").context("the runner has ended")?;
    let forget_peak = "5";
    fs::write(format!("/proc/{runner}/clear_refs"), forget_peak)?;
    let mut peaks = BTreeMap::new();
    let watch = async {
        loop {
            let processes = descendants(runner).into_iter().map(|(pid, _)| pid);
            peaks.extend(processes.filter_map(|pid| Some((pid, status_kib(pid, "VmHWM:")?))));
            sleep(Duration::from_millis(5)).await;
        }
    };
    // Cancel-safe: whatever was seen is in `peaks`.
    tokio::select! {
        ended = work => ended?,
        () = watch => {}
    }
    let peak = status_kib(runner, "VmHWM:").context("the runner has ended")?;
    let functions: f64 = peaks.values().sum();
    Ok((peak - idle + functions) * 1024.0 / 1e6)
}

fn last(samples: &[f64]) -> &[f64] {
    &samples[samples.len().saturating_sub(AGREEING)..]
}

fn is_steady(samples: &[f64]) -> bool {
    let last = last(samples);
    let most = last.iter().copied().fold(0.0, f64::max);
    let least = last.iter().copied().fold(f64::INFINITY, f64::min);
    last.len() == AGREEING && most - least <= most * TOLERANCE
}

fn megabytes(runner: u32) -> f64 {
    let kept = descendants(runner).into_iter().map(|(pid, _)| pid);
    let resident = |pid| status_kib(pid, "VmRSS:");
    let kib: f64 = kept.chain([runner]).filter_map(resident).sum();
    kib * 1024.0 / 1e6
}

/// `None` of a process that has ended meanwhile.
fn status_kib(pid: u32, field: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use acceptance::system::wait_until;

    use super::*;

    #[test]
    fn memory_is_steady_when_the_last_samples_agree() {
        for (samples, steady) in [
            (&[][..], false),
            (&[10.0, 10.0, 10.0], false),
            (&[10.0, 10.1, 10.0, 10.1], true),
            (&[500.0, 200.0, 10.0, 10.1, 10.0, 10.1], true),
            (&[10.0, 10.0, 10.0, 10.3], false),
        ] {
            assert_eq!(is_steady(samples), steady, "{samples:?}");
        }
    }

    #[test]
    fn what_a_process_keeps_running_counts() {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", "cat; true"]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        wait_until("the shell's child", || {
            let is_there = !descendants(shell.id()).is_empty();
            is_there.then_some(()).ok_or_else(|| "none yet".to_owned())
        });
        let alone = status_kib(shell.id(), "VmRSS:").unwrap() * 1024.0 / 1e6;
        let with_child = megabytes(shell.id());
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert!(with_child > alone, "{alone} alone, {with_child} in all");
    }
    #[tokio::test]
    async fn the_peak_of_a_call_is_what_the_runner_takes_and_all_of_its_functions() {
        let mut shell = Command::new("sh");
        // A function that begins after the call has, and takes five megabytes for a while.
        let script = "read line; { head -c 5000000 /dev/zero; sleep 0.3; } | \
                      tail -c 5000000 | wc -c; read line";
        let shell = shell.args(["-c", script]).stdin(Stdio::piped());
        let mut shell = shell.stdout(Stdio::null()).spawn().unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        let work = async {
            writeln!(stdin, "begin")?;
            sleep(Duration::from_secs(1)).await;
            Ok(())
        };
        let peak = peak_megabytes(shell.id(), work).await.unwrap();
        drop(stdin);
        shell.wait().unwrap();
        assert!((5.0..50.0).contains(&peak), "{peak} MB");
    }
}
