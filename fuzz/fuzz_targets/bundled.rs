//! Every bundled function ends on any bytes, with a list or an error, and uses no more
//! than 64 MB and twenty times its list. The first byte says which function, in all its
//! releases; there is a seed for each.
#![no_main]

#[path = "bundled/allocated.rs"]
mod allocated;

use functions::{Clock, catalog};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, input)) = bytes.split_first() else {
        return;
    };
    let functions = catalog::FUNCTIONS;
    let function = &functions[usize::from(*which) % functions.len()];
    for release in function.reproduced() {
        let most = allocated::most(|| {
            let _ = release.run(input, &Clock::default());
        });
        let allowed = (64 << 20) + 20 * input.len();
        assert!(most <= allowed, "{release}: {most} bytes of {allowed}");
    }
});
