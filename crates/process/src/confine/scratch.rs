//! A private directory for the temporary files of one program.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, geteuid};

use super::{launcher::Cell, rules::Ground};

/// Most bytes of one program's temporary files: several of them fit into the 1 GiB
/// that `deploy/` gives the runner's `/tmp`.
pub(crate) const MOST: u64 = 128 << 20;

/// Most files that are counted; more are as bad as too many bytes.
const FILES: u32 = 20_000;

/// How the names of the directories above them begin; then comes the process's number.
const PREFIX: &str = "function-runner-";

/// How often a directory is tried to be removed into which something still writes.
const TRIES: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(50);

/// Most directories that are kept for others.
const KEPT: usize = 32;

/// Where the directories are made and kept, and the thread that removes those that are
/// not empty.
#[derive(Debug)]
pub(super) struct Shelf {
    path: PathBuf,
    /// Tells others that somebody is here.
    _lock: File,
    last: AtomicU64,
    full: mpsc::Sender<PathBuf>,
    clean: Arc<Clean>,
}

/// Directories that are as if they had just been made, each with the thread whose programs
/// may write there. Making both anew costs as much as starting a small program.
#[derive(Debug, Default)]
struct Clean(Mutex<Vec<(PathBuf, Option<Confined>)>>);

/// A thread that is confined, and for what.
#[derive(Debug)]
pub(super) struct Confined {
    pub(super) cell: Cell,
    pub(super) ground: Ground,
}

impl Clean {
    fn kept(&self) -> MutexGuard<'_, Vec<(PathBuf, Option<Confined>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One whose thread has the same ground if there is one, otherwise the oldest.
    fn take(&self, ground: &Ground) -> Option<(PathBuf, Option<Confined>)> {
        let mut kept = self.kept();
        let fits = |confined: &Confined| confined.ground == *ground;
        let at = kept
            .iter()
            .rposition(|(_, confined)| confined.as_ref().is_some_and(fits));
        match (at, kept.is_empty()) {
            (Some(at), _) => Some(kept.remove(at)),
            (None, false) => Some((kept.remove(0).0, None)),
            (None, true) => None,
        }
    }
}

impl Shelf {
    /// What processes that were killed have left behind is removed.
    pub(super) fn new(temporary: &Path) -> io::Result<Self> {
        remove_abandoned(temporary);
        let (path, lock) = claim(temporary)?;
        let (full, rest) = mpsc::channel::<PathBuf>();
        thread::Builder::new()
            .name("scratch".into())
            .spawn(move || rest.iter().for_each(|path| remove_patiently(&path)))?;
        Ok(Self {
            path,
            _lock: lock,
            last: AtomicU64::new(0),
            full,
            clean: Arc::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with everything in it, at the end.
    pub(super) fn remove(&self) {
        // The thread may be at it, too; what is left is removed by the next process.
        let _ = remove(&self.path);
    }

    pub(super) fn scratch(&self, ground: Ground) -> io::Result<Scratch> {
        let (path, confined) = match self.clean.take(&ground) {
            Some(kept) => kept,
            None => {
                let number = self.last.fetch_add(1, Ordering::Relaxed);
                let path = self.path.join(number.to_string());
                fs::DirBuilder::new().mode(0o700).create(&path)?;
                (path, None)
            }
        };
        Ok(Scratch {
            path,
            ground,
            confined,
            full: self.full.clone(),
            clean: Arc::clone(&self.clean),
        })
    }
}

/// One program's directory; removed with this value.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    pub(super) ground: Ground,
    /// Once something was started.
    pub(super) confined: Option<Confined>,
    full: mpsc::Sender<PathBuf>,
    clean: Arc<Clean>,
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Everything has ended that could reach it. If nothing was written there, the next
    /// program gets it.
    pub(crate) fn keep(mut self) {
        if is_as_made(&self.path) {
            let mut kept = self.clean.kept();
            if kept.len() < KEPT {
                let path = std::mem::take(&mut self.path);
                kept.push((path, self.confined.take()));
            }
        }
    }
}

fn is_as_made(path: &Path) -> bool {
    let is_ours = |file: fs::Metadata| file.is_dir() && file.mode() & 0o7777 == 0o700;
    path.symlink_metadata().is_ok_and(is_ours)
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
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

/// Makes a directory that nobody else uses, and locks it.
fn claim(temporary: &Path) -> io::Result<(PathBuf, File)> {
    let name = format!("{PREFIX}{}", process::id());
    // Under another name until it is locked: otherwise it looks abandoned for a moment.
    let unlocked = temporary.join(format!(".{name}"));
    if unlocked.symlink_metadata().is_ok() {
        remove(&unlocked)?;
    }
    fs::DirBuilder::new().mode(0o700).create(&unlocked)?;
    let lock = File::open(&unlocked)?;
    lock.try_lock()?;
    // Processes of other containers may have the same number, where they share the folder.
    let names = (1..).map(|number| format!("{name}-{number}"));
    let mut paths = [name.clone()].into_iter().chain(names);
    let path = paths.find_map(|name| {
        let path = temporary.join(name);
        path.symlink_metadata().is_err().then_some(path)
    });
    let path = path.ok_or(io::ErrorKind::AlreadyExists)?;
    fs::rename(&unlocked, &path)?;
    Ok((path, lock))
}

/// Removes directories of this user that no process has locked.
fn remove_abandoned(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let is_named = |name: &str| name.starts_with(PREFIX);
        let is_ours = |file: fs::Metadata| file.is_dir() && file.uid() == geteuid().as_raw();
        if !entry.file_name().to_str().is_some_and(is_named) || !entry.metadata().is_ok_and(is_ours)
        {
            continue;
        }
        let path = entry.path();
        if File::open(&path).is_ok_and(|folder| folder.try_lock().is_ok()) {
            // Somebody else may be at it, too.
            let _ = remove(&path);
        }
    }
}

/// The bytes of files below `path`, and of those that `processes` have open there
/// without a name; `u64::MAX` if there are too many to count.
pub(crate) fn measure(path: &Path, processes: &[Pid]) -> u64 {
    let Ok(own) = fs::symlink_metadata(path) else {
        return 0;
    };
    let mut left = FILES;
    let mut bytes = 0;
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(less) = left.checked_sub(1) else {
                return u64::MAX;
            };
            left = less;
            let Ok(file) = entry.metadata() else { continue };
            if file.is_dir() {
                open.push(entry.path());
            }
            bytes += file.blocks() * 512;
        }
    }
    let nameless = processes.iter().map(|pid| nameless(*pid, own.dev()));
    nameless.fold(bytes, u64::saturating_add)
}

