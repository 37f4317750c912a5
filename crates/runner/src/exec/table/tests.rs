use super::*;
use crate::exec::file;

pub(super) fn entry(function: &str, images: &[&str]) -> Executable {
    let images = images.iter().map(|image| (*image).to_owned()).collect();
    file::Entry::new(function, images).read("example.com/")
}

pub(super) fn built(entries: &[Executable], before: &Table) -> (Table, Vec<String>) {
    let (table, complaints) = build(entries, HashMap::new(), &places(), 5, before);
    (table, complaints.iter().map(ToString::to_string).collect())
}

pub(super) fn places() -> Places {
    Places {
        // A directory with executables that every machine has.
        functions: "/bin".into(),
        allowed: vec!["/usr/bin".into()],
        bundled: Some(Rules::default()),
    }
}

#[test]
fn images_are_found_by_exact_reference_after_prefix_resolution() {
    let entries = [
        entry("sh", &["a/sh:v1", "sh:v2"]),
        entry("cat", &["a/cat@sha256:0"]),
    ];
    let (table, complaints) = built(&entries, &Table::default());
    assert!(complaints.is_empty());
    assert_eq!(
        table.images().into_iter().collect::<Vec<_>>(),
        ["a/cat@sha256:0", "a/sh:v1", "example.com/sh:v2"]
    );
    assert_eq!(
        table.find("example.com/sh:v2").unwrap().program.name(),
        "/bin/sh"
    );
    assert!(table.find("a/sh").is_none());
}

#[test]
fn the_first_entry_of_an_image_wins() {
    let entries = [entry("sh", &["a/b"]), entry("cat", &["a/b", "a/c"])];
    let (table, complaints) = built(&entries, &Table::default());
    assert_eq!(table.find("a/b").unwrap().name, "sh");
    assert_eq!(table.find("a/c").unwrap().name, "cat");
    assert_eq!(
        complaints,
        ["image \"a/b\" is listed again for function \"cat\"; its first entry counts"]
    );
}

#[test]
fn bundled_releases_answer_what_the_file_does_not_name() {
    let taken = "gcr.io/kpt-fn/apply-setters:v0.2.0";
    let entries = [
        entry("sh", &[taken]),
        entry("apply-setters@v0.2.1", &["a/setters:v1"]),
    ];
    let (table, complaints) = built(&entries, &Table::default());
    assert_eq!(complaints, [""; 0]);
    for (image, program) in [
        (taken, "/bin/sh"),
        ("a/setters:v1", "bundled apply-setters@v0.2.1"),
        (
            "gcr.io/kpt-fn/apply-setters:v0.2.2",
            "bundled apply-setters@v0.2.2",
        ),
    ] {
        assert_eq!(table.find(image).unwrap().program.name(), program);
    }
    assert!(table.find("gcr.io/kpt-fn/apply-setters:v9.9.9").is_none());
}

#[test]
fn the_tags_of_a_repository_are_those_of_the_file_and_of_bundled_releases() {
    let setters = "gcr.io/kpt-fn/apply-setters";
    let digest = format!("{setters}:v7@sha256:{}", "0".repeat(64));
    let entries = [
        entry(
            "sh",
            &["h:5000/sh:v1", "h:5000/sh:v2", "h:5000/sh", "h:5000/sh2:v3"],
        ),
        entry("cat", &[&format!("{setters}:v9.0.0"), &digest]),
        entry("no-such-function", &["h:5000/sh:v4"]),
    ];
    let (table, _) = built(&entries, &Table::default());
    let sorted = |repository| {
        let mut tags = table.tags(repository);
        tags.sort_unstable();
        tags
    };
    assert_eq!(sorted("h:5000/sh"), ["v1", "v2"]);
    assert!(sorted("h").is_empty() && sorted("other/sh").is_empty());
    let tags = sorted(setters);
    assert!(
        tags.contains(&"v9.0.0") && tags.contains(&"v0.2.0"),
        "{tags:?}"
    );
    // Only on the registry of today.
    assert!(
        !tags.contains(&"v0.2.5") && !tags.contains(&"v7"),
        "{tags:?}"
    );
    for tag in tags {
        assert!(table.find(&format!("{setters}:{tag}")).is_some(), "{tag}");
    }
}

#[test]
fn what_cannot_be_run_is_disabled_and_told() {
    for (function, reason) in [
        ("../bin/sh", "its name must be that of a file"),
        ("/bin/sh", "its name must be that of a file"),
        ("", "its name must be that of a file"),
        ("no-such-function", "No such file or directory"),
        (".", "is not a file"),
    ] {
        let (table, complaints) = built(&[entry(function, &["a/b"])], &Table::default());
        assert!(table.images().is_empty(), "{function}");
        assert!(complaints[0].contains(reason), "{complaints:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::write(folder.path().join("text"), "x").unwrap();
    assert!(
        check(folder.path(), "folder")
            .unwrap_err()
            .ends_with("is not a file")
    );
    assert!(
        check(folder.path(), "text")
            .unwrap_err()
            .ends_with("(chmod +x)")
    );
}

#[test]
fn calls_under_way_stay_counted_when_the_file_changes() {
    let (before, _) = built(&[entry("sh", &["a/b"])], &Table::default());
    let _call = before.find("a/b").unwrap().places.try_acquire().unwrap();
    let (after, _) = built(&[entry("sh", &["a/b", "a/c"])], &before);
    assert_eq!(after.find("a/c").unwrap().places.available_permits(), 4);
}
