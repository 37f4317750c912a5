//! How a trace comes in and goes on: headers in W3C's form, and in that of Zipkin ("B3")
//! if `OTEL_PROPAGATORS` names it. A header that cannot be read counts as none.

use std::{str::FromStr as _, sync::Arc};

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use tonic::metadata::MetadataMap;

use super::Trace;

/// Which headers are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagators {
    trace_context: bool,
    baggage: bool,
    b3: bool,
    b3_multi: bool,
}

impl Default for Propagators {
    fn default() -> Self {
        Self {
            trace_context: true,
            baggage: true,
            ..Self::NONE
        }
    }
}

impl Propagators {
    const NONE: Self = Self {
        trace_context: false,
        baggage: false,
        b3: false,
        b3_multi: false,
    };

    /// For a server that only listens: whatever its caller sends.
    pub const ALL: Self = Self {
        trace_context: true,
        baggage: true,
        b3: true,
        b3_multi: true,
    };

    /// Reads the value of `OTEL_PROPAGATORS`; also returns the names that are unknown.
    pub fn parse(names: &str) -> (Self, Vec<&str>) {
        let mut chosen = Self::NONE;
        let mut unknown = Vec::new();
        for name in names.split(',').map(str::trim) {
            match name {
                "tracecontext" => chosen.trace_context = true,
                "baggage" => chosen.baggage = true,
                "b3" => chosen.b3 = true,
                "b3multi" => chosen.b3_multi = true,
                "none" | "" => {}
                other => unknown.push(other),
            }
        }
        (chosen, unknown)
    }

    /// What the caller's headers say.
    pub(super) fn extract(self, metadata: &MetadataMap) -> Trace {
        let text = |name| metadata.get(name).and_then(|value| value.to_str().ok());
        let w3c = || parse_traceparent(text("traceparent")?, || text("tracestate"));
        let single = || parse_b3(text("b3")?);
        let multi = || {
            let is_debug = text("x-b3-flags") == Some("1");
            let sampled = text("x-b3-sampled").filter(|_| !is_debug).unwrap_or("d");
            b3(text("x-b3-traceid")?, text("x-b3-spanid")?, sampled)
        };
        let context = None
            .or_else(|| self.trace_context.then(w3c).flatten())
            .or_else(|| self.b3.then(single).flatten())
            .or_else(|| self.b3_multi.then(multi).flatten());
        let baggage = self.baggage.then(|| text("baggage")).flatten();
        Trace {
            context: context.unwrap_or_else(SpanContext::empty_context),
            baggage: baggage.map(Arc::from),
            ..Trace::default()
        }
    }

    /// Says the same to another server.
    pub(super) fn inject(self, trace: &Trace, metadata: &mut MetadataMap) {
        let mut set = |name: &'static str, value: String| {
            // What was read from a header, or is made of hexadecimal digits, fits into one.
            if let Ok(value) = value.parse() {
                metadata.insert(name, value);
            }
        };
        let context = &trace.context;
        if let Some(baggage) = trace.baggage.as_ref().filter(|_| self.baggage) {
            set("baggage", baggage.to_string());
        }
        if !context.is_valid() {
            return;
        }
        let (trace_id, span_id) = (context.trace_id(), context.span_id());
        let sampled = u8::from(context.is_sampled());
        if self.trace_context {
            set("traceparent", traceparent(context));
            let state = context.trace_state().header();
            if !state.is_empty() {
                set("tracestate", state);
            }
        }
        if self.b3 {
            set("b3", format!("{trace_id}-{span_id}-{sampled}"));
        }
        if self.b3_multi {
            set("x-b3-traceid", trace_id.to_string());
            set("x-b3-spanid", span_id.to_string());
            set("x-b3-sampled", sampled.to_string());
        }
    }
}

pub(super) fn traceparent(context: &SpanContext) -> String {
    let (trace_id, span_id) = (context.trace_id(), context.span_id());
    format!("00-{trace_id}-{span_id}-{:02x}", context.trace_flags())
}

fn parse_traceparent<'a>(
    text: &str,
    state: impl FnOnce() -> Option<&'a str>,
) -> Option<SpanContext> {
    let mut parts = text.trim().splitn(5, '-');
    let version = parts.next().filter(|text| is_hex(text, 2))?;
    let trace_id = parts.next().filter(|text| is_hex(text, 32))?;
    let span_id = parts.next().filter(|text| is_hex(text, 16))?;
    let flags = parts.next().filter(|text| is_hex(text, 2))?;
    // Later versions may add parts, but not change these.
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = u8::from_str_radix(flags, 16).ok()? & TraceFlags::SAMPLED.to_u8();
    let state = state().and_then(|state| TraceState::from_str(state).ok());
    context(trace_id, span_id, TraceFlags::new(flags), state)
}

