//! Removes a function's temporary files, however many and however deep.
//!
//! Folders may be nested deeper than this process has stack or descriptors. So nothing is
//! descended into: a folder that is not empty is moved up, beside the others, and two
//! descriptors are open at any time.
//!
//! ```text
//! top ─ a ─ b ─ c    ──►    top ─┬─ a (now empty: removed)
//!                                └─ 1 (was b) ─ c
//! ```

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, renameat, unlinkat},
    io::Errno,
};

use super::{folder, measure::is_dots};

/// How often a directory is tried to be removed into which something still writes.
const TRIES: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(50);

/// How long one try may take: something that writes faster than it is removed would hold up
/// the removal of everything else. A slow disk removes 20,000 folders in 20 s.
const TRY: Duration = Duration::from_secs(60);

pub(super) fn remove_patiently(path: &Path) {
    for _ in 0..TRIES {
        match remove(path) {
            Ok(()) => return,
            Err(_) => thread::sleep(BETWEEN),
        }
    }
    tracing::warn!(path = %path.display(), "a function's temporary files cannot be removed");
}

/// Removes a folder and everything in it; `Ok` also if it is gone already.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let until = Instant::now() + TRY;
    let top = match folder::open(CWD, path, folder::CHANGE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        top => top?,
    };
    let mut moved = Moved { top: &top, last: 0 };
    // What was moved up meanwhile is met by the next turn, if not by this one.
    while clear(&top, |name| moved.empty(name))? {
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    gone(unlinkat(CWD, path, AtFlags::REMOVEDIR))
}

/// Removes what is in a folder; `is_full` is called for folders there that are not empty.
/// Goes on after an error, and then returns the first one. Returns whether there was anything.
fn clear(folder: impl AsFd, mut is_full: impl FnMut(&CStr) -> io::Result<()>) -> io::Result<bool> {
    let mut found = false;
    let mut result = Ok(());
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_dots(name) {
            continue;
        }
        found = true;
        let unlink = |flags| unlinkat(&folder, name, flags);
        // Not every file system says what an entry is.
        let removed = match entry.file_type() {
            FileType::Directory => unlink(AtFlags::REMOVEDIR),
            _ => match unlink(AtFlags::empty()) {
                Err(Errno::ISDIR) => unlink(AtFlags::REMOVEDIR),
                removed => removed,
            },
        };
        let removed = match removed {
            Err(Errno::NOTEMPTY | Errno::EXIST) => is_full(name),
            removed => gone(removed),
        };
        result = result.and(removed);
    }
    result.map(|()| found)
}

/// Somebody else may be at it, too.
fn gone(removed: Result<(), Errno>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

/// Folders that were moved up, by numbers as names.
struct Moved<'a> {
    top: &'a OwnedFd,
    last: u64,
}

impl Moved<'_> {
    /// Removes a folder at the top; what is in its own folders is moved up before.
    fn empty(&mut self, name: &CStr) -> io::Result<()> {
        let folder = match folder::open(self.top, name, folder::CHANGE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        clear(&folder, |inner| self.take(&folder, inner))?;
        match unlinkat(self.top, name, AtFlags::REMOVEDIR) {
            // Somebody has just written there: the next turn meets it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            removed => gone(removed),
        }
    }

    /// Moves a folder up.
    fn take(&mut self, from: &OwnedFd, name: &CStr) -> io::Result<()> {
        // A folder that is moved changes itself: it has a new parent.
        drop(folder::open(from, name, folder::CHANGE)?);
        loop {
            self.last += 1;
            match renameat(from, name, self.top, self.last.to_string()) {
                // The function has used that name.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                moved => return gone(moved),
            }
        }
    }
}
