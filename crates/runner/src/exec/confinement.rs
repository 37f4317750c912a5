//! Begins the confinement of executables, and says once what it consists of.

use std::env;

use process::memory;

use crate::config::{Config, Confine};

/// To be called before anything is started.
pub(crate) fn begin(config: &Config) -> anyhow::Result<()> {
    if config.exec.confine == Confine::Off {
        tracing::warn!(
            "functions are not confined (--confine=off): executables can read the runner's files \
             and secrets, and end it"
        );
        return Ok(());
    }
    let budget = memory::budget(config.memory_budget);
    let offered = process::confine_beside(&env::temp_dir(), budget)?;
    match (offered.missing(), config.exec.confine) {
        (None, _) => tracing::info!("functions are confined: {offered}"),
        (Some(missing), Confine::Required) => anyhow::bail!(
            "functions cannot be confined, as --confine=required wants: this system lacks {missing}"
        ),
        (Some(missing), _) => tracing::warn!(
            "functions are confined in part: {offered}; without {missing} do not run executables \
             that you do not trust (--disable-runtimes=exec)"
        ),
    }
    Ok(())
}
