//! An observer's books: who waits, who runs where, which pods there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{history::name, *};

pub(super) struct Observer {
    pub(super) state: State,
    pub(super) max_pods: usize,
    pub(super) now: u64,
    pub(super) callers: u64,
    pub(super) settings: HashMap<String, Settings>,
    pub(super) wanted: HashMap<CallerId, String>,
    pub(super) waiting: Vec<CallerId>,
    pub(super) lent: Vec<(CallerId, PodId)>,
    /// Pods that exist as far as the cluster is concerned, and their function.
    pub(super) pods: BTreeMap<PodId, String>,
    pub(super) starting: Vec<PodId>,
    pub(super) doubted: Vec<PodId>,
    /// Count against their function's maximum.
    open: BTreeSet<PodId>,
    /// Failed, and may still be run in by those who have not noticed.
    lost: BTreeSet<PodId>,
    deleted: BTreeSet<PodId>,
    /// Being deleted.
    pub(super) leaving: Vec<PodId>,
    /// Likewise, as soon as their start has ended.
    pub(super) unwanted: BTreeSet<PodId>,
    /// Started because others are outdated, and not for a caller.
    replacements: BTreeSet<PodId>,
    pub(super) used_at: HashMap<PodId, u64>,
    pub(super) memory: HashMap<String, super::refusals::Memory>,
    pub(super) history: Vec<Event>,
}

impl Observer {
    pub(super) fn new(max_pods: usize) -> Self {
        Self {
            state: State::with_max_pods(max_pods),
            max_pods,
            now: 0,
            callers: 0,
            settings: (0..3).map(|n| (name(n), SETTINGS)).collect(),
            wanted: HashMap::new(),
            waiting: Vec::new(),
            lent: Vec::new(),
            pods: BTreeMap::new(),
            starting: Vec::new(),
            doubted: Vec::new(),
            open: BTreeSet::new(),
            lost: BTreeSet::new(),
            deleted: BTreeSet::new(),
            leaving: Vec::new(),
            unwanted: BTreeSet::new(),
            replacements: BTreeSet::new(),
            used_at: HashMap::new(),
            memory: HashMap::new(),
            history: Vec::new(),
        }
    }

    pub(super) fn step(&mut self, step: &Step) {
        match self.event(step) {
            Some(event) if matches!(step, Step::Echo(_) | Step::Unknown(_)) => self.ignored(event),
            Some(event) => {
                self.history.push(event.clone());
                self.happens(&event);
            }
            None => {}
        }
    }

    /// 7. Unknown pods, late events and repeated events change nothing.
    fn ignored(&mut self, event: Event) {
        let before = format!("{:?}", self.state);
        let words = format!("{event:?}");
        let actions = self.state.decide(event);
        assert_eq!(actions, [], "{words}");
        assert_eq!(format!("{:?}", self.state), before, "{words}");
    }

    fn happens(&mut self, event: &Event) {
        let waiting_before = self.waits();
        self.note(event);
        let warmed_up = self.warmed_up(event);
        let actions = self.state.decide(event.clone());
        for action in &actions {
            self.see(action, event, &waiting_before);
        }
        let may_unretire = matches!(
            event,
            Event::Changed { function: None } | Event::Outdated { .. }
        );
        if may_unretire {
            self.unretire();
        }
        self.check();
        self.check_others(event, &waiting_before);
        // An outdated pod leaves no function of the warm-up without one.
        if let Some(name) = warmed_up {
            assert!(self.is_served(&name), "{name} has no pod");
        }
        if let Event::Scan { .. } = event {
            let functions = &self.state.functions;
            self.memory
                .retain(|name, _| functions.contains_key(name.as_str()));
            self.check_kept();
        }
    }

    /// As many pods as a function keeps are there or on their way, unless there is no
    /// room or they would fail.
    fn check_kept(&self) {
        for (name, function) in &self.state.functions {
            let Settings {
                min_pods, max_pods, ..
            } = function.settings;
            let there = self.state.survey(name, &[]).there();
            let may_lack = self.state.is_at_the_bound() || self.is_remembered(name);
            assert!(
                there >= min_pods.min(max_pods) || may_lack,
                "{there} of {name}"
            );
        }
    }

    /// The function of a pod that is outdated, if it is of the warm-up and can run callers.
    fn warmed_up(&self, event: &Event) -> Option<String> {
        let Event::Outdated { pod, .. } = event else {
            return None;
        };
        let name = self.pods.get(pod)?;
        (self.settings_of(name).is_warm_up && self.is_served(name)).then(|| name.clone())
    }

    fn is_served(&self, name: &str) -> bool {
        self.state.pods_of(name).any(|(_, pod)| pod.is_usable())
    }

