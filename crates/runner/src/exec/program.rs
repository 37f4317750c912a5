//! What a function is made of: an executable, or code of the runner itself.

use functions::catalog::Chosen;
use process::Command;

#[derive(Debug)]
pub(crate) enum Program {
    File(Command),
    /// A function that runs in this process.
    Native(Chosen),
}

impl Program {
    /// Whether both run the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => a.program() == b.program(),
            (Self::Native(a), Self::Native(b)) => a == b,
            _ => false,
        }
    }

    #[cfg(test)]
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(command) => command.program().display().to_string(),
            Self::Native(native) => format!("bundled {native}"),
        }
    }
}
