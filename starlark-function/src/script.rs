//! Runs a script and takes the items from it.

use functions::{
    Clock, Function, ResourceList, Stop,
    yaml::{Node, SequenceIndent, parse_all, write_node},
};
use starlark::{
    ErrorKind,
    environment::{GlobalsBuilder, LibraryExtension, Module},
    eval::Evaluator,
    syntax::{AstModule, Dialect},
    values::{dict::DictRef, list::ListRef, structs::AllocStruct},
};

use crate::{library::Library, values};

/// Bytes of values that a script may hold at a time: dozens of times the largest
/// message. The interpreter notices some time after.
const MOST_HEAP: usize = 256 << 20;
/// Calls inside of each other. The default is meant for build files; more would
/// need a larger stack.
const DEEPEST: usize = 200;
/// Where the list is kept while the script runs; no script can name it.
const LIST: &str = "$resource_list";

#[derive(Debug)]
pub(crate) struct Starlark;

impl Function for Starlark {
    fn run(&self, list: &mut ResourceList, _: &Clock) -> Result<(), Stop> {
        let ran = configure(list.config()).and_then(|(name, source)| {
            let listed = wrapped(list);
            evaluate(&name, source, &listed)
        });
        match ran {
            Ok(items) => {
                list.items = items;
                Ok(())
            }
            Err(message) => Err(list.fail(message)),
        }
    }
}

/// The program's name and text.
fn configure(config: Option<&Node>) -> Result<(String, String), String> {
    let Some(config) = config else {
        return Err("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`".into());
    };
    let source = if config.is_a("", "v1", "ConfigMap") {
        config.text_at(&["data", "source"])
    } else if config.is_a("fn.kpt.dev", "v1alpha1", "StarlarkRun") {
        config.text_at(&["source"])
    } else {
        let of = |api_version: &str, kind: &str| match api_version.contains('/') {
            true => format!("{api_version}, Kind={kind}"),
            false => format!("/{api_version}, Kind={kind}"),
        };
        return Err(format!(
            "`functionConfig` must be either {} or {}, but we got: {}",
            of("v1", "ConfigMap"),
            of("fn.kpt.dev/v1alpha1", "StarlarkRun"),
            of(config.api_version(), config.kind())
        ));
    };
    let name = match config.name() {
        "" => "starlark-function-run",
        name => name,
    };
    match source {
        "" => Err("`source` must not be empty".into()),
        source => Ok((name.to_owned(), source.to_owned())),
    }
}

/// The list as the script gets it.
fn wrapped(list: &ResourceList) -> Node {
    let mut root = Node::mapping(Vec::new());
    root.insert("apiVersion", Node::text("config.kubernetes.io/v1"));
    root.insert("kind", Node::text("ResourceList"));
    root.insert("items", Node::sequence(list.items.clone()));
    if let Some(config) = list.config() {
        root.insert("functionConfig", config.clone());
    }
    root
}

fn evaluate(name: &str, source: String, list: &Node) -> Result<Vec<Node>, String> {
    let dialect = Dialect {
        enable_top_level_stmt: true,
        enable_keyword_only_arguments: true,
        ..Dialect::Standard
    };
    let ast = AstModule::parse(name, source, &dialect).map_err(|error| told(&error))?;
    let globals = GlobalsBuilder::extended_by(&[
        LibraryExtension::StructType,
        LibraryExtension::SetType,
        LibraryExtension::Print,
        LibraryExtension::Map,
        LibraryExtension::Filter,
    ])
    .build();
    Module::with_temp_heap(|module| {
        let heap = module.heap();
        let value = values::to_value(list, heap);
        let environment: Vec<(String, String)> = std::env::vars().collect();
        let environment = heap.alloc(starlark::values::dict::AllocDict(environment));
        let context = AllocStruct([("resource_list", value), ("environment", environment)]);
        module.set("ctx", heap.alloc(context));
        module.set(LIST, value);
        {
            let mut evaluator = Evaluator::new(&module);
            evaluator.set_loader(&Library);
            let limits = evaluator
                .set_max_heap_size(MOST_HEAP)
                .and_then(|()| evaluator.set_max_callstack_size(DEEPEST));
            limits.map_err(|error| error.to_string())?;
            evaluator
                .eval_module(ast, &globals)
                .map_err(|error| told(&error))?;
        }
        // Values move while a script runs: the list is looked up again.
        let list = module.get(LIST).ok_or("the list is gone")?;
        let list = DictRef::from_value(list).ok_or("the list is no dictionary")?;
        let items = list.get_str("items").ok_or("the list has no items")?;
        let items = ListRef::from_value(items).ok_or("wrong node kind: items must be a list")?;
        items
            .iter()
            .map(|item| values::to_node(item).and_then(|node| object(&node)))
            .collect()
    })
}

/// An item as the Go function reads it back.
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

fn told(error: &starlark::Error) -> String {
    match error.kind() {
        ErrorKind::Fail(words) => format!("fail:{words}"),
        _ => error.without_diagnostic().to_string(),
    }
}
