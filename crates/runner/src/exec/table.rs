//! Which image is which executable, or which bundled function.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    fmt, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use process::{Command, Environment};
use tokio::sync::Semaphore;

use super::{bundled, program::Program};
use crate::{
    args::DEFAULT_IMAGE_PREFIX,
    function_config::plain::{Bundled, Executable, Origin, PodRule, Split, Wanted},
};
use functions::{
    catalog::Chosen,
    reference::{self, Rules},
};

/// A function that can be run.
#[derive(Debug)]
pub(super) struct Function {
    name: String,
    pub(super) program: Program,
    /// One for each call that may be under way.
    pub(super) places: Semaphore,
}

impl Function {
    fn new(name: &str, program: Program, max_queued: usize) -> Self {
        Self {
            name: name.to_owned(),
            program,
            places: Semaphore::new(max_queued),
        }
    }
}

/// Functions by full image reference, as the operator's file and then objects name them.
/// What neither names is looked for among the bundled releases, unless an object wants
/// it run in a pod.
#[derive(Debug, Default)]
pub(super) struct Table {
    by_image: HashMap<String, Arc<Function>>,
    /// By base name: what objects want to be run in pods.
    pods: HashMap<String, PodRule>,
    /// By `NAME@VERSION`.
    by_release: HashMap<String, Arc<Function>>,
    rules: Option<Rules>,
}

impl Table {
    pub(super) fn find(&self, image: &str) -> Option<&Arc<Function>> {
        self.by_image.get(image).or_else(|| {
            let rules = self.rules.as_ref().filter(|_| !self.is_for_pods(image))?;
            self.released(reference::resolve(image, rules).ok()?)
        })
    }

    /// Whether an object wants the image to be run in pods: then no release of ours
    /// stands for it.
    pub(super) fn is_for_pods(&self, image: &str) -> bool {
        let split = Split::of(image);
        let rule = self.pods.get(split.name);
        rule.is_some_and(|rule| rule.is_about(&split))
    }

    /// The tags of a repository that can be run, in no order, some perhaps twice.
    pub(super) fn tags<'a>(&'a self, repository: &str) -> Vec<&'a str> {
        let tag_of = |image: &'a String| image.strip_prefix(repository)?.strip_prefix(':');
        let listed = self.by_image.keys().filter_map(tag_of);
        let rules = self.rules.iter();
        let released = rules.flat_map(|rules| reference::releases(repository, rules));
        let tags = listed.chain(released.map(|chosen| chosen.release.version));
        // Neither what stands behind a port's colon or before a digest, nor what is
        // left to other runtimes.
        tags.filter(|tag| !tag.contains(['/', '@']))
            .filter(|tag| self.find(&format!("{repository}:{tag}")).is_some())
            .collect()
    }

    /// The function of a bundled release.
    pub(super) fn released(&self, chosen: Chosen) -> Option<&Arc<Function>> {
        self.by_release.get(&chosen.to_string())
    }

    pub(super) fn images(&self) -> BTreeSet<&str> {
        self.by_image.keys().map(String::as_str).collect()
    }
}

/// What an operator should know about an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) origin: Origin,
    function: String,
    pub(super) what: Trouble,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The function cannot be run: its images are left to other runtimes.
    Disabled { reason: String },
    /// A later entry claims an image, too: the first one keeps it.
    Duplicate { image: String },
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = &self.function;
        match (&self.what, &self.origin) {
            (Trouble::Disabled { reason }, _) => write!(
                f,
                "function {function:?} is disabled, its images are left to other runtimes: {reason}"
            ),
            (Trouble::Duplicate { image }, Origin::File) => write!(
                f,
                "image {image:?} is listed again for function {function:?}; its first entry counts"
            ),
            (Trouble::Duplicate { image }, Origin::Object(_)) => write!(
                f,
                "image {image:?} is listed in the file of --config, which counts before objects"
            ),
        }
    }
}

/// Where programs may be.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The directory of `--functions`.
    pub(super) functions: PathBuf,
    /// Directories from which objects may name programs, too.
    pub(super) allowed: Vec<PathBuf>,
    /// Which references bundled functions answer; `None`: none.
    pub(super) bundled: Option<Rules>,
}

