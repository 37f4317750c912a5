//! `set-namespace` v0.3.0 to v0.4.1: every field that holds a namespace is
//! visited, in the order of the items.
//!
//! Up to v0.3.4 there is one old namespace, which the configuration's matcher, the
//! only Namespace object or the only namespace in use names; others stay. From
//! v0.4.0 on all namespaces change. What is visited is written anew, changed or
//! not, so it loses its quotes.

mod fields;

use std::collections::{BTreeMap, BTreeSet, HashSet};

pub(super) use fields::WEBHOOK;
use fields::{Visitor, WrongField, renew};

use super::{config::about_config, depends_on::namespaced_reference};
use crate::{
    function::{Clock, Function, Stop},
    go,
    list::ResourceList,
    object::DEPENDS_ON,
    results::Report,
    runner_config::FAILURE,
    set_labels::nested_text,
    yaml::Node,
};

/// What the releases do differently.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visits {
    pub(super) scope: Scope,
    pub(super) wrong_config: WrongConfig,
    pub(super) on_panic: OnPanic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// One old namespace. Neither the subjects of a RoleBinding nor the namespace of
    /// an object that has a field of its own for one are looked at.
    OneWithoutRoleBindings,
    /// One old namespace.
    One,
    /// All namespaces, also those that known kinds leave out.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongConfig {
    /// It is only reported, and named.
    Reported,
    /// It fails the run, also where there is none.
    Fails,
}

/// What becomes of a field of a wrong type, and of other panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnPanic {
    /// A result says what Go panicked with.
    Told,
    /// The program dies.
    Dies,
    /// A field of a wrong type is a result; everything else kills the program.
    FieldsTold,
}

impl OnPanic {
    fn field(self, list: &mut ResourceList, path: &[&str]) -> Stop {
        let path = path.join("/");
        let message = match self {
            Self::Told => format!("panic with a field of another type: {path}"),
            Self::Dies => return Stop::Panicked(format!("{path} is of another type")),
            Self::FieldsTold => format!("SubObject has unmatched field type: `{path}"),
        };
        list.results.push(Report::error(message.clone()));
        Stop::Failed(message)
    }

    fn other(self, list: &mut ResourceList, what: &str) -> Stop {
        let what = format!("runtime error: {what}");
        if self != Self::Told {
            return Stop::Panicked(what);
        }
        let message = format!("panic with {what}");
        list.results.push(Report::error(message.clone()));
        Stop::Failed(message)
    }
}

struct Given {
    namespace: String,
    matcher: String,
}

enum Refused {
    Message(String),
    Field(&'static [&'static str]),
}

fn configure(config: &Node) -> Result<Given, Refused> {
    let text = |path: &'static [&'static str]| {
        let text = nested_text(config, path).map_err(|()| Refused::Field(path))?;
        Ok(text.unwrap_or("").to_owned())
    };
    let refused = |message: &str| Err(Refused::Message(message.to_owned()));
    let namespace = match (config.api_version(), config.kind()) {
        ("v1", "ConfigMap") => match text(&["data", "namespace"])? {
            given if !given.is_empty() => given,
            _ if config.name() == super::config::VARIANT_CONFIG => {
                let name = text(&["data", "name"])?;
                if name.is_empty() {
                    return refused("`data.name` should not be empty");
                }
                name
            }
            _ => return refused("`data.namespace` should not be empty"),
        },
        ("fn.kpt.dev/v1alpha1", "SetNamespace") => {
            let given = text(&["namespace"])?;
            if given.is_empty() {
                return refused("`namespace` should not be empty");
            }
            given
        }
        (api_version, kind) => {
            return Err(Refused::Message(format!(
                "unknown functionConfig Kind={kind} ApiVersion={api_version}, expect `SetNamespace` or `ConfigMap`"
            )));
        }
    };
    Ok(Given {
        namespace,
        matcher: String::new(),
    })
}

