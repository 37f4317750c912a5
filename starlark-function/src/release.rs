//! What the releases of the function do differently.

use crate::lang::{Dialect, dialect::Edition};

/// A release, as its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    number: [u32; 3],
}

impl Release {
    /// The release of a name; the newest without one.
    pub(crate) fn named(name: Option<&str>) -> Option<Self> {
        let (version, number) = functions::starlark::release(name)?;
        Some(Self { version, number })
    }

    fn is_since(self, minor: u32, patch: u32) -> bool {
        self.number >= [0, minor, patch]
    }

    /// The interpreter's version and options.
    pub(crate) fn dialect(self) -> Dialect {
        let edition = match self {
            it if it.is_since(5, 6) => Edition::March2026,
            it if it.is_since(5, 1) => Edition::April2025,
            it if it.is_since(5, 0) => Edition::March2023,
            it if it.is_since(3, 0) => Edition::September2021,
            it if it.is_since(2, 0) => Edition::April2021,
            _ => Edition::March2020,
        };
        Dialect {
            edition,
            permissive: self.is_since(3, 0),
            complete: self.is_since(2, 0),
        }
    }

    /// Whether the functions SDK reads and writes the list, not kustomize's
    /// framework.
    pub(crate) fn uses_sdk(self) -> bool {
        self.is_since(4, 0)
    }

    /// Whether that is the SDK of before May 2022.
    pub(crate) fn uses_first_sdk(self) -> bool {
        self.uses_sdk() && !self.is_since(4, 3)
    }

    /// Whether configurations are StarlarkRun only, and items are edited in place.
    pub(crate) fn is_first(self) -> bool {
        !self.is_since(2, 0)
    }

    /// The apiVersion of the list that scripts see.
    pub(crate) fn list_version(self) -> &'static str {
        if self.is_since(2, 1) {
            "config.kubernetes.io/v1"
        } else {
            "config.kubernetes.io/v1alpha1"
        }
    }

    /// Whether scripts can load modules.
    pub(crate) fn has_modules(self) -> bool {
        self.is_since(3, 0)
    }

    /// Whether `json.encode_indent` exists.
    pub(crate) fn has_encode_indent(self) -> bool {
        self.dialect().edition >= Edition::March2026
    }

    pub(crate) fn has_krmfn(self) -> bool {
        self.is_since(4, 1)
    }

    /// How apiVersion and kind are compared.
    pub(crate) fn matching(self) -> Matching {
        match self {
            it if it.is_since(5, 5) => Matching::Loose,
            it if it.is_since(5, 1) => Matching::Broken,
            _ => Matching::Exact,
        }
    }

    /// The program's name where the configuration has none, or counts for nothing.
    pub(crate) fn default_name(self) -> &'static str {
        if self.is_since(5, 1) {
            "starlark-function-run"
        } else {
            "stalark-function-run"
        }
    }

    /// Whether the configuration's name is the program's.
    pub(crate) fn takes_name(self) -> bool {
        self.is_since(2, 1) || self.is_first()
    }

    /// Whether a missing configuration is reported as missing.
    pub(crate) fn tells_missing_config(self) -> bool {
        self.is_since(4, 3)
    }
}

/// How apiVersion and kind are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matching {
    /// As they are.
    Exact,
    /// Configurations by group and kind; objects never if they have a group.
    Broken,
    /// What is empty, on either side, fits everything.
    Loose,
}
