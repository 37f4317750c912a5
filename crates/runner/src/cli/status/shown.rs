//! A runner's status as text of a terminal. Pure.

use std::{fmt::Write as _, time::Duration};

use crate::status::{View, ago, bytes, duration, percent, whole};

/// The whole status.
pub(super) fn text(view: &View) -> String {
    let mut text = String::new();
    glance(&mut text, view);
    functions(&mut text, view);
    pods(&mut text, view);
    failures(&mut text, view);
    outside(&mut text, view);
    text
}

fn glance(text: &mut String, view: &View) {
    let (in_flight, queued) = view.under_way();
    let (lately, failed) = view.lately();
    let (ever, _) = view.ever();
    let process = &view.process;
    let up = whole(view.uptime_seconds);
    let _ = writeln!(text, "function-runner {}, up {up}", plain(&view.version));
    let _ = writeln!(
        text,
        "{lately} calls in the last 5 minutes ({} failed), {ever} since the start; {in_flight} under \
         way, {queued} of them wait",
        percent(failed, lately)
    );
    let _ = writeln!(
        text,
        "memory {}, budget {} of {}, {} threads, {} open files",
        bytes(process.memory_bytes),
        percent(process.budget_used_bytes, process.budget_bytes),
        bytes(process.budget_bytes),
        process.threads,
        process.descriptors
    );
}

fn functions(text: &mut String, view: &View) {
    let head = [
        "FUNCTION", "RUNTIME", "CALLS", "FAILED", "P50", "P95", "P99", "NOW",
    ];
    let time = |micros: Option<u64>| {
        micros.map_or_else(|| "-".to_owned(), |us| duration(Duration::from_micros(us)))
    };
    let row = |of: &crate::status::view::FunctionView| {
        let name = match of.version.as_str() {
            "" => of.function.clone(),
            version => format!("{}:{version}", of.function),
        };
        let lately = &of.lately;
        vec![
            name,
            of.runtimes.join(","),
            of.calls.to_string(),
            percent(lately.errors, lately.calls),
            time(lately.p50),
            time(lately.p95),
            time(lately.p99),
            match of.queued {
                0 => of.in_flight.to_string(),
                queued => format!("{} ({queued} queued)", of.in_flight),
            },
        ]
    };
    let rows = view.functions.iter().map(row).collect();
    table(text, "No function was called yet.", &head, rows);
}

fn pods(text: &mut String, view: &View) {
    let Some(pods) = &view.pods else {
        return;
    };
    let head = ["POD", "PHASE", "AGE", "LOAD", "NODE", "WAITS FOR"];
    let row = |pod: &crate::status::PodView| {
        let age = pod.age_seconds.map(whole);
        vec![
            pod.name.clone(),
            pod.phase.clone(),
            age.unwrap_or_else(|| "-".to_owned()),
            pod.load.to_string(),
            pod.node.clone().unwrap_or_else(|| "-".to_owned()),
            pod.waits_for.clone().unwrap_or_default(),
        ]
    };
    table(
        text,
        "There is no pod.",
        &head,
        pods.iter().map(row).collect(),
    );
    for start in view.starts.iter().take(5) {
        let phases = start.phases.iter().filter(|(_, took)| *took >= 50);
        let phases =
            phases.map(|(name, took)| format!("{} {name}", duration(Duration::from_millis(*took))));
        let phases = phases.collect::<Vec<_>>().join(", ");
        let outcome = if start.failure.is_some() {
            "failed"
        } else {
            "came up"
        };
        let took = duration(Duration::from_millis(start.took_ms));
        let line = format!("{} {outcome} after {took}: {phases}", start.function);
        let _ = writeln!(text, "  start: {}", plain(&line));
    }
}

fn failures(text: &mut String, view: &View) {
    if view.failures.is_empty() {
        text.push_str("\nNo call has failed.\n");
        return;
    }
    text.push_str("\nLAST FAILURES\n");
    for failure in view.failures.iter().take(5) {
        let when = ago(view.now.saturating_sub(failure.at));
        let (code, message) = (plain(&failure.code), plain(&failure.message));
        let _ = writeln!(text, "  {when}, {code}: {message}");
        let _ = writeln!(text, "    what to do: {}", plain(&failure.advice));
        if let Some(id) = &failure.trace_id {
            let _ = writeln!(text, "    trace: {}", plain(id));
        }
    }
}

fn outside(text: &mut String, view: &View) {
    text.push('\n');
    for watch in &view.watches {
        let state = if watch.is_connected {
            "connected"
        } else {
            "broken"
        };
        let heard = watch.age_seconds.map_or_else(|| "never".to_owned(), ago);
        let _ = writeln!(
            text,
            "API server, {}: {state}, heard of {heard}",
            plain(&watch.kind)
        );
    }
    for registry in &view.registries {
        let trouble = registry.trouble.as_ref();
        let state = trouble.map_or_else(|| "answers".to_owned(), |(_, words)| plain(words));
        let (host, requests) = (plain(&registry.host), registry.requests);
        let _ = writeln!(text, "registry {host}: {requests} requests, {state}");
    }
    for (what, why) in &view.configuration.ignored {
        let _ = writeln!(text, "ignored: {}: {}", plain(what), plain(why));
    }
}

/// Columns as wide as their widest cell.
fn table(text: &mut String, empty: &str, head: &[&str], rows: Vec<Vec<String>>) {
    text.push('\n');
    if rows.is_empty() {
        let _ = writeln!(text, "{empty}");
        return;
    }
    let mut all = vec![
        head.iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>(),
    ];
    let cells = |row: Vec<String>| row.iter().map(|cell| plain(cell)).collect();
    all.extend(rows.into_iter().map(cells));
    let width = |column: usize| {
        let cells = all.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in &all {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Without anything that a terminal would obey.
fn plain(text: &str) -> String {
    let harmless = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::view::tests::hostile;

    #[test]
    fn what_the_runner_tells_cannot_move_the_cursor() {
        let shown = text(&hostile("\u{1b}[2J<script>\nforged"));
        let is_harmless = |c: char| !c.is_control() || c == '\n';
        assert!(shown.chars().all(is_harmless), "{shown:?}");
        assert!(
            !shown.lines().any(|line| line.starts_with("forged")),
            "{shown}"
        );
    }

    #[test]
    fn it_tells_functions_failures_and_what_was_ignored() {
        let shown = text(&hostile("x"));
        for words in [
            "FUNCTION",
            "LAST FAILURES",
            "what to do: x",
            "trace: x",
            "ignored: x: x",
            "registry x",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
}
