//! The part of the page about work: functions, failures, pods and their starts.

use std::time::Duration;

use maud::{Markup, html};

use crate::status::{
    chart,
    failures::FailureView,
    view::{FunctionView, PodView, View},
    words::{ago, duration, percent, whole},
};

pub(super) fn functions(view: &View) -> Markup {
    html! {
        section #functions aria-labelledby="functions-title" {
            h2 #functions-title { "Functions" }
            @if view.functions.is_empty() {
                p.empty {
                    "No function was called yet. Try one: "
                    code { "function-runner eval --image set-labels:v0.2.4 PACKAGE -- app=demo" }
                }
            } @else {
                p.lead { "Percentiles, errors and the chart are of the last five minutes. A function is named from its first success on." }
                table {
                    thead {
                        tr {
                            th scope="col" { "Function" }
                            th scope="col" { "Version" }
                            th scope="col" { "Runtime" }
                            th.number scope="col" { "Calls" }
                            th.number scope="col" { "Failed" }
                            th.number scope="col" { "p50" }
                            th.number scope="col" { "p95" }
                            th.number scope="col" { "p99" }
                            th.number scope="col" { "Now" }
                            th scope="col" { "Last 5 minutes" }
                        }
                    }
                    tbody { @for of in &view.functions { (function(of)) } }
                }
            }
        }
    }
}

fn function(of: &FunctionView) -> Markup {
    let (folder, name) = match of.function.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), of.function.as_str()),
    };
    let lately = &of.lately;
    let time = |micros: Option<u64>| {
        micros.map_or_else(
            || "–".to_owned(),
            |micros| duration(Duration::from_micros(micros)),
        )
    };
    let failed = if lately.errors > 0 {
        "number bad"
    } else {
        "number"
    };
    html! {
        tr {
            th.name scope="row" data-label="Function" {
                span.folder { (folder) } wbr; span { (name) }
                @if of.function == metrics::OTHER {
                    span.folder { " without a success yet, or beyond the first " (metrics::functions::MOST) }
                }
            }
            td data-label="Version" { @if of.version.is_empty() { "–" } @else { (of.version) } }
            td data-label="Runtime" {
                @for runtime in &of.runtimes { span.badge { (runtime) } " " }
            }
            td.number.total data-label="Calls" { (of.calls) }
            td class=(failed) data-label="Failed" title={ (of.errors) " since the start" } {
                (percent(lately.errors, lately.calls))
            }
            td.number data-label="p50" { (time(lately.p50)) }
            td.number data-label="p95" { (time(lately.p95)) }
            td.number data-label="p99" { (time(lately.p99)) }
            td.number data-label="Now" {
                (of.in_flight)
                @if of.queued > 0 { " " span.warn { "(" (of.queued) " queued)" } }
            }
            td.chart data-label="Last 5 minutes" { (chart::lately(lately)) }
        }
    }
}

pub(super) fn failures(view: &View) -> Markup {
    html! {
        section #failures aria-labelledby="failures-title" {
            h2 #failures-title { "Last failures" }
            @if view.failures.is_empty() {
                p.empty.good { "No call has failed." }
            } @else {
                ol.cards { @for failure in &view.failures { (one_failure(view, failure)) } }
            }
        }
    }
}

fn one_failure(view: &View, failure: &FailureView) -> Markup {
    html! {
        li.card {
            p.head {
                span.badge.bad { (failure.code) }
                strong { @if failure.image.is_empty() { "(no function)" } @else { (failure.image) } }
                span.when { (ago(view.now.saturating_sub(failure.at))) }
                @if let Some(pod) = &failure.pod { span.when { "in pod " (pod) } }
            }
            p.message { (failure.message) }
            p.advice { strong { "What to do: " } (failure.advice) }
            @if let Some(id) = &failure.trace_id { p.when { "Trace " code { (id) } } }
        }
    }
}

pub(super) fn pods(view: &View) -> Markup {
    let Some(pods) = &view.pods else {
        return html! {};
    };
    html! {
        section #pods aria-labelledby="pods-title" {
            h2 #pods-title { "Pods" }
            @if pods.is_empty() {
                p.empty { "There is no pod: the next call of a function that needs one starts it." }
            } @else {
                table {
                    thead {
                        tr {
                            th scope="col" { "Pod" }
                            th scope="col" { "Function" }
                            th scope="col" { "Phase" }
                            th.number scope="col" { "Age" }
                            th.number scope="col" { "Load" }
                            th.number scope="col" { "Idle" }
                            th scope="col" { "Node" }
                        }
                    }
                    tbody { @for of in pods { (pod(of)) } }
                }
            }
        }
    }
}

fn pod(pod: &PodView) -> Markup {
    let age = pod.age_seconds.map(whole);
    let phase = if pod.phase == "ready" {
        "badge good"
    } else {
        "badge warn"
    };
    html! {
        tr {
            th.name scope="row" data-label="Pod" { (pod.name) }
            td.name data-label="Function" { (pod.function) }
            td data-label="Phase" {
                span class=(phase) { (pod.phase) }
                @if let Some(what) = &pod.waits_for { " " span.when { "waits for " (what) } }
            }
            td.number data-label="Age" { (age.as_deref().unwrap_or("–")) }
            td.number data-label="Load" { (pod.load) }
            td.number data-label="Idle" { (whole(pod.idle_seconds)) }
            td data-label="Node" { (pod.node.as_deref().unwrap_or("–")) }
        }
    }
}

pub(super) fn starts(view: &View) -> Markup {
    if view.pods.is_none() {
        return html! {};
    }
    let longest = view
        .starts
        .iter()
        .map(|start| start.took_ms)
        .max()
        .unwrap_or(0);
    html! {
        section #starts aria-labelledby="starts-title" {
            h2 #starts-title { "Last cold starts" }
            @if view.starts.is_empty() {
                p.empty { "No pod was started by this runner yet." }
            } @else {
                ul.legend aria-label="Colours" {
                    @for (name, colour) in chart::PHASES {
                        li { svg.swatch aria-hidden="true" viewBox="0 0 10 10" { rect class=(colour) width="10" height="10" {} } (name) }
                    }
                }
                ol.cards.starts {
                    @for start in &view.starts {
                        li.card {
                            p.head {
                                strong { (start.function) }
                                span { (duration(Duration::from_millis(start.took_ms))) }
                                span.when { (ago(view.now.saturating_sub(start.at))) }
                                @if start.failure.is_some() { span.badge.bad { "failed" } }
                            }
                            (chart::start(start, longest))
                            @if let Some(failure) = &start.failure { p.message { (failure) } }
                        }
                    }
                }
            }
        }
    }
}
