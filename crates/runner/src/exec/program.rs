//! What a function is made of: an executable, or code of the runner itself.

use functions::catalog::Chosen;
use process::Command;

#[derive(Debug)]
pub(crate) enum Program {
    File(Command),
    /// A release that a program beside the runner reproduces.
    Beside(Chosen, Command),
    /// A function that runs in this process.
    Native(Chosen),
}

impl Program {
    /// Whether both run the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => a == b,
            (Self::Native(a), Self::Native(b)) => a == b,
            (Self::Beside(a, _), Self::Beside(b, _)) => a == b,
            _ => false,
        }
    }

    /// The bundled release that it is, if it is one.
    pub(super) fn release(&self) -> Option<Chosen> {
        match self {
            Self::File(_) => None,
            Self::Beside(release, _) | Self::Native(release) => Some(*release),
        }
    }

    #[cfg(test)]
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(command) => command.program().display().to_string(),
            Self::Beside(native, _) | Self::Native(native) => format!("bundled {native}"),
        }
    }
}