/// The bytes of files without a name that a process has open.
fn nameless(pid: Pid, device: u64) -> u64 {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    let files = descriptors.into_iter().flatten().flatten();
    files
        .filter_map(|descriptor| fs::metadata(descriptor.path()).ok())
        .filter(|file| file.is_file() && file.nlink() == 0 && file.dev() == device)
        .map(|file| file.blocks() * 512)
        .sum()
}

fn remove_patiently(path: &Path) {
    for _ in 0..TRIES {
        match remove(path) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => thread::sleep(BETWEEN),
        }
    }
    tracing::warn!(path = %path.display(), "a function's temporary files cannot be removed");
}

/// Removes everything, also below directories that a function has closed to itself.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| {
        open_up(path);
        fs::remove_dir_all(path)
    })
}

fn open_up(folder: &Path) {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|file| file.is_dir());
    if !is_folder(folder) {
        return;
    }
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn ground(program: &str) -> Ground {
        Ground::of(Path::new(program), &Profile::default())
    }

    #[test]
    fn what_a_program_wrote_is_measured_and_removed_however_deep_and_closed() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path()).unwrap();
        let scratch = shelf.scratch(ground("/bin/sh")).unwrap();
        let (path, deep) = (scratch.path().to_owned(), scratch.path().join("a/b/c"));
        assert_eq!(measure(&path, &[]), 0);
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), vec![1; 1 << 20]).unwrap();
        let unnamed = tempfile::tempfile_in(&path).unwrap();
        unnamed.set_len(0).unwrap();
        io::Write::write_all(&mut &unnamed, &vec![1; 1 << 20]).unwrap();
        let own = [rustix::process::getpid()];
        assert!(measure(&path, &[]) >= 1 << 20);
        assert!(measure(&path, &own) >= 2 << 20);
        fs::set_permissions(&deep, fs::Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        let gone = || !path.exists();
        for _ in 0..1000 {
            if gone() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert!(gone());
    }

    #[test]
    fn a_directory_is_kept_for_the_next_program_only_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path()).unwrap();
        let first = shelf.scratch(ground("/bin/sh")).unwrap();
        let path = first.path().to_owned();
        first.keep();
        let again = shelf.scratch(ground("/bin/sh")).unwrap();
        assert_eq!(again.path(), path);
        fs::write(path.join("file"), "of another call").unwrap();
        again.keep();
        let other = shelf.scratch(ground("/bin/sh")).unwrap();
        assert_ne!(other.path(), path);
        let closed = fs::Permissions::from_mode(0o500);
        fs::set_permissions(other.path(), closed).unwrap();
        let path = other.path().to_owned();
        other.keep();
        assert!(!path.exists());
        let several = [(); KEPT + 1].map(|()| shelf.scratch(ground("/bin/sh")).unwrap());
        several.into_iter().for_each(Scratch::keep);
        assert_eq!(shelf.clean.kept().len(), KEPT);
    }

    #[test]
    fn what_paths_lead_to_now_decides_whether_rules_are_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "one").unwrap();
        let text = program.to_str().unwrap();
        let before = ground(text);
        assert_eq!(before, ground(text));
        assert_ne!(before, ground("/bin/sh"));
        // As an upgrade does it.
        fs::write(folder.path().join("new"), "another").unwrap();
        fs::rename(folder.path().join("new"), &program).unwrap();
        assert_ne!(before, ground(text));
        let profile = Profile {
            network: true,
            ..Profile::default()
        };
        assert_ne!(ground(text), Ground::of(&program, &profile));
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let abandoned = folder.path().join("function-runner-1");
        fs::create_dir_all(abandoned.join("0/file")).unwrap();
        let other = folder.path().join("another-program-1");
        fs::create_dir(&other).unwrap();
        let living = Shelf::new(folder.path()).unwrap();
        assert!(!abandoned.exists() && other.exists());
        let scratch = living.scratch(ground("/bin/sh")).unwrap();
        let beside = Shelf::new(folder.path()).unwrap();
        assert!(scratch.path().exists());
        assert_ne!(living.path(), beside.path());
        let path = scratch.path().to_owned();
        // As if killed: nothing is removed, but nobody is here any more.
        std::mem::forget(scratch);
        drop(living);
        assert!(path.exists());
        Shelf::new(folder.path()).unwrap();
        assert!(!path.exists() && beside.path().exists());
    }

    #[test]
    fn more_files_than_can_be_counted_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=FILES {
            fs::create_dir(folder.path().join(number.to_string())).unwrap();
        }
        assert_eq!(measure(folder.path(), &[]), u64::MAX);
    }
}
