use krm::resource_list::Results;
use proptest::prelude::*;

use super::*;

fn failed(results: Vec<FunctionResult>, log: &str) -> Status {
    let results = Results {
        list: results,
        not_read: 0,
    };
    let failure = Failure::Failed {
        exit: Exit::Code(1),
        results,
        log: log.to_owned().into(),
    };
    EvaluateError::from(FunctionError::new("example.com/fn:v1", failure)).into()
}

fn result(message: &str) -> FunctionResult {
    FunctionResult {
        severity: "error".into(),
        message: message.into(),
        kind: "ConfigMap".into(),
        name: "settings".into(),
        field: "data.key".into(),
        ..Default::default()
    }
}

/// The status as it stands in the header block.
fn encoded_size(status: &Status) -> usize {
    let mut headers = http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum()
}

#[test]
fn a_failure_is_told_in_words_and_in_parts() {
    let status = failed(vec![result("must be set")], "line 1\nline 2\n");
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        "failed to evaluate function \"example.com/fn:v1\": exit code 1\n\
         [error] ConfigMap/settings data.key: must be set\n\
         stderr:\nline 1\nline 2"
    );
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        ("FUNCTION_FAILED", "fn.kpt.dev")
    );
    assert_eq!(info.metadata["exit_code"], "1");
    assert_eq!(info.metadata["image"], "example.com/fn:v1");
    let violation = &details.precondition_failure().unwrap().violations[0];
    assert_eq!(violation.r#type, "error");
    assert_eq!(violation.subject, "ConfigMap/settings data.key");
    assert_eq!(violation.description, "must be set");
    assert_eq!(details.debug_info().unwrap().detail, "line 1\nline 2");
}

#[test]
fn a_long_log_is_cut_in_the_middle_and_says_so() {
    let log = format!("begin {} end", "x".repeat(100_000));
    let status = failed(vec![], &log);
    let message = status.message();
    assert!(
        message.contains("stderr:\nbegin xxx") && message.ends_with("xxx end"),
        "{message}"
    );
    assert!(message.contains(" bytes cut …]"));
    assert!(message.len() > 1500, "{} bytes of message", message.len());
    assert!(
        status
            .get_error_details()
            .debug_info()
            .unwrap()
            .detail
            .contains("begin")
    );
}

#[test]
fn results_are_not_crowded_out_by_the_log() {
    let results = (0..100).map(|n| result(&format!("problem {n}"))).collect();
    let status = failed(results, &"x".repeat(100_000));
    assert!(
        status.message().contains("problem 0\n"),
        "{}",
        status.message()
    );
    assert!(
        status.message().contains("stderr:\nxxx"),
        "{}",
        status.message()
    );
    let info = status.get_error_details();
    let shown = info
        .precondition_failure()
        .map_or(0, |failure| failure.violations.len());
    assert_eq!(
        info.error_info().unwrap().metadata["results_left_out"],
        (100 - shown).to_string()
    );
}

#[test]
fn every_error_has_its_code() {
    let image = || "fn".to_owned();
    let function = |failure| EvaluateError::from(FunctionError::new("fn", failure));
    for (error, code) in [
        (
            EvaluateError::InvalidImage {
                image: image(),
                reason: "it is empty".into(),
            },
            Code::InvalidArgument,
        ),
        (
            EvaluateError::NotFound {
                image: image(),
                tried: vec!["exec"],
            },
            Code::NotFound,
        ),
        (
            EvaluateError::QueueFull {
                image: image(),
                queued: 1,
            },
            Code::ResourceExhausted,
        ),
        (EvaluateError::Panicked { image: image() }, Code::Internal),
        (
            function(Failure::OutputTooLarge { limit: 1 }),
            Code::ResourceExhausted,
        ),
        (
            function(Failure::NotEnoughMemory {
                needed: 2 << 30,
                available: 1 << 30,
                has_run: true,
            }),
            Code::ResourceExhausted,
        ),
        (
            function(Failure::OverBound {
                bound: process::Bound::Processes {
                    had: 257,
                    most: 256,
                },
                log: "".into(),
            }),
            Code::ResourceExhausted,
        ),
        (
            function(Failure::NotBegunInTime {
                running: 2,
                queued: 3,
            }),
            Code::DeadlineExceeded,
        ),
        (
            function(Failure::OutputHeldOpen {
                holder: None,
                log: "".into(),
            }),
            Code::DeadlineExceeded,
        ),
        (
            function(Failure::DeadlineExceeded { log: "".into() }),
            Code::DeadlineExceeded,
        ),
        (
            function(Failure::CannotStart {
                program: "/bin/fn".into(),
                error: std::io::ErrorKind::NotFound.into(),
            }),
            Code::Internal,
        ),
    ] {
        let words = error.to_string();
        let status = Status::from(error);
        assert_eq!(status.code(), code, "{words}");
        assert_eq!(status.message(), words);
        assert_eq!(
            status.get_error_details().error_info().unwrap().metadata["image"],
            "fn"
        );
    }
}