    /// Who waits for which pod, as the plan has it.
    pub(super) fn waits(&self) -> BTreeMap<PodId, Vec<CallerId>> {
        let pods = self.state.pods.iter();
        pods.map(|(id, pod)| (*id, pod.waiting.iter().copied().collect()))
            .collect()
    }

    /// What follows from an event alone.
    fn note(&mut self, event: &Event) {
        self.remember(event);
        match event {
            Event::Request {
                caller, function, ..
            } => {
                self.waiting.push(*caller);
                self.wanted.insert(*caller, function.clone());
            }
            Event::GaveUp { caller, .. } => self.waiting.retain(|waiting| waiting != caller),
            Event::Released { caller, pod, .. } => {
                self.lent.retain(|loan| loan.0 != *caller);
                self.used_at.insert(*pod, self.now);
            }
            Event::Ready { pod, .. } => {
                if self.starting.contains(pod) {
                    self.used_at.insert(*pod, self.now);
                }
                self.starting.retain(|starting| starting != pod);
                self.doubted.retain(|doubted| doubted != pod);
            }
            Event::Failed { pod, .. } => {
                self.lost.insert(*pod);
                self.open.remove(pod);
                self.starting.retain(|starting| starting != pod);
                self.doubted.retain(|doubted| doubted != pod);
            }
            Event::Outdated { pod, .. } => {
                self.open.remove(pod);
            }
            Event::Gone { pod, .. } => {
                self.leaving.retain(|leaving| leaving != pod);
                self.unwanted.remove(pod);
            }
            Event::Adopted { pod, function, .. } => {
                self.pods.insert(*pod, function.clone());
                self.open.insert(*pod);
                self.used_at.insert(*pod, self.now);
            }
            _ => {}
        }
    }

    fn see(&mut self, action: &Action, event: &Event, before: &BTreeMap<PodId, Vec<CallerId>>) {
        match action {
            Action::Lend { caller, pod } => {
                self.answered(caller);
                assert_eq!(
                    self.pods.get(pod),
                    Some(&self.wanted[caller]),
                    "of another function"
                );
                assert!(!self.starting.contains(pod), "{pod:?} is not ready");
                assert!(!self.doubted.contains(pod), "{pod:?} is in doubt");
                assert!(!self.lost.contains(pod), "{pod:?} is lost");
                self.lent.push((*caller, *pod));
            }
            Action::Refuse { caller, refusal } => {
                self.answered(caller);
                self.check_refusal(*caller, refusal, event, before);
            }
            Action::Start { pod, function } => {
                assert!(!self.deleted.contains(pod), "{pod:?} again");
                assert!(
                    self.pods.insert(*pod, function.clone()).is_none(),
                    "{pod:?} again"
                );
                self.open.insert(*pod);
                self.starting.push(*pod);
                self.check_wave(*pod, function, event, before);
                assert!(!self.is_remembered(function), "{function} would fail again");
                self.check_bounds(function);
            }
            Action::Check { pod } => {
                assert!(
                    self.pods.contains_key(pod) && !self.lost.contains(pod),
                    "{pod:?}"
                );
                assert!(!self.doubted.contains(pod), "{pod:?} is being checked");
                self.doubted.push(*pod);
            }
            Action::Delete { pod } => {
                assert!(self.deleted.insert(*pod), "{pod:?} was deleted before");
                self.leaving.push(*pod);
                if self.starting.contains(pod) {
                    self.unwanted.insert(*pod);
                }
                self.check_victim(*pod, event);
                assert!(self.pods.remove(pod).is_some(), "{pod:?} is not known");
                self.open.remove(pod);
                self.starting.retain(|starting| starting != pod);
                self.doubted.retain(|doubted| doubted != pod);
                let has_work = self.lent.iter().any(|loan| loan.1 == *pod);
                assert!(!has_work || self.lost.contains(pod), "{pod:?} has work");
            }
        }
        if let (Event::Adopted { function, .. }, true) = (event, self.deleted.is_empty()) {
            self.check_bounds(function);
        }
    }

    /// 1. Every caller is answered exactly once.
    fn answered(&mut self, caller: &CallerId) {
        assert!(
            self.waiting.contains(caller),
            "{caller:?} was answered before"
        );
        self.waiting.retain(|waiting| waiting != caller);
    }

    /// 4. Never more than the allowed pods.
    fn check_bounds(&self, function: &str) {
        let open = self
            .open
            .iter()
            .filter(|pod| self.pods[pod] == function)
            .count();
        let most = self.settings_of(function).max_pods;
        assert!(open <= most, "{open} pods of {function} instead of {most}");
        let is_there = |pod: &&PodId| !self.lost.contains(pod);
        let all = self.pods.keys().filter(is_there).count();
        assert!(self.max_pods == 0 || all <= self.max_pods, "{all} pods");
    }

