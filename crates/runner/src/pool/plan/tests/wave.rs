//! Outdated pods are replaced some at a time.

use super::*;

/// As many functions as there are pods, each with one that is in use: pod 1 of fn-1, and so
/// on. Caller 1 runs in the first.
fn in_use(pods: u64) -> Pool {
    in_use_with(pods, SETTINGS)
}

fn in_use_with(pods: u64, settings: Settings) -> Pool {
    let mut pool = Pool::default();
    for pod in 1..=pods {
        pool.request_of(&name(pod), pod, settings, 0);
        assert_eq!(pool.ready(pod), [loan(pod, pod)]);
    }
    pool
}

fn name(pod: u64) -> String {
    format!("fn-{pod}")
}

fn start_of(function: u64, pod: u64) -> Action {
    Action::Start {
        pod: PodId(pod),
        function: name(function),
    }
}

impl Pool {
    /// What is done when all of these are reported at once.
    fn all_outdated(&mut self, pods: u64) -> Vec<Action> {
        (1..=pods).flat_map(|pod| self.outdated(pod, 0)).collect()
    }

    fn gone(&mut self, pod: u64, now: u64) -> Vec<Action> {
        let (pod, now) = (PodId(pod), at(now));
        self.0.decide(Event::Gone { pod, now })
    }

    fn template_changes(&mut self) {
        let changed = Event::Changed { function: None };
        assert_eq!(self.0.decide(changed), []);
    }
}

#[test]
fn the_next_replacement_comes_when_an_old_pod_has_gone() {
    let mut pool = in_use(6);
    let first = (1..=4).map(|n| start_of(n, n + 6));
    assert_eq!(pool.all_outdated(6), first.collect::<Vec<_>>());
    assert_eq!(
        pool.request_of("fn-5", 11, SETTINGS, 0),
        [loan(11, 5)],
        "it serves until then"
    );
    assert_eq!(pool.released(1, 1, 0), []);
    assert_eq!(pool.ready(7), [delete(1)]);
    assert_eq!(pool.gone(1, 0), [start_of(5, 11)]);
    assert_eq!(pool.gone(1, 0), [], "once");
}

#[test]
fn a_pod_that_finishes_its_last_calls_holds_up_nobody() {
    let mut pool = in_use(5);
    pool.all_outdated(5);
    assert_eq!(pool.ready(6), [start_of(5, 10)]);
}

#[test]
fn where_there_are_many_pods_a_tenth_is_replaced_at_a_time() {
    let mut pool = in_use(60);
    let started = pool.all_outdated(60).len();
    // The replacements are pods as well.
    assert_eq!(started, 6);
}

#[test]
fn a_replacement_that_fails_gives_its_turn_to_the_next() {
    let mut pool = in_use(5);
    pool.all_outdated(5);
    assert_eq!(pool.failed(6), [delete(6)]);
    assert_eq!(pool.gone(6, 0), [start_of(5, 10)]);
    assert_eq!(pool.ready(7), [], "tried again when it is reported again");
    assert_eq!(pool.outdated(1, 30), [start_of(1, 11)]);
}

#[test]
fn replacements_that_do_not_come_up_do_not_keep_the_others_waiting() {
    let mut pool = in_use(6);
    pool.all_outdated(6);
    // The next sweep, while four of them start.
    assert_eq!(pool.all_outdated(6), []);
    assert_eq!(pool.failed(7), [delete(7)]);
    assert_eq!(pool.gone(7, 0), [start_of(5, 11)]);
    // And the one after that.
    assert_eq!(pool.outdated(1, 0), []);
    assert_eq!(pool.failed(8), [delete(8)]);
    assert_eq!(pool.gone(8, 0), [start_of(6, 12)]);
    assert_eq!(pool.failed(9), [delete(9)]);
    assert_eq!(pool.gone(9, 30), [start_of(1, 13)], "behind them");
    assert_eq!(pool.failed(10), [delete(10)]);
    assert_eq!(pool.gone(10, 30), [], "nothing was reported since");
}

#[test]
fn a_start_that_is_not_wanted_any_more_holds_up_nobody() {
    let mut pool = in_use(6);
    pool.all_outdated(6);
    pool.template_changes();
    // Both templates before this one are outdated: what was to replace and what was to be replaced.
    assert_eq!(pool.outdated(7, 0), [delete(7)]);
    assert_eq!(pool.outdated(5, 0), [start_of(5, 11)]);
    assert_eq!(pool.outdated(1, 0), [], "its turn comes");
    assert_eq!(pool.outdated(8, 0), [delete(8), start_of(1, 12)]);
}

