//! Finds out which variable each name is, and refuses what makes no sense before
//! anything runs.

mod walk;

use std::{collections::HashMap, rc::Rc};

use super::{
    Position, Token,
    ast::{Body, Clause, Expr, Function, Ident, Kind, Shape, Statement},
    complaint,
    names::{Binding, Block, Scope, Use},
};
use crate::lang::{Dialect, Fallible, Value, memory, spell::nearest};

const FILE: usize = 0;
const DOESNT: &str = "this Starlark dialect does not ";

/// What is known about a program's names.
#[derive(Debug)]
pub(in crate::lang) struct Names {
    pub(in crate::lang) bindings: Vec<Binding>,
    /// Bindings of the file's own variables, by slot.
    pub(in crate::lang) globals: Vec<usize>,
    pub(in crate::lang) locals: Vec<usize>,
}

/// Resolves a program. `is_known` says whether a name is given or part of the
/// language.
pub(in crate::lang) fn resolve(
    file: &str,
    program: &[Statement],
    dialect: Dialect,
    is_known: &dyn Fn(&str) -> bool,
) -> Fallible<Names> {
    let mut resolver = Resolver {
        file,
        dialect,
        is_known,
        block: FILE,
        blocks: vec![Block::default()],
        functions: Vec::new(),
        bindings: Vec::new(),
        globals: Vec::new(),
        by_name: HashMap::new(),
        locals: Vec::new(),
        loops: 0,
        conditions: 0,
    };
    resolver.statements(program)?;
    resolver.resolve_locals(FILE);
    resolver.resolve_others(FILE)?;
    for found in resolver.functions {
        let _ = found.function.shape.set(Shape {
            params: found.params,
            keyword_only: found.keyword_only,
            has_rest: found.has_rest,
            has_keywords: found.has_keywords,
            locals: found.locals,
            captured: found.captured,
        });
    }
    Ok(Names {
        bindings: resolver.bindings,
        globals: resolver.globals,
        locals: resolver.locals,
    })
}

pub(super) struct Resolver<'a> {
    file: &'a str,
    pub(super) dialect: Dialect,
    is_known: &'a dyn Fn(&str) -> bool,
    pub(super) block: usize,
    blocks: Vec<Block>,
    pub(super) functions: Vec<Found>,
    bindings: Vec<Binding>,
    globals: Vec<usize>,
    by_name: HashMap<Rc<str>, usize>,
    /// Variables of comprehensions and loads outside of functions.
    locals: Vec<usize>,
    pub(super) loops: usize,
    conditions: usize,
}

/// What is found out about a function on the way.
pub(super) struct Found {
    pub(super) function: Rc<Function>,
    pub(super) params: Vec<Rc<str>>,
    pub(super) keyword_only: usize,
    pub(super) has_rest: bool,
    pub(super) has_keywords: bool,
    pub(super) locals: Vec<usize>,
    pub(super) captured: Vec<usize>,
}

