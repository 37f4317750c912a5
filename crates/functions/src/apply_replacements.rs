//! `apply-replacements`: copies a value from one object's field to fields of
//! others, as kustomize's replacements do.

mod config;
mod copy;
pub(crate) mod getter;
pub(crate) mod path;
mod selection;
mod structured;

use crate::{
    function::{Clock, Function, Stop},
    list::{ResourceList, W4},
    release::Release,
    results::Report,
    runner_config::FAILURE,
    typed::{self, Scalars},
    yaml::{Node, SequenceIndent, Tag, parse_all, write_node},
};

use config::{Config, Options, Replacement, Source, Target};
use copy::{copy, copy_node};
use getter::Wording;
use selection::{Choice, Comparison, Id};

const KIND: &str = "ApplyReplacements";
const API_VERSION: &str = "fn.kpt.dev/v1alpha1";
const DEFAULT_FIELD: &str = "metadata.name";

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.1.6", W4, &V0_1_6).of_2026(),
    Release::native("v0.1.5", W4, &V0_1_5).also(&["master-20260113"]),
    Release::native("v0.1.3", W4, &V0_1_5),
    Release::native("v0.1.2", W4, &V0_1_2),
    Release::native("v0.1.1", W4, &V0_1_1),
    Release::native("v0.1.0", W4, &V0_1_0),
];

/// kustomize 0.21.
const V0_1_6: ApplyReplacements = ApplyReplacements {
    comparison: Comparison::Expressions,
    has_structured_text: true,
    ..V0_1_5
};

/// kustomize 0.20.
const V0_1_5: ApplyReplacements = ApplyReplacements {
    names_missing_config: true,
    has_source_value: true,
    copies_nodes: false,
    comparison: Comparison::AllIdentities,
    has_structured_text: false,
};

/// kustomize 0.19.
const V0_1_2: ApplyReplacements = ApplyReplacements {
    has_source_value: false,
    ..V0_1_5
};

/// kustomize 0.10.
const V0_1_1: ApplyReplacements = ApplyReplacements {
    copies_nodes: true,
    comparison: Comparison::EachIdentity,
    ..V0_1_2
};

const V0_1_0: ApplyReplacements = ApplyReplacements {
    names_missing_config: false,
    ..V0_1_1
};

/// What releases do differently.
#[derive(Debug)]
pub(crate) struct ApplyReplacements {
    /// Whether a missing configuration is reported as such.
    names_missing_config: bool,
    /// Whether `sourceValue` counts.
    has_source_value: bool,
    /// Whether a target becomes a copy of the source, comment and style included;
    /// such releases skip targets that are not there and know no `*`.
    copies_nodes: bool,
    comparison: Comparison,
    /// Whether paths lead into text that is YAML or JSON itself.
    has_structured_text: bool,
}

impl Function for ApplyReplacements {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        list.keeps_empty_config = !self.names_missing_config;
        let mut items: Vec<Node> = list.items.iter().map(reread).collect();
        let config = self.read_config(list.config.as_ref());
        let applied = config.and_then(|config| self.apply_all(&config, &mut items, clock));
        let applied = applied.and_then(|()| are_objects(&items));
        match applied {
            Ok(()) => {
                list.items = items.iter().map(reread).collect();
                Ok(())
            }
            Err(Stop::Failed(message)) => {
                list.results.push(Report::error(message));
                Err(Stop::Failed(FAILURE.into()))
            }
            Err(late) => Err(late),
        }
    }
}

/// What the SDK reports of a pointer that is nil.
const NIL: &str = "runtime error: invalid memory address or nil pointer dereference";

/// A path without names leads to the object itself, which may be gone then.
fn are_objects(items: &[Node]) -> Result<(), Stop> {
    match items.iter().find(|item| !item.is_mapping()) {
        None => Ok(()),
        Some(item) => {
            let kind = if item.is_sequence() { 2 } else { 8 };
            Err(Stop::Failed(format!(
                "failed to extract objects: unhandled node kind {kind}"
            )))
        }
    }
}

/// The Go function writes and reads every object before and after.
fn reread(item: &Node) -> Node {
    let documents = parse_all(&write_node(item, SequenceIndent::Compact)).ok();
    let document = documents.and_then(|documents| documents.into_iter().next());
    document.map_or_else(|| item.clone(), |document| document.root)
}

impl ApplyReplacements {
    fn read_config(&self, config: Option<&Node>) -> Result<Config, Stop> {
        let is_empty = config.is_none_or(|config| config.fields().is_empty());
        let config = match config {
            Some(config) if !self.names_missing_config || !is_empty => config,
            None if !self.names_missing_config => return Err(Stop::Failed(NIL.into())),
            _ => {
                let message = format!("FunctionConfig is missing. Expect `{KIND}`");
                return Err(Stop::Failed(message));
            }
        };
        let (kind, api_version) = (config.kind(), config.api_version());
        if kind != KIND || api_version != API_VERSION {
            return Err(Stop::Failed(format!(
                "received functionConfig of kind {kind} and apiVersion {api_version}, \
                 only functionConfig of kind {KIND} and apiVersion {API_VERSION} is supported",
            )));
        }
        let mut known = config.clone();
        if !self.has_source_value {
            let replacements = known.get_mut("replacements").and_then(Node::items_mut);
            for replacement in replacements.into_iter().flatten() {
                replacement.remove("sourceValue");
            }
        }
        let refused = |error: String| {
            Stop::Failed(format!(
                "unable to convert functionConfig to replacements:\n\
                 unable to convert object to *replacements.Replacements with error: {error}"
            ))
        };
        typed::check_keys(config).map_err(refused)?;
        typed::read(&known, Scalars::Strict).map_err(|error| refused(config::with_embedded(error)))
    }

