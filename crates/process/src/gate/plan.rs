//! Who may run, who waits, and who has to go: plain data in, actions out.
//!
//! Each call is charged what its program is expected to need, or what it was
//! seen to have, whichever is more. Callers are served in the order in which
//! they came: a large one is not passed by small ones for ever. One call may
//! always run, whatever it needs. A call that does not use the processor does not
//! count among the busy ones, so that functions that sleep do not hold up others.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

pub(super) type Ticket = u64;

/// What calls may use together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Of this process and everything it starts, in bytes.
    pub(super) memory: u64,
    /// Most calls that use a processor when another one begins.
    pub(super) busy: usize,
}

#[derive(Debug)]
pub(super) struct Plan {
    bounds: Bounds,
    /// What this process itself has.
    own: u64,
    /// What processes have that wait for a call.
    ahead: u64,
    queue: VecDeque<(Ticket, u64)>,
    running: BTreeMap<Ticket, Running>,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    expected: u64,
    seen: u64,
    is_busy: bool,
    /// It has been asked to end, and its memory will be free soon.
    is_going: bool,
}

/// What was seen of a running call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) ticket: Ticket,
    pub(super) memory: u64,
    pub(super) is_busy: bool,
}

#[derive(Debug)]
pub(super) enum Event {
    Asked {
        ticket: Ticket,
        expected: u64,
    },
    /// A call has ended, or its caller does not wait any more.
    Left(Ticket),
    Measured {
        own: u64,
        calls: Vec<Seen>,
    },
    Ahead(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Admit(Ticket),
    /// Together the calls have more than there is, and this one is to blame.
    End {
        ticket: Ticket,
        had: u64,
        /// What there was for it beside the others.
        left: u64,
        /// No other call ran: it can never fit.
        was_alone: bool,
    },
}

/// The fastest growth of a process that was seen; a look comes before what is
/// left could be used up.
const BYTES_PER_MILLISECOND: u64 = 2 * 1024 * 1024;
const SHORTEST_LOOK: u64 = 5;
const LONGEST_LOOK: u64 = 100;

impl Plan {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            own: 0,
            ahead: 0,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
        }
    }

    /// What calls may have together: everything but this process's own memory,
    /// that of waiting processes, and a reserve for what is seen too late. At
    /// least half of the whole: a large server should rather be killed by the
    /// system than refuse everything.
    pub(super) fn available(&self) -> u64 {
        let memory = self.bounds.memory;
        let reserve = memory / 16;
        let taken = self.own.saturating_add(self.ahead).saturating_add(reserve);
        memory.saturating_sub(taken).max(memory / 2)
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// What everything has or is expected to have, this process included.
    pub(super) fn used(&self) -> u64 {
        self.own
            .saturating_add(self.ahead)
            .saturating_add(self.charged())
    }

    fn charged(&self) -> u64 {
        let charge = |call: &Running| call.expected.max(call.seen);
        self.running.values().map(charge).sum()
    }

    fn seen(&self) -> u64 {
        self.running.values().map(|call| call.seen).sum()
    }

    pub(super) fn on(&mut self, event: Event) -> Vec<Action> {
        match event {
            Event::Asked { ticket, expected } => self.queue.push_back((ticket, expected)),
            Event::Left(ticket) => {
                self.queue.retain(|(waiting, _)| *waiting != ticket);
                self.running.remove(&ticket);
            }
            Event::Ahead(memory) => self.ahead = memory,
            Event::Measured { own, calls } => {
                self.own = own;
                for seen in calls {
                    if let Some(call) = self.running.get_mut(&seen.ticket) {
                        call.seen = seen.memory;
                        call.is_busy = seen.is_busy;
                    }
                }
            }
        }
        let mut actions = Vec::from_iter(self.end_one());
        self.admit(&mut actions);
        actions
    }

    fn admit(&mut self, actions: &mut Vec<Action>) {
        while let Some((ticket, expected)) = self.queue.front().copied() {
            let busy = self.running.values().filter(|call| call.is_busy).count();
            let fits = self.charged().saturating_add(expected) <= self.available();
            if !self.running.is_empty() && (busy >= self.bounds.busy || !fits) {
                return;
            }
            self.queue.pop_front();
            let call = Running {
                expected,
                seen: 0,
                is_busy: true,
                is_going: false,
            };
            self.running.insert(ticket, call);
            actions.push(Action::Admit(ticket));
        }
    }

    /// Ends the call that has outgrown its expectation the most, the youngest of
    /// several; one at a time, because its memory may be enough.
    fn end_one(&mut self) -> Option<Action> {
        let (seen, available) = (self.seen(), self.available());
        if seen <= available || self.running.values().any(|call| call.is_going) {
            return None;
        }
        let was_alone = self.running.len() == 1;
        let surplus = |call: &Running| call.seen.saturating_sub(call.expected);
        let (ticket, call) = self
            .running
            .iter_mut()
            .max_by_key(|(ticket, call)| (surplus(call), **ticket))?;
        call.is_going = true;
        let others = seen - call.seen;
        Some(Action::End {
            ticket: *ticket,
            had: call.seen,
            left: available.saturating_sub(others),
            was_alone,
        })
    }

    /// When to look again, while something runs.
    pub(super) fn next_look(&self) -> Duration {
        let left = self.available().saturating_sub(self.seen());
        let time = left / BYTES_PER_MILLISECOND;
        Duration::from_millis(time.clamp(SHORTEST_LOOK, LONGEST_LOOK))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        memory: 1600,
        busy: 4,
    };

    fn ask(plan: &mut Plan, ticket: Ticket, expected: u64) -> Vec<Action> {
        plan.on(Event::Asked { ticket, expected })
    }

    fn see(plan: &mut Plan, calls: &[(Ticket, u64, bool)]) -> Vec<Action> {
        let calls = calls.iter().map(|(ticket, memory, is_busy)| Seen {
            ticket: *ticket,
            memory: *memory,
            is_busy: *is_busy,
        });
        let calls = calls.collect();
        plan.on(Event::Measured { own: 0, calls })
    }

    use Action::Admit;

    #[test]
    fn a_large_call_waits_for_room_and_is_not_passed_by_small_ones() {
        let mut plan = Plan::new(BOUNDS);
        assert_eq!(ask(&mut plan, 1, 1000), [Admit(1)]);
        assert_eq!(ask(&mut plan, 2, 1000), []);
        assert_eq!(ask(&mut plan, 3, 10), []);
        assert_eq!(plan.on(Event::Left(1)), [Admit(2), Admit(3)]);
    }

    #[test]
    fn one_call_may_always_run() {
        let mut plan = Plan::new(BOUNDS);
        assert_eq!(ask(&mut plan, 1, 5000), [Admit(1)]);
        assert_eq!(ask(&mut plan, 2, 1), []);
        assert_eq!(plan.on(Event::Left(1)), [Admit(2)]);
    }

    #[test]
    fn calls_that_sleep_do_not_hold_up_others() {
        let mut plan = Plan::new(BOUNDS);
        for ticket in 1..=4 {
            assert_eq!(ask(&mut plan, ticket, 1), [Admit(ticket)]);
        }
        assert_eq!(ask(&mut plan, 5, 1), []);
        assert_eq!(see(&mut plan, &[(1, 1, false), (2, 1, true)]), [Admit(5)]);
    }

    #[test]
    fn a_caller_that_gives_up_makes_room_in_the_queue() {
        let mut plan = Plan::new(BOUNDS);
        ask(&mut plan, 1, 1000);
        ask(&mut plan, 2, 1000);
        ask(&mut plan, 3, 100);
        assert_eq!(plan.on(Event::Left(2)), [Admit(3)]);
        assert_eq!((plan.queued(), plan.running()), (0, 2));
    }

    #[test]
    fn of_calls_that_outgrow_what_there_is_the_one_that_was_expected_to_need_less_goes() {
        let mut plan = Plan::new(BOUNDS);
        ask(&mut plan, 1, 900);
        ask(&mut plan, 2, 100);
        let end = Action::End {
            ticket: 2,
            had: 700,
            left: 600,
            was_alone: false,
        };
        assert_eq!(see(&mut plan, &[(1, 900, true), (2, 700, true)]), [end]);
        // Its memory is about to be free: nobody else goes meanwhile.
        assert_eq!(see(&mut plan, &[(1, 900, true), (2, 800, true)]), []);
        assert_eq!(plan.on(Event::Left(2)), []);
        let end = Action::End {
            ticket: 1,
            had: 1501,
            left: 1500,
            was_alone: true,
        };
        assert_eq!(see(&mut plan, &[(1, 1501, true)]), [end]);
    }

    #[test]
    fn what_is_seen_counts_against_later_calls() {
        let mut plan = Plan::new(BOUNDS);
        ask(&mut plan, 1, 100);
        see(&mut plan, &[(1, 1400, true)]);
        assert_eq!(ask(&mut plan, 2, 200), []);
        assert_eq!(plan.on(Event::Ahead(400)).len(), 1);
    }

    #[test]
    fn looks_are_closer_the_less_is_left() {
        let gib = 1 << 30;
        let mut plan = Plan::new(Bounds {
            memory: 4 * gib,
            ..BOUNDS
        });
        ask(&mut plan, 1, 1);
        assert_eq!(plan.next_look(), Duration::from_millis(LONGEST_LOOK));
        see(&mut plan, &[(1, 3 * gib + gib / 2, true)]);
        assert!(plan.next_look() <= Duration::from_millis(130));
        see(&mut plan, &[(1, 15 * gib / 4, true)]);
        assert_eq!(plan.next_look(), Duration::from_millis(SHORTEST_LOOK));
    }

    proptest! {
        #[test]
        fn nobody_waits_while_nothing_runs_and_charges_fit(
            steps in prop::collection::vec((0..3_u8, 0..40_u64, 0..2000_u64, any::<bool>()), 0..60),
        ) {
            let mut plan = Plan::new(BOUNDS);
            let mut admitted = Vec::new();
            let mut asked = Vec::new();
            for (n, (kind, pick, amount, is_busy)) in (0_u64..).zip(steps) {
                let actions = match kind {
                    0 => {
                        asked.push(n);
                        ask(&mut plan, n, amount)
                    }
                    1 => plan.on(Event::Left(pick)),
                    _ => see(&mut plan, &[(pick, amount, is_busy)]),
                };
                for action in actions {
                    if let Admit(ticket) = action {
                        admitted.push(ticket);
                    }
                }
                prop_assert!(plan.queued() == 0 || plan.running() > 0);
                let expected: u64 = plan.running.values().map(|call| call.expected).sum();
                prop_assert!(plan.running() <= 1 || expected <= BOUNDS.memory);
            }
            // In the order in which they came, and each once.
            prop_assert!(admitted.is_sorted_by(|a, b| a < b));
            prop_assert!(admitted.iter().all(|ticket| asked.contains(ticket)));
        }
    }
}
