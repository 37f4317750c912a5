//! Remote procedure calls, as OpenTelemetry's conventions and Porch's own runner name
//! them; sizes of lists, and results of functions.

use std::{sync::OnceLock, time::Duration};

use crate::{
    Code,
    instruments::{Counter, Histogram, Label as _, Split, label, metric},
    snapshot::{Kind, Metric},
};

/// The one method that is counted.
const METHOD: &str = "evaluator.FunctionEvaluator/EvaluateFunction";

label!(
    /// Which way a list went.
    Direction as "direction" { In = "in", Out = "out", }
);

label!(
    /// What a function thought of something.
    Severity as "severity" { Error = "error", Warning = "warning", Info = "info", }
);

/// Durations by code.
#[derive(Debug)]
pub struct Calls([OnceLock<Box<Histogram>>; Code::COUNT]);

/// Calls that were answered here.
pub static SERVED: Calls = Calls::new();
/// Calls that were sent to wrapper servers.
pub static SENT: Calls = Calls::new();

pub static LISTS: Split<Direction, Histogram, 2> = Split::new([const { Histogram::of_sizes() }; 2]);

pub static RESULTS: Split<Severity, Counter, 3> = Split::new([const { Counter::new() }; 3]);

impl Calls {
    const fn new() -> Self {
        Self([const { OnceLock::new() }; Code::COUNT])
    }

    pub fn ended(&self, code: Code, took: Duration) {
        let of_code = &self.0[code.index()];
        let histogram = of_code.get_or_init(|| Box::new(Histogram::of_durations()));
        histogram.took(took);
    }

    fn metric(&self, name: &'static str, description: &'static str) -> Metric {
        let mut metric = Metric::new(name, "s", Kind::Histogram, description);
        for (code, of) in Code::VALUES.iter().zip(&self.0) {
            if let Some(histogram) = of.get() {
                let attributes = [
                    ("rpc.system.name", "grpc"),
                    ("rpc.method", METHOD),
                    ("rpc.response.status_code", code),
                ];
                metric.add(&attributes, histogram.value());
            }
        }
        metric
    }
}

pub(crate) fn server() -> Vec<Metric> {
    vec![
        SERVED.metric(
            "rpc.server.call.duration",
            "Duration of calls that were answered, by their gRPC status.",
        ),
        metric(
            "function_runner.list.size",
            "By",
            &LISTS,
            "Sizes of the lists that came in and that went out.",
        ),
        metric(
            "function_runner.results",
            "{result}",
            &RESULTS,
            "Results that functions reported; those of pods are counted by their wrapper.",
        ),
    ]
}

pub(crate) fn client() -> Vec<Metric> {
    vec![SENT.metric(
        "rpc.client.call.duration",
        "Duration of calls to wrapper servers, by their gRPC status.",
    )]
}
