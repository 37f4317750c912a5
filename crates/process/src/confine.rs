//! Confines programs: what they may reach of this machine, and of this process.
//!
//! Landlock rules, seccomp filters and capabilities belong to a thread, and the
//! processes that a thread starts inherit them. So nothing has to be done between
//! fork and exec, and `posix_spawn` keeps its speed: a thread that is confined for
//! one program starts that program (see [`launcher`]).
//!
//! - [`rules`]: which files a program may open, and whom it may signal (Landlock).
//! - [`filter`]: which system calls it may make (seccomp).
//! - [`scratch`]: its private directory for temporary files.
//! - [`limits`]: how much of each resource the kernel gives it.
//!
//! Protections that the kernel does not offer are left out and listed in [`Offered`];
//! the caller decides whether the rest is enough.

mod filter;
mod launcher;
pub(crate) mod limits;
mod rules;
pub(crate) mod scratch;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    process::Child,
    sync::OnceLock,
};

use launcher::Launcher;
use rules::{AllBut, Ground};
use rustix::fs::{Access, access};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
pub(crate) use scratch::Scratch;
use scratch::Shelf;

/// Most processes of one call, unless its profile says otherwise.
pub const PROCESSES: usize = 256;

/// What one program may reach and use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Profile {
    /// Whether it may open connections.
    pub network: bool,
    /// What it may read and execute beside the system's programs and its own folder.
    pub read_paths: Vec<PathBuf>,
    /// Of all its processes together, in bytes; `None`: what there is.
    pub memory: Option<u64>,
    /// Most processes at a time.
    pub processes: usize,
}

impl Default for Profile {
    /// For a program that needs nothing but the system's files.
    fn default() -> Self {
        Self {
            network: false,
            read_paths: Vec::new(),
            memory: None,
            processes: PROCESSES,
        }
    }
}

/// What is in force from now on, for programs with a profile.
#[derive(Debug)]
pub struct Offered {
    /// The kernel's version of Landlock; `None`: it has none.
    pub landlock: Option<i32>,
    /// What keeps system calls from being filtered.
    pub filter: Result<(), String>,
    /// Where temporary directories are made, or why there are none.
    pub scratch: Result<PathBuf, String>,
}

/// The first version of Landlock that keeps signals and abstract sockets inside.
const SCOPED: i32 = 6;

impl Offered {
    /// What is missing, if anything is that confinement cannot be without.
    pub fn missing(&self) -> Option<String> {
        let landlock = self.landlock.is_none().then(|| "Landlock".to_owned());
        let why = |what: &str, why: &String| format!("{what} ({why})");
        let filter = self.filter.as_ref().err();
        let scratch = self.scratch.as_ref().err();
        let missing = [
            landlock,
            filter.map(|error| why("a seccomp filter", error)),
            scratch.map(|error| why("temporary directories", error)),
        ];
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        (!missing.is_empty()).then(|| missing.join(", "))
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            None => f.write_str("no Landlock")?,
            Some(abi) if abi < SCOPED => write!(
                f,
                "Landlock ABI {abi} (files; signals only from ABI {SCOPED} on)"
            )?,
            Some(abi) => write!(f, "Landlock ABI {abi} (files, signals, abstract sockets)")?,
        }
        match &self.filter {
            Ok(()) => f.write_str(", seccomp filter")?,
            Err(why) => write!(f, ", no seccomp filter ({why})")?,
        }
        match &self.scratch {
            Ok(path) => write!(f, ", temporary directories in {}", path.display()),
            Err(why) => write!(f, ", no temporary directories ({why})"),
        }
    }
}

static CONFINEMENT: OnceLock<Confinement> = OnceLock::new();

/// One for the process, as its children are (see [`crate::children`]).
enum Confinement {
    Shared {
        without_network: Launcher,
        with_network: Launcher,
        shelf: Option<Shelf>,
        /// The memory that there is for programs.
        budget: u64,
    },
    Container {
        launcher: Launcher,
        /// If calls have temporary directories.
        apart: Option<Apart>,
    },
}

/// Temporary directories in a container, and what of it is not one of them.
struct Apart {
    shelf: Shelf,
    rest: AllBut,
}

impl Apart {
    /// Otherwise why not: then calls have what their container gives them, and lose nothing.
    fn new(temporary: &Path, landlock: Option<i32>) -> Result<Self, String> {
        if landlock.is_none_or(|abi| abi < rules::MOVES) {
            return Err("no Landlock that lets files be moved".to_owned());
        }
        let told = |error| format!("{}: {error}", temporary.display());
        let rest = AllBut::new(temporary).map_err(told)?;
        let is_open = |folder: &&Path| access(*folder, Access::WRITE_OK).is_ok();
        if let Some(open) = rest.hidden().ancestors().skip(1).find(is_open) {
            // A call could not open what another one adds there.
            return Err(format!("{} can be written to", open.display()));
        }
        let shelf = Shelf::new(rest.hidden(), scratch::MOST_IN_CONTAINER).map_err(told)?;
        Ok(Self { shelf, rest })
    }
}

