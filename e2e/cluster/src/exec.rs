//! Running something inside the node.

use std::process::ExitStatus;

use anyhow::{Context, Result};

use crate::binaries::Binaries;
use crate::layout::admin_kubeconfig;
use crate::namespaces;

/// Runs a command inside, with kubectl in its PATH and `KUBECONFIG` set, and waits for it.
pub fn exec(command: &[&str]) -> Result<ExitStatus> {
    let (program, arguments) = command.split_first().context("no command was given")?;
    let kubectl = Binaries::recorded()?.program("kubectl");
    let mut path = kubectl
        .parent()
        .context("kubectl's directory")?
        .as_os_str()
        .to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut inside = namespaces::enter(program.as_ref())?;
    inside
        .args(arguments)
        .env("KUBECONFIG", admin_kubeconfig())
        .env("PATH", path);
    inside
        .status()
        .with_context(|| format!("could not run {program}"))
}