/// Text of all prices: letters are sent as they are, the others are not.
fn long_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec!["word", "two words", "ä", "\n", "\"", "…", "\u{1f980}"]);
    prop::collection::vec((pieces, 0..400_usize), 0..5).prop_map(|pieces| {
        pieces
            .iter()
            .map(|(piece, times)| piece.repeat(*times))
            .collect()
    })
}

proptest! {
    #[test]
    fn no_status_outgrows_its_header_block(
        messages in prop::collection::vec(long_text(), 0..20),
        log in long_text(),
        image in long_text(),
    ) {
        let results = Results { list: messages.iter().map(|m| result(m)).collect(), not_read: 3 };
        let failure = Failure::Failed { exit: Exit::Signal(9), results, log: log.into() };
        let status = Status::from(EvaluateError::from(FunctionError::new(&image, failure)));
        prop_assert!(encoded_size(&status) <= 6 * 1024, "{} bytes", encoded_size(&status));
        prop_assert!(status.get_error_details().error_info().is_some());
    }
}

#[test]
fn what_another_server_answered_is_passed_on_unchanged() {
    let original = failed(vec![result("must be set")], "line 1\n");
    // The same one: the order of what ErrorInfo holds differs from one to the next.
    let mut sent = original.clone();
    sent.metadata_mut()
        .insert("server", "other".parse().unwrap());
    let error = EvaluateError::Remote {
        image: "example.com/fn:v1".into(),
        status: Box::new(sent),
    };
    assert!(!error.to_string().contains("must be set"), "{error}");
    let passed_on = Status::from(error);
    assert_eq!(passed_on.code(), original.code());
    assert_eq!(passed_on.message(), original.message());
    assert_eq!(passed_on.details(), original.details());
    assert!(passed_on.metadata().is_empty());
}

#[test]
fn a_status_of_another_server_that_does_not_fit_is_cut_and_keeps_its_code() {
    for (message, details) in [
        ("x".repeat(100_000), vec![]),
        ("é".repeat(5_000), vec![]),
        ("short".to_owned(), vec![7; 100_000]),
    ] {
        let sent = Status::with_details(Code::Aborted, &message, details.into());
        let status = Status::from(EvaluateError::Remote {
            image: "example.com/fn:v1".into(),
            status: Box::new(sent),
        });
        assert_eq!(status.code(), Code::Aborted);
        assert!(status.message().starts_with(&message[..4]), "{status}");
        let size = encoded_size(&status);
        assert!(size < 6 * 1024, "{size}");
        let details = status.get_error_details();
        assert_eq!(details.error_info().unwrap().reason, "REMOTE");
    }
}

#[test]
fn trouble_with_pods_has_codes_of_its_own_and_the_last_words() {
    let image = || "example.com/fn:v1".to_owned();
    let reason = || "no such image".to_owned();
    let log = || "cannot execute".to_owned();
    let unavailable = Status::from(EvaluateError::Unavailable {
        image: image(),
        reason: reason(),
        log: String::new(),
    });
    assert_eq!(unavailable.code(), Code::Unavailable);
    assert_eq!(
        unavailable.message(),
        "cannot run function \"example.com/fn:v1\": no such image"
    );
    let refused = Status::from(EvaluateError::FailedPrecondition {
        image: image(),
        reason: reason(),
        log: log(),
    });
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().ends_with("cannot execute"), "{refused}");
    let late = Status::from(EvaluateError::NoPodInTime {
        image: image(),
        waits_for: "a node".into(),
    });
    assert_eq!(late.code(), Code::DeadlineExceeded);
}

#[test]
fn the_trace_comes_last_once_and_is_never_cut() {
    let trace = TraceId::from_hex("4bf92f3577b34da6a3ce929d0e0e4736").unwrap();
    let end = "\n(trace 4bf92f3577b34da6a3ce929d0e0e4736)";
    let unavailable = |reason: &str, log: &str| EvaluateError::Unavailable {
        image: "example.com/fn:v1".into(),
        reason: reason.into(),
        log: log.into(),
    };
    for (reason, log) in [
        ("no such image".to_owned(), String::new()),
        ("no such image".to_owned(), "x".repeat(100_000)),
        ("é".repeat(100_000), "ß\n".repeat(100_000)),
    ] {
        let status = unavailable(&reason, &log).into_status(Some(trace));
        assert!(status.message().ends_with(end), "{status}");
        let size = encoded_size(&status);
        assert!(size < 6 * 1024, "{size}");
    }
    // A wrapper of ours has said it already, another one has not.
    for told in ["it failed".to_owned(), format!("it failed{end}")] {
        let status = EvaluateError::Remote {
            image: "example.com/fn:v1".into(),
            status: Box::new(Status::internal(told)),
        };
        let status = status.into_status(Some(trace));
        assert_eq!(status.message(), format!("it failed{end}"));
    }
}
