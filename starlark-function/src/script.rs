//! Runs a script over a list, and takes the items from it.

use std::{cell::RefCell, collections::HashSet};

use functions::{
    Clock, Function, ResourceList, Stop,
    yaml::{Node, SequenceIndent, parse_all, write_node},
};

use crate::{
    config::{self, Program},
    convert,
    lang::{self, Value, value::Table},
    modules,
    release::Release,
};

#[derive(Debug)]
pub(crate) struct Starlark {
    release: Release,
    noise: std::sync::Mutex<String>,
}

impl Starlark {
    pub(crate) fn new(release: Release) -> Self {
        let noise = std::sync::Mutex::default();
        Self { release, noise }
    }

    /// What the original writes to its output before the list.
    pub(crate) fn noise(&self) -> String {
        self.noise
            .lock()
            .map(|noise| noise.clone())
            .unwrap_or_default()
    }

    fn transform(&self, list: &ResourceList, program: &Program) -> Result<Vec<Node>, String> {
        let noise = RefCell::new(String::new());
        let items = evaluate(self.release, program, list, &noise);
        if let Ok(mut kept) = self.noise.lock() {
            kept.push_str(&noise.borrow());
        }
        items
    }
}

impl Function for Starlark {
    fn run(&self, list: &mut ResourceList, _: &Clock) -> Result<(), Stop> {
        if self.release.uses_first_sdk() {
            list.as_first_sdk();
        }
        let program = match config::read(self.release, list.config.as_ref()) {
            Ok(program) => program,
            Err(message) => return Err(self.fail(list, message)),
        };
        match self.transform(list, &program) {
            Ok(items) => {
                list.items = items;
                Ok(())
            }
            Err(message) => {
                if !self.release.uses_sdk() {
                    list.items = Vec::new();
                }
                Err(self.fail(list, message))
            }
        }
    }
}

impl Starlark {
    fn fail(&self, list: &mut ResourceList, message: String) -> Stop {
        let stop = list.fail(message.clone());
        if self.release.uses_sdk() {
            stop
        } else {
            Stop::Failed(format!("error: {message}"))
        }
    }
}

fn evaluate(
    release: Release,
    program: &Program,
    list: &ResourceList,
    noise: &RefCell<String>,
) -> Result<Vec<Node>, String> {
    lang::memory::begin_stack();
    list.items
        .iter()
        .chain(&list.config)
        .try_for_each(has_every_key_once)?;
    let items = list.items.iter().map(convert::to_value);
    let items = items.collect::<Result<Vec<_>, _>>()?;
    let resource_list = Table::default();
    let put = |name: &str, value| resource_list.insert(Value::text(name), value);
    put("apiVersion", Value::text(release.list_version()))?;
    put("kind", Value::text("ResourceList"))?;
    put("items", Value::list(items))?;
    if let Some(config) = &list.config {
        put(
            "functionConfig",
            convert::to_value(&seen_config(release, config))?,
        )?;
    }
    let resource_list = Value::Dict(resource_list.into());
    let environment = Table::default();
    for (name, value) in std::env::vars() {
        environment.insert(Value::text(name), Value::text(value))?;
    }
    let context = Value::structure(vec![
        ("resource_list".into(), resource_list.clone()),
        ("environment".into(), Value::Dict(environment.into())),
        ("open_api".into(), modules::open_api()),
    ]);
    let host = lang::Host {
        given: &[("ctx", context)],
        load: &|name| modules::load(release, name),
    };
    lang::run(&program.name, &program.source, release.dialect(), &host)?;
    let Value::Dict(table) = &resource_list else {
        return Err("the list is gone".into());
    };
    // All of it is converted, and may fail, though only the items are kept.
    for (key, value) in table.items() {
        convert::to_node(&value, noise).map_err(|words| convert::inside("value", words))?;
        convert::to_node(&key, noise).map_err(|words| convert::inside("key", words))?;
    }
    let items = match table.get_text("items") {
        Some(Value::List(items)) => items.items(),
        Some(Value::Tuple(items)) => items.to_vec(),
        Some(Value::None) | None => Vec::new(),
        Some(_) => return Err("wrong node kind: expected SequenceNode but got ScalarNode".into()),
    };
    let item = |item: &Value| {
        let node = convert::to_node(item, noise)?;
        if release.uses_sdk() {
            object(&node)
        } else {
            Ok(node)
        }
    };
    items.iter().map(item).collect()
}

/// Go reads the list into maps before it looks at the script.
fn has_every_key_once(node: &Node) -> Result<(), String> {
    let mut known = HashSet::new();
    for (key, value) in node.fields() {
        if let Some(text) = key
            .value()
            .filter(|text| !known.insert((*text, key.tag_name())))
        {
            return Err(format!(
                "received error yaml: unmarshal errors:\n  mapping key {text:?} already defined"
            ));
        }
        has_every_key_once(value)?;
    }
    node.items().iter().try_for_each(has_every_key_once)
}

/// The configuration as scripts see it: the first releases knew some fields only.
fn seen_config(release: Release, config: &Node) -> Node {
    let mut seen = config.clone();
    if let (true, Some(fields)) = (release.is_first(), seen.fields_mut()) {
        let known = ["apiVersion", "kind", "metadata", "source"];
        fields.retain(|(key, _)| key.value().is_some_and(|key| known.contains(&key)));
    }
    seen
}

/// An item as the SDK reads it back.
fn object(node: &Node) -> Result<Node, String> {
    let text = write_node(node, SequenceIndent::Compact);
    let documents = parse_all(&text).map_err(|error| error.to_string())?;
    let root = documents.into_iter().next().map(|document| document.root);
    let kind = match root {
        Some(root) if root.is_mapping() => return Ok(root),
        Some(root) if root.is_sequence() => 2,
        _ => 8,
    };
    Err(format!(
        "failed to extract objects: unhandled node kind {kind}"
    ))
}
