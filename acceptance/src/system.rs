//! What the operating system knows about a process.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use rustix::process::{Resource, getrlimit, setrlimit};

/// Copies a program that is to be started. Another process does it: if this one did, a start
/// in another thread could inherit the open file, and "Text file busy" would be the answer.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp")
        .args([from.as_ref(), to.as_ref()])
        .status();
    assert!(
        copied.expect("cp").success(),
        "no copy of {:?}",
        from.as_ref()
    );
}

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

/// How many connections of a process lead to this port, whatever the address.
pub fn connections_to(pid: u32, port: u16) -> usize {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).expect("a live process");
    let links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let sockets: HashSet<String> = links
        .filter_map(|link| {
            let inode = link.to_str()?.strip_prefix("socket:[")?;
            Some(inode.strip_suffix(']')?.to_owned())
        })
        .collect();
    let port = format!(":{port:04X}");
    let tables =
        ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")));
    let lines = tables.iter().flatten().flat_map(|table| table.lines());
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.len() > 9 && fields[2].ends_with(&port))
        .filter(|fields| sockets.contains(fields[9]))
        .count()
}

/// Lets the test itself open as many descriptors as it may.
pub fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a limit of one's own");
}

/// How much processor time a process has used.
pub fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a live process");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks
        .map(|text| text.parse::<u64>().expect("a number"))
        .sum();
    // A hundredth of a second each, on every architecture that we build for.
    Duration::from_millis(10 * ticks)
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
    // Longer than what the servers do last of all, giving memory back, on a busy machine.
    let deadline = Instant::now() + Duration::from_secs(40);
    while let Err(missing) = condition() {
        assert!(Instant::now() < deadline, "{what}: {missing}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
