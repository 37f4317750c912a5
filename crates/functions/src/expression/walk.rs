//! Matching that reads the clock.
//!
//! The engine of the `regex` crate is fast on most texts, but cannot be stopped: with a
//! hostile expression it looks at all of its states at each byte. Where that could take
//! long, this walk does the same in steps that are counted. It is Pike's: all ways
//! through the expression at once, the preferred one first.

use std::cell::RefCell;

use regex_automata::{
    nfa::thompson::{NFA, State},
    util::primitives::StateID,
};

use crate::meter;

/// Bytes of text, counted from its beginning: where each group begins and ends.
pub(super) type Slots = Vec<Option<usize>>;

/// How many steps are made between two looks at the clock: some tenths of a millisecond.
const STEPS_PER_LOOK: usize = 1 << 14;

/// Copying so many positions takes as long as a step.
const SLOTS_PER_STEP: usize = 16;

/// An expression for walks, with the room that they need: once without places of groups,
/// and once with them.
pub(super) struct Walker {
    nfa: NFA,
    rooms: [RefCell<Option<[Reached; 2]>>; 2],
}

impl Walker {
    pub(super) fn new(nfa: NFA) -> Self {
        let rooms = Default::default();
        Self { nfa, rooms }
    }

    /// Finds the first match: the places of its groups if `with_groups`, else no places.
    /// `None` without a match, and once the run is over.
    pub(super) fn find(&self, text: &str, with_groups: bool) -> Option<Slots> {
        let slots = if with_groups {
            self.nfa.group_info().slot_len()
        } else {
            0
        };
        let states = self.nfa.states().len();
        let mut room = self.rooms[usize::from(with_groups)].borrow_mut();
        // Charged before it is made: with many groups it is large.
        if room.is_none() && !meter::charge(2 * Reached::size(states, slots)) {
            return None;
        }
        let [here, next] =
            room.get_or_insert_with(|| [(); 2].map(|()| Reached::new(states, slots)));
        let mut walk = Walk {
            nfa: &self.nfa,
            text,
            slots,
            current: vec![None; slots],
            branches: Vec::new(),
            steps: 0,
        };
        here.clear();
        next.clear();
        walk.run(here, next)
    }
}

/// One search.
struct Walk<'a> {
    nfa: &'a NFA,
    text: &'a str,
    /// How many positions are kept for each way.
    slots: usize,
    /// The positions of the way that is being followed.
    current: Slots,
    /// What is left to do of it: ways that branched off, and slots to be restored.
    branches: Vec<Branch>,
    steps: usize,
}

enum Branch {
    State(StateID),
    Restore(usize, Option<usize>),
}

/// The states that are reached at one position.
struct Reached {
    /// Those that need a byte, or are a match, the preferred ones first.
    order: Vec<StateID>,
    /// The last position at which each was reached.
    reached_at: Vec<usize>,
    slots: Slots,
}

impl Reached {
    fn new(states: usize, slots: usize) -> Self {
        Self {
            order: Vec::with_capacity(states),
            reached_at: vec![usize::MAX; states],
            slots: vec![None; states * slots],
        }
    }

    fn size(states: usize, slots: usize) -> usize {
        let slots = slots * size_of::<Option<usize>>();
        states * (size_of::<StateID>() + size_of::<usize>() + slots)
    }

    fn clear(&mut self) {
        self.order.clear();
        self.reached_at.fill(usize::MAX);
    }
}

impl Walk<'_> {
    fn run<'r>(&mut self, mut here: &'r mut Reached, mut next: &'r mut Reached) -> Option<Slots> {
        let mut found = None;
        for at in 0..=self.text.len() {
            if here.order.is_empty() && found.is_some() {
                break;
            }
            // A match begins where a character does.
            if found.is_none() && self.text.is_char_boundary(at) {
                self.current.fill(None);
                self.reach(here, self.nfa.start_anchored(), at);
            }
            for place in 0..here.order.len() {
                let state = here.order[place];
                self.count()?;
                let own = state.as_usize() * self.slots;
                let own = own..own + self.slots;
                if let State::Match { .. } = self.nfa.state(state) {
                    found = Some(here.slots[own].to_vec());
                    // What comes behind is not preferred.
                    break;
                }
                if let Some(to) = self.step(state, at) {
                    self.current.copy_from_slice(&here.slots[own]);
                    self.reach(next, to, at + 1);
                }
            }
            here.order.clear();
            std::mem::swap(&mut here, &mut next);
        }
        found
    }

    /// Where the byte at this place leads.
    fn step(&self, state: StateID, at: usize) -> Option<StateID> {
        let bytes = self.text.as_bytes();
        match self.nfa.state(state) {
            State::ByteRange { trans } => trans.matches(bytes, at).then_some(trans.next),
            State::Sparse(transitions) => transitions.matches(bytes, at),
            State::Dense(transitions) => transitions.matches(bytes, at),
            _ => None,
        }
    }

    /// Marks what is reached from a state without a byte.
    fn reach(&mut self, to: &mut Reached, state: StateID, at: usize) {
        self.branches.push(Branch::State(state));
        while let Some(branch) = self.branches.pop() {
            match branch {
                Branch::Restore(slot, value) => self.current[slot] = value,
                Branch::State(state) => self.follow(to, state, at),
            }
        }
    }

    fn follow(&mut self, to: &mut Reached, mut state: StateID, at: usize) {
        loop {
            self.steps += 1;
            let index = state.as_usize();
            if std::mem::replace(&mut to.reached_at[index], at) == at {
                return;
            }
            match self.nfa.state(state) {
                State::Look { look, next } => {
                    let bytes = self.text.as_bytes();
                    if !self.nfa.look_matcher().matches(*look, bytes, at) {
                        return;
                    }
                    state = *next;
                }
                State::Union { alternates } => {
                    let Some((first, others)) = alternates.split_first() else {
                        return;
                    };
                    let others = others.iter().rev();
                    self.branches
                        .extend(others.map(|other| Branch::State(*other)));
                    state = *first;
                }
                State::BinaryUnion { alt1, alt2 } => {
                    self.branches.push(Branch::State(*alt2));
                    state = *alt1;
                }
                State::Capture { next, slot, .. } => {
                    let slot = slot.as_usize();
                    if let Some(current) = self.current.get_mut(slot) {
                        self.branches.push(Branch::Restore(slot, *current));
                        *current = Some(at);
                    }
                    state = *next;
                }
                State::Fail => return,
                _ => {
                    to.order.push(state);
                    to.slots[index * self.slots..][..self.slots].copy_from_slice(&self.current);
                    self.steps += self.slots / SLOTS_PER_STEP;
                    return;
                }
            }
        }
    }

    /// `None` once the run is over.
    fn count(&mut self) -> Option<()> {
        self.steps += 1;
        if self.steps > STEPS_PER_LOOK {
            self.steps = 0;
            return meter::look().then_some(());
        }
        Some(())
    }
}
