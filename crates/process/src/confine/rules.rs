//! Which files a program may open, and whom it may signal: Landlock.
//!
//! Rules are about what a path led to when the rule was made. Those of the system
//! are opened once; those of a function at each start, because its folder may be
//! replaced. `/proc` is readable as a whole: a rule for `/proc/self` would hold for
//! one process, not for those that it starts. What other processes have to hide
//! (environment, memory, descriptors) the kernel keeps from a confined program
//! there by itself.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::LazyLock,
    thread,
};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};

use super::Profile;

/// The newest version whose rights are known here; older kernels get what they know.
const KNOWN: ABI = ABI::V6;

/// Programs, their libraries, and what they need for TLS.
const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc/ssl",
    "/etc/ld.so.cache",
];

/// What the C library reads to look up a name.
const RESOLVER: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// A path below which something is allowed.
type Allowed = (PathFd, BitFlags<AccessFs>);

/// Opened once; what there is not on this machine is left out.
static ALWAYS: LazyLock<Vec<Allowed>> = LazyLock::new(|| {
    let read = AccessFs::from_read(KNOWN);
    let device = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});
    let proc = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let mut allowed = open(without_nested(SYSTEM), read);
    allowed.extend(open(["/proc".into()], proc));
    allowed.extend(open(DEVICES.iter().map(PathBuf::from), device));
    allowed
});

static FOR_NETWORK: LazyLock<Vec<Allowed>> = LazyLock::new(|| {
    let read = AccessFs::ReadFile.into();
    open(RESOLVER.iter().map(PathBuf::from), read)
});

fn open(paths: impl IntoIterator<Item = PathBuf>, access: BitFlags<AccessFs>) -> Vec<Allowed> {
    let open = |path: PathBuf| Some((PathFd::new(path).ok()?, access));
    paths.into_iter().filter_map(open).collect()
}

/// What the paths lead to, without what is below another one: on many systems
/// `/bin` and `/lib` are below `/usr`.
fn without_nested(paths: &[&str]) -> Vec<PathBuf> {
    let real: Vec<PathBuf> = paths
        .iter()
        .filter_map(|path| Path::new(path).canonicalize().ok())
        .collect();
    let is_nested = |path: &PathBuf| {
        let covers = |other: &PathBuf| other != path && path.starts_with(other);
        real.iter().any(covers)
    };
    real.iter()
        .filter(|path| !is_nested(path))
        .cloned()
        .collect()
}

/// What rules are made of: whoever has the same needs no others. Paths count with what they
/// lead to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ground {
    paths: Vec<PathBuf>,
    led_to: Vec<Option<(u64, u64)>>,
    network: bool,
}

impl Ground {
    pub(super) fn of(program: &Path, profile: &Profile) -> Self {
        let folder = program.parent().map(Path::to_owned);
        let paths: Vec<PathBuf> = [program.to_owned()]
            .into_iter()
            .chain(folder)
            .chain(profile.read_paths.iter().cloned())
            .collect();
        let led_to = |path: &PathBuf| path.metadata().ok().map(|file| (file.dev(), file.ino()));
        Self {
            led_to: paths.iter().map(led_to).collect(),
            paths,
            network: profile.network,
        }
    }
}

/// For a program beside this process.
pub(super) fn for_shared(
    program: &Path,
    profile: &Profile,
    scratch: Option<&Path>,
) -> Result<RulesetCreated, RulesetError> {
    let read = AccessFs::from_read(KNOWN);
    // A link's own folder, and that of what it leads to.
    let real = program.canonicalize().ok();
    let folders = [Some(program), real.as_deref()].map(|path| path.and_then(Path::parent));
    let mut folders: Vec<&Path> = folders.into_iter().flatten().collect();
    folders.dedup();
    let own = folders.into_iter().map(Path::to_owned);
    let mut of_function = open(own.chain(profile.read_paths.iter().cloned()), read);
    // It may not execute what it wrote.
    let write = AccessFs::from_all(KNOWN) & !BitFlags::from(AccessFs::Execute);
    of_function.extend(open(scratch.map(Path::to_owned), write));
    let for_network = FOR_NETWORK.iter().filter(|_| profile.network);
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    for (path, access) in ALWAYS.iter().chain(for_network).chain(&of_function) {
        rules = rules.add_rule(PathBeneath::new(path, *access))?;
    }
    Ok(rules)
}

/// For a program in a container of its own: only what leads out of its processes.
pub(super) fn for_container() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().scope(Scope::from_all(KNOWN))?.create()
}

/// Opens what does not change, so that no start has to.
pub(super) fn open_system_paths() {
    LazyLock::force(&ALWAYS);
    LazyLock::force(&FOR_NETWORK);
}

/// The kernel's version of Landlock. Found out by a thread that confines itself.
pub(super) fn offered() -> Option<i32> {
    let tried = thread::spawn(|| {
        let rules = Ruleset::default()
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create);
        rules.and_then(RulesetCreated::restrict_self)
    });
    match tried.join().ok()?.ok()?.landlock {
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => Some(kernel_abi.unwrap_or(effective_abi as i32)),
        _ => None,
    }
}
