//! The pods that a call was sent to before, and why each failed: for the choice of its next
//! pod, for the log, and for the caller's error if the call fails.

use std::sync::Arc;

use service::EvaluateError;

use crate::pool::PodId;

/// A call was lost in this pod.
#[derive(Debug)]
pub(super) struct Loss {
    pub(super) pod: Arc<str>,
    /// How often it had been restarted when it got the call.
    pub(super) restarts: i32,
    /// What happened to the connection.
    pub(super) cause: String,
    /// What became of the pod, if the cluster has reported it.
    pub(super) death: Option<String>,
}

impl Loss {
    fn told(&self) -> String {
        let Self {
            pod, cause, death, ..
        } = self;
        match death {
            Some(death) => format!("pod {pod} ({death})"),
            None => format!("pod {pod} (the connection broke off: {cause})"),
        }
    }
}

/// The attempts so far that came to nothing.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Pods that it was sent to.
    pub(super) avoid: Vec<PodId>,
    pub(super) losses: Vec<Loss>,
    /// The pod that it could not be sent to last, how often in a row, and why.
    unsent: Option<(Arc<str>, u32, String)>,
    /// Whether the last attempt was a loss.
    is_sent_again: bool,
}

impl Past {
    pub(super) fn lost(&mut self, id: PodId, loss: Loss) {
        self.was_in(id);
        self.losses.push(loss);
        self.unsent = None;
        self.is_sent_again = true;
    }

    /// How often in a row the call could not be sent to this pod.
    pub(super) fn never_sent(&mut self, id: PodId, pod: &Arc<str>, cause: String) -> u32 {
        self.was_in(id);
        let before = self.unsent.take().filter(|(name, ..)| name == pod);
        let count = before.map_or(0, |(_, count, _)| count) + 1;
        self.unsent = Some((Arc::clone(pod), count, cause));
        count
    }

    fn was_in(&mut self, id: PodId) {
        if !self.avoid.contains(&id) {
            self.avoid.push(id);
        }
    }

    /// The next attempt has a pod: for the log.
    pub(super) fn goes_on_in(&mut self, function: &str, pod: &str) {
        if std::mem::take(&mut self.is_sent_again) {
            let (last, number) = (self.losses.last().map(Loss::told), self.losses.len());
            let lost = last.unwrap_or_default();
            tracing::warn!(
                function,
                "a call was lost in {lost}; it is sent again to pod {pod} (retry {number})"
            );
        } else if let Some((before, _, cause)) = &self.unsent {
            if **before == *pod {
                tracing::debug!(pod, "a call is tried again: {cause}");
            } else {
                tracing::warn!(
                    function,
                    "a call could not be sent to pod {before} ({cause}); pod {pod} takes it"
                );
            }
        }
    }

    /// The pods that were lost, in words.
    fn losses(&self) -> String {
        let losses: Vec<String> = self.losses.iter().map(Loss::told).collect();
        losses.join(", then ")
    }

    /// The call was lost as often as allowed.
    pub(super) fn given_up(&self, image: String, retries: usize) -> EvaluateError {
        let losses = self.losses();
        let advice = if retries == 0 {
            "it may have run to its end, and lost calls of it are not sent again \
             (--retry-lost-calls, retryLostCalls); try again if that does no harm"
                .to_owned()
        } else {
            format!("it was sent again {retries} times (--max-grpc-retries)")
        };
        EvaluateError::Unavailable {
            image,
            reason: format!("its pod was lost while it ran: {losses}; {advice}"),
            log: String::new(),
        }
    }

    /// No pod for the next attempt: why there had to be one.
    pub(super) fn told_with(&self, error: EvaluateError) -> EvaluateError {
        let before = match (&self.losses[..], &self.unsent) {
            ([], None) => return error,
            ([], Some((pod, _, cause))) => format!("; pod {pod} could not be reached: {cause}"),
            _ => format!("; before that it was lost in {}", self.losses()),
        };
        match error {
            EvaluateError::Unavailable { image, reason, log } => EvaluateError::Unavailable {
                image,
                reason: reason + &before,
                log,
            },
            EvaluateError::FailedPrecondition { image, reason, log } => {
                EvaluateError::FailedPrecondition {
                    image,
                    reason: reason + &before,
                    log,
                }
            }
            EvaluateError::NoPodInTime { image, waits_for } => EvaluateError::NoPodInTime {
                image,
                waits_for: waits_for + &before,
            },
            other => other,
        }
    }
}
