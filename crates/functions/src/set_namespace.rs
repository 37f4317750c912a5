//! `set-namespace`: moves objects, and what refers to them, to a namespace.
//!
//! With a matcher only objects whose namespace, or whose upstream's namespace,
//! is the given one are moved. Objects for tools only are left alone. The
//! depends-on annotations follow the objects that they name.

mod config;
mod depends_on;
mod visits;

use std::collections::{BTreeSet, HashSet};

use crate::{
    function::{Clock, Function, Stop},
    go,
    kustomize::{Field, Transformer},
    list::{ResourceList, W1, W4},
    release::Release,
    results::{Report, Severity},
    runner_config, scope,
    yaml::{Content, Node},
};

use config::{Config, about_config, configure};
use visits::{OnPanic, Scope, Visits, WEBHOOK, WrongConfig};

const UPSTREAM: &str = "internal.kpt.dev/upstream-identifier";
const DEFAULT: &str = "default";
/// The namespace of objects that have none, or whose scope is not known.
const UNKNOWN: &str = "~C";

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.4.6", W4, &V0_4_6).of_2026(),
    Release::native("v0.4.5", W4, &V0_4_5).also(&["master-20260113"]),
    Release::native("v0.4.2", W4, &V0_4_2)
        .with_digests(&["sha256:744d6bee447d42891a0ae09fa33f0dd8df43fdb71f6df3eecc0c1a4756f53b0e"]),
    Release::native("v0.4.1", W4, &V0_4_1),
    Release::native("v0.4.0", W4, &V0_4_0),
    Release::native("v0.3.4", W4, &V0_3_4),
    Release::unknown("v0.3.3"),
    Release::native("v0.3.2", W4, &V0_3_2),
    Release::native("v0.3.1", W4, &V0_3_0),
    Release::native("v0.3.0", W4, &V0_3_0),
    Release::native("v0.2.0", W1, &V0_2_0),
    Release::native("v0.1.4", W1, &V0_1_4),
    Release::unknown("v0.1.3"),
    Release::unknown("v0.1.2"),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];

/// What the releases do differently.
#[derive(Debug, Clone, Copy)]
struct Behaviour {
    /// Whether a wrong configuration fails the run; else it is only reported.
    wrong_config_fails: bool,
    /// Whether objects without an upstream are reported, and objects from several
    /// namespaces are only moved with a matcher.
    wants_one_origin: bool,
}

const V0_4_2: SetNamespace = SetNamespace(Behaviour {
    wrong_config_fails: false,
    wants_one_origin: true,
});
const V0_4_5: SetNamespace = SetNamespace(Behaviour {
    wants_one_origin: false,
    ..V0_4_2.0
});
const V0_4_6: SetNamespace = SetNamespace(Behaviour {
    wrong_config_fails: true,
    ..V0_4_5.0
});

const V0_2_0: Transformer = Transformer {
    field: Field::Namespace {
        follows_accounts: true,
    },
};
const V0_1_4: Transformer = Transformer {
    field: Field::Namespace {
        follows_accounts: false,
    },
};
const V0_4_1: Visits = Visits {
    scope: Scope::All,
    wrong_config: WrongConfig::Fails,
    on_panic: OnPanic::FieldsTold,
};
const V0_4_0: Visits = Visits {
    wrong_config: WrongConfig::Reported,
    ..V0_4_1
};
const V0_3_4: Visits = Visits {
    scope: Scope::One,
    wrong_config: WrongConfig::Reported,
    on_panic: OnPanic::Dies,
};
const V0_3_2: Visits = Visits {
    on_panic: OnPanic::Told,
    ..V0_3_4
};
const V0_3_0: Visits = Visits {
    scope: Scope::OneWithoutRoleBindings,
    ..V0_3_2
};

#[derive(Debug)]
pub(crate) struct SetNamespace(Behaviour);

