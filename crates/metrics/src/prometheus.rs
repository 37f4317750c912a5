//! The text that Prometheus reads, with names as OpenTelemetry's exporter for Prometheus
//! makes them: dots become underscores, units become suffixes, counters end in `_total`.

use std::fmt::Write as _;

use crate::snapshot::{Kind, Metric, Point, Value};

impl Metric {
    /// The name of its series, without the suffixes of a histogram's parts.
    pub(crate) fn prometheus_name(&self) -> String {
        let mut name = self.name.replace('.', "_");
        let unit = match self.unit {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        if !name.ends_with(unit) {
            name.push_str(unit);
        }
        if self.kind == Kind::Counter {
            name.push_str("_total");
        }
        name
    }
}

/// All of them that have points.
pub fn prometheus(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for metric in metrics.iter().filter(|metric| !metric.points.is_empty()) {
        let name = metric.prometheus_name();
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::UpDownCounter | Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let description = escaped(metric.description, false);
        let _ = write!(text, "# HELP {name} {description}\n# TYPE {name} {kind}\n");
        for point in &metric.points {
            write_point(&mut text, &name, point);
        }
    }
    text
}

fn write_point(text: &mut String, name: &str, point: &Point) {
    let labels = labels(point);
    match &point.value {
        Value::Integer(value) => {
            let _ = writeln!(text, "{name}{} {value}", in_braces(&labels));
        }
        Value::Float(value) => {
            let _ = writeln!(text, "{name}{} {value}", in_braces(&labels));
        }
        Value::Histogram {
            bounds,
            counts,
            sum,
        } => {
            let comma = if labels.is_empty() { "" } else { "," };
            let ends = bounds.iter().map(ToString::to_string);
            let ends = ends.chain(["+Inf".to_owned()]);
            let mut count = 0;
            for (end, of) in ends.zip(counts) {
                count += of;
                let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{end}\"}} {count}");
            }
            let braces = in_braces(&labels);
            let _ = write!(
                text,
                "{name}_sum{braces} {sum}\n{name}_count{braces} {count}\n"
            );
        }
    }
}

fn labels(point: &Point) -> String {
    let pair = |(name, value): &(&str, _)| {
        let name = name.replace('.', "_");
        format!("{name}=\"{}\"", escaped(AsRef::<str>::as_ref(value), true))
    };
    let pairs: Vec<String> = point.attributes.iter().map(pair).collect();
    pairs.join(",")
}

fn in_braces(labels: &str) -> String {
    match labels {
        "" => String::new(),
        _ => format!("{{{labels}}}"),
    }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if quotes => escaped.push_str("\\\""),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_opentelemetrys_exporter() {
        let name = |name, unit, kind| Metric::new(name, unit, kind, "").prometheus_name();
        for (metric, expected) in [
            (
                name("rpc.server.call.duration", "s", Kind::Histogram),
                "rpc_server_call_duration_seconds",
            ),
            (
                name("process.cpu.time", "s", Kind::Counter),
                "process_cpu_time_seconds_total",
            ),
            (
                name("function_runner.pods", "{pod}", Kind::UpDownCounter),
                "function_runner_pods",
            ),
            (name("x.memory", "By", Kind::Gauge), "x_memory_bytes"),
        ] {
            assert_eq!(metric, expected);
        }
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_infinity() {
        let value = Value::Histogram {
            bounds: vec![0.1, 1.0],
            counts: vec![2, 1, 4],
            sum: 9.5,
        };
        let metric = Metric::new("a.b", "s", Kind::Histogram, "Two\nlines.");
        let text = prometheus(&[metric.with(&[("x.y", "\"z\"")], value)]);
        let expected = [
            "# HELP a_b_seconds Two\\nlines.",
            "# TYPE a_b_seconds histogram",
            "a_b_seconds_bucket{x_y=\"\\\"z\\\"\",le=\"0.1\"} 2",
            "a_b_seconds_bucket{x_y=\"\\\"z\\\"\",le=\"1\"} 3",
            "a_b_seconds_bucket{x_y=\"\\\"z\\\"\",le=\"+Inf\"} 7",
            "a_b_seconds_sum{x_y=\"\\\"z\\\"\"} 9.5",
            "a_b_seconds_count{x_y=\"\\\"z\\\"\"} 7",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
