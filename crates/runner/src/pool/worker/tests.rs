use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::*;
use crate::pool::{AcquireError, Settings};

const SETTINGS: Settings = Settings {
    ttl: Duration::from_secs(60),
    max_waitlist_length: 2,
    max_pods: 1,
    max_queued: 1000,
    is_warm_up: false,
    min_pods: 0,
    revision: 0,
};

/// A cluster that brings up pods in a second, and remembers what it was asked.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    started: Vec<PodId>,
    deleted: Vec<PodId>,
    adopted: Vec<(PodId, PodId)>,
    checked: Vec<PodId>,
}

impl Launcher for Fake {
    type Connection = PodId;

    async fn start(&self, function: &str, pod: PodId, _: &Trace) -> Result<PodId, Failure> {
        self.0.lock().started.push(pod);
        sleep(Duration::from_secs(1)).await;
        match function {
            "broken" => Err(Failure::lasting("no such image")),
            "panics" => panic!("on purpose"),
            _ => Ok(pod),
        }
    }

    fn adopted(&self, pod: PodId, connection: &PodId) {
        self.0.lock().adopted.push((pod, *connection));
    }

    async fn check(&self, pod: &PodId) -> Result<(), Failure> {
        self.0.lock().checked.push(*pod);
        sleep(Duration::from_secs(1)).await;
        let is_good = pod.0 != 1;
        is_good.then_some(()).ok_or(Failure::passing("no answer"))
    }

    async fn delete(&self, pod: PodId) {
        sleep(Duration::from_secs(1)).await;
        self.0.lock().deleted.push(pod);
    }
}

struct Bed {
    fake: Fake,
    pool: Pool<PodId>,
    stop: CancellationToken,
    worker: JoinHandle<()>,
}

fn bed() -> Bed {
    let fake = Fake::default();
    let (worker, pool) = Worker::new(Arc::new(fake.clone()), Duration::from_secs(10), 0);
    let stop = CancellationToken::new();
    let worker = tokio::spawn(worker.run(stop.clone()));
    Bed {
        fake,
        pool,
        stop,
        worker,
    }
}

impl Bed {
    fn started(&self) -> usize {
        self.fake.0.lock().started.len()
    }