impl Function for SetNamespace {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let config = match configure(list.config(), self.0.wants_one_origin) {
            Ok(config) => config,
            Err(message) => {
                let report = about_config(message, list.config());
                list.results.push(report);
                if self.0.wrong_config_fails {
                    return Err(Stop::Failed(runner_config::FAILURE.into()));
                }
                return Ok(());
            }
        };
        let mut objects: Vec<&mut Node> = Vec::new();
        objects.extend(list.items.iter_mut().filter(|item| !item.is_local_config()));
        let known: HashSet<String> = objects
            .iter()
            .filter_map(|object| identity(object))
            .collect();
        let mut warnings = Vec::new();
        if self.0.wants_one_origin {
            match origins(&objects, &config)? {
                Ok(reports) => warnings = reports,
                Err(report) => {
                    list.results.push(report);
                    return Ok(());
                }
            }
        }
        let mut moves = Moves::new(config);
        for object in objects.iter_mut().filter(|object| !is_namespaced(object)) {
            clock.check()?;
            moves.in_cluster_scoped(object)?;
        }
        for object in objects.iter_mut().filter(|object| is_namespaced(object)) {
            clock.check()?;
            moves.in_namespaced(object)?;
        }
        let namespace = go::quote(&moves.config.namespace);
        let mut results = warnings;
        results.append(&mut moves.results);
        results.push(Report::info(match moves.count {
            0 => format!("all matching namespaces are already {namespace}. no value changed"),
            count => format!(
                "namespace {} updated to {namespace}, {count} value(s) changed",
                go_list(&moves.old)
            ),
        }));
        let (count, old) = depends_on::follow(&moves.config, &mut objects, &known);
        results.push(Report::info(match count {
            0 => "all `depends-on` annotations are up-to-date. no `namespace` changed".to_owned(),
            count => format!(
                "`depends-on` annotation namespace {} updated to {namespace}, {count} value(s) changed",
                go_list(&old)
            ),
        }));
        list.results.append(&mut results);
        Ok(())
    }
}

/// Whether Go finds the field, whatever it is: in metadata that is not a mapping it does.
fn has_namespace(object: &Node) -> bool {
    object
        .get("metadata")
        .is_some_and(|it| !it.is_mapping() || it.get("namespace").is_some())
}

fn is_namespaced(object: &Node) -> bool {
    scope::is_namespaced(object.api_version(), object.kind())
        .unwrap_or_else(|| has_namespace(object))
}

fn effective_namespace(object: &Node) -> &str {
    if has_namespace(object) {
        object.namespace()
    } else if is_namespaced(object) {
        DEFAULT
    } else {
        UNKNOWN
    }
}

/// How a depends-on annotation names the object; `None` outside of namespaces.
fn identity(object: &Node) -> Option<String> {
    let namespace = effective_namespace(object);
    let (group, _) = object.group_version();
    let (kind, name) = (object.kind(), object.name());
    (namespace != UNKNOWN).then(|| format!("{group}/namespaces/{namespace}/{kind}/{name}"))
}

/// The annotation that says where the object comes from. A value that is not text does not count.
fn upstream(object: &Node) -> &str {
    let upstream = object.annotation_node(UPSTREAM);
    upstream.and_then(Node::as_text).unwrap_or("")
}

/// Namespace and name that the object had in the package that it comes from.
fn origin(object: &Node) -> Result<(String, String), Stop> {
    let upstream = upstream(object);
    if upstream.is_empty() {
        return Ok((
            effective_namespace(object).to_owned(),
            object.name().to_owned(),
        ));
    }
    parse_upstream(upstream.trim()).ok_or_else(|| {
        Stop::Panicked(format!(
            "annotation {UPSTREAM}: {upstream} is in bad format. expect \"<GROUP>|<KIND>|<NAMESPACE>|<NAME>\""
        ))
    })
}

/// A warning per object that has no upstream; the error is that there are several
/// namespaces, or a wrong one, to come from.
fn origins(objects: &[&mut Node], config: &Config) -> Result<Result<Vec<Report>, Report>, Stop> {
    let mut warnings = Vec::new();
    let mut found = BTreeSet::new();
    for object in objects {
        let described = object.describe();
        let upstream = upstream(object);
        if upstream.is_empty() {
            let message = format!("{described} does not have upstream origin.");
            warnings.push(Report::new(Severity::Warning, message));
            continue;
        }
        let (namespace, _) = origin(object)?;
        if !is_namespaced(object) {
            continue;
        }
        if namespace == UNKNOWN {
            return Ok(Err(Report::error(format!(
                "{described} is namespace-scoped, but has cluster-scoped or unknown scoepd origin {upstream}"
            ))));
        }
        found.insert(namespace);
    }
    Ok(if found.len() > 1 && config.matcher.is_empty() {
        Err(Report::error(format!(
            "unable to use origin `namespace` to match. expect a single upstream namespace, found {}. please switch to use `namespaceMatcher`to specify the namespace value you want to change",
            go_list(&found)
        )))
    } else {
        Ok(warnings)
    })
}

