//! `set-annotations`: adds annotations to objects, to the templates of pods and
//! jobs, and to fields that the configuration names.

use std::collections::BTreeMap;

use crate::{
    fieldspec::{Create, FieldSpec},
    function::{Clock, Function, Stop, report_failure},
    json,
    kustomize::{Field, Transformer},
    list::{ResourceList, W1, W3_PLACES},
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH},
    release::Release,
    resmap,
    results::{Report, field_text},
    yaml::{Content, Node, ScalarStyle, SequenceIndent},
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.1.5", W3_PLACES, &SetAnnotations)
        .with_digests(&["sha256:cc7461139e070ffe36e9bb126b7c1818008f851a08a8a1dbb126b98366df068c"]),
    Release::native("v0.1.4", W1, &V0_1_4),
    Release::unknown("v0.1.3"),
];

/// The releases under the image's former name, `set-annotation`.
pub(crate) const RELEASES_OF_OLD_NAME: &[Release] = &[
    Release::unknown("v0.1.2"),
    Release::unknown("v0.1.1"),
    Release::unknown("v0.1.0"),
];

/// How the framework of v0.1.5 numbers objects while a function runs.
const NUMBER: &str = "internal.config.k8s.io/annotations-migration-resource-id";

const V0_1_4: Transformer = Transformer {
    field: Field::Annotations,
};

#[derive(Debug)]
pub(crate) struct SetAnnotations;

/// Path, index and field path of a place, to the annotations set there.
type Places = BTreeMap<(String, i64, String), BTreeMap<String, String>>;

impl Function for SetAnnotations {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = |list: &mut ResourceList, message: String| {
            report_failure(list, message.clone(), message)
        };
        let configured = Field::Annotations.configure(list.config(), SequenceIndent::Compact);
        let (annotations, mut specs) = match configured {
            Ok(wanted) => (wanted.pairs, wanted.specs),
            Err(message) => {
                return Err(fail(
                    list,
                    format!("failed to configure function: {message}"),
                ));
            }
        };
        specs.extend(default_specs());
        let checked = resmap::check_names(&list.items, Some(NUMBER));
        if let Err(message) = checked.and_then(|()| resmap::check_ids(&list.items)) {
            // A failed run leaves no items.
            list.items.clear();
            return Err(fail(list, format!("failed to run function: {message}")));
        }
        let mut places = Places::new();
        for at in 0..list.items.len() {
            clock.check()?;
            if let Err(message) = annotate(&mut list.items[at], &annotations, &specs, &mut places) {
                list.items.clear();
                let message =
                    format!("failed to run function: failed to run transformer: {message}");
                return Err(fail(list, message));
            }
        }
        list.results = places.into_iter().map(report).collect();
        if list.results.is_empty() {
            let message = "no annotations applied".to_owned();
            list.results.push(Report {
                message,
                ..Report::default()
            });
        }
        Ok(())
    }
}

pub(crate) fn default_specs() -> Vec<FieldSpec> {
    let template = "spec/template/metadata/annotations";
    let spec = |group: &str, version: &str, kind: &str, path: &str| {
        FieldSpec::new(group, version, kind, path, true)
    };
    vec![
        spec("", "", "", "metadata/annotations"),
        spec("", "v1", "ReplicationController", template),
        spec("", "", "Deployment", template),
        spec("", "", "ReplicaSet", template),
        spec("", "", "DaemonSet", template),
        spec("", "", "StatefulSet", template),
        spec("batch", "", "Job", template),
        spec(
            "batch",
            "",
            "CronJob",
            "spec/jobTemplate/metadata/annotations",
        ),
        spec(
            "batch",
            "",
            "CronJob",
            "spec/jobTemplate/spec/template/metadata/annotations",
        ),
    ]
}

fn annotate(
    item: &mut Node,
    annotations: &BTreeMap<String, String>,
    specs: &[FieldSpec],
    places: &mut Places,
) -> Result<(), String> {
    let either = |new: &str, old: &str| match item.annotation(new) {
        "" => item.annotation(old).to_owned(),
        value => value.to_owned(),
    };
    let file = either(PATH, LEGACY_PATH);
    let index: i64 = either(INDEX, LEGACY_INDEX).parse().unwrap_or(0);
    for (key, value) in annotations {
        for spec in specs {
            spec.apply(item, Create::Mapping, &mut |node, place| {
                let at = (file.clone(), index, place.to_owned());
                places
                    .entry(at)
                    .or_default()
                    .insert(key.clone(), value.clone());
                set(node, key, value)
            })?;
        }
    }
    Ok(())
}

/// Sets an entry as kyaml does: a style that was there stays, comments go.
pub(crate) fn set(node: &mut Node, key: &str, value: &str) -> Result<(), String> {
    if !node.is_mapping() {
        return Err("wrong node kind: expected MappingNode".into());
    }
    let mut new = field_text(value);
    match node.get_mut(key) {
        None => node.insert(key, new),
        Some(old) => {
            if let (Content::Scalar { style, .. }, Content::Scalar { style: of, .. }) =
                (&old.content, &mut new.content)
                && *style != ScalarStyle::Plain
            {
                *of = *style;
            }
            *old = new;
        }
    }
    Ok(())
}

fn report(
    ((file, index, field), annotations): ((String, i64, String), BTreeMap<String, String>),
) -> Report {
    let pair =
        |(key, value): (&String, &String)| format!("{}:{}", json::string(key), json::string(value));
    let pairs: Vec<String> = annotations.iter().map(pair).collect();
    Report {
        message: format!("set annotations: {{{}}}", pairs.join(",")),
        field: Some(field),
        file: Some((file, index)),
        ..Report::default()
    }
}
