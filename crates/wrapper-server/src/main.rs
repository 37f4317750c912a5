//! The server that is copied into the container of a function: it runs the one function
//! of its container, with that container's environment, behind the same gRPC service as
//! the runner's own. It is static, so that it runs in scratch, distroless, alpine and
//! Debian images alike, and PID 1 there, so that `process` reaps all orphans.
//!
//! Called as `grpc-health-probe` it checks a server's health instead, for pod templates
//! that probe with a command; called as `cp` it copies files, so that its image needs no
//! other program to copy it.

mod args;
mod cp;
mod dial;
mod scraped;

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use args::{Args, Request};
use krm::{Failure, FunctionError, Output};
use process::{Ahead, Bounds, Command, Environment, Exit, Gate, Limits, Profile, memory};
use service::{
    EvaluateError, Evaluation, Evaluator, Handler, Server, Shutdown, Stages, Tasks, Tracing,
    trace::{Part, Propagators},
};
use tokio::time::{Instant, sleep_until};

/// For callers that send no deadline; the runner always does.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// The part of the container's memory that requests in flight may hold, as a
/// divisor: answers need as much again, and the function the rest.
const REQUESTS: u64 = 4;

/// Kubernetes kills a pod 30 seconds after it asked it to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(25);

/// Whoever ends a container kills its processes one after the other. If this server is the next one, its
/// caller is to hear that the pod was lost, and send the call to another, and not that the function failed.
const NEXT_TO_BE_KILLED: Duration = Duration::from_secs(1);

/// Names the folder for the temporary files of calls, where a pod has one.
const TEMPORARY: &str = "WRAPPER_SERVER_TEMPORARY";

fn main() -> ExitCode {
    let mut words = env::args_os();
    let called_as = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    match Path::new(&called_as).file_name().and_then(OsStr::to_str) {
        Some("grpc-health-probe") => probe::main::<dial::Addresses>(dial::FLAGS, words),
        Some("cp") => cp::main(words),
        _ => wrapper(words),
    }
}

fn wrapper(words: Vec<OsString>) -> ExitCode {
    match args::parse(words) {
        Ok(Request::Help(text)) => {
            goflags::show(&text);
            ExitCode::SUCCESS
        }
        Ok(Request::Serve(args)) => match serve(&args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("wrapper-server: {error}");
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("wrapper-server: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt()
        .with_max_level(service::log_level(args.verbosity))
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(false)
        .init();
    service::log_panics();
    metrics::is("wrapper-server", env!("CARGO_PKG_VERSION"));
    process::keep_freed_memory();
    process::adopt_orphans();
    process::close_on_exec_from(3)?;
    process::raise_descriptor_limit()?;
    confine();
    // Few calls at a time, and all they do is move bytes: one thread, little memory.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let shutdown = Shutdown::listen()?;
            let listener = service::bind(args.port)
                .map_err(|error| format!("cannot listen on port {}: {error}", args.port))?;
            let function = Function::new(args);
            let mut tasks = Tasks::default();
            tasks.spawn("processes", function.ahead.keep());
            tasks.spawn("metrics", scraped::serve());
            let server = Server::new(
                Handler::new(function, DEFAULT_TIMEOUT).with_tracing(listens_only()),
                args.max_message_size,
            );
            let memory = process::memory::budget(None);
            let server = server.await.with_request_memory(memory / REQUESTS);
            server.health().set_serving(true).await;
            tracing::info!(address = %listener.local_addr()?, "serving {:?}", args.entrypoint[0]);
            // No lame duck: the runner, its only caller, ends a pod that it does not use.
            let stages = Stages::new(Duration::ZERO, DRAIN_TIMEOUT);
            Ok(server.run(listener, shutdown, &mut tasks, stages).await?)
        })
}

/// Keeps the function from this server, and its calls from each other's temporary files. What
/// else it may reach is its pod's to say.
fn confine() {
    let temporary = env::var_os(TEMPORARY).map(PathBuf::from);
    let offered = match process::confine_in_container(temporary.as_deref()) {
        Ok(offered) => offered,
        Err(error) => {
            tracing::warn!(%error, "the function can reach this server");
            return;
        }
    };
    match offered.landlock {
        Some(abi) => tracing::debug!(abi, "this server is out of the function's reach"),
        None => tracing::debug!("no Landlock: the function can signal this server"),
    }
    if let Err(why) = offered.scratch {
        tracing::info!("calls of the function share their temporary files: {why}");
    }
}

/// Log lines and the function get the runner's trace, in every format that callers send. Spans
/// are the runner's: its own span of the call says how long this server took.
fn listens_only() -> Arc<Tracing> {
    Arc::new(Tracing {
        tracer: None,
        propagators: Propagators::ALL,
    })
}

/// The function of this container.
#[derive(Debug)]
struct Function {
    command: Command,
    ahead: Ahead,
    max_output: usize,
}

impl Function {
    fn new(args: &Args) -> Self {
        let (program, words) = (&args.entrypoint[0], &args.entrypoint[1..]);
        Self {
            command: Command::new(program, Environment::Inherited)
                .confined(Profile::default())
                .args(words),
            ahead: Ahead::new(
                Bounds::new(args.started_ahead, args.started_ahead_idle),
                Gate::new(memory::budget(None)),
            ),
            max_output: service::max_output(args.max_message_size),
        }
    }
}

#[tonic::async_trait]
impl Evaluator for Function {
    /// Whatever image the caller names: this container has one function.
    async fn evaluate(&self, evaluation: Evaluation) -> Result<Output, EvaluateError> {
        let Evaluation {
            image,
            resource_list,
            deadline,
            notes,
            trace,
            ..
        } = evaluation;
        let limits = Limits {
            output: self.max_output,
            deadline,
        };
        let mut part = Part::waits(&notes, &trace);
        let begins = |begin| part.process(begin);
        let run = self
            .ahead
            .run_telling(&self.command, resource_list, limits, begins);
        let ended = krm::evaluate(&image, run).await;
        if ended.as_ref().err().is_some_and(was_killed) {
            sleep_until(deadline.min(Instant::now() + NEXT_TO_BE_KILLED)).await;
        }
        Ok(ended?)
    }
}

/// Whether somebody has killed the function: by a signal, or as shells tell of one.
fn was_killed(error: &FunctionError) -> bool {
    const KILLED: i32 = 9;
    let Failure::Failed { exit, .. } = &error.failure else {
        return false;
    };
    [Exit::Signal(KILLED), Exit::Code(128 + KILLED)].contains(exit)
}
