//! One call: feed, capture, wait, and end everything.

use std::{convert::Infallible, future::pending, io, os::fd::OwnedFd, time::Duration};

use bytes::{Bytes, BytesMut};
use metrics::processes;
use rustix::pipe::fcntl_setpipe_size;
use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe,
    sync::oneshot,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    capture::{CaptureError, Log, capture, capture_log},
    children::{self, Call, Started},
    command::{Command, Variable},
    confine::{Scratch, limits::Mark},
    error::{Bound, RunError},
    exit::Exit,
    gate::{Outgrown, Over, Place, Subject},
    holder, strays,
    sys::{self, Ended},
};

/// How long a log may stay open after the program's end and the end of its
/// output: helpers that it started may still be writing. A process that holds it longer is
/// ended. Standard output has no such limit: a list without its end is not a list.
/// Only that of a program that failed does, because nothing is made of it but
/// what the program reported.
const LOG_CLOSES_WITHIN: Duration = Duration::from_millis(500);

/// How long a killed program may take to end before the answer is given nevertheless.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// How long a start is tried again if somebody has the program's file open for writing:
/// whoever has just written it may have closed it, while a process that another start is
/// about to turn into a program still holds what it inherited.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);
const TRIED_EVERY: Duration = Duration::from_millis(1);

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

/// Runs `command` on `input`. Dropping the future ends the program, too.
pub async fn run(command: &Command, input: Bytes, limits: Limits) -> Result<Completed, RunError> {
    let started = Program::start_for_call(command, None, limits.deadline).await?;
    sys::make_first_to_go(started.call.leader());
    started.run(input, limits, None).await
}

/// A started program that has not been given its input. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) call: Call,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) exit: oneshot::Receiver<Ended>,
    scratch: Option<Scratch>,
}

impl Program {
    pub(crate) fn start(command: &Command, variable: Option<&Variable>) -> io::Result<Self> {
        let Started {
            call,
            stdin,
            stdout,
            stderr,
            exit,
            scratch,
        } = children::start(command, variable)?;
        Ok(Self {
            call,
            stdin: pipe::Sender::from_owned_fd_unchecked(unblocked(stdin)?)?,
            stdout: pipe::Receiver::from_owned_fd_unchecked(unblocked(stdout)?)?,
            stderr: pipe::Receiver::from_owned_fd_unchecked(unblocked(stderr)?)?,
            exit,
            scratch,
        })
    }

    pub(crate) async fn start_for_call(
        command: &Command,
        variable: Option<&Variable>,
        deadline: Instant,
    ) -> Result<Self, RunError> {
        processes::STARTS.of(processes::Started::Call).increment();
        let until = deadline.min(Instant::now() + WRITTEN_WITHIN);
        loop {
            match Self::start(command, variable) {
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy
                        && Instant::now() < until =>
                {
                    sleep(TRIED_EVERY).await;
                }
                started => {
                    return started.map_err(|source| RunError::Start {
                        program: command.program().to_owned(),
                        source,
                    });
                }
            }
        }
    }

