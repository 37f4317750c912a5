//! Any `WWW-Authenticate` is understood or passed over, without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = registry::fuzz::choose(text.lines());
});
