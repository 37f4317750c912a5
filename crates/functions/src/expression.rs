//! Regular expressions of configurations: Go's, within what a run may use.
//!
//! This is the only place where a configuration's expression is compiled. One takes some
//! milliseconds at most, of time that nobody can interrupt, and 256 kB: what would be
//! larger is refused, as Go refuses what is too large for it. An expression is compiled
//! once in a run. Its memory is charged to the run, and that of its matches as it grows;
//! the clock is read before it is compiled, and while it is matched against long texts.

mod class;
mod syntax;
mod walk;

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    fmt,
    rc::Rc,
};

use regex_automata::{
    Input,
    meta::{BuildError, Cache, Regex},
    nfa::thompson::{self, NFA},
    util::syntax as engine,
};

pub use syntax::{Translated, translate};

use crate::meter;
use walk::{Slots, Walker};

/// Bytes of a compiled expression: about 3 ms to make, in a build for size. A path of a file
/// with two lengths, `^(?:[^/]{1,63}/)?[^/]{1,128}$`, has 200 kB.
const SIZE: usize = 256 << 10;
/// Bytes of its text, most of which may be made into bytes of it before it is refused.
const LENGTH: usize = 1 << 10;
/// Where case does not matter, the characters that classes may name: a millisecond.
const FOLDED: u32 = 100_000;
/// Groups in each other; what is deeper needs stack.
const DEPTH: u32 = 250;
/// The least that a state takes.
const STATE: usize = 24;
/// States times bytes of text that are matched without a look at the clock: 5 ms at worst.
const UNCLOCKED: usize = 1 << 20;

pub(crate) struct Expression {
    text: String,
    regex: Regex,
    /// More than it has.
    states: usize,
    cache: RefCell<Cache>,
    /// What was charged of `cache`.
    charged: Cell<usize>,
    has_charged_groups: Cell<bool>,
    walker: OnceCell<Option<Walker>>,
}

/// An expression, or the reason why it is not one.
type Compiled = Result<Rc<Expression>, String>;

thread_local! {
    /// Those of the run on this thread.
    static KNOWN: RefCell<HashMap<Box<str>, Compiled>> = RefCell::default();
}

/// Keeps the expressions that are compiled, until it is dropped at the end of a run.
pub(crate) struct Kept(());

impl Kept {
    pub(crate) fn new() -> Self {
        KNOWN.take();
        Self(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KNOWN.take();
    }
}

/// Compiles an expression. The error is what Go says of it; or anything, once the run
/// is over.
pub(crate) fn compile(pattern: &str) -> Compiled {
    if let Some(known) = KNOWN.with_borrow(|known| known.get(pattern).cloned()) {
        return known;
    }
    let compiled = make(pattern).map_err(|reason| format!("error parsing regexp: {reason}"));
    KNOWN.with_borrow_mut(|known| known.insert(pattern.into(), compiled.clone()));
    compiled
}

fn make(pattern: &str) -> Result<Rc<Expression>, String> {
    const TOO_LARGE: &str = "expression too large";
    const OVER: &str = "the run is over";
    if !meter::charge(2 * pattern.len() + STATE) || !meter::look() {
        return Err(OVER.into());
    }
    if pattern.len() > LENGTH {
        return Err(TOO_LARGE.into());
    }
    let translated = translate(pattern)?;
    if translated.folded > FOLDED {
        return Err(TOO_LARGE.into());
    }
    let config = Regex::config()
        .nfa_size_limit(Some(SIZE))
        .onepass_size_limit(Some(SIZE / 4))
        .dfa_size_limit(Some(SIZE / 8))
        .hybrid_cache_capacity(SIZE);
    let built = Regex::builder()
        .configure(config)
        .syntax(syntax())
        .build(&translated.text);
    let regex = built.map_err(|error: BuildError| {
        if error.size_limit().is_some() {
            TOO_LARGE.to_owned()
        } else {
            format!("invalid syntax: `{pattern}`")
        }
    })?;
    let cache = regex.create_cache();
    let charged = cache.memory_usage();
    if !meter::charge(regex.memory_usage() + charged) {
        return Err(OVER.into());
    }
    Ok(Rc::new(Expression {
        text: translated.text,
        states: regex.memory_usage() / STATE,
        regex,
        cache: RefCell::new(cache),
        charged: Cell::new(charged),
        has_charged_groups: Cell::new(false),
        walker: OnceCell::new(),
    }))
}

fn syntax() -> engine::Config {
    engine::Config::new().nest_limit(DEPTH)
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl Expression {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        if self.may_take_long(text) {
            return self.walk(text, false).is_some();
        }
        let mut cache = self.cache.borrow_mut();
        let input = Input::new(text).earliest(true);
        let found = self.regex.search_half_with(&mut cache, &input);
        self.charge(&cache);
        found.is_some()
    }

    /// The text of each group of the first match, without the match itself.
    pub(crate) fn groups<'t>(&self, text: &'t str) -> Option<Vec<Option<&'t str>>> {
        if self.may_take_long(text) {
            let slots = self.walk(text, true)?;
            let groups = slots[2..].chunks(2);
            let part = |slots: &[Option<usize>]| text.get(slots[0]?..slots[1]?);
            return Some(groups.map(part).collect());
        }
        // Before they are made.
        let places = self.regex.captures_len() * 2 * size_of::<Option<usize>>();
        let is_first = !self.has_charged_groups.replace(true);
        if is_first && !meter::charge(self.states * places) {
            return None;
        }
        let mut captures = self.regex.create_captures();
        let mut cache = self.cache.borrow_mut();
        let input = Input::new(text);
        self.regex
            .search_captures_with(&mut cache, &input, &mut captures);
        self.charge(&cache);
        let groups = captures.is_match().then(|| captures.iter().skip(1))?;
        Some(
            groups
                .map(|group| group.map(|group| &text[group.range()]))
                .collect(),
        )
    }

    fn may_take_long(&self, text: &str) -> bool {
        self.states.saturating_mul(text.len()) > UNCLOCKED
    }

    fn walk(&self, text: &str, with_groups: bool) -> Option<Slots> {
        let walker = self.walker.get_or_init(|| {
            let config = thompson::Config::new().nfa_size_limit(Some(SIZE));
            let mut compiler = NFA::compiler();
            let nfa = compiler
                .configure(config)
                .syntax(syntax())
                .build(&self.text);
            let nfa = nfa.ok()?;
            let goes_on = meter::charge(nfa.memory_usage()) && meter::look();
            goes_on.then(|| Walker::new(nfa))
        });
        walker.as_ref()?.find(text, with_groups)
    }

    /// Charges what the cache has grown by.
    fn charge(&self, cache: &Cache) {
        let used = cache.memory_usage();
        let before = self.charged.get();
        if used > before {
            self.charged.set(used);
            meter::charge(used - before);
        }
    }
}

#[cfg(test)]
mod tests;
