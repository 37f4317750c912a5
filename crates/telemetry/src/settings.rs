//! What the environment asks for. Pure: the environment is a function from names to values.
//! Invalid values are not errors, because a runner without telemetry is better than a
//! runner that does not start; they become `warnings`.

use std::time::Duration;

use opentelemetry::KeyValue;
use service::trace::Propagators;

use crate::destination::{Destination, Signal};

/// The name of this service, unless `OTEL_SERVICE_NAME` says another.
const SERVICE_NAME: &str = "function-runner";

/// As the specification says.
const METRICS_EVERY: Duration = Duration::from_secs(60);

/// What is wanted.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) traces: Vec<Export>,
    pub(crate) metrics: Vec<Export>,
    pub(crate) metrics_every: Duration,
    pub(crate) propagators: Propagators,
    pub(crate) resource: Vec<KeyValue>,
    pub(crate) warnings: Vec<String>,
}

/// Where a signal goes.
#[derive(Debug)]
pub(crate) enum Export {
    Collector(Box<Destination>),
    Console,
}

/// What this process knows about itself.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    pub version: &'static str,
    pub pod: Option<String>,
    pub namespace: Option<String>,
}

impl Settings {
    pub(crate) fn read(identity: &Identity, environment: impl Fn(&str) -> Option<String>) -> Self {
        // An empty variable counts as unset.
        let get = |name: &str| environment(name).filter(|value| !value.is_empty());
        let mut warnings = Vec::new();
        let propagators = match get("OTEL_PROPAGATORS") {
            None => Propagators::default(),
            Some(names) => {
                let (chosen, unknown) = Propagators::parse(&names);
                for name in unknown {
                    warnings.push(format!(
                        "OTEL_PROPAGATORS names {name:?}, which is not supported; known are \
                         tracecontext, baggage, b3, b3multi and none"
                    ));
                }
                chosen
            }
        };
        let is_disabled = get("OTEL_SDK_DISABLED").is_some_and(|value| value == "true");
        let mut exports = |signal| {
            if is_disabled {
                Vec::new()
            } else {
                exports(signal, get, &mut warnings)
            }
        };
        let (traces, metrics) = (exports(Signal::Traces), exports(Signal::Metrics));
        if !traces.is_empty() {
            warnings.extend(sampler_trouble(get));
        }
        let interval = get("OTEL_METRIC_EXPORT_INTERVAL");
        let interval = interval.and_then(|text| text.parse().ok());
        let interval = interval.filter(|milliseconds| *milliseconds > 0);
        Self {
            traces,
            metrics,
            metrics_every: interval.map_or(METRICS_EVERY, Duration::from_millis),
            propagators,
            resource: resource(identity, get),
            warnings,
        }
    }
}

/// Nothing is exported unless a variable asks for it.
fn exports(
    signal: Signal,
    get: impl Fn(&str) -> Option<String>,
    warnings: &mut Vec<String>,
) -> Vec<Export> {
    let variable = format!("OTEL_{}_EXPORTER", signal.variable());
    let mut exports = Vec::new();
    for name in get(&variable).unwrap_or_default().split(',').map(str::trim) {
        match name {
            "otlp" => match Destination::read(signal, &get) {
                Ok(destination) => exports.push(Export::Collector(Box::new(destination))),
                Err(error) => warnings.push(format!("no {} are exported: {error}", signal.name())),
            },
            "console" => exports.push(Export::Console),
            "none" | "" => {}
            // Asked for elsewhere, not pushed.
            "prometheus" if signal == Signal::Metrics => {}
            other => warnings.push(format!(
                "{variable} is {other:?}, which is not supported; known are otlp, console and none"
            )),
        }
    }
    let compression = ["OTEL_EXPORTER_OTLP_COMPRESSION".to_owned()]
        .into_iter()
        .chain([format!(
            "OTEL_EXPORTER_OTLP_{}_COMPRESSION",
            signal.variable()
        )]);
    for variable in compression.filter(|_| !exports.is_empty()) {
        if let Some(value) = get(&variable).filter(|value| value != "none") {
            let told = format!("{variable}={value} is ignored: what is exported is not compressed");
            if !warnings.contains(&told) {
                warnings.push(told);
            }
        }
    }
    exports
}

