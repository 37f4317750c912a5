//! The file of `--pod-cache-config`.

use std::collections::BTreeMap;

use goflags::value;
use k8s_openapi::api::core::v1::ResourceRequirements;
use serde::Deserialize;

use crate::{
    function_config::{overrides::Overrides, plain::PodSettings},
    images,
};

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    List(Vec<Line>),
    /// The older form: from image to time to live.
    Map(BTreeMap<String, String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    name: String,
    time_to_live: Option<String>,
    max_waitlist_length: Option<i64>,
    max_parallel_pods_per_function: Option<i64>,
    resources: Option<ResourceRequirements>,
    retry_lost_calls: Option<bool>,
}

/// The functions in the order of the file. Of one that is listed twice the last entry
/// counts.
pub(super) fn parse(text: &str, prefix: &str) -> Result<Vec<(String, PodSettings)>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let options = serde_saphyr::options! { with_snippet: false };
    let file: File = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| format!("cannot parse it: {error}"))?;
    let lines = match file {
        File::List(lines) => lines,
        File::Map(map) => map.into_iter().map(Line::older).collect(),
    };
    let mut listed: Vec<(String, PodSettings)> = Vec::new();
    for line in lines {
        let name = images::resolve(prefix, &line.name);
        let settings = line.read()?;
        match listed.iter_mut().find(|(listed, _)| *listed == name) {
            Some((_, before)) => *before = settings,
            None => listed.push((name, settings)),
        }
    }
    Ok(listed)
}

impl Line {
    fn older((name, time_to_live): (String, String)) -> Self {
        Self {
            name,
            time_to_live: Some(time_to_live),
            max_waitlist_length: None,
            max_parallel_pods_per_function: None,
            resources: None,
            retry_lost_calls: None,
        }
    }

    fn read(self) -> Result<PodSettings, String> {
        let positive = |count: Option<i64>| {
            let count = count.and_then(|count| usize::try_from(count).ok());
            count.filter(|count| *count > 0)
        };
        let ttl = match self.time_to_live.as_deref() {
            None | Some("") => None,
            Some(text) => Some(value::duration(text).map_err(|wanted| {
                format!("the timeToLive {text:?} of {} is not {wanted}", self.name)
            })?),
        };
        Ok(PodSettings {
            ttl: ttl.filter(|ttl| !ttl.is_zero()),
            max_waitlist_length: positive(self.max_waitlist_length),
            max_pods: positive(self.max_parallel_pods_per_function),
            overrides: Overrides::of_resources(self.resources),
            retry_lost_calls: self.retry_lost_calls,
        })
    }
}
