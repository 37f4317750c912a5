//! `encoding/csv.star`: tables as text, as Go reads and writes them.

use super::function;
use crate::lang::{Call, Fallible, Int, Thread, Value, memory, show};

pub(super) fn members() -> super::Members {
    vec![
        function("read_all", read_all),
        function("write_all", write_all),
    ]
}

/// A separator: one byte, if it is given.
fn single(text: &[u8], what: &str) -> Fallible<Option<u8>> {
    match text {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => Err(format!(
            "expected {what} param to be a single-character string"
        )),
    }
}

fn read_all(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let taken = call.by_name([
        "source",
        "comma?",
        "comment",
        "lazy_quotes",
        "trim_leading_space",
        "fields_per_record",
        "skip",
    ])?;
    let source: Value = taken.arg(0)?;
    let (comma, comment): (Option<Vec<u8>>, Option<Vec<u8>>) =
        (taken.optional(1)?, taken.optional(2)?);
    let lazy_quotes: bool = taken.optional(3)?.unwrap_or(false);
    let trims: bool = taken.optional(4)?.unwrap_or(false);
    let fields: Option<Int> = taken.optional(5)?;
    let skip: Option<Int> = taken.optional(6)?;
    let Some(text) = source.as_text() else {
        return Err("runtime error: invalid memory address or nil pointer dereference".into());
    };
    // Carriage returns alone end lines, too.
    let text = String::from_utf8_lossy(text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let mut reader = Reader {
        rest: &text,
        line: 0,
        comma: single(&comma.unwrap_or_default(), "comma")?.unwrap_or(b','),
        comment: single(&comment.unwrap_or_default(), "comment")?,
        lazy_quotes,
        trims,
        fields: fields.and_then(|fields| fields.small()).unwrap_or(0),
    };
    if reader.comma == b'"' || reader.comma == b'\n' || Some(reader.comma) == reader.comment {
        return Err("csv: invalid field or comment delimiter".into());
    }
    for _ in 0..skip.and_then(|skip| skip.small()).unwrap_or(0) {
        if matches!(reader.record(), Ok(None)) {
            break;
        }
    }
    let mut rows = Vec::new();
    while let Some(record) = reader.record()? {
        memory::room(rows.len() * 64)?;
        rows.push(Value::list(record.into_iter().map(Value::text).collect()));
    }
    Ok(Value::list(rows))
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    comma: u8,
    comment: Option<u8>,
    lazy_quotes: bool,
    trims: bool,
    /// How many fields each record has; 0: as many as the first; negative: any.
    fields: i64,
}

impl Reader<'_> {
    /// The next line, with its end.
    fn line(&mut self) -> Option<String> {
        let len = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
        let (line, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.line += 1;
        (!line.is_empty()).then(|| line.to_owned())
    }

    fn record(&mut self) -> Fallible<Option<Vec<String>>> {
        let mut line = loop {
            let Some(line) = self.line() else {
                return Ok(None);
            };
            let is_comment = self
                .comment
                .is_some_and(|byte| line.as_bytes().first() == Some(&byte));
            if !is_comment && line != "\n" {
                break line;
            }
        };
        let start = self.line;
        let mut record = Vec::new();
        let mut at = 0;
        let comma = char::from(self.comma);
        'fields: loop {
            if self.trims {
                at += line[at..].len()
                    - line[at..]
                        .trim_start_matches(crate::lang::unicode::is_space)
                        .len();
            }
            if !line[at..].starts_with('"') {
                let end = line[at..].find(comma).map(|len| at + len);
                let field = &line[at..end.unwrap_or(line.len())];
                let field = if end.is_none() {
                    field.strip_suffix('\n').unwrap_or(field)
                } else {
                    field
                };
                if let (false, Some(quote)) = (self.lazy_quotes, field.find('"')) {
                    return self.fail(start, at + quote, "bare \" in non-quoted field");
                }
                record.push(field.to_owned());
                match end {
                    Some(end) => at = end + 1,
                    None => break,
                }
                continue;
            }
            let mut field = String::new();
            at += 1;
            loop {
                match line[at..].find('"') {
                    Some(len) => {
                        field.push_str(&line[at..at + len]);
                        at += len + 1;
                        let behind = &line[at..];
                        if behind.starts_with('"') {
                            field.push('"');
                            at += 1;
                        } else if behind.starts_with(comma) {
                            at += 1;
                            record.push(field);
                            continue 'fields;
                        } else if behind.is_empty() || behind == "\n" {
                            record.push(field);
                            break 'fields;
                        } else if self.lazy_quotes {
                            field.push('"');
                        } else {
                            let words = "extraneous or missing \" in quoted-field";
                            return self.fail(start, at - 1, words);
                        }
                    }
                    None => {
                        field.push_str(&line[at..]);
                        let end = line.len();
                        match self.line() {
                            Some(next) => (line, at) = (next, 0),
                            None if self.lazy_quotes => {
                                record.push(field);
                                break 'fields;
                            }
                            None => {
                                let words = "extraneous or missing \" in quoted-field";
                                return self.fail_at(start, self.line - 1, end, words);
                            }
                        }
                    }
                }
            }
        }
        let count = i64::try_from(record.len()).unwrap_or(i64::MAX);
        match self.fields {
            0 => self.fields = count,
            fields if fields > 0 && fields != count => {
                return Err(format!("record on line {start}: wrong number of fields"));
            }
            _ => {}
        }
        Ok(Some(record))
    }

    fn fail<T>(&self, start: usize, column: usize, words: &str) -> Fallible<T> {
        self.fail_at(start, self.line, column, words)
    }

    fn fail_at<T>(&self, start: usize, line: usize, column: usize, words: &str) -> Fallible<T> {
        let column = column + 1;
        Err(if start == line {
            format!("parse error on line {line}, column {column}: {words}")
        } else {
            format!("record on line {start}; parse error on line {line}, column {column}: {words}")
        })
    }
}

