//! `upsert-resource`: adds the object that the configuration is, or replaces the
//! one it names.

use crate::{
    function::{Clock, Function, Stop},
    list::{ResourceList, W3},
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH},
    release::Release,
    yaml::Node,
};

pub(crate) const RELEASES: &[Release] = &[
    Release::unknown("v0.2.4").of_2026(),
    Release::unknown("v0.2.1")
        .with_digests(&["sha256:e7c19a7dbfb391506ccb021d6b6dc35152c019eed962e16f98831850600ccf40"]),
    Release::unknown("v0.2.0"),
    Release::unknown("v0.1.0"),
    Release::native("head", W3, &UpsertResource),
];

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
        let own: Vec<(String, String)> = object
            .annotations()
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
            item.set_annotations(kept);
            replaced = true;
        }
        if !replaced {
            let mut added = object;
            let own = own.into_iter().filter(|(name, _)| {
                ![PATH, INDEX, LEGACY_PATH, LEGACY_INDEX].contains(&name.as_str())
            });
            added.set_annotations(own.collect());
            list.items.push(added);
        }
        Ok(())
    }
}

fn is_same(a: &Node, b: &Node) -> bool {
    // The Go function compares the group with itself: it does not count.
    a.kind() == b.kind() && a.name() == b.name() && a.namespace() == b.namespace()
}
