//! Finds the process that holds a pipe open, when a program has ended and its output has
//! not: the search takes some time, so it is done only then.

use std::{collections::VecDeque, fmt, fs, os::fd::AsFd};

use rustix::process::Pid;

use crate::strays;

/// Most processes, and most descriptors of each, that are looked at.
const PROCESSES: usize = 256;
const DESCRIPTORS: usize = 1024;

/// A process that holds a pipe open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: i32,
    /// The command's name, as the kernel keeps it: its first 15 bytes.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A process names itself: nothing of it may break a line.
        write!(f, "process {} ({})", self.pid, self.name.escape_debug())
    }
}

/// A process among those that came to us, or among their descendants, that has
/// `pipe` open. What may not be looked at (another user's) is passed over.
pub(crate) fn of(pipe: impl AsFd) -> Option<Holder> {
    let inode = rustix::fs::fstat(pipe).ok()?.st_ino;
    let link = format!("pipe:[{inode}]");
    let mut open: VecDeque<Pid> = strays::adopted().into();
    for _ in 0..PROCESSES {
        let pid = open.pop_front()?;
        if holds(pid, &link) {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            return Some(Holder {
                pid: pid.as_raw_pid(),
                name: name.trim_end().to_owned(),
            });
        }
        open.extend(strays::children(pid));
    }
    None
}

fn holds(pid: Pid, link: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    descriptors.flatten().take(DESCRIPTORS).any(|descriptor| {
        fs::read_link(descriptor.path()).is_ok_and(|target| target.as_os_str() == link)
    })
}
