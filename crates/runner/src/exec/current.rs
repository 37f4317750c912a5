//! The mapping of images to programs that is in force.
//!
//! The operator's file is read at start, when an error in it ends the runner, and checked
//! for changes every [`LOOK_INTERVAL`]: a valid new version replaces the old one between
//! two calls, an invalid one is logged and changes nothing. Objects are applied as they
//! change.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::{
    file,
    table::{self, Complaint, Places, Table, Trouble},
};
use crate::{
    config::Config,
    function_config::{
        choose::{Chosen, Complaints},
        plain::{Executable, Origin},
    },
};

/// How often the file and the executables are looked at. Reading beats asking
/// for notifications: it also works for mounted ConfigMaps and over networks.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// What is known at the moment, and from which text.
#[derive(Debug)]
pub(crate) struct Current {
    source: Source,
    /// What the table is made of. Locked while a table is made.
    inputs: Mutex<Inputs>,
    known: Mutex<InForce>,
    /// What is wrong with objects.
    of_objects: watch::Sender<Complaints>,
}

#[derive(Debug, Default)]
struct Inputs {
    from_file: Vec<Executable>,
    objects: Arc<Chosen>,
    /// Which version of them it is.
    turn: u64,
}

#[derive(Debug)]
struct Source {
    config: PathBuf,
    places: Places,
    default_image_prefix: String,
    max_queued: usize,
    /// Whether there is a pod runtime, which objects may want.
    has_pods: bool,
}

#[derive(Debug, Default)]
struct InForce {
    table: Arc<Table>,
    /// Whether a file was read, ever.
    from_file: bool,
    complaints: Vec<Complaint>,
    /// Why the newest version of the file is not used.
    trouble: Option<String>,
}

impl Source {
    /// The file's text; `None` if there is no such file.
    fn read(&self) -> anyhow::Result<Option<String>> {
        match std::fs::read_to_string(&self.config) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| in_file(&self.config, "cannot read")),
        }
    }
}

fn in_file(path: &Path, what: &str) -> String {
    format!("{what} the exec runtime's configuration {}", path.display())
}

impl Current {
    /// Reads the file.
    pub(super) fn start(config: &Config) -> anyhow::Result<Self> {
        let source = Source {
            config: config.exec.config.clone(),
            places: Places {
                functions: config.exec.functions.clone(),
                allowed: config.exec.allowed_paths.clone(),
                bundled: config.bundled_rules(),
            },
            has_pods: config.runtimes.pod,
            default_image_prefix: config.default_image_prefix.clone(),
            max_queued: config.max_queued_per_function,
        };
        let current = Self {
            source,
            inputs: Mutex::default(),
            known: Mutex::default(),
            of_objects: watch::channel(Complaints::default()).0,
        };
        match current.source.read()? {
            None if config.exec.config_is_required => {
                let path = &current.source.config;
                return Err(anyhow!(
                    "there is no file {}, which --config names",
                    path.display()
                ));
            }
            None => {
                let path = current.source.config.display();
                if config.exec.bundled {
                    tracing::info!("no {path}: bundled functions are used");
                } else {
                    tracing::info!("no {path}: the exec runtime knows no function yet");
                }
                current.set(Vec::new(), false);
            }
            Some(text) => current.update(&text)?,
        }
        Ok(current)
    }

