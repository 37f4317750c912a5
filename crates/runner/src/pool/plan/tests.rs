//! The rules one by one, on histories written by hand.

mod doubt;
mod replace;
mod start;
mod wave;

use super::{super::state::Outlook, *};

pub(super) const SETTINGS: Settings = Settings {
    ttl: Duration::from_secs(60),
    max_waitlist_length: 2,
    max_pods: 2,
    max_queued: 8,
    is_warm_up: false,
    min_pods: 0,
    revision: 0,
};

pub(super) fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A pool of one function, driven by hand.
#[derive(Default)]
struct Pool(State);

impl Pool {
    fn request(&mut self, caller: u64, settings: Settings) -> Vec<Action> {
        self.request_of("fn", caller, settings, 0)
    }

    fn request_of(
        &mut self,
        function: &str,
        caller: u64,
        settings: Settings,
        now: u64,
    ) -> Vec<Action> {
        self.0.decide(Event::Request {
            caller: CallerId(caller),
            function: function.to_owned(),
            settings,
            avoid: Vec::new(),
            now: at(now),
        })
    }

    /// A caller that was sent to a pod before, in vain.
    fn request_again(&mut self, caller: u64, avoid: u64, settings: Settings) -> Vec<Action> {
        self.0.decide(Event::Request {
            caller: CallerId(caller),
            function: "fn".to_owned(),
            settings,
            avoid: vec![PodId(avoid)],
            now: at(0),
        })
    }

    fn doubted(&mut self, pod: u64) -> Vec<Action> {
        self.0.decide(Event::Doubted { pod: PodId(pod) })
    }

    fn adopted(&mut self, settings: Settings) -> (u64, Vec<Action>) {
        let pod = self.0.next_pod();
        let function = "fn".to_owned();
        let adopted = Event::Adopted {
            function,
            settings,
            pod,
            now: at(0),
        };
        (pod.0, self.0.decide(adopted))
    }

    fn taken(&mut self, pod: u64) -> Vec<Action> {
        let failure = Failure {
            outlook: Outlook::Taken,
            ..Failure::passing("the pod is gone")
        };
        let (pod, now) = (PodId(pod), at(0));
        self.0.decide(Event::Failed { pod, failure, now })
    }

    fn fails(&mut self, pod: u64, now: u64) -> Vec<Action> {
        let failure = Failure::lasting("no such image");
        let (pod, now) = (PodId(pod), at(now));
        self.0.decide(Event::Failed { pod, failure, now })
    }

    fn ready(&mut self, pod: u64) -> Vec<Action> {
        self.0.decide(Event::Ready {
            pod: PodId(pod),
            now: at(0),
        })
    }

    fn failed(&mut self, pod: u64) -> Vec<Action> {
        self.fails(pod, 0)
    }

    fn released(&mut self, caller: u64, pod: u64, now: u64) -> Vec<Action> {
        let (caller, pod) = (CallerId(caller), PodId(pod));
        self.0.decide(Event::Released {
            caller,
            pod,
            now: at(now),
        })
    }

    fn outdated(&mut self, pod: u64, now: u64) -> Vec<Action> {
        let (pod, now) = (PodId(pod), at(now));
        self.0.decide(Event::Outdated { pod, now })
    }

    fn scan(&mut self, now: u64) -> Vec<Action> {
        self.0.decide(Event::Scan { now: at(now) })
    }
}

fn start(pod: u64) -> Action {
    Action::Start {
        pod: PodId(pod),
        function: "fn".into(),
    }
}

fn loan(caller: u64, pod: u64) -> Action {
    Action::Lend {
        caller: CallerId(caller),
        pod: PodId(pod),
    }
}

fn delete(pod: u64) -> Action {
    Action::Delete { pod: PodId(pod) }
}

fn check(pod: u64) -> Action {
    Action::Check { pod: PodId(pod) }
}

fn refuse(caller: u64, refusal: Refusal) -> Action {
    Action::Refuse {
        caller: CallerId(caller),
        refusal,
    }
}

fn told(caller: u64) -> Action {
    refuse(
        caller,
        Refusal::PodFailed(Failure::lasting("no such image")),
    )
}

