//! Whether another pod may come.

use super::*;

#[test]
fn a_pod_that_is_taken_away_as_it_starts_is_replaced_for_its_waiters() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    for pod in 1..8 {
        assert_eq!(pool.taken(pod), [delete(pod), start(pod + 1)]);
    }
    let refusals = pool.taken(8);
    assert!(
        matches!(refusals[..], [_, Action::Refuse { .. }]),
        "not for ever: {refusals:?}"
    );
}

#[test]
fn a_failed_start_is_remembered_with_growing_pauses_until_one_succeeds() {
    let mut pool = Pool::default();
    let mut now = 0;
    for (attempt, pause) in [5, 10, 20, 40, 60, 60].into_iter().enumerate() {
        let pod = attempt as u64 + 1;
        assert_eq!(pool.request_of("fn", 1, SETTINGS, now), [start(pod)]);
        assert_eq!(pool.fails(pod, now), [delete(pod), told(1)]);
        let heard = pool.request_of("fn", 2, SETTINGS, now + pause - 1);
        assert_eq!(heard, [remembered(2, pause - 1, 1)]);
        assert_eq!(pool.scan(now + pause), []);
        now += pause;
    }
    assert_eq!(pool.request_of("fn", 1, SETTINGS, now), [start(7)]);
    pool.ready(7);
    pool.fails(7, now);
    assert_eq!(pool.request_of("fn", 2, SETTINGS, now), [start(8)]);
    pool.fails(8, now);
    let heard = pool.request_of("fn", 2, SETTINGS, now);
    assert_eq!(heard, [remembered(2, 0, 5)], "as if for the first time");
}

#[test]
fn a_failed_start_is_forgotten_when_something_has_changed_or_after_a_while() {
    let revised = Settings {
        revision: 1,
        ..SETTINGS
    };
    let of = |function: &str| Event::Changed {
        function: Some(function.into()),
    };
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.failed(1);
    assert_eq!(pool.request(2, revised), [start(2)], "its settings");
    pool.failed(2);
    pool.0.decide(of("other"));
    assert_eq!(pool.request(2, revised), [remembered(2, 0, 5)]);
    pool.0.decide(of("fn"));
    assert_eq!(pool.request(2, revised), [start(3)], "its image");
    pool.failed(3);
    pool.0.decide(Event::Changed { function: None });
    assert_eq!(pool.request(2, revised), [start(4)], "its template");
    pool.failed(4);
    pool.scan(65);
    assert!(pool.0.functions.is_empty(), "{:?}", pool.0);
}

#[test]
fn what_may_pass_is_not_remembered_and_a_busy_pod_needs_no_company_that_fails() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    let (failure, now) = (Failure::passing("the API server is away"), at(0));
    let pod = PodId(1);
    pool.0.decide(Event::Failed { pod, failure, now });
    assert_eq!(pool.request(2, SETTINGS), [start(2)]);
    pool.ready(2);
    pool.request(3, SETTINGS);
    assert_eq!(pool.request(4, SETTINGS), [start(3)]);
    assert_eq!(pool.failed(3), [delete(3), loan(4, 2)]);
    assert_eq!(pool.request(5, SETTINGS), [loan(5, 2)]);
}

#[test]
fn at_the_bound_the_pod_that_has_been_idle_longest_goes_and_warm_up_pods_last() {
    let mut pool = Pool(State::with_max_pods(3));
    let warm = Settings {
        is_warm_up: true,
        ..SETTINGS
    };
    for (pod, (name, settings)) in [("warm", warm), ("old", SETTINGS), ("new", SETTINGS)]
        .into_iter()
        .enumerate()
    {
        let number = pod as u64 + 1;
        pool.request_of(name, number, settings, 0);
        pool.ready(number);
        pool.released(number, number, number);
    }
    let started = |pod: u64, function: &str| Action::Start {
        pod: PodId(pod),
        function: function.into(),
    };
    assert_eq!(
        pool.request_of("a", 4, SETTINGS, 9),
        [delete(2), started(4, "a")]
    );
    assert_eq!(
        pool.request_of("b", 5, SETTINGS, 9),
        [delete(3), started(5, "b")]
    );
    assert_eq!(
        pool.request_of("c", 6, SETTINGS, 9),
        [delete(1), started(6, "c")]
    );
    let refusal = Refusal::TooManyPods { pods: 3 };
    assert_eq!(pool.request_of("d", 7, SETTINGS, 9), [refuse(7, refusal)]);
    (8..12).for_each(|caller| assert_eq!(pool.request_of("a", caller, SETTINGS, 9), []));
}

#[test]
fn company_for_a_busy_pod_costs_no_other_function_its_warm_up_pod() {
    let mut pool = Pool(State::with_max_pods(2));
    let warm = Settings {
        is_warm_up: true,
        ..SETTINGS
    };
    pool.request_of("warm", 1, warm, 0);
    pool.ready(1);
    pool.released(1, 1, 0);
    pool.request(2, SETTINGS);
    pool.ready(2);
    for caller in 3..6 {
        assert_eq!(pool.request(caller, SETTINGS), [loan(caller, 2)]);
    }
}

#[test]
fn a_function_keeps_its_pods_whatever_the_time_to_live_says_within_the_bound() {
    let keeps = Settings {
        min_pods: 2,
        is_warm_up: true,
        ..SETTINGS
    };
    let warm = |state: &mut State, settings| {
        let function = "kept".to_owned();
        let now = at(0);
        state.decide(Event::Warm {
            function,
            settings,
            now,
        })
    };
    let starts = |actions: &[Action]| {
        let is_start = |action: &&Action| matches!(action, Action::Start { .. });
        actions.iter().filter(is_start).count()
    };
    let mut state = State::with_max_pods(3);
    assert_eq!(starts(&warm(&mut state, keeps)), 2);
    for pod in [PodId(1), PodId(2)] {
        state.decide(Event::Ready { pod, now: at(1) });
    }
    assert_eq!(state.decide(Event::Scan { now: at(1000) }), []);
    let failure = Failure::passing("gone");
    let (pod, now) = (PodId(1), at(1001));
    state.decide(Event::Failed { pod, failure, now });
    assert_eq!(starts(&state.decide(Event::Scan { now: at(1060) })), 1);

    let more = Settings {
        min_pods: 9,
        max_pods: 9,
        ..keeps
    };
    assert_eq!(starts(&warm(&mut state, more)), 1, "--max-pods");
    let function = "kept".to_owned();
    let settings = SETTINGS;
    state.decide(Event::Settled { function, settings });
    for pod in state.overview() {
        let (pod, now) = (pod.0, at(1060));
        state.decide(Event::Ready { pod, now });
    }
    let deleted = state.decide(Event::Scan { now: at(2000) });
    assert_eq!(deleted.len(), 3, "nobody keeps them: {deleted:?}");
}
