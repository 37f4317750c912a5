//! The policy in force: its file and the files of its keys, followed for changes.

use std::path::{Path, PathBuf};

use super::{file, rules::Policy};
use crate::followed::{Files, Followed};

pub(crate) type Current = Followed<PolicyFile>;

/// Keys are named relative to the policy, so that both fit into one ConfigMap.
#[derive(Debug)]
pub(crate) struct PolicyFile(pub(crate) PathBuf);

impl Files for PolicyFile {
    type Value = Policy;

    fn read(&self, known: Option<&Policy>) -> Result<Option<Policy>, String> {
        let path = &self.0;
        let text = |path: &Path| {
            let text = std::fs::read_to_string(path);
            text.map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let policy =
            text(path).and_then(|policy| file::parse(&policy, |key| text(&folder.join(key))));
        let policy = policy.map_err(|why| format!("the image policy {}: {why}", path.display()))?;
        Ok(Some(policy).filter(|policy| Some(policy) != known))
    }

    fn tell(&self, policy: &Policy) {
        let rules = policy.rules.len();
        tracing::info!(path = %self.0.display(), rules, "an image policy is in use");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_anew_when_a_key_or_a_rule_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = PolicyFile(folder.path().join("policy.yaml"));
        let told = file.read(None).unwrap_err();
        assert!(told.contains("policy.yaml: cannot read"), "{told}");
        let write = |rule: &str| std::fs::write(&file.0, format!("rules: [{rule}]")).unwrap();
        write("{name: a, deny: ['**']}");
        let first = file.read(None).unwrap().unwrap();
        assert_eq!(file.read(Some(&first)), Ok(None), "nothing is new");
        write("{name: b, deny: ['**']}");
        assert!(file.read(Some(&first)).unwrap().is_some());
        write("{name: a, allow: [a.io/*], verify: {keys: [missing.pub]}}");
        let told = file.read(Some(&first)).unwrap_err();
        assert!(told.contains("missing.pub"), "{told}");
    }
}
