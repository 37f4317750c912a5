//! A line with a constraint, then tags: every tag is chosen or passed for a reason, the best first.
#![no_main]

use versions::{Constraint, Version};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (constraint, tags) = text
        .split_once('\n')
        .unwrap_or((text, "v0.4.1 1.0.0-rc1 latest"));
    let Ok(constraint) = constraint.parse::<Constraint>() else {
        return;
    };
    let tags: Vec<&str> = tags.split_whitespace().collect();
    let choice = constraint.choose(tags.iter().copied());
    assert_eq!(choice.matching.len() + choice.passed.len(), tags.len());
    let version = |tag: &String| tag.parse::<Version>().expect("only versions match");
    let versions: Vec<Version> = choice.matching.iter().map(version).collect();
    assert!(
        versions
            .iter()
            .all(|version| constraint.check(version).is_ok())
    );
    assert!(versions.is_sorted_by(|one, other| one >= other));
    assert!(
        choice
            .passed
            .iter()
            .all(|passed| !passed.why.to_string().is_empty())
    );
    // Order and spelling are all there is to it: the best stays the best on its own.
    if let Some(best) = choice.matching.first() {
        assert_eq!(constraint.choose([best.as_str()]).matching, [best.as_str()]);
    }
});