fn parse_b3(text: &str) -> Option<SpanContext> {
    let mut parts = text.trim().split('-');
    let (trace_id, span_id) = (parts.next()?, parts.next()?);
    b3(trace_id, span_id, parts.next().unwrap_or("d"))
}

/// A sampling decision that is left to us ("d" as well as debug) counts as sampled.
fn b3(trace_id: &str, span_id: &str, sampled: &str) -> Option<SpanContext> {
    let is_known = (is_hex(trace_id, 32) || is_hex(trace_id, 16)) && is_hex(span_id, 16);
    let is_sampled = !matches!(sampled, "0" | "false");
    let flags = TraceFlags::default().with_sampled(is_sampled);
    is_known
        .then(|| context(trace_id, span_id, flags, None))
        .flatten()
}

fn context(
    trace_id: &str,
    span_id: &str,
    flags: TraceFlags,
    state: Option<TraceState>,
) -> Option<SpanContext> {
    let trace_id = TraceId::from_hex(trace_id).ok()?;
    let span_id = SpanId::from_hex(span_id).ok()?;
    let context = SpanContext::new(trace_id, span_id, flags, true, state.unwrap_or_default());
    Some(context).filter(SpanContext::is_valid)
}

fn is_hex(text: &str, length: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == length && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn metadata(headers: &[(&'static str, &str)]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for (name, value) in headers {
            metadata.insert(*name, value.parse().unwrap());
        }
        metadata
    }

    /// What goes on to another server for what has come in.
    fn passed_on(propagators: Propagators, headers: &[(&'static str, &str)]) -> MetadataMap {
        let mut out = MetadataMap::new();
        let trace = propagators.extract(&metadata(headers));
        propagators.inject(&trace, &mut out);
        out
    }

    #[test]
    fn a_callers_trace_state_and_baggage_are_passed_on_unchanged() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let headers = [
            ("traceparent", parent.as_str()),
            ("tracestate", "vendor=a,other=b"),
            ("baggage", "tenant=blue;ttl=1,user=x"),
        ];
        let out = passed_on(Propagators::default(), &headers);
        for (name, value) in headers {
            assert_eq!(out.get(name).unwrap(), value);
        }
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn what_is_no_traceparent_counts_as_none() {
        let state = || None;
        let good = format!("00-{TRACE}-{SPAN}-01");
        assert!(parse_traceparent(&good, state).is_some());
        let later = format!("cc-{TRACE}-{SPAN}-00-what-the-future-brings");
        assert!(parse_traceparent(&later, state).is_some());
        for bad in [
            String::new(),
            good.to_uppercase(),
            good.replace(TRACE, &"0".repeat(32)),
            good.replace(SPAN, &"0".repeat(16)),
            good.replace("00-4", "ff-4"),
            format!("{good}-00"),
            good.replace('-', "_"),
            format!("00-{SPAN}-{TRACE}-01"),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
        ] {
            assert!(parse_traceparent(&bad, state).is_none(), "{bad}");
        }
    }

    #[test]
    fn zipkins_headers_count_where_they_are_chosen() {
        let single = format!("{TRACE}-{SPAN}-1-05e3ac9a4f6e3b90");
        let headers = [("b3", single.as_str())];
        assert!(passed_on(Propagators::default(), &headers).is_empty());
        let (both, unknown) = Propagators::parse("b3, tracecontext,jaeger");
        assert_eq!(unknown, ["jaeger"]);
        let out = passed_on(both, &headers);
        assert_eq!(out.get("b3").unwrap(), &format!("{TRACE}-{SPAN}-1"));
        let parent = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!(out.get("traceparent").unwrap(), &parent);

        let (multi, _) = Propagators::parse("b3multi");
        let headers = [
            ("x-b3-traceid", SPAN),
            ("x-b3-spanid", SPAN),
            ("x-b3-sampled", "0"),
        ];
        let out = passed_on(multi, &headers);
        assert_eq!(out.get("x-b3-traceid").unwrap(), &format!("{SPAN:0>32}"));
        assert_eq!(out.get("x-b3-sampled").unwrap(), "0");
        for bad in ["0", "", "x-y-1", SPAN] {
            assert!(parse_b3(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn none_passes_nothing_on() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let (none, unknown) = Propagators::parse("none");
        assert!(unknown.is_empty());
        assert!(passed_on(none, &[("traceparent", &parent), ("baggage", "a=b")]).is_empty());
    }
}
