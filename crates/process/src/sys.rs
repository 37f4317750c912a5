//! The system calls that no safe crate offers in the form needed here. This is
//! the only unsafe code of the workspace; each block is one call with plain
//! integers or a local out-parameter.
#![allow(unsafe_code)]

use std::{
    fs, io,
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, OwnedFd},
    sync::{
        LazyLock, OnceLock,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

use crate::exit::Exit;

/// How a child ended, and the most memory that it had, as the kernel counts it:
/// its own or that of a child of its own, whichever is more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    /// In bytes. Not less than what this process had when it started the child:
    /// the kernel counts the moment in which both still share their memory.
    pub(crate) peak: u64,
}

/// How a child has ended, without reaping it: its number stays its own.
/// `None`: it has not. An error: there is no such child.
pub(crate) fn ended(pid: Pid) -> io::Result<Option<Ended>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `info` and `usage` are valid for writes of their types and zeroed
    // before. The system call, unlike the C function, also returns the usage. It
    // does not wait, so it is not interrupted.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_waitid,
            libc::P_PID,
            pid.as_raw_pid(),
            info.as_mut_ptr(),
            libc::WEXITED | libc::WNOWAIT | libc::WNOHANG,
            usage.as_mut_ptr(),
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are initialised; waitid succeeded with WEXITED, so the fields
    // of SIGCHLD are set, or zero if the child has not ended.
    let (info, usage) = unsafe { (info.assume_init(), usage.assume_init()) };
    // SAFETY: as above.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    let exit = match info.si_code {
        libc::CLD_EXITED => Exit::Code(status),
        _ => Exit::Signal(status),
    };
    Ok((pid != 0).then_some(Ended {
        exit,
        peak: usage.ru_maxrss.unsigned_abs() * 1024,
    }))
}

/// Some child of this process that has ended, without reaping it.
pub(crate) fn any_ended_child() -> Option<Pid> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: as in `ended`.
    let answer = unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) };
    // SAFETY: as in `ended`; zero is no process.
    let pid = unsafe { info.assume_init().si_pid() };
    (answer == 0).then(|| Pid::from_raw(pid)).flatten()
}

/// The most memory that this process ever had, in bytes.
pub(crate) fn own_peak() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for a write of its type, and zeroed before.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: initialised above.
    unsafe { usage.assume_init() }.ru_maxrss.unsigned_abs() * 1024
}

/// Rung by the kernel when a child of this process ends. There is one for the
/// life of the process, because the handler of a signal can only know a static.
static BELL: AtomicI32 = AtomicI32::new(-1);

extern "C" fn ring(_: libc::c_int) {
    ring_bell();
}

/// Wakes the thread that waits for the bell.
pub(crate) fn ring_bell() {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: may be called in a handler: `write` is safe there, `errno` is put
    // back as it was, and the buffer is local. Should nobody have waited for
    // ages, the write fails and the bell is rung already.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(BELL.load(Ordering::Relaxed), one.as_ptr().cast(), one.len());
        *libc::__errno_location() = errno;
    }
}

/// From now on the bell is rung at each child's end. This also replaces what our
/// parent may have set: with SIGCHLD ignored the kernel would reap our children by
/// itself, and their status would be lost.
pub(crate) fn listen_for_children(bell: &'static OwnedFd) -> io::Result<()> {
    BELL.store(bell.as_raw_fd(), Ordering::Relaxed);
    // SAFETY: a zeroed sigaction is a valid one: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let handler: extern "C" fn(libc::c_int) = ring;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
    // SAFETY: the action is valid, and the handler does only what handlers may.
    match unsafe { libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets this thread take SIGCHLD, which our parent may have blocked.
pub(crate) fn unblock_child_signal() {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid for writes, and initialised by the first call.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
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

/// The limit of open descriptors that this process was given, if it has raised it.
static GIVEN: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of open descriptors to what the system allows: each running
/// function needs three, and the usual limit of 1,024 is soon used up. Programs
/// that are started get back the limit that was there before.
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
        let _ = GIVEN.set(limit);
    }
    Ok(())
}

/// The limit of open descriptors that this process was given, if it has raised it.
pub(crate) fn given_descriptor_limit() -> Option<Rlimit> {
    GIVEN.get().copied()
}

/// The hard limit of another process; `None`: there is none, or no such process.
pub(crate) fn limit_of(pid: Pid, resource: Resource) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit64>::zeroed();
    // SAFETY: `limit` is valid for a write of its type, and nothing is set.
    let answer = unsafe {
        libc::prlimit64(
            pid.as_raw_pid(),
            resource as _,
            std::ptr::null(),
            limit.as_mut_ptr(),
        )
    };
    // SAFETY: zeroed, which is a valid value, and perhaps written.
    let limit = unsafe { limit.assume_init() }.rlim_max;
    (answer == 0 && limit != libc::RLIM64_INFINITY).then_some(limit)
}

/// How much sooner than this process a program is to be killed if the system
/// runs out of memory, of 1,000.
const SOONER: i32 = 500;

/// Makes the system rather kill this program than this process when it runs out
/// of memory. Raising the number needs no privilege.
pub(crate) fn make_first_to_go(pid: Pid) {
    static RAISED: LazyLock<Option<String>> = LazyLock::new(|| {
        let own = fs::read_to_string("/proc/self/oom_score_adj").ok()?;
        let own: i32 = own.trim().parse().ok()?;
        let raised = (own + SOONER).min(1000);
        (raised > own).then(|| raised.to_string())
    });
    if let Some(raised) = &*RAISED {
        // It may have ended already.
        let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), raised);
    }
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

/// Other C libraries have no such setting.
#[cfg(not(target_env = "gnu"))]
pub fn keep_freed_memory() {}

/// Other C libraries keep less.
#[cfg(not(target_env = "gnu"))]
pub fn give_back_freed_memory() {}
