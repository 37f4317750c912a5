//! The project's own cases: inputs of ours, outputs of the real Go functions
//! (`docs/bundled-functions.md` says how they were made). Those of `starlark`, which is a
//! program of its own, are run by `starlark-function/tests/cases.rs`.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use functions::{
    Clock, Ended,
    catalog::{self, Bundled, Chosen},
};

/// Releases without cases, each with the release that it does the same as.
const SAME: &[(&str, &str)] = &[
    ("apply-setters@v0.2.1", "apply-setters@v0.2.2"),
    ("apply-setters@v0.2.0", "apply-setters@v0.2.2"),
    (
        "remove-local-config-resources@v0.1.0",
        "remove-local-config-resources@v0.1.1",
    ),
    (
        "set-enforcement-action@v0.1.0",
        "set-enforcement-action@v0.1.1",
    ),
    ("set-labels@v0.2.4", "set-labels@v0.2.5"),
    ("set-labels@v0.2.3", "set-labels@v0.2.5"),
    ("set-namespace@v0.3.1", "set-namespace@v0.3.0"),
];

/// Every release that runs in this process.
fn reproduced() -> impl Iterator<Item = Chosen> {
    let releases = catalog::FUNCTIONS.iter().flat_map(Bundled::reproduced);
    releases.filter(|chosen| !chosen.release.is_program())
}

/// The folders of the cases, by release.
fn cases() -> BTreeMap<String, Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = BTreeMap::new();
    for release in fs::read_dir(folder).expect("the cases").flatten() {
        let name = release.file_name().into_string().expect("a name");
        let paths = fs::read_dir(release.path()).expect("a folder").flatten();
        cases.insert(name, paths.map(|case| case.path()).collect());
    }
    cases
}

fn read(case: &Path, file: &str) -> String {
    fs::read_to_string(case.join(file)).expect("a file of the case")
}

fn run(release: Chosen, case: &Path) -> Ended {
    let input = read(case, "input.yaml");
    release
        .run(input.as_bytes(), &Clock::default())
        .expect("no deadline")
}

#[test]
fn outputs_and_exit_codes_are_those_of_the_go_functions() {
    for (name, paths) in cases() {
        let release = catalog::find(&name).unwrap();
        if release.release.is_program() {
            continue;
        }
        for case in paths {
            let (ended, shown) = (run(release, &case), case.display());
            assert_eq!(ended.stdout, read(&case, "output.yaml"), "{shown}");
            assert_eq!(
                ended.exit.to_string(),
                read(&case, "exit").trim(),
                "{shown}"
            );
        }
    }
}

#[test]
fn every_release_has_cases_or_does_the_same_as_one_that_has() {
    let cases = cases();
    let of_function = |function: &str| {
        let own = cases
            .iter()
            .filter(move |(name, _)| name.split('@').next() == Some(function));
        own.flat_map(|(_, paths)| paths).collect::<Vec<_>>()
    };
    for release in reproduced().filter(|release| release.release.is_released()) {
        let name = release.to_string();
        if cases.contains_key(&name) {
            continue;
        }
        let other = SAME.iter().find(|(own, _)| *own == name);
        let (_, other) = other.unwrap_or_else(|| panic!("{name} has no cases"));
        assert!(cases.contains_key(*other), "{other} has no cases");
        let other = catalog::find(other).unwrap();
        for case in of_function(release.function.name) {
            let shown = case.display();
            assert_eq!(run(release, case), run(other, case), "{name}: {shown}");
        }
    }
    for function in catalog::FUNCTIONS {
        let is_native = reproduced().any(|release| release.function.name == function.name);
        let count = of_function(function.name).len();
        assert!(!is_native || count >= 4, "{}: {count} cases", function.name);
    }
}
