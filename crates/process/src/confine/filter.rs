//! Which system calls a program may make: seccomp.
//!
//! Everything is allowed but the calls that are listed here. A refused call fails with
//! EPERM; a call that programs can do without fails with ENOSYS, as on an older kernel.

use std::{collections::BTreeMap, env};

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

/// Calls that have no business in a function.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Namespaces and file systems.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    // What outlives its process, or is shared by all of a user's.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Programs fall back to others, or do without. The flags of `clone3` are in memory, where a
/// filter cannot look; `io_uring` makes calls that no filter sees; memory of `memfd_create`
/// belongs to no process, so that nobody could be blamed for it. Landlock bounds neither
/// who is told of new names in a folder, those of other calls' directories among them, nor
/// who changes a file's attributes and access rights: see decision 0140.
const UNKNOWN: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_memfd_create,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
];

/// Has the same number everywhere; not every version of `libc` knows it.
const SETXATTRAT: c_long = 463;

#[cfg(target_arch = "x86_64")]
const UNKNOWN_HERE: &[c_long] = &[libc::SYS_inotify_init];
#[cfg(not(target_arch = "x86_64"))]
const UNKNOWN_HERE: &[c_long] = &[];

/// The flags of `clone` that make a namespace.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Filters this thread and whatever it starts.
pub(super) fn apply(network: bool) -> Result<(), String> {
    let programs = [refuse(network), deny_unknown()];
    for program in programs {
        let program = program.map_err(|error| error.to_string())?;
        apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

fn refuse(network: bool) -> Built<BpfProgram> {
    let all = REFUSED.iter().chain(REFUSED_HERE);
    let mut rules: Rules = all.map(|call| (*call, Vec::new())).collect();
    let mut only_if = |call: c_long, conditions: Vec<SeccompCondition>| {
        let rule = SeccompRule::new(conditions)?;
        rules.entry(call).or_default().push(rule);
        Ok(())
    };
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    for namespace in NAMESPACES {
        let flag = u64::from(namespace.cast_unsigned());
        only_if(libc::SYS_clone, vec![argument(0, MaskedEq(flag), flag)?])?;
    }
    if !network {
        let unix = u64::from(libc::AF_UNIX.cast_unsigned());
        only_if(libc::SYS_socket, vec![argument(0, Ne, unix)?])?;
    }
    // Whether a process can be looked at is this server's business.
    let dumpable = u64::from(libc::PR_SET_DUMPABLE.cast_unsigned());
    only_if(libc::SYS_prctl, vec![argument(0, Eq, dumpable)?])?;
    // Limits and priorities of others of the same user, this server's among them.
    only_if(
        libc::SYS_prlimit64,
        vec![argument(0, Ne, 0)?, pointer(2, Ne, 0)?],
    )?;
    only_if(libc::SYS_setpriority, vec![argument(1, Ne, 0)?])?;
    only_if(libc::SYS_ioprio_set, vec![argument(1, Ne, 0)?])?;
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        only_if(call, vec![argument(0, Ne, 0)?])?;
    }
    // The limit that marks a call's processes: see `limits`.
    let mark = u64::from(libc::RLIMIT_MSGQUEUE);
    only_if(
        libc::SYS_prlimit64,
        vec![argument(1, Eq, mark)?, pointer(2, Ne, 0)?],
    )?;
    only_if(libc::SYS_setrlimit, vec![argument(0, Eq, mark)?])?;
    compile(rules, libc::EPERM)
}

fn deny_unknown() -> Built<BpfProgram> {
    let all = UNKNOWN.iter().chain(UNKNOWN_HERE);
    let rules = all.map(|call| (*call, Vec::new())).collect();
    let mut program = without_x32();
    program.extend(compile(rules, libc::ENOSYS)?);
    Ok(program)
}

/// Every call has a second number on x86-64, for a kind of program that hardly
/// anybody has seen: it would pass a filter that knows the first.
fn without_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let step = |code: u32, jt, jf, k| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    if cfg!(not(target_arch = "x86_64")) {
        return Vec::new();
    }
    vec![
        // The call's number is the first word of what a filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, REFUSE),
    ]
}

fn argument(index: u8, operation: SeccompCmpOp, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operation, value)
}

fn pointer(index: u8, operation: SeccompCmpOp, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Qword, operation, value)
}

fn compile(rules: Rules, errno: i32) -> Built<BpfProgram> {
    let architecture: TargetArch = env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?.try_into()
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use rustix::{
        fs::{XattrFlags, fsetxattr, inotify, lsetxattr, setxattr},
        io::Errno,
        thread::set_no_new_privs,
    };

    use super::*;

    #[test]
    fn names_in_folders_are_not_announced_and_files_have_no_attributes_as_on_other_kernels() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tried = || {
            set_no_new_privs(true).unwrap();
            apply(false).unwrap();
            let flags = XattrFlags::empty();
            let watched = inotify::init(inotify::CreateFlags::CLOEXEC).map(drop);
            let set = [
                setxattr(file.path(), c"user.x", b"1", flags),
                lsetxattr(file.path(), c"user.x", b"1", flags),
                fsetxattr(&file, c"user.x", b"1", flags),
            ];
            // What programs cannot do without.
            let mode = file.as_file().metadata().unwrap().permissions();
            fs::set_permissions(file.path(), mode).unwrap();
            (watched, set)
        };
        let (watched, set) = thread::scope(|scope| scope.spawn(tried).join().unwrap());
        assert_eq!(watched, Err(Errno::NOSYS));
        assert_eq!(set, [Err(Errno::NOSYS); 3]);
    }
}
