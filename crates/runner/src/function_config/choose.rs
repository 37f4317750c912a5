//! Which objects count, and what they say: pure.
//!
//! Of several objects for one image the oldest counts, and among equally old ones the
//! first by name: that is the order in which a runner that was always there saw them.
//! The status of every other object says that it is ignored. An object that is being
//! deleted counts no longer.

use process::Profile;
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use goflags::value;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;

use super::{
    kind::{BinaryExecutor, FunctionConfig, GoExecutor, PodExecutor, Spec},
    overrides::Overrides,
    plain::{Bundled, Executable, Origin, PodRule, PodSettings, Tag, Wanted},
};

/// On an object: how many pods of its warm-up are kept, however long nobody calls them.
pub(crate) const MIN_PODS: &str = "fn.kpt.dev/min-pods";

/// What is wrong, by object; those without are well.
pub(crate) type Complaints = BTreeMap<String, Vec<String>>;

/// What the objects say, and what is wrong with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Chosen {
    /// In the order in which they count.
    pub(crate) executables: Vec<Executable>,
    /// By the image's base name.
    pub(crate) pods: HashMap<String, PodRule>,
    pub(crate) complaints: Complaints,
}

/// Reads the objects. `default_prefix` is what the empty prefix stands for.
pub(crate) fn choose<'a>(
    objects: impl IntoIterator<Item = &'a FunctionConfig>,
    default_prefix: &str,
) -> Chosen {
    let mut objects: Vec<&FunctionConfig> = objects
        .into_iter()
        .filter(|object| object.metadata.deletion_timestamp.is_none())
        .collect();
    objects.sort_by_key(|object| age(object));
    let mut chosen = Chosen::default();
    let mut first: HashMap<String, String> = HashMap::new();
    for object in objects {
        let name = object.name_any();
        let mut complaints = Vec::new();
        match serde_json::from_value::<Spec>(object.spec.clone()) {
            Err(error) => complaints.push(format!("its spec is not understood: {error}")),
            Ok(spec) => match first.get(&spec.image) {
                Some(other) => complaints.push(format!(
                    "it is ignored: the FunctionConfig {other:?} is older and has the same image \
                     {:?}",
                    spec.image
                )),
                None => {
                    first.insert(spec.image.clone(), name.clone());
                    let reading = Reading {
                        image: &spec.image,
                        repositories: repositories(&spec, default_prefix),
                        origin: Origin::Object(name.clone()),
                        complaints: &mut complaints,
                    };
                    reading.read(&spec, object, &mut chosen);
                }
            },
        }
        if !complaints.is_empty() {
            chosen.complaints.insert(name, complaints);
        }
    }
    chosen
}

/// An object without a time of creation is one that nobody has created yet.
fn age(object: &FunctionConfig) -> (Timestamp, String) {
    let created = object.metadata.creation_timestamp.as_ref();
    let created = created.map_or(Timestamp::MAX, |time| time.0);
    (created, object.name_any())
}

fn repositories(spec: &Spec, default_prefix: &str) -> Vec<String> {
    let prefix = |prefix: &String| match prefix.as_str() {
        "" => default_prefix.to_owned(),
        prefix => prefix.to_owned(),
    };
    let repository = |prefix: String| match prefix.trim_end_matches('/') {
        "" => spec.image.clone(),
        prefix => format!("{prefix}/{}", spec.image),
    };
    spec.prefixes.iter().map(prefix).map(repository).collect()
}

/// One object that counts.
struct Reading<'a> {
    image: &'a str,
    repositories: Vec<String>,
    origin: Origin,
    complaints: &'a mut Vec<String>,
}

