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
            // A file that is there but cannot be run is a mistake to be told.
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

    /// Whoever may write objects must not be able to run everything that there is here.
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
mod tests {
    use super::*;
    use crate::exec::file;

    pub(super) fn entry(function: &str, images: &[&str]) -> Executable {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        file::Entry::new(function, images).read("example.com/")
    }

    pub(super) fn built(entries: &[Executable], before: &Table) -> (Table, Vec<String>) {
        let (table, complaints) = build(entries, HashMap::new(), &places(), 5, before);
        (table, complaints.iter().map(ToString::to_string).collect())
    }

    pub(super) fn places() -> Places {
        Places {
            // A directory with executables that every machine has.
            functions: "/bin".into(),
            allowed: vec!["/usr/bin".into()],
            bundled: Some(Rules::default()),
        }
    }

    #[test]
    fn images_are_found_by_exact_reference_after_prefix_resolution() {
        let entries = [
            entry("sh", &["a/sh:v1", "sh:v2"]),
            entry("cat", &["a/cat@sha256:0"]),
        ];
        let (table, complaints) = built(&entries, &Table::default());
        assert!(complaints.is_empty());
        assert_eq!(
            table.images().into_iter().collect::<Vec<_>>(),
            ["a/cat@sha256:0", "a/sh:v1", "example.com/sh:v2"]
        );
        assert_eq!(
            table.find("example.com/sh:v2").unwrap().program.name(),
            "/bin/sh"
        );
        assert!(table.find("a/sh").is_none());
    }

    #[test]
    fn the_first_entry_of_an_image_wins() {
        let entries = [entry("sh", &["a/b"]), entry("cat", &["a/b", "a/c"])];
        let (table, complaints) = built(&entries, &Table::default());
        assert_eq!(table.find("a/b").unwrap().name, "sh");
        assert_eq!(table.find("a/c").unwrap().name, "cat");
        assert_eq!(
            complaints,
            ["image \"a/b\" is listed again for function \"cat\"; its first entry counts"]
        );
    }

    #[test]
    fn bundled_releases_answer_what_the_file_does_not_name() {
        let taken = "gcr.io/kpt-fn/apply-setters:v0.2.0";
        let entries = [
            entry("sh", &[taken]),
            entry("apply-setters@v0.2.1", &["a/setters:v1"]),
        ];
        let (table, complaints) = built(&entries, &Table::default());
        assert_eq!(complaints, [""; 0]);
        for (image, program) in [
            (taken, "/bin/sh"),
            ("a/setters:v1", "bundled apply-setters@v0.2.1"),
            (
                "gcr.io/kpt-fn/apply-setters:v0.2.2",
                "bundled apply-setters@v0.2.2",
            ),
        ] {
            assert_eq!(table.find(image).unwrap().program.name(), program);
        }
        assert!(table.find("gcr.io/kpt-fn/apply-setters:v9.9.9").is_none());
    }

    #[test]
    fn the_tags_of_a_repository_are_those_of_the_file_and_of_bundled_releases() {
        let setters = "gcr.io/kpt-fn/apply-setters";
        let digest = format!("{setters}:v7@sha256:{}", "0".repeat(64));
        let entries = [
            entry(
                "sh",
                &["h:5000/sh:v1", "h:5000/sh:v2", "h:5000/sh", "h:5000/sh2:v3"],
            ),
            entry("cat", &[&format!("{setters}:v9.0.0"), &digest]),
            entry("no-such-function", &["h:5000/sh:v4"]),
        ];
        let (table, _) = built(&entries, &Table::default());
        let sorted = |repository| {
            let mut tags = table.tags(repository);
            tags.sort_unstable();
            tags
        };
        assert_eq!(sorted("h:5000/sh"), ["v1", "v2"]);
        assert!(sorted("h").is_empty() && sorted("other/sh").is_empty());
        let tags = sorted(setters);
        assert!(
            tags.contains(&"v9.0.0") && tags.contains(&"v0.2.0"),
            "{tags:?}"
        );
        // Only on the registry of today.
        assert!(
            !tags.contains(&"v0.2.5") && !tags.contains(&"v7"),
            "{tags:?}"
        );
        for tag in tags {
            assert!(table.find(&format!("{setters}:{tag}")).is_some(), "{tag}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_disabled_and_told() {
        for (function, reason) in [
            ("../bin/sh", "its name must be that of a file"),
            ("/bin/sh", "its name must be that of a file"),
            ("", "its name must be that of a file"),
            ("no-such-function", "No such file or directory"),
            (".", "is not a file"),
        ] {
            let (table, complaints) = built(&[entry(function, &["a/b"])], &Table::default());
            assert!(table.images().is_empty(), "{function}");
            assert!(complaints[0].contains(reason), "{complaints:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        fs::write(folder.path().join("text"), "x").unwrap();
        assert!(
            check(folder.path(), "folder")
                .unwrap_err()
                .ends_with("is not a file")
        );
        assert!(
            check(folder.path(), "text")
                .unwrap_err()
                .ends_with("(chmod +x)")
        );
    }

    #[test]
    fn calls_under_way_stay_counted_when_the_file_changes() {
        let (before, _) = built(&[entry("sh", &["a/b"])], &Table::default());
        let _call = before.find("a/b").unwrap().places.try_acquire().unwrap();
        let (after, _) = built(&[entry("sh", &["a/b", "a/c"])], &before);
        assert_eq!(after.find("a/c").unwrap().places.available_permits(), 4);
    }
}
