//! References to objects that were renamed follow them.

use std::collections::HashSet;

use super::Object;
use crate::{
    fieldspec::{Create, FieldSpec, id, replace_scalar},
    function::{Clock, Stop},
    name_references, resmap,
    yaml::{Content, Node},
};

/// What a reference may point to.
struct Target {
    group: String,
    version: String,
    kind: String,
    old_name: String,
    name: String,
    namespace: String,
    effective_namespace: String,
    is_cluster_scoped: bool,
    id: String,
}

/// Gives every reference the new name of what it refers to.
pub(super) fn fix(objects: &mut [Object], clock: &Clock) -> Result<(), Stop> {
    let target = |object: &Object| {
        let node = &object.node;
        let (group, version) = node.group_version();
        Some(Target {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: node.kind().to_owned(),
            old_name: object.old_name.clone()?,
            name: node.name().to_owned(),
            namespace: node.namespace().to_owned(),
            effective_namespace: resmap::effective_namespace(node).to_owned(),
            is_cluster_scoped: resmap::is_cluster_scoped(node),
            id: id(node),
        })
    };
    let targets: Vec<Target> = objects.iter().filter_map(target).collect();
    let table = name_references::table();
    for object in objects {
        clock.check()?;
        let referrer = Referrer::new(object);
        for references in &table {
            let fits = |wanted: &str, own: &str| wanted.is_empty() || wanted == own;
            let candidates: Vec<&Target> = targets
                .iter()
                .filter(|target| {
                    fits(references.kind, &target.kind)
                        && fits(references.group, &target.group)
                        && fits(references.version, &target.version)
                        && referrer.may_refer_to(target)
                })
                .collect();
            if candidates.is_empty() {
                continue;
            }
            for spec in &references.fields {
                spec.apply(&mut object.node, Create::Never, &mut |node, _| {
                    referrer.set(node, spec, &candidates)
                })
                .map_err(|error| {
                    let (path, id) = (&spec.path, &referrer.id);
                    format!("failed to fix name back reference: updating name reference in '{path}' field of '{id}': {error}")
                })?;
            }
        }
    }
    Ok(())
}

/// The object whose references are looked at.
struct Referrer {
    id: String,
    is_cluster_scoped: bool,
    effective_namespace: String,
    /// Namespaces of the accounts that a RoleBinding names.
    account_namespaces: HashSet<String>,
    role: Option<(String, String)>,
    was_renamed: bool,
}

impl Referrer {
    fn new(object: &Object) -> Self {
        let node = &object.node;
        let text = |path: &[&str]| node.at(path).and_then(Node::value).map(str::to_owned);
        let subjects = match node.kind() {
            "RoleBinding" => node.get("subjects").map_or(&[][..], Node::items),
            _ => &[],
        };
        let accounts = subjects
            .iter()
            .filter(|subject| subject.kind() == "ServiceAccount");
        Self {
            id: id(node),
            is_cluster_scoped: resmap::is_cluster_scoped(node),
            effective_namespace: resmap::effective_namespace(node).to_owned(),
            account_namespaces: accounts
                .map(|subject| subject.text_at(&["namespace"]).to_owned())
                .collect(),
            role: text(&["roleRef", "apiGroup"]).zip(text(&["roleRef", "kind"])),
            was_renamed: object.old_name.is_some(),
        }
    }

    fn may_refer_to(&self, target: &Target) -> bool {
        let same_place = self.effective_namespace == target.effective_namespace;
        let account =
            target.kind == "ServiceAccount" && self.account_namespaces.contains(&target.namespace);
        self.is_cluster_scoped || target.is_cluster_scoped || same_place || account
    }

    fn set(&self, node: &mut Node, spec: &FieldSpec, candidates: &[&Target]) -> Result<(), String> {
        if node.is_null() {
            return Ok(());
        }
        match &mut node.content {
            Content::Scalar { value, .. } => {
                if let Some(target) = self.select(value, spec, candidates, false)?
                    && target.name != *value
                {
                    replace_scalar(node, &target.name);
                }
                Ok(())
            }
            Content::Sequence { items, .. } => items
                .iter_mut()
                .try_for_each(|item| self.set(item, spec, candidates)),
            Content::Mapping { .. } => self.set_mapping(node, spec, candidates),
            Content::Alias(_) => Err("node must be a scalar, sequence or map".into()),
        }
    }

    /// References that name a namespace, too.
    fn set_mapping(
        &self,
        node: &mut Node,
        spec: &FieldSpec,
        candidates: &[&Target],
    ) -> Result<(), String> {
        let Some(name) = node.get("name").and_then(Node::value).map(str::to_owned) else {
            return Err("path config error; no 'name' field in node".into());
        };
        let namespace = node.get("namespace").and_then(Node::value);
        let here: Vec<&Target> = match namespace {
            Some(namespace) => candidates
                .iter()
                .filter(|target| target.effective_namespace == namespace)
                .copied()
                .collect(),
            None => candidates.to_vec(),
        };
        let Some(target) = self.select(&name, spec, &here, true)? else {
            return Ok(());
        };
        if target.name == name && target.namespace.is_empty() {
            return Ok(());
        }
        let mut put = |key: &str, text: &str| match node.get_mut(key) {
            Some(value) => replace_scalar(value, text),
            None => node.insert(key, Node::plain(text)),
        };
        put("name", &target.name);
        if !target.namespace.is_empty() {
            put("namespace", &target.namespace);
        }
        Ok(())
    }

    /// The one object that was called `name`.
    fn select<'a>(
        &self,
        name: &str,
        spec: &FieldSpec,
        candidates: &[&'a Target],
        with_namespace: bool,
    ) -> Result<Option<&'a Target>, String> {
        let fits_role = |target: &Target| match &self.role {
            Some((group, kind)) if spec.path.ends_with("roleRef/name") => {
                (group.is_empty() || *group == target.group) && *kind == target.kind
            }
            _ => true,
        };
        let found: Vec<&Target> = candidates
            .iter()
            .filter(|target| target.old_name == name && fits_role(target))
            .copied()
            .collect();
        let same = |a: &Target, b: &Target| {
            a.name == b.name && (!with_namespace || a.namespace == b.namespace)
        };
        match found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            // Only objects that were renamed alike are preferred over others.
            [..] if !self.was_renamed => Ok(None),
            [first, ..] if found.iter().all(|other| same(first, other)) => Ok(Some(first)),
            [..] => {
                let ids: Vec<&str> = found.iter().map(|target| target.id.as_str()).collect();
                Err(format!(
                    "found multiple possible referrals: {}",
                    ids.join(", ")
                ))
            }
        }
    }
}
