//! A private directory for the temporary files of one program.
//!
//! - [`claim`]: where the directories are, and what others find of them.
//! - [`measure`]: how much is in one.
//! - [`remove`]: the end of one that is not empty.
//!
//! What is in a directory is a function's, which may mean harm: see [`folder`].

mod claim;
mod folder;
mod measure;
mod remove;

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
};

use claim::Claim;
pub(crate) use measure::measure;
use parking_lot::{Mutex, MutexGuard};
use rustix::{
    fs::{llistxattr, llistxattr_query},
    io::Errno,
    process::geteuid,
};

use super::{launcher::Cell, rules::Ground};

/// Most bytes of one program's temporary files beside this process: several of them fit into
/// the 1 GiB that `deploy/` gives the runner's `/tmp`.
pub(super) const MOST: u64 = 128 << 20;

/// The same in a container that is the program's own: half of the 1 GiB that its pod gives it.
pub(super) const MOST_IN_CONTAINER: u64 = 512 << 20;

/// Most directories that are kept for others.
const KEPT: usize = 32;

/// Where the directories are made and kept, and the thread that removes those that are
/// not empty.
#[derive(Debug)]
pub(super) struct Shelf {
    claim: Claim,
    /// Bytes in one directory.
    most: u64,
    full: mpsc::Sender<PathBuf>,
    clean: Arc<Clean>,
}

/// Directories that are as if they had just been made, each with the thread whose programs
/// may write there; the one that waits longest comes first. Making both anew costs as much
/// as starting a small program.
#[derive(Debug, Default)]
struct Clean(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    ground: Ground,
    cell: Option<Cell>,
}

impl Clean {
    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock()
    }

    /// One that was used on the same ground. Others know its path, and could change its mode,
    /// so it is for no other program.
    fn take(&self, ground: &Ground) -> Option<Kept> {
        let mut kept = self.kept();
        let at = kept.iter().rposition(|kept| kept.ground == *ground)?;
        Some(kept.remove(at))
    }

    /// Returns the one that is kept no longer, if they are too many.
    fn put(&self, new: Kept) -> Option<Kept> {
        let mut kept = self.kept();
        let oldest = (kept.len() >= KEPT).then(|| kept.remove(0));
        kept.push(new);
        oldest
    }
}

impl Shelf {
    /// What processes that were killed have left behind is removed, by and by.
    pub(super) fn new(temporary: &Path, most: u64) -> io::Result<Self> {
        let claim = Claim::new(temporary)?;
        let temporary = temporary.to_owned();
        let (full, rest) = mpsc::channel::<PathBuf>();
        let work = move || {
            claim::remove_abandoned(&temporary);
            rest.iter().for_each(|path| remove::remove_patiently(&path));
        };
        thread::Builder::new().name("scratch".into()).spawn(work)?;
        Ok(Self {
            claim,
            most,
            full,
            clean: Arc::default(),
        })
    }

    /// The folder in which the directories are.
    pub(super) fn path(&self) -> &Path {
        self.claim.temporary()
    }

    /// Removes all directories with everything in them, at the end.
    pub(super) fn remove(&self) {
        self.claim.remove();
    }

    pub(super) fn scratch(&self, ground: Ground) -> io::Result<Scratch> {
        while let Some(Kept { path, ground, cell }) = self.clean.take(&ground) {
            let scratch = self.holding(path, ground, cell);
            // Otherwise it was changed by its path, and is removed here.
            if is_as_made(scratch.path()) {
                return Ok(scratch);
            }
        }
        Ok(self.holding(self.claim.make()?, ground, None))
    }

    fn holding(&self, path: PathBuf, ground: Ground, cell: Option<Cell>) -> Scratch {
        Scratch {
            path,
            most: self.most,
            ground,
            cell,
            full: self.full.clone(),
            clean: Arc::clone(&self.clean),
        }
    }
}

/// One program's directory; removed with this value.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    most: u64,
    ground: Ground,
    /// The thread that is confined to it, once something was started.
    pub(super) cell: Option<Cell>,
    full: mpsc::Sender<PathBuf>,
    clean: Arc<Clean>,
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Most bytes that may be in it.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Everything has ended that could reach it. If nothing was written there, the program's
    /// next call gets it.
    pub(crate) fn keep(mut self) {
        if !is_as_made(&self.path) {
            return;
        }
        let oldest = self.clean.put(Kept {
            path: std::mem::take(&mut self.path),
            ground: self.ground.clone(),
            cell: self.cell.take(),
        });
        // Instead of its own, which is kept, it removes that one.
        self.path = oldest.map(|oldest| oldest.path).unwrap_or_default();
    }
}

fn is_as_made(path: &Path) -> bool {
    // Below a pod's volumes folders have the group's bit from the beginning.
    let is_ours = |file: fs::Metadata| {
        file.is_dir() && file.mode() & 0o5777 == 0o700 && file.uid() == geteuid().as_raw()
    };
    path.symlink_metadata().is_ok_and(is_ours)
        && !has_attributes(path)
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a file has extended attributes, lists of access rights among them.
fn has_attributes(path: &Path) -> bool {
    match llistxattr_query(path) {
        Ok(0) | Err(Errno::NOTSUP) => return false,
        _ => {}
    }
    let mut names = [0; 1024];
    let Ok(length) = llistxattr(path, &mut names) else {
        return true;
    };
    // Some systems label every file; those labels are not a function's to change.
    let names = names[..length].split(|byte| *byte == 0);
    let mut others = names.filter(|name| !name.is_empty() && !name.starts_with(b"security."));
    others.next().is_some()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            // It was kept.
            return;
        }
        // Most programs write nothing; what others wrote may take a while to remove.
        if fs::remove_dir(&self.path).is_err() {
            let _ = self.full.send(std::mem::take(&mut self.path));
        }
    }
}

#[cfg(test)]
mod tests;
