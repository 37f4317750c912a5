//! Times in a list.
#![allow(
    unsafe_code,
    reason = "the derive for values implements a trait that is unsafe to write by hand"
)]

use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkValue, starlark_value};

/// A time: scripts can only pass it on.
#[derive(Debug, ProvidesStaticType, NoSerialize, allocative::Allocative)]
pub(crate) struct Time(String);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

starlark::starlark_simple_value!(Time);

#[starlark_value(type = "time.time")]
impl<'v> StarlarkValue<'v> for Time {}

impl Time {
    /// As Go writes a time that it has read.
    pub(crate) fn read(text: &str) -> Self {
        let (date, time) = match text.split_once(['T', 't', ' ']) {
            Some((date, time)) => (date, time),
            None => (text, "00:00:00"),
        };
        let is_zoned = time.ends_with('Z') || time.contains(['+', '-']);
        Self(format!("{date}T{time}{}", if is_zoned { "" } else { "Z" }))
    }
}
