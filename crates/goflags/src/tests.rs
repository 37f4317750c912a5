use std::time::Duration;

use proptest::prelude::*;

use super::{value::*, *};

static GROUPS: &[Group] = &[Group {
    title: "Test",
    flags: &[
        Flag {
            name: "port",
            takes: Takes::Value("PORT"),
            default: "9445",
            help: "a port",
        },
        Flag {
            name: "warm",
            takes: Takes::Switch,
            default: "true",
            help: "a switch",
        },
    ],
}];

fn sorted(words: &[&str]) -> Result<Flags, FlagError> {
    parse(GROUPS, words.iter().map(OsString::from))
}

fn port(words: &[&str]) -> Result<u16, FlagError> {
    sorted(words)?.get("port", number)
}

#[test]
fn every_spelling_of_a_flag_means_the_same() {
    for words in [
        &["--port=1"][..],
        &["--port", "1"],
        &["-port=1"],
        &["-port", "1"],
        &["--port=7", "-port", "8", "--port=1"],
        &["--warm", "--port=1"],
    ] {
        assert_eq!(port(words), Ok(1), "{words:?}");
    }
    assert_eq!(port(&[]), Ok(9445));
}

#[test]
fn a_boolean_is_bare_or_has_its_value_attached() {
    for (words, expected) in [
        (&["--warm"][..], true),
        (&["-warm"], true),
        (&["--warm=false"], false),
        (&["-warm=F"], false),
        (&["--warm=0", "--warm=TRUE"], true),
        (&[], true),
    ] {
        assert_eq!(
            sorted(words).unwrap().switch("warm"),
            Ok(expected),
            "{words:?}"
        );
    }
    let flags = sorted(&["--warm", "false", "--port=1"]).unwrap();
    assert_eq!(flags.switch("warm"), Ok(true));
    assert_eq!(flags.rest, ["false", "--port=1"]);
}

#[test]
fn flags_end_at_the_first_other_word_or_at_two_dashes() {
    let flags = sorted(&["--port=1", "--", "--port=2", "x"]).unwrap();
    assert_eq!((flags.rest.len(), flags.ended_by_dashes), (2, true));
    let flags = sorted(&["x", "--port=2"]).unwrap();
    assert_eq!((flags.rest.len(), flags.ended_by_dashes), (2, false));
    assert!(!flags.is_given("port"));
    assert_eq!(sorted(&["-"]).unwrap().rest, ["-"]);
}

#[test]
fn a_complaint_names_the_flag_the_value_and_what_is_accepted() {
    for (words, complaint) in [
        (
            &["--prot=1"][..],
            "unknown flag --prot=1; --help lists all flags",
        ),
        (
            &["---port=1"],
            "unknown flag ---port=1; --help lists all flags",
        ),
        (&["--port"], "flag --port needs a value"),
        (
            &["--port=many"],
            "invalid value \"many\" for flag --port: expected a whole number within range",
        ),
        (
            &["--port="],
            "invalid value \"\" for flag --port: expected a whole number within range",
        ),
    ] {
        assert_eq!(port(words).unwrap_err().to_string(), complaint);
    }
    let complaint = sorted(&["--warm=yes"])
        .unwrap()
        .switch("warm")
        .unwrap_err()
        .to_string();
    assert!(complaint.starts_with("invalid value \"yes\" for flag --warm: expected true or false"));
}

#[test]
fn durations_are_gos() {
    let ms = Duration::from_millis;
    for (text, expected) in [
        ("0", ms(0)),
        ("30m", ms(1_800_000)),
        ("1h30m", ms(5_400_000)),
        ("1.5h", ms(5_400_000)),
        ("90s", ms(90_000)),
        (".5s", ms(500)),
        ("1.s", ms(1000)),
        ("+5s", ms(5000)),
        ("1h1m1s1ms", ms(3_661_001)),
        ("100us", Duration::from_micros(100)),
        ("100µs", Duration::from_micros(100)),
        ("100μs", Duration::from_micros(100)),
        ("0.000000001s", Duration::from_nanos(1)),
        (
            "0.3333333333333333333h",
            Duration::from_nanos(1_199_999_999_999),
        ),
        (
            "2562047h47m16.854775807s",
            Duration::from_nanos(i64::MAX as u64),
        ),
    ] {
        assert_eq!(duration(text), Ok(expected), "{text}");
    }
    for text in [
        "",
        "3",
        "-1s",
        "1d",
        "1 s",
        "s",
        ".s",
        "1h-30m",
        "1.2.3s",
        "1S",
        "+",
        "-",
        "0x1s",
        "1e3s",
        "2562047h47m16.854775808s",
        "99999999999999999999h",
        "１s",
        "1s ",
    ] {
        assert!(duration(text).is_err(), "{text:?} was accepted");
    }
    assert!(positive_duration("0s").is_err());
}

/// A duration as Go's `Duration.String` writes it.
fn written(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hours}h{minutes}m{seconds}.{:09}s",
        nanoseconds % 1_000_000_000
    )
}

proptest! {
    #[test]
    fn a_written_duration_reads_as_itself(nanoseconds in 0..i64::MAX as u64) {
        prop_assert_eq!(duration(&written(nanoseconds)), Ok(Duration::from_nanos(nanoseconds)));
    }

    #[test]
    fn units_add_up_in_any_order(parts in prop::collection::vec((0..1000_u64, 0..6_usize), 1..6)) {
        let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000),
            ("m", 60_000_000_000), ("h", 3_600_000_000_000_u64)];
        let text: String = parts.iter().map(|(n, unit)| format!("{n}{}", units[*unit].0)).collect();
        let sum = parts.iter().map(|(n, unit)| n * units[*unit].1).sum();
        prop_assert_eq!(duration(&text), Ok(Duration::from_nanos(sum)));
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in ".{0,40}") {
        let _ = duration(&text);
        let _ = boolean(&text);
        let _ = port(&[&text]);
    }

    #[test]
    fn only_gos_spellings_are_booleans(text in "[01a-zA-Z]{0,6}") {
        let known = ["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"];
        prop_assert_eq!(boolean(&text).is_ok(), known.contains(&text.as_str()));
    }
}

#[test]
fn quantities_are_kubernetes() {
    for (text, expected) in [
        ("0", 0),
        ("1024", 1024),
        ("512Mi", 512 << 20),
        ("1.5Gi", 3 << 29),
        (".5k", 500),
        ("2G", 2_000_000_000),
    ] {
        assert_eq!(value::quantity(text), Ok(expected), "{text}");
    }
    for text in [
        "", "Mi", ".", "1.2.3", "-1", "+1", "1 Mi", "1mi", "1K", "16384Pi", "20E",
    ] {
        assert!(value::quantity(text).is_err(), "{text}");
    }
}
