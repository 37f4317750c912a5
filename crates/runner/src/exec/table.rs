//! Which image is which executable, or which bundled function.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    fmt, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path},
    sync::Arc,
};

use process::{Command, Environment};
use tokio::sync::Semaphore;

use super::{bundled, file, program::Program};
use crate::{images, wanted};
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

/// Functions by full image reference, as the operator's file names them; what it
/// does not name is looked for among the bundled releases.
#[derive(Debug, Default)]
pub(super) struct Table {
    by_image: HashMap<String, Arc<Function>>,
    /// By `NAME@VERSION`.
    by_release: HashMap<String, Arc<Function>>,
    rules: Option<Rules>,
}

impl Table {
    pub(super) fn find(&self, image: &str) -> Option<&Arc<Function>> {
        self.by_image.get(image).or_else(|| {
            let chosen = reference::resolve(image, self.rules.as_ref()?).ok()?;
            self.released(chosen)
        })
    }

    /// The tags of a repository that can be run, in no order, some perhaps twice.
    pub(super) fn tags<'a>(&'a self, repository: &str) -> Vec<&'a str> {
        let listed = self.by_image.keys().filter_map(|image| {
            let is_its = wanted::repository(image) == repository && !image.contains('@');
            image
                .strip_prefix(repository)?
                .strip_prefix(':')
                .filter(|_| is_its)
        });
        let rules = self.rules.iter();
        let released = rules.flat_map(|rules| reference::releases(repository, rules));
        let released = released.filter(|chosen| self.released(*chosen).is_some());
        listed
            .chain(released.map(|chosen| chosen.release.version))
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
pub(super) enum Complaint {
    /// The function cannot be run: its images are left to other runtimes.
    Disabled { function: String, reason: String },
    /// A later entry claims an image, too: the first one keeps it.
    Duplicate { image: String, function: String },
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled { function, reason } => write!(
                f,
                "function {function:?} is disabled, its images are left to other runtimes: {reason}"
            ),
            Self::Duplicate { image, function } => write!(
                f,
                "image {image:?} is listed again for function {function:?}; its first entry counts"
            ),
        }
    }
}

/// Builds the table. Functions that `before` knows keep their places, so that
/// calls under way stay counted.
pub(super) fn build(
    entries: &[file::Entry],
    functions: &Path,
    rules: Option<&Rules>,
    default_image_prefix: &str,
    max_queued: usize,
    before: &Table,
) -> (Table, Vec<Complaint>) {
    let mut table = Table {
        rules: rules.cloned(),
        ..Table::default()
    };
    if rules.is_some() {
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
    for entry in entries {
        let program = match program(functions, rules.is_some(), &entry.function) {
            Ok(program) => program,
            Err(reason) => {
                complaints.push(Complaint::Disabled {
                    function: entry.function.clone(),
                    reason,
                });
                continue;
            }
        };
        let mut earlier = table.by_image.values().chain(before.by_image.values());
        let function = match earlier
            .find(|function| function.name == entry.function && function.program.is_same(&program))
        {
            Some(function) => Arc::clone(function),
            None => Arc::new(Function::new(&entry.function, program, max_queued)),
        };
        for image in &entry.images {
            let image = images::resolve(default_image_prefix, image);
            match table.by_image.entry(image) {
                Entry::Vacant(place) => {
                    place.insert(Arc::clone(&function));
                }
                Entry::Occupied(place) => complaints.push(Complaint::Duplicate {
                    image: place.key().clone(),
                    function: entry.function.clone(),
                }),
            }
        }
    }
    (table, complaints)
}

/// What `name` stands for: a file in `directory`, else a bundled function.
fn program(directory: &Path, with_bundled: bool, name: &str) -> Result<Program, String> {
    match check(directory, name) {
        Ok(()) => {
            let command = Command::new(directory.join(name), Environment::Minimal);
            Ok(Program::File(command))
        }
        // A file that is there but cannot be run is a mistake to be told.
        Err(reason) if !with_bundled || directory.join(name).exists() => Err(reason),
        Err(reason) => bundled::find(name).ok_or(reason),
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
mod tests {
    use super::*;

    fn entry(function: &str, images: &[&str]) -> file::Entry {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        file::Entry {
            function: function.to_owned(),
            images,
        }
    }

    fn built(entries: &[file::Entry], before: &Table) -> (Table, Vec<String>) {
        // A directory with executables that every machine has.
        let rules = Rules::default();
        let (table, complaints) = build(
            entries,
            Path::new("/bin"),
            Some(&rules),
            "example.com/",
            5,
            before,
        );
        (table, complaints.iter().map(ToString::to_string).collect())
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
