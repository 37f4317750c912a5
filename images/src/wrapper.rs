//! The wrapper's image: one static program under its three names, and no shell.
//!
//! ```text
//! /wrapper-server/wrapper-server
//! /wrapper-server/grpc-health-probe     -> wrapper-server
//! /home/nonroot/wrapper-server          -> /wrapper-server
//! /bin/cp                               -> /wrapper-server/wrapper-server
//! ```
//! Templates copy the first directory by either of its names. The link in it is relative, so it also
//! holds where it was copied to, and the program is stored once here and in every pod.

use std::path::Path;

use crate::layout::{Entry, ImageSpec, Packing};
use crate::{HOME, USER, accounts, labels, link};

const DIRECTORY: &str = "wrapper-server";

/// The image, from the directory with the release binaries.
#[must_use]
pub fn wrapper(binaries: &Path) -> ImageSpec {
    let program = format!("{DIRECTORY}/wrapper-server");
    let mut entries = vec![
        Entry::program(&program, binaries.join("wrapper-server")),
        link(format!("{DIRECTORY}/grpc-health-probe"), "wrapper-server"),
        link(format!("{HOME}/wrapper-server"), format!("/{DIRECTORY}")),
        link("bin/cp", format!("/{program}")),
    ];
    entries.extend(accounts());
    ImageSpec {
        entries,
        entrypoint: vec![format!("/{program}")],
        user: Some(USER.to_owned()),
        env: vec!["PATH=/bin".to_owned()],
        labels: labels("wrapper-server"),
        packing: Packing::Small,
        ..ImageSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_the_one_program() {
        let spec = wrapper(Path::new("release"));
        let target_of = |path: &str| {
            spec.entries.iter().find_map(|entry| match entry {
                Entry::Link { path: link, target } if link == path => Some(target.as_str()),
                _ => None,
            })
        };
        assert_eq!(
            target_of("wrapper-server/grpc-health-probe"),
            Some("wrapper-server")
        );
        assert_eq!(
            target_of("home/nonroot/wrapper-server"),
            Some("/wrapper-server")
        );
        assert_eq!(target_of("bin/cp"), Some("/wrapper-server/wrapper-server"));
        let is_program = |entry: &&Entry| matches!(entry, Entry::Program { .. });
        assert_eq!(spec.entries.iter().filter(is_program).count(), 1);
    }
}
