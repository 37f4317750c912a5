//! Measures a function's temporary files.

use std::{
    ffi::CStr,
    fs, io,
    os::{fd::BorrowedFd, unix::fs::MetadataExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, fstat, statat},
    io::Errno,
    process::Pid,
};

use super::folder;

/// Most files that are counted; more are as bad as too many bytes.
pub(super) const FILES: u32 = 20_000;

/// Most folders inside of each other, for the same reason. Each of them is open while what
/// is below it is counted. Programs hardly make more than 30.
pub(super) const DEEPEST: usize = 128;

/// The bytes of files below `path`, and of those that `processes` have open there
/// without a name; `u64::MAX` if they cannot be counted: they are too many, they are too
/// deep, or somebody closes the folders while they are opened.
pub(crate) fn measure(path: &Path, processes: &[Pid]) -> u64 {
    match named(path) {
        Ok((bytes, device)) => {
            let nameless = processes.iter().map(|pid| nameless(*pid, device));
            nameless.fold(bytes, u64::saturating_add)
        }
        Err(Uncounted::Refused) => u64::MAX,
        Err(Uncounted::Gone) => 0,
    }
}

/// Why files are not counted.
enum Uncounted {
    /// The function removes files while they are looked at; and it is not to blame if this
    /// server has no descriptor left.
    Gone,
    /// That is the function's doing.
    Refused,
}

impl From<io::Error> for Uncounted {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Refused,
            _ => Self::Gone,
        }
    }
}

impl From<Errno> for Uncounted {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// The bytes of files below `path`, and the device that they are on.
fn named(path: &Path) -> Result<(u64, u64), Uncounted> {
    let top = folder::open(CWD, path, folder::READ_AND_SEARCH)?;
    let device = fstat(&top)?.st_dev;
    let mut left = FILES;
    let mut bytes = 0;
    let mut open = vec![Dir::new(top)?];
    while let Some(folder) = open.last_mut() {
        // What cannot be listed any more has been removed.
        let Some(Ok(entry)) = folder.read() else {
            open.pop();
            continue;
        };
        let name = entry.file_name();
        if is_dots(name) {
            continue;
        }
        left = left.checked_sub(1).ok_or(Uncounted::Refused)?;
        match size_of(folder.fd()?, name) {
            Ok((more, inner)) => {
                bytes += more;
                open.extend(inner);
            }
            Err(Uncounted::Gone) => {}
            Err(Uncounted::Refused) => return Err(Uncounted::Refused),
        }
        if open.len() > DEEPEST {
            return Err(Uncounted::Refused);
        }
    }
    Ok((bytes, device))
}

/// The bytes of one file; opened, if it is a folder.
fn size_of(above: BorrowedFd<'_>, name: &CStr) -> Result<(u64, Option<Dir>), Uncounted> {
    let file = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let bytes = file.st_blocks.unsigned_abs() * 512;
    let folder = match FileType::from_raw_mode(file.st_mode) {
        FileType::Directory => Some(Dir::new(folder::open(
            above,
            name,
            folder::READ_AND_SEARCH,
        )?)?),
        _ => None,
    };
    Ok((bytes, folder))
}

pub(super) fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
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
