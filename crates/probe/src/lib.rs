//! `grpc-health-probe -addr HOST:PORT`: asks a server's health. The flags that
//! pod templates use and the exit codes are those of the well-known program of
//! this name: 0 serving, 1 bad arguments, 2 no connection, 3 no answer, 4 not
//! serving. The caller provides the connection: the wrapper's probe needs no resolver
//! and no TLS, the runner's has both.

use std::{ffi::OsString, process::ExitCode, time::Duration};

use goflags::{FlagError, Flags, Group, flag, value};
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

/// What every probe understands.
pub const FLAGS: Group = Group {
    title: "Flags",
    flags: &[
        flag::value("addr", "HOST:PORT", "", "Server to ask."),
        flag::value(
            "service",
            "NAME",
            "",
            "Service to ask for; empty asks for the server as a whole.",
        ),
        flag::value(
            "connect-timeout",
            "DURATION",
            "1s",
            "How long connecting may take.",
        ),
        flag::value(
            "rpc-timeout",
            "DURATION",
            "1s",
            "How long the answer may take.",
        ),
        flag::switch("v", "false", "Say more."),
        flag::HELP,
    ],
};

/// How to reach a server.
pub trait Dial: Sized {
    /// Reads and checks what the command line says.
    fn read(flags: &Flags) -> Result<Self, FlagError>;

    /// Connects, or says why not.
    fn dial(&self) -> impl Future<Output = Result<Channel, String>>;
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Arguments(#[from] FlagError),
    #[error("cannot connect: {0}")]
    Connection(String),
    #[error("health check failed: {0}")]
    Answer(String),
    #[error("service unhealthy (responded with {0:?})")]
    NotServing(&'static str),
}

impl Trouble {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Arguments(_) => 1,
            Self::Connection(_) => 2,
            Self::Answer(_) => 3,
            Self::NotServing(_) => 4,
        }
    }
}

/// Runs the program with the words after its name; `flags` begin with [`FLAGS`].
pub fn main<D: Dial>(flags: &'static [Group], words: Vec<OsString>) -> ExitCode {
    match probe::<D>(flags, words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::from(trouble.exit_code())
        }
    }
}

fn probe<D: Dial>(groups: &'static [Group], words: Vec<OsString>) -> Result<(), Trouble> {
    let flags = goflags::parse(groups, words)?;
    if flags.switch("help")? {
        let usage = "grpc-health-probe -addr HOST:PORT [FLAGS]\n";
        goflags::show(&format!("{usage}{}", goflags::help(groups)));
        return Ok(());
    }
    let dial = D::read(&flags)?;
    let service = flags.text("service")?;
    let connect_timeout = flags.get("connect-timeout", value::positive_duration)?;
    let rpc_timeout = flags.get("rpc-timeout", value::positive_duration)?;
    if flags.switch("v")? {
        eprintln!("asking {:?} for {service:?}", flags.text("addr")?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Trouble::Connection(error.to_string()))?;
    runtime.block_on(ask(&dial, service, connect_timeout, rpc_timeout))?;
    eprintln!("status: SERVING");
    Ok(())
}

async fn ask(
    dial: &impl Dial,
    service: String,
    connect_timeout: Duration,
    rpc_timeout: Duration,
) -> Result<(), Trouble> {
    let late = |time: Duration| format!("no answer within {time:?}");
    let channel = match timeout(connect_timeout, dial.dial()).await {
        Ok(Ok(channel)) => channel,
        Ok(Err(error)) => return Err(Trouble::Connection(error)),
        Err(_) => return Err(Trouble::Connection(late(connect_timeout))),
    };
    let check = async {
        HealthClient::new(channel)
            .check(HealthCheckRequest { service })
            .await
    };
    let answer = match timeout(rpc_timeout, check).await {
        Ok(Ok(answer)) => answer.into_inner(),
        Ok(Err(status)) => return Err(Trouble::Answer(status.to_string())),
        Err(_) => return Err(Trouble::Answer(late(rpc_timeout))),
    };
    match answer.status() {
        ServingStatus::Serving => Ok(()),
        other => Err(Trouble::NotServing(other.as_str_name())),
    }
}