/// What is wrong with the choice of a sampler, which the library reads, and falls back
/// without a word.
fn sampler_trouble(get: impl Fn(&str) -> Option<String>) -> Option<String> {
    let sampler = get("OTEL_TRACES_SAMPLER")?;
    match sampler.trim_start_matches("parentbased_") {
        "always_on" | "always_off" => None,
        "traceidratio" => {
            let ratio = get("OTEL_TRACES_SAMPLER_ARG").unwrap_or_default();
            let is_ratio = ratio
                .parse()
                .is_ok_and(|ratio| (0.0..=1.0).contains(&ratio));
            (!is_ratio).then(|| {
                format!(
                    "OTEL_TRACES_SAMPLER_ARG is {ratio:?}, which is not a number from 0 to 1; \
                     every trace is sampled"
                )
            })
        }
        _ => Some(format!(
            "OTEL_TRACES_SAMPLER is {sampler:?}, which is not supported; every trace is sampled \
             unless its caller decided otherwise"
        )),
    }
}

/// What is said about this process with everything that is exported.
/// `OTEL_RESOURCE_ATTRIBUTES` wins over what we know, and `OTEL_SERVICE_NAME` over that.
fn resource(identity: &Identity, get: impl Fn(&str) -> Option<String>) -> Vec<KeyValue> {
    let mut attributes = vec![
        ("service.name".to_owned(), SERVICE_NAME.to_owned()),
        ("service.version".to_owned(), identity.version.to_owned()),
    ];
    let mut set =
        |name: &str, value: String| match attributes.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => attributes.push((name.to_owned(), value)),
        };
    for (name, value) in [
        ("k8s.pod.name", &identity.pod),
        ("k8s.namespace.name", &identity.namespace),
        ("service.instance.id", &identity.pod),
    ] {
        if let Some(value) = value {
            set(name, value.clone());
        }
    }
    let given = get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    for (name, value) in given.split(',').filter_map(|entry| entry.split_once('=')) {
        let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
        set(name.trim(), value.into_owned());
    }
    if let Some(name) = get("OTEL_SERVICE_NAME") {
        set("service.name", name);
    }
    let attributes = attributes.into_iter();
    attributes
        .map(|(name, value)| KeyValue::new(name, value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        let identity = Identity {
            version: "1.2.3",
            pod: Some("runner-0".into()),
            namespace: Some("porch-fn-system".into()),
        };
        Settings::read(&identity, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_exported_unless_it_is_asked_for() {
        for variables in [
            vec![],
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318")],
            // As Porch 1.6 sets them.
            vec![
                ("OTEL_METRICS_EXPORTER", "prometheus"),
                ("OTEL_TRACES_EXPORTER", "none"),
            ],
            vec![
                ("OTEL_TRACES_EXPORTER", "otlp"),
                ("OTEL_SDK_DISABLED", "true"),
            ],
        ] {
            let settings = read(&variables);
            assert!(settings.traces.is_empty() && settings.metrics.is_empty());
            assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
            assert_eq!(settings.propagators, Propagators::default());
        }
        let settings = read(&[("OTEL_TRACES_EXPORTER", "otlp,console")]);
        let [Export::Collector(_), Export::Console] = &settings.traces[..] else {
            panic!("{:?}", settings.traces)
        };
    }

    #[test]
    fn what_makes_no_sense_is_said_and_the_runner_goes_on() {
        for (name, value) in [
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_PROPAGATORS", "jaeger"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ] {
            let settings = read(&[(name, value), ("OTEL_TRACES_EXPORTER", "otlp")]);
            let [told] = &settings.warnings[..] else {
                panic!("{name}={value}: {:?}", settings.warnings)
            };
            let is_named = told.contains(name) || told.contains("OTEL_TRACES_SAMPLER_ARG");
            assert!(is_named, "{told}");
        }
    }

    #[test]
    fn the_operator_may_say_who_this_is() {
        let attribute = |settings: &Settings, name: &str| {
            let found = settings
                .resource
                .iter()
                .find(|entry| entry.key.as_str() == name);
            found.map(|entry| entry.value.to_string())
        };
        let settings = read(&[]);
        assert_eq!(attribute(&settings, "service.name").unwrap(), SERVICE_NAME);
        assert_eq!(attribute(&settings, "service.version").unwrap(), "1.2.3");
        assert_eq!(attribute(&settings, "k8s.pod.name").unwrap(), "runner-0");
        let settings = read(&[
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=a,k8s.namespace.name=b,team=x%20y",
            ),
            ("OTEL_SERVICE_NAME", "porch-function-runner"),
        ]);
        let name = attribute(&settings, "service.name").unwrap();
        assert_eq!(name, "porch-function-runner");
        assert_eq!(attribute(&settings, "k8s.namespace.name").unwrap(), "b");
        assert_eq!(attribute(&settings, "team").unwrap(), "x y");
    }
}
