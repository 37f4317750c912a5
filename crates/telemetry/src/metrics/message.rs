//! What was counted, as a message of the protocol. Pure.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        self as wire, AggregationTemporality, HistogramDataPoint, NumberDataPoint, ResourceMetrics,
        ScopeMetrics, metric::Data, number_data_point,
    },
    resource::v1::Resource,
};

use metrics::{Kind, Metric, Point, Value};

/// All of it, counted from `start` to `now`.
pub(super) fn message(
    metrics: &[Metric],
    resource: &[opentelemetry::KeyValue],
    start: SystemTime,
    now: SystemTime,
) -> ExportMetricsServiceRequest {
    let times = Times {
        start: nanoseconds(start),
        now: nanoseconds(now),
    };
    let attributes = resource.iter();
    let attributes =
        attributes.map(|entry| key_value(entry.key.as_str(), entry.value.as_str().as_ref()));
    let scope = InstrumentationScope {
        name: "function-runner".into(),
        ..InstrumentationScope::default()
    };
    let scope_metrics = ScopeMetrics {
        scope: Some(scope),
        metrics: metrics.iter().map(|metric| times.metric(metric)).collect(),
        schema_url: String::new(),
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: attributes.collect(),
                ..Resource::default()
            }),
            scope_metrics: vec![scope_metrics],
            schema_url: String::new(),
        }],
    }
}

struct Times {
    start: u64,
    now: u64,
}

impl Times {
    fn metric(&self, metric: &Metric) -> wire::Metric {
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        let numbers = || {
            let points = metric.points.iter();
            points.filter_map(|point| self.number(point)).collect()
        };
        let data = match metric.kind {
            Kind::Gauge => Data::Gauge(wire::Gauge {
                data_points: numbers(),
            }),
            Kind::Counter | Kind::UpDownCounter => Data::Sum(wire::Sum {
                data_points: numbers(),
                aggregation_temporality,
                is_monotonic: metric.kind == Kind::Counter,
            }),
            Kind::Histogram => {
                let points = metric.points.iter();
                let points = points.filter_map(|point| self.histogram(point));
                Data::Histogram(wire::Histogram {
                    data_points: points.collect(),
                    aggregation_temporality,
                })
            }
        };
        wire::Metric {
            name: metric.name.into(),
            description: metric.description.into(),
            unit: metric.unit.into(),
            data: Some(data),
            ..wire::Metric::default()
        }
    }

    fn number(&self, point: &Point) -> Option<NumberDataPoint> {
        let value = match point.value {
            Value::Integer(number) => number_data_point::Value::AsInt(number),
            Value::Float(number) => number_data_point::Value::AsDouble(number),
            Value::Histogram { .. } => return None,
        };
        Some(NumberDataPoint {
            attributes: attributes(point),
            start_time_unix_nano: self.start,
            time_unix_nano: self.now,
            value: Some(value),
            ..NumberDataPoint::default()
        })
    }

    fn histogram(&self, point: &Point) -> Option<HistogramDataPoint> {
        let Value::Histogram {
            bounds,
            counts,
            sum,
        } = &point.value
        else {
            return None;
        };
        Some(HistogramDataPoint {
            attributes: attributes(point),
            start_time_unix_nano: self.start,
            time_unix_nano: self.now,
            count: counts.iter().sum(),
            sum: Some(*sum),
            bucket_counts: counts.clone(),
            explicit_bounds: bounds.clone(),
            ..HistogramDataPoint::default()
        })
    }
}

fn attributes(point: &Point) -> Vec<KeyValue> {
    let attributes = point.attributes.iter();
    attributes
        .map(|(name, value)| key_value(name, value))
        .collect()
}

fn key_value(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_kind_keeps_its_meaning_on_the_wire() {
        let metric = |kind, value| Metric {
            name: "krm.calls",
            unit: "{call}",
            description: "Calls.",
            kind,
            points: vec![Point {
                attributes: vec![("krm.function.runtime", "exec".into())],
                value,
            }],
        };
        let histogram = Value::Histogram {
            bounds: vec![0.1, 1.0],
            counts: vec![3, 2, 1],
            sum: 4.5,
        };
        let all = [
            metric(Kind::Counter, Value::Integer(7)),
            metric(Kind::UpDownCounter, Value::Integer(-1)),
            metric(Kind::Gauge, Value::Float(0.5)),
            metric(Kind::Histogram, histogram),
        ];
        let start = UNIX_EPOCH + Duration::from_secs(1);
        let now = UNIX_EPOCH + Duration::from_secs(2);
        let resource = [opentelemetry::KeyValue::new("service.name", "a")];
        let message = message(&all, &resource, start, now);
        let sent = &message.resource_metrics[0];
        assert_eq!(
            sent.resource.as_ref().unwrap().attributes[0].key,
            "service.name"
        );
        let sent = &sent.scope_metrics[0].metrics;
        let Some(Data::Sum(counter)) = &sent[0].data else {
            panic!("{:?}", sent[0])
        };
        assert!(counter.is_monotonic);
        let point = &counter.data_points[0];
        assert_eq!(point.value, Some(number_data_point::Value::AsInt(7)));
        assert_eq!(point.start_time_unix_nano, 1_000_000_000);
        assert_eq!(point.time_unix_nano, 2_000_000_000);
        assert_eq!(point.attributes[0].key, "krm.function.runtime");
        let Some(Data::Sum(things)) = &sent[1].data else {
            panic!("{:?}", sent[1])
        };
        assert!(!things.is_monotonic);
        assert!(matches!(sent[2].data, Some(Data::Gauge(_))));
        let Some(Data::Histogram(histogram)) = &sent[3].data else {
            panic!("{:?}", sent[3])
        };
        let point = &histogram.data_points[0];
        assert_eq!((point.count, point.sum), (6, Some(4.5)));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        let cumulative: i32 = AggregationTemporality::Cumulative.into();
        assert_eq!(histogram.aggregation_temporality, cumulative);
    }
}
