//! `upsert-resource`: adds the objects that the configuration is or lists, or
//! replaces those that it names.

use crate::{
    function::{Clock, Function, Stop},
    list::{ResourceList, W1, W3_2026, W3_PLACES},
    object::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH},
    release::Release,
    yaml::Node,
};

pub(crate) const RELEASES: &[Release] = &[
    Release::native("v0.2.4", W3_2026, &V0_2_1).of_2026(),
    Release::native("v0.2.1", W3_PLACES, &V0_2_1)
        .with_digests(&["sha256:e7c19a7dbfb391506ccb021d6b6dc35152c019eed962e16f98831850600ccf40"]),
    Release::native("v0.2.0", W1, &V0_2_0),
    Release::native("v0.1.0", W1, &V0_1_0),
];

/// Places are known by both spellings of their annotations.
const V0_2_1: UpsertResource = UpsertResource {
    knows_lists_and_targets: true,
    place: [PATH, INDEX],
};
const V0_2_0: UpsertResource = UpsertResource {
    place: [LEGACY_PATH, LEGACY_INDEX],
    ..V0_2_1
};
/// One object, by kind, name and namespace: the group does not count.
const V0_1_0: UpsertResource = UpsertResource {
    knows_lists_and_targets: false,
    ..V0_2_0
};

#[derive(Debug)]
struct UpsertResource {
    knows_lists_and_targets: bool,
    /// The annotations that say where an object is written to.
    place: [&'static str; 2],
}

const FUNCTION: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];
const TARGET: &str = "config.kubernetes.io/target-path";

impl Function for UpsertResource {
    fn run(&self, list: &mut ResourceList, clock: &Clock) -> Result<(), Stop> {
        let fail = || Stop::Failed("failed to upsert resource: missing Resource metadata".into());
        let Some(config) = list.config.clone().filter(Node::is_mapping) else {
            return Err(Stop::Panicked("there is no functionConfig".into()));
        };
        if !has_metadata(&config) {
            return Err(fail());
        }
        let objects = match config.kind() {
            "List" if self.knows_lists_and_targets => {
                let items = config.get("items");
                if items.is_some_and(|items| !items.fields().is_empty()) {
                    return Err(fail());
                }
                items.map_or(&[][..], Node::items).to_vec()
            }
            _ => vec![config],
        };
        let mut has_null = false;
        for object in objects {
            clock.check()?;
            // To Go a null is an object like others, and all nulls are the same one.
            if object.is_null() {
                if !std::mem::replace(&mut has_null, true) {
                    list.items.push(object);
                }
                continue;
            }
            if !has_metadata(&object) {
                return Err(fail());
            }
            let is_odd = |metadata: &Node| !metadata.is_mapping() && !metadata.is_null();
            if object.get("metadata").is_some_and(is_odd) {
                // In the place of another one, Go notices only when it writes the list, and cannot.
                let is_in_place = list.items.iter().any(|item| self.replaces(&object, item));
                let stop = if is_in_place {
                    Stop::Refused
                } else {
                    Stop::Failed
                };
                return Err(stop("wrong node kind: expected MappingNode".into()));
            }
            self.upsert(&mut list.items, object, clock)?;
        }
        Ok(())
    }
}

/// The file that a new object is put into: whatever is written there, `null` too.
fn target(object: &Node) -> &str {
    let target = object.at(&["metadata", "annotations", TARGET]);
    target.and_then(Node::value).unwrap_or("")
}

fn has_metadata(object: &Node) -> bool {
    let fields = ["apiVersion", "kind", "metadata"];
    let says_something = |node: &Node| {
        node.value().is_some_and(|_| !node.is_null())
            || !node.fields().is_empty()
            || !node.items().is_empty()
    };
    fields
        .iter()
        .any(|field| object.get(field).is_some_and(says_something))
}

impl UpsertResource {
    fn upsert(&self, items: &mut Vec<Node>, object: Node, clock: &Clock) -> Result<(), Stop> {
        let [path, index] = self.place;
        let is_kept = |name: &str| {
            !FUNCTION.contains(&name) && (name != TARGET || !self.knows_lists_and_targets)
        };
        let own: Vec<(String, String)> = object
            .annotations()
            .into_iter()
            .filter(|(name, _)| is_kept(name) && name != path && name != index)
            .collect();
        let mut replaced = false;
        for item in items.iter_mut() {
            clock.check()?;
            if !self.replaces(&object, item) {
                continue;
            }
            let mut kept = own.clone();
            // Where the object is written to is the replaced one's.
            for name in self.place {
                kept.push((name.to_owned(), item.annotation(name).to_owned()));
            }
            *item = object.clone();
            item.set_annotations(kept);
            replaced = true;
        }
        if !replaced {
            let mut added = object;
            let target = if self.knows_lists_and_targets {
                target(&added).to_owned()
            } else {
                String::new()
            };
            let mut own = own;
            if !target.is_empty() {
                own.push((path.to_owned(), target));
            }
            added.set_annotations(own);
            items.push(added);
        }
        Ok(())
    }

    /// Whether the object goes into the place of this item.
    fn replaces(&self, object: &Node, item: &Node) -> bool {
        let is_set = |name: &&str| !item.annotation(name).is_empty();
        let is_config = FUNCTION.iter().any(is_set);
        !is_config && self.is_same(object, item)
    }

    fn is_same(&self, object: &Node, item: &Node) -> bool {
        // Also a number is a kind, and a name.
        let is_same = |path: &[&str]| {
            let [own, other] = [object, item].map(|it| it.at(path).map_or("", Node::text_or_null));
            own == other
        };
        let same = is_same(&["kind"])
            && is_same(&["metadata", "name"])
            && is_same(&["metadata", "namespace"]);
        if !self.knows_lists_and_targets {
            return same;
        }
        // Here a null does not count as a target.
        let target = object.annotation(TARGET);
        same && object.group_version().0 == item.group_version().0
            && (target.is_empty() || target == item.annotation(self.place[0]))
    }
}
