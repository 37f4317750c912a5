//! Recognises a ResourceList and reads its `results`, never its items.
//!
//! A list can be megabytes of somebody's Secrets; it passes through as opaque
//! bytes. A ResourceList is recognised by its `kind` alone. Output in the usual
//! forms (block YAML with its keys at the margin, or JSON) is cut into its
//! top-level [`sections`] without being parsed; in any other form a YAML parser
//! walks it event by event and builds no tree either. Aliases are never followed,
//! so that they cannot be used as a bomb.

mod events;
mod results;
mod sections;

use std::fmt;

pub use results::{FunctionResult, Results};

/// The kind by which a ResourceList is recognised.
pub(crate) const KIND: &str = "ResourceList";

/// A recognised list: which parts of the text are which.
#[derive(Debug)]
pub struct ResourceList<'a> {
    /// The text of the `items` value, where it could be cut out unparsed.
    pub items: Option<&'a str>,
    /// What the function reported.
    pub results: Results,
}

/// Why bytes are not a ResourceList, in words for the function's author.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAResourceList(String);

impl fmt::Display for NotAResourceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Recognises a ResourceList in the first document of `bytes`.
pub fn read(bytes: &[u8]) -> Result<ResourceList<'_>, NotAResourceList> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        NotAResourceList(format!(
            "it is not UTF-8 text (byte {})",
            error.valid_up_to()
        ))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(NotAResourceList("it is empty".into()));
    }
    let Some(sections) = sections::cut(text) else {
        return walk(text);
    };
    expect_kind(sections.kind)?;
    let results = match sections.results.map(events::results) {
        None => Results::default(),
        Some(Ok(results)) => results,
        // Perhaps an alias to elsewhere: ask for the whole. The kind makes it a
        // list all the same, even one whose results nobody can read.
        Some(Err(_)) => walk(text).map_or_else(|_| Results::default(), |list| list.results),
    };
    Ok(ResourceList {
        items: sections.items,
        results,
    })
}

fn walk(text: &str) -> Result<ResourceList<'_>, NotAResourceList> {
    let envelope = events::walk(text).map_err(NotAResourceList)?;
    expect_kind(envelope.kind.as_deref())?;
    Ok(ResourceList {
        items: None,
        results: envelope.results,
    })
}

fn expect_kind(kind: Option<&str>) -> Result<(), NotAResourceList> {
    match kind {
        Some(KIND) => Ok(()),
        // Only short names are repeated: anything else is content, not a kind.
        Some(kind) if kind.len() <= 64 => Err(NotAResourceList(format!(
            "its kind is {kind:?}, not {KIND:?}"
        ))),
        Some(_) => Err(NotAResourceList(format!("its kind is not {KIND:?}"))),
        None => Err(NotAResourceList(
            "it has no top-level field \"kind\"".into(),
        )),
    }
}

#[cfg(test)]
mod tests;
