//! The part of the page about registries, the cluster, and the configuration.

use maud::{Markup, html};

use crate::status::{
    view::{RegistryView, View, WatchView},
    words::{ago, whole},
};

pub(super) fn health(view: &View) -> Markup {
    html! {
        section #outside aria-labelledby="outside-title" {
            h2 #outside-title { "Outside" }
            div.columns {
                div {
                    h3 { "Kubernetes API server" }
                    @if view.watches.is_empty() {
                        p.empty { "Not asked: nothing here needs a cluster." }
                    } @else {
                        ul.plain {
                            @for of in &view.watches { (watch(of)) }
                            @if let Some(age) = view.lease_age_seconds {
                                li { span.badge.good { "lease" } " renewed " (ago(age)) }
                            }
                        }
                    }
                }
                div {
                    h3 { "Image registries" }
                    @if view.registries.is_empty() {
                        p.empty { "No registry was asked yet." }
                    } @else {
                        ul.plain { @for of in &view.registries { (registry(view, of)) } }
                    }
                }
            }
        }
    }
}

fn watch(watch: &WatchView) -> Markup {
    html! {
        li {
            @if watch.is_connected {
                span.badge.good { "connected" }
            } @else {
                span.badge.bad { "broken" }
            }
            " " (watch.kind)
            @if let Some(age) = watch.age_seconds {
                span.when { " heard of " (ago(age)) }
            }
            @if watch.interruptions > 0 {
                span.when { ", interrupted " (watch.interruptions) " times" }
            }
        }
    }
}

fn registry(view: &View, registry: &RegistryView) -> Markup {
    html! {
        li {
            @if registry.trouble.is_some() {
                span.badge.bad { "trouble" }
            } @else {
                span.badge.good { "answers" }
            }
            " " strong { (registry.host) } " "
            span.when { (registry.requests) " requests, " (registry.failures) " without a useful answer" }
            @if let Some((at, words)) = &registry.trouble {
                p.message { (ago(view.now.saturating_sub(*at))) ": " (words) }
            }
        }
    }
}

pub(super) fn configuration(view: &View) -> Markup {
    let shown = &view.configuration;
    let (given, default): (Vec<_>, Vec<_>) = shown.flags.iter().partition(|flag| flag.is_given);
    html! {
        section #configuration aria-labelledby="configuration-title" {
            h2 #configuration-title { "Configuration" }
            p.lead { "In force since the start, " (whole(view.uptime_seconds)) " ago." }
            @if !shown.ignored.is_empty() {
                h3 { "Without effect" }
                ul.plain {
                    @for (what, why) in &shown.ignored {
                        li { span.badge.warn { "ignored" } " " code { (what) } ": " (why) }
                    }
                }
            }
            h3 { "Given" }
            @if given.is_empty() && shown.variables.is_empty() {
                p.empty { "Nothing: everything has its default." }
            } @else {
                dl.settings {
                    @for flag in given { div { dt { code { "--" (flag.flag) } } dd { (value(&flag.value)) } } }
                    @for (name, text) in &shown.variables { div { dt { code { (name) } } dd { (value(text)) } } }
                }
            }
            details #defaults {
                summary { "Defaults of " (default.len()) " other flags" }
                dl.settings {
                    @for flag in default { div { dt { code { "--" (flag.flag) } } dd { (value(&flag.value)) } } }
                }
            }
        }
    }
}

fn value(text: &str) -> Markup {
    html! { @if text.is_empty() { span.when { "(empty)" } } @else { (text) } }
}
