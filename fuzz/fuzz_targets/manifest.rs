//! Any bytes are a manifest, an index or a configuration, or none, without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| registry::fuzz::understand(bytes));
