//! The fuzz target of the bundled functions has a seed for each of them, which
//! gets past the reading of its configuration.

use std::{fs, path::Path};

use functions::{Clock, catalog};

#[test]
fn every_function_has_a_seed_that_it_runs_on() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/bundled");
    for (at, function) in catalog::FUNCTIONS.iter().enumerate() {
        let mut native = function
            .reproduced()
            .filter(|chosen| !chosen.release.is_program());
        let Some(newest) = native.next() else {
            continue;
        };
        let seed = fs::read(seeds.join(function.name)).unwrap();
        let chosen = usize::from(seed[0]) % catalog::FUNCTIONS.len();
        assert_eq!(chosen, at, "the seed of {} is another's", function.name);
        let ended = newest.run(&seed[1..], &Clock::default()).unwrap();
        assert_eq!(ended.exit, 0, "{newest}: {}", ended.stderr);
        let failed = ended.stdout.contains("severity: error");
        assert!(!failed, "{newest}: {}", ended.stdout);
    }
}
