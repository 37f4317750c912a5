//! Runs programs.

mod call;
mod expressions;
mod statements;

use std::{cell::RefCell, rc::Rc};

pub(crate) use call::Closure;

use super::{
    Dialect, Fallible, Value, library, memory,
    syntax::{Names, parse, resolve},
};

/// What a module has: names and their values.
pub(crate) type Members = Vec<(&'static str, Value)>;

/// What a program is run with.
pub(crate) struct Host<'a> {
    /// The variables that are given to it.
    pub(crate) given: &'a [(&'static str, Value)],
    /// What a module has, by its name. `None`: there is no such module.
    pub(crate) load: &'a dyn Fn(&str) -> Fallible<Members>,
}

/// A run of a program.
pub(crate) struct Thread<'a> {
    pub(crate) dialect: Dialect,
    host: &'a Host<'a>,
    names: Rc<Names>,
    globals: Vec<Option<Value>>,
    /// Functions that are being called, the innermost last.
    calls: Vec<*const ()>,
}

/// A variable that functions share.
pub(super) type SharedCell = Rc<RefCell<Option<Value>>>;

/// The local variables of a function that is being called.
#[derive(Debug, Default)]
struct Frame {
    slots: Vec<Slot>,
    captured: Vec<SharedCell>,
}

#[derive(Debug, Clone)]
enum Slot {
    Own(Option<Value>),
    Shared(SharedCell),
}

impl Frame {
    /// Slots for the variables with these bindings.
    fn new(names: &Names, locals: &[usize], captured: Vec<SharedCell>) -> Self {
        let slot = |binding: &usize| match names.bindings[*binding].scope {
            super::syntax::names::Scope::Cell(_) => Slot::Shared(SharedCell::default()),
            _ => Slot::Own(None),
        };
        let slots = locals.iter().map(slot).collect();
        Self { slots, captured }
    }

    fn set(&mut self, slot: usize, value: Value) {
        match &mut self.slots[slot] {
            Slot::Own(own) => *own = Some(value),
            Slot::Shared(shared) => {
                shared.replace(Some(value));
            }
        }
    }

    fn get(&self, slot: usize) -> Option<Value> {
        match &self.slots[slot] {
            Slot::Own(own) => own.clone(),
            Slot::Shared(shared) => shared.borrow().clone(),
        }
    }
}

/// Runs a program.
pub(crate) fn run(file: &str, source: &str, dialect: Dialect, host: &Host<'_>) -> Fallible<()> {
    memory::begin_stack();
    let program = parse(file, source, dialect.edition)?;
    let is_known = |name: &str| {
        host.given.iter().any(|(given, _)| *given == name)
            || library::global(name, dialect).is_some()
    };
    let names = Rc::new(resolve(file, &program, dialect, &is_known)?);
    let mut thread = Thread {
        dialect,
        host,
        globals: vec![None; names.globals.len()],
        names: names.clone(),
        calls: Vec::new(),
    };
    let mut frame = Frame::new(&names, &names.locals, Vec::new());
    thread.block(&program, &mut frame).map(drop)
}
