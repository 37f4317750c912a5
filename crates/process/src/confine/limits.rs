//! How much of each resource the kernel gives a program, and the limit that marks it.
//!
//! Limits belong to a process, not to a thread, so they are set when a program has
//! just been started. A process that the program started before that has the limits of
//! this server until the gate finds it: see [`crate::gate`].

use std::sync::LazyLock;

use rustix::process::{
    Pid, Resource, Rlimit, getpriority_process, getrlimit, prlimit, setpriority_process,
};

use super::scratch;
use crate::{strays::CallId, sys};

/// Most open descriptors: of a program beside this server, and of one in a container
/// of its own.
const DESCRIPTORS: u64 = 4096;
const DESCRIPTORS_IN_CONTAINER: u64 = 65_536;

/// Processor time in seconds, of each process: more than any deadline allows a
/// program on a few processors. For what escapes everything else.
const PROCESSOR_TIME: u64 = 3600;

/// What a program may map beyond the memory that it may have: runtimes such as
/// Go's map more than they use.
const MAPPED_BEYOND: u64 = 1 << 30;

/// How much nicer than this server its programs are.
const NICER: i32 = 5;

/// The limits of one program; all that are `None` are left as they are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    is_confined: bool,
    descriptors: Option<u64>,
    data: Option<u64>,
    processor_time: Option<u64>,
    file: Option<u64>,
}

impl Limits {
    /// For a program beside this server that may have this much memory.
    pub(super) fn beside(memory: u64) -> Self {
        Self {
            is_confined: true,
            descriptors: Some(DESCRIPTORS),
            data: Some(memory.saturating_add(MAPPED_BEYOND)),
            processor_time: Some(PROCESSOR_TIME),
            file: Some(scratch::MOST),
        }
    }

    pub(super) fn in_container() -> Self {
        Self {
            is_confined: true,
            descriptors: Some(DESCRIPTORS_IN_CONTAINER),
            ..Self::default()
        }
    }

    /// Gives a program that was just started its limits. Programs that close or poll
    /// all descriptors that they may have take long with this server's own limit, so
    /// they get back the one that it was given.
    pub(crate) fn give(&self, pid: Pid) {
        let given = sys::given_descriptor_limit();
        let own = given.unwrap_or_else(|| getrlimit(Resource::Nofile));
        let most = |limit: Option<u64>| match (limit, self.descriptors) {
            (Some(limit), Some(most)) => Some(limit.min(most)),
            (limit, most) => limit.or(most),
        };
        if given.is_some() || self.descriptors.is_some() {
            let limit = Rlimit {
                current: most(own.current),
                maximum: most(own.maximum),
            };
            // It may have ended already; so below.
            let _ = prlimit(Some(pid), Resource::Nofile, limit);
        }
        if !self.is_confined {
            return;
        }
        let bounds = [
            (Resource::Core, Some(0)),
            (Resource::Data, self.data),
            (Resource::Cpu, self.processor_time),
            (Resource::Fsize, self.file),
        ];
        for (resource, bound) in bounds {
            // Not above what this server has itself.
            let own = getrlimit(resource).maximum;
            let bound = bound.map(|bound| own.map_or(bound, |own| own.min(bound)));
            if bound.is_some() {
                let limit = Rlimit {
                    current: bound,
                    maximum: bound,
                };
                let _ = prlimit(Some(pid), resource, limit);
            }
        }
        static NICE: LazyLock<i32> =
            LazyLock::new(|| getpriority_process(None).unwrap_or(0) + NICER);
        let _ = setpriority_process(Some(pid), *NICE);
    }
}

/// The limit of bytes in message queues marks the processes of a call: they inherit
/// it, and the filter keeps them from changing it. Nothing else depends on it.
const MARKING: Resource = Resource::Msgqueue;

/// What this server has of it itself; marks are below that.
static UNMARKED: LazyLock<u64> = LazyLock::new(|| {
    // The kernel's default for everybody.
    const DEFAULT: u64 = 819_200;
    getrlimit(MARKING).maximum.unwrap_or(DEFAULT)
});

/// What calls whose numbers are equal in this have in common: their mark.
fn marks() -> u64 {
    UNMARKED.saturating_sub(1).max(1)
}

fn limit_of(call: CallId) -> u64 {
    // As large as can be: a server among these programs marks its own below.
    UNMARKED.saturating_sub(1) - call % marks()
}

/// Marks a program that was just started as part of a call.
pub(crate) fn mark(pid: Pid, call: CallId) {
    let limit = Rlimit {
        current: Some(limit_of(call)),
        maximum: Some(limit_of(call)),
    };
    let _ = prlimit(Some(pid), MARKING, limit);
}

/// The mark of a process, if it has one.
pub(crate) fn mark_of(pid: Pid) -> Option<Mark> {
    let limit = sys::limit_of(pid, MARKING)?;
    (limit < *UNMARKED).then_some(Mark(limit))
}

/// What marks the processes of a call. Of calls that run at the same time each has
/// its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    pub(crate) fn of(call: CallId) -> Self {
        Self(limit_of(call))
    }
}
