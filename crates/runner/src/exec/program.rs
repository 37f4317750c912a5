//! What a function is made of: an executable, or code of the runner itself.

use functions::catalog::Bundled;
use process::Command;

#[derive(Debug)]
pub(super) enum Program {
    File(Command),
    Native(Native),
}

/// A function that runs in this process.
#[derive(Clone, Copy)]
pub(super) struct Native(pub(super) &'static Bundled);

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Program {
    /// Whether both run the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => a.program() == b.program(),
            (Self::Native(a), Self::Native(b)) => a.0.name == b.0.name,
            _ => false,
        }
    }

    #[cfg(test)]
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(command) => command.program().display().to_string(),
            Self::Native(native) => format!("bundled {}", native.0.name),
        }
    }
}
