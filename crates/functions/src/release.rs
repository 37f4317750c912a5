//! The releases of a function: one table per function, newest first, of what was
//! released and how each release behaves.
//!
//! A release that exists but is not reproduced is listed, too: a moving tag that
//! stands for it must not be answered by an older one.

use crate::{function::Function, list::Dialect};

/// A release of a function.
#[allow(missing_debug_implementations, reason = "functions have no form")]
pub struct Release {
    /// Its tag, such as `v0.4.5`; for what was never released, where it is from.
    pub version: &'static str,
    /// Other names of the same: the commit that it was built from.
    pub(crate) also: &'static [&'static str],
    /// Digests of its image, where known.
    pub digests: &'static [&'static str],
    /// Whether the catalog's former registry has it.
    pub(crate) is_on_former_registry: bool,
    pub(crate) behaviour: Behaviour,
}

/// How a release is reproduced.
pub(crate) enum Behaviour {
    /// By code of this process, with the options of that release.
    Native {
        function: &'static dyn Function,
        dialect: Dialect,
    },
    /// By a program beside the runner, which gets the version as its argument.
    Program,
    /// Not at all.
    Unknown,
}

impl Release {
    const fn new(version: &'static str, behaviour: Behaviour) -> Self {
        Self {
            version,
            also: &[],
            digests: &[],
            is_on_former_registry: true,
            behaviour,
        }
    }

    /// A release that `function` reproduces.
    pub(crate) const fn native(
        version: &'static str,
        dialect: Dialect,
        function: &'static dyn Function,
    ) -> Self {
        Self::new(version, Behaviour::Native { function, dialect })
    }

    /// A release that the program beside the runner reproduces.
    pub(crate) const fn program(version: &'static str) -> Self {
        Self::new(version, Behaviour::Program)
    }

    /// A release that is not reproduced.
    pub(crate) const fn unknown(version: &'static str) -> Self {
        Self::new(version, Behaviour::Unknown)
    }

    pub(crate) const fn with_digests(mut self, digests: &'static [&'static str]) -> Self {
        self.digests = digests;
        self
    }

    pub(crate) const fn also(mut self, names: &'static [&'static str]) -> Self {
        self.also = names;
        self
    }

    /// A release of 2026: the former registry has none of those.
    pub(crate) const fn of_2026(mut self) -> Self {
        self.is_on_former_registry = false;
        self
    }

    /// Whether it was released: an image of it can be.
    pub fn is_released(&self) -> bool {
        self.number().is_some()
    }

    pub fn is_reproduced(&self) -> bool {
        !matches!(self.behaviour, Behaviour::Unknown)
    }

    /// Whether the release needs the program beside the runner.
    pub fn is_program(&self) -> bool {
        matches!(self.behaviour, Behaviour::Program)
    }

    /// Whether it is called so.
    pub fn is_called(&self, version: &str) -> bool {
        self.version == version || self.also.contains(&version)
    }

    /// Its number; `None` for what was never released.
    pub(crate) fn number(&self) -> Option<[u32; 3]> {
        number(self.version)
    }
}

/// The number of `vX.Y.Z`.
pub(crate) fn number(version: &str) -> Option<[u32; 3]> {
    let parts: Vec<u32> = parts(version)?;
    parts.try_into().ok()
}

/// The numbers of a tag such as `v0.4` or `v0.4.5`.
pub(crate) fn parts(tag: &str) -> Option<Vec<u32>> {
    let part = |part: &str| part.parse().ok().filter(|_| !part.starts_with('+'));
    tag.strip_prefix('v')?.split('.').map(part).collect()
}