    fn apply_all(&self, config: &Config, items: &mut [Node], clock: &Clock) -> Result<(), Stop> {
        for replacement in &config.replacements.0 {
            clock.check()?;
            let Replacement {
                source, targets, ..
            } = replacement;
            let given = replacement.source_value.as_ref();
            let given = given.filter(|_| self.has_source_value);
            let Some(targets) = targets
                .as_ref()
                .filter(|_| source.is_some() || given.is_some())
            else {
                return Err(Stop::Failed(
                    "replacements must specify a source and at least one target".into(),
                ));
            };
            let value = match (source, given) {
                (Some(_), Some(_)) => {
                    return Err(Stop::Failed(
                        "value and resource selectors are mutually exclusive".into(),
                    ));
                }
                (_, Some(value)) => {
                    let mut text = Node::text(value);
                    text.tag = Tag::None;
                    text
                }
                (Some(source), None) => self.source_value(source, items)?,
                (None, None) => continue,
            };
            for target in &targets.0 {
                let target = target.as_ref().ok_or_else(|| Stop::Panicked(NIL.into()))?;
                self.apply(target, &value, items, clock)?;
            }
        }
        Ok(())
    }

    fn source_value(&self, source: &Source, items: &mut [Node]) -> Result<Node, Stop> {
        let selector = source.id();
        let mut found = None;
        for (at, item) in items.iter().enumerate() {
            let ids = Id::all_of(item).map_err(|error| {
                if self.copies_nodes {
                    error
                } else {
                    format!("error getting node IDs: {error}")
                }
            })?;
            if !ids.iter().any(|id| id.is_selected_by(&selector)) {
                continue;
            }
            if found.replace(at).is_some() {
                let source = source.printed();
                let message = format!("multiple matches for selector {source}");
                return Err(message.into());
            }
        }
        let Some(object) = found.and_then(|at| items.get_mut(at)) else {
            return Err(format!("nothing selected by {}", source.printed()).into());
        };
        let field = match source.field_path.as_str() {
            "" => DEFAULT_FIELD,
            field => field,
        };
        let value = getter::get(
            object,
            &path::split(field, self.copies_nodes),
            None,
            self.wording(),
        )
        .map_err(|stop| match stop {
            Stop::Failed(error) if !self.copies_nodes => {
                format!("error looking up replacement source: {error}").into()
            }
            stop => stop,
        })?;
        let is_empty = |node: &Node| {
            node.is_null()
                || (node.value().is_none() && node.fields().is_empty() && node.items().is_empty())
        };
        let Some(value) = value.filter(|value| !is_empty(value)) else {
            let mut id = selector.printed();
            if self.copies_nodes {
                let options = source.options.as_ref().and_then(Options::printed);
                let more = [Some(field.to_owned()), options];
                id = more
                    .into_iter()
                    .flatten()
                    .fold(id, |id, part| format!("{id}:{part}"));
            }
            return Err(
                format!("fieldPath `{field}` is missing for replacement source {id}").into(),
            );
        };
        let options = source.options.clone().unwrap_or_default();
        if options.delimiter.is_empty() {
            return Ok(value.clone());
        }
        let Some(text) = value.value() else {
            let message = "delimiter option can only be used with scalar nodes".to_owned();
            return Err(message.into());
        };
        let mut parts = text.split(&options.delimiter);
        let part = usize::try_from(options.index)
            .ok()
            .and_then(|index| parts.nth(index));
        let Some(part) = part else {
            let index = options.index;
            return Err(format!("options.index {index} is out of bounds for value {text}").into());
        };
        let mut value = value.clone();
        value.set_value(part);
        Ok(value)
    }

    fn apply(
        &self,
        target: &Target,
        value: &Node,
        items: &mut [Node],
        clock: &Clock,
    ) -> Result<(), Stop> {
        let Some(select) = &target.select else {
            let message = "target must specify resources to select";
            return Err(Stop::Failed(message.into()));
        };
        if target.reject.0.iter().any(Option::is_none) {
            return Err(Stop::Panicked(NIL.into()));
        }
        let fields = match &target.field_paths[..] {
            [] => &[DEFAULT_FIELD.to_owned()][..],
            fields => fields,
        };
        let options = target.options.clone().unwrap_or_default();
        let choice = Choice::new(target, select, self.comparison)?;
        for item in items {
            clock.check()?;
            if !choice.takes(item, select)? {
                continue;
            }
            for field in fields {
                if self.copies_nodes {
                    copy_node(item, field, value, &options)?;
                    continue;
                }
                if !self.has_structured_text {
                    copy(item, &path::split(field, false), field, value, &options)?;
                    continue;
                }
                if structured::set(item, field, value, options.create) {
                    continue;
                }
                match structured::copy_of_text(item, field) {
                    Some((mut inner, rest)) => copy(&mut inner, &rest, field, value, &options)?,
                    None => copy(item, &path::split(field, false), field, value, &options)?,
                }
            }
        }
        Ok(())
    }

    fn wording(&self) -> Wording {
        if self.copies_nodes {
            Wording::WithPath
        } else {
            Wording::WithContents
        }
    }
}
