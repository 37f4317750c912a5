//! The functions that are bundled: one line per name. What each release does, and
//! which tags and digests stand for it, is in the function's own module.

use crate::{
    apply_replacements, ensure_name_substring,
    function::{self, Ended, Late},
    list::Reading,
    meter::Clock,
    release::{Behaviour, Release},
    remove_local_config, search_replace, set_annotations, set_enforcement_action, set_image,
    set_labels, set_namespace, set_project_id, setters, starlark, upsert_resource,
};

/// A bundled function.
#[allow(missing_debug_implementations, reason = "functions have no form")]
pub struct Bundled {
    /// The name of its image.
    pub name: &'static str,
    /// Newest first.
    pub releases: &'static [Release],
}

const fn bundled(name: &'static str, releases: &'static [Release]) -> Bundled {
    Bundled { name, releases }
}

/// Every bundled function, by name.
pub const FUNCTIONS: &[Bundled] = &[
    bundled("apply-replacements", apply_replacements::RELEASES),
    bundled("apply-setters", setters::apply::RELEASES),
    bundled("create-setters", setters::create::RELEASES),
    bundled("ensure-name-substring", ensure_name_substring::RELEASES),
    bundled("list-setters", setters::list::RELEASES),
    bundled(
        "remove-local-config-resources",
        remove_local_config::RELEASES,
    ),
    bundled("search-replace", search_replace::RELEASES),
    bundled("set-annotation", set_annotations::RELEASES_OF_OLD_NAME),
    bundled("set-annotations", set_annotations::RELEASES),
    bundled("set-enforcement-action", set_enforcement_action::RELEASES),
    bundled("set-image", set_image::RELEASES),
    bundled("set-label", set_labels::RELEASES_OF_OLD_NAME),
    bundled("set-labels", set_labels::RELEASES),
    bundled("set-namespace", set_namespace::RELEASES),
    bundled("set-project-id", set_project_id::RELEASES),
    bundled("starlark", starlark::RELEASES),
    bundled("upsert-resource", upsert_resource::RELEASES),
];

impl Bundled {
    /// The newest release that is reproduced.
    pub fn newest(&'static self) -> Option<Chosen> {
        let mut released = self
            .releases
            .iter()
            .filter(|release| release.number().is_some());
        let release = released.find(|release| release.is_reproduced())?;
        Some(self.chosen(release))
    }

    /// The release of this name, if it is reproduced.
    pub fn release(&'static self, version: &str) -> Option<Chosen> {
        let is_it = |release: &&Release| release.is_called(version) && release.is_reproduced();
        Some(self.chosen(self.releases.iter().find(is_it)?))
    }

    pub(crate) fn chosen(&'static self, release: &'static Release) -> Chosen {
        Chosen {
            function: self,
            release,
        }
    }

    /// The releases that are reproduced.
    pub fn reproduced(&'static self) -> impl Iterator<Item = Chosen> {
        let releases = self
            .releases
            .iter()
            .filter(|release| release.is_reproduced());
        releases.map(|release| self.chosen(release))
    }
}

/// A function in one of its releases.
#[derive(Clone, Copy)]
pub struct Chosen {
    pub function: &'static Bundled,
    pub release: &'static Release,
}

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// As `fn` and configurations name it.
impl std::fmt::Display for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.function.name, self.release.version)
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        self.function.name == other.function.name && self.release.version == other.release.version
    }
}

impl Eq for Chosen {}

impl Chosen {
    /// Runs the function on the bytes of a ResourceList. What a program reproduces
    /// cannot be run here.
    ///
    /// An input that is given away is not copied.
    pub fn run(&self, input: impl Into<Vec<u8>>, clock: &Clock) -> Result<Ended, Late> {
        self.run_reading(Reading::AsText, input, clock)
    }

    /// Runs the function on a list that is read in this way: the outcome is the same.
    pub fn run_reading(
        &self,
        reading: Reading,
        input: impl Into<Vec<u8>>,
        clock: &Clock,
    ) -> Result<Ended, Late> {
        match self.release.behaviour {
            Behaviour::Native { function, dialect } => {
                let name = self.function.name;
                let text = function::text(input.into());
                function::run(function, name, dialect, text, reading, clock)
            }
            Behaviour::Program | Behaviour::Unknown => Ok(Ended {
                exit: 1,
                stdout: String::new(),
                stderr: format!("{self} does not run in this process\n"),
            }),
        }
    }
}

impl Chosen {
    /// How many objects of a list this function reads as text, and how many there are.
    pub fn texts(&self, list: &str) -> (usize, usize) {
        match self.release.behaviour {
            Behaviour::Native { dialect, .. } => dialect.texts(list),
            Behaviour::Program | Behaviour::Unknown => (0, 0),
        }
    }
}

/// The function of a `NAME` (its newest release) or `NAME@VERSION`.
pub fn find(name: &str) -> Option<Chosen> {
    let (name, version) = match name.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (name, None),
    };
    let function = FUNCTIONS.iter().find(|function| function.name == name)?;
    match version {
        Some(version) => function.release(version),
        None => function.newest(),
    }
}

/// Every function's newest release that runs in this process.
pub fn native() -> impl Iterator<Item = Chosen> {
    let newest = FUNCTIONS.iter().filter_map(Bundled::newest);
    newest.filter(|chosen| !chosen.release.is_program())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_list_each_release_once_newest_first() {
        for function in FUNCTIONS {
            let numbers: Vec<_> = function
                .releases
                .iter()
                .filter_map(Release::number)
                .collect();
            let sorted = numbers.is_sorted_by(|a, b| a > b);
            assert!(sorted, "{}: {numbers:?}", function.name);
        }
    }

    #[test]
    fn a_name_is_its_newest_release_that_is_reproduced() {
        let newest = find("set-namespace").unwrap();
        assert_eq!(newest.to_string(), "set-namespace@v0.4.6");
        let named = find("set-namespace@v0.4.5").unwrap();
        assert_eq!(named.release.version, "v0.4.5");
        assert!(find("set-namespace@v9.9.9").is_none());
        assert!(find("no-function").is_none());
    }
}
