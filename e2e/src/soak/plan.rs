//! What happens in a soak, and when: decided before it begins, by nothing but the seed and the
//! length.
//!
//! ```text
//! warm-up ─ rest ─ round ─ rest ─ round ─ rest …      load and faults, then a look at what is left
//!
//! a round:  surroundings  ──[API slow]─────[a runner is replaced]──[names fail]───  calm
//!           blows         ─x────x──────x───────x──────────x──────────────x────────  calm
//! ```
//! Two lanes, so that pods are lost while their surroundings are in trouble; one fault at a time in
//! each, so that a failure has at most two causes.

use std::fmt;
use std::time::Duration;

use cluster::component::Component;
use fastrand::Rng;

use super::call::Script;
use super::fault::{Aim, Blow, Fault, Followed, Time};
use crate::api_proxy::Manner;
use crate::name_server::Answers;

/// Of its length, so much is warm-up: ten minutes of an hour.
const WARM_UP: u32 = 6;

/// In a short soak it takes longer: a function that has never run does not show what it keeps.
const LEAST_WARM_UP: Duration = Duration::from_secs(60);

/// Rounds are about this long in a short soak, and there are at most so many of them in a long one.
const ROUND: Duration = Duration::from_secs(75);
const MOST_ROUNDS: u64 = 10;

/// The end of each round, in which nothing else goes wrong.
const CALM: Duration = Duration::from_secs(8);

/// The whole of a soak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub(crate) seed: u64,
    /// The first one is the warm-up. After each there is a rest, in which what is left is counted.
    pub(crate) rounds: Vec<Round>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) lasts: Duration,
    /// Trouble around pods, and with their runners.
    pub(crate) surroundings: Vec<Planned>,
    /// Trouble with pods themselves, and with what runners follow.
    pub(crate) blows: Vec<Planned>,
}

/// A fault at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Since the round began.
    pub(crate) at: Duration,
    /// Zero if it is over at once, or takes the time that it takes.
    pub(crate) lasts: Duration,
    pub(crate) fault: Fault,
}

/// What may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Also the node, which nobody else uses meanwhile.
    Node,
    /// Only what belongs to the soak itself.
    Own,
}

impl Plan {
    #[must_use]
    pub fn draw(seed: u64, length: Duration, reach: Reach) -> Self {
        let mut rng = Rng::with_seed(seed);
        let (mut surroundings, mut blows) =
            (Deck::new(surroundings(reach)), Deck::new(blows(reach)));
        let warm_up = (length / WARM_UP).max(LEAST_WARM_UP).min(length / 2);
        let count = ((length - warm_up).as_secs() / ROUND.as_secs()).clamp(2, MOST_ROUNDS);
        let each = (length - warm_up) / u32::try_from(count).unwrap_or(1);
        let lengths = std::iter::once(warm_up).chain((0..count).map(|_| each));
        let rounds = lengths
            .map(|lasts| {
                let until = lasts.saturating_sub(CALM);
                Round {
                    lasts,
                    surroundings: lane(&mut rng, until, &mut surroundings, 2..6),
                    blows: lane(&mut rng, until, &mut blows, 5..11),
                }
            })
            .collect();
        Self { seed, rounds }
    }

    /// All faults, with the number of their round.
    pub(crate) fn faults(&self) -> impl Iterator<Item = (usize, &Planned)> {
        let rounds = self.rounds.iter().enumerate();
        rounds.flat_map(|(number, round)| round.in_order().into_iter().map(move |it| (number, it)))
    }
}

