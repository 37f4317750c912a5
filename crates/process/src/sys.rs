//! The system calls that no safe crate offers in the form needed here. This is
//! the only unsafe code of the workspace; each block is one call with plain
//! integers or a local out-parameter.
#![allow(unsafe_code)]

use std::{fs, io, mem::MaybeUninit, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

/// Blocks until some child of this process has ended and returns its id,
/// without reaping it. `None`: there are no children.
pub(crate) fn wait_for_any_child() -> io::Result<Option<Pid>> {
    wait(libc::WEXITED | libc::WNOWAIT)
}

/// The same without blocking. `None`: none has ended.
pub(crate) fn any_ended_child() -> io::Result<Option<Pid>> {
    wait(libc::WEXITED | libc::WNOWAIT | libc::WNOHANG)
}

fn wait(options: i32) -> io::Result<Option<Pid>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` is valid for a write of siginfo_t, and zeroed before,
        // so that it is initialised whatever the kernel leaves out.
        let answer = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) };
        if answer == 0 {
            // SAFETY: waitid succeeded with WEXITED, so the SIGCHLD fields are set;
            // if none has ended they are zero, which is no process.
            return Ok(Pid::from_raw(unsafe { info.assume_init().si_pid() }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// How much processor time a process has used, all its threads together.
pub(crate) fn processor_time(pid: Pid) -> io::Result<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is valid for a write of its type.
    let error = unsafe { libc::clock_getcpuclockid(pid.as_raw_pid(), &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for a write of its type.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let part = |number: i64| number.unsigned_abs();
    Ok(Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec)))
}

/// Marks every open descriptor from `first` on as not to be inherited. Ours
/// already are (the standard library opens them so); this is for those that
/// whoever started us left open.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: only sets a flag on descriptors; no memory is involved.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if answer == 0 {
        return Ok(());
    }
    // Kernels before 5.11 know no such call or flag: one by one.
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let Some(fd) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if fd >= first {
            // SAFETY: as above. A descriptor closed meanwhile gives EBADF, which is fine.
            unsafe { libc::fcntl(fd.cast_signed(), libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Raises the limit of open descriptors to what the system allows: each running
/// function needs three, and the usual limit of 1,024 is soon used up.
pub fn raise_descriptor_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        )?;
    }
    Ok(())
}

/// Lets the allocator keep freed buffers of a list's size for the next ones. By
/// itself it gives most of them back at once, so that every call of 5 MB gets its
/// pages anew from the system, one fault each: a quarter of such a call's time.
/// Goes with [`give_back_freed_memory`]; to be called before there are threads.
#[cfg(target_env = "gnu")]
pub fn keep_freed_memory() {
    const MIB: libc::c_int = 1024 * 1024;
    // SAFETY: they set numbers of the allocator's, with its own locks. Refused
    // numbers change nothing.
    unsafe {
        // From this size on buffers come from the system and go back to it; more
        // is not accepted.
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 * MIB);
        // What may be free at the heap's end before that goes back.
        libc::mallopt(libc::M_TRIM_THRESHOLD, 512 * MIB);
        // One heap for all threads: only of the first does `malloc_trim` give
        // back the end.
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives memory that was freed back to the system: after sixteen calls of 5 MB at
/// a time a server would stay 150 MB large. Takes some milliseconds.
#[cfg(target_env = "gnu")]
pub fn give_back_freed_memory() {
    // SAFETY: works on the allocator's own, with its own locks; allowed at any time.
    unsafe { libc::malloc_trim(0) };
}

/// Other C libraries cannot be told.
#[cfg(not(target_env = "gnu"))]
pub fn keep_freed_memory() {}

/// Other C libraries keep less.
#[cfg(not(target_env = "gnu"))]
pub fn give_back_freed_memory() {}