impl Confinement {
    fn shelf(&self) -> Option<&Shelf> {
        match self {
            Self::Shared { shelf, .. } => shelf.as_ref(),
            Self::Container { apart, .. } => apart.as_ref().map(|apart| &apart.shelf),
        }
    }
}

/// From now on programs with a profile are confined. Temporary directories are made
/// below `temporary`; `budget` is the memory that there is for programs.
pub fn confine_beside(temporary: &Path, budget: u64) -> io::Result<Offered> {
    close_to_others()?;
    rules::open_system_paths();
    let shelf = Shelf::new(temporary, scratch::MOST);
    let (without_network, filter) = Launcher::new("confined", Some(false))?;
    let (with_network, _) = Launcher::new("networked", Some(true))?;
    let offered = Offered {
        landlock: rules::offered(),
        filter,
        scratch: match &shelf {
            Ok(shelf) => Ok(shelf.path().to_owned()),
            Err(error) => Err(format!("{}: {error}", temporary.display())),
        },
    };
    begin(Confinement::Shared {
        without_network,
        with_network,
        shelf: shelf.ok(),
        budget,
    })?;
    Ok(offered)
}

/// What is in force from now on in a container.
#[derive(Debug)]
pub struct OfferedInContainer {
    /// The kernel's version of Landlock; `None`: it has none.
    pub landlock: Option<i32>,
    /// What keeps calls from having temporary directories, where they should.
    pub scratch: Result<(), String>,
}

/// The same for a server in a container that is its program's own. Below `temporary`, if given,
/// each call gets a directory that no other call can read or write.
pub fn confine_in_container(temporary: Option<&Path>) -> io::Result<OfferedInContainer> {
    close_to_others()?;
    let (launcher, _) = Launcher::new("contained", None)?;
    let landlock = rules::offered();
    let apart = temporary.map(|temporary| Apart::new(temporary, landlock));
    let (apart, scratch) = match apart.transpose() {
        Ok(apart) => (apart, Ok(())),
        Err(why) => (None, Err(why)),
    };
    begin(Confinement::Container { launcher, apart })?;
    Ok(OfferedInContainer { landlock, scratch })
}

/// Removes what is left of temporary directories, at the end of this process.
pub fn remove_temporary_directories() {
    if let Some(shelf) = CONFINEMENT.get().and_then(Confinement::shelf) {
        shelf.remove();
    }
}

fn begin(confinement: Confinement) -> io::Result<()> {
    let begun = CONFINEMENT.set(confinement);
    begun.map_err(|_| io::Error::other("confinement has begun before"))
}

/// Other programs of the same user can neither read this process's memory and
/// environment nor attach to it.
fn close_to_others() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// A directory for a program's temporary files, where there is one.
pub(crate) fn scratch_for(
    profile: Option<&Profile>,
    program: &Path,
) -> io::Result<Option<Scratch>> {
    let shelf = CONFINEMENT.get().and_then(Confinement::shelf);
    let scratch = |(shelf, profile): (&Shelf, _)| shelf.scratch(Ground::of(program, profile));
    shelf.zip(profile).map(scratch).transpose()
}

/// Starts `command`, which runs `program`, as its profile says.
pub(crate) fn spawn(
    profile: Option<&Profile>,
    program: &Path,
    scratch: Option<&mut Scratch>,
    mut command: std::process::Command,
) -> io::Result<Child> {
    let (Some(begun), Some(profile)) = (CONFINEMENT.get(), profile) else {
        return command.spawn();
    };
    let cell = |path: Option<&Path>| {
        let (launcher, rules) = match begun {
            Confinement::Container { launcher, apart } => match (apart, path) {
                (Some(Apart { rest, .. }), Some(path)) => (launcher, rest.and(path)),
                _ => (launcher, rules::for_container()),
            },
            Confinement::Shared {
                without_network,
                with_network,
                ..
            } => {
                let launcher = if profile.network {
                    with_network
                } else {
                    without_network
                };
                (launcher, rules::for_shared(program, profile, path))
            }
        };
        launcher.cell(rules.map_err(io::Error::other)?)
    };
    let Some(scratch) = scratch else {
        return cell(None)?.start(command);
    };
    let cell = match scratch.cell.take() {
        Some(cell) => cell,
        None => cell(Some(scratch.path()))?,
    };
    let child = cell.start(command)?;
    // Kept for the next program only if it works: its thread may have ended.
    scratch.cell = Some(cell);
    Ok(child)
}

/// The limits of a program with this profile.
pub(crate) fn limits_of(profile: Option<&Profile>) -> limits::Limits {
    match (CONFINEMENT.get(), profile) {
        (Some(Confinement::Container { .. }), Some(_)) => limits::Limits::in_container(),
        (Some(Confinement::Shared { budget, .. }), Some(profile)) => {
            limits::Limits::beside(profile.memory.unwrap_or(*budget))
        }
        _ => limits::Limits::default(),
    }
}
