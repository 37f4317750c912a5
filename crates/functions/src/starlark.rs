//! `starlark`: its scripts run in a program of their own (`starlark-function/`),
//! which gets the version as its argument. Only the releases are listed here.

use crate::release::Release;

pub(crate) const RELEASES: &[Release] = &[
    Release::program("v0.5.6").of_2026(),
    Release::program("v0.5.5").also(&["master-20260113"]),
    Release::unknown("v0.5.2")
        .with_digests(&["sha256:95805cafaffa63449e9885c10a9c00bfc3f75c9794ee14b78e4723dcc9c71e76"]),
    Release::unknown("v0.5.1"),
    Release::unknown("v0.5.0"),
    Release::unknown("v0.4.3"),
    Release::unknown("v0.4.2"),
    Release::unknown("v0.4.1"),
    Release::unknown("v0.4.0"),
    Release::unknown("v0.3.0"),
    Release::unknown("v0.2.2"),
    Release::unknown("v0.2.1"),
    Release::unknown("v0.2.0"),
    Release::unknown("v0.1.2"),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];
