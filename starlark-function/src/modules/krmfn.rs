//! `krmfn.star`: what a resource is.

use crate::{
    lang::{Call, Fallible, Thread, Value},
    release::{Matching, Release},
};

pub(super) fn members(release: Release) -> super::Members {
    let match_gvk = match release.matching() {
        Matching::Exact => match_exactly,
        Matching::Broken => match_without_group,
        Matching::Loose => match_loosely,
    };
    vec![
        ("match_gvk", Value::builtin("match_gvk", match_gvk)),
        super::function("match_name", match_name),
        super::function("match_namespace", match_namespace),
    ]
}

/// The text below a path, if it is one.
fn text(resource: &Value, path: &[&str]) -> Fallible<String> {
    let Value::Dict(_) = resource else {
        let kind = if matches!(resource, Value::List(_)) {
            2
        } else {
            8
        };
        return Err(format!(
            "failed to extract objects: unhandled node kind {kind}"
        ));
    };
    let mut at = Some(resource.clone());
    for name in path {
        at = match at {
            Some(Value::Dict(table)) => table.get_text(name),
            _ => None,
        };
    }
    let text = at.as_ref().and_then(Value::as_text).unwrap_or(b"");
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// apiVersion and kind of the resource, and those that are wanted.
fn compared(call: &Call) -> Fallible<[String; 4]> {
    call.positional(3, 3)?;
    let (api_version, kind) = (call.arg(1)?, call.arg(2)?);
    let resource = &call.args[0];
    Ok([
        text(resource, &["apiVersion"])?,
        text(resource, &["kind"])?,
        api_version,
        kind,
    ])
}

fn match_exactly(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let [own_version, own_kind, api_version, kind] = compared(call)?;
    Ok(Value::Bool(own_version == api_version && own_kind == kind))
}

/// These releases compare the whole apiVersion with the version alone.
fn match_without_group(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let [own_version, own_kind, api_version, kind] = compared(call)?;
    let is_same = own_version == api_version && !own_version.contains('/') && own_kind == kind;
    Ok(Value::Bool(is_same))
}

/// What is empty, on either side, fits everything.
fn match_loosely(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let [own_version, own_kind, api_version, kind] = compared(call)?;
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    let split = |api_version: &str| match api_version.split_once('/') {
        Some((group, version)) => (group.to_owned(), version.to_owned()),
        None => (String::new(), api_version.to_owned()),
    };
    let fits = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
    let (own, wanted) = (split(&own_version), split(&api_version));
    let is_same = fits(&own.0, &wanted.0) && fits(&own.1, &wanted.1) && fits(&own_kind, &kind);
    Ok(Value::Bool(is_same))
}

fn match_name(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    match_metadata(call, "name")
}

fn match_namespace(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    match_metadata(call, "namespace")
}

fn match_metadata(call: &Call, field: &str) -> Fallible<Value> {
    call.positional(2, 2)?;
    let wanted: String = call.arg(1)?;
    let own = text(&call.args[0], &["metadata", field])?;
    Ok(Value::Bool(own == wanted))
}
