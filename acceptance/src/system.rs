//! What the operating system knows about a process.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

/// The processes below `pid`, with their names.
pub fn descendants(pid: u32) -> Vec<(u32, String)> {
    let mut children: HashMap<u32, Vec<(u32, String)>> = HashMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // It may have ended since.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((head, tail)) = stat.rsplit_once(')') else {
            continue;
        };
        let Some(parent) = tail
            .split_whitespace()
            .nth(1)
            .and_then(|text| text.parse().ok())
        else {
            continue;
        };
        children
            .entry(parent)
            .or_default()
            .push((pid, head.to_owned() + ")"));
    }
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            open.push(child.0);
            found.push(child);
        }
    }
    found
}

pub fn open_descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("a live process")
        .count()
}

pub fn resident_kib(pid: u32) -> u64 {
    status_kib(pid, "VmRSS:")
}

/// The most that ever was resident.
pub fn peak_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

fn status_kib(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a live process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .expect("the field");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number")
}

/// Waits until `condition` says nothing is missing; panics with what it says
/// otherwise when the time is up.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(missing) = condition() {
        assert!(Instant::now() < deadline, "{what}: {missing}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
