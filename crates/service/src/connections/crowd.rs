//! Who is connected. When there are too many, the one that has had no call for the
//! longest time has to leave: connections that somebody opens and forgets must not
//! keep a probe or a caller out.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// Most connections at a time. Porch has one or a few; each costs a descriptor
/// and some kilobytes.
pub(super) const MOST: usize = 2000;

/// All who are connected.
#[derive(Debug, Clone)]
pub(super) struct Crowd(Arc<Mutex<Guests>>);

#[derive(Debug)]
struct Guests {
    most: usize,
    /// Numbers that only grow: who came, or was left without a call, later.
    next: u64,
    present: HashMap<u64, Present>,
}

#[derive(Debug)]
struct Present {
    calls: usize,
    idle_since: u64,
    leave: CancellationToken,
}

impl Guests {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whom to send away to make room for another one.
    fn longest_idle(&self) -> Option<u64> {
        let idle = self.present.iter().filter(|(_, guest)| guest.calls == 0);
        idle.min_by_key(|(_, guest)| guest.idle_since)
            .map(|(id, _)| *id)
    }
}

impl Crowd {
    pub(super) fn new() -> Self {
        Self::of(MOST)
    }

    fn of(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Guests {
            most,
            next: 0,
            present: HashMap::new(),
        })))
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.0.lock()
    }

    pub(super) fn len(&self) -> usize {
        self.guests().present.len()
    }

    /// Another connection; `None` if there is no room and everybody is busy.
    pub(super) fn enter(&self) -> Option<Guest> {
        let mut guests = self.guests();
        if guests.present.len() >= guests.most {
            let leaver = guests.longest_idle()?;
            guests.present.remove(&leaver)?.leave.cancel();
        }
        let id = guests.number();
        let leave = CancellationToken::new();
        let present = Present {
            calls: 0,
            idle_since: id,
            leave: leave.clone(),
        };
        guests.present.insert(id, present);
        drop(guests);
        let place = Place {
            id,
            crowd: self.clone(),
        };
        Some(Guest {
            place: Arc::new(place),
            leave,
        })
    }
}

/// A connection among the others, as long as a clone of this is left.
#[derive(Debug, Clone)]
pub(super) struct Guest {
    place: Arc<Place>,
    leave: CancellationToken,
}

#[derive(Debug)]
struct Place {
    id: u64,
    crowd: Crowd,
}

impl Guest {
    pub(super) async fn asked_to_leave(&self) {
        self.leave.cancelled().await;
    }

    /// A call of this connection is in flight until what this returns is dropped.
    pub(super) fn busy(&self) -> Busy {
        let place = Arc::clone(&self.place);
        if let Some(present) = place.crowd.guests().present.get_mut(&place.id) {
            present.calls += 1;
        }
        Busy(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.guests().present.remove(&self.id);
    }
}

#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut guests = self.0.crowd.guests();
        let now = guests.number();
        if let Some(present) = guests.present.get_mut(&self.0.id) {
            present.calls -= 1;
            present.idle_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_leaving(guest: &Guest) -> bool {
        guest.leave.is_cancelled()
    }

    #[test]
    fn whoever_has_been_idle_longest_makes_room_and_the_busy_ones_stay() {
        let crowd = Crowd::of(3);
        let [first, second, third] = [(); 3].map(|()| crowd.enter().unwrap());
        let call = first.busy();
        drop(second.busy());
        let fourth = crowd.enter().unwrap();
        assert!(is_leaving(&third), "it never had a call");
        drop(call);
        let fifth = crowd.enter().unwrap();
        assert!(is_leaving(&second), "its call ended before the first one's");
        assert!(![&first, &fourth, &fifth].into_iter().any(is_leaving));
        assert_eq!(crowd.len(), 3);
    }

    #[test]
    fn nobody_gets_in_while_all_are_busy_and_a_place_that_is_left_is_free() {
        let crowd = Crowd::of(1);
        let only = crowd.enter().unwrap();
        let call = only.busy();
        assert!(crowd.enter().is_none());
        drop(only);
        assert!(crowd.enter().is_none(), "its call is still in flight");
        drop(call);
        assert_eq!(crowd.len(), 0);
        assert!(crowd.enter().is_some());
    }
}
