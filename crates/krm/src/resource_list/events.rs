//! Walks YAML event by event, keeping only `kind` and `results`.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, StrInput};

use super::results::{FunctionResult, Node, Results};

/// How deep brackets may be nested. The parser's work grows with text times
/// depth, so that nothing but brackets would keep it busy for hours.
const MAX_DEPTH: usize = 1000;

/// How many results are read, and of how many scalars and collections one may
/// consist. Nobody reads more; the list itself is not affected.
const MAX_RESULTS: usize = 1000;
const MAX_NODES: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Envelope {
    pub(super) kind: Option<String>,
    pub(super) results: Results,
}

/// Reads the outermost mapping of the first document.
pub(super) fn walk(text: &str) -> Result<Envelope, String> {
    let mut events = Events::new(text)?;
    match events.next()? {
        Event::MappingStart(..) => {}
        Event::SequenceStart(..) => return Err("it is a list, not a mapping".into()),
        _ => return Err("it is not a mapping".into()),
    }
    let mut envelope = Envelope::default();
    loop {
        let key = match events.next()? {
            Event::MappingEnd => return Ok(envelope),
            Event::Scalar(key, ..) => key.into_owned(),
            other => {
                events.skip(other)?;
                String::new()
            }
        };
        match (key.as_str(), events.next()?) {
            ("kind", Event::Scalar(kind, ..)) if envelope.kind.is_none() => {
                envelope.kind = Some(kind.into_owned());
            }
            ("results", value) if envelope.results.is_empty() => {
                envelope.results = events.results(value)?;
            }
            (_, value) => events.skip(value)?,
        }
    }
}

/// Reads the value of `results`, given as a document of its own.
pub(super) fn results(value: &str) -> Result<Results, String> {
    if value.trim().is_empty() {
        return Ok(Results::default());
    }
    let mut events = Events::new(value)?;
    let first = events.next()?;
    events.results(first)
}

struct Events<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Events<'a> {
    /// Stands before the first node of the first document.
    fn new(text: &'a str) -> Result<Self, String> {
        if is_nested_too_deeply(text) {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        let mut events = Self(Parser::new_from_str(text));
        while !matches!(events.next()?, Event::DocumentStart(_)) {}
        Ok(events)
    }

    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.0.next_event() {
            Some(Ok((Event::StreamEnd | Event::DocumentEnd, _))) | None => {
                Err("it ends too early".into())
            }
            Some(Ok((event, _))) => Ok(event),
            // The parser's words name the place but repeat no content.
            Some(Err(error)) => Err(format!("it is not YAML: {error}")),
        }
    }

    /// Passes what `first` begins.
    fn skip(&mut self, first: Event<'a>) -> Result<(), String> {
        let mut depth = 0_usize;
        let mut event = first;
        loop {
            match event {
                Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
                Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
            event = self.next()?;
        }
    }

    /// A list of results, or a mapping with that list as `items` (older SDKs).
    fn results(&mut self, first: Event<'a>) -> Result<Results, String> {
        let mut results = Results::default();
        match first {
            Event::SequenceStart(..) => self.result_list(&mut results)?,
            Event::MappingStart(..) => loop {
                let key = match self.next()? {
                    Event::MappingEnd => break,
                    Event::Scalar(key, ..) => key,
                    other => {
                        self.skip(other)?;
                        continue;
                    }
                };
                match (&*key, self.next()?) {
                    ("items", Event::SequenceStart(..)) => self.result_list(&mut results)?,
                    (_, value) => self.skip(value)?,
                }
            },
            other => self.skip(other)?,
        }
        Ok(results)
    }

    fn result_list(&mut self, results: &mut Results) -> Result<(), String> {
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(()),
                entry if results.list.len() < MAX_RESULTS => {
                    let mut budget = MAX_NODES;
                    let node = self.node(entry, &mut budget)?;
                    results.list.extend(FunctionResult::from_node(&node));
                }
                entry => {
                    self.skip(entry)?;
                    results.not_read += 1;
                }
            }
        }
    }

    /// Builds one result. Recursion is bounded by the budget: every level takes
    /// at least one from it.
    fn node(&mut self, first: Event<'a>, budget: &mut usize) -> Result<Node, String> {
        if *budget == 0 {
            self.skip(first)?;
            return Ok(Node::Other);
        }
        *budget -= 1;
        match first {
            Event::Scalar(text, ..) => Ok(Node::Scalar(text.into_owned())),
            Event::MappingStart(..) => {
                let mut fields = BTreeMap::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Node::Mapping(fields)),
                        Event::Scalar(key, ..) => key.into_owned(),
                        other => {
                            self.skip(other)?;
                            String::new()
                        }
                    };
                    let value = self.next()?;
                    let value = self.node(value, budget)?;
                    fields.entry(key).or_insert(value);
                }
            }
            other => {
                self.skip(other)?;
                Ok(Node::Other)
            }
        }
    }
}

/// Counts brackets, those in text included: a list with a thousand unmatched
/// brackets in its text that also needs the parser does not exist.
fn is_nested_too_deeply(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}
