//! Which tags satisfy a constraint, and why the others do not, as people and scripts
//! read it.

use std::{collections::BTreeMap, fmt};

use functions::reference::{self, Rules};
use serde::Serialize;
use versions::{Choice, Constraint};

use crate::exec::bundled;

/// At most this many tags of a kind are shown to people; scripts get all.
const SHOWN: usize = 10;

#[derive(Debug, Serialize)]
pub(super) struct Matching {
    constraint: String,
    /// The best of our own, which would be taken without asking a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundled: Option<String>,
    /// The best first.
    matching: Vec<String>,
    others: Vec<Other>,
}

#[derive(Debug, Serialize)]
struct Other {
    tag: String,
    why: String,
}

impl Matching {
    pub(super) fn new(repository: &str, constraint: &Constraint, choice: Choice) -> Self {
        let rules = Rules::default();
        let releases = reference::releases(repository, &rules)
            .filter(|chosen| bundled::program(*chosen).is_some());
        let versions: Vec<&str> = releases.map(|chosen| chosen.release.version).collect();
        let bundled = constraint.choose(versions).matching.into_iter().next();
        let others = choice.passed.into_iter().map(|passed| Other {
            tag: passed.tag,
            why: passed.why.to_string(),
        });
        Self {
            constraint: constraint.to_string(),
            bundled,
            matching: choice.matching,
            others: others.collect(),
        }
    }
}

impl fmt::Display for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<13}{:?}", "Constraint:", self.constraint)?;
        if let Some(bundled) = &self.bundled {
            writeln!(
                f,
                "{:<13}{bundled} satisfies it; a runner with bundled functions runs that and asks \
                 no registry",
                "Bundled:"
            )?;
        }
        let matching: Vec<&str> = self.matching.iter().map(String::as_str).collect();
        writeln!(f, "{:<13}{}", "Matching:", some(&matching))?;
        let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Other { tag, why } in &self.others {
            others.entry(why).or_default().push(tag);
        }
        writeln!(f, "Other tags:")?;
        for (why, tags) in others {
            writeln!(f, "  {why}: {}", some(&tags))?;
        }
        Ok(())
    }
}

/// The first of these, and how many more there are.
fn some(tags: &[&str]) -> String {
    let shown = tags.iter().take(SHOWN).copied().collect::<Vec<_>>();
    match tags.len().saturating_sub(SHOWN) {
        0 if tags.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGS: [&str; 5] = ["v0.3.9", "v0.4.0", "v0.4.1", "v0.5.0", "latest"];

    fn matching(repository: &str, tags: &[&str]) -> Matching {
        let constraint: Constraint = ">=v0.4.0 <v0.5".parse().unwrap();
        let choice = constraint.choose(tags.iter().copied());
        Matching::new(repository, &constraint, choice)
    }

    #[test]
    fn people_see_what_matched_and_why_the_rest_did_not() {
        assert_eq!(
            matching("a/b", &TAGS).to_string(),
            "Constraint:  \">=v0.4.0 <v0.5\"\n\
             Matching:    v0.4.1, v0.4.0\n\
             Other tags:\n  \
             does not satisfy <v0.5: v0.5.0\n  \
             does not satisfy >=v0.4.0: v0.3.9\n  \
             is not a version: latest\n"
        );
        let numbers: Vec<String> = (0..25).map(|patch| format!("v0.5.{patch}")).collect();
        let many: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let shown = matching("gcr.io/kpt-fn/set-namespace", &many).to_string();
        assert!(shown.contains("Matching:    none\n"), "{shown}");
        assert!(shown.contains("v0.5.9, and 15 more\n"), "{shown}");
        // Whatever releases are bundled by then.
        assert!(shown.contains("Bundled:     v0.4."), "{shown}");
    }

    #[test]
    fn scripts_see_every_tag() {
        let shown = serde_json::to_value(matching("a/b", &TAGS)).unwrap();
        assert_eq!(shown["matching"], serde_json::json!(["v0.4.1", "v0.4.0"]));
        assert_eq!(shown["others"].as_array().unwrap().len(), 3);
        assert_eq!(
            shown["others"][2],
            serde_json::json!({ "tag": "latest", "why": "is not a version" })
        );
        assert!(shown.get("bundled").is_none());
    }
}
