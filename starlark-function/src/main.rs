//! The `starlark` function: runs a script over the items of a ResourceList.
//!
//! A script can loop or allocate without end, and its interpreter is somebody
//! else's code. So it has a process of its own with limits on memory and
//! processor time; the runner kills it at the caller's deadline.

mod base64;
mod library;
mod math;
mod script;
mod time;
mod values;

use std::{
    io::{self, Read as _, Write as _},
    panic,
    process::ExitCode,
};

use functions::{Clock, run_sdk};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space of the process, far more than lists of the largest message
/// need.
const MOST_MEMORY: u64 = 1 << 30;
/// Seconds of processor time: as long as the runner waits for callers that send
/// no deadline.
const MOST_TIME: u64 = 300;

fn main() -> ExitCode {
    // The interpreter panics on some scripts, such as those that want more memory
    // than there can be: users need the reason, not the way there.
    panic::set_hook(Box::new(|panicked| {
        let reason = panicked.payload_as_str().unwrap_or("no reason is known");
        eprintln!("starlark: the script broke the interpreter: {reason}");
    }));
    match panic::catch_unwind(run) {
        Ok(Ok(exit)) => ExitCode::from(exit),
        Ok(Err(error)) => {
            eprintln!("starlark: {error}");
            ExitCode::FAILURE
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<u8> {
    for (resource, limit) in [(Resource::As, MOST_MEMORY), (Resource::Cpu, MOST_TIME)] {
        let limit = Some(limit);
        setrlimit(
            resource,
            Rlimit {
                current: limit,
                maximum: limit,
            },
        )?;
    }
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let ended = run_sdk(&script::Starlark, &input, &Clock::default());
    let ended = ended.map_err(|_| io::ErrorKind::TimedOut)?;
    io::stdout().lock().write_all(ended.stdout.as_bytes())?;
    io::stderr().lock().write_all(ended.stderr.as_bytes())?;
    Ok(ended.exit)
}
