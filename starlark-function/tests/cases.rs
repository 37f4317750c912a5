//! The project's own cases: scripts of ours. The outputs of v0.5.5 and v0.5.6 are those of the
//! Go programs; of earlier releases there was none at hand, and the outputs are this program's
//! (`docs/bundled-functions.md`).

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use functions::catalog;

/// Releases without cases, each with the release that it does the same as.
const SAME: [(&str, &str); 3] = [
    ("v0.5.2", "v0.5.1"),
    ("v0.4.2", "v0.4.1"),
    ("v0.2.1", "v0.2.2"),
];

fn cases(release: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/functions/tests/cases");
    let cases = fs::read_dir(folder.join(format!("starlark@{release}")));
    let cases = cases.into_iter().flatten().flatten();
    cases.map(|case| case.path()).collect()
}

fn read(case: &Path, file: &str) -> String {
    fs::read_to_string(case.join(file)).expect("a file of the case")
}

/// The exit code, and what is written.
fn run(release: &str, input: &str) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_starlark-function"))
        .arg(release)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input is piped");
    stdin
        .write_all(input.as_bytes())
        .expect("it takes its input");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let code = output.status.code().expect("an exit code");
    let text = String::from_utf8(output.stdout).expect("the list is text");
    (code.to_string(), text)
}

/// Every release that is reproduced.
fn releases() -> impl Iterator<Item = &'static str> {
    let starlark = catalog::FUNCTIONS.iter().find(|it| it.name == "starlark");
    let releases = starlark.expect("it is in the catalog").reproduced();
    releases.map(|chosen| chosen.release.version)
}

#[test]
fn scripts_do_what_they_did_in_each_release() {
    for release in releases() {
        for case in cases(release) {
            let expected = (
                read(&case, "exit").trim().to_owned(),
                read(&case, "output.yaml"),
            );
            let ended = run(release, &read(&case, "input.yaml"));
            assert_eq!(ended, expected, "{}", case.display());
        }
    }
}

#[test]
fn every_release_has_cases_or_does_the_same_as_one_that_has() {
    for release in releases() {
        let own = cases(release).len();
        if own > 0 {
            assert!(own >= 4, "{release}: {own} cases");
            continue;
        }
        let other = SAME.iter().find(|(same, _)| *same == release);
        let (_, other) = other.unwrap_or_else(|| panic!("{release} has no cases"));
        assert!(!cases(other).is_empty(), "{other} has no cases");
        for case in cases(other).iter().chain(&cases("v0.5.6")) {
            let input = read(case, "input.yaml");
            let shown = case.display();
            assert_eq!(
                run(release, &input),
                run(other, &input),
                "{release}: {shown}"
            );
        }
    }
}