    /// What counts for a call that begins now.
    pub(super) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.known().table)
    }

    /// Calls of one function that may be under way.
    pub(super) fn max_queued(&self) -> usize {
        self.source.max_queued
    }

    fn known(&self) -> MutexGuard<'_, InForce> {
        self.known.lock()
    }

    /// Puts the file's `text` in force.
    fn update(&self, text: &str) -> anyhow::Result<()> {
        let path = &self.source.config;
        let entries = file::parse(text).with_context(|| in_file(path, "cannot parse"))?;
        let prefix = &self.source.default_image_prefix;
        let entries = entries.into_iter().map(|entry| entry.read(prefix));
        self.set(entries.collect(), true);
        Ok(())
    }

    /// Puts these entries of the file in force.
    fn set(&self, entries: Vec<Executable>, is_read: bool) {
        let mut inputs = self.inputs.lock();
        inputs.from_file = entries;
        self.rebuild(&inputs);
        let mut known = self.known();
        known.from_file = is_read;
        known.trouble = None;
    }

    /// From now on these objects count, unless a later turn was quicker. Looks at
    /// files, so not on a thread that others need.
    pub(crate) fn apply(&self, objects: &Arc<Chosen>, turn: u64) {
        let mut inputs = self.inputs.lock();
        if turn > inputs.turn {
            inputs.turn = turn;
            inputs.objects = Arc::clone(objects);
            self.rebuild(&inputs);
        }
    }

    /// What is wrong with objects, whenever that changes.
    pub(crate) fn complaints(&self) -> watch::Receiver<Complaints> {
        self.of_objects.subscribe()
    }

    /// Makes a table, and reports what is new about it.
    fn rebuild(&self, inputs: &Inputs) {
        let source = &self.source;
        // Looks at every executable, which a hung disk may hold up: no call waits
        // for the lock meanwhile.
        let before = self.table();
        let objects = &inputs.objects;
        // Without a pod runtime a bundled function is better than nothing.
        let pods = source.has_pods.then(|| objects.pods.clone());
        let (table, complaints) = table::build(
            inputs.from_file.iter().chain(&objects.executables),
            pods.unwrap_or_default(),
            &source.places,
            source.max_queued,
            &before,
        );
        let mut of_objects = Complaints::default();
        for complaint in &complaints {
            if let Origin::Object(name) = &complaint.origin {
                let told = of_objects.entry(name.clone()).or_default();
                told.push(complaint.to_string());
            }
        }
        self.of_objects.send_if_modified(|known| {
            let is_new = *known != of_objects;
            *known = of_objects;
            is_new
        });
        let mut known = self.known();
        for complaint in complaints
            .iter()
            .filter(|new| !known.complaints.contains(new))
        {
            match complaint.what {
                Trouble::Disabled { .. } => tracing::error!("exec runtime: {complaint}"),
                Trouble::Duplicate { .. } => tracing::warn!("exec runtime: {complaint}"),
            }
        }
        if known.table.images() != table.images() {
            tracing::info!(
                "exec runtime: {} images of {} functions",
                table.images().len(),
                inputs.from_file.len() + objects.executables.len()
            );
        }
        known.table = Arc::new(table);
        known.complaints = complaints;
    }

    /// Looks again and again. Never ends.
    pub(super) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let current = Arc::clone(&self);
            // Files may be on a slow disk.
            let looked = tokio::task::spawn_blocking(move || current.look()).await;
            if let Err(error) = looked {
                tracing::error!(%error, "checking the exec runtime's configuration failed");
            }
        }
    }

    /// Looks at the file again. An executable may also come or go without it.
    fn look(&self) {
        let trouble = match self.source.read() {
            Ok(Some(text)) => self.update(&text).err(),
            // A file that was never there is no news.
            Ok(None) if !self.known().from_file => {
                self.set(Vec::new(), false);
                return;
            }
            Ok(None) => Some(anyhow!("{} is gone", self.source.config.display())),
            Err(error) => Some(error),
        };
        let Some(trouble) = trouble else { return };
        let trouble = format!("{trouble:#}");
        let mut known = self.known();
        if known.trouble.as_ref() != Some(&trouble) {
            tracing::error!("exec runtime: {trouble}; the version read before stays in use");
            known.trouble = Some(trouble);
        }
    }
}

/// The program that an image is, with these entries of a file and these objects.
#[cfg(test)]
pub(crate) fn table_for_tests(
    files: &[(String, Vec<String>)],
    objects: &Chosen,
    image: &str,
) -> Option<String> {
    let entries: Vec<Executable> = (files.iter().cloned())
        .map(|(function, images)| file::Entry::new(&function, images).read(""))
        .collect();
    let places = Places {
        functions: "/bin".into(),
        allowed: Vec::new(),
        bundled: Some(functions::reference::Rules::default()),
    };
    let entries = entries.iter().chain(&objects.executables);
    let before = Table::default();
    let (table, _) = table::build(entries, objects.pods.clone(), &places, 1, &before);
    table.find(image).map(|function| function.program.name())
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
        time::Instant,
    };

    use super::*;
    use crate::function_config::plain::{Bundled, Wanted};

    const FILES: usize = 1000;

    fn entry(number: usize) -> Executable {
        Executable {
            origin: Origin::File,
            wanted: Wanted::File {
                path: format!("function-{}", number % FILES),
                otherwise: Bundled::Named(String::new()),
            },
            images: vec![format!("example.com/function-{number}:v1")],
            profile: process::Profile::default(),
        }
    }

    /// The longest that a call would have waited while a table was made, and how long
    /// that took.
    fn longest_wait(current: &Current, entries: Vec<Executable>) -> (Duration, Duration) {
        let is_made = AtomicBool::new(false);
        thread::scope(|scope| {
            let caller = scope.spawn(|| {
                let mut longest = Duration::ZERO;
                while !is_made.load(Ordering::Acquire) {
                    let begin = Instant::now();
                    drop(current.table());
                    longest = longest.max(begin.elapsed());
                }
                longest
            });
            let begin = Instant::now();
            current.set(entries, true);
            let took = begin.elapsed();
            is_made.store(true, Ordering::Release);
            (caller.join().unwrap(), took)
        })
    }

    #[test]
    fn calls_do_not_wait_while_executables_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let current = Current {
            source: Source {
                config: PathBuf::new(),
                places: Places {
                    functions: folder.path().to_owned(),
                    allowed: Vec::new(),
                    bundled: None,
                },
                default_image_prefix: String::new(),
                max_queued: 1,
                has_pods: false,
            },
            inputs: Mutex::default(),
            known: Mutex::default(),
            of_objects: watch::channel(Complaints::default()).0,
        };
        for number in 0..FILES {
            std::os::unix::fs::symlink(
                "/bin/true",
                folder.path().join(format!("function-{number}")),
            )
            .unwrap();
        }
        let entries: Vec<Executable> = (0..20_000).map(entry).collect();
        // A busy machine may hold up anybody at any time: the best of some attempts.
        let is_good = (0..10).any(|_| {
            let (wait, took) = longest_wait(&current, entries.clone());
            wait < took / 4
        });
        assert!(is_good, "calls wait for as long as it takes");
    }
}
