//! One running call under the eyes of the gate: how much memory its processes
//! have together, and whether they use a processor.

use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::sync::oneshot;

use super::{
    Outgrown,
    plan::{Seen, Ticket},
};
use crate::{strays, sys};

/// How often the processes of a call are counted anew; between that those known
/// are looked at. Counting takes a read for each of their threads.
const COUNT_EVERY: Duration = Duration::from_millis(300);

/// Most processes of one call that are looked at.
const PROCESSES: usize = 64;

pub(super) struct Watched {
    leader: Option<Pid>,
    processes: Vec<Pid>,
    counted: Option<Instant>,
    looked: Instant,
    processor_time: Duration,
    peak: u64,
    end: Option<oneshot::Sender<Outgrown>>,
}

impl Watched {
    pub(super) fn new(end: oneshot::Sender<Outgrown>) -> Self {
        Self {
            leader: None,
            processes: Vec::new(),
            counted: None,
            looked: Instant::now(),
            processor_time: Duration::ZERO,
            peak: 0,
            end: Some(end),
        }
    }

    pub(super) fn begin(&mut self, leader: Pid) {
        self.leader = Some(leader);
        self.looked = Instant::now();
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// For telling it to end, once.
    pub(super) fn end(&mut self) -> Option<oneshot::Sender<Outgrown>> {
        self.end.take()
    }

    /// `None`: it has not been started yet.
    pub(super) fn look(&mut self, ticket: Ticket, now: Instant) -> Option<Seen> {
        let leader = self.leader?;
        let is_old = |counted| now.saturating_duration_since(counted) >= COUNT_EVERY;
        if self.counted.is_none_or(is_old) {
            // Those seen before stay in view when their parent has ended.
            let lives = |pid: &Pid| *pid != leader && strays::own_memory(*pid) > 0;
            self.processes.retain(lives);
            self.processes.insert(0, leader);
            grow(&mut self.processes);
            if self.counted.is_none() {
                // What they start from now on inherits it.
                let tree = self.processes.iter();
                tree.for_each(|pid| sys::make_first_to_go(*pid));
            }
            self.counted = Some(now);
        }
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
        Some(Seen {
            ticket,
            memory,
            is_busy,
        })
    }
}

/// Adds everything below the processes given.
fn grow(tree: &mut Vec<Pid>) {
    let mut next = 0;
    while next < tree.len() && tree.len() < PROCESSES {
        for child in strays::children(tree[next]) {
            if !tree.contains(&child) {
                tree.push(child);
            }
        }
        next += 1;
    }
    tree.truncate(PROCESSES);
}