impl Round {
    fn in_order(&self) -> Vec<&Planned> {
        let mut all: Vec<&Planned> = self.surroundings.iter().chain(&self.blows).collect();
        all.sort_by_key(|planned| planned.at);
        all
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length: Duration = self.rounds.iter().map(|round| round.lasts).sum();
        writeln!(
            formatter,
            "seed {}: {} of load in {} rounds, {} faults",
            self.seed,
            Time(length),
            self.rounds.len(),
            self.faults().count()
        )?;
        for (number, planned) in self.faults() {
            write!(formatter, "  round {number:>2} {:>8}", Time(planned.at))?;
            if planned.lasts.is_zero() {
                write!(formatter, "{:>12}", "")?;
            } else {
                write!(formatter, " for {:>7}", Time(planned.lasts))?;
            }
            writeln!(formatter, "  {}", planned.fault)?;
        }
        Ok(())
    }
}

/// Kinds of faults with the seconds that each may last. Every kind is drawn before one is drawn
/// twice, so that also a short soak meets most of them.
struct Deck {
    kinds: Vec<Kind>,
    left: Vec<Kind>,
}

type Kind = (fn(&mut Rng) -> Fault, std::ops::Range<u64>);

impl Deck {
    fn new(kinds: Vec<Kind>) -> Self {
        Self {
            kinds,
            left: Vec::new(),
        }
    }

    fn draw(&mut self, rng: &mut Rng) -> (Fault, Duration) {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
            rng.shuffle(&mut self.left);
        }
        let (make, seconds) = self.left.pop().expect("a deck has kinds");
        let fault = make(rng);
        (fault, duration(rng, seconds))
    }
}

fn duration(rng: &mut Rng, seconds: std::ops::Range<u64>) -> Duration {
    if seconds.is_empty() {
        return Duration::ZERO;
    }
    Duration::from_millis(rng.u64(seconds.start * 1000..seconds.end * 1000))
}

fn lane(
    rng: &mut Rng,
    until: Duration,
    deck: &mut Deck,
    gap: std::ops::Range<u64>,
) -> Vec<Planned> {
    let mut planned = Vec::new();
    let mut at = duration(rng, 1..4);
    loop {
        let (fault, lasts) = deck.draw(rng);
        if at + lasts > until {
            return planned;
        }
        planned.push(Planned { at, lasts, fault });
        at += lasts + duration(rng, gap.clone());
    }
}

fn surroundings(reach: Reach) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = vec![
        (
            |rng| Fault::Api(Manner::Slow(Duration::from_millis(rng.u64(200..1000)))),
            4..12,
        ),
        (|_| Fault::Api(Manner::Refusing), 3..10),
        (|_| Fault::Api(Manner::Unwatched), 3..10),
        (
            |rng| Fault::Names(Answers::Late(Duration::from_millis(rng.u64(200..1500)))),
            4..12,
        ),
        (|_| Fault::Names(Answers::Failures), 3..10),
        (|_| Fault::Names(Answers::Silence), 3..10),
        (|_| Fault::Replaced, 0..0),
        (|_| Fault::Crashed, 0..0),
        (|_| Fault::Broken(Followed::Policy), 4..8),
        (|_| Fault::Broken(Followed::ExecConfig), 4..8),
        (|_| Fault::Broken(Followed::CacheConfig), 4..8),
        (|_| Fault::Broken(Followed::Template), 6..9),
    ];
    if reach == Reach::Node {
        let node: [Kind; 5] = [
            (|_| Fault::Stopped(Component::ApiServer), 3..12),
            (|_| Fault::Frozen(Component::ApiServer), 3..12),
            (|_| Fault::Stopped(Component::OpenRegistry), 3..10),
            (|_| Fault::Stopped(Component::Kubelet), 3..10),
            (|_| Fault::Stopped(Component::Containerd), 1..4),
        ];
        kinds.extend(node);
    }
    kinds
}

