//! This process itself, as the kernel sees it.

use std::{fs, sync::OnceLock, time::Duration};

use crate::snapshot::{Kind, Metric, Value};

/// Ticks per second of /proc, the same on every Linux.
const TICKS: u64 = 100;
const PAGE: u64 = 4096;

/// What this process is and has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// Resident memory, in bytes.
    pub memory: u64,
    pub descriptors: u64,
    pub threads: u64,
    pub processor_time: Duration,
    pub uptime: Duration,
}

/// Name and version, for the metric that says what runs.
static BUILD: OnceLock<(&str, &str)> = OnceLock::new();

/// Says what runs, once.
pub fn is(name: &'static str, version: &'static str) {
    crate::uptime();
    let _ = BUILD.set((name, version));
}

/// Looks at this process. What cannot be found out is 0.
pub fn own() -> Own {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let mut own = from_stat(&stat).unwrap_or_default();
    let descriptors = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    // Without the one that looks.
    own.descriptors = descriptors.saturating_sub(1) as u64;
    own.uptime = crate::uptime();
    own
}

/// The fields behind the program's name, which may contain anything.
fn from_stat(stat: &str) -> Option<Own> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let ticks = number(11)? + number(12)?;
    Some(Own {
        memory: number(21)? * PAGE,
        threads: number(17)?,
        processor_time: Duration::from_millis(ticks * 1000 / TICKS),
        ..Own::default()
    })
}

pub(crate) fn snapshot() -> Vec<Metric> {
    let own = own();
    let one = |name, unit, kind, description, value| {
        Metric::new(name, unit, kind, description).with(&[], value)
    };
    let (name, version) = BUILD.get().copied().unwrap_or(("", ""));
    let build = Metric::new(
        "function_runner.build_info",
        "{build}",
        Kind::Gauge,
        "What runs: program and version; always 1.",
    );
    vec![
        build.with(
            &[("program", name), ("version", version)],
            Value::Integer(1),
        ),
        one(
            "process.memory.usage",
            "By",
            Kind::UpDownCounter,
            "Resident memory of this process.",
            own.memory.into(),
        ),
        one(
            "process.open_file_descriptors",
            "{file_descriptor}",
            Kind::UpDownCounter,
            "Open file descriptors of this process.",
            own.descriptors.into(),
        ),
        one(
            "process.threads",
            "{thread}",
            Kind::UpDownCounter,
            "Threads of this process.",
            own.threads.into(),
        ),
        one(
            "process.cpu.time",
            "s",
            Kind::Counter,
            "Processor time of this process.",
            own.processor_time.into(),
        ),
        one(
            "process.uptime",
            "s",
            Kind::Gauge,
            "Time since this process has started.",
            own.uptime.into(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_finds_itself() {
        let own = own();
        assert!(own.memory > 100_000, "{own:?}");
        assert!(own.threads > 0 && own.descriptors > 2, "{own:?}");
    }

    #[test]
    fn a_programs_name_cannot_shift_the_fields() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 7 0 100 1000 25 0";
        for name in ["(a)", "(a b)", "(a) S 9 9)"] {
            let own = from_stat(&format!("42 {name} {rest}")).unwrap();
            assert_eq!((own.memory, own.threads), (25 * PAGE, 7));
            assert_eq!(own.processor_time, Duration::from_secs(2));
        }
    }
}
