//! A runner whose instructions are counted: it runs under valgrind, which counts those of the program
//! itself and not the kernel's. A count does not depend on what else the machine does, and many
//! machines have no counter of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// Counts while it is asked to; without that the program runs several times slower than by itself.
#[derive(Debug)]
pub(crate) struct Counter {
    folder: TempDir,
}

/// Instructions, and the time in which they were counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) instructions: f64,
    pub(super) time: Duration,
}

impl Spent {
    /// What each of `count` things took, beside what the runner does anyway in that time.
    pub(super) fn each(self, rest: Self, count: usize) -> f64 {
        let per_second = rest.instructions / rest.time.as_secs_f64();
        (self.instructions - per_second * self.time.as_secs_f64()) / count as f64
    }
}

impl Counter {
    pub(super) fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        Ok(Self { folder })
    }

    /// The program, to be started under valgrind with the same process id.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--instr-atstart=no", "--quiet"])
            .arg(option("--log-file", &self.folder.path().join("log")))
            .arg(option("--callgrind-out-file", &self.counts()))
            .arg(option("--vgdb-prefix", &self.pipes()))
            .arg(program);
        command
    }

    /// Counts while the work is done.
    pub(super) async fn during(
        &self,
        pid: u32,
        work: impl Future<Output = Result<()>>,
    ) -> Result<Spent> {
        self.ask(pid, "instrumentation on")?;
        self.ask(pid, "zero")?;
        let begin = Instant::now();
        work.await?;
        let time = begin.elapsed();
        self.ask(pid, "dump")?;
        self.ask(pid, "instrumentation off")?;
        let instructions = self.newest_count()?;
        Ok(Spent { instructions, time })
    }

    fn ask(&self, pid: u32, what: &str) -> Result<()> {
        let output = Command::new("vgdb")
            .arg(option("--vgdb-prefix", &self.pipes()))
            .arg(format!("--pid={pid}"))
            .args(what.split(' '))
            .output()
            .context("vgdb, of the Debian package valgrind, is needed")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "valgrind does not {what}: {said}");
        Ok(())
    }

    /// Dumps are numbered; the last one has what was counted since the last `zero`.
    fn newest_count(&self) -> Result<f64> {
        let mut newest = None;
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            let number = path
                .extension()
                .and_then(|end| end.to_str()?.parse::<u64>().ok());
            let is_dump = path.file_name() != Some("counts".as_ref());
            if let Some(number) = number.filter(|_| is_dump) {
                newest = newest.max(Some((number, path)));
            }
        }
        let (_, path) = newest.context("valgrind has written no counts")?;
        let text = fs::read_to_string(&path)?;
        counted(&text).with_context(|| format!("no count in {}", path.display()))
    }

    fn counts(&self) -> PathBuf {
        self.folder.path().join("counts")
    }

    fn pipes(&self) -> PathBuf {
        self.folder.path().join("vgdb")
    }
}

/// Instructions of all threads, from a dump's last line about them.
fn counted(dump: &str) -> Option<f64> {
    let mut totals = dump.lines().filter_map(|line| {
        let total = line
            .strip_prefix("totals:")
            .or(line.strip_prefix("summary:"))?;
        total.split_whitespace().next()?.parse().ok()
    });
    totals.next_back()
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumps_total_is_read_whatever_stands_before_it() {
        let dump = "version: 1\nsummary: 12\n\nfn=(1) a\n1 12\ntotals: 345\n";
        assert_eq!(counted(dump), Some(345.0));
        assert_eq!(counted("version: 1\n"), None);
    }

    #[test]
    fn what_a_runner_does_anyway_is_no_part_of_a_calls_cost() {
        let spent = |instructions, seconds| Spent {
            instructions,
            time: Duration::from_secs(seconds),
        };
        let each = spent(2_000.0, 10).each(spent(100.0, 1), 5);
        assert_eq!(each, 200.0);
    }
}
