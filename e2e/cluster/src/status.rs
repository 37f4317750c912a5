//! What runs, at a glance.

use anyhow::{Result, bail};

use crate::component::Component;
use crate::layout::{root, state};
use crate::namespaces;

/// Whether `up` once succeeded and everything it started still runs.
#[must_use]
pub(crate) fn is_up() -> bool {
    state("ready").exists()
        && namespaces::holder().is_some()
        && Component::ALL
            .into_iter()
            .all(|component| component.running().is_ok())
}

/// Prints one line per component; an error means that the node is broken.
pub fn print() -> Result<()> {
    if !root().exists() {
        println!("no cluster is up");
        return Ok(());
    }
    for component in Component::ALL {
        match component.running() {
            Ok(process) => println!("{component:<24} runs, pid {}", process.pid()),
            Err(_) => println!("{component:<24} does not run"),
        }
    }
    if !is_up() {
        bail!("the cluster is broken or just starting: `make cluster` replaces a broken one");
    }
    println!("the cluster is up");
    Ok(())
}
