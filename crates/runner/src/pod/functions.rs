//! Per-function settings and the functions to warm up: from the file of
//! `--pod-cache-config`, and for images that it does not list from objects. The file
//! is checked for changes every [`LOOK_INTERVAL`]; an invalid version is logged and
//! changes nothing.

mod file;

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use file::parse;
use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::watch, time::timeout};
use versions::Constraint;

use crate::{
    function_config::{
        overrides::Overrides,
        plain::{PodRule, PodSettings, Split},
    },
    pool::Settings,
};

/// As for the exec runtime's file.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// The settings, and how often they have changed: another number with each version of
/// them.
#[derive(Debug, Clone)]
struct Listed {
    settings: PodSettings,
    revision: u64,
}

/// The same for the images of one object.
#[derive(Debug, Clone)]
struct Ruled {
    rule: PodRule,
    revision: u64,
    /// The image of which there should be pods before anybody asks.
    warm_up: Option<String>,
    overrides_version: Option<String>,
}

/// A warm-up whose tag is a range.
#[derive(Debug)]
pub(crate) struct Range {
    name: String,
    pub(crate) repository: String,
    pub(crate) constraint: Constraint,
    revision: u64,
}

/// The settings of one function.
struct Said<'a> {
    settings: &'a PodSettings,
    revision: u64,
    is_warm_up: bool,
    min_pods: usize,
    /// The version of its overrides, if pods with others are to be replaced.
    overrides_version: Option<&'a str>,
}

/// What holds for functions that the file says nothing about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    pub(crate) settings: Settings,
    /// Whether listed functions have a pod before anybody asks.
    pub(crate) warm_up: bool,
    /// How often a call whose pod was lost is sent again, if it is.
    pub(crate) max_retries: usize,
    pub(crate) retry_lost_calls: bool,
}

/// The functions as the flags and the file describe them.
#[derive(Debug)]
pub(crate) struct Functions {
    path: PathBuf,
    /// Whether the operator has named the file: since Porch 1.6 there usually is none.
    is_expected: bool,
    default_image_prefix: String,
    defaults: Defaults,
    known: Mutex<Entries>,
    /// Whether it is known which objects there are.
    knows_objects: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Entries {
    listed: HashMap<String, Listed>,
    /// By the image's base name.
    ruled: HashMap<String, Ruled>,
    last_revision: u64,
    trouble: Option<String>,
    news: News,
}

/// What objects have changed since somebody asked.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Functions that should have pods now.
    pub(crate) warm_up: Vec<String>,
    /// Whether settings may be others.
    pub(crate) is_changed: bool,
}

impl Functions {
    pub(crate) fn new(path: &Path, default_image_prefix: &str, defaults: Defaults) -> Self {
        Self {
            path: path.to_owned(),
            is_expected: true,
            default_image_prefix: default_image_prefix.to_owned(),
            defaults,
            known: Mutex::default(),
            knows_objects: watch::channel(false).0,
        }
    }

    /// Whether the file is expected to be there.
    #[must_use]
    pub(crate) fn expecting_file(self, is_expected: bool) -> Self {
        Self {
            is_expected,
            ..self
        }
    }

