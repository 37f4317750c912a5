use super::*;
use crate::function_config::plain::Tag;

const DEFAULTS: Defaults = Defaults {
    settings: SETTINGS,
    warm_up: true,
    max_retries: 2,
    retry_lost_calls: true,
};

const SETTINGS: Settings = Settings {
    ttl: Duration::from_secs(1800),
    max_waitlist_length: 2,
    max_pods: 1,
    max_queued: 1000,
    is_warm_up: false,
    min_pods: 0,
    revision: 0,
};

/// Settings of a listed function that says nothing about them.
const LISTED: Settings = Settings {
    is_warm_up: true,
    ..SETTINGS
};

fn unrevised(settings: Settings) -> Settings {
    Settings {
        revision: 0,
        ..settings
    }
}

fn read(text: &str) -> (Functions, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pod-cache-config.yaml");
    std::fs::write(&path, text).unwrap();
    let functions = Functions::new(&path, "example.com/", DEFAULTS);
    let new = functions.look();
    (functions, new)
}

#[test]
fn values_of_a_function_override_the_flags_and_nothing_falls_back() {
    let (functions, new) = read(
        "- name: set-labels:v1\n  timeToLive: 10m\n  maxWaitlistLength: 0\n  \
         maxParallelPodsPerFunction: 3\n  resources: { limits: { memory: 1Gi } }\n\
         - name: a/b:v1\n",
    );
    assert_eq!(new, ["example.com/set-labels:v1", "a/b:v1"]);
    let settings = functions.settings("example.com/set-labels:v1");
    let expected = Settings {
        ttl: Duration::from_secs(600),
        max_pods: 3,
        ..LISTED
    };
    assert_eq!(unrevised(settings), expected);
    let overrides = functions.overrides("example.com/set-labels:v1");
    assert_ne!(overrides, Overrides::default());
    assert_eq!(unrevised(functions.settings("a/b:v1")), LISTED);
    assert_eq!(functions.settings("unlisted"), SETTINGS);
}

#[test]
fn lost_calls_are_sent_again_unless_the_flag_or_the_function_says_otherwise() {
    let text = "- name: a/never:v1\n  retryLostCalls: false\n- name: a/b:v1\n\
                - name: a/always:v1\n  retryLostCalls: true\n";
    let (functions, _) = read(text);
    for (name, retries) in [("a/never:v1", 0), ("a/b:v1", 2), ("unlisted", 2)] {
        assert_eq!(functions.retries(name), retries, "{name}");
    }
    let defaults = Defaults {
        retry_lost_calls: false,
        ..DEFAULTS
    };
    let functions = Functions {
        defaults,
        ..functions
    };
    for (name, retries) in [("a/always:v1", 2), ("a/b:v1", 0), ("unlisted", 0)] {
        assert_eq!(functions.retries(name), retries, "{name}");
    }
}

