//! `make soak`: mixed load under random faults. See `e2e::soak`.

use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use std::{env, panic, thread};

use anyhow::{Context, Result, bail};
use e2e::soak::{Plan, Reach, soak};

const USAGE: &str = "soak [--minutes N] [--seed N] [--beside-others] [--plan]

  --minutes N      of load; rests between rounds come on top (60)
  --seed N         repeats what another soak with this seed did (drawn from the clock)
  --beside-others  leaves the node's own programs alone: others use it meanwhile
  --plan           only prints what would happen";

struct Options {
    minutes: f64,
    seed: Option<u64>,
    reach: Reach,
    is_only_printed: bool,
}

fn main() -> ExitCode {
    let options = match read(env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error:#}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let seed = options.seed.unwrap_or_else(|| drawn() % 1_000_000);
    let length = Duration::from_secs_f64(options.minutes * 60.0);
    let plan = Plan::draw(seed, length, options.reach);
    if options.is_only_printed {
        print!("{plan}");
        return ExitCode::SUCCESS;
    }
    // What failed is said by the soak itself; where in its code is of no use to anybody.
    panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    // Its namespace is named after its thread, as those of tests are.
    let thread = thread::Builder::new().name("soak".to_owned());
    let ended = thread.spawn(move || soak(&plan)).map(JoinHandle::join);
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read(mut args: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        minutes: 60.0,
        seed: None,
        reach: Reach::Node,
        is_only_printed: false,
    };
    while let Some(arg) = args.next() {
        let mut number = || args.next().with_context(|| format!("{arg} needs a number"));
        match arg.as_str() {
            "--minutes" => options.minutes = number()?.parse().context("--minutes")?,
            "--seed" => options.seed = Some(number()?.parse().context("--seed")?),
            "--beside-others" => options.reach = Reach::Own,
            "--plan" => options.is_only_printed = true,
            _ => bail!("{arg} is not an option"),
        }
    }
    if !(0.5..=24.0 * 60.0).contains(&options.minutes) {
        bail!("--minutes is between 0.5 and 1440");
    }
    Ok(options)
}

fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |now| u64::from(now.subsec_nanos()) ^ now.as_secs())
}
