//! The project's own cases: inputs of ours, outputs of the real Go functions
//! (`docs/bundled-functions.md` says how they were made).

use std::{fs, path::Path};

use functions::{Clock, catalog};

#[test]
fn outputs_and_exit_codes_are_those_of_the_go_functions() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut count = 0;
    for function in fs::read_dir(cases).unwrap().flatten() {
        let name = function.file_name().into_string().unwrap();
        let bundled = catalog::find(&name).unwrap();
        for case in fs::read_dir(function.path()).unwrap().flatten() {
            let read = |file: &str| fs::read_to_string(case.path().join(file)).unwrap();
            let ended = bundled
                .run(read("input.yaml").as_bytes(), &Clock::default())
                .unwrap();
            let path = case.path();
            assert_eq!(ended.stdout, read("output.yaml"), "{}", path.display());
            assert_eq!(
                ended.exit.to_string(),
                read("exit").trim(),
                "{}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count >= 36, "only {count} cases were found");
}
