//! `starlark`: its scripts run in a program of their own (`starlark-function/`),
//! which gets the version as its argument. Here are the releases, and how each
//! reads and writes lists.

use crate::{
    function::{self, Clock, Ended, Function, Late},
    list::{Dialect, Reading, W1, W2, W4},
    release::{Release, number},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::program("v0.5.6").of_2026(),
    Release::program("v0.5.5").also(&["master-20260113"]),
    Release::program("v0.5.2")
        .with_digests(&["sha256:95805cafaffa63449e9885c10a9c00bfc3f75c9794ee14b78e4723dcc9c71e76"]),
    Release::program("v0.5.1"),
    Release::program("v0.5.0"),
    Release::program("v0.4.3"),
    Release::program("v0.4.2"),
    Release::program("v0.4.1"),
    Release::program("v0.4.0"),
    Release::program("v0.3.0"),
    Release::program("v0.2.2"),
    Release::program("v0.2.1"),
    Release::program("v0.2.0"),
    Release::unknown("v0.1.2"),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];

/// The release of a name, as its tag and number; the newest without a name.
pub fn release(name: Option<&str>) -> Option<(&'static str, [u32; 3])> {
    let mut releases = RELEASES.iter();
    let release = releases.find(|release| name.is_none_or(|name| release.is_called(name)))?;
    Some((release.version, number(release.version)?))
}

/// Runs the function as a release of it reads and writes lists.
pub fn run(
    function: &dyn Function,
    version: &str,
    input: impl Into<Vec<u8>>,
    clock: &Clock,
) -> Result<Ended, Late> {
    function::run(
        function,
        "starlark",
        dialect(version),
        function::text(input.into()),
        Reading::AsText,
        clock,
    )
}

fn dialect(version: &str) -> Dialect {
    match number(version) {
        Some(number) if number < [0, 2, 1] => W1,
        Some(number) if number < [0, 4, 0] => W2,
        _ => W4,
    }
}
