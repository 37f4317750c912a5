//! `set-project-id`: gives a Google Cloud project to a package: as a setter in
//! its Kptfiles, and as an annotation of Config Connector's objects.

use crate::{
    function::{Clock, Function, Stop},
    kptfile::{self, Types},
    list::{ResourceList, W2, W3_PLACES},
    object::{LEGACY_PATH, PATH},
    release::Release,
    results::field_text,
    yaml::Node,
};

const SETTER: &str = "project-id";
const ANNOTATION: &str = "cnrm.cloud.google.com/project-id";

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.2.1", W3_PLACES, &V0_2_1)
        .with_digests(&["sha256:bd4a262d125b48127fae24c97828f2414a1fb7547a98ced849eba18dcef51b58"]),
    Release::native("v0.2.0", W2, &V0_2_0),
    Release::native("v0.1.0", W2, &V0_1_0),
];

const V0_2_1: SetProjectId = SetProjectId {
    image: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
    types: Types::Kpt,
    path: PATH,
    lines_of_library: 0,
};
const V0_2_0: SetProjectId = SetProjectId {
    image: "gcr.io/kpt-fn/apply-setters:v0.2",
    types: Types::Sdk,
    path: LEGACY_PATH,
    lines_of_library: 1,
};
const V0_1_0: SetProjectId = SetProjectId {
    image: "gcr.io/kpt-fn/apply-setters:v0.1",
    ..V0_2_0
};

#[derive(Debug)]
struct SetProjectId {
    /// The function that a Kptfile without one gets.
    image: &'static str,
    /// The types that Kptfiles are read into.
    types: Types,
    /// The annotation that names an object's file.
    path: &'static str,
    /// Lines that the library adds to an object before it is read, and that are not
    /// in our lists: the object's number.
    lines_of_library: u32,
}

impl Function for SetProjectId {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let project = list
            .config
            .as_ref()
            .map_or("", |config| config.text_at(&["data", SETTER]))
            .to_owned();
        match set_setters(&mut list.items, &project, self, clock) {
            Err(Stop::Failed(error)) => {
                return Err(format!("failed to set project-id setter: {error}").into());
            }
            set => set?,
        }
        for item in &mut list.items {
            clock.check()?;
            let annotated = item.at(&["metadata", "annotations", ANNOTATION]).is_some();
            if is_config_connector(item.api_version()) && !annotated {
                let mut annotations = item.annotations();
                annotations.push((ANNOTATION.to_owned(), project.clone()));
                item.set_annotations(annotations);
            }
        }
        Ok(())
    }
}

/// `NAME.cnrm.cloud.google.com/VERSION`, except for the system's own objects.
fn is_config_connector(api_version: &str) -> bool {
    let word = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let Some((group, version)) = api_version.split_once('/') else {
        return false;
    };
    let name = group.strip_suffix(".cnrm.cloud.google.com").unwrap_or("");
    word(name) && word(version) && name != "core"
}

fn set_setters(
    items: &mut [Node],
    project: &str,
    with: &SetProjectId,
    clock: &Clock,
) -> Result<(), Stop> {
    let is_kptfile = |item: &&Node| item.kind() == "Kptfile";
    for kptfile in items.iter().filter(is_kptfile) {
        clock.check()?;
        with.types
            .check(kptfile, with.lines_of_library)
            .map_err(|error| format!("failed to find Kptfile: failed to read Kptfile: {error}"))?;
    }
    let kptfiles: Vec<Node> = items.iter().filter(is_kptfile).cloned().collect();
    if kptfiles.is_empty() {
        return Err("failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present".to_owned().into());
    }
    for kptfile in kptfiles {
        clock.check()?;
        set_setter(items, kptfile, project, with)
            .map_err(|error| format!("error updating Kptfile: {error}"))?;
    }
    Ok(())
}

fn set_setter(
    items: &mut [Node],
    mut kptfile: Node,
    project: &str,
    with: &SetProjectId,
) -> Result<(), String> {
    let mutators = kptfile
        .at(&["pipeline", "mutators"])
        .map_or(&[][..], Node::items);
    let is_apply = |function: &Node| function.text_at(&["image"]).contains("apply-setters");
    match mutators.iter().position(is_apply) {
        Some(at) => {
            let function = &mutators[at];
            let path = function.text_at(&["configPath"]).to_owned();
            if function.get("configMap").is_some_and(|map| !map.is_null()) {
                if function.text_at(&["configMap", SETTER]).is_empty() {
                    let mutators = kptfile
                        .at_mut(&["pipeline", "mutators"])
                        .and_then(Node::items_mut);
                    if let Some(function) = mutators.and_then(|mutators| mutators.get_mut(at)) {
                        let _ = function.set_text_at(&["configMap", SETTER], project);
                    }
                }
            } else if path.is_empty() {
                return Err("unable to find `ConfigMap` or `configPath` as the `functionConfig` for apply-setters".into());
            } else {
                return set_in_file(items, &path, project, with);
            }
        }
        None => add_function(&mut kptfile, project, with.image),
    }
    let path = kptfile.annotation(with.path).to_owned();
    if let Some(item) = items
        .iter_mut()
        .find(|item| item.annotation(with.path) == path)
    {
        *item = with.types.written(&kptfile);
    }
    Ok(())
}

fn set_in_file(
    items: &mut [Node],
    path: &str,
    project: &str,
    with: &SetProjectId,
) -> Result<(), String> {
    let file = items
        .iter_mut()
        .find(|item| item.annotation(with.path) == path);
    let Some(file) = file else {
        return Err(format!(
            "failed to find setter file: {}",
            kptfile::missing_file(path)
        ));
    };
    if !file.text_at(&["data", SETTER]).is_empty() {
        return Ok(());
    }
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let mut data: Vec<(String, String)> = file.data().into_iter().map(owned).collect();
    data.retain(|(key, _)| key != SETTER);
    data.push((SETTER.to_owned(), project.to_owned()));
    data.sort();
    file.remove("data");
    let fields = data
        .iter()
        .map(|(key, value)| (Node::text(key.as_str()), field_text(value)));
    file.insert("data", Node::mapping(fields.collect()));
    Ok(())
}

fn add_function(kptfile: &mut Node, project: &str, image: &str) {
    let mut values = Node::mapping(Vec::new());
    values.insert(SETTER, field_text(project));
    let mut function = Node::mapping(Vec::new());
    function.insert("image", Node::text(image));
    function.insert("configMap", values);
    if !kptfile.get("pipeline").is_some_and(Node::is_mapping) {
        kptfile.remove("pipeline");
        kptfile.insert("pipeline", Node::mapping(Vec::new()));
    }
    let Some(pipeline) = kptfile.get_mut("pipeline") else {
        return;
    };
    match pipeline.get_mut("mutators").and_then(Node::items_mut) {
        Some(mutators) => mutators.push(function),
        None => {
            pipeline.remove("mutators");
            pipeline.insert("mutators", Node::sequence(vec![function]));
        }
    }
}
