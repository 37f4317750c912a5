//! The policy that holds at the moment. The file and those of its keys are read at
//! start, when they must be right, and looked at again every [`LOOK_INTERVAL`]: a good
//! new version replaces the old one, a bad one is reported and changes nothing.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{file, rules::Policy};

/// As for the exec runtime's file.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Current {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    policy: Arc<Policy>,
    /// Why the newest version is not used.
    trouble: Option<String>,
}

impl Current {
    /// Reads the file.
    pub(crate) fn start(path: &Path) -> anyhow::Result<Self> {
        let policy = read(path).map_err(anyhow::Error::msg)?;
        tell(path, &policy);
        Ok(Self {
            path: path.to_owned(),
            known: Mutex::new(Known {
                policy: Arc::new(policy),
                trouble: None,
            }),
        })
    }

    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.known().policy)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks again and again. Never ends.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let current = Arc::clone(&self);
            // Files may be on a slow disk.
            let looked = tokio::task::spawn_blocking(move || current.look()).await;
            if let Err(error) = looked {
                tracing::error!(%error, "looking at the image policy failed");
            }
        }
    }

    fn look(&self) {
        let read = read(&self.path);
        let mut known = self.known();
        match read {
            Ok(policy) => {
                if *known.policy != policy {
                    tell(&self.path, &policy);
                    known.policy = Arc::new(policy);
                }
                known.trouble = None;
            }
            Err(trouble) => {
                if known.trouble.as_ref() != Some(&trouble) {
                    tracing::error!("{trouble}; the version read before stays in use");
                    known.trouble = Some(trouble);
                }
            }
        }
    }
}

fn tell(path: &Path, policy: &Policy) {
    let rules = policy.rules.len();
    tracing::info!(path = %path.display(), rules, "an image policy is in use");
}

/// Keys are named relative to the policy, so that both fit into one ConfigMap.
fn read(path: &Path) -> Result<Policy, String> {
    let text = |path: &Path| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let policy = text(path).and_then(|policy| file::parse(&policy, |key| text(&folder.join(key))));
    policy.map_err(|why| format!("the image policy {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_version_changes_nothing_and_a_good_one_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        assert!(Current::start(&path).is_err(), "there is none");
        std::fs::write(&path, "rules: [{name: a, deny: ['**']}]").unwrap();
        let current = Current::start(&path).unwrap();
        let first = current.policy();

        std::fs::write(&path, "rules: [{name: a").unwrap();
        current.look();
        assert_eq!(current.policy(), first);
        assert!(current.known().trouble.is_some());
        std::fs::remove_file(&path).unwrap();
        current.look();
        assert_eq!(current.policy(), first, "also if it is gone");

        std::fs::write(&path, "rules: [{name: b, deny: ['**']}]").unwrap();
        current.look();
        assert_ne!(current.policy(), first);
        assert_eq!(current.known().trouble, None);
    }
}
