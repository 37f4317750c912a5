use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use futures::future::join_all;
use tokio::time::{sleep, timeout};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn what_fails_together_narrows_once_and_answers_that_come_soon_widen_again() {
    let begin = Instant::now();
    let mut width = Width::new(begin);
    for _ in 0..AT_ONCE {
        width.hear(End::Answered, begin, begin);
    }
    assert_eq!(width.now, AT_ONCE, "and no more");
    for _ in 0..AT_ONCE {
        width.hear(End::Failed, begin, begin + 10 * SECOND);
    }
    assert_eq!(width.now, AT_ONCE / 2);
    for round in 11..20 {
        let began = begin + round * SECOND;
        width.hear(End::Failed, began, began);
    }
    assert_eq!(width.now, LEAST, "one that hangs does not hold up all");
    let late = begin + 20 * SECOND;
    for _ in 0..100 {
        width.hear(End::Answered, late, late + 2 * SECOND);
    }
    assert_eq!(width.now, LEAST, "it does not keep up yet");
    for _ in 0..2 + 3 {
        width.hear(End::Answered, late, late);
    }
    assert_eq!(width.now, 4);
    for _ in 0..100 {
        width.hear(End::Answered, late, late);
        width.hear(End::Answered, late, late + 2 * SECOND);
    }
    assert_eq!(width.now, 4, "half of them have to wait");
}

#[tokio::test(start_paused = true)]
async fn where_every_pod_takes_its_time_the_way_is_wide_again_some_minutes_after_a_trouble() {
    let begin = Instant::now();
    let mut width = Width::new(begin);
    for second in 0..60 {
        let began = begin + second * SECOND;
        width.hear(End::Failed, began, began);
    }
    assert_eq!(width.now, LEAST);
    let mut widths = Vec::new();
    for second in 60..360 {
        let now = begin + second * SECOND;
        width.hear(End::Answered, now - 3 * SECOND, now);
        widths.push(width.now);
    }
    assert_eq!(widths[30], LEAST + 3, "one by one: others grow as well");
    assert_eq!(widths.last(), Some(&AT_ONCE));
    let late = begin + 400 * SECOND;
    width.hear(End::Answered, late - 6 * SECOND, late);
    width.hear(End::Answered, late - 3 * SECOND, late + SECOND);
    assert_eq!(width.now, AT_ONCE / 2, "that was no calm");
}

/// An API server that makes one service at a time, also for those who have given up, and pods at once; and
/// runners of which each wants so many pods with their services.
struct Storm {
    runners: usize,
    wanted: usize,
    /// What a service takes.
    work: Duration,
}

impl Storm {
    /// How many services it has made when all have theirs.
    async fn worked_off(&self) -> usize {
        let desk = Arc::new((tokio::sync::Mutex::new(()), AtomicUsize::new(0)));
        let work = self.work;
        let ask = |desk: &Arc<(tokio::sync::Mutex<()>, AtomicUsize)>| {
            let desk = Arc::clone(desk);
            // Whoever gives up drops only the handle.
            tokio::spawn(async move {
                let _in_turn = desk.0.lock().await;
                sleep(work).await;
                desk.1.fetch_add(1, SeqCst);
            })
        };
        let service = async |turns: &Turns| {
            loop {
                let turn = turns.next().await;
                if timeout(turn.patience(), ask(&desk)).await.is_ok() {
                    return turn.ended(End::Answered);
                }
                turn.ended(End::Failed);
            }
        };
        let pod = async |turns: &Turns| {
            let turn = turns.next().await;
            sleep(Duration::from_millis(20)).await;
            turn.ended(End::Answered);
        };
        let one = async |turns: &Turns| {
            futures::join!(service(turns), pod(turns));
        };
        let runners: Vec<Turns> = (0..self.runners).map(|_| Turns::new()).collect();
        let starts = runners
            .iter()
            .flat_map(|turns| iter::repeat_n(turns, self.wanted));
        join_all(starts.map(one)).await;
        desk.1.load(SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_runners_at_an_api_server_that_is_slow_get_what_they_want() {
    // Twelve services a second, as were seen among the first thousand; and two to three, as among five thousand.
    for work in [80, 400] {
        let storm = Storm {
            runners: 20,
            wanted: 250,
            work: Duration::from_millis(work),
        };
        let worked_off = storm.worked_off().await;
        let in_vain = worked_off - storm.runners * storm.wanted;
        assert!(
            in_vain * 6 < worked_off,
            "{in_vain} of {worked_off} in vain"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_given_up_leaves_its_place() {
    let turns = Turns::new();
    let taken: Vec<Turn<'_>> = (0..FIRST).filter_map(|_| turns.free()).collect();
    assert!(taken.len() == FIRST && turns.free().is_none());
    drop(taken);
    let mut taken: Vec<Turn<'_>> = (0..FIRST).filter_map(|_| turns.free()).collect();
    for _ in 0..2 {
        taken.pop().unwrap().ended(End::Failed);
    }
    assert_eq!(turns.state().width.now, FIRST / 2);
    drop(taken);
    let free = (0..AT_ONCE)
        .map_while(|_| turns.free().map(std::mem::forget))
        .count();
    assert_eq!(free, FIRST / 2);
}