    fn known(&self) -> MutexGuard<'_, Entries> {
        self.known.lock()
    }

    /// What holds for a function.
    pub(crate) fn settings(&self, function: &str) -> Settings {
        let known = self.known();
        let Defaults { settings, .. } = self.defaults;
        let Some(said) = known.about(function, self.defaults.warm_up) else {
            return settings;
        };
        let special = said.settings;
        let max_pods = special.max_pods.unwrap_or(settings.max_pods);
        Settings {
            ttl: special.ttl.unwrap_or(settings.ttl),
            max_waitlist_length: special
                .max_waitlist_length
                .unwrap_or(settings.max_waitlist_length),
            // A function that keeps some pods may have as many.
            max_pods: max_pods.max(said.min_pods),
            max_queued: settings.max_queued,
            is_warm_up: said.is_warm_up,
            min_pods: said.min_pods,
            revision: said.revision,
        }
    }

    /// How often a call whose pod was lost is sent again.
    pub(crate) fn retries(&self, function: &str) -> usize {
        let known = self.known();
        let said = known.about(function, false);
        let retry = said.and_then(|said| said.settings.retry_lost_calls);
        if retry.unwrap_or(self.defaults.retry_lost_calls) {
            self.defaults.max_retries
        } else {
            0
        }
    }

    /// What the function changes of its pods' template.
    pub(crate) fn overrides(&self, function: &str) -> Overrides {
        let known = self.known();
        let said = known.about(function, false);
        said.map(|said| said.settings.overrides.clone())
            .unwrap_or_default()
    }

    /// The version of these, if pods with others are to be replaced.
    pub(crate) fn overrides_version(&self, function: &str) -> Option<String> {
        let known = self.known();
        let said = known.about(function, false)?;
        said.overrides_version.map(str::to_owned)
    }

    /// Waits for a while until it is known which objects there are.
    pub(crate) async fn until_objects_are_known(&self, patience: Duration) -> bool {
        let mut known = self.knows_objects.subscribe();
        let known = timeout(patience, known.wait_for(|known| *known)).await;
        known.is_ok()
    }

    /// Whether it is known which objects there are.
    pub(crate) fn knows_objects(&self) -> bool {
        *self.knows_objects.borrow()
    }

    /// From now on these objects count; by the images' base names.
    pub(crate) fn apply(&self, rules: &HashMap<String, PodRule>) {
        self.known().apply(rules, self.defaults.warm_up);
        self.knows_objects.send_replace(true);
    }

    /// Warm-ups whose tag is a range that has not been resolved yet.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let known = self.known();
        let range = |(name, ruled): (&String, &Ruled)| {
            let (repository, tag) = ruled.rule.warm_up.as_ref()?;
            let is_wanted = self.defaults.warm_up || ruled.rule.min_pods > 0;
            let constraint = tag
                .range()
                .filter(|_| is_wanted && ruled.warm_up.is_none())?;
            Some(Range {
                name: name.clone(),
                repository: repository.clone(),
                constraint: constraint.clone(),
                revision: ruled.revision,
            })
        };
        known.ruled.iter().filter_map(range).collect()
    }

    /// The tag that a range stands for, unless its object says something else by now.
    pub(crate) fn resolve(&self, range: &Range, tag: &str) {
        let mut known = self.known();
        let ruled = known.ruled.get_mut(&range.name);
        if let Some(ruled) = ruled.filter(|ruled| ruled.revision == range.revision) {
            let image = format!("{}:{tag}", range.repository);
            ruled.warm_up = Some(image.clone());
            known.news.warm_up.push(image);
            known.news.is_changed = true;
        }
    }

    /// What objects have changed since the last time.
    pub(crate) fn news(&self) -> News {
        std::mem::take(&mut self.known().news)
    }

    /// Reads the file; the functions that are listed and were not before.
    pub(crate) fn look(&self) -> Vec<String> {
        let mut is_absent = false;
        let read = std::fs::read_to_string(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                is_absent = true;
                "there is no such file".to_owned()
            }
            _ => format!("cannot read it: {error}"),
        });
        let parsed = read.and_then(|text| parse(&text, &self.default_image_prefix));
        let mut known = self.known();
        match parsed {
            Ok(listed) => known.replace(listed),
            Err(trouble) => {
                if known.trouble.as_ref() != Some(&trouble) {
                    let (kept, path) = (known.listed.len(), self.path.display());
                    if is_absent && kept == 0 && !self.is_expected {
                        tracing::info!("no {path}: objects and flags say how pods are used");
                    } else {
                        tracing::warn!(
                            "--pod-cache-config {path}: {trouble}; {kept} functions have settings \
                             of their own"
                        );
                    }
                    known.trouble = Some(trouble);
                }
                Vec::new()
            }
        }
    }
}

impl Entries {
    /// The file counts before objects.
    fn about(&self, function: &str, warm_up: bool) -> Option<Said<'_>> {
        if let Some(Listed { settings, revision }) = self.listed.get(function) {
            return Some(Said {
                settings,
                revision: *revision,
                is_warm_up: warm_up,
                min_pods: 0,
                overrides_version: None,
            });
        }
        let image = Split::of(function);
        let ruled = self.ruled.get(image.name)?;
        if !ruled.rule.is_about(&image) {
            return None;
        }
        let is_first = ruled.warm_up.as_deref() == Some(function);
        let min_pods = if is_first { ruled.rule.min_pods } else { 0 };
        let settings = &ruled.rule.settings;
        Some(Said {
            settings,
            revision: ruled.revision,
            is_warm_up: is_first && (warm_up || min_pods > 0),
            min_pods,
            overrides_version: ruled.overrides_version.as_deref(),
        })
    }

    /// Takes a version of the file over; the functions that were not listed before.
    fn replace(&mut self, new_list: Vec<(String, PodSettings)>) -> Vec<String> {
        let mut new = Vec::new();
        let mut listed = HashMap::new();
        for (name, settings) in new_list {
            let before = self.listed.get(&name);
            if before.is_none() {
                new.push(name.clone());
            }
            let same = before.filter(|before| before.settings == settings);
            let revision = same.map_or(self.last_revision + 1, |same| same.revision);
            self.last_revision = self.last_revision.max(revision);
            listed.insert(name, Listed { settings, revision });
        }
        self.listed = listed;
        self.trouble = None;
        new
    }

    fn apply(&mut self, rules: &HashMap<String, PodRule>, warm_up: bool) {
        let mut ruled = HashMap::new();
        for (name, rule) in rules {
            let before = self.ruled.get(name);
            if let Some(same) = before.filter(|before| before.rule == *rule) {
                ruled.insert(name.clone(), same.clone());
                continue;
            }
            self.last_revision += 1;
            let first = rule.warm_up.as_ref();
            let first = first.filter(|(_, tag)| tag.range().is_none());
            let first = first.map(|(repository, tag)| format!("{repository}:{}", tag.text));
            let was_warm = before.is_some_and(|before| before.warm_up == first);
            let is_wanted = rule.min_pods > 0 || warm_up && !was_warm;
            self.news
                .warm_up
                .extend(first.clone().filter(|_| is_wanted));
            self.news.is_changed = true;
            let new = Ruled {
                rule: rule.clone(),
                revision: self.last_revision,
                warm_up: first,
                overrides_version: rule.settings.overrides.version(),
            };
            ruled.insert(name.clone(), new);
        }
        self.news.is_changed |= self.ruled.len() != ruled.len();
        self.ruled = ruled;
    }
}

#[cfg(test)]
mod tests;
