//! Any words are a command line or a complaint that names what is wrong.
//!
//! The runner's flags are compiled in by themselves: with the rest of the runner
//! this would take many minutes to build. What values mean together has tests there.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/runner/src/args.rs"]
mod args;

use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let words = bytes.split(|byte| *byte == b'\n');
    let words = words.map(|word| OsString::from_vec(word.to_vec()));
    if let Err(complaint) = goflags::parse(args::FLAGS, words) {
        assert!(!complaint.to_string().is_empty());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = goflags::value::duration(text);
        let _ = goflags::value::boolean(text);
    }
});
