//! Any bytes are either a ResourceList or not, without a panic, and a list's
//! results can be shown.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(list) = krm::resource_list::read(bytes) {
        for result in &list.results.list {
            let _ = result.to_string();
        }
    }
});
