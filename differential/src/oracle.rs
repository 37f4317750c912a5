//! The Go functions, and the releases of ours that have to do the same.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use functions::{Clock, catalog};
use go_programs::Form;

use crate::{
    modules::{parts, programs},
    process::{Outcome, once},
};

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
    let once = programs(Form::Once, |_| true)?;
    let repeating = programs(Form::Repeating, |_| true)?;
    let oracles = once.into_iter().zip(repeating);
    Ok(oracles
        .map(|((name, once), (_, repeating))| Oracle {
            repeating: Some(repeating),
            ..Oracle::new(name, once)
        })
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
