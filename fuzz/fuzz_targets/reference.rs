//! A reference that was read can be written and read again.
#![no_main]

use registry::Reference;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(reference) = text.parse::<Reference>() {
        assert_eq!(reference.to_string().parse(), Ok(reference));
    }
});
