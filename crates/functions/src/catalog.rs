//! The functions that are bundled, and the images that they stand for.

use crate::{
    apply_replacements::ApplyReplacements,
    ensure_name_substring::EnsureNameSubstring,
    function::{self, Clock, Ended, Function, Late},
    list::{Dialect, ResultStyle},
    search_replace::SearchReplace,
    set_annotations::SetAnnotations,
    set_image::SetImage,
    set_labels::SetLabels,
    set_namespace::SetNamespace,
    set_project_id::SetProjectId,
    setters::{ApplySetters, CreateSetters, ListSetters},
    small::{RemoveLocalConfig, SetEnforcementAction, UpsertResource},
    yaml::SequenceIndent,
};

/// A bundled function.
#[allow(missing_debug_implementations)]
pub struct Bundled {
    pub name: &'static str,
    /// Tags of the catalog's images that it behaves as.
    pub versions: &'static [&'static str],
    dialect: Dialect,
    function: &'static dyn Function,
}

/// Where the catalog's images are, now and formerly.
const REGISTRIES: [&str; 2] = ["ghcr.io/kptdev/krm-functions-catalog", "gcr.io/kpt-fn"];

/// The references of a function's images.
pub fn images(name: &str, versions: &[&str]) -> Vec<String> {
    let of_registry = |registry: &&str| {
        let images = versions
            .iter()
            .map(|version| format!("{registry}/{name}:{version}"));
        images.collect::<Vec<_>>()
    };
    REGISTRIES.iter().flat_map(of_registry).collect()
}

impl Bundled {
    /// Runs the function on the bytes of a ResourceList.
    pub fn run(&self, input: &[u8], clock: &Clock) -> Result<Ended, Late> {
        function::run(self.function, self.name, self.dialect, input, clock)
    }
}

/// kustomize's framework with the results of its older versions.
const FRAMEWORK: Dialect = Dialect::Framework {
    indent: SequenceIndent::Compact,
    results: ResultStyle::Named,
};

/// kustomize's framework as it is now.
const NEW_FRAMEWORK: Dialect = Dialect::Framework {
    indent: SequenceIndent::Compact,
    results: ResultStyle::List,
};

/// The same with a yaml.v3 that indents lists.
const OLD_FRAMEWORK: Dialect = Dialect::Framework {
    indent: SequenceIndent::Wide,
    results: ResultStyle::Named,
};

const fn bundled(
    name: &'static str,
    versions: &'static [&'static str],
    dialect: Dialect,
    function: &'static dyn Function,
) -> Bundled {
    Bundled {
        name,
        versions,
        dialect,
        function,
    }
}

/// Every bundled function, by name.
pub const FUNCTIONS: &[Bundled] = &[
    bundled(
        "apply-replacements",
        &["v0.1", "v0.1.5"],
        Dialect::Sdk,
        &ApplyReplacements,
    ),
    bundled(
        "apply-setters",
        &["v0.2", "v0.2.2"],
        OLD_FRAMEWORK,
        &ApplySetters,
    ),
    bundled("create-setters", &["v0.1"], OLD_FRAMEWORK, &CreateSetters),
    bundled(
        "ensure-name-substring",
        &["v0.2"],
        NEW_FRAMEWORK,
        &EnsureNameSubstring,
    ),
    bundled("list-setters", &["v0.1"], FRAMEWORK, &ListSetters),
    bundled(
        "remove-local-config-resources",
        &["v0.1"],
        FRAMEWORK,
        &RemoveLocalConfig,
    ),
    bundled("search-replace", &["v0.2"], FRAMEWORK, &SearchReplace),
    bundled("set-annotations", &["v0.1"], NEW_FRAMEWORK, &SetAnnotations),
    bundled(
        "set-enforcement-action",
        &["v0.1"],
        FRAMEWORK,
        &SetEnforcementAction,
    ),
    bundled("set-image", &["v0.1"], Dialect::Sdk, &SetImage),
    bundled("set-labels", &["v0.2"], Dialect::Sdk, &SetLabels),
    bundled(
        "set-namespace",
        &["v0.4", "v0.4.5"],
        Dialect::Sdk,
        &SetNamespace,
    ),
    bundled("set-project-id", &["v0.2"], FRAMEWORK, &SetProjectId),
    bundled("upsert-resource", &["v0.2"], FRAMEWORK, &UpsertResource),
];

pub fn find(name: &str) -> Option<&'static Bundled> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
