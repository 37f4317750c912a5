//! What counting costs beside what is counted: everything that metrics do for one call of
//! a bundled function, and such a call itself, without its transport.

use std::time::Duration;

use functions::{Clock, catalog};
use metrics::{
    Code,
    budget::{self, Part},
    calls::{Direction, LISTS, SERVED},
    functions::{self as counted, Ended, Runtime},
};
use process::{Completed, Exit};
use service::Notes;

use crate::Workload;

pub(crate) const WORKLOADS: &[Workload] = &[
    ("native-call", native_calls),
    ("metrics-of-a-call", metrics_of_calls),
];

/// Calls per round, of both.
const CALLS: usize = 20;

const IMAGE: &str = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.4";

/// A small package: ten objects, 3 kB.
fn list() -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for number in 0..10 {
        list += &format!(
            "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: server-{number}\n    \
             namespace: production\n    labels:\n      app: server\n  spec:\n    replicas: 3\n    \
             selector:\n      matchLabels:\n        app: server\n    template:\n      metadata:\n        \
             labels:\n          app: server\n      spec:\n        containers:\n        - name: server\n          \
             image: example.com/server:v1\n"
        );
    }
    list + "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n  data:\n    tier: web\n"
}

fn native_calls(rounds: usize) {
    let function = catalog::find("set-labels@v0.2.4").unwrap();
    let list = list();
    for _ in 0..rounds * CALLS {
        let ended = function.run(list.as_bytes(), &Clock::default()).unwrap();
        let completed = Completed {
            exit: Exit::Code(ended.exit.into()),
            stdout: ended.stdout.into(),
            log: ended.stderr.into(),
        };
        krm::judge_completed(IMAGE, completed).unwrap();
    }
}

/// As `service` and `runner::observed` count.
fn metrics_of_calls(rounds: usize) {
    for number in 0..rounds * CALLS {
        let (notes, took) = (Notes::default(), Duration::from_micros(300));
        budget::USED.of(Part::Requests).set(16_384);
        budget::USED.of(Part::Requests).set(19_384);
        LISTS.of(Direction::In).observe(3000);
        let series = counted::of(IMAGE);
        series.in_flight.add(1);
        notes.is_about(IMAGE, series.clone());
        notes.note(|noted| noted.runtime = Some("bundled"));
        drop(notes.waits());
        drop(notes.runs());
        series.in_flight.add(-1);
        let noted = notes.noted();
        let ended = Ended {
            runtime: Runtime::named(noted.runtime.unwrap()),
            code: Code::Ok,
            took: took + Duration::from_nanos(number as u64),
            queue_wait: noted.queue_wait,
        };
        counted::ended(noted.image.as_deref(), ended);
        LISTS.of(Direction::Out).observe(3100);
        SERVED.ended(Code::Ok, took);
        budget::USED.of(Part::Requests).set(19_484);
        budget::USED.of(Part::Requests).set(0);
    }
}
