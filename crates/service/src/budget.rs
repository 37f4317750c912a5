//! How much of the memory calls in flight may hold: what a request brings until
//! its list is handed on, what an answer takes until it has left. A request for
//! more than is left is refused before its bytes are read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use metrics::budget;
use parking_lot::{Mutex, MutexGuard};

/// What a call costs besides its list: tasks, buffers, headers of up to 16 KiB.
/// It bounds how many calls may be open that send nothing.
pub(crate) const PER_CALL: u64 = 16 * 1024;

/// A bound that calls share.
#[derive(Debug)]
pub(crate) struct Budget {
    most: u64,
    used: Mutex<Used>,
}

/// What calls in flight hold.
#[derive(Debug, Default, Clone, Copy)]
struct Used {
    /// For being there.
    calls: u64,
    /// Lists and answers.
    lists: u64,
}

impl Used {
    fn show(self) {
        budget::USED.of(budget::Part::Requests).set(self.sum());
    }

    fn sum(self) -> u64 {
        self.calls.saturating_add(self.lists)
    }

    /// Whether another call may begin. One always may.
    fn admits_call(self, most: u64) -> bool {
        self.calls == 0 || self.sum().saturating_add(PER_CALL) <= most
    }

    /// Whether a list of this size may come in. While there is no other it
    /// may, whatever its size: the message limit bounds it, and refusing it now
    /// would mean refusing it always.
    fn admits_list(self, bytes: u64, most: u64) -> bool {
        self.lists == 0 || self.sum().saturating_add(bytes) <= most
    }
}

/// Too much is in flight already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "calls in flight hold {in_flight} bytes, and the {wanted} bytes of this one would be more than \
     the {most} bytes that are set aside for requests (a quarter of the memory limit); try again \
     later, or raise the container's memory limit, or --memory-budget where there is none"
)]
pub(crate) struct Exhausted {
    wanted: u64,
    in_flight: u64,
    most: u64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Arc<Self> {
        budget::LIMIT.of(budget::Part::Requests).set(most);
        Arc::new(Self {
            most,
            used: Mutex::default(),
        })
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        // Two numbers are right also if somebody panicked elsewhere.
        self.used.lock()
    }

    fn exhausted(&self, wanted: u64, used: Used) -> Exhausted {
        Exhausted {
            wanted,
            in_flight: used.sum(),
            most: self.most,
        }
    }

    pub(crate) fn most(&self) -> u64 {
        self.most
    }
}

/// What one call holds. Dropping it gives that back.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    list: AtomicU64,
}

impl Reservation {
    /// For a call whose list has not come yet.
    pub(crate) fn new(budget: &Arc<Budget>) -> Result<Self, Exhausted> {
        let mut used = budget.used();
        if !used.admits_call(budget.most) {
            return Err(budget.exhausted(PER_CALL, *used));
        }
        used.calls += PER_CALL;
        used.show();
        drop(used);
        Ok(Self {
            budget: Arc::clone(budget),
            list: AtomicU64::new(0),
        })
    }

    /// Before a list of this size comes in.
    pub(crate) fn list(&self, bytes: u64) -> Result<(), Exhausted> {
        let mut used = self.budget.used();
        if !used.admits_list(bytes, self.budget.most) {
            return Err(self.budget.exhausted(bytes, *used));
        }
        used.lists += bytes;
        used.show();
        self.list.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// The list is gone, and an answer of this size is there. It exists by
    /// now, so it is counted and never refused.
    pub(crate) fn answer(&self, bytes: u64) {
        let mut used = self.budget.used();
        let before = self.list.swap(bytes, Ordering::Relaxed);
        used.lists = used.lists - before + bytes;
        used.show();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut used = self.budget.used();
        used.calls -= PER_CALL;
        used.lists -= self.list.load(Ordering::Relaxed);
        used.show();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1_000_000;

    fn call(budget: &Arc<Budget>, list: u64) -> Result<Reservation, Exhausted> {
        let call = Reservation::new(budget)?;
        call.list(list)?;
        Ok(call)
    }

    #[test]
    fn calls_share_the_budget_and_give_it_back() {
        let budget = Budget::new(10 * MEGABYTE);
        let first = call(&budget, 4 * MEGABYTE).unwrap();
        let second = call(&budget, 5 * MEGABYTE).unwrap();
        let refused = call(&budget, MEGABYTE).unwrap_err();
        let in_flight = 9 * MEGABYTE + 3 * PER_CALL;
        assert_eq!(refused.in_flight, in_flight);
        let words = refused.to_string();
        for part in [
            &in_flight.to_string(),
            "1000000",
            "10000000",
            "--memory-budget",
        ] {
            assert!(words.contains(part), "{words}");
        }
        drop(first);
        let third = call(&budget, 4 * MEGABYTE).unwrap();
        drop((second, third));
        assert_eq!(budget.used().sum(), 0);
    }

    #[test]
    fn one_call_may_always_come_in_also_beside_calls_that_send_nothing() {
        let budget = Budget::new(PER_CALL);
        let idle = Reservation::new(&budget).unwrap();
        Reservation::new(&budget).unwrap_err();
        idle.list(100 * MEGABYTE).unwrap();
        drop(idle);
        call(&budget, 100 * MEGABYTE).unwrap();
    }

    #[test]
    fn an_answer_takes_the_place_of_its_list() {
        let budget = Budget::new(10 * MEGABYTE);
        let first = call(&budget, 4 * MEGABYTE).unwrap();
        first.answer(9 * MEGABYTE);
        call(&budget, 2 * MEGABYTE).unwrap_err();
        first.answer(MEGABYTE);
        call(&budget, 8 * MEGABYTE).unwrap();
    }
}
