//! A panic is a bug of ours, and has to be found in the log; what it says may quote
//! the list that it stumbled over, and must not be found there.

use std::{backtrace::Backtrace, panic, panic::PanicHookInfo};

/// From here on panics are one line of the log each: where it was, and the words
/// that are part of the program. With `RUST_BACKTRACE=1` also the calls that led there.
pub fn log_panics() {
    panic::set_hook(Box::new(log));
}

fn log(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let place = info.location().map(ToString::to_string);
    let place = place.unwrap_or_else(|| "an unknown place".to_owned());
    let said = words(info);
    let backtrace = Backtrace::capture();
    let is_captured = backtrace.status() == std::backtrace::BacktraceStatus::Captured;
    // A text field is quoted, so it stays one line.
    let backtrace = is_captured.then(|| backtrace.to_string());
    tracing::error!(
        thread,
        place,
        backtrace,
        "this is a bug, please report it: panicked, {said}"
    );
}

/// Words that were put together at run time may quote anything.
fn words<'a>(info: &'a PanicHookInfo<'_>) -> &'a str {
    match info.payload().downcast_ref::<&'static str>() {
        Some(said) => said,
        None => "in words that are not logged because they may quote a list",
    }
}
