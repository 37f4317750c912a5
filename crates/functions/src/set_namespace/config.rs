//! The configuration of `set-namespace`.

use std::collections::BTreeMap;

use crate::{
    object::{INDEX, PATH},
    results::Report,
    typed::{ConfigMap, check_own, text},
    yaml::Node,
};

/// The ConfigMap that a package variant's constructor generates.
pub(super) const VARIANT_CONFIG: &str = "kptfile.kpt.dev";

pub(super) struct Config {
    pub(super) namespace: String,
    /// Empty if all namespaces are meant.
    pub(super) matcher: String,
}

/// Reads the configuration. Data that is not text is refused, or empty.
pub(super) fn configure(config: Option<&Node>, odd_is_empty: bool) -> Result<Config, String> {
    let Some(config) = config else {
        return Err("FunctionConfig is missing. Expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`".into());
    };
    if config.is_a("", "v1", "ConfigMap") {
        let data = data(config, odd_is_empty)?;
        let datum = |name: &str| data.get(name).cloned().unwrap_or_default();
        let namespace = match datum("namespace") {
            given if !given.is_empty() => given,
            _ if config.name() == VARIANT_CONFIG => datum("name"),
            _ => String::new(),
        };
        if namespace.is_empty() {
            return Err("`data.namespace` should not be empty".into());
        }
        return Ok(Config {
            namespace,
            matcher: datum("namespaceMatcher"),
        });
    }
    if config.is_a("fn.kpt.dev", "v1alpha1", "SetNamespace") {
        let fields = ["namespace", "namespaceMatcher"];
        check_own(config, "SetNamespace", &fields, &[]).map_err(|_| {
            "failed to parse FunctionConfig as fn.kpt.dev.v1alpha1.SetNamespace".to_owned()
        })?;
        // Go's JSON does not mind the case of a field's name.
        let [namespace, matcher] = fields.map(|field| {
            let is_named = |key: &Node| {
                let name = key.value().unwrap_or("");
                name.eq_ignore_ascii_case(field)
            };
            let found = config.fields().iter().find(|(key, _)| is_named(key));
            found.map_or_else(String::new, |(_, value)| text(value))
        });
        if namespace.is_empty() {
            return Err("`namespace` should not be empty".into());
        }
        return Ok(Config { namespace, matcher });
    }
    Err(format!(
        "unknown functionConfig Kind={} ApiVersion={}, expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`",
        config.kind(),
        config.api_version()
    ))
}

/// The data of a ConfigMap; in some releases what is not text is empty.
fn data(config: &Node, odd_is_empty: bool) -> Result<BTreeMap<String, String>, String> {
    if !odd_is_empty {
        let config = ConfigMap::read(config);
        let config =
            config.map_err(|_| "failed to parse FunctionConfig as ConfigMap".to_owned())?;
        return Ok(config.data);
    }
    let keys = config.data().into_iter().map(|(key, _)| key);
    let datum = |key: &str| {
        let text = config.at(&["data", key]).and_then(Node::as_text);
        (key.to_owned(), text.unwrap_or("").to_owned())
    };
    Ok(keys.map(datum).collect())
}

/// An error about the configuration, which names the configuration.
pub(super) fn about_config(message: String, config: Option<&Node>) -> Report {
    let mut report = Report::error(message);
    let text =
        |get: fn(&Node) -> &str| config.map_or(String::new(), |config| get(config).to_owned());
    report.object = Some([
        text(Node::api_version),
        text(Node::kind),
        text(Node::name),
        text(Node::namespace),
    ]);
    let path = config
        .map_or("", |config| config.annotation(PATH))
        .to_owned();
    let index = config.and_then(|config| {
        let index = config.at(&["metadata", "annotations", INDEX])?;
        index.as_text()?.parse().ok()
    });
    // A path that is not there leaves no index either.
    report.file = Some((path, index.unwrap_or(-1)));
    report
}
