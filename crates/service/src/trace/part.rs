//! The parts of a call one after the other: it waits for its turn, then its function runs.
//! Each is noted, for the call's line in the log, and is a span.

use process::{Begin, Variable};

use super::{Span, Trace};
use crate::notes::{Notes, Running, Waiting};

/// What a call does at the moment.
#[derive(Debug)]
pub struct Part<'a> {
    notes: &'a Notes,
    trace: &'a Trace,
    span: Span,
    waiting: Option<Waiting>,
    running: Option<Running>,
}

impl<'a> Part<'a> {
    /// The call waits, from now on.
    pub fn waits(notes: &'a Notes, trace: &'a Trace) -> Self {
        Self {
            notes,
            trace,
            span: trace.span("queue"),
            waiting: Some(notes.waits()),
            running: None,
        }
    }

    /// The span of what it does.
    pub fn span(&mut self) -> &mut Span {
        &mut self.span
    }

    /// The place for what is done within it.
    pub fn within(&self) -> &Trace {
        self.span.within(self.trace)
    }

    /// It waits no longer: its function runs, which `span` stands for.
    pub fn runs(&mut self, span: impl FnOnce(&Trace) -> Span) {
        self.waiting = None;
        // Ended before the other begins.
        self.span = Span::default();
        self.span = span(self.trace);
        self.running = Some(self.notes.runs());
    }

    /// It waits no longer: a process runs. One that is started for the call hears of
    /// its trace, as programs do by convention.
    pub fn process(&mut self, begin: Begin) -> Option<Variable> {
        self.runs(|trace| trace.span("process"));
        let is_ahead = begin == Begin::Ahead;
        self.span.set("krm.process.started_ahead", is_ahead);
        if is_ahead {
            return None;
        }
        let value = self.within().traceparent()?;
        Some(Variable {
            name: "TRACEPARENT",
            value,
        })
    }
}
