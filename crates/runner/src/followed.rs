//! Files that are followed: read at start, when an error in them ends the runner, and
//! checked for changes every [`LOOK_INTERVAL`]. A valid new version replaces the old one;
//! an invalid one is reported once and changes nothing.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};

/// As for the exec runtime's file.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Files that make a value together.
pub(crate) trait Files: fmt::Debug + Send + Sync + 'static {
    type Value: fmt::Debug + Send + Sync;

    /// What they say; `None`: still what is `known`. The error names the file.
    fn read(&self, known: Option<&Self::Value>) -> Result<Option<Self::Value>, String>;

    /// Reports a version that counts from now on.
    fn tell(&self, value: &Self::Value);
}

#[derive(Debug)]
pub(crate) struct Followed<F: Files> {
    files: F,
    known: Mutex<LastGood<F::Value>>,
}

#[derive(Debug)]
struct LastGood<V> {
    value: Arc<V>,
    /// Why the newest version is not used.
    trouble: Option<String>,
}

impl<F: Files> Followed<F> {
    pub(crate) fn start(files: F) -> anyhow::Result<Self> {
        let read = files.read(None).map_err(anyhow::Error::msg)?;
        let value = read.ok_or_else(|| anyhow::anyhow!("nothing was read"))?;
        files.tell(&value);
        let known = LastGood {
            value: Arc::new(value),
            trouble: None,
        };
        Ok(Self {
            files,
            known: Mutex::new(known),
        })
    }

    pub(crate) fn value(&self) -> Arc<F::Value> {
        Arc::clone(&self.known().value)
    }

    fn known(&self) -> MutexGuard<'_, LastGood<F::Value>> {
        self.known.lock()
    }

    /// Looks again and again. Never ends.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let followed = Arc::clone(&self);
            // Files may be on a slow disk.
            let looked = tokio::task::spawn_blocking(move || followed.look()).await;
            if let Err(error) = looked {
                tracing::error!(%error, files = ?self.files, "checking files for changes failed");
            }
        }
    }

    /// Looks once. Nobody waits for the disk: the lock is taken afterwards.
    pub(crate) fn look(&self) {
        let read = self.files.read(Some(&self.value()));
        let mut known = self.known();
        match read {
            Ok(new) => {
                if let Some(value) = new {
                    self.files.tell(&value);
                    known.value = Arc::new(value);
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[derive(Debug)]
    struct Number(PathBuf);

    impl Files for Number {
        type Value = u32;

        fn read(&self, known: Option<&u32>) -> Result<Option<u32>, String> {
            let text = std::fs::read_to_string(&self.0).map_err(|error| error.to_string())?;
            let number = text.parse().map_err(|_| format!("{text:?}"))?;
            Ok(Some(number).filter(|number| Some(number) != known))
        }

        fn tell(&self, _: &u32) {}
    }

    #[test]
    fn a_bad_version_changes_nothing_and_a_good_one_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        assert!(
            Followed::start(Number(path.clone())).is_err(),
            "there is none"
        );
        std::fs::write(&path, "1").unwrap();
        let followed = Followed::start(Number(path.clone())).unwrap();
        let first = followed.value();

        std::fs::write(&path, "one").unwrap();
        followed.look();
        assert_eq!(*followed.value(), 1);
        assert_eq!(followed.known().trouble.as_deref(), Some("\"one\""));
        std::fs::remove_file(&path).unwrap();
        followed.look();
        assert_eq!(*followed.value(), 1, "also if it is gone");

        std::fs::write(&path, "1").unwrap();
        followed.look();
        assert!(Arc::ptr_eq(&followed.value(), &first), "the same is kept");
        assert_eq!(followed.known().trouble, None);
        std::fs::write(&path, "2").unwrap();
        followed.look();
        assert_eq!(*followed.value(), 2);
    }
}
