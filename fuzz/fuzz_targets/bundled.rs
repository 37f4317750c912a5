//! Every bundled function ends on any bytes, with a list or an error. The first
//! byte says which function, in all its releases; there is a seed for each.
#![no_main]

use functions::{Clock, catalog};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, input)) = bytes.split_first() else {
        return;
    };
    let functions = catalog::FUNCTIONS;
    let function = &functions[usize::from(*which) % functions.len()];
    for release in function.reproduced() {
        let _ = release.run(input, &Clock::default());
    }
});