fn blows(reach: Reach) -> Vec<Kind> {
    fn one(rng: &mut Rng) -> Aim {
        Aim::One(Script::ALL[rng.usize(..Script::ALL.len())])
    }
    let mut kinds: Vec<Kind> = vec![
        (|rng| Fault::Pods(Blow::Delete, one(rng)), 0..0),
        (|_| Fault::Pods(Blow::Delete, Aim::All), 0..0),
        (|rng| Fault::Pods(Blow::Evict, one(rng)), 0..0),
        (|rng| Fault::Pods(Blow::Fail, one(rng)), 0..0),
        (|rng| Fault::Pods(Blow::Unserve, one(rng)), 0..0),
        (|rng| Fault::Pods(Blow::Kill, one(rng)), 0..0),
        (|_| Fault::Pods(Blow::Kill, Aim::All), 0..0),
        (|rng| Fault::Pods(Blow::Pause, one(rng)), 2..8),
        (|_| Fault::Pods(Blow::Pause, Aim::All), 1..4),
        (|_| Fault::Changed(Followed::Policy), 0..0),
        (|_| Fault::Changed(Followed::ExecConfig), 0..0),
        (|_| Fault::Changed(Followed::CacheConfig), 0..0),
        (|_| Fault::Changed(Followed::Template), 0..0),
        (
            |rng| Fault::TagMoved(Script::ALL[rng.usize(..Script::ALL.len())]),
            0..0,
        ),
        (|_| Fault::Strangers, 3..10),
    ];
    if reach == Reach::Node {
        kinds.push((|_| Fault::Changed(Followed::FunctionConfig), 0..0));
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_secs(180);

    #[test]
    fn the_plan_is_a_function_of_its_seed() {
        assert_eq!(
            Plan::draw(5, HOUR, Reach::Node),
            Plan::draw(5, HOUR, Reach::Node)
        );
        assert_ne!(
            Plan::draw(5, HOUR, Reach::Node).rounds,
            Plan::draw(6, HOUR, Reach::Node).rounds
        );
    }

    #[test]
    fn a_sixth_is_warm_up_or_a_minute_and_the_rest_is_rounds_that_are_compared() {
        let hour = Plan::draw(1, HOUR, Reach::Node);
        assert_eq!(hour.rounds[0].lasts, HOUR / 6);
        assert_eq!(hour.rounds.len(), 11);
        let short = Plan::draw(1, SHORT, Reach::Node);
        assert_eq!(short.rounds.len(), 3, "two rests after that of the warm-up");
        let all: Duration = short.rounds.iter().map(|round| round.lasts).sum();
        assert_eq!(all, SHORT);
    }

    #[test]
    fn faults_of_a_lane_never_overlap_and_each_round_ends_calmly() {
        for seed in 0..50 {
            for round in Plan::draw(seed, SHORT, Reach::Node).rounds {
                for lane in [&round.surroundings, &round.blows] {
                    let mut free = Duration::ZERO;
                    for planned in lane {
                        assert!(planned.at >= free, "seed {seed}: {planned:?}");
                        free = planned.at + planned.lasts;
                    }
                    assert!(free + CALM <= round.lasts, "seed {seed}: {free:?}");
                }
            }
        }
    }

    #[test]
    fn an_hour_has_every_kind_of_fault_many_times() {
        let plan = Plan::draw(1, HOUR, Reach::Node);
        for kind in surroundings(Reach::Node).iter().chain(&blows(Reach::Node)) {
            let wanted = std::mem::discriminant(&(kind.0)(&mut Rng::with_seed(1)));
            let count = plan
                .faults()
                .filter(|(_, planned)| std::mem::discriminant(&planned.fault) == wanted)
                .count();
            assert!(
                count >= 10,
                "{count} times {}",
                (kind.0)(&mut Rng::with_seed(1))
            );
        }
    }

    #[test]
    fn a_soak_beside_others_leaves_the_node_alone() {
        let plan = Plan::draw(1, HOUR, Reach::Own);
        let breaks_node = |(_, planned): (usize, &Planned)| planned.fault.breaks_node();
        assert!(!plan.faults().any(breaks_node));
        assert!(Plan::draw(1, HOUR, Reach::Node).faults().any(breaks_node));
    }
}