impl Visits {
    fn given(&self, list: &mut ResourceList) -> Result<Option<Given>, Stop> {
        let fails = self.wrong_config == WrongConfig::Fails;
        let configured = match &list.config {
            Some(config) if !(fails && config.fields().is_empty()) => {
                let matcher = &["data", "namespaceMatcher"];
                configure(config).and_then(|mut given| {
                    if self.scope != Scope::All {
                        let text = nested_text(config, matcher);
                        let text = text.map_err(|()| Refused::Field(matcher))?;
                        text.unwrap_or("").clone_into(&mut given.matcher);
                    }
                    Ok(given)
                })
            }
            None if !fails => {
                let what = "invalid memory address or nil pointer dereference";
                return Err(self.on_panic.other(list, what));
            }
            _ => Err(Refused::Message(
                "FunctionConfig is missing. Expect `ConfigMap` or `SetNamespace`".into(),
            )),
        };
        match configured {
            Ok(given) => Ok(Some(given)),
            Err(Refused::Field(path)) => Err(self.on_panic.field(list, path)),
            Err(Refused::Message(message)) if fails => {
                list.results.push(Report::error(message));
                Err(Stop::Failed(FAILURE.into()))
            }
            Err(Refused::Message(message)) => {
                let report = about_config(message, list.config());
                list.results.push(report);
                Ok(None)
            }
        }
    }

    /// Visits all objects; how many of their fields there are does not matter.
    fn all(
        &self,
        list: &mut ResourceList,
        clock: &Clock,
        visitor: Visitor<'_>,
    ) -> Result<Vec<bool>, Stop> {
        let mut visited = Vec::with_capacity(list.items.len());
        for at in 0..list.items.len() {
            clock.check()?;
            match self.scope.visit(&mut list.items[at], visitor) {
                Ok(any) => visited.push(any),
                Err(WrongField(path)) => return Err(self.on_panic.field(list, path)),
            }
        }
        Ok(visited)
    }

    /// The one namespace that changes. The error is a result.
    fn old(
        &self,
        list: &mut ResourceList,
        clock: &Clock,
        matcher: &str,
    ) -> Result<Result<String, String>, Stop> {
        let quoted = self.on_panic == OnPanic::Dies;
        let quote = |text: &str| {
            if quoted {
                go::quote(text)
            } else {
                text.to_owned()
            }
        };
        let mut in_use = BTreeSet::new();
        self.all(list, clock, &mut |namespace| {
            if !namespace.is_empty() {
                in_use.insert(namespace.clone());
            }
        })?;
        let mut objects: BTreeMap<&str, usize> = BTreeMap::new();
        for item in list.items.iter().filter(|item| !item.is_local_config()) {
            let is_one = item.api_version() == "v1" && item.kind() == "Namespace";
            if is_one && !item.name().is_empty() {
                *objects.entry(item.name()).or_default() += 1;
            }
        }
        if !matcher.is_empty() {
            return Ok(if objects.is_empty() {
                Ok(matcher.to_owned())
            } else {
                Err("found Namespace objects from the input resources, you cannot use `namespaceMatcher` in FunctionConfig together with Namespace objects".into())
            });
        }
        if objects.len() > 1 {
            let words = objects
                .iter()
                .map(|(name, count)| format!("{name}:{count}"));
            let words: Vec<String> = words.collect();
            return Ok(Err(format!(
                "cannot accept more than one Namespace objects from the input resources, found map[{}]",
                words.join(" ")
            )));
        }
        if let Some((name, count)) = objects.first_key_value() {
            return Ok(match count {
                1 => Ok((*name).to_owned()),
                _ => Err(format!(
                    "found more than one Namespace objects of the same name {}",
                    quote(name)
                )),
            });
        }
        if in_use.len() > 1 {
            let words: Vec<&str> = in_use.iter().map(String::as_str).collect();
            return Ok(Err(format!(
                "all input namespace-scoped resources should be under the same namespace but found different namespaces: {} ",
                quote(&words.join(","))
            )));
        }
        match in_use.pop_first() {
            Some(only) => Ok(Ok(only)),
            None if quoted => Ok(Err("could not find any namespace fields to update. This function requires at least one of Namespace objects or namespace-scoped resources to have their namespace field set.".into())),
            None => Err(self.on_panic.other(list, "index out of range [0] with length 0")),
        }
    }

