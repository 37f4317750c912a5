//! Pods that a call was lost in.

use super::*;

#[test]
fn a_pod_in_doubt_gets_nobody_before_it_has_answered() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.ready(1);
    assert_eq!(pool.doubted(1), [check(1)]);
    assert_eq!(pool.doubted(1), [], "it is being checked");
    pool.released(1, 1, 0);
    assert_eq!(pool.request_again(2, 1, SETTINGS), []);
    assert_eq!(pool.request(3, SETTINGS), []);
    assert_eq!(pool.ready(1), [loan(2, 1), loan(3, 1)]);
}

#[test]
fn those_who_wait_for_a_pod_in_doubt_get_another_if_it_is_lost() {
    let mut pool = Pool::default();
    pool.request(1, SETTINGS);
    pool.ready(1);
    pool.doubted(1);
    pool.released(1, 1, 0);
    assert_eq!(pool.request_again(2, 1, SETTINGS), []);
    assert_eq!(pool.failed(1), [delete(1), start(2)]);
    assert_eq!(pool.ready(2), [loan(2, 2)]);
    assert_eq!(pool.ready(1), [], "too late");
}

#[test]
fn a_call_that_was_lost_goes_to_another_pod_if_there_is_one() {
    let mut pool = Pool::default();
    (1..=3).for_each(|caller| drop(pool.request(caller, SETTINGS)));
    pool.ready(1);
    pool.ready(2);
    pool.released(1, 1, 0);
    pool.released(2, 1, 0);
    assert_eq!(pool.request_again(4, 1, SETTINGS), [loan(4, 2)]);
    let full = Settings {
        max_queued: 1,
        ..SETTINGS
    };
    assert_eq!(
        pool.request_again(5, 1, full),
        [loan(5, 2)],
        "it had a place"
    );
}
