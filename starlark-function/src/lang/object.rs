//! Functions, modules, and values of kinds that modules add.

use std::fmt;

use super::{Call, Fallible, Operator, Thread, Value};

/// A function that is part of the language or of a module.
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) receiver: Option<Value>,
    pub(crate) run: fn(&mut Thread<'_>, &Call) -> Fallible<Value>,
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builtin({})", self.name)
    }
}

/// A module that was loaded.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: &'static str,
    pub(crate) members: Vec<(&'static str, Value)>,
}

/// A value of a module's own kind.
pub(crate) trait Object: fmt::Debug {
    fn type_name(&self) -> &'static str;
    fn show(&self) -> String;

    fn truth(&self) -> bool {
        true
    }

    /// What it is as a key; values that are equal have the same. `None`: none.
    fn key(&self) -> Option<String> {
        None
    }

    /// `Ok(None)`: there is no such field.
    fn field(&self, _name: &str, _own: &Value) -> Fallible<Option<Value>> {
        Ok(None)
    }

    fn fields(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// How it compares with another value of its type; `None`: it cannot.
    fn order(&self, _other: &Value) -> Option<std::cmp::Ordering> {
        None
    }

    /// `Ok(None)`: there is no such operation.
    fn operate(&self, _: Operator, _other: &Value, _is_left: bool) -> Fallible<Option<Value>> {
        Ok(None)
    }

    /// The value of a key, for values that are mappings: `Err` if it is not one.
    fn lookup(&self, _key: &Value) -> Option<Fallible<Option<Value>>> {
        None
    }

    /// Itself, for those that know the kind.
    fn as_any(&self) -> &dyn std::any::Any;
}
