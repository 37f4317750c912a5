//! What `set-namespace` is told.

use crate::{
    object::{INDEX, PATH},
    results::Report,
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
        let data = config.data();
        let is_odd = |(key, _): &(&str, &str)| {
            config
                .at(&["data", key])
                .is_some_and(|value| value.as_text().is_none() && !value.is_null())
        };
        if !odd_is_empty && data.iter().any(is_odd) {
            return Err("failed to parse FunctionConfig as ConfigMap".into());
        }
        let datum = |name: &str| {
            let text = config.at(&["data", name]).and_then(Node::as_text);
            text.unwrap_or("").to_owned()
        };
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
        let odd = |name: &&str| {
            config
                .get(name)
                .is_some_and(|value| value.as_text().is_none() && !value.is_null())
        };
        if fields.iter().any(odd) {
            return Err(
                "failed to parse FunctionConfig as fn.kpt.dev.v1alpha1.SetNamespace".into(),
            );
        }
        let namespace = config.text_at(&["namespace"]).to_owned();
        if namespace.is_empty() {
            return Err("`namespace` should not be empty".into());
        }
        return Ok(Config {
            namespace,
            matcher: config.text_at(&["namespaceMatcher"]).to_owned(),
        });
    }
    Err(format!(
        "unknown functionConfig Kind={} ApiVersion={}, expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`",
        config.kind(),
        config.api_version()
    ))
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
    let index = config.and_then(|config| config.annotation(INDEX).parse().ok());
    // A path that is not there leaves no index either.
    report.file = Some((path, index.unwrap_or(-1)));
    report
}
