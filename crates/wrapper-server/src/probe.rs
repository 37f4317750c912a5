//! `grpc-health-probe -addr HOST:PORT`: asks a server's health. The flags that
//! pod templates use and the exit codes are those of the well-known program of
//! this name: 0 serving, 1 bad arguments, 2 no connection, 3 no answer, 4 not
//! serving. There is no TLS: neither of our servers speaks it.
//!
//! `localhost` and addresses are understood without a resolver, which a static
//! binary in a scratch image does not have; other names are not understood.

use std::{
    ffi::OsString,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use goflags::{FlagError, Group, flag, value};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

static FLAGS: &[Group] = &[Group {
    title: "Flags",
    flags: &[
        flag::value(
            "addr",
            "HOST:PORT",
            "",
            "Server to ask: an IP address or localhost, and a port.",
        ),
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
}];

/// What to ask whom.
#[derive(Debug)]
struct Question {
    addresses: Vec<SocketAddr>,
    service: String,
    connect_timeout: Duration,
    rpc_timeout: Duration,
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

pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    match probe(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::from(trouble.exit_code())
        }
    }
}

fn probe(words: Vec<OsString>) -> Result<(), Trouble> {
    let flags = goflags::parse(FLAGS, words)?;
    if flags.switch("help")? {
        print!(
            "grpc-health-probe -addr HOST:PORT [FLAGS]\n{}",
            goflags::help(FLAGS)
        );
        return Ok(());
    }
    let question = Question {
        addresses: flags.get("addr", resolve)?,
        service: flags.text("service")?,
        connect_timeout: flags.get("connect-timeout", value::positive_duration)?,
        rpc_timeout: flags.get("rpc-timeout", value::positive_duration)?,
    };
    if flags.switch("v")? {
        eprintln!("asking {:?} for {:?}", question.addresses, question.service);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Trouble::Connection(error.to_string()))?;
    runtime.block_on(ask(question))?;
    eprintln!("status: SERVING");
    Ok(())
}

/// The addresses that `HOST:PORT` stands for.
fn resolve(address: &str) -> Result<Vec<SocketAddr>, &'static str> {
    let expected = "HOST:PORT, where HOST is an IP address or localhost";
    let (host, port) = address.rsplit_once(':').ok_or(expected)?;
    let port: u16 = port.parse().map_err(|_| expected)?;
    let hosts = match host {
        "" | "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        host => {
            let bare = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'));
            vec![
                bare.unwrap_or(host)
                    .parse::<IpAddr>()
                    .map_err(|_| expected)?,
            ]
        }
    };
    Ok(hosts
        .into_iter()
        .map(|host| SocketAddr::new(host, port))
        .collect())
}

async fn ask(question: Question) -> Result<(), Trouble> {
    let Question {
        addresses,
        service,
        connect_timeout,
        rpc_timeout,
    } = question;
    let channel = match timeout(connect_timeout, connect(addresses)).await {
        Ok(Ok(channel)) => channel,
        Ok(Err(error)) => return Err(Trouble::Connection(error)),
        Err(_) => {
            return Err(Trouble::Connection(format!(
                "no answer within {connect_timeout:?}"
            )));
        }
    };
    let check = async {
        HealthClient::new(channel)
            .check(HealthCheckRequest { service })
            .await
    };
    let answer = match timeout(rpc_timeout, check).await {
        Ok(Ok(answer)) => answer.into_inner(),
        Ok(Err(status)) => return Err(Trouble::Answer(status.to_string())),
        Err(_) => return Err(Trouble::Answer(format!("no answer within {rpc_timeout:?}"))),
    };
    match answer.status() {
        ServingStatus::Serving => Ok(()),
        other => Err(Trouble::NotServing(other.as_str_name())),
    }
}

/// Connects to the first address that answers.
async fn connect(addresses: Vec<SocketAddr>) -> Result<Channel, String> {
    let connector = tower::service_fn(move |_| {
        let addresses = addresses.clone();
        async move {
            let mut refusal = io::Error::other("no address");
            for address in addresses {
                match TcpStream::connect(address).await {
                    Ok(stream) => return Ok(TokioIo::new(stream)),
                    Err(error) => refusal = error,
                }
            }
            Err(refusal)
        }
    });
    // The name only becomes the `:authority`; the connector knows the addresses.
    let endpoint = Endpoint::from_static("http://localhost");
    endpoint
        .connect_with_connector(connector)
        .await
        .map_err(|error| {
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        })
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn localhost_and_addresses_need_no_resolver() {
        for (text, addresses) in [
            ("localhost:9446", &["127.0.0.1:9446", "[::1]:9446"][..]),
            (":9446", &["127.0.0.1:9446", "[::1]:9446"]),
            ("10.1.2.3:80", &["10.1.2.3:80"]),
            ("[fe80::1]:80", &["[fe80::1]:80"]),
        ] {
            let found: Vec<String> = resolve(text)
                .unwrap()
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(found, addresses, "{text}");
        }
        for text in [
            "",
            "localhost",
            "localhost:",
            "localhost:http",
            "example.com:80",
            "1.2.3:80",
        ] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
