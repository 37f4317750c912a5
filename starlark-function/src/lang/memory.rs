//! Bounds on what a program can hold and how deep it can nest.
//!
//! Values count their bytes while they live; the interpreter looks at the sum at
//! each step, and before it makes something large.

use std::cell::{Cell, RefCell};

use super::{Fallible, Value};

/// Bytes of values that a program may hold at a time: dozens of times the largest
/// message.
pub(crate) const MOST: usize = 256 << 20;

/// Stack of the thread that runs programs.
pub(crate) const STACK: usize = 256 << 20;

/// What is left for the deepest call to answer with.
const RESERVE: usize = 4 << 20;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static BASE: Cell<usize> = const { Cell::new(0) };
    static DOOMED: RefCell<Option<Vec<Value>>> = const { RefCell::new(None) };
}

/// Bytes that a value holds; they are free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Charge(Cell<usize>);

impl Charge {
    pub(crate) fn new(bytes: usize) -> Self {
        LIVE.set(LIVE.get() + bytes);
        Self(Cell::new(bytes))
    }

    /// The value has grown or shrunk.
    pub(crate) fn set(&self, bytes: usize) {
        LIVE.set((LIVE.get() - self.0.get()) + bytes);
        self.0.set(bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - self.0.get());
    }
}

/// `Err` if the program holds too much.
pub(crate) fn check() -> Fallible<()> {
    room(0)
}

/// `Err` if so many bytes more are too much.
pub(crate) fn room(bytes: usize) -> Fallible<()> {
    if LIVE.get().saturating_add(bytes) > MOST {
        Err(format!(
            "the script needs more memory than the {} MiB that it may use",
            MOST >> 20
        ))
    } else {
        Ok(())
    }
}

/// Remembers where the stack begins.
pub(crate) fn begin_stack() {
    BASE.set(here());
}

fn here() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(&marker) as usize
}

/// What is said of calls or values that are nested too deeply.
pub(crate) const TOO_DEEP: &str = "the script's calls or values are nested too deeply";

/// `Err` if calls or values are nested too deeply.
pub(crate) fn check_depth() -> Fallible<()> {
    if BASE.get().saturating_sub(here()) > STACK - RESERVE {
        Err(TOO_DEEP.into())
    } else {
        Ok(())
    }
}

/// Drops the values of a container one after the other: a value that holds
/// another, a million deep, would need the stack for each.
pub(crate) fn drop_all(values: impl IntoIterator<Item = Value>) {
    let values = values.into_iter().filter(Value::is_container);
    let is_first = DOOMED.with_borrow_mut(|doomed| match doomed {
        Some(doomed) => {
            doomed.extend(values);
            false
        }
        None => {
            *doomed = Some(values.collect());
            true
        }
    });
    if !is_first {
        return;
    }
    loop {
        let next = DOOMED.with_borrow_mut(|doomed| doomed.as_mut().and_then(Vec::pop));
        match next {
            Some(next) => drop(next),
            None => break,
        }
    }
    DOOMED.set(None);
}
