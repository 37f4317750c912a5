//! `make scale`: a thousand functions, measured. See `e2e::scale`.

use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;
use std::{env, panic, thread};

use anyhow::{Context, Result, bail};
use e2e::scale::{Size, scale};

const USAGE: &str =
    "scale [--small] [--runners N] [--functions N] [--pods N] [--outage SECONDS] [--only-pods]

  --small      4 runners, 40 functions, 80 pods, in about two minutes
  --runners    that serve; one more only looks on (20)
  --functions  in all (1000)
  --pods       of all runners together; each has as many (5000)
  --outage     how long the API server is away (120)
  --only-pods  only how pods start, are taken over and are replaced";

fn main() -> ExitCode {
    let size = match read(env::args().skip(1)) {
        Ok(size) => size,
        Err(error) => {
            eprintln!("{error:#}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    println!("{size:?}");
    // What failed is said by itself; where in the code is of no use to anybody.
    panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    // Its namespace is named after its thread, as those of tests are.
    let thread = thread::Builder::new().name("scale".to_owned());
    let ended = thread.spawn(move || scale(size)).map(JoinHandle::join);
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read(mut args: impl Iterator<Item = String>) -> Result<Size> {
    let mut size = Size::FULL;
    while let Some(arg) = args.next() {
        let mut number = || -> Result<usize> {
            let number = args
                .next()
                .with_context(|| format!("{arg} needs a number"))?;
            number.parse().with_context(|| format!("{arg} {number}"))
        };
        match arg.as_str() {
            "--small" => size = Size::SMALL,
            "--runners" => size.runners = number()?,
            "--functions" => size.functions = number()?,
            "--pods" => size.pods = number()?,
            "--outage" => size.outage = Duration::from_secs(number()? as u64),
            "--only-pods" => size.has_costs = false,
            _ => bail!("{arg} is not an option"),
        }
    }
    size.check()?;
    Ok(size)
}
