//! A cgroup with a memory limit, as a container has one. Needs root.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Goes when it is dropped, with everything in it gone.
#[derive(Debug)]
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// `None`: it takes root, and a hierarchy for memory, of version 1 or 2.
    pub fn new(bytes: u64) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("acceptance-{}-{count}", process::id());
        for (root, limit) in [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ] {
            let folder = Path::new(root).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let cgroup = Self(folder);
            if fs::write(cgroup.0.join(limit), bytes.to_string()).is_ok() {
                return Some(cgroup);
            }
        }
        None
    }

    /// A command that runs `program` in it; arguments may be added.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(self.0.join("cgroup.procs"))
            .arg(program);
        command
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
