//! Which functions' tags a sweep checks. Answers of registries are cached for some time
//! and for some number of images. As long as all functions fit into that cache, every
//! sweep checks all of them without asking a registry. With more functions, each check
//! would be a request, so a sweep checks only those that have waited longest.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use registry::Reference;

/// Well below the number of images that the cache of metadata keeps, because others
/// need room in it as well.
const FEW: usize = 8_000;

/// Of more than that, how many are looked at in one sweep.
const TURNS: usize = 200;

/// Remembers who had a turn.
#[derive(Debug, Default)]
pub(super) struct Tags(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    sweep: u64,
    /// In which sweep a function had its last turn.
    last: HashMap<String, u64>,
}

impl Tags {
    /// Those of these functions whose image is to be looked at now. Digests are not:
    /// they never stand for anything else.
    pub(super) fn due<'a>(
        &self,
        functions: impl Iterator<Item = &'a str>,
    ) -> HashMap<&'a str, Reference> {
        let functions: HashSet<&str> = functions.collect();
        let mut tagged: Vec<(&str, Reference)> = functions
            .into_iter()
            .filter_map(|function| Some((function, function.parse().ok()?)))
            .filter(|(_, reference): &(_, Reference)| reference.digest().is_none())
            .collect();
        let mut turns = self.0.lock();
        if tagged.len() <= FEW {
            turns.last.clear();
            return tagged.into_iter().collect();
        }
        turns.sweep += 1;
        let sweep = turns.sweep;
        tagged.sort_by_key(|(function, _)| turns.last.get(*function).copied().unwrap_or(0));
        let known: HashSet<&str> = tagged.iter().map(|(function, _)| *function).collect();
        turns
            .last
            .retain(|function, _| known.contains(function.as_str()));
        tagged.truncate(TURNS);
        for (function, _) in &tagged {
            turns.last.insert((*function).to_owned(), sweep);
        }
        tagged.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!("a/fn-{number}:v1"))
            .collect()
    }

    fn due(tags: &Tags, functions: &[String]) -> Vec<String> {
        let due = tags.due(functions.iter().map(String::as_str));
        due.into_keys().map(str::to_owned).collect()
    }

    #[test]
    fn as_long_as_there_are_few_each_is_looked_at_once_per_sweep() {
        let (tags, mut functions) = (Tags::default(), functions(3));
        functions.push(functions[0].clone());
        let digest = format!("a/fn@sha256:{}", "0".repeat(64));
        functions.push(digest);
        functions.push("Not A Reference".into());
        assert_eq!(due(&tags, &functions).len(), 3);
        assert_eq!(due(&tags, &functions).len(), 3);
    }

    #[test]
    fn of_many_some_have_their_turn_at_each_sweep_until_all_had_one() {
        let (tags, functions) = (Tags::default(), functions(FEW + 200));
        let mut looked_at = HashSet::new();
        for _ in 0..functions.len().div_ceil(TURNS) {
            let due = due(&tags, &functions);
            assert_eq!(due.len(), TURNS);
            looked_at.extend(due);
        }
        assert_eq!(looked_at.len(), functions.len());
    }
}
