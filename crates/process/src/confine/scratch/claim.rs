//! The names of this process's temporary directories, and what tells others that they are
//! in use.
//!
//! ```text
//! /tmp/function-runner-1a2b3c4d.lock               locked for as long as the process lives
//! /tmp/function-runner-1a2b3c4d-0123456789abcdef   a directory of a call
//! ```
//!
//! Functions have this server's user, and nothing keeps a process from changing the mode of
//! what its user owns, if it knows the path. So no folder of this user is above the
//! directories, and nobody can guess their names. See decision 0140.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::CWD, process::geteuid};

use super::{folder, remove::remove};

/// How all names begin.
const PREFIX: &str = "function-runner-";

/// How long the part is that stands for a process.
const ID: usize = 8;

/// How the name of what is locked ends.
const LOCK: &str = ".lock";

/// How often another name is tried. One is enough, but for a process that removes what it
/// finds unlocked in the moment before it is locked.
const TRIES: u32 = 100;

/// A part of the names in a folder that is this process's own.
#[derive(Debug)]
pub(super) struct Claim {
    temporary: PathBuf,
    id: String,
    random: File,
    /// Tells others that somebody is here.
    _lock: File,
}

impl Claim {
    pub(super) fn new(temporary: &Path) -> io::Result<Self> {
        let mut random = File::open("/dev/urandom")?;
        for _ in 0..TRIES {
            // Not the process's number: those of several containers may share the folder.
            let mut id = [0; 4];
            random.read_exact(&mut id)?;
            let id = format!("{:08x}", u32::from_ne_bytes(id));
            if let Some(lock) = lock(&lock_path(temporary, &id))? {
                return Ok(Self {
                    temporary: temporary.to_owned(),
                    id,
                    random,
                    _lock: lock,
                });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The folder in which the directories are.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Makes a directory.
    pub(super) fn make(&self) -> io::Result<PathBuf> {
        let mut random = [0; 8];
        (&self.random).read_exact(&mut random)?;
        let (id, random) = (&self.id, u64::from_ne_bytes(random));
        let path = self.temporary.join(format!("{PREFIX}{id}-{random:016x}"));
        match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                open_again(&self.temporary)?;
                make(&path)?;
            }
            made => made?,
        }
        Ok(path)
    }

    /// Removes all of its directories.
    pub(super) fn remove(&self) {
        let ours = named(&self.temporary).remove(&self.id);
        remove_all(&self.temporary, &self.id, &ours.unwrap_or_default());
    }
}

fn lock_path(temporary: &Path, id: &str) -> PathBuf {
    temporary.join(format!("{PREFIX}{id}{LOCK}"))
}

fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Makes and locks it, unless somebody else has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    match make(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        made => made?,
    }
    // A folder, because programs that clean up old files leave a locked folder alone.
    let opened = File::open(path);
    let lock = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    // It looked abandoned until now, and may have been removed.
    let (locked, there) = (lock.metadata()?, path.symlink_metadata());
    let is_there =
        there.is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino()));
    Ok(is_there.then_some(lock))
}

/// Where the folder of all directories belongs to this server's user, against the advice in
/// docs/security.md, a function can close it.
fn open_again(temporary: &Path) -> io::Result<()> {
    let folder = temporary.metadata()?;
    if folder.uid() != geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    tracing::warn!(
        path = %temporary.display(),
        "somebody has closed the folder for temporary files, perhaps a function; it is opened again"
    );
    let mode = folder.mode() & 0o7777 | 0o700;
    fs::set_permissions(temporary, fs::Permissions::from_mode(mode))
}

/// Removes directories of this user whose process has ended.
pub(super) fn remove_abandoned(temporary: &Path) {
    for (id, directories) in named(temporary) {
        let lock =
            folder::open(CWD, &lock_path(temporary, &id), folder::READ_AND_SEARCH).map(File::from);
        let is_abandoned = match &lock {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_abandoned {
            remove_all(temporary, &id, &directories);
        }
    }
}

/// The lock goes last: without it the directories look abandoned.
fn remove_all(temporary: &Path, id: &str, directories: &[PathBuf]) {
    // Somebody else may be at it, too; what is left is removed by the next process.
    let removed: Vec<_> = directories.iter().map(|path| remove(path)).collect();
    if removed.iter().all(Result::is_ok) {
        let _ = remove(&lock_path(temporary, id));
    }
}

/// The directories of this user by the id of their process, also of those that have none.
fn named(temporary: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut named: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let is_ours = |file: fs::Metadata| file.is_dir() && file.uid() == geteuid().as_raw();
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        // Other programs may use names that begin alike.
        let Some((id, rest)) = name.and_then(|name| name.split_at_checked(ID)) else {
            continue;
        };
        if !is_hexadecimal(id) || !entry.metadata().is_ok_and(is_ours) {
            continue;
        }
        match rest.strip_prefix('-') {
            Some(rest) if is_hexadecimal(rest) => {
                named.entry(id.to_owned()).or_default().push(entry.path());
            }
            None if rest == LOCK => drop(named.entry(id.to_owned()).or_default()),
            _ => {}
        }
    }
    named
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
