//! Generated constraints, good and bad, mean to us what they mean to Masterminds' semver.

use interop::semver_answers;
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestRng, TestRunner},
};
use versions::{Constraint, Version};

/// 50,000 found no difference either; a debug build needs its time.
const CASES: usize = 5_000;

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..4u32).prop_map(|number| number.to_string()),
        2 => Just("x".to_owned()),
        1 => Just("*".to_owned()),
        1 => "[0-9xX*|]{1,3}",
    ]
}

fn version_like() -> impl Strategy<Value = String> {
    let numbers = prop::collection::vec(number(), 1..=3).prop_map(|numbers| numbers.join("."));
    let words = prop_oneof![
        6 => Just(String::new()),
        1 => "-(0|1|10|a|b|rc)(\\.(0|1|a))?",
        1 => "[-+][0-9a-z.-]{0,4}",
    ];
    let prefix = prop_oneof![4 => Just(""), 1 => Just("v")];
    (prefix, numbers, words)
        .prop_map(|(prefix, numbers, words)| format!("{prefix}{numbers}{words}"))
}

fn constraint() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec![
        "", "", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", "== ", "> ", ">= ",
    ]);
    let part =
        (operator, version_like()).prop_map(|(operator, version)| operator.to_owned() + &version);
    let range = (version_like(), version_like()).prop_map(|(low, high)| format!("{low} - {high}"));
    let part = prop_oneof![5 => part, 1 => range];
    let joint = prop::sample::select(vec![" ", ",", ", ", " || ", "||", " , ", "  ", ""]);
    prop::collection::vec((part, joint), 1..4).prop_map(|parts| {
        let last = parts.len() - 1;
        let parts = parts.into_iter().enumerate();
        parts.fold(String::new(), |text, (index, (part, joint))| {
            text + &part + if index < last { joint } else { "" }
        })
    })
}

#[test]
fn generated_constraints_mean_the_same_in_go() {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(Config::default().rng_algorithm),
    );
    let mut generate = |strategy: &BoxedStrategy<String>| {
        let tree = strategy.new_tree(&mut runner).expect("nothing is rejected");
        tree.current()
    };
    let (constraints, versions) = (constraint().boxed(), version_like().boxed());
    let cases: Vec<(String, Vec<String>)> = (0..CASES)
        .map(|_| {
            let versions = (0..10).map(|_| generate(&versions)).collect();
            (generate(&constraints), versions)
        })
        .collect();
    let lines: String = cases
        .iter()
        .map(|(constraint, versions)| format!("{constraint}\t{}\n", versions.join(" ")))
        .collect();
    let answers = semver_answers(&lines);
    assert_eq!(answers.len(), CASES);
    let good = answers.iter().filter(|answer| *answer != "invalid").count();
    assert!(good > CASES / 4, "only {good} of {CASES} are constraints");
    for ((constraint, versions), expected) in cases.iter().zip(&answers) {
        assert_eq!(
            &answer(constraint, versions),
            expected,
            "{constraint:?} {versions:?}"
        );
    }
}

fn answer(text: &str, versions: &[String]) -> String {
    let Ok(constraint) = text.parse::<Constraint>() else {
        return "invalid".to_owned();
    };
    let letter = |text: &String| match text.parse::<Version>() {
        Err(_) => 'v',
        Ok(version) if constraint.check(&version).is_ok() => '1',
        Ok(_) => '0',
    };
    versions.iter().map(letter).collect()
}
