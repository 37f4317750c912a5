//! Why a program did not run to its end.

use std::{fmt, io, path::PathBuf};

use bytes::Bytes;

use crate::{gate::Refused, holder::Holder};

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("output exceeds {limit} bytes")]
    OutputTooLarge { limit: usize },
    #[error("deadline exceeded")]
    DeadlineExceeded { log: Bytes },
    /// The program has ended, but something that it started did not close the
    /// standard output in time, so that nobody knows whether it is whole.
    #[error("standard output is held open")]
    OutputHeldOpen { holder: Option<Holder>, log: Bytes },
    #[error("cannot read output")]
    Read(#[source] io::Error),
    /// The program was ended, or not even started, for want of memory.
    #[error("not enough memory: {needed} bytes needed, {available} available")]
    NotEnoughMemory {
        /// What it had when it was ended, now or last time.
        needed: u64,
        /// What there was for it, in bytes.
        available: u64,
        has_run: bool,
        /// No other program was in its way.
        was_alone: bool,
    },
    /// The program was ended because it took more than its profile allows.
    #[error("{bound}")]
    OverBound { bound: Bound, log: Bytes },
    /// No room became free in time.
    #[error("{running} calls run and {queued} wait")]
    NotBegunInTime { running: usize, queued: usize },
}

/// What a program took more of than its profile allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// In bytes.
    Memory {
        had: u64,
        most: u64,
    },
    Processes {
        had: usize,
        most: usize,
    },
    /// In bytes; too many files to count have all of them.
    TemporaryFiles {
        had: u64,
        most: u64,
    },
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { had, most } => {
                let (had, most) = (had >> 20, most >> 20);
                write!(f, "it had {had} MiB of memory, and may have {most} MiB")
            }
            Self::Processes { had, most } => {
                write!(f, "it had {had} processes, and may have {most}")
            }
            Self::TemporaryFiles { had: u64::MAX, .. } => {
                f.write_str("it had more temporary files than can be counted")
            }
            Self::TemporaryFiles { had, most } => {
                let (had, most) = (had >> 20, most >> 20);
                write!(
                    f,
                    "it had {had} MiB of temporary files, and may have {most} MiB"
                )
            }
        }
    }
}

impl From<Refused> for RunError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NeverFits { needed, available } => Self::NotEnoughMemory {
                needed,
                available,
                has_run: false,
                was_alone: true,
            },
            Refused::Late { running, queued } => Self::NotBegunInTime { running, queued },
        }
    }
}