#[test]
fn what_waits_for_its_turn_stays_if_the_template_is_put_back() {
    let mut pool = in_use(5);
    pool.all_outdated(5);
    pool.template_changes();
    assert_eq!(pool.ready(6), [], "nothing waits any more");
    pool.request_of("fn-5", 11, SETTINGS, 0);
    assert_eq!(pool.request_of("fn-5", 12, SETTINGS, 0), [start_of(5, 10)]);
    assert_eq!(pool.ready(10), [loan(12, 10)]);
    pool.released(5, 5, 0);
    assert_eq!(pool.released(11, 5, 0), [], "it is as good as the other");
}

#[test]
fn what_has_no_replacement_any_more_stays_if_the_template_is_put_back() {
    let many = Settings {
        max_pods: 5,
        ..SETTINGS
    };
    let mut pool = in_use_with(2, many);
    pool.all_outdated(2);
    pool.failed(3);
    pool.template_changes();
    // The next sweep finds the replacement outdated, and not what it was to replace.
    assert_eq!(pool.outdated(4, 0), [delete(4)]);
    for pod in [1, 2] {
        let function = name(pod);
        pool.request_of(&function, pod + 10, many, 0);
        let company = pod + 4;
        assert_eq!(
            pool.request_of(&function, pod + 20, many, 0),
            [start_of(pod, company)]
        );
        assert_eq!(pool.ready(company), [loan(pod + 20, company)]);
        pool.released(pod, pod, 0);
        assert_eq!(pool.released(pod + 10, pod, 0), [], "both are as good");
    }
}

#[test]
fn what_is_reported_again_waits_for_its_turn_again() {
    let mut pool = in_use(5);
    pool.all_outdated(5);
    pool.template_changes();
    assert_eq!(pool.outdated(5, 0), []);
    assert_eq!(pool.ready(6), [start_of(5, 10)]);
}

#[test]
fn a_replacement_on_its_way_takes_over_even_if_the_template_is_put_back() {
    let mut pool = in_use(5);
    pool.all_outdated(5);
    assert_eq!(pool.outdated(1, 0), [], "the next sweep");
    pool.template_changes();
    pool.released(1, 1, 0);
    assert_eq!(pool.ready(6), [delete(1)]);
}

#[test]
fn company_for_a_busy_pod_that_waits_for_its_turn_replaces_it() {
    let many = Settings {
        max_pods: 5,
        ..SETTINGS
    };
    let mut pool = in_use_with(5, many);
    pool.all_outdated(5);
    assert_eq!(pool.request_of("fn-5", 11, many, 0), [loan(11, 5)]);
    assert_eq!(
        pool.request_of("fn-5", 12, many, 0),
        [start_of(5, 10), loan(12, 5)],
        "nobody waits for it"
    );
    assert_eq!(
        pool.request_of("fn-5", 13, many, 0),
        [loan(13, 5)],
        "one is on its way"
    );
    assert_eq!(pool.ready(10), []);
    assert_eq!(pool.request_of("fn-5", 14, many, 0), [loan(14, 10)]);
    for caller in [5, 11, 12] {
        assert_eq!(pool.released(caller, 5, 0), []);
    }
    assert_eq!(pool.released(13, 5, 0), [delete(5)]);
}

#[test]
fn a_pod_that_waits_for_its_turn_counts_among_the_allowed() {
    let one = Settings {
        max_pods: 1,
        ..SETTINGS
    };
    let mut pool = in_use_with(5, one);
    pool.all_outdated(5);
    for caller in 11..=13 {
        assert_eq!(pool.request_of("fn-5", caller, one, 0), [loan(caller, 5)]);
    }
}

#[test]
fn what_nobody_uses_by_then_is_not_replaced() {
    let mut pool = in_use(5);
    pool.all_outdated(5);
    pool.released(1, 1, 0);
    pool.released(5, 5, 0);
    assert_eq!(pool.ready(6), [delete(1)]);
    assert_eq!(pool.gone(1, 60), []);
    assert_eq!(pool.outdated(5, 60), [delete(5)]);
}

#[test]
fn pods_to_keep_are_neither_too_old_nor_doubled_while_they_wait() {
    let kept = Settings {
        is_warm_up: true,
        min_pods: 1,
        ..SETTINGS
    };
    let mut pool = in_use_with(5, kept);
    pool.all_outdated(5);
    pool.released(5, 5, 0);
    assert_eq!(pool.scan(1000), []);
}
