use super::*;
use crate::policy::file;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn policy(text: &str) -> Policy {
    file::parse(text, |_| panic!("no files")).unwrap()
}

/// The rule that allows, or the complaint.
fn decided(policy: &Policy, image: &str, runtime: Runtime) -> String {
    let image: Reference = image.parse().unwrap();
    let subject = Subject {
        image: &image,
        digest: image.digest(),
        runtime,
    };
    match policy.decide(&subject) {
        Decision::Allow { rule, .. } => format!("allowed by {}", rule.unwrap_or("bundled")),
        Decision::Deny(denial) => denial.to_string(),
    }
}

#[test]
fn the_first_rule_that_matches_counts_and_what_none_matches_is_denied() {
    let policy = policy(
        "rules:\n\
         - {name: debug, deny: ['a.io/team/*-debug', 'a.io/**:*-rc*']}\n\
         - {name: team, allow: ['a.io/team/**']}\n\
         - {name: rest, deny: ['a.io/**']}\n\
         - {name: late, allow: ['a.io/other']}\n",
    );
    for (image, words) in [
        ("a.io/team/fn:v1", "allowed by team"),
        ("a.io/team/fn-debug:v1", "rule \"debug\""),
        ("a.io/team/fn:v1-rc1", "rule \"debug\""),
        ("a.io/other:v1", "rule \"rest\""),
        ("b.io/team/fn:v1", "no rule of the image policy allows it"),
    ] {
        let told = decided(&policy, image, Runtime::Pod);
        assert!(told.contains(words), "{image}: {told}");
    }
}

#[test]
fn a_digest_can_be_required_and_the_refusal_says_what_to_ask_for() {
    let policy = policy("rules: [{name: pinned, allow: ['a.io/**'], requireDigest: true}]");
    let told = decided(&policy, "a.io/fn:v1", Runtime::Pod);
    assert!(
        told.contains("rule \"pinned\"") && told.ends_with("ask for a.io/fn@sha256:…"),
        "{told}"
    );
    let pinned = format!("a.io/fn:v1@{DIGEST}");
    assert_eq!(decided(&policy, &pinned, Runtime::Pod), "allowed by pinned");
    let (image, digest) = ("a.io/fn:v1".parse().unwrap(), DIGEST.parse().unwrap());
    let known = policy.decide(&Subject {
        image: &image,
        digest: Some(&digest),
        runtime: Runtime::Pod,
    });
    let Decision::Deny(denial) = known else {
        panic!("{known:?}")
    };
    let told = denial.to_string();
    assert!(
        told.contains(&format!("ask for a.io/fn@{DIGEST}")),
        "{told}"
    );
}

#[test]
fn runtimes_are_chosen_by_rule_and_bundled_functions_have_their_own() {
    let rules = "rules: [{name: pods, allow: ['a.io/**'], runtimes: [pod]}]";
    let open = policy(rules);
    assert_eq!(
        decided(&open, "a.io/fn:v1", Runtime::Pod),
        "allowed by pods"
    );
    let told = decided(&open, "a.io/fn:v1", Runtime::Exec);
    assert!(
        told.ends_with("not allow it in the exec runtime, only in pod"),
        "{told}"
    );
    assert_eq!(
        decided(&open, "b.io/fn:v1", Runtime::Bundled),
        "allowed by bundled"
    );
    let closed = policy(&format!("bundled: deny\n{rules}"));
    let told = decided(&closed, "a.io/fn:v1", Runtime::Bundled);
    assert!(told.contains("bundled: deny"), "{told}");
}

#[test]
fn a_registry_is_asked_only_about_repositories_that_could_be_allowed() {
    let policy = policy(
        "rules:\n\
         - {name: tag, deny: ['a.io/x:old']}\n\
         - {name: whole, deny: ['a.io/secret']}\n\
         - {name: some, allow: ['a.io/*:v1']}\n",
    );
    for (image, expected) in [
        ("a.io/x:old", true),
        ("a.io/x:v2", true),
        ("a.io/secret:v1", false),
        ("10.0.0.1:80/x:v1", false),
    ] {
        let image = image.parse().unwrap();
        assert_eq!(policy.has_a_chance(&image).is_ok(), expected, "{image}");
    }
}
