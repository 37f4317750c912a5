//! The `starlark` function: runs a script over the items of a ResourceList, as
//! the release does that its argument names (the newest without one).
//!
//! A script can loop or allocate without end. So it has a process of its own with
//! limits on memory and processor time; the runner kills it at the caller's
//! deadline.

mod config;
mod convert;
mod lang;
mod modules;
mod release;
mod script;
mod warm;

use std::{
    io::{self, Read as _, Write as _},
    panic,
    process::ExitCode,
    thread,
};

use functions::Clock;
use release::Release;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Address space of the process, far more than lists of the largest message
/// need, beside the stack.
const MOST_MEMORY: u64 = 1 << 30;
/// Seconds of processor time: as long as the runner waits for callers that send
/// no deadline.
const MOST_TIME: u64 = 300;

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1);
    let Some(release) = Release::named(wanted.as_deref()) else {
        let wanted = wanted.unwrap_or_default();
        eprintln!("starlark: no release {wanted:?} of the function is known");
        return ExitCode::from(2);
    };
    panic::set_hook(Box::new(|panicked| {
        let reason = panicked.payload_as_str().unwrap_or("no reason is known");
        eprintln!("starlark: the script broke the interpreter: {reason}");
    }));
    if let Err(error) = limit() {
        eprintln!("starlark: {error}");
        return ExitCode::FAILURE;
    }
    let runner = thread::Builder::new().stack_size(lang::memory::STACK);
    let ended = runner
        .spawn(move || run(release))
        .and_then(|running| running.join().map_err(|_| io::ErrorKind::Other.into()));
    match ended.flatten() {
        // Nothing is freed: the process is at its end.
        Ok(exit) => std::process::exit(exit.into()),
        Err(error) => {
            eprintln!("starlark: {error}");
            ExitCode::FAILURE
        }
    }
}

fn limit() -> io::Result<()> {
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
    Ok(())
}

fn run(release: Release) -> io::Result<u8> {
    warm::up(release);
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let starlark = script::Starlark::new(release);
    let clock = Clock::of_a_bounded_process();
    let ended = functions::starlark::run(&starlark, release.version, input, &clock);
    let ended = ended.map_err(|_| io::ErrorKind::TimedOut)?;
    let mut out = io::stdout().lock();
    out.write_all(starlark.noise().as_bytes())?;
    out.write_all(ended.stdout.as_bytes())?;
    out.flush()?;
    io::stderr().lock().write_all(ended.stderr.as_bytes())?;
    Ok(ended.exit)
}
