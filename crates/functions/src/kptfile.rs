//! A package's Kptfile, as strictly read as the Go functions read it.

use crate::{
    encode,
    yaml::{Content, Node, SequenceIndent, Tag, parse_all, write_node},
};

/// The types that a Kptfile is read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Types {
    /// Those of the functions SDK of 2021.
    Sdk,
    /// Those of kpt itself: newer fields, and `kpt.dev/v1` only.
    Kpt,
}

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Map,
    One(&'static str),
    Many(&'static str),
}
use Kind::{Many, Map, One, Text, Texts};

type Fields = &'static [(&'static str, Kind)];

const META: Fields = &[
    ("name", Text),
    ("namespace", Text),
    ("labels", Map),
    ("annotations", Map),
];

/// Names of types, and their fields in their order. What only kpt knows is marked.
const STRUCTS: &[(&str, Fields)] = &[
    (
        "KptFile",
        &[
            ("apiVersion", Text),
            ("kind", Text),
            ("metadata", One("ObjectMeta")),
            ("upstream", One("Upstream")),
            ("upstreamLock", One("UpstreamLock")),
            ("info", One("PackageInfo")),
            ("pipeline", One("Pipeline")),
            ("inventory", One("Inventory")),
            ("status", One("Status")),
        ],
    ),
    ("ObjectMeta", META),
    (
        "Upstream",
        &[
            ("type", Text),
            ("git", One("Git")),
            ("updateStrategy", Text),
        ],
    ),
    ("Git", &[("repo", Text), ("directory", Text), ("ref", Text)]),
    ("UpstreamLock", &[("type", Text), ("git", One("GitLock"))]),
    (
        "GitLock",
        &[
            ("repo", Text),
            ("directory", Text),
            ("ref", Text),
            ("commit", Text),
        ],
    ),
    (
        "PackageInfo",
        &[
            ("site", Text),
            ("emails", Texts),
            ("license", Text),
            ("licenseFile", Text),
            ("description", Text),
            ("keywords", Texts),
            ("man", Text),
            ("readinessGates", Many("ReadinessGate")),
        ],
    ),
    ("ReadinessGate", &[("conditionType", Text)]),
    (
        "Pipeline",
        &[
            ("mutators", Many("Function")),
            ("validators", Many("Function")),
        ],
    ),
    (
        "Function",
        &[
            ("image", Text),
            ("exec", Text),
            ("configPath", Text),
            ("configMap", Map),
            ("name", Text),
            ("selectors", Many("Selector")),
            ("exclude", Many("Selector")),
        ],
    ),
    (
        "Selector",
        &[
            ("apiVersion", Text),
            ("kind", Text),
            ("name", Text),
            ("namespace", Text),
            ("labels", Map),
            ("annotations", Map),
        ],
    ),
    (
        "Inventory",
        &[
            ("namespace", Text),
            ("name", Text),
            ("inventoryID", Text),
            ("labels", Map),
            ("annotations", Map),
        ],
    ),
    ("Status", &[("conditions", Many("Condition"))]),
    (
        "Condition",
        &[
            ("type", Text),
            ("status", Text),
            ("reason", Text),
            ("message", Text),
        ],
    ),
];

const ONLY_KPT: &[(&str, &str)] = &[
    ("KptFile", "status"),
    ("PackageInfo", "readinessGates"),
    ("Function", "exec"),
    ("Function", "name"),
    ("Function", "selectors"),
    ("Function", "exclude"),
];

impl Types {
    fn fields(self, name: &str) -> impl Iterator<Item = (&'static str, Kind)> {
        let found = STRUCTS.iter().find(|(kind, _)| *kind == name);
        let (of, fields) = found.map_or(("", &[][..]), |(of, fields)| (*of, *fields));
        let is_known = move |field: &str| self == Self::Kpt || !ONLY_KPT.contains(&(of, field));
        fields
            .iter()
            .copied()
            .filter(move |(field, _)| is_known(field))
    }

    /// As Go names the type.
    fn go_name(self, name: &str) -> String {
        match (self, name) {
            (Self::Kpt, "ObjectMeta") => format!("yaml.{name}"),
            _ => format!("v1.{name}"),
        }
    }

    /// Refuses a Kptfile with fields or values that its type does not have.
    /// `more_lines` is how many lines the function's library adds to the text
    /// before reading it.
    pub(crate) fn check(self, kptfile: &Node, more_lines: u32) -> Result<(), String> {
        if self == Self::Kpt {
            check_version(kptfile)?;
        }
        let text = write_node(kptfile, SequenceIndent::Compact);
        let root = parse_all(&text).ok();
        let root = root.and_then(|documents| documents.into_iter().next());
        let Some(document) = root else { return Ok(()) };
        let mut check = Check {
            types: self,
            more_lines,
            errors: Vec::new(),
        };
        check.one(&document.root, "KptFile");
        if check.errors.is_empty() {
            return Ok(());
        }
        let whose = match self {
            Self::Sdk => "invalid 'v1' Kptfile: ",
            Self::Kpt => "",
        };
        let errors = check.errors.join("\n");
        Err(format!("{whose}yaml: unmarshal errors:\n{errors}"))
    }

