//! Functions of a few lines: `remove-local-config-resources`,
//! `set-enforcement-action` and `upsert-resource`.

use crate::{
    function::{Clock, Function, Stop, report_failure},
    list::ResourceList,
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, LOCAL_CONFIG, PATH},
    results::{Report, Severity, field_text},
    yaml::Node,
};

fn file(object: &Node) -> Option<(String, i64)> {
    let path = match object.annotation(PATH) {
        "" => object.annotation(LEGACY_PATH),
        path => path,
    };
    Some((path.to_owned(), 0))
}

/// Drops objects that are for tools only.
#[derive(Debug)]
pub(crate) struct RemoveLocalConfig;

impl Function for RemoveLocalConfig {
    fn run(&self, list: &mut ResourceList, _: &Clock) -> Result<(), Stop> {
        let is_local = |item: &mut Node| item.annotation(LOCAL_CONFIG).eq_ignore_ascii_case("true");
        let removed: Vec<Node> = list.items.extract_if(.., is_local).collect();
        list.items.retain(|item| !item.fields().is_empty());
        if removed.is_empty() {
            let message = "Found no resources to prune with the local config annotation";
            list.results = vec![Report::new(Severity::Warning, message)];
            return Ok(());
        }
        list.results = vec![Report::info(format!(
            "Number of resources pruned: {}",
            removed.len()
        ))];
        list.results.extend(removed.iter().map(|object| {
            let mut report = Report::info(format!("Resource name: [{}]", object.name()));
            report.file = file(object);
            report
        }));
        Ok(())
    }
}

/// Sets what Gatekeeper's constraints do about violations.
#[derive(Debug)]
pub(crate) struct SetEnforcementAction;

impl Function for SetEnforcementAction {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let data = list.config.as_ref().map_or_else(Vec::new, Node::data);
        let action = match data[..] {
            [("enforcementAction", action @ ("deny" | "dryrun"))] => Ok(action.to_owned()),
            [_] => Err("expected values for enforcementAction are [deny] or [dryrun]"),
            _ => Err("expecting exactly 1 enforcementAction as part of the ConfigMap"),
        };
        let action = match action {
            Ok(action) => action,
            Err(message) => {
                let told = format!("failed to process policies: {message}");
                return Err(report_failure(list, told, message.to_owned()));
            }
        };
        let mut results = Vec::new();
        for item in &mut list.items {
            clock.check()?;
            let is_policy = item.api_version() == "constraints.gatekeeper.sh/v1beta1";
            if !is_policy || item.name().is_empty() || item.kind().is_empty() {
                continue;
            }
            set_action(item, &action);
            let mut report = Report::info(format!("Policy name: [{}]", item.name()));
            report.file = file(item);
            results.push(report);
        }
        list.results = match results.len() {
            0 => {
                let message = format!("Found no policy to set to [{action}]");
                vec![Report::new(Severity::Warning, message)]
            }
            count => vec![Report::info(format!(
                "Number of policies set to [{action}]: {count}"
            ))],
        };
        list.results.append(&mut results);
        Ok(())
    }
}

fn set_action(policy: &mut Node, action: &str) {
    if policy.get("spec").is_none_or(Node::is_null) {
        policy.remove("spec");
        policy.insert("spec", Node::mapping(Vec::new()));
    }
    let Some(spec) = policy.get_mut("spec") else {
        return;
    };
    match spec.get_mut("enforcementAction") {
        // kyaml replaces the whole node: its comments go, its style stays.
        Some(value) => {
            value.set_text(action);
            *value.comments_mut() = crate::yaml::Comments::default();
        }
        None => spec.insert("enforcementAction", Node::text(action)),
    }
}

/// Adds the object that the configuration is, or replaces the one it names.
#[derive(Debug)]
pub(crate) struct UpsertResource;

const FUNCTION: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];

impl Function for UpsertResource {
    fn run(&self, list: &mut ResourceList, _: &Clock) -> Result<(), Stop> {
        let Some(object) = list.config.clone().filter(Node::is_mapping) else {
            return Err(Stop::Failed(
                "failed to upsert resource: missing Resource metadata".into(),
            ));
        };
        let own: Vec<(String, String)> = annotations(&object)
            .into_iter()
            .filter(|(name, _)| !FUNCTION.contains(&name.as_str()))
            .collect();
        let mut replaced = false;
        for item in &mut list.items {
            let is_config = FUNCTION
                .iter()
                .any(|name| !item.annotation(name).is_empty());
            if is_config || !is_same(item, &object) {
                continue;
            }
            let mut kept = own.clone();
            // Where the object is written to is the replaced one's.
            for name in [PATH, INDEX, LEGACY_PATH, LEGACY_INDEX] {
                kept.retain(|(own, _)| own != name);
                let value = item.annotation(name);
                if !value.is_empty() {
                    kept.push((name.to_owned(), value.to_owned()));
                }
            }
            *item = object.clone();
            set_annotations(item, kept);
            replaced = true;
        }
        if !replaced {
            let mut added = object;
            let own = own.into_iter().filter(|(name, _)| {
                ![PATH, INDEX, LEGACY_PATH, LEGACY_INDEX].contains(&name.as_str())
            });
            set_annotations(&mut added, own.collect());
            list.items.push(added);
        }
        Ok(())
    }
}

fn is_same(a: &Node, b: &Node) -> bool {
    // The Go function compares the group with itself: it does not count.
    a.kind() == b.kind() && a.name() == b.name() && a.namespace() == b.namespace()
}

pub(crate) fn annotations(object: &Node) -> Vec<(String, String)> {
    let annotations = object.at(&["metadata", "annotations"]);
    let pairs = annotations.map_or_else(Vec::new, Node::texts);
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Replaces the annotations, sorted, as kyaml does.
pub(crate) fn set_annotations(object: &mut Node, mut annotations: Vec<(String, String)>) {
    let Some(metadata) = object.get_mut("metadata") else {
        return;
    };
    metadata.remove("annotations");
    if annotations.is_empty() {
        return;
    }
    annotations.sort();
    let fields = annotations
        .into_iter()
        .map(|(name, value)| (Node::text(name), field_text(&value)));
    metadata.insert("annotations", Node::mapping(fields.collect()));
}