#[test]
fn whatever_changes_for_a_function_changes_its_revision_and_no_others() {
    let (functions, _) = read("- name: a/b:v1\n- name: a/c:v1\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let functions = Functions { path, ..functions };
    let revisions = || ["a/b:v1", "a/c:v1"].map(|name| functions.settings(name).revision);
    let before = revisions();
    let changed = "- name: a/b:v1\n- name: a/c:v1\n  resources: { limits: { memory: 1Gi } }\n";
    for _ in 0..2 {
        std::fs::write(&functions.path, changed).unwrap();
        functions.look();
        assert_eq!(revisions()[0], before[0]);
        assert_eq!(revisions()[1], before[1] + 1);
    }
}

#[test]
fn the_older_form_maps_images_to_their_time_to_live() {
    let (functions, new) = read("a/b:v1: 45s\na/c:v1: 1h\n");
    assert_eq!(new, ["a/b:v1", "a/c:v1"]);
    assert_eq!(functions.settings("a/b:v1").ttl, Duration::from_secs(45));
}

#[test]
fn a_bad_version_changes_nothing_and_a_good_one_tells_what_is_new() {
    let (functions, _) = read("- name: a/b:v1\n  timeToLive: 45s\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let functions = Functions { path, ..functions };
    for bad in ["- name: a/b:v1\n  timeToLive: soon\n", "{{{", "- nam: x\n"] {
        std::fs::write(&functions.path, bad).unwrap();
        assert!(functions.look().is_empty());
        assert_eq!(functions.settings("a/b:v1").ttl, Duration::from_secs(45));
    }
    std::fs::write(&functions.path, "- name: a/b:v1\n- name: a/new:v1\n").unwrap();
    assert_eq!(functions.look(), ["a/new:v1"]);
    assert_eq!(unrevised(functions.settings("a/b:v1")), LISTED);
    std::fs::write(&functions.path, "").unwrap();
    assert!(functions.look().is_empty());
}

fn rule(tags: &[&str], min_pods: usize) -> PodRule {
    let tags: Vec<Tag> = tags.iter().map(|tag| Tag::new(tag)).collect();
    PodRule {
        repositories: vec!["a/fn".into(), "b/fn".into()],
        settings: PodSettings {
            ttl: Some(Duration::from_secs(7)),
            ..PodSettings::default()
        },
        warm_up: Some(("a/fn".into(), tags[0].clone())),
        min_pods,
        tags,
    }
}

#[test]
fn objects_count_for_images_that_the_file_does_not_list_and_for_their_tags() {
    let (functions, _) = read("- name: a/fn:v2.0.0\n  timeToLive: 45s\n");
    let rules = HashMap::from([("fn".to_owned(), rule(&["v1.0.0", "~2.0"], 0))]);
    assert!(!functions.knows_objects());
    functions.apply(&rules);
    assert!(functions.knows_objects());
    for (image, seconds, is_warm_up) in [
        ("a/fn:v2.0.0", 45, true),
        ("a/fn:v1.0.0", 7, true),
        ("b/fn:v1.0.0", 7, false),
        ("a/fn:v2.0.3", 7, false),
        ("a/fn:v3.0.0", 1800, false),
        ("c/fn:v1.0.0", 1800, false),
    ] {
        let settings = functions.settings(image);
        assert_eq!(settings.ttl, Duration::from_secs(seconds), "{image}");
        assert_eq!(settings.is_warm_up, is_warm_up, "{image}");
    }
    functions.apply(&HashMap::new());
    assert_eq!(functions.settings("a/fn:v1.0.0"), SETTINGS);
}

#[test]
fn an_object_that_appears_or_changes_is_news_once() {
    let (functions, _) = read("");
    let rules = |min_pods| HashMap::from([("fn".to_owned(), rule(&["v1.0.0"], min_pods))]);
    functions.apply(&rules(0));
    let news = functions.news();
    assert_eq!(
        (news.warm_up, news.is_changed),
        (vec!["a/fn:v1.0.0".into()], true)
    );
    functions.apply(&rules(0));
    let news = functions.news();
    assert!(news.warm_up.is_empty() && !news.is_changed);
    let before = functions.settings("a/fn:v1.0.0").revision;
    functions.apply(&rules(3));
    assert_eq!(functions.news().warm_up, ["a/fn:v1.0.0"]);
    let settings = functions.settings("a/fn:v1.0.0");
    assert_eq!((settings.min_pods, settings.max_pods), (3, 3));
    assert!(settings.revision > before);
    functions.apply(&HashMap::new());
    assert!(functions.news().is_changed);
}

#[test]
fn a_range_is_warmed_up_once_somebody_says_which_tag_it_is() {
    let (functions, _) = read("");
    let rules = |min_pods| HashMap::from([("fn".to_owned(), rule(&["~1.2"], min_pods))]);
    functions.apply(&rules(0));
    assert!(functions.news().warm_up.is_empty());
    let ranges = functions.ranges();
    assert_eq!(ranges[0].repository, "a/fn");
    functions.apply(&rules(1));
    functions.resolve(&ranges[0], "v1.2.0");
    assert!(
        functions.news().warm_up.is_empty(),
        "of an object that has changed"
    );
    functions.resolve(&functions.ranges()[0], "v1.2.7");
    assert_eq!(functions.news().warm_up, ["a/fn:v1.2.7"]);
    assert!(functions.ranges().is_empty());
    assert_eq!(functions.settings("a/fn:v1.2.7").min_pods, 1);
    assert_eq!(functions.settings("a/fn:v1.2.6").min_pods, 0);
}