    /// The Kptfile as it is after being read into its type and written again: its
    /// fields in the type's order, without comments and empty values.
    pub(crate) fn written(self, kptfile: &Node) -> Node {
        self.struct_of(kptfile, "KptFile")
    }

    fn struct_of(self, node: &Node, name: &str) -> Node {
        let mut result = Node::mapping(Vec::new());
        for (field, kind) in self.fields(name) {
            let Some(value) = node.get(field).filter(|value| !value.is_null()) else {
                continue;
            };
            let written = match kind {
                Text => value
                    .value()
                    .filter(|text| !text.is_empty())
                    .map(encode::text),
                Texts => list(value.items(), |item| encode::text(item.text_or_null())),
                Map => {
                    let pairs = value.texts().into_iter();
                    let pairs = pairs.map(|(key, value)| (key.to_owned(), encode::text(value)));
                    let pairs: Vec<(String, Node)> = pairs.collect();
                    (!pairs.is_empty()).then(|| encode::mapping(pairs))
                }
                One(name) => Some(self.struct_of(value, name)),
                Many(name) => list(value.items(), |item| self.struct_of(item, name)),
            };
            if let Some(mut written) = written {
                if let Content::Mapping { fields, flow } = &mut written.content {
                    *flow = fields.is_empty();
                }
                result.insert(field, written);
            }
        }
        result
    }
}

fn list(items: &[Node], each: impl Fn(&Node) -> Node) -> Option<Node> {
    (!items.is_empty()).then(|| Node::sequence(items.iter().map(each).collect()))
}

fn check_version(kptfile: &Node) -> Result<(), String> {
    let (group, version) = kptfile.group_version();
    match (group, version, kptfile.kind()) {
        ("kpt.dev", "v1", "Kptfile") => Ok(()),
        ("kpt.dev", "v1alpha1" | "v1alpha2", "Kptfile") => Err(format!(
            "old resource version \"{version}\" found in Kptfile"
        )),
        (group, version, kind) => Err(format!(
            "unknown resource type \"{group}/{version}, Kind={kind}\" found in Kptfile"
        )),
    }
}

struct Check {
    types: Types,
    more_lines: u32,
    errors: Vec<String>,
}

impl Check {
    fn wrong(&mut self, node: &Node, go_type: &str) {
        let line = node.line + self.more_lines;
        let value = match node.value() {
            Some(value) if value.len() > 10 => {
                let end = value.char_indices().map(|(at, _)| at);
                let end = end.take_while(|at| *at <= 7).last().unwrap_or(0);
                format!(" `{}...`", &value[..end])
            }
            Some(value) => format!(" `{value}`"),
            None => String::new(),
        };
        let tag = match node.tag {
            Tag::None => "!!str",
            _ => node.tag_name(),
        };
        self.errors.push(format!(
            "  line {line}: cannot unmarshal {tag}{value} into {go_type}"
        ));
    }

    fn value(&mut self, node: &Node, kind: Kind) {
        if node.is_null() || matches!(node.content, Content::Alias(_)) {
            return;
        }
        match kind {
            Text if node.value().is_none() => self.wrong(node, "string"),
            Text => {}
            Texts if !node.is_sequence() => self.wrong(node, "[]string"),
            Texts => node.items().iter().for_each(|item| self.value(item, Text)),
            Map if !node.is_mapping() => self.wrong(node, "map[string]string"),
            Map => {
                for (key, value) in node.fields() {
                    self.value(key, Text);
                    self.value(value, Text);
                }
            }
            One(name) => self.one(node, name),
            Many(name) if !node.is_sequence() => {
                let name = self.types.go_name(name);
                self.wrong(node, &format!("[]{name}"));
            }
            Many(name) => node.items().iter().for_each(|item| self.one(item, name)),
        }
    }

    fn one(&mut self, node: &Node, name: &str) {
        if node.is_null() {
            return;
        }
        let go_name = self.types.go_name(name);
        if !node.is_mapping() {
            self.wrong(node, &go_name);
            return;
        }
        for (key, value) in node.fields() {
            let text = key.value().unwrap_or("");
            let known = self.types.fields(name).find(|(field, _)| *field == text);
            match known {
                Some((_, kind)) => self.value(value, kind),
                None => {
                    let line = key.line + self.more_lines;
                    self.errors.push(format!(
                        "  line {line}: field {text} not found in type {go_name}"
                    ));
                }
            }
        }
    }
}

/// What is said about a `configPath` that leads nowhere.
pub(crate) fn missing_file(path: &str) -> String {
    format!(
        "file {path} doesn't exist, please ensure the file specified in \"configPath\" exists and retry"
    )
}
