//! The function's configuration: the script, and its name.

use functions::{
    typed::{ConfigMap, check_own, text},
    yaml::Node,
};

use crate::release::{Matching, Release};

const RUN_GROUP: &str = "fn.kpt.dev";
const RUN_VERSION: &str = "fn.kpt.dev/v1alpha1";

/// A script, and the name that its errors begin with.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) source: String,
}

/// Reads the configuration; the error is what the release says.
pub(crate) fn read(release: Release, config: Option<&Node>) -> Result<Program, String> {
    let empty = Node::mapping(Vec::new());
    let given = config.filter(|config| !config.fields().is_empty());
    let config = match (given, release.uses_sdk()) {
        (Some(config), _) => config,
        (None, true) if release.tells_missing_config() => {
            return Err("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`".into());
        }
        (None, true) if config.is_none() => {
            return Err("runtime error: invalid memory address or nil pointer dereference".into());
        }
        (None, _) => &empty,
    };
    let source = match release {
        release if release.is_first() => of_first(config)?.to_owned(),
        release if release.uses_sdk() => of_sdk(release, config)?,
        _ => of_framework(config)?.to_owned(),
    };
    let name = config.at(&["metadata", "name"]);
    let name = match name.map_or_else(String::new, text) {
        name if release.takes_name() && !name.is_empty() => name,
        _ => release.default_name().to_owned(),
    };
    Ok(Program { name, source })
}

fn of_first(config: &Node) -> Result<&str, String> {
    if config.api_version() != RUN_VERSION {
        return Err(format!("`apiVersion` must be: {RUN_VERSION}"));
    }
    if config.kind() != "StarlarkRun" {
        return Err("`kind` must be: StarlarkRun".into());
    }
    if config.name().is_empty() {
        return Err("`metadata.name` must be set in starlark function config".into());
    }
    match config.text_at(&["source"]) {
        "" => Err("`source` must not be empty".into()),
        source => Ok(source),
    }
}

fn of_framework(config: &Node) -> Result<&str, String> {
    if config.fields().is_empty() {
        return Err("missing Resource metadata".into());
    }
    match (config.api_version(), config.kind()) {
        ("v1", "ConfigMap") => match config.at(&["data", "source"]) {
            Some(_) => Ok(config.text_at(&["data", "source"])),
            None => Err("`data.source` must not be empty in `ConfigMap`".into()),
        },
        (RUN_VERSION, "StarlarkRun") => match config.text_at(&["source"]) {
            "" => Err("`source` in `StarlarkRun` must not be empty".into()),
            source => Ok(source),
        },
        _ => unknown(config),
    }
}

fn of_sdk(release: Release, config: &Node) -> Result<String, String> {
    let (api_version, kind) = (config.api_version(), config.kind());
    let (group, _) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let (is_config_map, is_run) = match release.matching() {
        Matching::Exact => (
            api_version == "v1" && kind == "ConfigMap",
            api_version == RUN_VERSION && kind == "StarlarkRun",
        ),
        Matching::Broken => (
            group.is_empty() && kind == "ConfigMap",
            group == RUN_GROUP && kind == "StarlarkRun",
        ),
        Matching::Loose => (
            config.is_a("", "v1", "ConfigMap"),
            config.is_a(RUN_GROUP, "v1alpha1", "StarlarkRun"),
        ),
    };
    let unreadable =
        |of: &str, error: String| format!("unable to convert object to *{of} with error: {error}");
    let source = match (is_config_map, is_run) {
        (true, _) => {
            let mut config =
                ConfigMap::read(config).map_err(|error| unreadable("v1.ConfigMap", error))?;
            config.data.remove("source").unwrap_or_default()
        }
        (_, true) => {
            check_own(config, "StarlarkRun", &["source"], &["params"])
                .map_err(|error| unreadable("starlark.StarlarkRun", error))?;
            config.get("source").map_or_else(String::new, text)
        }
        _ => return unknown(config),
    };
    if source.is_empty() {
        Err("`source` must not be empty".into())
    } else {
        Ok(source)
    }
}

fn unknown<T>(config: &Node) -> Result<T, String> {
    let of = |api_version: &str, kind: &str| {
        if api_version.contains('/') {
            format!("{api_version}, Kind={kind}")
        } else {
            format!("/{api_version}, Kind={kind}")
        }
    };
    Err(format!(
        "`functionConfig` must be either {} or {}, but we got: {}",
        of("v1", "ConfigMap"),
        of(RUN_VERSION, "StarlarkRun"),
        of(config.api_version(), config.kind())
    ))
}
