use serde_json::{Value, json};

use super::*;

const PREFIX: &str = "example.com/catalog/";

fn object(name: &str, created: i64, spec: Value) -> FunctionConfig {
    let created = Timestamp::from_second(created).unwrap();
    let metadata = json!({ "name": name, "creationTimestamp": created.to_string() });
    let mut object = json!({ "metadata": metadata });
    object["spec"] = spec;
    serde_json::from_value(object).unwrap()
}

fn chosen(objects: &[FunctionConfig]) -> Chosen {
    choose(objects, PREFIX)
}

fn images(chosen: &Chosen) -> Vec<&str> {
    let images = chosen.executables.iter().flat_map(|entry| &entry.images);
    images.map(String::as_str).collect()
}

#[test]
fn an_object_becomes_the_values_that_files_become() {
    let spec = json!({
        "image": "set-namespace", "prefixes": ["", "a/b", "c/d/"],
        "binaryExecutor": { "tags": ["v0.4.2"], "path": "bin/set-namespace" },
        "goExecutor": { "tags": ["v0.4"], "id": "set-ns" },
        "podExecutor": { "tags": ["v0.4.1"], "timeToLive": "10m", "maxParallelExecutions": 3,
                         "preferredMaxQueueLength": 0 },
    });
    let chosen = chosen(&[object("a", 1, spec)]);
    assert_eq!(chosen.complaints, BTreeMap::new());
    assert_eq!(
        chosen.executables[0],
        Executable {
            origin: Origin::Object("a".into()),
            wanted: Wanted::File {
                path: "bin/set-namespace".into(),
                otherwise: Bundled::Tagged {
                    name: "set-namespace".into(),
                    tag: "v0.4.2".into()
                },
            },
            images: ["example.com/catalog", "a/b", "c/d"]
                .map(|prefix| format!("{prefix}/set-namespace:v0.4.2"))
                .into(),
            profile: process::Profile::default(),
        }
    );
    let Wanted::Bundled(Bundled::Tagged { name, tag }) = &chosen.executables[1].wanted else {
        panic!("{:?}", chosen.executables[1]);
    };
    assert_eq!((name.as_str(), tag.as_str()), ("set-ns", "v0.4"));
    let rule = &chosen.pods["set-namespace"];
    assert_eq!(rule.settings.ttl, Some(Duration::from_secs(600)));
    assert_eq!(rule.settings.max_pods, Some(3));
    assert_eq!(rule.settings.max_waitlist_length, None, "0 is the flag");
    let (repository, tag) = rule.warm_up.as_ref().unwrap();
    assert_eq!(repository, "example.com/catalog/set-namespace");
    assert_eq!(tag.text, "v0.4.1");
}

#[test]
fn of_two_objects_for_an_image_the_older_counts_and_the_other_is_told() {
    let spec = |tag: &str| {
        json!({ "image": "fn", "prefixes": ["a"],
                "binaryExecutor": { "tags": [tag], "path": "fn" } })
    };
    let (old, new) = (object("z", 1, spec("v1")), object("a", 2, spec("v2")));
    for objects in [[old.clone(), new.clone()], [new.clone(), old.clone()]] {
        let chosen = chosen(&objects);
        assert_eq!(images(&chosen), ["a/fn:v1"]);
        let told = &chosen.complaints["a"][0];
        assert!(told.contains("\"z\" is older"), "{told}");
        assert!(!chosen.complaints.contains_key("z"));
    }
    // Created in the same second: by name.
    let chosen = chosen(&[object("z", 2, spec("v1")), new]);
    assert_eq!(images(&chosen), ["a/fn:v2"]);
}

#[test]
fn an_object_that_is_being_deleted_makes_room_for_the_next() {
    let spec = |tag: &str| {
        json!({ "image": "fn", "prefixes": ["a"],
                "binaryExecutor": { "tags": [tag], "path": "fn" } })
    };
    let mut old = object("old", 1, spec("v1"));
    old.metadata.deletion_timestamp = old.metadata.creation_timestamp.clone();
    let chosen = chosen(&[old, object("new", 2, spec("v2"))]);
    assert_eq!(images(&chosen), ["a/fn:v2"]);
    assert!(chosen.complaints.is_empty());
}