fn write_all(_: &mut Thread<'_>, call: &Call) -> Fallible<Value> {
    let taken = call.by_name(["source", "comma?"])?;
    let source: Value = taken.arg(0)?;
    let comma: Vec<u8> = taken.optional(1)?.unwrap_or_default();
    let comma = single(&comma, "comma")?.unwrap_or(b',');
    let rows = |value: &Value| match value {
        Value::List(list) => Some(list.items()),
        Value::Tuple(items) => Some(items.to_vec()),
        _ => None,
    };
    let Some(records) = rows(&source) else {
        return Err("expected value to be an array type".into());
    };
    let mut out = String::new();
    for (at, record) in records.iter().enumerate() {
        memory::room(out.len() * 2)?;
        let Some(fields) = rows(record) else {
            return Err(format!("row {at} is not an array type"));
        };
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                out.push(char::from(comma));
            }
            write_field(&printed(field)?, char::from(comma), &mut out);
        }
        out.push('\n');
    }
    Ok(Value::text(out))
}

/// A value as Go's `%v` prints it.
fn printed(value: &Value) -> Fallible<String> {
    Ok(match value {
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::None => "<nil>".into(),
        Value::Bool(is) => is.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => {
            let text = show::float(*number, 'g');
            match text.strip_suffix(".0") {
                Some(whole) if number.abs() < 1e21 => whole.to_owned(),
                _ => text,
            }
        }
        Value::List(list) => listed(&list.items())?,
        Value::Tuple(items) => listed(items)?,
        other => show::repr(other)?,
    })
}

fn listed(items: &[Value]) -> Fallible<String> {
    let items = items.iter().map(printed).collect::<Fallible<Vec<_>>>()?;
    Ok(format!("[{}]", items.join(" ")))
}

fn write_field(field: &str, comma: char, out: &mut String) {
    let needs_quotes = match field {
        "" => false,
        "\\." => true,
        field => {
            field.contains([comma, '"', '\r', '\n'])
                || field.starts_with(crate::lang::unicode::is_space)
        }
    };
    if !needs_quotes {
        out.push_str(field)
    } else {
        out.push('"');
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    }
}
