//! The rules as plain data, and what they say about an image: pure.

use std::sync::Arc;

pub(crate) use metrics::functions::Runtime;
use registry::{Digest, PublicKey, Reference};

use super::pattern::{Pattern, Tags};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Whether functions that are part of the runner answer, whatever the rules say.
    pub(super) bundled: bool,
    /// What the wrapper server's image has to show.
    pub(super) wrapper: Option<Verify>,
    pub(super) rules: Vec<Rule>,
}

/// What counts for the images that one of its patterns matches, unless an earlier rule
/// matches them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) patterns: Vec<Pattern>,
    /// `None`: none of them may run.
    pub(super) allows: Option<Conditions>,
}

/// Under which an image may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    pub(super) require_digest: bool,
    /// Empty: in each of them.
    pub(super) runtimes: Vec<Runtime>,
    pub(super) verify: Option<Verify>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verify {
    pub(crate) mode: Mode,
    pub(crate) keys: Arc<[PublicKey]>,
}

/// What happens to an image without a good signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Enforce,
    /// It runs, and the log says so.
    Warn,
}

/// What is to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) image: &'a Reference,
    /// What the image stands for, where that is known.
    pub(crate) digest: Option<&'a Digest>,
    pub(crate) runtime: Runtime,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision<'p> {
    Allow {
        /// `None`: of a bundled function.
        rule: Option<&'p str>,
        /// What the image has to show besides.
        verify: Option<&'p Verify>,
    },
    Deny(Denial),
}

/// Why an image may not run, and what would have to be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denial {
    #[error(
        "no rule of the image policy allows it; ask whoever operates the runner for a rule, or use \
         an image that is allowed"
    )]
    NoRule,
    #[error(
        "rule {rule:?} of the image policy denies it; ask whoever operates the runner which image \
         to use instead"
    )]
    Denied { rule: String },
    #[error("rule {rule:?} of the image policy allows it by digest only; ask for {instead}")]
    WithoutDigest { rule: String, instead: String },
    #[error(
        "rule {rule:?} of the image policy does not allow it in the {} runtime, only in \
         {allowed}",
        runtime.name()
    )]
    Runtime {
        rule: String,
        runtime: Runtime,
        allowed: String,
    },
    #[error("the image policy does not allow bundled functions (bundled: deny)")]
    Bundled,
}

impl Policy {
    /// The first rule that matches counts; what none matches may not run.
    pub(crate) fn decide(&self, subject: &Subject<'_>) -> Decision<'_> {
        let Subject {
            image,
            digest,
            runtime,
        } = *subject;
        if runtime == Runtime::Bundled {
            return if self.bundled {
                Decision::Allow {
                    rule: None,
                    verify: None,
                }
            } else {
                Decision::Deny(Denial::Bundled)
            };
        }
        let Some(rule) = self.rules.iter().find(|rule| rule.matches(image, digest)) else {
            return Decision::Deny(Denial::NoRule);
        };
        let name = || rule.name.clone();
        let Some(conditions) = &rule.allows else {
            return Decision::Deny(Denial::Denied { rule: name() });
        };
        let Conditions {
            require_digest,
            runtimes,
            verify,
        } = conditions;
        if !runtimes.is_empty() && !runtimes.contains(&runtime) {
            let allowed: Vec<_> = runtimes.iter().map(|runtime| runtime.name()).collect();
            return Decision::Deny(Denial::Runtime {
                rule: name(),
                runtime,
                allowed: allowed.join(" and "),
            });
        }
        if *require_digest && image.digest().is_none() {
            let instead = match digest {
                Some(digest) => format!("{}, if that is the one", image.pinned(digest)),
                None => format!("{}@sha256:…", image.repository()),
            };
            return Decision::Deny(Denial::WithoutDigest {
                rule: name(),
                instead,
            });
        }
        Decision::Allow {
            rule: Some(&rule.name),
            // An executable of the operator's own has no signature.
            verify: verify.as_ref().filter(|_| runtime == Runtime::Pod),
        }
    }

    /// Whether some tag or digest of the image's repository could be allowed: if not, its
    /// registry need not be asked anything.
    pub(crate) fn has_a_chance(&self, image: &Reference) -> Result<(), Denial> {
        for rule in &self.rules {
            let mut patterns = rule.patterns.iter();
            let Some(pattern) = patterns.find(|pattern| pattern.matches_repository(image)) else {
                continue;
            };
            if rule.allows.is_some() {
                return Ok(());
            }
            let is_whole = |pattern: &Pattern| {
                pattern.is_of_repositories() && pattern.matches_repository(image)
            };
            if is_whole(pattern) || patterns.any(is_whole) {
                let rule = rule.name.clone();
                return Err(Denial::Denied { rule });
            }
        }
        Err(Denial::NoRule)
    }
}

impl Rule {
    fn matches(&self, image: &Reference, digest: Option<&Digest>) -> bool {
        let tags = match self.allows {
            Some(_) => Tags::OnlyWithoutDigest,
            None => Tags::Believed,
        };
        let mut patterns = self.patterns.iter();
        patterns.any(|pattern| pattern.matches(image, digest, tags))
    }
}

#[cfg(test)]
mod tests;