impl Resolver<'_> {
    pub(super) fn fail<T>(&self, at: Position, words: impl AsRef<str>) -> Fallible<T> {
        Err(complaint(self.file, at, words.as_ref()))
    }

    /// The block of the function around the current one, or the file's.
    fn container(&self) -> usize {
        let mut block = self.block;
        while let (None, Some(parent)) = (self.blocks[block].function, self.blocks[block].parent) {
            block = parent;
        }
        block
    }

    fn in_function(&self) -> bool {
        self.blocks[self.container()].function.is_some()
    }

    pub(super) fn push(&mut self, function: Option<usize>) {
        let block = self.blocks.len();
        self.blocks[self.block].children.push(block);
        self.blocks.push(Block {
            parent: Some(self.block),
            function,
            ..Block::default()
        });
        self.block = block;
    }

    pub(super) fn pop(&mut self) {
        self.block = self.blocks[self.block].parent.unwrap_or(FILE);
    }

    fn new_binding(&mut self, ident: &Ident, scope: Scope) -> usize {
        self.bindings.push(Binding {
            name: ident.name.clone(),
            at: ident.at,
            scope,
        });
        self.bindings.len() - 1
    }

    /// Binds a name; whether it was bound before.
    pub(super) fn bind(&mut self, ident: &Ident) -> Fallible<bool> {
        if self.block != FILE {
            return Ok(self.bind_local(ident));
        }
        let known = self.blocks[FILE].bindings.get(&ident.name);
        let known = known.or_else(|| self.by_name.get(&ident.name)).copied();
        let binding = match known {
            Some(binding) => binding,
            None => {
                let binding = self.new_binding(ident, Scope::Global(self.globals.len()));
                self.by_name.insert(ident.name.clone(), binding);
                self.globals.push(binding);
                binding
            }
        };
        if known.is_some() && !self.dialect.permissive {
            let first = &self.bindings[binding];
            let words = format!(
                "cannot reassign {} {} declared at {}:{}:{}",
                first.scope.text(),
                ident.name,
                self.file,
                first.at.line,
                first.at.column
            );
            return self.fail(ident.at, words);
        }
        ident.binding.set(binding);
        Ok(known.is_some())
    }

    fn bind_local(&mut self, ident: &Ident) -> bool {
        let is_bound = self.blocks[self.block].bindings.contains_key(&ident.name);
        if !is_bound {
            let container = self.blocks[self.container()].function;
            let slot = match container {
                Some(function) => self.functions[function].locals.len(),
                None => self.locals.len(),
            };
            let binding = self.new_binding(ident, Scope::Local(slot));
            match container {
                Some(function) => self.functions[function].locals.push(binding),
                None => self.locals.push(binding),
            }
            let bindings = &mut self.blocks[self.block].bindings;
            bindings.insert(ident.name.clone(), binding);
        }
        // A bound name is always found: this cannot fail.
        let _ = self.use_name(ident);
        is_bound
    }

    fn use_name(&mut self, ident: &Ident) -> Fallible<()> {
        let found = Use {
            ident: ident.clone(),
            block: self.block,
        };
        if self.dialect.permissive && self.block == FILE {
            let binding = self.top_level(&found)?;
            ident.binding.set(binding);
            return Ok(());
        }
        let container = self.container();
        self.blocks[container].uses.push(found);
        Ok(())
    }

    /// The variable that a name is outside of functions.
    fn top_level(&mut self, found: &Use) -> Fallible<usize> {
        let ident = &found.ident;
        let known = self.blocks[FILE].bindings.get(&ident.name);
        if let Some(binding) = known.or_else(|| self.by_name.get(&ident.name)) {
            return Ok(*binding);
        }
        if (self.is_known)(&ident.name) {
            if !self.dialect.permissive && &*ident.name == "set" {
                return self.fail(ident.at, format!("{DOESNT}support sets"));
            }
            if !self.dialect.complete && &*ident.name == "float" {
                return self.fail(ident.at, format!("{DOESNT}support floating point"));
            }
            return Ok(self.new_binding(ident, Scope::Known));
        }
        let mut names = Vec::new();
        let mut block = Some(found.block);
        while let Some(at) = block {
            names.extend(self.blocks[at].bindings.keys().map(|name| &**name));
            block = self.blocks[at].parent;
        }
        let globals = self
            .globals
            .iter()
            .map(|global| &*self.bindings[*global].name);
        names.extend(globals);
        names.sort_unstable();
        let hint = match nearest(&ident.name, names) {
            Some(name) => format!(" (did you mean {name}?)"),
            None => String::new(),
        };
        self.fail(ident.at, format!("undefined: {}{hint}", ident.name))
    }

    /// Resolves the uses in a function, or the file, of its own variables.
    pub(super) fn resolve_locals(&mut self, container: usize) {
        let uses = std::mem::take(&mut self.blocks[container].uses);
        let mut left = Vec::new();
        for found in uses {
            match self.find_local(&found) {
                Some(binding) => found.ident.binding.set(binding),
                None => left.push(found),
            }
        }
        self.blocks[container].uses = left;
    }

    fn find_local(&self, found: &Use) -> Option<usize> {
        let mut block = Some(found.block);
        while let Some(at) = block {
            let own = &self.blocks[at];
            if let Some(binding) = own.bindings.get(&found.ident.name) {
                let is_local = self.bindings[*binding].scope.is_local();
                return Some(*binding).filter(|_| is_local);
            }
            if own.function.is_some() {
                break;
            }
            block = own.parent;
        }
        None
    }

    fn resolve_others(&mut self, block: usize) -> Fallible<()> {
        for child in std::mem::take(&mut self.blocks[block].children) {
            self.resolve_others(child)?;
        }
        for found in std::mem::take(&mut self.blocks[block].uses) {
            let binding = self.lexical(&found, found.block)?;
            found.ident.binding.set(binding);
        }
        Ok(())
    }

    fn lexical(&mut self, found: &Use, block: usize) -> Fallible<usize> {
        if block == FILE {
            return self.top_level(found);
        }
        if let Some(binding) = self.blocks[block].bindings.get(&found.ident.name) {
            return Ok(*binding);
        }
        let parent = self.blocks[block].parent.unwrap_or(FILE);
        let mut binding = self.lexical(found, parent)?;
        let scope = self.bindings[binding].scope;
        let is_inner = scope.is_local() || matches!(scope, Scope::Free(_));
        if let (Some(function), true) = (self.blocks[block].function, is_inner) {
            if let Scope::Local(slot) = scope {
                self.bindings[binding].scope = Scope::Cell(slot);
            }
            let captured = &mut self.functions[function].captured;
            captured.push(binding);
            let slot = captured.len() - 1;
            binding = self.new_binding(&found.ident, Scope::Free(slot));
        }
        let name = found.ident.name.clone();
        self.blocks[block].bindings.insert(name, binding);
        Ok(binding)
    }
}
