//! Which files a program may open, and whom it may signal: Landlock.
//!
//! A rule holds for the file or folder that its path led to when the rule was made.
//! Paths of the system are opened once; those of a function at each start, because its
//! folder may be replaced. `/proc` is readable as a whole: a rule for `/proc/self` would
//! hold for one process, not for those that it starts. The kernel itself keeps the
//! environment, memory and descriptors of other processes from a confined program.

use std::{
    io,
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

/// What rules are made of: programs with equal keys share their rules. Paths count with what
/// they lead to now.
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

/// The first version of Landlock that lets a program move files to other folders.
pub(super) const MOVES: i32 = 2;

/// All of a container's files but those below one folder, opened once.
#[derive(Debug)]
pub(super) struct AllBut {
    hidden: PathBuf,
    beside: Vec<PathFd>,
}

impl AllBut {
    /// What is added beside the folder later, or beside one above it, is not among them.
    pub(super) fn new(hidden: &Path) -> io::Result<Self> {
        // By a path through a link the folder would be found beside the link, and be opened.
        let hidden = hidden.canonicalize()?;
        let mut beside = Vec::new();
        for folder in hidden.ancestors().skip(1) {
            for entry in folder.read_dir()? {
                let entry = entry?;
                // What a link leads to has an entry of its own; and it might lead there.
                if entry.file_type()?.is_symlink() || hidden.starts_with(entry.path()) {
                    continue;
                }
                beside.extend(PathFd::new(entry.path()));
            }
        }
        Ok(Self { hidden, beside })
    }

    /// The folder, by its real path.
    pub(super) fn hidden(&self) -> &Path {
        &self.hidden
    }

    /// For a program in a container of its own, whose calls have folders of their own there.
    /// Folders can be listed: a rule for the root folder would hold for all files.
    pub(super) fn and(&self, scratch: &Path) -> Result<RulesetCreated, RulesetError> {
        let not_kept = make_bitflags!(AccessFs::{ReadDir | IoctlDev});
        let access = AccessFs::from_all(KNOWN) & !not_kept;
        let own = PathFd::new(scratch).ok();
        let mut rules = Ruleset::default()
            .handle_access(access)?
            .scope(Scope::from_all(KNOWN))?
            .create()?;
        for path in self.beside.iter().chain(&own) {
            rules = rules.add_rule(PathBeneath::new(path, access))?;
        }
        Ok(rules)
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn of_a_hidden_folder_only_the_own_part_is_open_and_everything_else_is() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["hidden/own", "hidden/other", "beside"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        fs::write(path("hidden/other/secret"), "of another call").unwrap();
        fs::write(path("plain"), "text").unwrap();
        // An image may have such a link.
        std::os::unix::fs::symlink(path("hidden"), path("link")).unwrap();
        for hidden in ["hidden", "link", "beside/../hidden"] {
            only_the_own_part_is_open(root.path(), hidden);
        }
    }

    fn only_the_own_part_is_open(root: &Path, hidden: &str) {
        let path = |name: &str| root.join(name);
        let rules = AllBut::new(&path(hidden)).unwrap();
        let rules = rules.and(&path(hidden).join("own")).unwrap();
        let tried = thread::scope(|scope| {
            let tries = || {
                rules.restrict_self().unwrap();
                for secret in ["hidden/other/secret", "link/other/secret"] {
                    let read = fs::read(path(secret)).map_err(|error| error.kind());
                    assert_eq!(read, Err(io::ErrorKind::PermissionDenied), "{secret}");
                }
                fs::write(path("hidden/other/mine"), "").unwrap_err();
                fs::remove_file(path("hidden/other/secret")).unwrap_err();
                // As before: in its own folder, and everywhere else.
                fs::write(path("hidden/own/file"), "mine").unwrap();
                fs::rename(path("hidden/own/file"), path("beside/file")).unwrap();
                assert_eq!(fs::read(path("plain")).unwrap(), b"text");
                assert!(fs::read_dir("/").unwrap().count() > 0);
                assert!(fs::read_dir(root).unwrap().count() > 0);
            };
            scope.spawn(tries).join()
        });
        tried.unwrap();
    }
}
