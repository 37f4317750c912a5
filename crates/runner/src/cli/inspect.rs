//! `function-runner inspect`: what a person asks when an image misbehaves.

mod matching;
mod policy;
mod shown;

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::anyhow;
use functions::{
    catalog::Chosen,
    reference::{self, Rules},
};
use goflags::{FlagError, Group, flag, value};
use matching::Matching;
use policy::Ruling;
use registry::{Client, Digest, Image, Reference, Report, Timeouts};
use tokio::time::Instant;
use versions::Constraint;

use crate::{
    args::{DEFAULT_IMAGE_PREFIX, REGISTRIES},
    config::{LogConfig, RegistryConfig, json},
    exec::bundled,
    images, logging,
    wanted::{Wanted, wanted},
};

static FLAGS: &[Group] = &[
    Group {
        title: "Flags",
        flags: &[
            flag::value(
                "tag",
                "TAG",
                "",
                "A version, or a version constraint such as '>=v0.4.0 <v0.5', in place of the \
                 image's own tag.",
            ),
            flag::value(
                "policy",
                "FILE",
                "",
                "An image policy, as for the server's --image-policy: what would it say?",
            ),
            flag::value("o", "FORMAT", "text", "text or json."),
            flag::value(
                "timeout",
                "DURATION",
                "30s",
                "How long to wait for the registry.",
            ),
            DEFAULT_IMAGE_PREFIX,
            flag::HELP,
            flag::H,
        ],
    },
    REGISTRIES,
];

const HELP: &str = "\
Asks an image's registry what the server would ask it, and shows the answer: the digest, the
platform, the command that runs, which credentials and which certificates were used, and how each
request went. Secrets are never shown. Where a bundled release stands for the image, it is named:
a server answers with it, unless its configuration says otherwise. For a version constraint it
shows which of the repository's tags satisfy it, and why the others do not; the highest one is
looked at. With --policy it says what the server's --image-policy would, and why.

Usage:
  function-runner inspect IMG [FLAGS]

Examples:
  # Why does this image not start?
  function-runner inspect set-labels:v0.2

  # Which version does this constraint stand for, and why?
  function-runner inspect set-labels --tag '>=v0.1.4 <v0.2'

  # A private registry, with the flags of the server:
  function-runner inspect harbor.example.com/team/function:v1 \\
    --enable-private-registries --registry-auth-secret-path ~/.docker/config.json \\
    --enable-private-registries-tls --tls-secret-path ./ca/

  # Would this policy let it run, and is it signed?
  function-runner inspect example.com/team/function:v1 --policy policy.yaml

  # The digest, for a script:
  function-runner inspect set-labels:v0.2 -o json | jq -r .digest

Exit code: 0 the image can be run, 1 it cannot, may not, or its registry does not tell, 2 the command line
cannot be understood.
";

#[derive(Debug)]
struct Inquiry {
    /// Without a tag if there is a constraint.
    reference: Reference,
    constraint: Option<Constraint>,
    json: bool,
    timeout: Duration,
    config: RegistryConfig,
    policy: Option<PathBuf>,
}

/// Runs the command with the words after its name.
pub(crate) fn inspect(words: Vec<OsString>) -> ExitCode {
    super::command("inspect", HELP, FLAGS, parse(words), run)
}

/// `None`: only the help is wanted.
fn parse(mut words: Vec<OsString>) -> Result<Option<Inquiry>, String> {
    let mut images = super::take_arguments(FLAGS, &mut words)?;
    let flags = goflags::parse(FLAGS, words).map_err(|error| error.to_string())?;
    let complain = |error: FlagError| error.to_string();
    if super::wants_help(&flags)? {
        return Ok(None);
    }
    let image = match images.len() {
        1 => images.remove(0),
        0 => return Err("which image? --help has examples".to_owned()),
        _ => return Err(format!("one image at a time, not {images:?}")),
    };
    let image = image
        .into_string()
        .map_err(|image| format!("{image:?} is not UTF-8"))?;
    let prefix = flags.text("default-image-prefix").map_err(complain)?;
    let image = images::resolve(&prefix, &image);
    let parse = |image: &str| {
        let reference = image.parse::<Reference>();
        reference.map_err(|reason| format!("{image:?} names no image: {reason}"))
    };
    parse(&image)?;
    let tag = flags.text("tag").map_err(complain)?;
    let (image, constraint) = match wanted(&image, &tag).map_err(|error| error.to_string())? {
        Wanted::Exactly(image) => (image, None),
        Wanted::Matching {
            repository,
            constraint,
        } => (repository, Some(constraint)),
    };
    Ok(Some(Inquiry {
        reference: parse(&image)?,
        constraint,
        json: flags.get("o", json).map_err(complain)?,
        timeout: flags
            .get("timeout", value::positive_duration)
            .map_err(complain)?,
        config: RegistryConfig::read(&flags).map_err(complain)?,
        policy: crate::config::file(&flags, "policy").map_err(complain)?,
    }))
}

