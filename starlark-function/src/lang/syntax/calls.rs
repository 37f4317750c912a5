//! Parameters and arguments.

use std::rc::Rc;

use super::{
    Position,
    ast::{Argument, Function, Ident, Param},
    resolve::{Found, Resolver},
};
use crate::lang::{Fallible, dialect::Edition};

impl Resolver<'_> {
    pub(super) fn arguments(&mut self, at: Position, arguments: &[Argument]) -> Fallible<()> {
        let (mut has_rest, mut has_keywords) = (false, false);
        let mut names: Vec<&str> = Vec::new();
        let (mut positional, mut named) = (0, 0);
        for argument in arguments {
            match argument {
                Argument::Keywords(at, value) => {
                    if has_keywords {
                        return self.fail(*at, "multiple **kwargs not allowed");
                    }
                    has_keywords = true;
                    self.expr(value)?;
                }
                Argument::Rest(at, value) => {
                    if has_keywords {
                        return self.fail(*at, "*args may not follow **kwargs");
                    }
                    if has_rest {
                        return self.fail(*at, "multiple *args not allowed");
                    }
                    has_rest = true;
                    self.expr(value)?;
                }
                Argument::Named(name, value) => {
                    named += 1;
                    if has_keywords {
                        let words = "keyword argument may not follow **kwargs";
                        return self.fail(name.at, words);
                    }
                    if has_rest {
                        let words = "keyword argument may not follow *args";
                        return self.fail(name.at, words);
                    }
                    if names.contains(&&*name.name) {
                        let words = format!("keyword argument \"{}\" is repeated", name.name);
                        return self.fail(name.at, words);
                    }
                    names.push(&name.name);
                    self.expr(value)?;
                }
                Argument::Positional(value) => {
                    positional += 1;
                    let follows = match (has_rest, has_keywords, names.is_empty()) {
                        (true, ..) => Some("*args"),
                        (_, true, _) => Some("**kwargs"),
                        (.., false) => Some("named"),
                        _ => None,
                    };
                    if let Some(follows) = follows {
                        let words = format!("positional argument may not follow {follows}");
                        return self.fail(value.at, words);
                    }
                    self.expr(value)?;
                }
            }
        }
        for (count, what) in [(positional, "positional"), (named, "keyword")] {
            if count >= 256 {
                return self.fail(
                    at,
                    format!("{count} {what} arguments in call, limit is 255"),
                );
            }
        }
        Ok(())
    }

    pub(super) fn function(&mut self, function: &Rc<Function>) -> Fallible<()> {
        for param in &function.params {
            if let Param::Optional { default, .. } = param {
                self.expr(default)?;
            }
        }
        let index = self.functions.len();
        self.functions.push(Found {
            function: function.clone(),
            params: Vec::new(),
            keyword_only: 0,
            has_rest: false,
            has_keywords: false,
            locals: Vec::new(),
            captured: Vec::new(),
        });
        // Older editions let a function leave the loop around it.
        let outer = if self.dialect.edition >= Edition::March2026 {
            std::mem::take(&mut self.loops)
        } else {
            self.loops
        };
        self.push(Some(index));
        self.params(index, &function.params)?;
        self.statements(&function.body)?;
        self.resolve_locals(self.block);
        self.pop();
        self.loops = outer;
        Ok(())
    }

    fn params(&mut self, index: usize, params: &[Param]) -> Fallible<()> {
        let mut has_optional = false;
        let mut star: Option<(Position, Option<&Ident>)> = None;
        let mut keywords: Option<&Ident> = None;
        let mut keyword_only = 0;
        for param in params {
            match param {
                Param::Required(name) | Param::Optional { name, .. } => {
                    let (at, what) = match param {
                        Param::Optional { at, .. } => (*at, "optional"),
                        _ => (name.at, "required"),
                    };
                    if let Some(keywords) = keywords {
                        let words = format!("{what} parameter may not follow **{}", keywords.name);
                        return self.fail(at, words);
                    }
                    if star.is_some() {
                        keyword_only += 1;
                    } else if what == "required" && has_optional {
                        return self.fail(at, "required parameter may not follow optional");
                    }
                    self.param(index, name, at)?;
                    has_optional |= what == "optional";
                }
                Param::Rest { at, name } => {
                    if let Some(keywords) = keywords {
                        let words = format!("* parameter may not follow **{}", keywords.name);
                        return self.fail(*at, words);
                    }
                    if star.is_some() {
                        return self.fail(*at, "multiple * parameters not allowed");
                    }
                    star = Some((*at, name.as_ref()));
                }
                Param::Keywords { at, name } => {
                    if keywords.is_some() {
                        return self.fail(*at, "multiple ** parameters not allowed");
                    }
                    keywords = Some(name);
                }
            }
        }
        match star {
            Some((_, Some(name))) => {
                self.param(index, name, name.at)?;
                self.functions[index].has_rest = true;
            }
            Some((at, None)) if keyword_only == 0 => {
                let words = "bare * must be followed by keyword-only parameters";
                return self.fail(at, words);
            }
            _ => {}
        }
        if let Some(name) = keywords {
            self.param(index, name, name.at)?;
            self.functions[index].has_keywords = true;
        }
        self.functions[index].keyword_only = keyword_only;
        Ok(())
    }

    fn param(&mut self, index: usize, name: &Ident, at: Position) -> Fallible<()> {
        if self.bind(name)? {
            return self.fail(at, format!("duplicate parameter: {}", name.name));
        }
        self.functions[index].params.push(name.name.clone());
        Ok(())
    }
}