    /// Outdated pods may be what is wanted after all.
    fn unretire(&mut self) {
        let open = self.state.pods.iter().filter(|(_, pod)| pod.is_open());
        self.open.extend(open.map(|(id, _)| *id));
    }

    /// 8. Outdated pods are replaced some at a time. A pod that somebody waited for comes at once.
    fn check_wave(
        &mut self,
        pod: PodId,
        function: &str,
        event: &Event,
        before: &BTreeMap<PodId, Vec<CallerId>>,
    ) {
        let nobody_asked = match event {
            Event::Outdated { pod, .. } | Event::Failed { pod, .. } => {
                before.get(pod).is_none_or(Vec::is_empty)
            }
            Event::Gone { .. } | Event::Ready { .. } => true,
            _ => false,
        };
        let mut pods = self.state.pods_of(function);
        let replaces = pods.any(|(_, pod)| pod.phase == Phase::Retiring);
        let nobody_waits = nobody_asked && replaces && self.state.pods[&pod].waiting.is_empty();
        if nobody_waits || self.state.wave.replacements.contains(&pod) {
            self.replacements.insert(pod);
            let (under_way, most) = self.under_way();
            // At the bound another pod goes to make room for it.
            let most = most + usize::from(self.max_pods > 0);
            assert!(under_way <= most, "{under_way} instead of {most}");
        }
    }

    fn under_way(&self) -> (usize, usize) {
        let replacements = self.starting.iter();
        let replacements = replacements.filter(|pod| self.replacements.contains(pod));
        let most = (self.state.pods.len() / 10).max(4);
        let leaving = self.leaving.len() - self.unwanted.len();
        (replacements.count() + leaving, most)
    }

    /// The last settings, which may not be the next ones.
    pub(super) fn settings_of(&self, function: &str) -> Settings {
        self.state.functions[function].settings
    }

    /// 6. The load over all pods is the callers in flight, and each runs in the pod of its loan.
    fn check(&self) {
        assert_eq!(self.state.in_flight(), self.waiting.len() + self.lent.len());
        let mut running: BTreeSet<(CallerId, PodId)> = BTreeSet::new();
        for (id, pod) in &self.state.pods {
            running.extend(pod.running.iter().map(|caller| (*caller, *id)));
            for caller in &pod.waiting {
                assert_eq!(
                    *pod.function, *self.wanted[caller],
                    "waits for another function"
                );
            }
        }
        assert_eq!(running, self.lent.iter().copied().collect());
        // 8. Nothing waits for its turn if it could have it.
        let (under_way, most) = self.under_way();
        let waits = &self.state.wave.to_replace;
        assert!(waits.is_empty() || under_way >= most, "{waits:?}");
    }

    /// 3. One pod's failure never touches another's callers.
    fn check_others(&self, event: &Event, before: &BTreeMap<PodId, Vec<CallerId>>) {
        let Event::Failed { pod: failed, .. } = event else {
            return;
        };
        let after = self.waits();
        for (pod, waiting) in before
            .iter()
            .filter(|(pod, waiting)| *pod != failed && !waiting.is_empty())
        {
            let is_kept = after
                .get(pod)
                .is_some_and(|after| after.starts_with(waiting));
            assert!(is_kept, "{pod:?} lost its callers with {failed:?}");
        }
    }

    /// Lets everything come to rest: nobody gives up, and nobody waits for ever.
    pub(super) fn settle(&mut self, ends_well: bool) {
        while !self.waiting.is_empty() {
            let unsettled = self.starting.len() + self.doubted.len();
            assert!(unsettled > 0, "{:?} wait for nothing", self.waiting);
            match self.starting.first() {
                Some(pod) if !ends_well => self.step(&Step::Fail(
                    self.pods.keys().position(|known| known == pod).unwrap_or(0),
                    Outlook::Lasting,
                )),
                Some(_) => self.step(&Step::Ready(0)),
                None => self.step(&Step::Answer(0)),
            }
        }
        while !self.lent.is_empty() {
            self.step(&Step::Release(0));
        }
        while !self.starting.is_empty() || !self.leaving.is_empty() {
            self.step(&Step::Gone(0));
            self.step(&Step::Ready(0));
        }
        while !self.doubted.is_empty() {
            self.step(&Step::Answer(0));
        }
        // Nobody keeps any.
        for function in 0..u8::try_from(self.settings.len()).unwrap_or(u8::MAX) {
            let settings = Settings {
                revision: 1,
                ..SETTINGS
            };
            self.step(&Step::Settings { function, settings });
        }
        self.step(&Step::Wait { seconds: 1000 });
        self.step(&Step::Scan);
        assert_eq!(self.state.in_flight(), 0);
        assert_eq!(self.state.overview(), []);
        assert!(self.pods.is_empty(), "left in the cluster: {:?}", self.pods);
        assert!(self.state.functions.is_empty(), "{:?}", self.state);
    }
}
