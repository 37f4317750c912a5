//! The programs of a node: built from Go modules, and written down for those who come later.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
pub use go_programs::Missing;

use crate::layout::{admin_kubeconfig, state};
use crate::namespaces;
use crate::parts::Part;

/// The programs one node runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    directories: BTreeMap<String, PathBuf>,
}

impl Binaries {
    /// Finds the programs of these parts in the cache and builds what is not there.
    pub(crate) fn obtain(parts: &[Part], missing: Missing) -> Result<Self> {
        namespaces::require_visible(&go_programs::cache_directory()?)?;
        let modules: Vec<_> = parts.iter().map(|part| part.module()).collect();
        let directories = go_programs::obtain(&modules, missing)?;
        let names = parts.iter().map(|part| part.name().to_owned());
        Ok(Self {
            directories: names.zip(directories).collect(),
        })
    }

    /// distribution v3, built if it is not there and that is allowed. No node needs it: tests ask
    /// for it, and from inside the node there is no way to its sources.
    pub fn registry(missing: Missing) -> Result<PathBuf> {
        Self::on_demand(Part::Registry, missing)
    }

    /// kwok, which simulates nodes; the same holds for it.
    pub fn kwok(missing: Missing) -> Result<PathBuf> {
        Self::on_demand(Part::Kwok, missing)
    }

    /// The program of a part that has one of the same name.
    fn on_demand(part: Part, missing: Missing) -> Result<PathBuf> {
        let name = part.name();
        let binaries = Self::obtain(&[part], missing);
        let advice = || format!("run `cluster {name}` outside the node first");
        Ok(binaries.with_context(advice)?.program(name))
    }

    /// Writes down which programs the node runs, for those who come later.
    pub(crate) fn record(&self) -> Result<()> {
        fs::write(record(), serde_json::to_vec(&self.directories)?)?;
        Ok(())
    }

    /// The programs of the running node.
    pub fn recorded() -> Result<Self> {
        let text = fs::read(record()).context("no cluster is up: run `make cluster`")?;
        Ok(Self {
            directories: serde_json::from_slice(&text)?,
        })
    }

    /// The path of a program, by its name.
    ///
    /// # Panics
    /// If no part has such a program: names are written in this crate, not read.
    #[must_use]
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let has = |part: &&Part| part.programs().iter().any(|program| program.name == name);
        let part = Part::ALL.iter().find(has).expect("a program of some part");
        self.directories[part.name()].join(name)
    }

    /// kubectl with the administrator's access.
    #[must_use]
    pub(crate) fn kubectl(&self) -> Command {
        let mut command = Command::new(self.program("kubectl"));
        command.env("KUBECONFIG", admin_kubeconfig());
        command
    }
}

/// Removes what this crate put into the cache, and the cache if nothing else is in it.
pub fn clean() -> Result<()> {
    go_programs::clean(&Part::ALL.map(Part::name))
}

fn record() -> PathBuf {
    state("binaries.json")
}
