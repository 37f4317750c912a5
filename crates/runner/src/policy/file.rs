//! The file of `--image-policy`, and errors in it. docs/security.md has an example.

use std::collections::HashSet;

use registry::PublicKey;
use serde::Deserialize;

use super::{
    pattern::Pattern,
    rules::{Conditions, Mode, Policy, Rule, Runtime, Verify},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    bundled: Bundled,
    wrapper: Option<RawWrapper>,
    rules: Vec<RawRule>,
}

#[derive(Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Bundled {
    #[default]
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWrapper {
    verify: RawVerify,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawRule {
    name: String,
    allow: Option<Vec<String>>,
    deny: Option<Vec<String>>,
    #[serde(default)]
    require_digest: bool,
    runtimes: Option<Vec<RawRuntime>>,
    verify: Option<RawVerify>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawRuntime {
    Exec,
    Pod,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVerify {
    #[serde(default)]
    mode: RawMode,
    keys: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum RawMode {
    #[default]
    Enforce,
    Warn,
}

/// Reads the file's text; `read` gives the text of a key's file. Everything is checked
/// here: a rule that cannot mean anything must not wait until an image meets it.
pub(super) fn parse(
    text: &str,
    mut read: impl FnMut(&str) -> Result<String, String>,
) -> Result<Policy, String> {
    // A complaint is one line of a log; the snippet would be several.
    let options = serde_saphyr::options! { with_snippet: false };
    let file: File =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
    let wrapper = file.wrapper.map(|wrapper| {
        let verify = wrapper.verify.check(&mut read);
        verify.map_err(|why| format!("wrapper: {why}"))
    });
    let mut names = HashSet::new();
    let mut rules = Vec::new();
    for raw in file.rules {
        let name = raw.name.clone();
        if name.is_empty() || !names.insert(name.clone()) {
            return Err(format!(
                "rule {name:?}: every rule needs a name of its own, because refusals name it"
            ));
        }
        let rule = raw.check(&mut read);
        rules.push(rule.map_err(|why| format!("rule {name:?}: {why}"))?);
    }
    Ok(Policy {
        bundled: file.bundled == Bundled::Allow,
        wrapper: wrapper.transpose()?,
        rules,
    })
}

impl RawRule {
    fn check(self, read: impl FnMut(&str) -> Result<String, String>) -> Result<Rule, String> {
        let has_conditions =
            self.require_digest || self.runtimes.is_some() || self.verify.is_some();
        let (patterns, allows) = match (self.allow, self.deny) {
            (Some(_), Some(_)) | (None, None) => {
                return Err("either allow or deny has to list patterns of images".into());
            }
            (None, Some(_)) if has_conditions => {
                return Err(
                    "requireDigest, runtimes and verify belong to a rule that allows".into(),
                );
            }
            (None, Some(patterns)) => (patterns, None),
            (Some(patterns), None) => {
                let runtimes = self.runtimes.map(|runtimes| {
                    let runtimes = runtimes.iter().map(|runtime| match runtime {
                        RawRuntime::Exec => Runtime::Exec,
                        RawRuntime::Pod => Runtime::Pod,
                    });
                    runtimes.collect::<Vec<_>>()
                });
                if runtimes.as_ref().is_some_and(Vec::is_empty) {
                    return Err("runtimes is empty: to forbid all of them, use deny".into());
                }
                let conditions = Conditions {
                    require_digest: self.require_digest,
                    runtimes: runtimes.unwrap_or_default(),
                    verify: self.verify.map(|verify| verify.check(read)).transpose()?,
                };
                (patterns, Some(conditions))
            }
        };
        if patterns.is_empty() {
            return Err("it lists no patterns, so it matches nothing".into());
        }
        let pattern = |text: &String| {
            let pattern = text.parse::<Pattern>();
            pattern.map_err(|why| format!("the pattern {text:?} is not valid: {why}"))
        };
        Ok(Rule {
            name: self.name,
            patterns: patterns.iter().map(pattern).collect::<Result<_, _>>()?,
            allows,
        })
    }
}

impl RawVerify {
    fn check(self, mut read: impl FnMut(&str) -> Result<String, String>) -> Result<Verify, String> {
        if self.keys.is_empty() {
            return Err("verify needs keys: files with cosign's public keys, or their text".into());
        }
        let mut key = |text: &String| {
            if text.trim_start().starts_with("-----BEGIN") {
                return PublicKey::from_pem(text).map_err(|why| format!("a key in keys: {why}"));
            }
            let key = PublicKey::from_pem(&read(text)?);
            key.map_err(|why| format!("the key {text}: {why}"))
        };
        Ok(Verify {
            mode: match self.mode {
                RawMode::Enforce => Mode::Enforce,
                RawMode::Warn => Mode::Warn,
            },
            keys: self.keys.iter().map(&mut key).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n\
        6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n\
        -----END PUBLIC KEY-----\n";

    fn read(name: &str) -> Result<String, String> {
        match name {
            "team.pub" => Ok(KEY.to_owned()),
            _ => Err(format!("cannot read {name}")),
        }
    }

    #[test]
    fn keys_come_from_files_or_stand_in_the_policy() {
        let inline = KEY.replace('\n', "\n        ");
        let text = format!(
            "wrapper: {{verify: {{keys: [team.pub]}}}}\n\
             rules:\n\
             - name: a\n  allow: [a.io/**]\n  verify:\n    mode: warn\n    keys:\n      - |\n        {inline}\n"
        );
        let policy = parse(&text, read).unwrap();
        assert!(policy.bundled);
        let wrapper = policy.wrapper.unwrap();
        let rule = policy.rules[0].allows.clone().unwrap().verify.unwrap();
        assert_eq!((wrapper.mode, rule.mode), (Mode::Enforce, Mode::Warn));
        assert_eq!(wrapper.keys, rule.keys);
    }

    #[test]
    fn a_rule_that_cannot_be_meant_is_refused_with_its_name() {
        for (rule, words) in [
            ("name: a", "rule \"a\": either allow or deny"),
            (
                "name: a, allow: [a.io/b], deny: [a.io/c]",
                "either allow or deny",
            ),
            ("name: a, allow: []", "no patterns"),
            (
                "name: a, allow: [ubuntu]",
                "\"ubuntu\" is not valid: its registry is missing",
            ),
            (
                "name: a, deny: [a.io/b], requireDigest: true",
                "belong to a rule that allows",
            ),
            ("name: a, allow: [a.io/b], runtimes: []", "use deny"),
            ("name: a, allow: [a.io/b], runtimes: [vm]", "vm"),
            (
                "name: a, allow: [a.io/b], verify: {keys: []}",
                "verify needs keys",
            ),
            (
                "name: a, allow: [a.io/b], verify: {keys: [no.pub]}",
                "cannot read no.pub",
            ),
            (
                "name: a, allow: [a.io/b], verify: {keys: ['-----BEGIN x']}",
                "a key in keys",
            ),
            ("name: a, allow: [a.io/b], verfy: {}", "verfy"),
            ("name: '', allow: [a.io/b]", "a name of its own"),
        ] {
            let told = parse(&format!("rules: [{{{rule}}}]"), read).unwrap_err();
            assert!(told.contains(words), "{rule}: {told}");
        }
        let twice = "rules: [{name: a, deny: ['**']}, {name: a, deny: ['**']}]";
        assert!(
            parse(twice, read)
                .unwrap_err()
                .contains("a name of its own")
        );
        for text in ["", "{}", "rules: 3"] {
            assert!(parse(text, read).is_err(), "{text:?}");
        }
    }
}