/// Namespace and name of `<GROUP>|<KIND>|<NAMESPACE>|<NAME>`, wherever it stands.
fn parse_upstream(text: &str) -> Option<(String, String)> {
    let label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_kind = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let is_namespace =
        |text: &str| text == UNKNOWN || ((1..=63).contains(&text.len()) && text.chars().all(label));
    let parts: Vec<&str> = text.split('|').collect();
    parts.windows(4).find_map(|window| {
        let [_, kind, namespace, name] = window else {
            return None;
        };
        let name: String = name.chars().take_while(|c| label(*c)).take(63).collect();
        (is_kind(kind) && is_namespace(namespace) && !name.is_empty())
            .then(|| ((*namespace).to_owned(), name))
    })
}

struct Moves {
    config: Config,
    results: Vec<Report>,
    count: usize,
    old: BTreeSet<String>,
}

impl Moves {
    fn new(config: Config) -> Self {
        Self {
            config,
            results: Vec::new(),
            count: 0,
            old: BTreeSet::new(),
        }
    }

    /// What `current` becomes. `object` is how messages name what it is of.
    fn moved(&mut self, origin: &str, current: &str, object: impl Fn() -> String) -> String {
        if origin == UNKNOWN {
            return current.to_owned();
        }
        let current = if current.is_empty() { DEFAULT } else { current };
        let Config { namespace, matcher } = &self.config;
        if current == namespace {
            return current.to_owned();
        }
        if !matcher.is_empty() && matcher == origin {
            let told = format!("[{}] has matching origin {origin}", object());
            self.results.push(Report::info(told));
        }
        if !(matcher.is_empty() || matcher == current || matcher == origin) {
            return current.to_owned();
        }
        self.old.insert(current.to_owned());
        self.count += 1;
        namespace.clone()
    }

    /// Objects outside of namespaces may be one, or name one.
    fn in_cluster_scoped(&mut self, object: &mut Node) -> Result<(), Stop> {
        if object.is_a("", "v1", "Namespace") {
            let (_, origin) = origin(object)?;
            let name = self.moved(&origin, object.name(), || object.describe());
            let _ = object.set_text_at(&["metadata", "name"], &name);
        } else if object.is_a("apiextensions.k8s.io", "v1", "CustomResourceDefinition") {
            self.at(object, WEBHOOK)?;
        } else if object.is_a("apiregistration.k8s.io", "v1", "APIService") {
            self.at(object, &["spec", "service", "namespace"])?;
        } else if matches!(object.kind(), "ClusterRoleBinding" | "RoleBinding") {
            self.in_subjects(object)?;
        }
        Ok(())
    }

    /// Of a list in which anything is not a mapping Go sees no entry. A namespace that is not text counts as none.
    fn in_subjects(&mut self, object: &mut Node) -> Result<(), Stop> {
        let subjects = object.get_mut("subjects").and_then(Node::items_mut);
        let Some(subjects) = subjects.filter(|them| them.iter().all(Node::is_mapping)) else {
            return Ok(());
        };
        for subject in subjects {
            if let Some(namespace) = subject.get_mut("namespace") {
                if let Content::Alias(_) = namespace.content {
                    return Err(Stop::Panicked("a subject's namespace is an alias".into()));
                }
                let moved = self.moved("", namespace.as_text().unwrap_or(""), String::new);
                namespace.set_text(&moved);
            }
        }
        Ok(())
    }

    fn at(&mut self, object: &mut Node, path: &[&str]) -> Result<(), Stop> {
        let odd = || {
            Stop::Panicked(format!(
                "{} has unmatched field type \"string\" in fieldpath .{}",
                object.describe(),
                path.join(".")
            ))
        };
        let current = match object.at(path) {
            None => "",
            Some(node) => node.as_text().ok_or_else(odd)?,
        };
        let moved = self.moved("", current, String::new);
        let failed = odd();
        object.set_text_at(path, &moved).map_err(|_| failed)
    }

    fn in_namespaced(&mut self, object: &mut Node) -> Result<(), Stop> {
        let (origin, _) = origin(object)?;
        let namespace = self.moved(&origin, object.namespace(), || object.describe());
        let _ = object.set_text_at(&["metadata", "namespace"], &namespace);
        Ok(())
    }
}

/// As Go prints a list of words.
fn go_list(words: &BTreeSet<String>) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    format!("[{}]", words.join(" "))
}
