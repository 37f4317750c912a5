//! The Go functions, built from their modules, and the releases of ours that have to do the same.
//!
//! Each has a module of its own, so that it is built with the libraries of its release.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use functions::{Clock, catalog};
use go_programs::{Form, Missing, Module, Program};

use crate::process::{Outcome, once};

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

/// A Go function, and the release of ours that has to do the same.
#[derive(Debug, Clone)]
pub(crate) struct Oracle {
    /// As in `set-namespace@v0.4.5`.
    pub(crate) name: String,
    pub(crate) function: String,
    pub(crate) program: PathBuf,
    /// The same program in the form that answers many lists, if it could be built.
    pub(crate) repeating: Option<PathBuf>,
}

/// The oracles that are built from modules.
pub(crate) fn built() -> Result<Vec<Oracle>> {
    let once = programs(Form::Once)?;
    let repeating = programs(Form::Repeating)?;
    let names = ORACLES.iter().map(|(name, ..)| *name);
    let oracles = names.zip(once.into_iter().zip(repeating));
    Ok(oracles
        .map(|(name, (once, repeating))| Oracle {
            repeating: Some(repeating),
            ..Oracle::new(name, once)
        })
        .collect())
}

/// The program of each oracle, in one of its forms.
fn programs(form: Form) -> Result<Vec<PathBuf>> {
    let title = match form {
        Form::Once => "oracle",
        Form::Repeating => "oracle-repeating",
    };
    let titles: Vec<[String; 2]> = ORACLES
        .iter()
        .map(|(name, ..)| {
            let (function, _) = parts(name);
            let package =
                format!("github.com/kptdev/krm-functions-catalog/functions/go/{function}");
            [format!("{title}-{name}"), package]
        })
        .collect();
    let modules: Vec<Module<'_>> = ORACLES
        .iter()
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
    let named = ORACLES.iter().zip(directories);
    Ok(named
        .map(|((name, ..), directory)| directory.join(parts(name).0))
        .collect())
}

/// More oracles: the programs of a folder, each named `FUNCTION@VERSION`.
pub(crate) fn in_folder(folder: &Path) -> Result<Vec<Oracle>> {
    let mut oracles = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            oracles.push(Oracle::new(name, path.clone()));
        }
    }
    oracles.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(oracles)
}

fn parts(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

impl Oracle {
    fn new(name: &str, program: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            function: parts(name).0.to_owned(),
            program,
            repeating: None,
        }
    }

    /// What ours makes of it; `None` if that release is not reproduced.
    pub(crate) fn ours(
        &self,
        input: &str,
        starlark: &Path,
        folder: &Path,
    ) -> Result<Option<Outcome>> {
        let Some(chosen) = catalog::find(&self.name) else {
            return Ok(None);
        };
        if chosen.release.is_program() {
            let mut command = Command::new(starlark);
            command.arg(chosen.release.version);
            return once(command, input, folder).map(Some);
        }
        let Ok(ended) = chosen.run(input.as_bytes(), &Clock::default()) else {
            bail!("{} took too long", self.name);
        };
        Ok(Some(Outcome {
            exit: Some(ended.exit.into()),
            stdout: ended.stdout.into_bytes(),
        }))
    }
}
