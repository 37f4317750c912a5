//! `set-labels`: adds labels to objects, to the selectors that select them and
//! to the templates that they are made from.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    function::{Clock, Function, Stop},
    kustomize::{Field, Transformer},
    list::{ResourceList, W1, W4},
    release::Release,
    results::{Report, Severity},
    runner_config::{self, Given},
    yaml::{Content, Node, ScalarStyle},
};

const LABELS: &[&str] = &["metadata", "labels"];
const SELECTOR: &[&str] = &["selector", "matchLabels"];
const POD_SELECTOR: &[&str] = &["podSelector", "matchLabels"];
const LABEL_SELECTOR: &[&str] = &["labelSelector", "matchLabels"];

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.2.5", W4, &V0_2_3)
        .of_2026()
        .also(&["master-20260113"]),
    Release::native("v0.2.4", W4, &V0_2_3).of_2026(),
    Release::native("v0.2.3", W4, &V0_2_3).of_2026(),
    Release::native("v0.2.2", W4, &V0_2_0)
        .with_digests(&["sha256:584115f2212bc154ba34412063f19711b19237ff05b312c2947f49a365429e3e"]),
    Release::native("v0.2.1", W4, &V0_2_0),
    Release::native("v0.2.0", W4, &V0_2_0),
    Release::native("v0.1.5", W1, &V0_1_5),
    Release::unknown("v0.1.4"),
    Release::unknown("v0.1.3"),
];

/// The releases under the image's former name, `set-label`.
pub(crate) const RELEASES_OF_OLD_NAME: &[Release] = &[
    Release::unknown("v0.1.2"),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];

const V0_1_5: Transformer = Transformer {
    field: Field::Labels,
};

#[derive(Debug)]
pub(crate) struct SetLabels {
    /// Whether a label that changes keeps its quotes.
    keeps_quotes: bool,
}

const V0_2_3: SetLabels = SetLabels { keeps_quotes: true };
const V0_2_0: SetLabels = SetLabels {
    keeps_quotes: false,
};

impl Function for SetLabels {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let failure = || Stop::Failed(runner_config::FAILURE.into());
        // kpt's placeholder without data ends the Go function without a word.
        let is_bare = |config: &Node| {
            config.kind() == "ConfigMap"
                && config.name() == "function-input"
                && config.get("data").is_none()
        };
        if list.config().is_some_and(is_bare) {
            return Err(failure());
        }
        let labels = match runner_config::given(list.config(), "SetLabels").and_then(configure) {
            Ok(labels) => labels,
            Err(message) => {
                list.results.push(Report::error(message));
                return Err(failure());
            }
        };
        if labels.is_none() {
            runner_config::tell_missing(list);
        }
        let mut objects = list
            .items
            .iter_mut()
            .filter(|item| !item.is_local_config())
            .peekable();
        if objects.peek().is_none() {
            list.results.push(Report::info("no input resources"));
            return Ok(());
        }
        let Some(mut labels) = labels else {
            return Err(failure());
        };
        if labels.is_empty() {
            let message = "no `labels` arguments are given in FunctionConfig";
            list.results.push(Report::new(Severity::Warning, message));
            return Ok(());
        }
        labels.sort();
        let mut labeller = Labeller {
            labels,
            keeps_quotes: self.keeps_quotes,
            count: 0,
            object: String::new(),
        };
        let mut errors = Vec::new();
        for object in objects {
            clock.check()?;
            match labeller.object(object) {
                Err(Stop::Failed(message)) => errors.push(Report::error(message)),
                labelled => labelled?,
            }
        }
        let failed = !errors.is_empty();
        list.results.append(&mut errors);
        let count = labeller.count;
        list.results
            .push(Report::info(format!("set {count} labels in total")));
        if failed { Err(failure()) } else { Ok(()) }
    }
}

