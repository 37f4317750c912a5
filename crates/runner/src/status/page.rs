//! The page: HTML made here, from plain data. Everything that is not ours is escaped by
//! the macro that writes it.

mod outside;
mod work;

use maud::{DOCTYPE, Markup, html};

use super::{
    view::View,
    words::{bytes, percent, whole},
};

pub(super) const STYLE: &str = include_str!("page/style.css");
pub(super) const SCRIPT: &str = include_str!("page/script.js");
pub(super) const ICON: &str = include_str!("page/icon.svg");

pub(super) fn html(view: &View) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Function Runner" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(view))
                main #main {
                    (glance(view))
                    (work::functions(view))
                    (work::failures(view))
                    (work::pods(view))
                    (work::starts(view))
                    (outside::health(view))
                    (outside::configuration(view))
                }
                footer {
                    p {
                        "The same as " a href="/status.json" { "JSON" } ", for Prometheus as "
                        a href="/metrics" { "metrics" } ", and in a terminal with "
                        code { "function-runner status --watch" } "."
                    }
                }
            }
        }
    };
    page.into_string()
}

fn header(view: &View) -> Markup {
    html! {
        header {
            div.brand {
                img src="/icon.svg" alt="" width="28" height="28";
                h1 { "Function Runner" }
                span.version { (view.version) }
            }
            nav aria-label="Sections" {
                a href="#functions" { "Functions" }
                a href="#failures" { "Failures" }
                @if view.pods.is_some() {
                    a href="#pods" { "Pods" }
                    a href="#starts" { "Cold starts" }
                }
                a href="#outside" { "Outside" }
                a href="#configuration" { "Configuration" }
            }
            div.live {
                span { "up " (whole(view.uptime_seconds)) }
                // The script takes it into use.
                button #pause type="button" hidden { "Pause" }
                noscript { span { "reload to refresh" } }
            }
        }
    }
}

fn glance(view: &View) -> Markup {
    let (in_flight, queued) = view.under_way();
    let (lately, failed) = view.lately();
    let (ever, ever_failed) = view.ever();
    let process = &view.process;
    let bad = |is_bad: bool| if is_bad { "tile bad" } else { "tile" };
    html! {
        section #glance aria-labelledby="glance-title" {
            h2 #glance-title.quiet { "At a glance" }
            dl.tiles {
                (tile("tile", "Calls, last 5 minutes", &lately.to_string(), &format!("{ever} since the start")))
                (tile(
                    bad(failed * 20 > lately),
                    "Failed, last 5 minutes",
                    &percent(failed, lately),
                    &format!("{failed} calls; {ever_failed} since the start"),
                ))
                (tile(
                    bad(queued > 0),
                    "Under way now",
                    &in_flight.to_string(),
                    &format!("{queued} of them wait for their turn"),
                ))
                @if let Some(pods) = &view.pods {
                    @let ready = pods.iter().filter(|pod| pod.phase == "ready").count();
                    (tile("tile", "Pods ready", &ready.to_string(), &format!("of {}", pods.len())))
                }
                (tile(
                    "tile",
                    "Memory",
                    &bytes(process.memory_bytes),
                    &format!("{} threads, {} open files", process.threads, process.descriptors),
                ))
                // There is none where no process is started.
                @if process.budget_bytes > 0 {
                    (tile(
                        "tile",
                        "Budget in use",
                        &percent(process.budget_used_bytes, process.budget_bytes),
                        &format!("of {} for functions", bytes(process.budget_bytes)),
                    ))
                }
                (tile(
                    "tile",
                    "Requests hold",
                    &bytes(process.requests_used_bytes),
                    &format!("of {}", bytes(process.requests_bytes)),
                ))
            }
        }
    }
}

fn tile(class: &str, name: &str, value: &str, beside: &str) -> Markup {
    html! {
        div class=(class) {
            dt { (name) }
            dd {
                span.value { (value) }
                span.beside { (beside) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