fn remembered(caller: u64, ago: u64, left: u64) -> Action {
    let failure = Failure::lasting("no such image");
    let (ago, left) = (at(ago), at(left));
    refuse(caller, Refusal::Remembered { failure, ago, left })
}

#[test]
fn the_first_caller_starts_a_pod_and_others_wait_for_it() {
    let mut pool = Pool::default();
    assert_eq!(pool.request(1, SETTINGS), [start(1)]);
    assert_eq!(pool.request(2, SETTINGS), []);
    assert_eq!(pool.ready(1), [loan(1, 1), loan(2, 1)]);
}

#[test]
fn a_busy_pod_gets_company_up_to_the_maximum() {
    let mut pool = Pool::default();
    assert_eq!(pool.request(1, SETTINGS), [start(1)]);
    assert_eq!(pool.request(2, SETTINGS), []);
    assert_eq!(pool.request(3, SETTINGS), [start(2)]);
    assert_eq!(pool.request(4, SETTINGS), []);
    assert_eq!(pool.request(5, SETTINGS), [], "two pods are the most");
    assert_eq!(pool.ready(2), [loan(3, 2), loan(4, 2)]);
}

#[test]
fn the_least_loaded_pod_wins_and_equals_take_turns() {
    let mut pool = Pool::default();
    for caller in 1..=3 {
        pool.request(caller, SETTINGS);
    }
    pool.ready(1);
    pool.ready(2);
    assert_eq!(pool.request(4, SETTINGS), [loan(4, 2)]);
    pool.released(1, 1, 0);
    pool.released(2, 1, 0);
    pool.released(3, 2, 0);
    pool.released(4, 2, 0);
    let mut chosen = Vec::new();
    for caller in 5..=8 {
        chosen.extend(pool.request(caller, SETTINGS));
        let pod = if caller % 2 == 1 { 1 } else { 2 };
        pool.released(caller, pod, 0);
    }
    assert_eq!(chosen, [loan(5, 1), loan(6, 2), loan(7, 1), loan(8, 2)]);
}

#[test]
fn a_full_queue_refuses_and_says_how_full() {
    let mut pool = Pool::default();
    let settings = Settings {
        max_queued: 2,
        ..SETTINGS
    };
    pool.request(1, settings);
    pool.request(2, settings);
    let refusal = Refusal::QueueFull { queued: 2 };
    assert_eq!(
        pool.request(3, settings),
        [Action::Refuse {
            caller: CallerId(3),
            refusal
        }]
    );
}

#[test]
fn a_failed_start_is_told_to_its_waiters_unless_another_pod_takes_them() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.request(2, SETTINGS);
    assert_eq!(pool.failed(1), [delete(1), told(1), told(2)]);
    assert_eq!(pool.failed(1), [], "once");

    pool.0.decide(Event::Changed { function: None });
    pool.request(3, SETTINGS);
    pool.request(4, SETTINGS);
    assert_eq!(pool.request(5, SETTINGS), [start(3)]);
    pool.ready(2);
    assert_eq!(pool.failed(3), [delete(3), loan(5, 2)]);
}

#[test]
fn an_idle_pod_goes_after_its_time_and_use_extends_it() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.ready(1);
    assert_eq!(pool.scan(1000), [], "a busy pod is never too old");
    pool.released(1, 1, 1000);
    assert_eq!(pool.scan(1059), []);
    assert_eq!(pool.scan(1060), [delete(1)]);
    assert_eq!(pool.scan(2000), [], "once");
}

#[test]
fn an_outdated_pod_serves_until_its_replacement_is_ready() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.ready(1);
    assert_eq!(pool.outdated(1, 0), [start(2)]);
    assert_eq!(pool.request(2, SETTINGS), [loan(2, 1)], "nobody waits");
    assert_eq!(
        pool.request(3, SETTINGS),
        [loan(3, 1)],
        "one start is enough"
    );
    assert_eq!(pool.released(3, 1, 0), []);
    assert_eq!(pool.ready(2), []);
    assert_eq!(pool.request(4, SETTINGS), [loan(4, 2)]);
    assert_eq!(pool.released(1, 1, 0), []);
    assert_eq!(pool.released(2, 1, 0), [delete(1)], "with its last call");
}

