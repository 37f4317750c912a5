//! The Go functions of the catalog that can be had as modules. Also read by `bench`.
//!
//! Each has a module of its own, so that it is built with the libraries of its release.

use std::path::PathBuf;

use anyhow::Result;
use go_programs::{Form, Missing, Module, Program};

macro_rules! oracle {
    ($folder:literal) => {
        (
            $folder,
            include_str!(concat!("../go/", $folder, "/go.mod")),
            include_str!(concat!("../go/", $folder, "/go.sum")),
        )
    };
}

/// Function and release, and what pins them.
const ORACLES: &[(&str, &str, &str)] = &[
    oracle!("apply-replacements@v0.1.5"),
    oracle!("apply-replacements@v0.1.6"),
    oracle!("apply-setters@v0.2.2"),
    oracle!("apply-setters@v0.2.5"),
    oracle!("apply-setters@v0.3.0"),
    oracle!("create-setters@v0.1.4"),
    oracle!("ensure-name-substring@v0.2.4"),
    oracle!("search-replace@v0.2.4"),
    oracle!("set-namespace@v0.4.5"),
    oracle!("set-namespace@v0.4.6"),
    oracle!("starlark@v0.5.5"),
    oracle!("starlark@v0.5.6"),
    oracle!("upsert-resource@v0.2.4"),
];

/// The programs of the functions that are wanted, each under its name and release, in one of its forms.
pub(crate) fn programs(
    form: Form,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let title = match form {
        Form::Once => "oracle",
        Form::Repeating => "oracle-repeating",
    };
    let wanted = || ORACLES.iter().filter(|(name, ..)| is_wanted(name));
    let titles: Vec<[String; 2]> = wanted()
        .map(|(name, ..)| {
            let (function, _) = parts(name);
            let package =
                format!("github.com/kptdev/krm-functions-catalog/functions/go/{function}");
            [format!("{title}-{name}"), package]
        })
        .collect();
    let modules: Vec<Module<'_>> = wanted()
        .zip(&titles)
        .map(|((name, go_mod, go_sum), [title, package])| {
            let (function, version) = parts(name);
            Module {
                name: title,
                go_mod,
                go_sum,
                main_go: None,
                linker_flags: "-s -w".to_owned(),
                programs: vec![Program {
                    name: function,
                    package,
                    version,
                }],
                form,
            }
        })
        .collect();
    let directories = go_programs::obtain(&modules, Missing::Build)?;
    Ok(wanted()
        .zip(directories)
        .map(|((name, ..), directory)| (*name, directory.join(parts(name).0)))
        .collect())
}

/// Function and release.
pub(crate) fn parts(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}