impl Reading<'_> {
    fn read(mut self, spec: &Spec, object: &FunctionConfig, chosen: &mut Chosen) {
        if spec.image.is_empty() || spec.image.contains(['/', ':', '@']) {
            let image = &spec.image;
            return self.complain(format!(
                "its image {image:?} has to be the last element of an image's path, without a tag"
            ));
        }
        if self.repositories.is_empty() {
            self.complain(
                "it has no prefixes, so it is about no image; an empty prefix stands for \
                 --default-image-prefix",
            );
        }
        let executors = [
            spec.pod_executor.is_some(),
            spec.binary_executor.is_some(),
            spec.go_executor.is_some(),
        ];
        if !executors.contains(&true) {
            self.complain("it has none of podExecutor, binaryExecutor and goExecutor");
        }
        if let Some(executor) = &spec.binary_executor {
            self.binary(executor, chosen);
        }
        if let Some(executor) = &spec.go_executor {
            self.bundled(executor, chosen);
        }
        if let Some(executor) = &spec.pod_executor {
            let rule = self.pod(executor, object);
            chosen.pods.insert(spec.image.clone(), rule);
        }
    }

    fn complain(&mut self, what: impl Into<String>) {
        self.complaints.push(what.into());
    }

    fn binary(&mut self, executor: &BinaryExecutor, chosen: &mut Chosen) {
        for tag in &executor.tags {
            let wanted = Wanted::File {
                path: executor.path.clone(),
                otherwise: Bundled::Tagged {
                    name: self.image.to_owned(),
                    tag: tag.clone(),
                },
            };
            self.executable(wanted, tag, chosen);
        }
    }

    fn bundled(&mut self, executor: &GoExecutor, chosen: &mut Chosen) {
        let id = executor.id.as_ref().filter(|id| !id.is_empty());
        for tag in &executor.tags {
            let wanted = Wanted::Bundled(Bundled::Tagged {
                name: id.map_or(self.image, String::as_str).to_owned(),
                tag: tag.clone(),
            });
            self.executable(wanted, tag, chosen);
        }
    }

    fn executable(&self, wanted: Wanted, tag: &str, chosen: &mut Chosen) {
        let images = self.repositories.iter();
        chosen.executables.push(Executable {
            origin: self.origin.clone(),
            wanted,
            images: images.map(|name| format!("{name}:{tag}")).collect(),
            profile: Profile::default(),
        });
    }

    fn pod(&mut self, executor: &PodExecutor, object: &FunctionConfig) -> PodRule {
        let tags: Vec<Tag> = executor.tags.iter().map(|tag| Tag::new(tag)).collect();
        let overrides = executor.template_overrides.clone().unwrap_or_default();
        let first = self
            .repositories
            .first()
            .cloned()
            .zip(tags.first().cloned());
        PodRule {
            repositories: self.repositories.clone(),
            settings: PodSettings {
                ttl: self.ttl(executor),
                max_waitlist_length: positive(executor.preferred_max_queue_length),
                max_pods: positive(executor.max_parallel_executions),
                retry_lost_calls: None,
                overrides: Overrides::of_object(overrides),
            },
            warm_up: first,
            min_pods: self.min_pods(object),
            tags,
        }
    }

    fn ttl(&mut self, executor: &PodExecutor) -> Option<Duration> {
        let text = executor.time_to_live.as_deref()?;
        match value::duration(text) {
            Ok(ttl) => Some(ttl).filter(|ttl| !ttl.is_zero()),
            Err(wanted) => {
                self.complain(format!(
                    "its timeToLive {text:?} is not {wanted}; --pod-ttl counts"
                ));
                None
            }
        }
    }

    fn min_pods(&mut self, object: &FunctionConfig) -> usize {
        let Some(text) = object.annotations().get(MIN_PODS) else {
            return 0;
        };
        text.parse().unwrap_or_else(|_| {
            self.complain(format!(
                "its annotation {MIN_PODS} is {text:?}, which is not a whole number from 0"
            ));
            0
        })
    }
}

fn positive(count: Option<i64>) -> Option<usize> {
    let count = count.and_then(|count| usize::try_from(count).ok());
    count.filter(|count| *count > 0)
}

#[cfg(test)]
mod tests;