#[test]
fn a_replacement_that_does_not_come_up_is_tried_again_and_nobody_hears_of_it() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.ready(1);
    assert_eq!(pool.outdated(1, 0), [start(2)]);
    assert_eq!(pool.outdated(1, 0), [], "it is on its way");
    assert_eq!(pool.outdated(2, 0), [delete(2), start(3)], "a newer one");
    assert_eq!(pool.failed(3), [delete(3)]);
    assert_eq!(pool.request(2, SETTINGS), [loan(2, 1)]);
    assert_eq!(pool.outdated(1, 60), [start(4)]);
    assert_eq!(pool.failed(1), [delete(1)]);
    assert_eq!(pool.request(3, SETTINGS), [], "it waits for the new one");
    assert_eq!(pool.ready(4), [loan(3, 4)]);
}

#[test]
fn pods_that_are_outdated_together_get_one_replacement() {
    let mut pool = Pool::default();
    (1..=3).for_each(|caller| drop(pool.request(caller, SETTINGS)));
    pool.ready(1);
    pool.ready(2);
    assert_eq!(pool.outdated(1, 0), [], "the other may be what is wanted");
    assert_eq!(pool.outdated(2, 0), [start(3)]);
    assert_eq!(pool.released(3, 2, 0), []);
    assert_eq!(pool.ready(3), [delete(2)]);
    assert_eq!(pool.released(1, 1, 0), []);
    assert_eq!(pool.released(2, 1, 0), [delete(1)]);
}

#[test]
fn an_outdated_pod_beside_a_current_one_goes_when_it_is_told_again() {
    let mut pool = Pool::default();
    (1..=3).for_each(|caller| drop(pool.request(caller, SETTINGS)));
    pool.ready(1);
    pool.ready(2);
    pool.released(3, 2, 0);
    assert_eq!(pool.outdated(2, 0), []);
    assert_eq!(pool.outdated(2, 60), [delete(2)]);
}

#[test]
fn an_outdated_pod_that_nobody_uses_goes_without_a_replacement() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.ready(1);
    pool.released(1, 1, 0);
    assert_eq!(pool.outdated(1, 60), [delete(1)]);
}

#[test]
fn those_who_wait_for_an_outdated_pod_to_start_get_a_new_one() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    assert_eq!(pool.outdated(1, 0), [delete(1), start(2)]);
    assert_eq!(pool.ready(2), [loan(1, 2)]);
}

#[test]
fn a_warm_function_has_one_pod_before_anybody_asks() {
    let mut pool = Pool::default();
    let warm = || Event::Warm {
        function: "fn".into(),
        settings: SETTINGS,
        now: at(0),
    };
    assert_eq!(pool.0.decide(warm()), [start(1)]);
    assert_eq!(pool.0.decide(warm()), []);
    assert_eq!(pool.request(1, SETTINGS), []);
}

#[test]
fn an_adopted_pod_is_used_and_not_doubled() {
    let mut pool = Pool::default();
    let pod = pool.0.next_pod();
    let adopted = Event::Adopted {
        function: "fn".into(),
        settings: SETTINGS,
        pod,
        now: at(0),
    };
    assert_eq!(pool.0.decide(adopted.clone()), []);
    assert_eq!(pool.0.decide(adopted), []);
    assert_eq!(pool.request(1, SETTINGS), [loan(1, 1)]);
}

#[test]
fn an_adopted_pod_too_many_is_deleted() {
    let mut pool = Pool::default();
    for pod in 1..=3 {
        pool.0.next_pod();
        let adopted = Event::Adopted {
            function: "fn".into(),
            settings: SETTINGS,
            pod: PodId(pod),
            now: at(0),
        };
        let expected: &[Action] = if pod == 3 { &[delete(3)] } else { &[] };
        assert_eq!(pool.0.decide(adopted), expected);
    }
}

#[test]
fn a_caller_that_gives_up_leaves_others_their_places() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.request(2, SETTINGS);
    let gave_up = Event::GaveUp {
        caller: CallerId(1),
        function: "fn".into(),
    };
    assert_eq!(pool.0.decide(gave_up), []);
    assert_eq!(pool.ready(1), [loan(2, 1)]);
}
