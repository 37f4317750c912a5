//! One call: feed, capture, wait, and end everything.

use std::{
    convert::Infallible, future::pending, io, os::fd::OwnedFd, path::PathBuf, time::Duration,
};

use bytes::{Bytes, BytesMut};
use rustix::pipe::fcntl_setpipe_size;
use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe,
    sync::oneshot,
    time::{Instant, sleep_until, timeout, timeout_at},
};

use crate::{
    capture::{CaptureError, Log, capture, capture_log},
    children::{self, Call, Exit, Started},
    command::Command,
};

/// How long a program's pipes may stay open after its end: helpers that it
/// started may still be writing. What holds them longer is ended.
const PIPES_CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// How long a killed program may take to go before the answer is given all the same.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// A pipe holds 64 KiB by default. For more input than that, a larger one saves
/// the program and us many turns; a megabyte is what every user may ask for.
const USUAL_PIPE: usize = 64 * 1024;
const LARGEST_PIPE: usize = 1024 * 1024;

/// What a call may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most bytes of standard output and log together.
    pub output: usize,
    /// When the program has to be done.
    pub deadline: Instant,
}

/// A program that ran to its end, good or bad.
#[derive(Debug)]
pub struct Completed {
    pub exit: Exit,
    pub stdout: Bytes,
    pub log: Bytes,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("output exceeds {limit} bytes")]
    OutputTooLarge { limit: usize },
    #[error("deadline exceeded")]
    DeadlineExceeded { log: Bytes },
    #[error("cannot read output")]
    Read(#[source] io::Error),
}

/// Runs `command` on `input`. Dropping the future ends the program, too.
pub async fn run(command: &Command, input: Bytes, limits: Limits) -> Result<Completed, RunError> {
    let started = Program::start(command).map_err(|source| RunError::Start {
        program: command.program().to_owned(),
        source,
    })?;
    started.run(input, limits).await
}

/// A started program that has not been given its input. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) call: Call,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) exit: oneshot::Receiver<Exit>,
}

impl Program {
    pub(crate) fn start(command: &Command) -> io::Result<Self> {
        let Started {
            call,
            stdin,
            stdout,
            stderr,
            exit,
        } = children::start(command)?;
        Ok(Self {
            call,
            stdin: pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?,
            stdout: pipe::Receiver::from_owned_fd(OwnedFd::from(stdout))?,
            stderr: pipe::Receiver::from_owned_fd(OwnedFd::from(stderr))?,
            exit,
        })
    }

    /// Feeds the program and waits for its end.
    pub(crate) async fn run(self, input: Bytes, limits: Limits) -> Result<Completed, RunError> {
        let Self {
            call,
            mut stdin,
            mut stdout,
            stderr,
            mut exit,
        } = self;
        if input.len() > USUAL_PIPE {
            let size = input.len().min(LARGEST_PIPE);
            // Refused if this user's pipes hold much already: then it stays as it is.
            let _ = fcntl_setpipe_size(&stdin, size);
            let _ = fcntl_setpipe_size(&stdout, size);
        }
        // Most functions change little: their output is about as long as their input.
        let mut output = BytesMut::with_capacity((input.len() + 4096).min(limits.output));
        let mut log = Log::default();
        let conversation = async {
            let feed = async move {
                // A program that does not read all of its input is within its rights;
                // closing our end of the pipe tells it where the input ends. The
                // input may be large: its memory is free again from here on.
                let _ = stdin.write_all(&input).await;
                drop((stdin, input));
                pending::<Infallible>().await
            };
            let listen = async {
                let log = async {
                    capture_log(stderr, &mut log).await;
                    Ok(())
                };
                tokio::try_join!(capture(&mut stdout, &mut output, limits.output), log)
            };
            tokio::select! {
                captured = listen => captured.map(|_| ()),
                never = feed => match never {},
            }
        };

        let ended = until_end(conversation, &mut exit, limits.deadline).await;
        // The program has ended, or has to: everything it started goes with it.
        drop(call);
        if !exit.is_terminated() {
            // Gone, not only told to go, when the caller hears of it.
            let _ = timeout(GONE_WITHIN, exit).await;
        }
        let log = log.into_bytes();
        match ended {
            Ok(end) if output.len() + log.len() <= limits.output => Ok(Completed {
                exit: end,
                stdout: output.freeze(),
                log,
            }),
            Ok(_) | Err(Interrupted::OutputTooLarge) => Err(RunError::OutputTooLarge {
                limit: limits.output,
            }),
            Err(Interrupted::Deadline) => Err(RunError::DeadlineExceeded { log }),
            Err(Interrupted::Read(error)) => Err(RunError::Read(error)),
        }
    }
}

/// Why a program is ended by us.
enum Interrupted {
    Deadline,
    OutputTooLarge,
    Read(io::Error),
}

impl From<CaptureError> for Interrupted {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::TooLarge => Self::OutputTooLarge,
            CaptureError::Read(error) => Self::Read(error),
        }
    }
}

/// Waits until the program has ended and its pipes are closed, or have been open
/// for long enough after its end.
async fn until_end(
    conversation: impl Future<Output = Result<(), CaptureError>>,
    exit: &mut oneshot::Receiver<Exit>,
    deadline: Instant,
) -> Result<Exit, Interrupted> {
    let mut conversation = std::pin::pin!(conversation);
    // Cancel-safe: all are polled by reference and go on where they were.
    let end = tokio::select! {
        captured = &mut conversation => {
            captured?;
            timeout_at(deadline, exit).await.map_err(|_| Interrupted::Deadline)?
        }
        end = &mut *exit => {
            let closed_by = deadline.min(Instant::now() + PIPES_CLOSE_WITHIN);
            if let Ok(captured) = timeout_at(closed_by, conversation).await {
                captured?;
            }
            end
        }
        () = sleep_until(deadline) => return Err(Interrupted::Deadline),
    };
    end.map_err(|_| Interrupted::Read(io::Error::other("the program's exit status was lost")))
}
