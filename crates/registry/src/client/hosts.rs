//! The limits of each host: how many requests it gets at a time, and until when it
//! has asked for a pause.
//!
//! One host has at most half of all places, so that a registry that answers
//! slowly or not at all does not hold up the others.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::FetchError;
use crate::url::Endpoint;

/// Requests at a time, to all hosts together and to one of them.
const PLACES: usize = 16;
const PLACES_OF_ONE: usize = PLACES / 2;

/// Longer pauses are not kept: limits are lifted, and a mistaken
/// answer must not cut off a registry for a day.
pub(super) const LONGEST_REST: Duration = Duration::from_secs(5 * 60);

/// Callers choose the hosts, so there is a bound: above it, unused ones are forgotten.
const MOST_HOSTS: usize = 1000;

#[derive(Debug)]
pub(super) struct Hosts {
    places: Arc<Semaphore>,
    known: Mutex<HashMap<Endpoint, Host>>,
}

#[derive(Debug)]
struct Host {
    places: Arc<Semaphore>,
    rest: Option<Rest>,
    /// It has spoken TLS once: it is not asked over plain HTTP any more, even if TLS
    /// connections to it are cut.
    speaks_tls: bool,
}

/// What a host said when it asked for a pause.
#[derive(Debug)]
struct Rest {
    until: Instant,
    status: StatusCode,
    told: String,
}

/// The right to one request; given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    _own: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Hosts {
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES)),
            known: Mutex::default(),
        }
    }

    /// Waits for a place, first come, first served.
    pub(super) async fn enter(&self, endpoint: &Endpoint) -> Place {
        let own = Arc::clone(&host(&mut self.known(), endpoint).places);
        // Nobody closes them, so there is always a permit. The host's own comes
        // first: a request that waits for it takes no place from other hosts.
        let own = own.acquire_owned().await.ok();
        let of_all = Arc::clone(&self.places).acquire_owned().await.ok();
        Place {
            _own: own,
            _of_all: of_all,
        }
    }

    /// Remembers that a host wants no request for some time.
    pub(super) fn rest(&self, endpoint: &Endpoint, time: Duration, status: StatusCode, told: &str) {
        host(&mut self.known(), endpoint).rest = Some(Rest {
            until: Instant::now() + time.min(LONGEST_REST),
            status,
            told: told.to_owned(),
        });
    }

    /// What a host that still wants no request has said.
    pub(super) fn resting(&self, endpoint: &Endpoint) -> Option<FetchError> {
        let known = self.known();
        let rest = known.get(endpoint)?.rest.as_ref()?;
        let left = rest.until.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then(|| FetchError::Unavailable {
            url: endpoint.to_string(),
            status: rest.status,
            told: rest.told.clone(),
            retry_after: Some(left),
        })
    }

    /// Remembers that TLS was spoken to the endpoint.
    pub(super) fn spoke_tls(&self, endpoint: &Endpoint) {
        host(&mut self.known(), endpoint).speaks_tls = true;
    }

    pub(super) fn speaks_tls(&self, endpoint: &Endpoint) -> bool {
        let known = self.known();
        known.get(endpoint).is_some_and(|host| host.speaks_tls)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Endpoint, Host>> {
        self.known.lock()
    }
}

fn host<'a>(known: &'a mut HashMap<Endpoint, Host>, endpoint: &Endpoint) -> &'a mut Host {
    if known.len() >= MOST_HOSTS && !known.contains_key(endpoint) {
        make_room(known);
    }
    known.entry(endpoint.clone()).or_insert_with(|| Host {
        places: Arc::new(Semaphore::new(PLACES_OF_ONE)),
        rest: None,
        speaks_tls: false,
    })
}

/// Forgets hosts that nobody asks at the moment: those of which nothing is to be
/// remembered, and if that is not enough the others too.
fn make_room(known: &mut HashMap<Endpoint, Host>) {
    let is_asked = |host: &Host| Arc::strong_count(&host.places) > 1;
    let now = Instant::now();
    let rests = |host: &Host| host.rest.as_ref().is_some_and(|rest| rest.until > now);
    known.retain(|_, host| is_asked(host) || rests(host) || host.speaks_tls);
    if known.len() >= MOST_HOSTS {
        known.retain(|_, host| is_asked(host));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;
    use crate::url::Scheme;

    fn endpoint(name: &str) -> Endpoint {
        Endpoint::of_registry(Scheme::Https, name).unwrap()
    }

    async fn is_free(hosts: &Hosts, name: &str) -> bool {
        let endpoint = endpoint(name);
        let entering = hosts.enter(&endpoint);
        timeout(Duration::from_secs(1), entering).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn one_host_gets_half_of_the_places_and_all_hosts_no_more_than_there_are() {
        let hosts = Hosts::new();
        let mut taken = Vec::new();
        for _ in 0..PLACES_OF_ONE {
            taken.push(hosts.enter(&endpoint("a.example")).await);
        }
        assert!(!is_free(&hosts, "a.example").await);
        assert!(is_free(&hosts, "b.example").await, "a has not taken all");
        for _ in 0..PLACES - PLACES_OF_ONE {
            taken.push(hosts.enter(&endpoint("b.example")).await);
        }
        assert!(!is_free(&hosts, "c.example").await, "all are taken");
        taken.pop();
        assert!(is_free(&hosts, "c.example").await, "one was given back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_counted_down_and_bounded() {
        let hosts = Hosts::new();
        let (a, day) = (endpoint("a.example"), Duration::from_secs(24 * 3600));
        hosts.rest(&a, day, StatusCode::TOO_MANY_REQUESTS, ", \"slow down\"");
        advance(Duration::from_secs(60)).await;
        let said = hosts.resting(&a).unwrap().to_string();
        assert_eq!(
            said,
            "https://a.example cannot answer at the moment (429 Too Many Requests, \"slow \
             down\"); it asked for a pause, so it is not asked again for 240 s"
        );
        assert!(hosts.resting(&endpoint("b.example")).is_none());
        advance(Duration::from_secs(240)).await;
        assert!(hosts.resting(&a).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn hosts_without_number_do_not_fill_the_memory() {
        let hosts = Hosts::new();
        let busy = hosts.enter(&endpoint("busy.example")).await;
        for number in 0..3 * MOST_HOSTS {
            let other = endpoint(&format!("n{number}.example"));
            hosts.rest(&other, LONGEST_REST, StatusCode::SERVICE_UNAVAILABLE, "");
        }
        assert!(hosts.known().len() <= MOST_HOSTS);
        assert!(hosts.known().contains_key(&endpoint("busy.example")));
        drop(busy);
    }
}
