//! The functions that are bundled, and the images that they stand for.

use crate::{
    function::{self, Clock, Ended, Function, Late},
    list::{Dialect, ResultStyle},
    search_replace::SearchReplace,
    set_labels::SetLabels,
    set_namespace::SetNamespace,
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
    bundled("apply-setters", &["v0.2.2"], OLD_FRAMEWORK, &ApplySetters),
    bundled("create-setters", &["v0.1"], OLD_FRAMEWORK, &CreateSetters),
    bundled("list-setters", &["v0.1"], FRAMEWORK, &ListSetters),
    bundled("remove-local-config-resources", &["v0.1"], FRAMEWORK, &RemoveLocalConfig),
    bundled("search-replace", &["v0.2"], FRAMEWORK, &SearchReplace),
    bundled("set-enforcement-action", &["v0.1"], FRAMEWORK, &SetEnforcementAction),
    bundled("set-labels", &["v0.2"], Dialect::Sdk, &SetLabels),
    bundled("set-namespace", &["v0.4.5"], Dialect::Sdk, &SetNamespace),
    bundled("upsert-resource", &["v0.2"], FRAMEWORK, &UpsertResource),
];

pub fn find(name: &str) -> Option<&'static Bundled> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
