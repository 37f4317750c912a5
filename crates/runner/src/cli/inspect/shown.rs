//! An inspection as people and scripts read it.

use std::{fmt, path::PathBuf};

use registry::{Image, Origin, Reference};
use serde::Serialize;

use super::{Asked, Ruling, matching::Matching};

/// What was found out, in words. Fields without a value are left out.
#[derive(Debug, Serialize)]
pub(super) struct Inspection<'a> {
    image: String,
    /// The bundled release that answers calls of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundled: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<&'a Matching>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a Ruling>,
    #[serde(flatten)]
    found: Option<Found>,
    credentials: Option<Credentials>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<String>,
    requests: Vec<Request>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Found {
    /// What pods would run.
    resolved: String,
    digest: String,
    manifest: String,
    platform: String,
    command: Vec<String>,
}

/// Where credentials came from; `null` if the registry wanted none.
#[derive(Debug, Serialize)]
struct Credentials {
    summary: String,
    file: Option<PathBuf>,
    entry: Option<String>,
    helper: Option<String>,
    username: Option<String>,
}

#[derive(Debug, Serialize)]
struct Request {
    action: String,
    url: String,
    outcome: String,
    milliseconds: u128,
}

impl<'a> Inspection<'a> {
    pub(super) fn new(asked: &'a Asked, policy: Option<&'a Ruling>) -> Self {
        let Asked {
            reference,
            matching,
            found,
            report,
        } = asked;
        let (found, error) = match found {
            Ok(image) => (Some(Found::new(reference, image)), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        let requests = report.exchanges.iter().map(|exchange| Request {
            action: exchange.action.clone(),
            url: exchange.url.clone(),
            outcome: exchange.outcome.clone(),
            milliseconds: exchange.took.as_millis(),
        });
        Self {
            image: reference.to_string(),
            bundled: asked.bundled().map(|chosen| chosen.to_string()),
            tags: matching.as_ref(),
            policy,
            found,
            credentials: report.credentials.as_ref().map(Credentials::new),
            tls: report.tls.as_ref().map(ToString::to_string),
            requests: requests.collect(),
            error,
        }
    }
}

impl Found {
    fn new(reference: &Reference, image: &Image) -> Self {
        let (domain, path) = (reference.domain(), reference.path());
        Self {
            resolved: format!("{domain}/{path}@{}", image.digest),
            digest: image.digest.to_string(),
            manifest: image.manifest.to_string(),
            platform: image.platform.to_string(),
            command: image.command.clone(),
        }
    }
}

impl Credentials {
    fn new(origin: &Origin) -> Self {
        Self {
            summary: origin.to_string(),
            file: origin.file.clone(),
            entry: origin.entry.clone(),
            helper: origin.helper.clone(),
            username: origin.username.clone(),
        }
    }
}

impl fmt::Display for Inspection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13}{}", "Image:", self.image)?;
        if let Some(tags) = self.tags {
            write!(f, "{tags}")?;
        }
        let mut line = |name: &str, value: &str| writeln!(f, "{name:<13}{value}");
        if let Some(release) = &self.bundled {
            line("Bundled:", &format!("{release} answers for it"))?;
        }
        if let Some(policy) = self.policy {
            line("Policy:", &policy.summary)?;
        }
        if let Some(found) = &self.found {
            line("Resolved:", &found.resolved)?;
            if found.manifest != found.digest {
                line("Manifest:", &found.manifest)?;
            }
            line("Platform:", &found.platform)?;
            line("Command:", &format!("{:?}", found.command))?;
        }
        let credentials = self.credentials.as_ref();
        let unwanted = "not asked for".to_owned();
        line(
            "Credentials:",
            credentials.map_or(&unwanted, |it| &it.summary),
        )?;
        line("TLS:", self.tls.as_deref().unwrap_or("no connection"))?;
        writeln!(f, "Requests:")?;
        for request in &self.requests {
            let Request {
                action,
                url,
                outcome,
                milliseconds,
            } = request;
            writeln!(f, "  {milliseconds:>6} ms  {action:<7} {url}: {outcome}")?;
        }
        Ok(())
    }
}
