//! What programs compute with.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

pub(crate) use super::table::Table;
use super::{
    Builtin, Call, Fallible, Int, Module, Object, Thread, eval::Closure, memory, memory::Charge,
};

#[derive(Debug, Clone)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(Int),
    Float(f64),
    /// Text: bytes that are usually UTF-8.
    Text(Rc<Text>),
    Bytes(Rc<Text>),
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Table>),
    Set(Rc<Table>),
    Range(Rc<Range>),
    /// The bytes or characters of a text, one by one.
    Elements(Rc<Elements>),
    Function(Rc<Closure>),
    Builtin(Rc<Builtin>),
    Struct(Rc<Vec<(String, Value)>>),
    Module(Rc<Module>),
    /// A value of a module's own kind.
    Object(Rc<dyn Object>),
}

#[derive(Debug)]
pub(crate) struct Text {
    bytes: Box<[u8]>,
    _charge: Charge,
}

impl std::ops::Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Debug)]
pub(crate) struct List {
    pub(super) items: RefCell<Vec<Value>>,
    pub(super) iterations: Cell<usize>,
    charge: Charge,
}

impl List {
    pub(crate) fn len(&self) -> usize {
        self.items.borrow().len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<Value> {
        self.items.borrow().get(at).cloned()
    }

    /// A copy of the items.
    pub(crate) fn items(&self) -> Vec<Value> {
        self.items.borrow().clone()
    }

    pub(super) fn check_mutable(&self, verb: &str) -> Fallible<()> {
        match self.iterations.get() {
            0 => Ok(()),
            _ => Err(format!("cannot {verb} list during iteration")),
        }
    }

    /// Changes the items.
    pub(crate) fn edit<T>(&self, edit: impl FnOnce(&mut Vec<Value>) -> T) -> T {
        let mut items = self.items.borrow_mut();
        let edited = edit(&mut items);
        self.charge.set(size(items.capacity()));
        edited
    }
}

impl Drop for List {
    fn drop(&mut self) {
        memory::drop_all(std::mem::take(self.items.get_mut()));
    }
}

#[derive(Debug)]
pub(crate) struct Tuple {
    items: Vec<Value>,
    _charge: Charge,
}

impl std::ops::Deref for Tuple {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        memory::drop_all(std::mem::take(&mut self.items));
    }
}

/// Bytes of a sequence of values.
pub(crate) fn size(items: usize) -> usize {
    64 + items * size_of::<Value>()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    pub(crate) step: i64,
    pub(crate) len: i64,
}

impl Range {
    pub(crate) fn new(start: i64, stop: i64, step: i64) -> Self {
        let (wide_start, wide_stop, wide_step) =
            (i128::from(start), i128::from(stop), i128::from(step));
        let len = match step > 0 {
            true if stop > start => (wide_stop - 1 - wide_start) / wide_step + 1,
            false if start > stop => (wide_start - 1 - wide_stop) / -wide_step + 1,
            _ => 0,
        };
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        Self {
            start,
            stop,
            step,
            len,
        }
    }

    pub(crate) fn get(&self, at: i64) -> i64 {
        self.start.wrapping_add(at.wrapping_mul(self.step))
    }
}

#[derive(Debug)]
pub(crate) struct Elements {
    pub(crate) of: Rc<Text>,
    /// The method that made it, such as `elem_ords`.
    pub(crate) method: &'static str,
    pub(crate) of_bytes: bool,
}

impl Elements {
    pub(crate) fn are_codepoints(&self) -> bool {
        self.method.starts_with('c')
    }

    pub(crate) fn are_numbers(&self) -> bool {
        self.of_bytes || self.method.ends_with("ords")
    }

    /// The element at a byte, and how many bytes it has.
    pub(crate) fn at(&self, at: usize) -> Option<(Value, usize)> {
        let rest = self.of.get(at..).filter(|rest| !rest.is_empty())?;
        if !self.are_codepoints() {
            let value = if self.are_numbers() {
                Value::Int(Int::from(i64::from(rest[0])))
            } else {
                Value::text(&rest[..1])
            };
            return Some((value, 1));
        }
        let (c, width) = first_char(rest);
        let value = if self.are_numbers() {
            Value::Int(Int::from(i64::from(c as u32)))
        } else {
            Value::text(c.encode_utf8(&mut [0; 4]).as_bytes())
        };
        Some((value, width))
    }
}

