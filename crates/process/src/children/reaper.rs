//! The thread that hears of every child's end, and ends strays.
//!
//! The kernel sends SIGCHLD when a child ends; one signal may stand for several
//! children. The children that we started are checked one by one, because the kernel
//! would name the same one again and again until it is reaped, and a leader is reaped
//! only when its call is dropped. Each end may make further processes our children, so
//! strays are looked for after every end that was not a call's own regular one.

use std::time::Duration;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, kill_process},
};

use super::{Children, State};
use crate::{strays, sys};

/// How often orphans are looked for if nothing is heard: as PID 1 this process
/// may be given some by processes that were started from outside.
const IDLE_LOOK: Duration = Duration::from_secs(5);

/// How soon an orphan's end is looked for that another one may have hidden.
const HIDDEN_LOOK: Duration = Duration::from_millis(20);

/// After this many checks a process without a mark counts as one that has none.
const TRIES: u8 = 3;

impl Children {
    pub(super) fn reap_forever(&self) {
        sys::unblock_child_signal();
        let mut is_something_hidden = false;
        loop {
            let is_rung = self.wait_for_bell(if is_something_hidden {
                HIDDEN_LOOK
            } else {
                IDLE_LOOK
            });
            let mut state = self.state();
            let may_have_strays = self.hear(&mut state) | std::mem::take(&mut state.look_again);
            // It may have rung for a child that is not registered yet.
            state.ring_again = !state.starting.is_empty();
            // While deaths are heard one after the other, one look at the end
            // of them will do.
            let orphans = if is_rung && is_something_hidden {
                Orphans::Hidden
            } else {
                self.reap_orphans(&mut state, !is_rung)
            };
            drop(state);
            is_something_hidden = orphans == Orphans::Hidden;
            if may_have_strays || orphans == Orphans::Reaped {
                self.end_strays();
            }
        }
    }

    /// Waits for the bell, but not longer than `patience`; whether it was rung.
    fn wait_for_bell(&self, patience: Duration) -> bool {
        let mut bell = [PollFd::new(self.bell, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        // Interrupted: by the signal that also rings.
        let _ = poll(&mut bell, patience.as_ref());
        rustix::io::read(self.bell, &mut [0; 8]).is_ok()
    }

    /// Tells the calls whose leader has ended, and reaps it if the call has, too;
    /// whether there were such leaders, which may have left strays.
    fn hear(&self, state: &mut State) -> bool {
        let mut over = Vec::new();
        let State {
            children, calls, ..
        } = state;
        for (pid, child) in children
            .iter_mut()
            .filter(|(_, child)| child.news.is_some())
        {
            let ended = match sys::ended(*pid) {
                Ok(None) => continue,
                Ok(Some(ended)) => Some(ended),
                // Somebody took its status: the call learns that it is lost.
                Err(_) => None,
            };
            let news = child.news.take();
            if let (Some(news), Some(ended)) = (news, ended) {
                // Nobody listens if the caller gave up.
                let _ = news.send(ended);
            }
            // A program that only waited has no group to be ended.
            if !calls.contains(&child.call) || ended.is_none() {
                over.push(*pid);
            }
        }
        for pid in &over {
            self.reap(state, *pid);
        }
        !over.is_empty()
    }

    /// Reaps orphans that have ended. Without `thoroughly` only those that the
    /// kernel names first.
    fn reap_orphans(&self, state: &mut State, thoroughly: bool) -> Orphans {
        let mut found = Orphans::None;
        while let Some(pid) = sys::any_ended_child() {
            if state.children.contains_key(&pid) {
                // Others may be behind it.
                if !thoroughly {
                    return Orphans::Hidden;
                }
                for pid in strays::adopted() {
                    let has_ended = sys::ended(pid).is_ok_and(|ended| ended.is_some());
                    if has_ended && state.is_stray(pid) {
                        self.reap(state, pid);
                        found = Orphans::Reaped;
                    }
                }
                break;
            }
            if !state.is_stray(pid) {
                break;
            }
            self.reap(state, pid);
            found = Orphans::Reaped;
        }
        found
    }

    /// Kills the strays whose call has ended; returns how many there were. They
    /// are reaped by the thread, which looks again then.
    pub(super) fn end_strays(&self) -> usize {
        let adopted = strays::adopted();
        if self.state().all_started(&adopted) {
            return 0;
        }
        // With the state locked nobody reaps, so no number can change its owner.
        let mut state = self.state();
        let mut ended = 0;
        for pid in strays::adopted() {
            if state.is_stray(pid) && self.is_over(&mut state, pid) {
                let _ = kill_process(pid, Signal::KILL);
                ended += 1;
            }
        }
        ended
    }

    /// Whether the call that a stray belongs to has ended. A stray without a mark
    /// belongs to one of the calls that were live when it came: once all of those
    /// have ended, so has its own.
    fn is_over(&self, state: &mut State, stray: Pid) -> bool {
        let Some(known) = state.strays.get_mut(&stray) else {
            return false;
        };
        if known.call.is_none() && known.tries < TRIES {
            known.tries += 1;
            let live = state.calls.iter().chain(&state.waiting).copied();
            known.call = strays::call_of(stray, live);
        }
        let (call, newest) = (known.call, known.newest);
        match call {
            Some(call) => !state.is_live(call),
            None => {
                let oldest = state.calls.first();
                self.began_alone && oldest.is_none_or(|oldest| *oldest > newest)
            }
        }
    }
}

/// What became of orphans that have ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orphans {
    None,
    Reaped,
    /// There may be some behind a leader that is not reaped yet.
    Hidden,
}
