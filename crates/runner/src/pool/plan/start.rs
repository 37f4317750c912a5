//! Whether another pod may be started: the limits per function and over all functions, and
//! the starts that failed before.

use std::time::Duration;

use super::{
    super::state::{
        CallerId, Failure, Function, Outlook, Phase, Pod, PodId, State, Survey, Trouble,
    },
    Action, Refusal,
};

/// How long no other start is tried after one that would fail again: short enough for
/// somebody who is mending it; long enough that a busy caller does not fill the cluster
/// with pods that crash.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Starts in a row whose pod was taken away, until that counts as a failure of its own:
/// something in the cluster does not want them.
pub(super) const MOST_TAKEN: u32 = 8;

impl Trouble {
    /// How much of the pause is left, while it lasts.
    fn left(&self, now: Duration) -> Option<Duration> {
        let left = (self.at + self.pause).checked_sub(now);
        left.filter(|left| !left.is_zero())
    }

    /// Whether nobody has tried for so long that the next failure is a first one.
    pub(super) fn is_old(&self, now: Duration) -> bool {
        now >= self.at + self.pause + LONGEST_PAUSE
    }
}

impl State {
    /// Gives a caller its place: in the least loaded pod, or in a new one if that
    /// has enough to do and another is allowed. While pods are being replaced there
    /// is one on its way already; while they wait for that, one that their function
    /// may have anyway replaces them.
    pub(super) fn place(
        &mut self,
        caller: CallerId,
        name: &str,
        survey: &Survey,
        now: Duration,
        actions: &mut Vec<Action>,
    ) {
        let Some(Function { settings, .. }) = self.functions.get(name) else {
            return;
        };
        let is_replaced = survey.retiring > 0 && survey.open > 0;
        let is_full = is_replaced || survey.there() >= settings.max_pods;
        let is_free = |load: usize| load < settings.max_waitlist_length;
        if let Some((id, _)) = survey.least.filter(|(_, load)| is_full || is_free(*load)) {
            return self.join(caller, id, actions);
        }
        // Company for a busy pod is no reason to take a warm-up pod from another function.
        let spares_warm_up = survey.least.is_some();
        // Nobody waits for a replacement while what it replaces can be used.
        let stays = survey.retiring > 0;
        match (
            self.try_start(name, spares_warm_up, now, actions),
            survey.least,
        ) {
            (Ok(_), Some((id, _))) if stays => self.join(caller, id, actions),
            (Ok(id), _) | (Err(_), Some((id, _))) => self.join(caller, id, actions),
            (Err(refusal), None) => actions.push(Action::Refuse { caller, refusal }),
        }
    }

    /// Starts a pod unless there is one, or one on its way, or none may come now. Those
    /// that retire do not count.
    pub(super) fn start_if_none(&mut self, name: &str, now: Duration, actions: &mut Vec<Action>) {
        if self.survey(name, &[]).open == 0 {
            // No caller waits for it: if it cannot be started, the next scan tries again.
            let _ = self.try_start(name, true, now, actions);
        }
    }

    /// Starts pods until there are as many as the function keeps, as far as there is
    /// room for them: no other function loses one. Those that retire count until they
    /// have been replaced.
    pub(super) fn keep_up(&mut self, name: &str, now: Duration, actions: &mut Vec<Action>) {
        loop {
            let Some(Function { settings, .. }) = self.functions.get(name) else {
                return;
            };
            let wanted = settings.min_pods.min(settings.max_pods);
            let is_enough = self.survey(name, &[]).there() >= wanted || self.is_at_the_bound();
            if is_enough || self.try_start(name, true, now, actions).is_err() {
                return;
            }
        }
    }

    pub(super) fn try_start(
        &mut self,
        name: &str,
        spares_warm_up: bool,
        now: Duration,
        actions: &mut Vec<Action>,
    ) -> Result<PodId, Refusal> {
        let function = self.functions.get(name);
        let trouble = function.and_then(|function| function.trouble.as_ref());
        if let Some((trouble, left)) =
            trouble.and_then(|trouble| Some((trouble, trouble.left(now)?)))
        {
            return Err(Refusal::Remembered {
                failure: trouble.failure.clone(),
                ago: now.saturating_sub(trouble.at),
                left,
            });
        }
        if self.is_at_the_bound() {
            let victim = self.longest_idle(name, spares_warm_up);
            let pods = self.max_pods;
            self.delete(victim.ok_or(Refusal::TooManyPods { pods })?, actions);
        }
        let id = self.next_pod();
        self.add(id, name, Phase::Starting, now);
        actions.push(Action::Start {
            pod: id,
            function: name.to_owned(),
        });
        Ok(id)
    }

    /// Whether there may be no more pods of any function. Those that are being created
    /// and those that finish their last calls count; those whose deletion was asked for
    /// are gone in a moment, and do not.
    pub(super) fn is_at_the_bound(&self) -> bool {
        let is_there = |pod: &&Pod| pod.phase != Phase::Lost;
        self.max_pods > 0 && self.pods.values().filter(is_there).count() >= self.max_pods
    }

    /// The pod of another function that has been idle longest; of the warm-up only if
    /// there is no other.
    fn longest_idle(&self, name: &str, spares_warm_up: bool) -> Option<PodId> {
        let is_warm_up = |pod: &Pod| {
            let function = self.functions.get(&pod.function);
            function.is_some_and(|function| function.settings.is_warm_up)
        };
        let idle = self.pods.iter().filter(|(_, pod)| {
            pod.is_idle() && &*pod.function != name && !(spares_warm_up && is_warm_up(pod))
        });
        let victim = idle.min_by_key(|(id, pod)| (is_warm_up(pod), pod.used_at, **id));
        victim.map(|(id, _)| *id)
    }

    /// A start has failed: whether another is tried at once for those who waited. If it
    /// would fail again, that is remembered.
    pub(super) fn is_tried_again(&mut self, name: &str, failure: &Failure, now: Duration) -> bool {
        let Some(function) = self.functions.get_mut(name) else {
            return false;
        };
        match failure.outlook {
            Outlook::Passing | Outlook::Denied => return false,
            Outlook::Lasting => {}
            Outlook::Taken => {
                function.taken += 1;
                if function.taken < MOST_TAKEN {
                    return true;
                }
            }
        }
        let before = function.trouble.as_ref();
        // Starts that failed together are one failure.
        if before.is_some_and(|before| before.left(now).is_some()) {
            return false;
        }
        let pause = before.map_or(FIRST_PAUSE, |before| (before.pause * 2).min(LONGEST_PAUSE));
        function.trouble = Some(Trouble {
            failure: failure.clone(),
            at: now,
            pause,
        });
        false
    }

    /// What failed before may succeed now, for one function or for all.
    pub(super) fn changed(&mut self, name: Option<&str>) {
        let forget = |function: &mut Function| {
            function.trouble = None;
            function.taken = 0;
        };
        match name {
            Some(name) => self.functions.get_mut(name).into_iter().for_each(forget),
            None => self.functions.values_mut().for_each(forget),
        }
    }
}