/// The first character, and its width; what is not UTF-8 is U+FFFD of one byte.
pub(crate) fn first_char(text: &[u8]) -> (char, usize) {
    let head = &text[..text.len().min(4)];
    match head.utf8_chunks().next().map(|chunk| chunk.valid()) {
        Some(valid) if !valid.is_empty() => {
            let c = valid.chars().next().unwrap_or('\u{fffd}');
            (c, c.len_utf8())
        }
        _ => ('\u{fffd}', 1),
    }
}

impl Value {
    pub(crate) fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Text(Rc::new(Text::new(text.as_ref())))
    }

    pub(crate) fn bytes(text: impl AsRef<[u8]>) -> Self {
        Self::Bytes(Rc::new(Text::new(text.as_ref())))
    }

    pub(crate) fn int(number: impl Into<Int>) -> Self {
        Self::Int(number.into())
    }

    pub(crate) fn len_of(number: usize) -> Self {
        Self::Int(Int::from(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        let charge = Charge::new(size(items.capacity()));
        Self::List(Rc::new(List {
            items: RefCell::new(items),
            iterations: Cell::new(0),
            charge,
        }))
    }

    pub(crate) fn tuple(items: Vec<Self>) -> Self {
        let _charge = Charge::new(size(items.capacity()));
        Self::Tuple(Rc::new(Tuple { items, _charge }))
    }

    pub(crate) fn structure(mut fields: Vec<(String, Self)>) -> Self {
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self::Struct(Rc::new(fields))
    }

    /// A function of a module.
    pub(crate) fn builtin(
        name: &'static str,
        run: fn(&mut Thread<'_>, &Call) -> Fallible<Self>,
    ) -> Self {
        let receiver = None;
        Self::Builtin(Rc::new(Builtin {
            name,
            receiver,
            run,
        }))
    }

    pub(crate) fn object(object: impl Object + 'static) -> Self {
        Self::Object(Rc::new(object))
    }

    /// The object, if the value is one of this kind.
    pub(crate) fn downcast<T: 'static>(&self) -> Option<&T> {
        match self {
            Self::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            Self::Int(number) => Some(number.float()),
            _ => None,
        }
    }

    pub(super) fn is_container(&self) -> bool {
        matches!(
            self,
            Self::List(_)
                | Self::Tuple(_)
                | Self::Dict(_)
                | Self::Set(_)
                | Self::Function(_)
                | Self::Builtin(_)
        )
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Set(_) => "set",
            Self::Range(_) => "range",
            Self::Elements(elements) => match (elements.of_bytes, elements.are_codepoints()) {
                (true, _) => "bytes.elems",
                (_, true) => "string.codepoints",
                _ => "string.elems",
            },
            Self::Function(_) => "function",
            Self::Builtin(_) => "builtin_function_or_method",
            Self::Struct(_) => "struct",
            Self::Module(_) => "module",
            Self::Object(object) => object.type_name(),
        }
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(is) => *is,
            Self::Int(number) => !number.is_zero(),
            Self::Float(number) => *number != 0.0,
            Self::Text(text) | Self::Bytes(text) => !text.is_empty(),
            Self::List(list) => list.len() > 0,
            Self::Tuple(items) => !items.is_empty(),
            Self::Dict(table) | Self::Set(table) => table.len() > 0,
            Self::Range(range) => range.len > 0,
            Self::Object(object) => object.truth(),
            _ => true,
        }
    }

    /// How many elements it has, if that is known.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Text(text) | Self::Bytes(text) => Some(text.len()),
            Self::List(list) => Some(list.len()),
            Self::Tuple(items) => Some(items.len()),
            Self::Dict(table) | Self::Set(table) => Some(table.len()),
            Self::Range(range) => usize::try_from(range.len).ok(),
            Self::Elements(elements) if !elements.are_codepoints() && !elements.of_bytes => {
                Some(elements.of.len())
            }
            _ => None,
        }
    }
}

impl Text {
    fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.into(),
            _charge: Charge::new(bytes.len() + 48),
        }
    }
}
