//! At most one command changes the node at a time.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result, bail};

use crate::layout::{root, state};

/// Held by `up` and `down`; released when dropped, or by the kernel when its holder dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the other command, if there is one.
    pub(crate) fn take() -> Result<Self> {
        // Each round that fails means another command has just removed the node.
        for _ in 0..100 {
            fs::create_dir_all(root())
                .with_context(|| format!("could not make {}", root().display()))?;
            let file = match File::create(state("lock")) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened?,
            };
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                eprintln!("another cluster command is running: waiting for it");
                file.lock()?;
            }
            // The file may have been removed while we waited; then others lock a newer one.
            let still_there = fs::metadata(state("lock"))
                .is_ok_and(|there| file.metadata().is_ok_and(|here| here.ino() == there.ino()));
            if still_there {
                return Ok(Self { _file: file });
            }
        }
        bail!(
            "{} is removed again and again by someone else",
            root().display()
        );
    }

    /// Removes the lock and the state directory, which must hold nothing else any more.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(state("lock"))?;
        match fs::remove_dir(root()) {
            // Another command is already at work in it.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            done => Ok(done?),
        }
    }
}
