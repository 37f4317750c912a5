//! Opens folders that a function made: by descriptor, because their path may be longer than
//! the system takes; never through a link, which may lead anywhere; and also those that the
//! function has closed to itself, because this server has the same user.

use std::{
    fs, io,
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
};

use rustix::{
    fs::{Mode, OFlags, fchmod, fstat, openat},
    io::Errno,
    path::Arg,
};

/// What is needed to look at everything in a folder.
pub(super) const READ_AND_SEARCH: Mode = Mode::RUSR.union(Mode::XUSR);

/// What is needed to take something out of a folder, or to move it elsewhere.
pub(super) const CHANGE: Mode = Mode::RWXU;

/// Opens the folder with this name. Its mode has what is `needed` afterwards.
pub(super) fn open(above: impl AsFd, name: impl Arg + Copy, needed: Mode) -> io::Result<OwnedFd> {
    let open = |how| {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | how;
        openat(above.as_fd(), name, flags, Mode::empty())
    };
    let folder = match open(OFlags::RDONLY) {
        Err(Errno::ACCESS) => {
            // A name could be replaced by a link meanwhile; a descriptor stays with its folder.
            let closed = open(OFlags::PATH)?;
            let itself = format!("/proc/self/fd/{}", closed.as_raw_fd());
            fs::set_permissions(itself, fs::Permissions::from_mode(0o700))?;
            open(OFlags::RDONLY)?
        }
        opened => opened?,
    };
    let mode = Mode::from_raw_mode(fstat(&folder)?.st_mode);
    if !mode.contains(needed) {
        fchmod(&folder, mode | needed)?;
    }
    Ok(folder)
}
