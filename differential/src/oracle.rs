//! The Go functions: built from their modules, and run.
//!
//! Each has a module of its own, so that it is built with the libraries of its release.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use functions::{Clock, catalog};
use go_programs::{Missing, Module, Program};

/// No function takes that long on a list of some objects.
const PATIENCE: Duration = Duration::from_secs(60);

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
    program: PathBuf,
}

/// What a run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: Vec<u8>,
}

/// The oracles that are built from modules.
pub(crate) fn built() -> Result<Vec<Oracle>> {
    let packages: Vec<String> = ORACLES
        .iter()
        .map(|(name, ..)| {
            let (function, _) = parts(name);
            format!("github.com/kptdev/krm-functions-catalog/functions/go/{function}")
        })
        .collect();
    let names: Vec<String> = ORACLES
        .iter()
        .map(|(name, ..)| format!("oracle-{name}"))
        .collect();
    let modules: Vec<Module<'_>> = ORACLES
        .iter()
        .zip(names.iter().zip(&packages))
        .map(|((name, go_mod, go_sum), (title, package))| {
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
            }
        })
        .collect();
    let directories = go_programs::obtain(&modules, Missing::Build)?;
    let oracles = ORACLES.iter().zip(directories);
    Ok(oracles
        .map(|((name, ..), directory)| Oracle::new(name, directory.join(parts(name).0)))
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
        }
    }

    /// What the Go function makes of a list.
    pub(crate) fn run(&self, input: &str, folder: &Path) -> Result<Outcome> {
        run(Command::new(&self.program), input, folder)
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
            return run(command, input, folder).map(Some);
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

/// Files in place of pipes: neither side ever waits for the other.
fn run(mut command: Command, input: &str, folder: &Path) -> Result<Outcome> {
    let (from, to) = (folder.join("input"), folder.join("output"));
    fs::write(&from, input)?;
    let mut child = command
        .env_clear()
        .stdin(File::open(&from)?)
        .stdout(File::create(&to)?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{command:?}"))?;
    let began = Instant::now();
    let exit = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    Ok(Outcome {
        exit,
        stdout: fs::read(&to)?,
    })
}
