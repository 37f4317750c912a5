//! When outdated pods are replaced: some at a time, in waves, so that a new template neither
//! doubles what the cluster has to hold nor keeps the API server busy with creations while
//! deletions wait behind them.

use std::{mem::take, sync::Arc, time::Duration};

use super::{
    super::state::{Phase, PodId, State},
    Action,
};

/// Replacements and deletions that may be under way at once, however few pods there are.
const LEAST_AT_ONCE: usize = 4;

/// One in so many pods, where that is more.
const SHARE: usize = 10;

impl State {
    /// A function's pods are outdated: they are replaced as soon as it is their turn. Each
    /// report counts for one attempt.
    pub(super) fn replace(&mut self, name: Arc<str>, now: Duration, actions: &mut Vec<Action>) {
        self.wave.to_replace.insert(name);
        self.replace_next(now, actions);
    }

    /// Starts replacements as long as few enough are under way.
    pub(super) fn replace_next(&mut self, now: Duration, actions: &mut Vec<Action>) {
        while self.may_replace()
            && let Some(name) = self.wave.to_replace.pop_first()
        {
            let is_wanted = self
                .pods_of(&name)
                .any(|(id, pod)| pod.phase == Phase::Retiring && self.is_missed(id, pod, now));
            // No caller waits for it: if it cannot be started, the next report tries again.
            if is_wanted
                && self.survey(&name, &[]).open == 0
                && let Ok(replacement) = self.try_start(&name, true, now, actions)
            {
                self.wave.replacements.insert(replacement);
            }
        }
    }

    /// A replacement is over when the deletion of what it replaces has ended. Pods that
    /// finish their last calls, which may take minutes, hold up nobody.
    fn may_replace(&mut self) -> bool {
        let pods = &self.pods;
        let starts = |id: &PodId| pods.get(id).is_some_and(|pod| pod.phase == Phase::Starting);
        let wave = &mut self.wave;
        wave.replacements.retain(starts);
        let under_way = wave.replacements.len() + wave.leaving.len();
        under_way < LEAST_AT_ONCE.max(pods.len() / SHARE)
    }

    pub(super) fn gone(&mut self, id: PodId, now: Duration, actions: &mut Vec<Action>) {
        if self.wave.leaving.remove(&id) {
            self.replace_next(now, actions);
        }
    }

    /// What is wanted has changed once more, and may be what it was before: pods that wait
    /// for their turn stay, unless they are reported again.
    pub(super) fn keep_what_waits(&mut self) {
        for name in take(&mut self.wave.to_replace) {
            if self.survey(&name, &[]).open > 0 {
                continue;
            }
            let Some(function) = self.functions.get(&name) else {
                continue;
            };
            for id in &function.pods {
                let retiring = self.pods.get_mut(id);
                if let Some(pod) = retiring.filter(|pod| pod.phase == Phase::Retiring) {
                    pod.phase = Phase::Ready;
                }
            }
        }
    }
}