    fn deleted(&self) -> usize {
        self.fake.0.lock().deleted.len()
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_first_callers_share_one_pod() {
    let bed = bed();
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let pool = bed.pool.clone();
        callers.spawn(async move { pool.acquire("fn", SETTINGS).await.map(|loan| loan.pod) });
    }
    for answer in callers.join_all().await {
        assert_eq!(answer, Ok(PodId(1)));
    }
    assert_eq!(bed.started(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_functions_get_a_pod_each_and_none_is_left_once_they_idle() {
    let bed = bed();
    let mut callers = JoinSet::new();
    for caller in 0..2000 {
        let pool = bed.pool.clone();
        callers.spawn(async move {
            let function = format!("fn-{}", caller % 1000);
            let loan = pool.acquire(&function, SETTINGS).await.unwrap();
            (function, loan.pod)
        });
    }
    let pods: BTreeSet<(String, PodId)> = callers.join_all().await.into_iter().collect();
    assert_eq!((pods.len(), bed.started()), (1000, 1000));
    let different: BTreeSet<PodId> = pods.into_iter().map(|(_, pod)| pod).collect();
    assert_eq!(different.len(), 1000);
    sleep(SETTINGS.ttl + Duration::from_secs(12)).await;
    assert_eq!(bed.deleted(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_failed_or_panicked_start_is_told_and_its_remains_are_deleted() {
    let bed = bed();
    let told = bed.pool.acquire("broken", SETTINGS).await.unwrap_err();
    assert_eq!(
        told,
        AcquireError::Refused(Refusal::PodFailed(Failure::lasting("no such image")))
    );
    let told = bed.pool.acquire("panics", SETTINGS).await.unwrap_err();
    assert!(matches!(told, AcquireError::Refused(Refusal::PodFailed(_))));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bed.deleted(), 2);
    assert!(
        bed.pool.acquire("fn", SETTINGS).await.is_ok(),
        "the worker lives"
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_pod_is_deleted_and_one_in_use_is_not() {
    let bed = bed();
    let loan = bed.pool.acquire("fn", SETTINGS).await.unwrap();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(bed.deleted(), 0);
    drop(loan);
    sleep(Duration::from_secs(59)).await;
    assert_eq!(bed.deleted(), 0);
    sleep(Duration::from_secs(12)).await;
    assert_eq!(bed.deleted(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_leaves_the_pod_to_others() {
    let bed = bed();
    let impatient = bed.pool.acquire("fn", SETTINGS);
    assert!(timeout(Duration::from_millis(10), impatient).await.is_err());
    let begin = Instant::now();
    let loan = bed.pool.acquire("fn", SETTINGS).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert_eq!((loan.pod, bed.started()), (PodId(1), 1));
}

#[tokio::test(start_paused = true)]
async fn a_pod_outdated_while_it_starts_is_deleted_when_it_has_started() {
    let bed = bed();
    let first = tokio::spawn({
        let pool = bed.pool.clone();
        async move { pool.acquire("fn", SETTINGS).await.map(|loan| loan.pod) }
    });
    sleep(Duration::from_millis(500)).await;
    bed.pool.outdated(PodId(1));
    sleep(Duration::from_millis(400)).await;
    assert_eq!((bed.started(), bed.deleted()), (2, 0));
    assert_eq!(first.await.unwrap(), Ok(PodId(2)));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bed.deleted(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_next_outdated_pod_is_replaced_when_a_deletion_has_ended() {
    let bed = bed();
    for number in 0..5 {
        let function = format!("fn-{number}");
        drop(bed.pool.acquire(&function, SETTINGS).await.unwrap());
    }
    (1..=5).for_each(|pod| bed.pool.outdated(PodId(pod)));
    sleep(Duration::from_millis(500)).await;
    assert_eq!((bed.started(), bed.deleted()), (9, 0));
    sleep(Duration::from_secs(1)).await;
    assert_eq!((bed.started(), bed.deleted()), (9, 0), "being deleted");
    sleep(Duration::from_secs(1)).await;
    assert_eq!((bed.started(), bed.deleted()), (10, 4));
    sleep(Duration::from_secs(2)).await;
    assert_eq!((bed.started(), bed.deleted()), (10, 5));
}

#[tokio::test(start_paused = true)]
async fn the_end_closes_the_pool_finishes_deletions_and_leaves_pods() {
    let mut bed = bed();
    bed.pool.adopt("fn", SETTINGS, PodId(77));
    let loan = bed.pool.acquire("fn", SETTINGS).await.unwrap();
    assert_eq!(loan.connection, PodId(77));
    let adopted = bed.fake.0.lock().adopted.clone();
    assert_eq!(
        adopted,
        [(loan.pod, PodId(77))],
        "the launcher can delete it"
    );
    let waiting = tokio::spawn({
        let pool = bed.pool.clone();
        async move { pool.acquire("other", SETTINGS).await.map(drop) }
    });
    bed.pool.failed(loan.pod, Failure::passing("gone"));
    sleep(Duration::from_millis(10)).await;
    bed.stop.cancel();
    (&mut bed.worker).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Err(AcquireError::Closed));
    assert_eq!(bed.deleted(), 1);
    assert_eq!(
        bed.pool.acquire("fn", SETTINGS).await.map(drop),
        Err(AcquireError::Closed)
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_starts_under_way() {
    let mut bed = bed();
    let waiting = tokio::spawn({
        let pool = bed.pool.clone();
        async move { pool.acquire("fn", SETTINGS).await.map(drop) }
    });
    sleep(Duration::from_millis(10)).await;
    assert_eq!(bed.started(), 1);
    let begin = Instant::now();
    bed.stop.cancel();
    (&mut bed.worker).await.unwrap();
    assert!(
        begin.elapsed() < Duration::from_millis(100),
        "the start takes a second"
    );
    assert_eq!(waiting.await.unwrap(), Err(AcquireError::Closed));
    assert_eq!(bed.deleted(), 0, "what is half made is the next runner's");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pods_that_came_and_went_leave_nothing_behind() {
    let fake = Fake::default();
    let (mut worker, pool) = Worker::new(Arc::new(fake.clone()), Duration::from_secs(10), 0);
    let stop = CancellationToken::new();
    let churn = async {
        for round in 0..100 {
            // Some do not come up, some are lost in use, some are given up on, the rest expire.
            let calls = (0..10).map(|number| {
                let pool = pool.clone();
                async move {
                    let function = match number {
                        0 => "broken".to_owned(),
                        1 => "panics".to_owned(),
                        _ => format!("fn-{round}-{number}"),
                    };
                    let patience = Duration::from_millis(if number == 2 { 10 } else { 5_000 });
                    let loan = timeout(patience, pool.acquire(&function, SETTINGS)).await;
                    if let (3, Ok(Ok(loan))) = (number, &loan) {
                        pool.failed(loan.pod, Failure::passing("gone"));
                    }
                }
            });
            futures::future::join_all(calls).await;
            sleep(SETTINGS.ttl + Duration::from_secs(15)).await;
        }
        stop.cancel();
    };
    futures::join!(worker.serve(&stop), churn);

    {
        let seen = fake.0.lock();
        assert_eq!((seen.started.len(), seen.deleted.len()), (1000, 1000));
    }
    assert_eq!(worker.state.overview(), []);
    assert!(worker.state.functions.is_empty());
    assert!(worker.answers.is_empty() && worker.connections.is_empty());
    assert!(worker.starting.is_empty() && worker.doomed.is_empty() && worker.tasks.is_empty());
    assert!(worker.deleting.is_empty() && worker.state.wave.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pod_in_doubt_is_checked_and_given_again_or_replaced() {
    let bed = bed();
    let loan = bed.pool.acquire("fn", SETTINGS).await.unwrap();
    bed.pool.doubted(loan.pod);
    drop(loan);
    // The first pod does not answer.
    let loan = bed.pool.acquire("fn", SETTINGS).await.unwrap();
    assert_eq!((loan.pod, bed.started()), (PodId(2), 2));
    bed.pool.doubted(loan.pod);
    let begin = Instant::now();
    let loan = bed.pool.acquire("fn", SETTINGS).await.unwrap();
    assert_eq!((loan.pod, bed.started()), (PodId(2), 2));
    assert_eq!(begin.elapsed().as_secs(), 1, "not before it has answered");
    let checked = bed.fake.0.lock().checked.clone();
    assert_eq!(checked, [PodId(1), PodId(2)]);
}
