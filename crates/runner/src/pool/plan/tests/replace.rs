//! Which pods give way to others.

use super::*;

#[test]
fn an_adopted_pod_takes_the_callers_of_one_that_only_starts() {
    let one = Settings {
        max_pods: 1,
        ..SETTINGS
    };
    let mut pool = Pool::default();
    (1..=3).for_each(|caller| drop(pool.request(caller, one)));
    let (pod, actions) = pool.adopted(one);
    let expected = [delete(1), loan(1, pod), loan(2, pod), loan(3, pod)];
    assert_eq!(actions, expected);
    assert_eq!(pool.ready(1), [], "too late");

    let mut pool = Pool::default();
    (1..=2).for_each(|caller| drop(pool.request(caller, SETTINGS)));
    let (pod, actions) = pool.adopted(SETTINGS);
    assert_eq!(
        actions,
        [loan(1, pod), loan(2, pod)],
        "there is room for both"
    );
    assert_eq!(pool.ready(1), []);
}

#[test]
fn at_the_bound_an_adopted_pod_is_only_kept_instead_of_one_that_starts() {
    let mut pool = Pool(State::with_max_pods(1));
    pool.request(1, SETTINGS);
    let (first, actions) = pool.adopted(SETTINGS);
    assert_eq!(actions, [delete(1), loan(1, first)]);
    let (second, actions) = pool.adopted(SETTINGS);
    assert_eq!(actions, [delete(second)]);
}

#[test]
fn an_outdated_pod_of_the_warm_up_is_replaced_before_it_goes() {
    let warm = Settings {
        is_warm_up: true,
        ..SETTINGS
    };
    let mut pool = Pool::default();
    pool.request(1, warm);
    assert_eq!(
        pool.outdated(1, 0),
        [delete(1), start(2)],
        "while it starts"
    );
    pool.ready(2);
    pool.released(1, 2, 0);
    assert_eq!(pool.outdated(2, 600), [start(3)], "long idle");
    assert_eq!(pool.request(2, warm), [loan(2, 2)]);
    pool.released(2, 2, 600);
    assert_eq!(pool.ready(3), [delete(2)]);
}
