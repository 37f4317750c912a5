//! Entries of the table that come from objects, beside the file and the bundled functions.

use super::{
    tests::{built, entry, places},
    *,
};
use crate::function_config::plain::Tag;

fn object(wanted: Wanted, tag: &str) -> Executable {
    Executable {
        origin: Origin::Object("own".into()),
        wanted,
        images: vec![format!("a/set-labels:{tag}")],
        profile: process::Profile::default(),
    }
}

fn tagged(tag: &str) -> Bundled {
    let (name, tag) = ("set-labels".into(), tag.to_owned());
    Bundled::Tagged { name, tag }
}

fn file(path: &str, tag: &str) -> Executable {
    let (path, otherwise) = (path.to_owned(), tagged(tag));
    object(Wanted::File { path, otherwise }, tag)
}

#[test]
fn an_object_runs_a_file_else_the_bundled_function_of_its_name_and_tag() {
    let entries = [
        file("sh", "v9.0.0"),
        file("no-such-file", "v0.2.0"),
        object(Wanted::Bundled(tagged("v0.1.5")), "v0.1.5"),
        // Only Porch's server has that one.
        object(Wanted::Bundled(tagged("v7.7.7")), "v7.7.7"),
    ];
    let (table, complaints) = built(&entries, &Table::default());
    assert_eq!(complaints, [""; 0]);
    for (tag, program) in [
        ("v9.0.0", "/bin/sh"),
        ("v0.2.0", "bundled set-labels@v0.2.0"),
        ("v0.1.5", "bundled set-labels@v0.1.5"),
    ] {
        let function = table.find(&format!("a/set-labels:{tag}")).unwrap();
        assert_eq!(function.program.name(), program);
    }
    assert!(table.find("a/set-labels:v7.7.7").is_none());
    let (_, complaints) = built(&[file("no-such-file", "v7.7.7")], &Table::default());
    assert!(complaints[0].contains("No such file"), "{complaints:?}");
}

#[test]
fn absolute_paths_of_objects_run_only_below_the_allowed_directories() {
    for (path, is_allowed) in [
        ("/bin/sh", true),
        ("/usr/bin/env", true),
        ("/usr/sbin/../bin/env", false),
        ("/bin/../bin/sh", false),
        ("/etc/passwd", false),
        ("/", false),
        ("/bin", false),
        ("/binary/sh", false),
        ("../bin/sh", false),
    ] {
        let (table, complaints) = built(&[file(path, "v7.7.7")], &Table::default());
        assert_eq!(table.images().len(), usize::from(is_allowed), "{path}");
        assert_eq!(complaints.is_empty(), is_allowed, "{path} {complaints:?}");
    }
}

#[test]
fn files_count_before_objects_and_those_before_bundled_functions() {
    let image = "gcr.io/kpt-fn/set-labels:v0.1.5";
    let at = |mut entry: Executable| {
        entry.images = vec![image.into()];
        entry
    };
    let from_file = entry("cat", &[image]);
    let (table, complaints) = built(&[from_file, at(file("sh", "v0.1.5"))], &Table::default());
    assert_eq!(table.find(image).unwrap().program.name(), "/bin/cat");
    assert!(
        complaints[0].contains("--config, which counts"),
        "{complaints:?}"
    );
    let twice = [
        at(file("sh", "v0.1.5")),
        at(object(Wanted::Bundled(tagged("v0.1.5")), "")),
    ];
    let (table, complaints) = built(&twice, &Table::default());
    assert_eq!(table.find(image).unwrap().program.name(), "/bin/sh");
    assert_eq!(complaints, [""; 0], "both are the same object's");
    let (table, _) = built(&[], &Table::default());
    assert!(
        table
            .find(image)
            .unwrap()
            .program
            .name()
            .starts_with("bundled")
    );
}

#[test]
fn what_an_object_wants_in_a_pod_is_not_answered_by_a_bundled_function() {
    let rule = PodRule {
        repositories: vec!["gcr.io/kpt-fn/set-labels".into()],
        tags: vec![Tag::new("v0.1.5")],
        settings: Default::default(),
        warm_up: None,
        min_pods: 0,
    };
    let pods = HashMap::from([("set-labels".to_owned(), rule)]);
    let (table, _) = build([], pods, &places(), 5, &Table::default());
    assert!(table.find("gcr.io/kpt-fn/set-labels:v0.1.5").is_none());
    assert!(table.find("gcr.io/kpt-fn/set-labels:v0.2.0").is_some());
    let current = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.1.5";
    assert!(table.find(current).is_some(), "another prefix");
}
