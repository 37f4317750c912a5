//! The functions that are bundled, and the images that they stand for.

use crate::{
    function::{self, Clock, Ended, Function, Late},
    list::Dialect,
    set_namespace::SetNamespace,
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

/// Every bundled function, by name.
pub const FUNCTIONS: &[Bundled] = &[Bundled {
    name: "set-namespace",
    versions: &["v0.4.5"],
    dialect: Dialect::Sdk,
    function: &SetNamespace,
}];

pub fn find(name: &str) -> Option<&'static Bundled> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