#[test]
fn what_is_wrong_with_an_object_is_told_and_the_others_count() {
    let good = object(
        "good",
        9,
        json!({ "image": "fn", "prefixes": ["a"],
                                         "binaryExecutor": { "tags": ["v1"], "path": "fn" } }),
    );
    for (spec, words) in [
        (
            json!({ "prefixes": ["a"] }),
            "its spec is not understood: missing field `image`",
        ),
        (json!({ "image": 3 }), "its spec is not understood"),
        (
            json!({ "image": "a/b", "prefixes": ["a"], "goExecutor": {} }),
            "last element",
        ),
        (
            json!({ "image": "x", "goExecutor": { "tags": ["v1"] } }),
            "no prefixes",
        ),
        (
            json!({ "image": "x", "prefixes": ["a"] }),
            "none of podExecutor",
        ),
        (
            json!({ "image": "x", "prefixes": ["a"], "podExecutor": { "timeToLive": "soon" } }),
            "its timeToLive \"soon\" is not",
        ),
    ] {
        let chosen = chosen(&[object("bad", 1, spec), good.clone()]);
        let told = &chosen.complaints["bad"][0];
        assert!(told.contains(words), "{told}");
        assert_eq!(images(&chosen), ["a/fn:v1"]);
    }
    let mut object = object(
        "x",
        1,
        json!({ "image": "x", "prefixes": ["a"], "podExecutor": {} }),
    );
    for (text, pods, complaints) in [("2", 2, 0), ("0", 0, 0), ("-1", 0, 1), ("many", 0, 1)] {
        object.metadata.annotations = Some([(MIN_PODS.into(), text.into())].into());
        let chosen = chosen(std::slice::from_ref(&object));
        assert_eq!(chosen.pods["x"].min_pods, pods, "{text}");
        assert_eq!(chosen.complaints.len(), complaints, "{text}");
    }
}

mod property {
    use proptest::prelude::*;

    use super::*;
    use crate::{exec::table_for_tests, function_config::plain::Split};

    /// A function as it may be configured by a file's entry, by an object, by both or not
    /// at all.
    #[derive(Debug, Clone)]
    struct Case {
        name: &'static str,
        in_file: bool,
        binary: Vec<&'static str>,
        pod: Vec<&'static str>,
    }

    const TAGS: &[&str] = &["v0.1.5", "v0.2.0", "v9.9.9", "latest"];
    const NAMES: &[&str] = &["set-labels", "set-image", "own"];

    fn tags() -> impl Strategy<Value = Vec<&'static str>> {
        proptest::sample::subsequence(TAGS, 0..=TAGS.len())
    }

    fn cases() -> impl Strategy<Value = Vec<Case>> {
        let case = (0..NAMES.len(), any::<bool>(), tags(), tags());
        let case = case.prop_map(|(name, in_file, binary, pod)| Case {
            name: NAMES[name],
            in_file,
            binary,
            pod,
        });
        proptest::collection::vec(case, 0..5)
    }

    fn objects(cases: &[Case]) -> Vec<FunctionConfig> {
        let object = |(number, case): (usize, &Case)| {
            let spec = json!({
                "image": case.name, "prefixes": ["", "a"],
                "binaryExecutor": { "tags": case.binary, "path": "cat" },
                "podExecutor": { "tags": case.pod },
            });
            object(&format!("o{number}"), i64::try_from(number).unwrap(), spec)
        };
        cases.iter().enumerate().map(object).collect()
    }

    proptest! {
        /// The file first, then the first object of the image, then bundled functions.
        #[test]
        fn whatever_is_configured_the_order_is_file_object_bundled(
            cases in cases(), image in 0..NAMES.len(), tag in 0..TAGS.len(), own_prefix: bool,
        ) {
            let (name, tag) = (NAMES[image], TAGS[tag]);
            let prefix = if own_prefix { "a/" } else { PREFIX };
            let wanted = format!("{prefix}{name}:{tag}");
            let files: Vec<(String, Vec<String>)> = (cases.iter())
                .filter(|case| case.in_file)
                .map(|case| ("sh".to_owned(), vec![format!("a/{}:v0.1.5", case.name)]))
                .collect();
            let chosen = chosen(&objects(&cases));
            let found = table_for_tests(&files, &chosen, &wanted);
            let first = cases.iter().find(|case| case.name == name);
            let in_file = files.iter().any(|(_, images)| images.contains(&wanted));
            let expected = match first {
                _ if in_file => Some("/bin/sh"),
                Some(case) if case.binary.contains(&tag) => Some("/bin/cat"),
                // Neither prefix is the catalog's.
                _ => None,
            };
            prop_assert_eq!(found.as_deref(), expected);
            let is_ruled = chosen.pods.get(name)
                .is_some_and(|rule| rule.is_about(&Split::of(&wanted)));
            // Among these tags none is a constraint that another satisfies.
            prop_assert_eq!(is_ruled, first.is_some_and(|case| case.pod.contains(&tag)));
            let ignored = cases.iter().enumerate()
                .filter(|(n, case)| cases[..*n].iter().any(|before| before.name == case.name));
            prop_assert_eq!(chosen.complaints.len(), ignored.count());
        }
    }
}
