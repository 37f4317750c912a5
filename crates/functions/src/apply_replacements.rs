//! `apply-replacements`: copies a value from one object's field to fields of
//! others, as kustomize's replacements do.

mod options;
mod path;
mod selection;

use crate::{
    function::{Clock, Function, Stop},
    go,
    list::{ResourceList, W4},
    meter::charge,
    release::Release,
    results::Report,
    runner_config::FAILURE,
    yaml::{Content, Node, SequenceIndent, Tag, parse_all, write_node},
};

use options::Options;
use selection::{Id, fits_labels};

const KIND: &str = "ApplyReplacements";
const API_VERSION: &str = "fn.kpt.dev/v1alpha1";
const DEFAULT_FIELD: &str = "metadata.name";

pub(crate) const RELEASES: &[Release] = &[
    Release::unknown("v0.1.6").of_2026(),
    Release::native("v0.1.5", W4, &ApplyReplacements).also(&["master-20260113"]),
    Release::native("v0.1.3", W4, &ApplyReplacements),
    Release::unknown("v0.1.2"),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];

#[derive(Debug)]
pub(crate) struct ApplyReplacements;

impl Function for ApplyReplacements {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let mut items: Vec<Node> = list.items.iter().map(reread).collect();
        let applied = match check_config(list.config()) {
            Err(message) => Err(Stop::Failed(message)),
            Ok(config) => apply_all(config, &mut items, clock),
        };
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

/// The Go function writes and reads every object before and after.
fn reread(item: &Node) -> Node {
    let documents = parse_all(&write_node(item, SequenceIndent::Compact)).ok();
    let document = documents.and_then(|documents| documents.into_iter().next());
    document.map_or_else(|| item.clone(), |document| document.root)
}

fn check_config(config: Option<&Node>) -> Result<&Node, String> {
    let Some(config) = config else {
        return Err(format!("FunctionConfig is missing. Expect `{KIND}`"));
    };
    if config.kind() != KIND || config.api_version() != API_VERSION {
        return Err(format!(
            "received functionConfig of kind {} and apiVersion {}, only functionConfig of kind {KIND} and apiVersion {API_VERSION} is supported",
            config.kind(),
            config.api_version()
        ));
    }
    Ok(config)
}

fn apply_all(config: &Node, items: &mut [Node], clock: &Clock) -> Result<(), Stop> {
    let replacements = config.get("replacements").map_or(&[][..], Node::items);
    for replacement in replacements {
        clock.check()?;
        let targets = replacement
            .get("targets")
            .filter(|targets| !targets.is_null());
        let (source, value) = (replacement.get("source"), replacement.get("sourceValue"));
        let Some(targets) = targets.filter(|_| source.is_some() || value.is_some()) else {
            return Err(Stop::Failed(
                "replacements must specify a source and at least one target".into(),
            ));
        };
        let value = match (source, value) {
            (Some(_), Some(_)) => {
                return Err(Stop::Failed(
                    "value and resource selectors are mutually exclusive".into(),
                ));
            }
            (_, Some(value)) => {
                let mut text = Node::text(value.value().unwrap_or(""));
                text.tag = Tag::None;
                text
            }
            (Some(source), None) => source_value(source, items)?,
            (None, None) => continue,
        };
        for target in targets.items() {
            apply(target, &value, items, clock)?;
        }
    }
    Ok(())
}

fn source_value(source: &Node, items: &[Node]) -> Result<Node, String> {
    let selector = Id::of_selector(source);
    let field = source.get("fieldPath").and_then(Node::value).unwrap_or("");
    let options = Options::of(source);
    let printed = || {
        let path = if field.is_empty() {
            String::new()
        } else {
            format!(":{field}")
        };
        format!("{}{path}{}", selector.printed(), options.printed())
    };
    let is_selected = |item: &&Node| {
        Id::all_of(item)
            .iter()
            .any(|id| id.is_selected_by(&selector))
    };
    let mut found = items.iter().filter(is_selected);
    let Some(object) = found.next() else {
        return Err(format!("nothing selected by {}", printed()));
    };
    if found.next().is_some() {
        return Err(format!("multiple matches for selector {}", printed()));
    }
    let field = if field.is_empty() {
        DEFAULT_FIELD
    } else {
        field
    };
    let value = path::lookup(object, &path::split(field))
        .map_err(|error| format!("error looking up replacement source: {error}"))?;
    let is_empty = |node: &&Node| {
        node.is_null()
            || (node.value().is_none() && node.fields().is_empty() && node.items().is_empty())
    };
    let Some(value) = value.filter(|value| !is_empty(value)) else {
        let id = selector.printed();
        return Err(format!(
            "fieldPath `{field}` is missing for replacement source {id}"
        ));
    };
    if options.delimiter.is_empty() {
        return Ok(value.clone());
    }
    let Some(text) = value.value() else {
        return Err("delimiter option can only be used with scalar nodes".into());
    };
    let mut parts = text.split(&options.delimiter);
    let part = usize::try_from(options.index)
        .ok()
        .and_then(|index| parts.nth(index));
    let Some(part) = part else {
        let index = options.index;
        return Err(format!(
            "options.index {index} is out of bounds for value {text}"
        ));
    };
    let mut value = value.clone();
    value.set_value(part);
    Ok(value)
}

fn apply(target: &Node, value: &Node, items: &mut [Node], clock: &Clock) -> Result<(), Stop> {
    let Some(select) = target.get("select").filter(|select| !select.is_null()) else {
        return Err("target must specify resources to select".to_owned().into());
    };
    let rejects = target.get("reject").map_or(&[][..], Node::items);
    let fields: Vec<&str> = match target.get("fieldPaths").map_or(&[][..], Node::items) {
        [] => vec![DEFAULT_FIELD],
        fields => fields.iter().filter_map(Node::value).collect(),
    };
    let options = Options::of(target);
    let selector = Id::of_selector(select);
    let rejected: Vec<Id> = rejects
        .iter()
        .map(Id::of_selector)
        .filter(|id| !id.is_empty())
        .collect();
    for item in items {
        clock.check()?;
        let mut fits = fits_labels(item, select)?;
        for reject in rejects {
            let has_selector = ["annotationSelector", "labelSelector"]
                .iter()
                .any(|name| !reject.text_at(&[name]).is_empty());
            fits = fits && !(has_selector && fits_labels(item, reject)?);
        }
        let ids = Id::all_of(item);
        let is_rejected = rejected
            .iter()
            .any(|reject| ids.iter().any(|id| id.is_selected_by(reject)));
        if !fits || is_rejected || !ids.iter().any(|id| id.is_selected_by(&selector)) {
            continue;
        }
        for field in &fields {
            copy(item, field, value, &options)?;
        }
    }
    Ok(())
}

fn copy(item: &mut Node, field: &str, value: &Node, options: &Options) -> Result<(), String> {
    let verb = if options.create {
        "find or create"
    } else {
        "find"
    };
    let missing = format!(
        "unable to {verb} field {} in replacement target",
        go::quote(field)
    );
    let create = options.create.then(|| path::Leaf::of(value));
    let mut failed = None;
    let count = path::visit(item, &path::split(field), create, &mut |node| {
        if let Err(error) = set(node, value, options) {
            failed.get_or_insert(error);
        }
    });
    match (failed, count) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(format!("{missing}: {error}")),
        (None, Ok(0)) => Err(missing),
        (None, Ok(_)) => Ok(()),
    }
}

fn set(node: &mut Node, value: &Node, options: &Options) -> Result<(), String> {
    charge(value.value().map_or(0, str::len) + node.value().map_or(0, str::len));
    let mut text = value.value().unwrap_or("").to_owned();
    if !options.delimiter.is_empty() {
        let Some(old) = node.value() else {
            return Err("delimiter option can only be used with scalar nodes".into());
        };
        let mut parts: Vec<&str> = old.split(&options.delimiter).collect();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, &text),
            Ok(index) if index >= parts.len() => parts.push(&text),
            Ok(index) => parts[index] = &text,
        }
        text = parts.join(&options.delimiter);
    }
    match &node.content {
        // Only the text: whether it is quoted is the target's affair.
        Content::Scalar { .. } => node.set_value(&text),
        _ => *node = value.clone(),
    }
    Ok(())
}
