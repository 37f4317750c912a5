//! The configuration in force: every flag with its value, the environment variables that
//! are read, and settings that have no effect, with the reason.

use goflags::{Flags, Group};
use serde::{Deserialize, Serialize};

/// The runner's configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) flags: Vec<Setting>,
    /// Variables of the environment that say something about this runner.
    pub(crate) variables: Vec<(String, String)>,
    /// What was said without an effect, and why it has none.
    pub(crate) ignored: Vec<(String, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) flag: String,
    pub(crate) value: String,
    /// Given on the command line, not the default.
    pub(crate) is_given: bool,
}

/// Words in a variable's name that may mean a secret.
const SECRET: [&str; 5] = ["HEADERS", "TOKEN", "PASSWORD", "SECRET", "KEY"];

impl Configuration {
    /// `groups` are all flags; those whose title names the pod runtime have no effect
    /// without it, and so on.
    pub(crate) fn of(
        flags: &Flags,
        groups: &[Group],
        without: &[&str],
        environment: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let mut shown = Self::default();
        for group in groups {
            let runtime = without.iter().find(|runtime| {
                let title = group.title.to_ascii_lowercase();
                title.contains(&format!("{runtime} runtime"))
            });
            for flag in group.flags {
                let Ok(value) = flags.text(flag.name) else {
                    continue;
                };
                if ["help", "h", "version"].contains(&flag.name) {
                    continue;
                }
                let is_given = flags.is_given(flag.name);
                if let Some(runtime) = runtime.filter(|_| is_given) {
                    let why = format!("the {runtime} runtime is disabled (--disable-runtimes)");
                    shown.ignored.push((format!("--{}", flag.name), why));
                }
                shown.flags.push(Setting {
                    flag: flag.name.to_owned(),
                    value,
                    is_given,
                });
            }
        }
        let ours = environment.filter(|(name, _)| {
            name.starts_with("OTEL_") || name == "WRAPPER_SERVER_IMAGE" || name == "RUST_LOG"
        });
        shown.variables = ours
            .map(|(name, value)| {
                let is_secret = SECRET.iter().any(|word| name.contains(word));
                (
                    name,
                    if is_secret {
                        "(not shown)".to_owned()
                    } else {
                        value
                    },
                )
            })
            .collect();
        shown.variables.sort();
        shown
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::args::FLAGS;

    #[test]
    fn what_has_no_effect_is_told_with_its_reason_and_secrets_are_not_shown() {
        let words = ["--pod-ttl=5m", "--port=1"].map(OsString::from);
        let flags = goflags::parse(FLAGS, words).unwrap();
        let environment = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2"),
            ("OTEL_SERVICE_NAME", "runner"),
            ("HOME", "/root"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let shown = Configuration::of(&flags, FLAGS, &["pod"], environment.into_iter());
        let port = shown.flags.iter().find(|flag| flag.flag == "port").unwrap();
        assert!(port.is_given && port.value == "1");
        assert_eq!(shown.ignored.len(), 1);
        assert_eq!(shown.ignored[0].0, "--pod-ttl");
        let told = serde_json::to_string(&shown).unwrap();
        assert!(
            !told.contains("hunter2") && !told.contains("/root"),
            "{told}"
        );
        assert!(told.contains("OTEL_SERVICE_NAME"), "{told}");
    }
}