    /// Feeds the program and waits for its end.
    pub(crate) async fn run(
        self,
        input: Bytes,
        limits: Limits,
        mut place: Option<&mut Place>,
    ) -> Result<Completed, RunError> {
        let Self {
            call,
            mut stdin,
            mut stdout,
            stderr,
            mut exit,
            // Removed when everything that could write there has ended.
            scratch,
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
        let feed = async move {
            // A program that does not read all of its input is within its rights;
            // closing our end of the pipe shows it where the input ends. The
            // input may be large: its memory is free again from here on.
            let _ = stdin.write_all(&input).await;
            drop((stdin, input));
            pending::<Infallible>().await
        };
        let conversation = Conversation {
            output: capture(&mut stdout, &mut output, limits.output),
            log: capture_log(stderr, &mut log),
            feed,
        };
        let ended = conversation.until_end(&mut exit, limits.deadline);
        let ended = match &mut place {
            None => ended.await,
            Some(place) => {
                place.watch(Subject::new(&call, scratch.as_ref()));
                // Cancel-safe: whichever ends first, the other is not needed.
                tokio::select! {
                    ended = ended => ended,
                    over = place.over() => Err(match over {
                        Over::Outgrown(outgrown) => Interrupted::Outgrown(outgrown),
                        Over::Bound(bound) => Interrupted::OverBound(bound),
                    }),
                }
            }
        };
        if let (Some(place), Ok(ended)) = (&place, &ended) {
            place.ended(ended.peak);
        }
        // Before those that hold it are ended.
        let holder = match &ended {
            Err(Interrupted::HeldOpen) => holder::of(&stdout),
            _ => None,
        };
        if let Err(Interrupted::OverBound(_) | Interrupted::Outgrown(_)) = ended {
            strays::end_marked(Mark::of(call.id())).await;
        }
        // The program has ended, or has to: everything it started goes with it.
        drop(call);
        if !exit.is_terminated() {
            // It has ended, and was not only asked to, when the caller gets its answer.
            let _ = timeout(GONE_WITHIN, exit).await;
        }
        if let (Some(scratch), Ok(_)) = (scratch, &ended)
            && children::nothing_is_left()
        {
            scratch.keep();
        }
        let log = log.into_bytes();
        match ended {
            Ok(end) if output.len() + log.len() <= limits.output => Ok(Completed {
                exit: end.exit,
                stdout: output.freeze(),
                log,
            }),
            Ok(_) | Err(Interrupted::OutputTooLarge) => Err(RunError::OutputTooLarge {
                limit: limits.output,
            }),
            Err(Interrupted::Deadline) => Err(RunError::DeadlineExceeded { log }),
            Err(Interrupted::HeldOpen) => Err(RunError::OutputHeldOpen { holder, log }),
            Err(Interrupted::OverBound(bound)) => Err(RunError::OverBound { bound, log }),
            Err(Interrupted::Read(error)) => Err(RunError::Read(error)),
            Err(Interrupted::Outgrown(outgrown)) => Err(RunError::NotEnoughMemory {
                needed: outgrown.had,
                available: outgrown.left,
                has_run: true,
                was_alone: outgrown.was_alone,
            }),
        }
    }
}

/// Our end of a pipe, as the runtime needs it. That it is one needs no check: it was
/// made as one a moment ago.
fn unblocked(end: impl Into<OwnedFd>) -> io::Result<OwnedFd> {
    let end = end.into();
    rustix::io::ioctl_fionbio(&end, true)?;
    Ok(end)
}

/// Why a program is ended by us.
enum Interrupted {
    Deadline,
    HeldOpen,
    OutputTooLarge,
    Read(io::Error),
    Outgrown(Outgrown),
    OverBound(Bound),
}

impl From<CaptureError> for Interrupted {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::TooLarge => Self::OutputTooLarge,
            CaptureError::Read(error) => Self::Read(error),
        }
    }
}

/// What goes through a program's three pipes.
struct Conversation<O, L, F> {
    /// Ends when standard output has ended.
    output: O,
    /// Ends when the log has ended.
    log: L,
    /// Never ends.
    feed: F,
}

impl<O, L, F> Conversation<O, L, F>
where
    O: Future<Output = Result<(), CaptureError>>,
    L: Future<Output = ()>,
    F: Future<Output = Infallible>,
{
    /// Waits until the program and its output have ended, and for a moment for
    /// the end of its log.
    async fn until_end(
        self,
        exit: &mut oneshot::Receiver<Ended>,
        deadline: Instant,
    ) -> Result<Ended, Interrupted> {
        let mut output = std::pin::pin!(self.output);
        let mut log = std::pin::pin!(self.log);
        let mut feed = std::pin::pin!(self.feed);
        let mut ended = None;
        let (mut output_is_open, mut log_is_open) = (true, true);
        let mut until = deadline;
        // Cancel-safe: all are polled by reference and go on where they were.
        while ended.is_none() || output_is_open || log_is_open {
            tokio::select! {
                captured = &mut output, if output_is_open => {
                    captured?;
                    output_is_open = false;
                }
                end = &mut *exit, if ended.is_none() => {
                    let lost = |_| io::Error::other("the program's exit status was lost");
                    ended = Some(end.map_err(lost).map_err(Interrupted::Read)?);
                }
                () = &mut log, if log_is_open => log_is_open = false,
                never = &mut feed => match never {},
                () = sleep_until(until) => break,
            }
            let has_failed = ended.is_some_and(|end: Ended| end.exit != Exit::Code(0));
            if until == deadline && ended.is_some() && (has_failed || !output_is_open) {
                until = deadline.min(Instant::now() + LOG_CLOSES_WITHIN);
            }
        }
        match ended {
            None => Err(Interrupted::Deadline),
            Some(end) if end.exit != Exit::Code(0) => Ok(end),
            Some(_) if output_is_open => Err(Interrupted::HeldOpen),
            // The last writer was perhaps ended by us.
            Some(_) if children::is_over() => {
                Err(Interrupted::Read(io::Error::other("this server is ending")))
            }
            Some(end) => Ok(end),
        }
    }
}
