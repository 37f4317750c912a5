//! `function-runner eval`: evaluates a function by hand, right here or on a server.

mod here;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use goflags::{FlagError, Flags, Group, flag, value};
use proto::{EvaluateFunctionRequest, function_evaluator_client::FunctionEvaluatorClient};
use tonic::{Request, Status};

use super::{
    input::{self, FunctionConfig, Source},
    show,
};
use crate::{
    config::{self, Config},
    tls::{CLIENT_FLAGS, TlsClient},
};

static FLAGS: &[Group] = &[
    Group {
        title: "Flags",
        flags: &[
            flag::value(
                "image",
                "IMG",
                "",
                "The function, such as set-labels:v0.2 or example.com/team/function@sha256:…",
            ),
            flag::value(
                "tag",
                "TAG",
                "",
                "A version, or a version constraint such as '>=v0.4.0 <v0.5', in place of the image's \
             own tag.",
            ),
            flag::value(
                "address",
                "HOST:PORT",
                "",
                "The function runner to ask, such as localhost:9445. Without it the function is \
                 evaluated right here, if it is bundled or named in --config.",
            ),
            flag::value(
                "config",
                "FILE",
                "",
                "Right here: which images are which executables, as for the server.",
            ),
            flag::value(
                "functions",
                "DIR",
                "./functions",
                "Right here: where those executables are.",
            ),
            flag::value(
                "fn-config",
                "FILE",
                "",
                "The function's configuration: a file with one resource.",
            ),
            flag::value(
                "timeout",
                "DURATION",
                "5m",
                "How long to wait for the answer.",
            ),
            flag::HELP,
            flag::H,
        ],
    },
    CLIENT_FLAGS,
];

const HELP: &str = "\
Evaluates a KRM function right here, or on a running function runner (--address), and
prints the resulting resources. The function's results and its log go to standard error.

Usage:
  function-runner eval --image IMG [FLAGS] [FILE|DIR|-] [-- key=value …]

The input is a file or a stream of resources, a package directory, or a whole
ResourceList, which is passed on as it is. Arguments after -- become the data of
a ConfigMap that configures the function.

Examples:
  # A package directory through a function, with one argument:
  function-runner eval --image set-namespace:v0.4.5 ./package -- namespace=prod

  # The highest version of a range:
  function-runner eval --image set-namespace --tag '>=v0.4.0 <v0.5' ./package -- namespace=prod

  # A stream from elsewhere, configured by a file:
  kubectl get deploy -o yaml | function-runner eval --image set-labels:v0.2 --fn-config labels.yaml -

  # An executable of your own, named in a file:
  function-runner eval --image example.com/mine:v1 --config config.yaml --functions ./bin ./package

  # A ResourceList that kpt made, on another machine's runner:
  kpt fn source . | function-runner eval --image starlark:v0.5.5 --address runner.example.com:9445

  # A runner with TLS that wants to see a certificate:
  function-runner eval --image set-namespace:v0.4.5 --address runner.example.com:9445 \\
    --tls --tls-ca-cert ca.crt --tls-client-cert tls.crt --tls-client-key tls.key ./package

Exit code: 0 the function succeeded, 1 it failed or could not be evaluated, 2 the command line
cannot be understood.
";

#[derive(Debug)]
struct Call {
    image: String,
    tag: String,
    by: By,
    timeout: Duration,
    source: Source,
    config: FunctionConfig,
}

/// Where it is evaluated.
#[derive(Debug)]
enum By {
    Here(Box<Config>),
    Server { address: String, client: TlsClient },
}

/// Runs the command with the words after its name.
pub(crate) fn eval(words: Vec<OsString>) -> ExitCode {
    super::command("eval", HELP, FLAGS, parse(words), run)
}

/// `None`: only the help is wanted.
fn parse(mut words: Vec<OsString>) -> Result<Option<Call>, String> {
    // What is after the dashes is never a flag of ours.
    let arguments = match words.iter().position(|word| word == "--") {
        Some(dashes) => words.split_off(dashes).split_off(1),
        None => Vec::new(),
    };
    // Flags may stand before and behind the input.
    let source = take_source(&mut words)?;
    let flags = goflags::parse(FLAGS, words).map_err(|error| error.to_string())?;
    let complain = |error: FlagError| error.to_string();
    if super::wants_help(&flags)? {
        return Ok(None);
    }
    let file = flags.text("fn-config").map_err(complain)?;
    let config = match (file.is_empty(), arguments.is_empty()) {
        (true, true) => FunctionConfig::None,
        (false, true) => FunctionConfig::File(file.into()),
        (true, false) => FunctionConfig::Values(key_values(arguments)?),
        (false, false) => {
            return Err("--fn-config and key=value arguments exclude each other".into());
        }
    };
    let image = flags.text("image").map_err(complain)?;
    if image.is_empty() {
        return Err("--image names the function to evaluate; --help has examples".into());
    }
    let timeout = flags.get("timeout", value::positive_duration);
    let timeout = timeout.map_err(complain)?;
    Ok(Some(Call {
        image,
        tag: flags.text("tag").map_err(complain)?,
        by: by(&flags, timeout)?,
        timeout,
        source,
        config,
    }))
}

