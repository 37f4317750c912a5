use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::{Clock, Stop};

fn places(groups: Option<Vec<Option<&str>>>) -> Option<Vec<Option<String>>> {
    let owned = |group: Option<&str>| group.map(str::to_owned);
    groups.map(|groups| groups.into_iter().map(owned).collect())
}

/// The expression matches the text the same way with and without a look at the clock.
fn is_walked_as_it_is_searched(pattern: &str, text: &str) {
    let expression = make(pattern).expect(pattern);
    let fast = places(expression.groups(text));
    let slots = expression.walk(text, true);
    let all = expression.regex.find(text);
    let walked_all = slots.as_ref().map(|slots| [slots[0], slots[1]]);
    let all = all.map(|all| [Some(all.start()), Some(all.end())]);
    assert_eq!(walked_all, all, "{pattern} {text:?}");
    let walked = slots.map(|slots| {
        let groups = slots[2..].chunks(2);
        let part = |slots: &[Option<usize>]| Some(text[slots[0]?..slots[1]?].to_owned());
        groups.map(part).collect::<Vec<_>>()
    });
    assert_eq!(walked, fast, "{pattern} {text:?}");
    let is_match = expression.walk(text, false).is_some();
    assert_eq!(is_match, fast.is_some(), "{pattern} {text:?}");
    assert_eq!(expression.is_match(text), is_match, "{pattern} {text:?}");
}

#[test]
fn long_texts_are_matched_as_short_ones_are() {
    for pattern in [
        "(a|ab)(c|bcd)(d*)",
        "(a+?)(a*)",
        "^(.*)-(v[0-9]+)$",
        "(?m)^(b)$",
        "\\B",
        "\\b(\\w*)",
        "((a)|b)*",
        "x*",
        "(?:(é)|.)é$",
        "",
    ] {
        for text in ["", "abcd", "aaa", "a-v1-v2", "a\nb\nc", "aé", "éé", "bab"] {
            is_walked_as_it_is_searched(pattern, text);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_matched_the_same_either_way(
        pattern in "(\\^)?(([ab.é]|\\(a\\|b\\)|\\[ab\\]|\\\\b|\\(a\\*b\\?\\))[*+?]?){0,6}\\$?",
        text in "[abé\n]{0,9}",
    ) {
        is_walked_as_it_is_searched(&pattern, &text);
    }
}

#[test]
fn words_and_digits_are_those_of_ascii() {
    assert!(!make("^\\w$").expect("valid").is_match("é"));
    assert!(make("^\\W$").expect("valid").is_match("é"));
    assert!(!make("\\d").expect("valid").is_match("٣"));
}

/// Expressions that are small and want to be large, or take long.
const HOSTILE: &[&str] = &[
    "\\pL{200}",
    ".{1000}",
    "(?i)[!-\\x{10ffff}]",
    "(?i)\\pL\\pL\\pL",
    "(?i)\\p{Any}",
    "(((a{10}){10}){10}){10}",
];

/// A few milliseconds in the optimised program; this one is not, and shares its machine.
const SOON: Duration = Duration::from_millis(500);

/// Found by fuzzing: Go looks for the end of a class's name behind its beginning.
#[test]
fn a_bracket_and_a_colon_begin_no_name_if_nothing_ends_it() {
    let expression = compile("^[[:]$").unwrap();
    for (text, is_match) in [("[", true), (":", true), ("]", false)] {
        assert_eq!(expression.is_match(text), is_match, "{text}");
    }
    assert!(compile("^[[:]]$").unwrap().is_match(":]"));
}

#[test]
fn what_would_be_large_is_refused_soon() {
    let long = "a|".repeat(LENGTH);
    let classes = "\\pL".repeat(LENGTH / 3);
    let hostile = HOSTILE.iter().copied();
    for pattern in hostile.chain([long.as_str(), classes.as_str()]) {
        let shown = &pattern[..pattern.len().min(20)];
        let mut least = Duration::MAX;
        // Once more if it was held up: what takes long does so every time.
        for _ in 0..5 {
            // Nothing is known of it from the last time.
            let _kept = Kept::new();
            let begin = Instant::now();
            let error = compile(pattern).expect_err(pattern);
            least = least.min(begin.elapsed());
            let says = error.contains("expression too large") || error.contains("invalid repeat");
            assert!(says, "{shown}: {error}");
            if least < SOON {
                break;
            }
        }
        assert!(least < SOON, "{shown}: {least:?}");
    }
}

#[test]
fn what_people_write_is_not_too_large() {
    for pattern in [
        ".{200}",
        "\\pL+-\\pL+",
        "(?i)[a-z\u{e0}-\u{ff}]+",
        "^(?:[^/]{1,63}/)?[^/]{1,128}$",
        "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
    ] {
        assert!(make(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn an_expression_is_compiled_once_in_a_run() {
    let kept = Kept::new();
    let first = compile("a+").expect("valid");
    assert!(Rc::ptr_eq(&first, &compile("a+").expect("valid")));
    drop(kept);
    assert!(!Rc::ptr_eq(&first, &compile("a+").expect("valid")));
}

#[test]
fn expressions_are_charged_to_the_run() {
    let ended = meter::metered(&Clock::default(), 0, || {
        (0..10_000).find_map(|at| {
            let _ = compile(&format!("[^{at}]{{100}}"));
            meter::check().err()
        })
    });
    assert_eq!(ended, Some(Stop::Spent));
}

#[test]
fn room_for_long_texts_is_charged_once() {
    let texts = "a/b".repeat(500);
    let ended = meter::metered(&Clock::default(), 0, || {
        let expression = make("^(?:[^/]{1,63}/)?([^/]{1,128})$").expect("valid");
        for _ in 0..1000 {
            assert!(expression.may_take_long(&texts));
            expression.groups(&texts);
            expression.is_match(&texts);
        }
        meter::check()
    });
    assert_eq!(ended, Ok(()));
}

/// All states at each byte: minutes, without a look at the clock.
#[test]
fn a_match_ends_at_the_deadline() {
    let text = "ax".repeat(4 << 20);
    let mut least = Duration::MAX;
    for pattern in ["(.*x){90}y", "(?:a?x?){100}y"] {
        let expression = make(pattern).expect("valid");
        let soon = Instant::now() + Duration::from_millis(20);
        let stop = meter::metered(&Clock::until(soon), text.len(), || {
            expression.groups(&text);
            meter::check().err()
        });
        least = least.min(soon.elapsed());
        assert_eq!(stop, Some(Stop::Late), "{pattern}");
    }
    assert!(least < Duration::from_millis(500), "{least:?} late");
}