    /// Moves the namespaces that `is_old` names; how many values, of which names.
    fn replace(
        &self,
        list: &mut ResourceList,
        clock: &Clock,
        new: &str,
        is_old: &dyn Fn(&str) -> bool,
    ) -> Result<(usize, Vec<String>), Stop> {
        let (mut count, mut old) = (0, Vec::new());
        let mut known = HashSet::new();
        self.all(list, clock, &mut |namespace| {
            if namespace == new || !is_old(namespace) {
                return;
            }
            count += 1;
            let was = std::mem::replace(namespace, new.to_owned());
            if known.insert(was.clone()) {
                old.push(was);
            }
        })?;
        self.follow(list, clock, new, &|namespace| known.contains(namespace))?;
        Ok((count, old))
    }

    /// Makes depends-on annotations follow what they name.
    fn follow(
        &self,
        list: &mut ResourceList,
        clock: &Clock,
        new: &str,
        is_old: &dyn Fn(&str) -> bool,
    ) -> Result<(), Stop> {
        let visited = self.all(list, clock, &mut |_| {})?;
        let key = |item: &Node| {
            // The Go function takes the version of a core object for its group.
            let api_version = item.api_version();
            let group = api_version.split('/').next().unwrap_or("");
            format!("{group}/{}/{}", item.kind(), item.name())
        };
        let items = list.items.iter().zip(&visited);
        let known: HashSet<String> = items
            .filter(|(_, visited)| **visited)
            .map(|(item, _)| key(item))
            .collect();
        for (item, _) in list.items.iter_mut().zip(visited).filter(|(_, it)| *it) {
            let reference = item.annotation(DEPENDS_ON);
            let Some([group, kind, name, namespace]) = namespaced_reference(reference) else {
                continue;
            };
            if is_old(namespace) && known.contains(&format!("{group}/{kind}/{name}")) {
                let moved = format!("{group}/namespaces/{new}/{kind}/{name}");
                let _ = renew(item, &["metadata", "annotations", DEPENDS_ON], &moved);
            }
        }
        Ok(())
    }

    fn one(&self, list: &mut ResourceList, clock: &Clock, given: &Given) -> Result<Report, Stop> {
        let new = given.namespace.as_str();
        let old = match self.old(list, clock, &given.matcher)? {
            Ok(old) => old,
            Err(message) => return Ok(Report::error(message)),
        };
        let (count, _) = self.replace(list, clock, new, &|namespace| namespace == old)?;
        // A matcher that no field has may still be in an annotation.
        self.follow(list, clock, new, &|namespace| namespace == old)?;
        Ok(Report::info(match self.on_panic {
            OnPanic::Told => "namespace updated".to_owned(),
            _ => format!(
                "namespace {} updated to {}, {count} values changed",
                go::quote(&old),
                go::quote(new)
            ),
        }))
    }

    fn every(&self, list: &mut ResourceList, clock: &Clock, new: &str) -> Result<Report, Stop> {
        let (count, old) = self.replace(list, clock, new, &|_| true)?;
        if let Some(message) = duplicate(&list.items) {
            return Ok(Report::error(message));
        }
        let new = go::quote(new);
        if count == 0 {
            return Ok(Report::info(format!(
                "all namespaces are already {new}. no value changed"
            )));
        }
        // Go's order of several is random.
        let old: Vec<String> = old.iter().map(|old| format!("\"{old}\"")).collect();
        Ok(Report::info(format!(
            "namespace {} updated to {new}, {count} value(s) changed",
            old.join(",")
        )))
    }
}

impl Function for Visits {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        if self.wrong_config == WrongConfig::Reported {
            list.as_first_sdk();
        }
        let Some(given) = self.given(list)? else {
            return Ok(());
        };
        let report = match self.scope {
            Scope::All => self.every(list, clock, &given.namespace)?,
            _ => self.one(list, clock, &given)?,
        };
        list.results.push(report);
        Ok(())
    }
}

fn duplicate(items: &[Node]) -> Option<String> {
    let mut known = HashSet::new();
    let id = |item: &Node| {
        let (kind, namespace, name) = (item.kind(), item.namespace(), item.name());
        format!(
            "apiVersion={}, kind={kind}, Namespace={namespace}, Name={name}",
            item.api_version()
        )
    };
    items
        .iter()
        .map(id)
        .find(|id| !known.insert(id.clone()))
        .map(|id| format!("duplicate Resource({id})"))
}
