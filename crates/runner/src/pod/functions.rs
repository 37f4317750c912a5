//! Per-function settings and the list of functions to warm up: the file of
//! `--pod-cache-config`. It is looked at again every [`LOOK_INTERVAL`]; a bad
//! version is told in the log and changes nothing.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goflags::value;
use k8s_openapi::api::core::v1::ResourceRequirements;
use serde::Deserialize;

use crate::{images, pool::Settings};

/// As for the exec runtime's file.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// What the file says about one function. What it leaves out falls back to the
/// flags.
#[derive(Debug, Clone, Default, PartialEq)]
struct Special {
    ttl: Option<Duration>,
    max_waitlist_length: Option<usize>,
    max_pods: Option<usize>,
    resources: Option<ResourceRequirements>,
}

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
}

/// The functions as the flags and the file describe them.
#[derive(Debug)]
pub struct Functions {
    path: PathBuf,
    default_image_prefix: String,
    defaults: Settings,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    specials: Arc<HashMap<String, Special>>,
    /// In the order of the file.
    listed: Vec<String>,
    trouble: Option<String>,
}

impl Functions {
    pub fn new(path: &Path, default_image_prefix: &str, defaults: Settings) -> Self {
        Self {
            path: path.to_owned(),
            default_image_prefix: default_image_prefix.to_owned(),
            defaults,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds for a function.
    pub fn settings(&self, function: &str) -> Settings {
        let specials = Arc::clone(&self.known().specials);
        let Some(special) = specials.get(function) else {
            return self.defaults;
        };
        Settings {
            ttl: special.ttl.unwrap_or(self.defaults.ttl),
            max_waitlist_length: special
                .max_waitlist_length
                .unwrap_or(self.defaults.max_waitlist_length),
            max_pods: special.max_pods.unwrap_or(self.defaults.max_pods),
            max_queued: self.defaults.max_queued,
        }
    }

    /// The function container's resources, if the file has some.
    pub fn resources(&self, function: &str) -> Option<ResourceRequirements> {
        self.known().specials.get(function)?.resources.clone()
    }

    /// Reads the file; the functions that are listed and were not before.
    pub fn look(&self) -> Vec<String> {
        let read = std::fs::read_to_string(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("cannot read it: {error}"),
        });
        let parsed = read.and_then(|text| parse(&text, &self.default_image_prefix));
        let mut known = self.known();
        match parsed {
            Ok((listed, specials)) => {
                let is_new = |name: &String| !known.specials.contains_key(name);
                let new = listed.iter().filter(|name| is_new(name)).cloned().collect();
                *known = Known {
                    specials: Arc::new(specials),
                    listed,
                    trouble: None,
                };
                new
            }
            Err(trouble) => {
                if known.trouble.as_ref() != Some(&trouble) {
                    let kept = known.listed.len();
                    tracing::warn!(
                        "--pod-cache-config {}: {trouble}; {kept} functions have settings of their own",
                        self.path.display()
                    );
                    known.trouble = Some(trouble);
                }
                Vec::new()
            }
        }
    }
}

type Parsed = (Vec<String>, HashMap<String, Special>);

fn parse(text: &str, prefix: &str) -> Result<Parsed, String> {
    if text.trim().is_empty() {
        return Ok(Parsed::default());
    }
    let options = serde_saphyr::options! { with_snippet: false };
    let file: File = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| format!("cannot parse it: {error}"))?;
    let lines = match file {
        File::List(lines) => lines,
        File::Map(map) => map.into_iter().map(Line::older).collect(),
    };
    let (mut listed, mut specials) = Parsed::default();
    for line in lines {
        let name = images::resolve(prefix, &line.name);
        let special = line.read()?;
        if specials.insert(name.clone(), special).is_none() {
            listed.push(name);
        }
    }
    Ok((listed, specials))
}

impl Line {
    fn older((name, time_to_live): (String, String)) -> Self {
        Self {
            name,
            time_to_live: Some(time_to_live),
            max_waitlist_length: None,
            max_parallel_pods_per_function: None,
            resources: None,
        }
    }

    fn read(self) -> Result<Special, String> {
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
        Ok(Special {
            ttl: ttl.filter(|ttl| !ttl.is_zero()),
            max_waitlist_length: positive(self.max_waitlist_length),
            max_pods: positive(self.max_parallel_pods_per_function),
            resources: self.resources,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: Settings = Settings {
        ttl: Duration::from_secs(1800),
        max_waitlist_length: 2,
        max_pods: 1,
        max_queued: 1000,
    };

    fn read(text: &str) -> (Functions, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pod-cache-config.yaml");
        std::fs::write(&path, text).unwrap();
        let functions = Functions::new(&path, "example.com/", DEFAULTS);
        let new = functions.look();
        (functions, new)
    }

    #[test]
    fn values_of_a_function_override_the_flags_and_nothing_falls_back() {
        let (functions, new) = read(
            "- name: set-labels:v1\n  timeToLive: 10m\n  maxWaitlistLength: 0\n  \
             maxParallelPodsPerFunction: 3\n  resources: { limits: { memory: 1Gi } }\n\
             - name: a/b:v1\n",
        );
        assert_eq!(new, ["example.com/set-labels:v1", "a/b:v1"]);
        let settings = functions.settings("example.com/set-labels:v1");
        let expected = Settings {
            ttl: Duration::from_secs(600),
            max_pods: 3,
            ..DEFAULTS
        };
        assert_eq!(settings, expected);
        assert!(functions.resources("example.com/set-labels:v1").is_some());
        assert_eq!(functions.settings("a/b:v1"), DEFAULTS);
        assert_eq!(functions.settings("unlisted"), DEFAULTS);
    }

    #[test]
    fn the_older_form_maps_images_to_their_time_to_live() {
        let (functions, new) = read("a/b:v1: 45s\na/c:v1: 1h\n");
        assert_eq!(new, ["a/b:v1", "a/c:v1"]);
        assert_eq!(functions.settings("a/b:v1").ttl, Duration::from_secs(45));
    }

    #[test]
    fn a_bad_version_changes_nothing_and_a_good_one_tells_what_is_new() {
        let (functions, _) = read("- name: a/b:v1\n  timeToLive: 45s\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let functions = Functions { path, ..functions };
        for bad in ["- name: a/b:v1\n  timeToLive: soon\n", "{{{", "- nam: x\n"] {
            std::fs::write(&functions.path, bad).unwrap();
            assert!(functions.look().is_empty());
            assert_eq!(functions.settings("a/b:v1").ttl, Duration::from_secs(45));
        }
        std::fs::write(&functions.path, "- name: a/b:v1\n- name: a/new:v1\n").unwrap();
        assert_eq!(functions.look(), ["a/new:v1"]);
        assert_eq!(functions.settings("a/b:v1"), DEFAULTS);
        std::fs::write(&functions.path, "").unwrap();
        assert!(functions.look().is_empty());
    }
}