fn by(flags: &Flags, timeout: Duration) -> Result<By, String> {
    let complain = |error: FlagError| error.to_string();
    let address = flags.text("address").map_err(complain)?;
    if !address.is_empty() {
        if let Some(name) = ["config", "functions"].iter().find(|it| flags.is_given(it)) {
            return Err(format!(
                "--{name} cannot be used with --address: the server has its own"
            ));
        }
        let connect = timeout.min(Duration::from_secs(10));
        let client = TlsClient::read(flags, address.clone(), connect).map_err(complain)?;
        return Ok(By::Server { address, client });
    }
    let mut given = CLIENT_FLAGS.flags.iter();
    if let Some(flag) = given.find(|flag| flags.is_given(flag.name)) {
        return Err(format!("--{} needs a server: --address", flag.name));
    }
    // An empty file names nothing. The server's default may be anything in this folder.
    let file = Some(flags.text("config").map_err(complain)?).filter(|file| !file.is_empty());
    let words = [
        "--disable-runtimes=pod".to_owned(),
        "--started-ahead=0".to_owned(),
        format!("--config={}", file.as_deref().unwrap_or("/dev/null")),
        format!("--functions={}", flags.text("functions").map_err(complain)?),
    ];
    match Config::parse(words.map(OsString::from).into()).map_err(complain)? {
        config::Request::Serve(config) => Ok(By::Here(config)),
        config::Request::Print(text) => Err(text),
    }
}

/// The input: the one word that is neither a flag nor a flag's value.
fn take_source(words: &mut Vec<OsString>) -> Result<Source, String> {
    let mut inputs = super::take_arguments(FLAGS, words)?;
    match inputs.len() {
        0 => Ok(Source::Stdin),
        1 if inputs[0] == "-" => Ok(Source::Stdin),
        1 => Ok(Source::Path(inputs.remove(0).into())),
        _ => Err(format!("one input at a time, not {inputs:?}")),
    }
}

fn key_values(arguments: Vec<OsString>) -> Result<Vec<(String, String)>, String> {
    let pair = |argument: OsString| {
        let text = argument
            .into_string()
            .map_err(|text| format!("{text:?} is not UTF-8"))?;
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(format!("expected key=value after --, not {text:?}")),
        }
    };
    arguments.into_iter().map(pair).collect()
}

fn run(call: &Call) -> anyhow::Result<ExitCode> {
    let resource_list = input::resource_list(&call.source, &call.config)?.into();
    let request = EvaluateFunctionRequest {
        resource_list,
        image: call.image.clone(),
        tag: call.tag.clone(),
    };
    let answer = match &call.by {
        By::Here(config) => here::evaluate(config, request, call.timeout)?,
        By::Server { address, client } => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(ask(address, client, call.timeout, request))
        }
    };
    match answer {
        Ok(answer) => {
            show::answer(&answer.resource_list, &answer.log)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(status) => {
            show::failure(&status);
            Ok(ExitCode::FAILURE)
        }
    }
}

async fn ask(
    address: &str,
    client: &TlsClient,
    timeout: Duration,
    request: EvaluateFunctionRequest,
) -> Result<proto::EvaluateFunctionResponse, Status> {
    let channel = client.connect().await.map_err(|cause| {
        Status::unavailable(format!(
            "cannot reach a function runner at {address}: {cause}; is one running there? (--address, --tls)"
        ))
    })?;
    let mut request = Request::new(request);
    request.set_timeout(timeout);
    FunctionEvaluatorClient::new(channel)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX)
        .evaluate_function(request)
        .await
        .map(tonic::Response::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Call, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        parse(words).map(|call| call.expect("not the help"))
    }

    #[test]
    fn flags_and_input_may_stand_in_any_order() {
        for line in [
            "--image a/b:v1 --timeout=3s dir",
            "dir --image=a/b:v1 -timeout 3s",
            "-image a/b:v1 dir --timeout 3s --tag=",
        ] {
            let call = parsed(line).unwrap();
            assert_eq!((call.image.as_str(), call.tag.as_str()), ("a/b:v1", ""));
            assert_eq!(call.timeout, Duration::from_secs(3));
            assert_eq!(call.source, Source::Path("dir".into()), "{line}");
        }
        assert_eq!(parsed("--image x --tag ~0.4").unwrap().tag, "~0.4");
        assert_eq!(parsed("--image x").unwrap().source, Source::Stdin);
        assert_eq!(parsed("--image x -").unwrap().source, Source::Stdin);
    }

    #[test]
    fn words_after_the_dashes_configure_the_function() {
        let call = parsed("--image x f.yaml -- namespace=prod --image=y a=b=c").unwrap();
        assert_eq!(call.image, "x");
        let FunctionConfig::Values(values) = call.config else {
            panic!("{:?}", call.config)
        };
        assert_eq!(values[0], ("namespace".into(), "prod".into()));
        assert_eq!(values[1], ("--image".into(), "y".into()));
        assert_eq!(values[2], ("a".into(), "b=c".into()));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (line, complaint) in [
            ("f.yaml", "--image names the function"),
            ("--image x a b", "one input at a time"),
            ("--image x --fn-config c -- a=b", "exclude each other"),
            ("--image x -- a", "expected key=value"),
            ("--image x -- =a", "expected key=value"),
            ("--imgae x", "unknown flag --imgae"),
            ("--image", "flag --image needs a value"),
            ("--image x --timeout 0", "longer than 0"),
            ("--image x --tls", "--tls needs a server: --address"),
            (
                "--image x --address a:1 --config f",
                "--config cannot be used with --address",
            ),
        ] {
            let told = parsed(line).unwrap_err();
            assert!(told.contains(complaint), "{line}: {told}");
        }
    }
}
