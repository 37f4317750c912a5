//! How the SDK gives a configuration to functions that describe it as a type:
//! from an object of that type, or from the data of a ConfigMap.

use serde::Deserialize;

use crate::{
    list::ResourceList,
    results::Report,
    typed::{self, Scalars},
    yaml::Node,
};

/// A configuration that was given, in either form.
pub(crate) enum Given<'a> {
    Data(Vec<(&'a str, &'a str)>),
    Object(&'a Node),
}

/// The configuration of a function whose type is `kind`; `None` if there is
/// none. The error is a result of the list.
pub(crate) fn given<'a>(config: Option<&'a Node>, kind: &str) -> Result<Option<Given<'a>>, String> {
    let Some(config) = config.filter(|config| !is_placeholder(config)) else {
        return Ok(None);
    };
    let (group, _) = config.group_version();
    match (group, config.kind()) {
        ("", "ConfigMap") => Ok(Some(Given::Data(config.data()))),
        ("fn.kpt.dev", own) if own == kind => Ok(Some(Given::Object(config))),
        (group, own) => {
            let of = if group.is_empty() {
                String::new()
            } else {
                format!(".{group}")
            };
            Err(format!(
                "unknown FunctionConfig `{own}{of}`, expect `{kind}.fn.kpt.dev` or `ConfigMap.v1`"
            ))
        }
    }
}

/// Reads an object of the function's own type, which Go calls `go_type`. The error is Go's.
pub(crate) fn read<'de, T: Deserialize<'de>>(
    config: &'de Node,
    go_type: &str,
) -> Result<T, String> {
    typed::check_keys(config)
        .and_then(|()| typed::read(config, Scalars::Strict))
        .map_err(|error| format!("unable to convert object to *{go_type} with error: {error}"))
}

/// kpt writes an empty ConfigMap where the user gave no configuration.
fn is_placeholder(config: &Node) -> bool {
    config.kind() == "ConfigMap"
        && config.name() == "function-input"
        && config
            .get("data")
            .is_some_and(|data| data.fields().is_empty())
}

/// The error if no configuration is given.
pub(crate) fn tell_missing(list: &mut ResourceList) {
    list.results
        .push(Report::info("`FunctionConfig` is not given"));
}

/// How such functions fail; why is in the results.
pub(crate) const FAILURE: &str = "error: function failure";
