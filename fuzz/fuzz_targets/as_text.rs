//! Functions say the same, whether objects of a list stay text or all is parsed. The
//! first byte chooses the function; what the input lacks of a list is put around it.
#![no_main]

use functions::{Clock, Reading, catalog};
use libfuzzer_sys::fuzz_target;

const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";
const TAIL: &str = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  \
                    data:\n    namespace: x\n    by-value: a\n    put-value: b\n    name: a\n";
/// `search-replace` refuses the names that others want.
const SEARCH: &str = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  \
                      data:\n    by-value: a\n    put-value: b\n";

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let functions: Vec<_> = catalog::FUNCTIONS
        .iter()
        .flat_map(catalog::Bundled::reproduced)
        .filter(|it| !it.release.is_program())
        .collect();
    let function = functions[usize::from(*first) % functions.len()];
    let lists = [TAIL, SEARCH].map(|tail| format!("{HEAD}{text}{tail}"));
    for list in lists.into_iter().chain([text.to_owned()]) {
        let run = |reading| function.run_reading(reading, list.as_bytes(), &Clock::default());
        assert_eq!(
            run(Reading::AsText),
            run(Reading::Parsed),
            "{function}: {list}"
        );
    }
});
