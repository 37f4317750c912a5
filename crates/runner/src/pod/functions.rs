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
    retry_lost_calls: Option<bool>,
}

/// What the file says, and how often that has changed: another number with each
/// version of it.
#[derive(Debug, Clone)]
struct Listed {
    special: Special,
    revision: u64,
}

/// What holds for functions that the file says nothing about.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    pub settings: Settings,
    /// Whether listed functions have a pod before anybody asks.
    pub warm_up: bool,
    /// How often a call is sent again whose pod was lost under it, where it is.
    pub max_retries: usize,
    pub retry_lost_calls: bool,
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
    retry_lost_calls: Option<bool>,
}

/// The functions as the flags and the file describe them.
#[derive(Debug)]
pub struct Functions {
    path: PathBuf,
    default_image_prefix: String,
    defaults: Defaults,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    specials: Arc<HashMap<String, Listed>>,
    last_revision: u64,
    trouble: Option<String>,
}

impl Functions {
    pub fn new(path: &Path, default_image_prefix: &str, defaults: Defaults) -> Self {
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
        let Defaults { settings, .. } = self.defaults;
        let Some(Listed { special, revision }) = specials.get(function) else {
            return settings;
        };
        Settings {
            ttl: special.ttl.unwrap_or(settings.ttl),
            max_waitlist_length: special
                .max_waitlist_length
                .unwrap_or(settings.max_waitlist_length),
            max_pods: special.max_pods.unwrap_or(settings.max_pods),
            max_queued: settings.max_queued,
            is_warm_up: self.defaults.warm_up,
            revision: *revision,
        }
    }

    /// How often a call is sent again whose pod was lost under it.
    pub fn retries(&self, function: &str) -> usize {
        let known = self.known();
        let listed = known.specials.get(function);
        let retry = listed.and_then(|listed| listed.special.retry_lost_calls);
        if retry.unwrap_or(self.defaults.retry_lost_calls) {
            self.defaults.max_retries
        } else {
            0
        }
    }

    /// The function container's resources, if the file has some.
    pub fn resources(&self, function: &str) -> Option<ResourceRequirements> {
        let known = self.known();
        known.specials.get(function)?.special.resources.clone()
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
            Ok(listed) => known.replace(listed),
            Err(trouble) => {
                if known.trouble.as_ref() != Some(&trouble) {
                    let kept = known.specials.len();
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

impl Known {
    /// Takes a version of the file over; the functions that were not listed before.
    fn replace(&mut self, listed: Vec<(String, Special)>) -> Vec<String> {
        let mut new = Vec::new();
        let mut specials = HashMap::new();
        for (name, special) in listed {
            let before = self.specials.get(&name);
            if before.is_none() {
                new.push(name.clone());
            }
            let same = before.filter(|before| before.special == special);
            let revision = same.map_or(self.last_revision + 1, |same| same.revision);
            self.last_revision = self.last_revision.max(revision);
            specials.insert(name, Listed { special, revision });
        }
        self.specials = Arc::new(specials);
        self.trouble = None;
        new
    }
}

/// The functions in the order of the file. Of one that is listed twice the last entry
/// counts.
fn parse(text: &str, prefix: &str) -> Result<Vec<(String, Special)>, String> {
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
    let mut listed: Vec<(String, Special)> = Vec::new();
    for line in lines {
        let name = images::resolve(prefix, &line.name);
        let special = line.read()?;
        match listed.iter_mut().find(|(listed, _)| *listed == name) {
            Some((_, before)) => *before = special,
            None => listed.push((name, special)),
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
            retry_lost_calls: self.retry_lost_calls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: Defaults = Defaults {
        settings: SETTINGS,
        warm_up: true,
        max_retries: 2,
        retry_lost_calls: true,
    };

    const SETTINGS: Settings = Settings {
        ttl: Duration::from_secs(1800),
        max_waitlist_length: 2,
        max_pods: 1,
        max_queued: 1000,
        is_warm_up: false,
        revision: 0,
    };

    /// Settings of a listed function that says nothing about them.
    const LISTED: Settings = Settings {
        is_warm_up: true,
        ..SETTINGS
    };

    fn unrevised(settings: Settings) -> Settings {
        Settings {
            revision: 0,
            ..settings
        }
    }

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
            ..LISTED
        };
        assert_eq!(unrevised(settings), expected);
        assert!(functions.resources("example.com/set-labels:v1").is_some());
        assert_eq!(unrevised(functions.settings("a/b:v1")), LISTED);
        assert_eq!(functions.settings("unlisted"), SETTINGS);
    }

    #[test]
    fn lost_calls_are_sent_again_unless_the_flag_or_the_function_says_otherwise() {
        let text = "- name: a/never:v1\n  retryLostCalls: false\n- name: a/b:v1\n\
                    - name: a/always:v1\n  retryLostCalls: true\n";
        let (functions, _) = read(text);
        for (name, retries) in [("a/never:v1", 0), ("a/b:v1", 2), ("unlisted", 2)] {
            assert_eq!(functions.retries(name), retries, "{name}");
        }
        let defaults = Defaults {
            retry_lost_calls: false,
            ..DEFAULTS
        };
        let functions = Functions {
            defaults,
            ..functions
        };
        for (name, retries) in [("a/always:v1", 2), ("a/b:v1", 0), ("unlisted", 0)] {
            assert_eq!(functions.retries(name), retries, "{name}");
        }
    }

    #[test]
    fn whatever_changes_for_a_function_changes_its_revision_and_no_others() {
        let (functions, _) = read("- name: a/b:v1\n- name: a/c:v1\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let functions = Functions { path, ..functions };
        let revisions = || ["a/b:v1", "a/c:v1"].map(|name| functions.settings(name).revision);
        let before = revisions();
        let changed = "- name: a/b:v1\n- name: a/c:v1\n  resources: { limits: { memory: 1Gi } }\n";
        for _ in 0..2 {
            std::fs::write(&functions.path, changed).unwrap();
            functions.look();
            assert_eq!(revisions()[0], before[0]);
            assert_eq!(revisions()[1], before[1] + 1);
        }
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
        assert_eq!(unrevised(functions.settings("a/b:v1")), LISTED);
        std::fs::write(&functions.path, "").unwrap();
        assert!(functions.look().is_empty());
    }
}
