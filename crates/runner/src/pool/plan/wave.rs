//! When outdated pods are replaced: some at a time, in waves, so that a new template neither
//! doubles what the cluster has to hold nor keeps the API server busy with creations while
//! deletions wait behind them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

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
    /// report counts for one attempt, and none while an attempt is under way: those that take
    /// long would be before all others each time.
    pub(super) fn replace(&mut self, name: Arc<str>, now: Duration, actions: &mut Vec<Action>) {
        let is_tried = self.survey(&name, &[]).open > 0;
        if !is_tried && !self.wave.to_replace.contains(&name) {
            self.wave.to_replace.push_back(name);
        }
        self.replace_next(now, actions);
    }

    /// Starts replacements as long as few enough are under way.
    pub(super) fn replace_next(&mut self, now: Duration, actions: &mut Vec<Action>) {
        while self.may_replace()
            && let Some(name) = self.wave.to_replace.pop_front()
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

    /// What is wanted has changed once more, and may be what it was before: pods that have no
    /// replacement on its way stay, unless they are reported again.
    pub(super) fn keep_what_waits(&mut self) {
        self.wave.to_replace.clear();
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        for pod in self.pods.values_mut() {
            if pod.phase == Phase::Retiring {
                pod.may_stay = true;
                names.insert(Arc::clone(&pod.function));
            }
        }
        for name in names {
            self.keep_retiring(&name);
        }
    }

    /// Pods of a function that may stay do so, if none is on its way in their place.
    pub(super) fn keep_retiring(&mut self, name: &str) {
        if self.survey(name, &[]).open > 0 {
            return;
        }
        let Some(function) = self.functions.get(name) else {
            return;
        };
        for id in &function.pods {
            if let Some(pod) = self.pods.get_mut(id).filter(|pod| pod.may_stay) {
                pod.may_stay = false;
                pod.phase = Phase::Ready;
            }
        }
    }
}