fn run(inquiry: &Inquiry) -> anyhow::Result<ExitCode> {
    // Warnings belong to the answer.
    logging::init(LogConfig {
        level: 1,
        json: false,
    });
    let defaults = Timeouts::default();
    let timeouts = Timeouts {
        total: inquiry.timeout,
        request: inquiry.timeout.min(defaults.request),
        connect: inquiry.timeout.min(defaults.connect),
    };
    let client = Arc::new(images::client(&inquiry.config, timeouts));
    let path = inquiry.policy.as_deref();
    let guard = path.map(|path| policy::guard(path, &client)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let deadline = Instant::now() + inquiry.timeout;
    let guard = guard.unwrap_or_default();
    // A server would not ask either.
    let refused = guard.lets_ask(&inquiry.reference).err();
    let (asked, ruling) = runtime.block_on(async {
        let asked = match &refused {
            Some(refused) => Asked::nothing(inquiry.reference.clone(), anyhow!("{refused}")),
            None => inquiry.ask(&client, deadline).await,
        };
        let bundled = asked.bundled();
        let bundled = bundled.and_then(|_| Ruling::of_bundled(&guard, &asked.reference));
        let ruling = match (bundled, &refused, &asked.found) {
            _ if inquiry.policy.is_none() => None,
            (Some(ruling), ..) => Some(ruling),
            (None, Some(refused), _) => Some(Ruling::refused(refused)),
            (None, None, Ok(image)) => {
                Some(Ruling::of_image(&guard, &asked.reference, image, deadline).await)
            }
            (None, None, Err(_)) => None,
        };
        (asked, ruling)
    });
    let shown = shown::Inspection::new(&asked, ruling.as_ref());
    let text = if inquiry.json {
        serde_json::to_string_pretty(&shown)? + "\n"
    } else {
        shown.to_string()
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    match ruling {
        Some(ruling) if !ruling.allowed => Err(anyhow!(ruling.summary)),
        Some(_) if refused.is_some() => Ok(ExitCode::SUCCESS),
        _ => asked.found.map(|_| ExitCode::SUCCESS),
    }
}

/// The outcome of an inspection.
#[derive(Debug)]
struct Asked {
    /// What was asked about in the end.
    reference: Reference,
    matching: Option<Matching>,
    found: anyhow::Result<Image>,
    report: Report,
}

impl Inquiry {
    async fn ask(&self, client: &Client, deadline: Instant) -> Asked {
        let Some(constraint) = &self.constraint else {
            let (found, report) = client.inspect(&self.reference, deadline).await;
            return Asked {
                reference: self.reference.clone(),
                matching: None,
                found: found.map_err(anyhow::Error::new),
                report,
            };
        };
        let (tags, report) = client.tags(&self.reference, deadline).await;
        let repository = self.reference.to_string();
        let mut asked = Asked {
            reference: self.reference.clone(),
            matching: None,
            found: Err(anyhow!("no tag of {repository} satisfies {constraint}")),
            report,
        };
        let tags = match tags {
            Ok(tags) => tags,
            Err(error) => {
                asked.found = Err(error.into());
                return asked;
            }
        };
        let choice = constraint.choose(tags.iter().map(String::as_str));
        let best = choice.matching.first();
        let best = best.and_then(|tag| format!("{repository}:{tag}").parse().ok());
        asked.matching = Some(Matching::new(&repository, constraint, choice));
        if let Some(reference) = best {
            let (found, report) = client.inspect(&reference, deadline).await;
            asked.reference = reference;
            asked.found = found.map_err(anyhow::Error::new);
            asked.report = asked.report.then(report);
        }
        asked
    }
}

impl Asked {
    /// Nobody was asked, for this reason.
    fn nothing(reference: Reference, why: anyhow::Error) -> Self {
        Self {
            reference,
            matching: None,
            found: Err(why),
            report: Report::default(),
        }
    }

    /// The bundled release that a server answers calls of the image with, as far as the
    /// image says: by its name, or by the digest that its tag has. Which one satisfies a
    /// constraint is reported with the tags.
    fn bundled(&self) -> Option<Chosen> {
        if self.matching.is_some() {
            return None;
        }
        let digest = self.found.as_ref().ok().map(|image| &image.digest);
        bundled_release(&self.reference, digest)
    }
}

/// The bundled release that a server answers calls of the image with, as far as the
/// image says: by its name, or by the digest that its tag has.
fn bundled_release(reference: &Reference, digest: Option<&Digest>) -> Option<Chosen> {
    let rules = Rules::default();
    let by_name = reference::resolve(&reference.to_string(), &rules);
    let by_digest = || {
        let (domain, path) = (reference.domain(), reference.path());
        let pinned = format!("{domain}/{path}@{}", digest?);
        reference::resolve(&pinned, &rules).ok()
    };
    let chosen = by_name.ok().or_else(by_digest)?;
    bundled::program(chosen).map(|_| chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_that_answers_is_known_by_name_or_by_digest() {
        let release = |image: &str, digest: &str| {
            let digest = digest.parse().ok();
            let release = bundled_release(&image.parse().unwrap(), digest.as_ref());
            release.map(|chosen| chosen.to_string())
        };
        let image = "ghcr.io/kptdev/krm-functions-catalog/set-image:unstable";
        let digest = "sha256:3f488461ec89741aa4a693cbde683d6abe8e1427e2dec25bb99c5ddf81e39339";
        assert_eq!(release(image, digest).unwrap(), "set-image@v0.1.2");
        assert_eq!(release(image, ""), None);
        let line = "gcr.io/kpt-fn/apply-setters:v0.1";
        assert_eq!(release(line, "").unwrap(), "apply-setters@v0.1.1");
        assert_eq!(release("example.com/set-image:v0.1.2", digest), None);
    }

    fn parsed(line: &str) -> Result<Inquiry, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        parse(words).map(|inquiry| inquiry.expect("not the help"))
    }

    #[test]
    fn an_image_is_named_as_callers_name_it_and_flags_are_the_servers() {
        let inquiry =
            parsed("-o json set-labels:v1 --enable-private-registries -timeout=3s").unwrap();
        assert_eq!(
            inquiry.reference.to_string(),
            "ghcr.io/kptdev/krm-functions-catalog/set-labels:v1"
        );
        assert!(inquiry.json && inquiry.config.private);
        assert_eq!(inquiry.timeout, Duration::from_secs(3));
        let inquiry = parsed("fn:v1 --default-image-prefix example.com/").unwrap();
        assert_eq!(inquiry.reference.to_string(), "example.com/fn:v1");
    }

    #[test]
    fn a_tag_replaces_the_images_own_and_may_be_a_constraint() {
        let inquiry = parsed("a.b/fn:v9 --tag v0.4").unwrap();
        assert_eq!(inquiry.reference.to_string(), "a.b/fn:v0.4");
        assert!(inquiry.constraint.is_none());
        let inquiry = parsed("a.b/fn:v9 --tag ~0.4").unwrap();
        assert_eq!(inquiry.reference.to_string(), "a.b/fn");
        assert_eq!(inquiry.constraint.unwrap().to_string(), "~0.4");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (line, complaint) in [
            ("", "which image?"),
            ("a/b c/d", "one image at a time"),
            ("a/B", "names no image: its repository"),
            ("a/b --tag -x", "invalid tag \"-x\" for function"),
            ("a/b -o yaml", "expected text or json"),
            ("a/b --port 1", "unknown flag --port"),
        ] {
            let told = parsed(line).unwrap_err();
            assert!(told.contains(complaint), "{line}: {told}");
        }
    }
}
