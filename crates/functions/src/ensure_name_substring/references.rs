//! References to objects that were renamed follow them.

use std::collections::{HashMap, HashSet};

use super::Object;
use crate::{
    fieldspec::{Create, FieldSpec, id, replace_scalar},
    function::{Clock, Stop},
    name_references::{self, References},
    resmap,
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
            name: resmap::name(node).to_owned(),
            namespace: resmap::namespace(node).to_owned(),
            effective_namespace: resmap::effective_namespace(node).to_owned(),
            is_cluster_scoped: resmap::is_cluster_scoped(node),
            id: id(node),
        })
    };
    let targets: Vec<Target> = objects.iter().filter_map(target).collect();
    let table = name_references::table();
    // By row of the table and name: looked up, not searched.
    let rows: Vec<(&References, ByName<'_>)> = table
        .iter()
        .map(|references| (references, by_name(references, &targets)))
        .collect();
    for object in objects {
        clock.check()?;
        let referrer = Referrer::new(object)?;
        if let Some(null) = written_null(&object.node) {
            let mut specs = rows.iter().flat_map(|(references, _)| &references.fields);
            if specs.any(|spec| spec.selects(&object.node)) {
                return Err(Stop::Failed(format!(
                    "failed to fix name back reference: node-referrerOriginal 'APIVersion' mismatch '' != '{null}'"
                )));
            }
        }
        for (references, candidates) in &rows {
            for spec in &references.fields {
                let set = spec.apply(&mut object.node, Create::Never, &mut |node, _| {
                    referrer.set(node, spec, candidates)
                });
                if let Err(error) = set {
                    let (path, id) = (&spec.path, &referrer.id);
                    return Err(Stop::Failed(format!(
                        "failed to fix name back reference: updating name reference in '{path}' field of '{id}': {error}"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// An apiVersion that is null and written so: kustomize reads it in two ways, and finds that they differ.
fn written_null(object: &Node) -> Option<&str> {
    let api_version = object.get("apiVersion").filter(|it| it.is_null())?;
    api_version.value().filter(|text| !text.is_empty())
}

/// Targets by the names that they had.
type ByName<'a> = HashMap<&'a str, Vec<&'a Target>>;

/// The targets that a row of the table is about.
fn by_name<'a>(references: &References, targets: &'a [Target]) -> ByName<'a> {
    let fits = |wanted: &str, own: &str| wanted.is_empty() || wanted == own;
    let mut named = ByName::new();
    for target in targets {
        if fits(references.kind, &target.kind)
            && fits(references.group, &target.group)
            && fits(references.version, &target.version)
        {
            named.entry(&target.old_name).or_default().push(target);
        }
    }
    named
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
    fn new(object: &Object) -> Result<Self, Stop> {
        let node = &object.node;
        let text = |path: &[&str]| node.at(path).and_then(Node::value).map(str::to_owned);
        let subjects = match node.kind() {
            "RoleBinding" => node.get("subjects").map_or(&[][..], Node::items),
            _ => &[],
        };
        // Go takes these for granted.
        let has_kind = |subject: &Node| {
            subject.get("namespace").is_none()
                || subject.get("kind").is_none_or(|it| it.as_text().is_some())
        };
        if !subjects.iter().all(|it| it.is_mapping() && has_kind(it)) {
            let message = format!("a subject of {:?} is not a mapping with a kind", id(node));
            return Err(Stop::Panicked(message));
        }
        let accounts = subjects
            .iter()
            .filter(|subject| subject.kind() == "ServiceAccount");
        let namespaces = accounts.filter_map(|account| account.get("namespace"));
        let blank = || {
            format!(
                "Invalid Input: namespace is blank for resource {:?}",
                id(node)
            )
        };
        let namespaces: Option<HashSet<String>> = namespaces
            .map(|namespace| namespace.as_text().map(str::to_owned))
            .collect();
        Ok(Self {
            account_namespaces: namespaces.ok_or_else(blank)?,
            id: id(node),
            is_cluster_scoped: resmap::is_cluster_scoped(node),
            effective_namespace: resmap::effective_namespace(node).to_owned(),
            role: text(&["roleRef", "apiGroup"]).zip(text(&["roleRef", "kind"])),
            was_renamed: object.old_name.is_some(),
        })
    }

    fn may_refer_to(&self, target: &Target) -> bool {
        let same_place = self.effective_namespace == target.effective_namespace;
        let account =
            target.kind == "ServiceAccount" && self.account_namespaces.contains(&target.namespace);
        self.is_cluster_scoped || target.is_cluster_scoped || same_place || account
    }

    fn set(
        &self,
        node: &mut Node,
        spec: &FieldSpec,
        candidates: &ByName<'_>,
    ) -> Result<(), String> {
        if node.is_null() {
            return Ok(());
        }
        match &mut node.content {
            Content::Scalar { value, .. } => {
                if let Some(target) = self.select(value, spec, candidates, None)?
                    && target.name != *value
                {
                    replace_scalar(node, &target.name);
                }
                Ok(())
            }
            Content::Sequence { items, .. } => items.iter_mut().try_for_each(|item| {
                if matches!(item.content, Content::Sequence { .. }) {
                    return Err("an entry is neither a text nor a mapping".into());
                }
                self.set(item, spec, candidates)
            }),
            Content::Mapping { .. } => self.set_mapping(node, spec, candidates),
            Content::Alias(_) => Err("node must be a scalar, sequence or map".into()),
        }
    }

    /// References that name a namespace, too.
    fn set_mapping(
        &self,
        node: &mut Node,
        spec: &FieldSpec,
        candidates: &ByName<'_>,
    ) -> Result<(), String> {
        let Some(name) = node.get("name") else {
            return Err("path config error; no 'name' field in node".into());
        };
        // A value that is not text has no words.
        let name = name.value().unwrap_or("").to_owned();
        let namespace = node.get("namespace").map(|it| it.value().unwrap_or(""));
        let is_here = |target: &Target| namespace.is_none_or(|it| target.effective_namespace == it);
        let Some(target) = self.select(&name, spec, candidates, Some(&is_here))? else {
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
        candidates: &ByName<'a>,
        is_here: Option<&dyn Fn(&Target) -> bool>,
    ) -> Result<Option<&'a Target>, String> {
        let fits_role = |target: &Target| match &self.role {
            Some((group, kind)) if spec.path.ends_with("roleRef/name") => {
                (group.is_empty() || *group == target.group) && *kind == target.kind
            }
            _ => true,
        };
        let named = candidates.get(name).map_or(&[][..], Vec::as_slice);
        let found: Vec<&Target> = named
            .iter()
            .copied()
            .filter(|target| self.may_refer_to(target) && fits_role(target))
            .filter(|target| is_here.is_none_or(|is_here| is_here(target)))
            .collect();
        let same = |a: &Target, b: &Target| {
            a.name == b.name && (is_here.is_none() || a.namespace == b.namespace)
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

#[cfg(test)]
mod tests {
    use crate::{Clock, catalog};

    fn ended(subject: &str) -> (u8, String) {
        ended_of("RoleBinding", subject)
    }

    /// How a run on a binding with this subject ends: exit code and error.
    fn ended_of(kind: &str, subject: &str) -> (u8, String) {
        let list = format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
             - apiVersion: rbac.authorization.k8s.io/v1\n  kind: {kind}\n  \
             metadata: {{name: a}}\n  subjects:\n  - {subject}\n\
             functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  \
             data: {{prepend: web-}}\n"
        );
        let function = catalog::find("ensure-name-substring").expect("a function");
        let ended = function.run(list.as_bytes(), &Clock::default());
        let ended = ended.expect("no deadline");
        (ended.exit, ended.stderr)
    }

    #[test]
    fn a_subjects_namespace_that_is_a_list_is_refused() {
        for namespace in ["[x]", "{x: y}", "7", "null"] {
            let subject = format!("{{kind: ServiceAccount, name: b, namespace: {namespace}}}");
            let (exit, told) = ended(&subject);
            assert_eq!(exit, 1, "{namespace}");
            let blank = "Invalid Input: namespace is blank for resource";
            assert!(told.contains(blank), "{namespace}: {told}");
        }
        let (exit, _) = ended("{kind: User, name: b, namespace: [x]}");
        assert_eq!(exit, 0);
    }

    #[test]
    fn a_subject_that_is_not_a_mapping_ends_the_run_as_a_crash_does() {
        for subject in ["word", "null", "[]", "{kind: 7, name: b, namespace: c}"] {
            let (exit, told) = ended(subject);
            assert_eq!(exit, 2, "{subject}: {told}");
        }
    }

    #[test]
    fn a_subject_that_is_a_list_is_no_crash_where_namespaces_do_not_matter() {
        let (exit, told) = ended_of("ClusterRoleBinding", "[]");
        assert_eq!(exit, 1, "{told}");
        let (exit, _) = ended_of("ClusterRoleBinding", "{kind: User, name: []}");
        assert_eq!(exit, 0);
    }
}
