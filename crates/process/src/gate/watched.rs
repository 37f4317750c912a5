//! One running call, watched by the gate: how many processes it has, how much memory
//! they have together, and whether they use a processor. How much they wrote is measured
//! elsewhere: see [`super::files`].

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::process::Pid;
use tokio::sync::oneshot;

use super::{
    Over,
    files::Files,
    plan::{Seen, Ticket},
};
use crate::{
    children::Call,
    confine::{
        self, PROCESSES, Profile, Scratch,
        limits::{self, Mark},
    },
    error::Bound,
    strays::{self, CallId},
    sys,
};

/// How often the processes of a call are counted anew; between that those known
/// are looked at. Counting takes a read for each of their threads.
const COUNT_EVERY: Duration = Duration::from_millis(300);

/// What is watched: a call's processes, and where they write.
#[derive(Debug)]
pub(crate) struct Subject {
    leader: Pid,
    call: CallId,
    /// Its temporary files, and how many bytes they may have.
    scratch: Option<(PathBuf, u64)>,
}

impl Subject {
    pub(crate) fn new(call: &Call, scratch: Option<&Scratch>) -> Self {
        Self {
            leader: call.leader(),
            call: call.id(),
            scratch: scratch.map(|scratch| (scratch.path().to_owned(), scratch.most())),
        }
    }

    pub(super) fn leader(&self) -> Pid {
        self.leader
    }

    /// Whether it has temporary files.
    pub(super) fn writes(&self) -> bool {
        self.scratch.is_some()
    }
}

pub(super) struct Watched {
    profile: Option<Profile>,
    subject: Option<Subject>,
    processes: Vec<Pid>,
    counted: Option<Instant>,
    looked: Instant,
    processor_time: Duration,
    peak: u64,
    end: Option<oneshot::Sender<Over>>,
}

impl Watched {
    pub(super) fn new(profile: Option<Profile>, end: oneshot::Sender<Over>) -> Self {
        Self {
            profile,
            subject: None,
            processes: Vec::new(),
            counted: None,
            looked: Instant::now(),
            processor_time: Duration::ZERO,
            peak: 0,
            end: Some(end),
        }
    }

    pub(super) fn begin(&mut self, subject: Subject) {
        self.subject = Some(subject);
        self.looked = Instant::now();
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// For asking it to end, once.
    pub(super) fn end(&mut self) -> Option<oneshot::Sender<Over>> {
        self.end.take()
    }

    /// Whether its processes have to be counted anew.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let is_old = |counted| now.saturating_duration_since(counted) >= COUNT_EVERY;
        self.subject.is_some() && self.counted.is_none_or(is_old)
    }

    /// Counts its processes: those below the leader, and those that came to us
    /// because their parent has ended, which are among `adopted`.
    pub(super) fn count(&mut self, adopted: &[(Pid, Mark)], now: Instant) {
        let Some(subject) = &self.subject else { return };
        let leader = subject.leader;
        // Those seen before stay in view when their parent has ended.
        let lives = |pid: &Pid| *pid != leader && strays::own_memory(*pid) > 0;
        self.processes.retain(lives);
        self.processes.insert(0, leader);
        let mark = Mark::of(subject.call);
        for (pid, _) in adopted.iter().filter(|(_, theirs)| *theirs == mark) {
            if !self.processes.contains(pid) {
                self.processes.push(*pid);
            }
        }
        let known = self.processes.len();
        // One more than allowed shows that there are too many.
        let most = self.most_processes() + 1;
        grow(&mut self.processes, most);
        let limits = confine::limits_of(self.profile.as_ref());
        for pid in self.processes.iter().skip(known) {
            // It was started in the moment before its parent got the call's limits.
            if limits::mark_of(*pid).is_none() {
                limits::mark(*pid, subject.call);
                limits.give(*pid);
            }
        }
        if self.counted.is_none() {
            // What they start from now on inherits it.
            self.processes
                .iter()
                .for_each(|pid| sys::make_first_to_go(*pid));
        }
        self.counted = Some(now);
    }

    fn most_processes(&self) -> usize {
        let profile = self.profile.as_ref();
        profile.map_or(PROCESSES, |profile| profile.processes)
    }

    /// `None`: it has not been started yet.
    pub(super) fn look(&mut self, ticket: Ticket, now: Instant) -> Option<Seen> {
        self.subject.as_ref()?;
        let memory = self.processes.iter().map(|pid| strays::own_memory(*pid));
        let memory = memory.sum();
        self.peak = self.peak.max(memory);
        let times = self.processes.iter().map(|pid| sys::processor_time(*pid));
        let processor_time: Duration = times.flatten().sum();
        let used = processor_time.saturating_sub(self.processor_time);
        // It used less than a tenth of one processor since the last look.
        let is_busy = used * 10 >= now.saturating_duration_since(self.looked);
        self.processor_time = processor_time;
        self.looked = now;
        if let Some(bound) = self.over(memory)
            && let Some(end) = self.end()
        {
            // Its caller may have gone meanwhile.
            let _ = end.send(Over::Bound(bound));
        }
        Some(Seen {
            ticket,
            memory,
            is_busy,
        })
    }

    /// What it has too much of, of what its profile bounds.
    fn over(&self, memory: u64) -> Option<Bound> {
        let profile = self.profile.as_ref()?;
        if let Some(most) = profile.memory.filter(|most| memory > *most) {
            return Some(Bound::Memory { had: memory, most });
        }
        let (had, most) = (self.processes.len(), profile.processes);
        (had > most).then_some(Bound::Processes { had, most })
    }

    /// Its temporary files, unless it has to end anyway.
    pub(super) fn files(&self) -> Option<Files> {
        let (path, most) = self.subject.as_ref()?.scratch.as_ref()?;
        self.end.as_ref()?;
        Some(Files {
            path: path.clone(),
            most: *most,
            processes: self.processes.clone(),
        })
    }
}

/// Adds the descendants of the processes, up to this number.
fn grow(tree: &mut Vec<Pid>, most: usize) {
    let mut next = 0;
    while next < tree.len() && tree.len() < most {
        for child in strays::children(tree[next]) {
            if !tree.contains(&child) {
                tree.push(child);
            }
        }
        next += 1;
    }
    tree.truncate(most);
}
