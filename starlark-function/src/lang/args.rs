//! Arguments of functions that are part of the language or of modules, and what
//! is said of those that do not fit.

use super::{
    Fallible, Int, Value,
    iterate::{Elems, iterate},
    spell::nearest,
};

/// A call of such a function.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) receiver: Option<Value>,
    pub(crate) args: Vec<Value>,
    pub(crate) named: Vec<(Value, Value)>,
}

/// What a parameter takes: the value, or what is wrong with it.
pub(crate) trait FromValue: Sized {
    fn from_value(value: &Value) -> Fallible<Self>;
}

fn got<T>(value: &Value, wanted: &str) -> Fallible<T> {
    Err(format!("got {}, want {wanted}", value.type_name()))
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Fallible<Self> {
        Ok(value.clone())
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Fallible<Self> {
        match value.as_text() {
            Some(text) => Ok(text.to_vec()),
            None => got(value, "string"),
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Fallible<Self> {
        Vec::<u8>::from_value(value).map(|text| String::from_utf8_lossy(&text).into_owned())
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Fallible<Self> {
        match value {
            Value::Bool(is) => Ok(*is),
            _ => got(value, "bool"),
        }
    }
}

/// Any whole number.
impl FromValue for Int {
    fn from_value(value: &Value) -> Fallible<Self> {
        match value {
            Value::Int(number) => Ok(number.clone()),
            _ => got(value, "int"),
        }
    }
}

/// A whole number of 64 bits.
impl FromValue for i64 {
    fn from_value(value: &Value) -> Fallible<Self> {
        let number = Int::from_value(value)?;
        number
            .small()
            .ok_or_else(|| format!("{number} out of range (want value in signed 64-bit range)"))
    }
}

/// A number, whole or not.
impl FromValue for f64 {
    fn from_value(value: &Value) -> Fallible<Self> {
        match value.as_float() {
            Some(number) => Ok(number),
            None => got(value, "float or int"),
        }
    }
}

/// Something with elements.
#[derive(Debug)]
pub(crate) struct Iterable(pub(crate) Value);

impl Iterable {
    pub(crate) fn elems(&self) -> Fallible<Elems> {
        iterate(&self.0).ok_or_else(|| format!("got {}, want iterable", self.0.type_name()))
    }

    pub(crate) fn collect(&self) -> Fallible<Vec<Value>> {
        super::iterate::collect(&self.0, self.elems()?)
    }
}

impl FromValue for Iterable {
    fn from_value(value: &Value) -> Fallible<Self> {
        match iterate(value) {
            Some(_) => Ok(Self(value.clone())),
            None => got(value, "iterable"),
        }
    }
}

/// Something that can be called.
#[derive(Debug)]
pub(crate) struct Callable(pub(crate) Value);

impl FromValue for Callable {
    fn from_value(value: &Value) -> Fallible<Self> {
        match value {
            Value::Function(_) | Value::Builtin(_) => Ok(Self(value.clone())),
            _ => got(value, "callable"),
        }
    }
}

/// A whole number of 32 bits, as indices are.
pub(crate) fn index(value: &Value) -> Fallible<i64> {
    let number = Int::from_value(value)?;
    let small = number
        .small()
        .filter(|number| i32::try_from(*number).is_ok());
    small.ok_or_else(|| format!("{number} out of range"))
}

impl Call {
    /// `Err` unless there are so many arguments, and none by name.
    pub(crate) fn positional(&self, least: usize, most: usize) -> Fallible<()> {
        let (name, got) = (self.name, self.args.len());
        if !self.named.is_empty() {
            return Err(format!("{name}: unexpected keyword arguments"));
        }
        if got < least {
            let at_least = if least < most { "at least " } else { "" };
            return Err(format!(
                "{name}: got {got} arguments, want {at_least}{least}"
            ));
        }
        if got > most {
            let at_most = if most > least { "at most " } else { "" };
            return Err(format!("{name}: got {got} arguments, want {at_most}{most}"));
        }
        Ok(())
    }

    /// The argument at a position, if there is one.
    pub(crate) fn optional<T: FromValue>(&self, at: usize) -> Fallible<Option<T>> {
        let told = |words| format!("{}: for parameter {}: {words}", self.name, at + 1);
        let taken = self
            .args
            .get(at)
            .map(|value| T::from_value(value).map_err(told));
        taken.transpose()
    }

    /// The argument at a position.
    pub(crate) fn arg<T: FromValue>(&self, at: usize) -> Fallible<T> {
        let missing = || format!("{}: missing argument for {}", self.name, at + 1);
        self.optional(at)?.ok_or_else(missing)
    }

    /// Arguments that are given by position or by name. Names that end with `?`,
    /// and all behind them, can be left out.
    pub(crate) fn by_name<const N: usize>(&self, names: [&'static str; N]) -> Fallible<Named<N>> {
        self.bind(&self.args, names)
    }

    /// Arguments that are given by name only, beside others.
    pub(crate) fn only_named<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Fallible<Named<N>> {
        self.bind(&[], names)
    }

    fn bind<const N: usize>(&self, args: &[Value], names: [&'static str; N]) -> Fallible<Named<N>> {
        let function = self.name;
        if args.len() > N {
            let got = args.len();
            return Err(format!("{function}: got {got} arguments, want at most {N}"));
        }
        let plain = names.map(|name| name.trim_end_matches('?'));
        let mut values: [Option<Value>; N] = std::array::from_fn(|at| args.get(at).cloned());
        for (name, value) in &self.named {
            let name = name.as_text().unwrap_or(b"");
            let name = String::from_utf8_lossy(name).into_owned();
            let at = plain.iter().position(|own| *own == name);
            match at {
                Some(at) if values[at].is_some() => {
                    return Err(format!(
                        "{function}: got multiple values for keyword argument {}",
                        super::syntax::quote(name.as_bytes(), false)
                    ));
                }
                Some(at) => values[at] = Some(value.clone()),
                None => {
                    let quoted = super::syntax::quote(name.as_bytes(), false);
                    let mut words = format!("{function}: unexpected keyword argument {quoted}");
                    if let Some(meant) = nearest(&name, plain[..N.div_ceil(2)].iter().copied()) {
                        words.push_str(&format!(" (did you mean {meant}?)"));
                    }
                    return Err(words);
                }
            }
        }
        let required = names
            .iter()
            .position(|name| name.ends_with('?'))
            .unwrap_or(N);
        if let Some(at) = (0..required).find(|at| values[*at].is_none()) {
            return Err(format!("{function}: missing argument for {}", plain[at]));
        }
        Ok(Named {
            function,
            names: plain,
            values,
        })
    }

    /// An error with the function's name in front.
    pub(crate) fn fail<T>(&self, words: impl AsRef<str>) -> Fallible<T> {
        Err(self.told(words))
    }

    pub(crate) fn told(&self, words: impl AsRef<str>) -> String {
        format!("{}: {}", self.name, words.as_ref())
    }
}

/// Arguments by name.
#[derive(Debug)]
pub(crate) struct Named<const N: usize> {
    function: &'static str,
    names: [&'static str; N],
    pub(crate) values: [Option<Value>; N],
}

impl<const N: usize> Named<N> {
    pub(crate) fn optional<T: FromValue>(&self, at: usize) -> Fallible<Option<T>> {
        let told = |words| {
            format!(
                "{}: for parameter {}: {words}",
                self.function, self.names[at]
            )
        };
        let taken = self.values[at]
            .as_ref()
            .map(|value| T::from_value(value).map_err(told));
        taken.transpose()
    }

    pub(crate) fn arg<T: FromValue>(&self, at: usize) -> Fallible<T> {
        let missing = || format!("{}: missing argument for {}", self.function, self.names[at]);
        self.optional(at)?.ok_or_else(missing)
    }
}