/// The labels; `None` if no configuration is given.
fn configure(given: Option<Given<'_>>) -> Result<Option<Vec<(String, String)>>, String> {
    Ok(match given {
        None => None,
        Some(Given::Data(data)) => {
            let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            Some(data.into_iter().map(owned).collect())
        }
        Some(Given::Object(config)) => {
            let typed: Typed = runner_config::read(config, "setlabels.SetLabels")?;
            Some(typed.labels.into_iter().collect())
        }
    })
}

/// A configuration of the function's own type.
#[derive(Default, Deserialize)]
#[serde(default, rename = "SetLabels")]
struct Typed {
    labels: BTreeMap<String, String>,
}

struct Labeller {
    labels: Vec<(String, String)>,
    keeps_quotes: bool,
    /// Labels that were looked at, whether or not they had to be changed.
    count: usize,
    /// What messages call the object at hand.
    object: String,
}

impl Labeller {
    fn object(&mut self, object: &mut Node) -> Result<(), Stop> {
        self.object = unmatched(object);
        self.update(object, "", LABELS, true)?;
        self.selectors(object)?;
        let kind = Kinds::of(object);
        let Some(spec) = object.get_mut("spec") else {
            return Ok(());
        };
        if kind.has_pods
            && let Some(template) = spec.get_mut("template")
        {
            // Errors in a template are not reported.
            if self.pod(template, ".spec.template").is_err() {
                return Ok(());
            }
        }
        if kind.is_cron_job
            && let Some(job) = spec.get_mut("jobTemplate")
        {
            self.job(job)?;
        }
        if kind.is_stateful_set {
            let claims = spec
                .get_mut("volumeClaimTemplates")
                .and_then(Node::items_mut);
            for claim in claims.into_iter().flatten() {
                self.update(claim, "", LABELS, true)?;
                self.update(claim, "", SELECTOR, false)?;
            }
        }
        if kind.is_network_policy {
            self.rules(spec, "ingress", "from")?;
            self.rules(spec, "egress", "to")?;
        }
        Ok(())
    }

    fn selectors(&mut self, object: &mut Node) -> Result<(), String> {
        if object.is_a("", "v1", "Service") || object.is_a("", "v1", "ReplicationController") {
            self.update(object, "", &["spec", "selector"], true)?;
        }
        let kind = Kinds::of(object);
        let creates = kind.has_selector;
        if creates
            || object.is_a("batch", "", "Job")
            || object.is_a("policy", "", "PodDisruptionBudget")
        {
            self.update(object, "", &["spec", "selector", "matchLabels"], creates)?;
        }
        if kind.is_network_policy {
            self.update(object, "", &["spec", "podSelector", "matchLabels"], false)?;
        }
        Ok(())
    }

    fn job(&mut self, job: &mut Node) -> Result<(), Stop> {
        self.update(job, ".spec.jobTemplate", LABELS, true)?;
        let Some(spec) = job.get_mut("spec") else {
            let nil = "runtime error: invalid memory address or nil pointer dereference";
            return Err(Stop::Panicked(nil.into()));
        };
        self.update(spec, ".spec.jobTemplate.spec", SELECTOR, false)?;
        if let Some(template) = spec.get_mut("template") {
            self.pod(template, ".spec.jobTemplate.spec.template")?;
        }
        Ok(())
    }

    fn pod(&mut self, template: &mut Node, place: &str) -> Result<(), String> {
        self.update(template, place, LABELS, true)?;
        let Some(spec) = template.get_mut("spec") else {
            return Ok(());
        };
        let constraints = spec
            .get_mut("topologySpreadConstraints")
            .and_then(Node::items_mut);
        for constraint in constraints.into_iter().flatten() {
            self.update(constraint, "", LABEL_SELECTOR, false)?;
        }
        let Some(affinity) = spec.get_mut("affinity") else {
            return Ok(());
        };
        // The Go function looks for the terms beside podAffinity, not in it, once
        // for each kind of affinity that is there.
        for kind in ["podAffinity", "podAntiAffinity"] {
            if affinity.get(kind).is_none() {
                continue;
            }
            let preferred = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
            for term in preferred.and_then(Node::items_mut).into_iter().flatten() {
                if let Some(term) = term.get_mut("podAffinityTerm") {
                    self.update(term, ".podAffinityTerm", LABEL_SELECTOR, false)?;
                }
            }
            let required = affinity.get_mut("requiredDuringSchedulingIgnoredDuringExecution");
            for term in required.and_then(Node::items_mut).into_iter().flatten() {
                self.update(term, "", LABEL_SELECTOR, false)?;
            }
        }
        Ok(())
    }

