//! What one runner asks the API server for: how often, and how much of it at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::{Method, Uri};
use parking_lot::{Mutex, MutexGuard};

/// An event that tells of an error is short; a pod's or a service's is not.
const LONGEST_ERROR: usize = 1_000;

/// A request, by what it does to which kind of object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Such as `PATCH leases` or `watch pods`.
    pub words: String,
    pub is_watch: bool,
    /// Whether such requests come in any number, so that the runner has them wait for their turn.
    pub is_gated: bool,
}

impl Asked {
    #[must_use]
    pub fn of(method: &Method, uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default();
        let is_watch = query.contains("watch=true") || query.contains("watch=1");
        let mut segments = uri.path().split('/').filter(|part| !part.is_empty());
        let in_namespace = segments.by_ref().any(|part| part == "namespaces");
        let mut below = segments.skip(1);
        let kind = match below.next() {
            Some(kind) if in_namespace => kind,
            _ => "what there is",
        };
        let is_list = *method == Method::GET && below.next().is_none();
        let verb = match (is_watch, is_list) {
            (true, _) => "watch",
            (_, true) => "list",
            _ => method.as_str(),
        };
        Self {
            words: format!("{verb} {kind}"),
            is_watch,
            is_gated: matches!(kind, "pods" | "services" | "secrets") && !is_list,
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// How many requests of which kind, watches included.
    pub requests: BTreeMap<String, u64>,
    /// Those of them that the API server has answered with success.
    pub answered: BTreeMap<String, u64>,
    /// The gated requests that were under way when there were most of them.
    pub most_at_once: Vec<String>,
    /// Events that came by watches.
    pub events: u64,
    /// Answered with 429.
    pub refused: u64,
    /// Watches that were answered with 410.
    pub expired: u64,
}

impl Counted {
    /// All requests.
    #[must_use]
    pub(crate) fn total(&self) -> u64 {
        self.requests.values().sum()
    }
}

#[derive(Debug, Default)]
pub(super) struct Traffic(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    counted: Counted,
    under_way: Vec<String>,
}

/// A request is under way as long as this lives.
#[derive(Debug)]
pub(super) struct UnderWay {
    traffic: Arc<Traffic>,
    asked: Asked,
}

impl UnderWay {
    /// The API server has done what was asked for.
    pub(super) fn succeeded(&self) {
        let mut state = self.traffic.state();
        let words = self.asked.words.clone();
        *state.counted.answered.entry(words).or_default() += 1;
    }
}

impl Traffic {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    pub(super) fn begin(this: &Arc<Self>, asked: Asked) -> UnderWay {
        let mut state = this.state();
        let words = &asked.words;
        *state.counted.requests.entry(words.clone()).or_default() += 1;
        if asked.is_gated {
            state.under_way.push(words.clone());
            if state.under_way.len() > state.counted.most_at_once.len() {
                state.counted.most_at_once = state.under_way.clone();
            }
        }
        drop(state);
        UnderWay {
            traffic: Arc::clone(this),
            asked,
        }
    }

    pub(super) fn refused(&self) {
        self.state().counted.refused += 1;
    }

    pub(super) fn expired(&self) {
        self.state().counted.expired += 1;
    }

    /// A piece of a watch's answer: the API server sends each event as one.
    pub(super) fn heard(&self, data: &[u8]) {
        let mut state = self.state();
        state.counted.events += 1;
        let tells_410 =
            data.len() < LONGEST_ERROR && String::from_utf8_lossy(data).contains("\"code\":410");
        state.counted.expired += u64::from(tells_410);
    }

    pub(super) fn counted(&self) -> Counted {
        self.state().counted.clone()
    }

    pub(super) fn count_anew(&self) {
        let mut state = self.state();
        state.counted = Counted {
            most_at_once: state.under_way.clone(),
            ..Counted::default()
        };
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.traffic.state();
        let words = &self.asked.words;
        if let Some(place) = state.under_way.iter().position(|other| other == words) {
            state.under_way.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_by_what_they_do_and_whether_they_wait_for_their_turn() {
        let cases = [
            ("POST", "/api/v1/namespaces/a/pods?", "POST pods", true),
            ("PATCH", "/api/v1/namespaces/a/pods/x?", "PATCH pods", true),
            ("GET", "/api/v1/namespaces/a/pods/x", "GET pods", true),
            (
                "GET",
                "/api/v1/namespaces/a/pods?limit=500",
                "list pods",
                false,
            ),
            (
                "GET",
                "/api/v1/namespaces/a/services?&watch=true",
                "watch services",
                false,
            ),
            (
                "GET",
                "/apis/coordination.k8s.io/v1/namespaces/a/leases?&labelSelector=x",
                "list leases",
                false,
            ),
            (
                "GET",
                "/apis/config.porch.kpt.dev/v1alpha1",
                "list what there is",
                false,
            ),
        ];
        for (method, uri, words, is_gated) in cases {
            let asked = Asked::of(&method.parse().unwrap(), &uri.parse().unwrap());
            assert_eq!((&*asked.words, asked.is_gated), (words, is_gated), "{uri}");
            assert_eq!(asked.is_watch, words.starts_with("watch"), "{uri}");
        }
    }

    #[test]
    fn the_most_requests_at_once_are_remembered_after_they_have_ended() {
        let traffic = Arc::<Traffic>::default();
        let pod = Asked {
            words: "POST pods".to_owned(),
            is_watch: false,
            is_gated: true,
        };
        let first = Traffic::begin(&traffic, pod.clone());
        drop(Traffic::begin(&traffic, pod.clone()));
        drop(Traffic::begin(&traffic, pod.clone()));
        assert_eq!(traffic.counted().most_at_once.len(), 2);
        traffic.count_anew();
        let still = traffic.counted().most_at_once.len();
        assert_eq!(still, 1, "one is still under way");
        drop(first);
        let another = Traffic::begin(&traffic, pod);
        another.succeeded();
        drop(another);
        let counted = traffic.counted();
        assert_eq!((counted.most_at_once.len(), counted.total()), (1, 1));
        assert_eq!(counted.answered["POST pods"], 1);
    }
}