/// Builds the table: of entries for the same image the first one counts. Functions that
/// `before` knows keep their places, so that calls under way stay counted.
pub(super) fn build<'a>(
    entries: impl IntoIterator<Item = &'a Executable>,
    pods: HashMap<String, PodRule>,
    places: &Places,
    max_queued: usize,
    before: &Table,
) -> (Table, Vec<Complaint>) {
    let mut table = Table {
        rules: places.bundled.clone(),
        pods,
        ..Table::default()
    };
    if places.bundled.is_some() {
        for chosen in bundled::all() {
            let name = chosen.to_string();
            let known = before.by_release.get(&name).map(Arc::clone);
            let function = known.or_else(|| {
                let program = bundled::program(chosen)?;
                Some(Arc::new(Function::new(&name, program, max_queued)))
            });
            table
                .by_release
                .extend(function.map(|function| (name, function)));
        }
    }
    let mut complaints = Vec::new();
    let mut origins: HashMap<String, &Origin> = HashMap::new();
    for entry in entries {
        let name = entry.wanted.name();
        let mut complain = |what: Trouble| {
            let complaint = Complaint {
                origin: entry.origin.clone(),
                function: name.clone(),
                what,
            };
            if !complaints.contains(&complaint) {
                complaints.push(complaint);
            }
        };
        let program = match places.program(entry) {
            Ok(Some(program)) => program,
            Ok(None) => continue,
            Err(reason) => {
                complain(Trouble::Disabled { reason });
                continue;
            }
        };
        let mut earlier = table.by_image.values().chain(before.by_image.values());
        let function = match earlier
            .find(|function| function.name == name && function.program.is_same(&program))
        {
            Some(function) => Arc::clone(function),
            None => Arc::new(Function::new(&name, program, max_queued)),
        };
        for image in &entry.images {
            match table.by_image.entry(image.clone()) {
                Entry::Vacant(place) => {
                    place.insert(Arc::clone(&function));
                    origins.insert(image.clone(), &entry.origin);
                }
                // An object's executors may name a tag twice; they count in their order.
                Entry::Occupied(_)
                    if entry.origin != Origin::File
                        && origins.get(image) == Some(&&entry.origin) => {}
                Entry::Occupied(place) => complain(Trouble::Duplicate {
                    image: place.key().clone(),
                }),
            }
        }
    }
    (table, complaints)
}

impl Places {
    /// What an entry stands for: a file, else a bundled function. `None` if it is one
    /// that only Porch's server has.
    fn program(&self, entry: &Executable) -> Result<Option<Program>, String> {
        let (path, otherwise) = match &entry.wanted {
            Wanted::File { path, otherwise } => (path, otherwise),
            Wanted::Bundled(wanted) => return Ok(self.bundled(wanted)),
        };
        let checked = match &entry.origin {
            Origin::Object(_) if path.starts_with('/') => self.check_absolute(path),
            _ => check(&self.functions, path),
        };
        let whole = self.functions.join(path);
        match checked {
            Ok(()) => {
                let command = Command::new(whole, Environment::Minimal);
                let profile = entry.profile.clone();
                Ok(Some(Program::File(command.confined(profile))))
            }
            // A file that is there but cannot be run is a mistake to be reported.
            Err(reason) if self.bundled.is_none() || whole.exists() => Err(reason),
            Err(reason) => self.bundled(otherwise).map(Some).ok_or(reason),
        }
    }

    fn bundled(&self, wanted: &Bundled) -> Option<Program> {
        let rules = self.bundled.as_ref()?;
        match wanted {
            Bundled::Named(name) => bundled::find(name),
            Bundled::Tagged { name, tag } => {
                let image = format!("{}{name}:{tag}", DEFAULT_IMAGE_PREFIX.default);
                bundled::program(reference::resolve(&image, rules).ok()?)
            }
        }
    }

    /// A user who may write objects must not be able to run every file of this machine.
    fn check_absolute(&self, path: &str) -> Result<(), String> {
        let directories = std::iter::once(&self.functions).chain(&self.allowed);
        for directory in directories {
            let inside = Path::new(path).strip_prefix(directory);
            if let Some(inside) = inside.ok().and_then(Path::to_str) {
                return check(directory, inside);
            }
        }
        Err(format!(
            "{path} is neither below the --functions directory nor below one of \
             --allowed-binary-paths"
        ))
    }
}

/// Whether `name` is an executable file in `directory`.
fn check(directory: &Path, name: &str) -> Result<(), String> {
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let inside = Path::new(name).components().all(is_inside);
    if name.is_empty() || !inside {
        return Err("its name must be that of a file in the --functions directory".into());
    }
    let path = directory.join(name);
    let file = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !file.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    if file.permissions().mode() & 0o111 == 0 {
        return Err(format!("{} is not executable (chmod +x)", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod objects;
#[cfg(test)]
mod tests;
