//! Whether a pod that a call was lost in is still good for others.
//!
//! The connection may have broken while the pod is well, the container may have ended and
//! been started again by the kubelet, or the pod may be gone. The pod is called until it
//! answers or the cluster reports that it is lost. Without an answer it is given up after a
//! moment. While the API server is away, nobody reports what became of the pod and no other
//! can be started in its place: then it is called for as long as a start may take.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tonic::transport::Channel;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use super::witness::Witness;
use crate::pool::Failure;

/// How long a pod that is fine as far as the cluster knows may be unreachable before it is
/// given up.
const UNREACHABLE: Duration = Duration::from_secs(2);

/// The same while the API server is away. The kubelet starts a container again without it: at
/// once, then after 10, 20 and 40 seconds.
const UNREACHABLE_AND_UNKNOWN: Duration = Duration::from_secs(60);

/// Pauses between attempts: a container is back within a second, or after a back-off.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A single attempt: a node that is gone does not answer at all.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Calls a pod until it answers, or says why it cannot be used any more.
pub(crate) async fn check<F: Future<Output = bool>>(
    witness: &impl Witness,
    pod: &str,
    answers: impl Fn() -> F,
) -> Result<(), Failure> {
    // Cancel-safe: whichever is first, the other is of no use any more. Asked in this
    // order, because a pod that is being deleted may still answer.
    let failure = tokio::select! {
        biased;
        reason = witness.lost(pod) => reason,
        is_back = until_answer(witness, answers) => {
            if is_back {
                tracing::info!(pod, "a pod that a call was lost in answers again");
                return Ok(());
            }
            "the pod cannot be reached".into()
        }
    };
    tracing::info!(pod, "a pod that a call was lost in is given up: {failure}");
    Err(Failure::passing(failure))
}

/// Whether there is an answer in time.
async fn until_answer<F: Future<Output = bool>>(
    witness: &impl Witness,
    answers: impl Fn() -> F,
) -> bool {
    let begin = Instant::now();
    let mut silent_since = begin;
    let mut pause = FIRST_PAUSE;
    loop {
        if timeout(ATTEMPT, answers()).await.unwrap_or(false) {
            return true;
        }
        if !witness.is_current() {
            silent_since = Instant::now();
        }
        if silent_since.elapsed() >= UNREACHABLE || begin.elapsed() >= UNREACHABLE_AND_UNKNOWN {
            return false;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether the server behind a connection wants calls. The connection is made anew if it
/// broke.
pub(crate) async fn is_serving(channel: &Channel) -> bool {
    let mut health = HealthClient::new(channel.clone());
    let answer = health.check(HealthCheckRequest::default()).await;
    answer.is_ok_and(|answer| answer.into_inner().status() == ServingStatus::Serving)
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    /// A cluster where nothing happens, whose API server may be away for some time.
    struct Cluster {
        begin: Instant,
        away_until: Duration,
        is_lost: AtomicBool,
    }

    fn cluster(away: u64) -> Cluster {
        Cluster {
            begin: Instant::now(),
            away_until: Duration::from_secs(away),
            is_lost: AtomicBool::new(false),
        }
    }

    impl Witness for Cluster {
        fn restarts(&self, _: &str) -> i32 {
            0
        }

        async fn death(&self, _: &str, _: i32) -> String {
            pending().await
        }

        async fn lost(&self, _: &str) -> String {
            if self.is_lost.load(Ordering::Relaxed) {
                return "the pod is gone".into();
            }
            pending().await
        }

        fn is_current(&self) -> bool {
            self.begin.elapsed() >= self.away_until
        }

        async fn digest(&self, _: &str) -> Option<String> {
            None
        }
    }

    /// Checks a pod that answers after some seconds; when that is over, and how.
    async fn checked(cluster: &Cluster, answers_after: u64) -> (Duration, Result<(), Failure>) {
        let answers = Duration::from_secs(answers_after);
        let is_back = || async { cluster.begin.elapsed() >= answers };
        let outcome = check(cluster, "a", is_back).await;
        (cluster.begin.elapsed(), outcome)
    }

    fn is_about(time: Duration, seconds: u64) -> bool {
        let seconds = Duration::from_secs(seconds);
        (seconds..seconds + Duration::from_secs(1)).contains(&time)
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_answers_at_once_is_good_and_a_silent_one_is_given_up_after_a_moment() {
        let (time, outcome) = checked(&cluster(0), 0).await;
        assert!(outcome.is_ok() && time.is_zero(), "{time:?}");
        let (time, outcome) = checked(&cluster(0), 1000).await;
        assert!(outcome.is_err() && is_about(time, 2), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_api_server_is_away_a_pod_has_the_time_of_a_kubelets_back_off() {
        let (time, outcome) = checked(&cluster(1000), 20).await;
        assert!(outcome.is_ok() && is_about(time, 20), "{time:?}");
        let (time, outcome) = checked(&cluster(15), 40).await;
        assert!(
            outcome.is_err() && is_about(time, 16),
            "back again: {time:?}"
        );
        let (time, outcome) = checked(&cluster(1000), 1000).await;
        assert!(
            outcome.is_err() && is_about(time, 60),
            "not for ever: {time:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_is_lost_is_given_up_with_the_clusters_reason_even_if_it_answers() {
        let cluster = cluster(0);
        cluster.is_lost.store(true, Ordering::Relaxed);
        let (_, outcome) = checked(&cluster, 0).await;
        assert_eq!(&*outcome.unwrap_err().reason, "the pod is gone");
    }
}