    fn rules(&mut self, spec: &mut Node, direction: &str, peers: &str) -> Result<(), String> {
        let rules = spec.get_mut(direction).and_then(Node::items_mut);
        for rule in rules.into_iter().flatten() {
            let peers = rule.get_mut(peers).and_then(Node::items_mut);
            for peer in peers.into_iter().flatten() {
                self.update(peer, "", POD_SELECTOR, false)?;
            }
        }
        Ok(())
    }

    /// Sets the labels below `path`; those that are missing only if `create`.
    fn update(
        &mut self,
        node: &mut Node,
        place: &str,
        path: &[&str],
        create: bool,
    ) -> Result<(), String> {
        for (key, value) in &self.labels {
            let path = [path, &[key.as_str()]].concat();
            let odd = || {
                // Entries of lists do not know which object they belong to.
                let of = if place.is_empty()
                    && !path.starts_with(&["metadata"])
                    && !path.starts_with(&["spec"])
                {
                    "apiVersion=, kind="
                } else {
                    &self.object
                };
                format!(
                    "Resource({of}) has unmatched field type \"string\" in fieldpath {place}.{}",
                    path.join(".")
                )
            };
            let current = nested_text(node, &path).map_err(|()| odd())?;
            let differs = current.is_some_and(|current| current != value);
            if differs || (current.is_none() && create) {
                node.set_text_at(&path, value).map_err(|_| odd())?;
                if let Some(label) = node.at_mut(&path).filter(|_| !self.keeps_quotes)
                    && let Content::Scalar { style, .. } = &mut label.content
                {
                    *style = ScalarStyle::Plain;
                }
            }
            self.count += 1;
        }
        Ok(())
    }
}

/// How the SDK names an object in such a message: the parts of its apiVersion are looked for
/// in fields that objects do not have.
fn unmatched(object: &Node) -> String {
    let [group, version] = ["group", "version"].map(|field| {
        let value = object.get(field).and_then(Node::as_text);
        value.unwrap_or("")
    });
    let slash = if group.is_empty() { "" } else { "/" };
    format!("apiVersion={group}{slash}{version}, kind={}", object.kind())
}

/// The text at a path; `Err` if something else is there or on the way.
pub(crate) fn nested_text<'a>(node: &'a Node, path: &[&str]) -> Result<Option<&'a str>, ()> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(None);
    };
    let mut node = node;
    for key in parents {
        match node.get(key) {
            None => return Ok(None),
            Some(child) if child.is_mapping() => node = child,
            Some(_) => return Err(()),
        }
    }
    match node.get(last) {
        None => Ok(None),
        Some(value) => value.as_text().map(Some).ok_or(()),
    }
}

/// What an object is, as far as labels go.
struct Kinds {
    has_selector: bool,
    has_pods: bool,
    is_stateful_set: bool,
    is_cron_job: bool,
    is_network_policy: bool,
}

impl Kinds {
    fn of(object: &Node) -> Self {
        let is_stateful_set = object.is_a("apps", "", "StatefulSet");
        let workloads = ["Deployment", "ReplicaSet", "DaemonSet"];
        let has_selector =
            is_stateful_set || workloads.iter().any(|kind| object.is_a("", "", kind));
        Self {
            has_selector,
            has_pods: has_selector
                || object.is_a("", "v1", "ReplicationController")
                || object.is_a("batch", "", "Job"),
            is_stateful_set,
            is_cron_job: object.is_a("batch", "", "CronJob"),
            is_network_policy: object.is_a("networking.k8s.io", "", "NetworkPolicy"),
        }
    }
}
