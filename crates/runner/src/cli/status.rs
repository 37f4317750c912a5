//! `function-runner status`: the status page of a running runner, in a terminal.

mod shown;

use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use goflags::{FlagError, Group, flag};
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

use crate::{config::json, status::View};

static FLAGS: &[Group] = &[Group {
    title: "Flags",
    flags: &[
        flag::value(
            "address",
            "HOST:PORT",
            "localhost:9464",
            "Where the runner's status page is.",
        ),
        flag::switch("watch", "false", "Show it anew every two seconds."),
        flag::value("o", "FORMAT", "text", "text or json."),
        flag::HELP,
        flag::H,
    ],
}];

const HELP: &str = "\
Shows what a running function runner does: functions with their calls, errors and times, what failed
last and what to do about it, pods and their starts, registries, the API server.

Usage:
  function-runner status [FLAGS]

Examples:
  # A runner on this machine:
  function-runner status --watch

  # One in a cluster:
  kubectl -n porch-system port-forward deployment/function-runner 9464 &
  function-runner status

Exit code: 0 it was shown, 1 the runner does not answer, 2 the command line cannot be understood.
";

/// A larger page is not a runner's.
const LARGEST: usize = 16 * 1024 * 1024;
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Inquiry {
    address: String,
    watch: bool,
    json: bool,
}

/// Runs the command with the words after its name.
pub(crate) fn status(words: Vec<OsString>) -> ExitCode {
    super::command("status", HELP, FLAGS, parse(words), run)
}

/// `None`: only the help is wanted.
fn parse(words: Vec<OsString>) -> Result<Option<Inquiry>, String> {
    let flags = goflags::parse(FLAGS, words).map_err(|error| error.to_string())?;
    if super::wants_help(&flags)? {
        return Ok(None);
    }
    let complain = |error: FlagError| error.to_string();
    if let Some(word) = flags.rest.first() {
        return Err(complain(FlagError::Unexpected(word.clone())));
    }
    Ok(Some(Inquiry {
        address: flags.text("address").map_err(complain)?,
        watch: flags.switch("watch").map_err(complain)?,
        json: flags.get("o", json).map_err(complain)?,
    }))
}

fn run(inquiry: &Inquiry) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        loop {
            let body = timeout(ANSWERS_WITHIN, fetch(&inquiry.address)).await;
            let body = body.unwrap_or_else(|_| Err(anyhow!("no answer within 10 s")));
            let body = body.with_context(|| {
                format!(
                    "cannot ask {}; is a runner there, with its status page (--address)?",
                    inquiry.address
                )
            })?;
            let mut out = io::stdout().lock();
            if inquiry.watch {
                // To the upper left corner, and everything is gone.
                out.write_all(b"\x1b[H\x1b[2J")?;
            }
            if inquiry.json {
                out.write_all(&body)?;
                out.write_all(b"\n")?;
            } else {
                let view: View = serde_json::from_slice(&body)
                    .context("the answer is not a runner's status; is it another version?")?;
                out.write_all(shown::text(&view).as_bytes())?;
            }
            out.flush()?;
            drop(out);
            if !inquiry.watch {
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(BETWEEN).await;
        }
    })
}

async fn fetch(address: &str) -> anyhow::Result<Bytes> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get("/status.json")
        .header(header::HOST, address)
        .body(Empty::<Bytes>::new())?;
    let asked = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| anyhow!(error))?.to_bytes();
        anyhow::Ok((status, body))
    };
    // Cancel-safe: whichever ends first, the other is of no use any more.
    let (status, body) = tokio::select! {
        answer = asked => answer?,
        broken = connection => match broken {
            Ok(()) => bail!("the connection ended without an answer"),
            Err(error) => return Err(error.into()),
        },
    };
    match status {
        StatusCode::OK => Ok(body),
        status => bail!("{status}: {}", String::from_utf8_lossy(&body).trim()),
    }
}
