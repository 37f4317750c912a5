//! Fields and entries that were added, removed or kept.

use super::super::node::Node;
use super::patch::{Patch, Place, entry, field, flow_field, flow_item, range};

/// A collection in the text: where each of its fields or entries starts and ends.
struct Parts {
    flow: bool,
    ranges: Vec<(usize, usize)>,
}

/// For each part of the edited collection, the part that it was before.
type Kept = Vec<Option<usize>>;

impl Patch<'_> {
    /// `false` if nothing of the mapping is left, so that it has to be replaced.
    pub(super) fn fields(
        &mut self,
        node: &Node,
        before: &[(Node, Node)],
        after: &[(Node, Node)],
        flow: bool,
        place: Place,
    ) -> bool {
        let is_same = |old: &(Node, Node), new: &(Node, Node)| is_same(&old.0, &new.0);
        let Some(kept) = matched(before, after, is_same) else {
            return before.is_empty() && after.is_empty();
        };
        let extent = |(key, value): &(Node, Node)| (range(key).0, range(value).1);
        let parts = self.parts(node, before.iter().map(extent).collect(), flow);
        let column = self.lines.column(parts.ranges[0].0);
        let place = match (place, flow) {
            (Place::Flow, _) | (_, true) => Place::Flow,
            _ => Place::Value(column),
        };
        for ((key, value), kept) in after.iter().zip(&kept) {
            if let Some(kept) = kept {
                self.key(&before[*kept].0, key, flow);
                self.node(&before[*kept].1, value, place);
            }
        }
        self.rearrange(&parts, &kept, column, |at| {
            let (key, value) = after[at].clone();
            match flow {
                true => flow_field(key, value),
                false => field(key, value),
            }
        });
        true
    }

    /// `false` if nothing of the sequence is left, so that it has to be replaced.
    pub(super) fn entries(
        &mut self,
        node: &Node,
        before: &[Node],
        after: &[Node],
        flow: bool,
        place: Place,
    ) -> bool {
        let Some(kept) = matched(before, after, is_same) else {
            return before.is_empty() && after.is_empty();
        };
        let parts = self.parts(node, before.iter().map(range).collect(), flow);
        let column = self.lines.column(parts.ranges[0].0);
        let place = match (place, flow) {
            (Place::Flow, _) | (_, true) => Place::Flow,
            _ => Place::Entry(column),
        };
        for (item, kept) in after.iter().zip(&kept) {
            if let Some(kept) = kept {
                self.node(&before[*kept], item, place);
            }
        }
        self.rearrange(&parts, &kept, column, |at| match flow {
            true => flow_item(after[at].clone()),
            false => entry(after[at].clone()),
        });
        true
    }

    /// In a block a part starts with its dash or question mark, if it has one.
    fn parts(&self, node: &Node, mut ranges: Vec<(usize, usize)>, flow: bool) -> Parts {
        if !flow {
            let mut from = self.lines.behind_properties(range(node).0);
            for (start, end) in &mut ranges {
                *start = self.lines.token(from);
                from = *end;
            }
        }
        Parts { flow, ranges }
    }

    /// Removes the parts that are gone and adds those that are new.
    fn rearrange(
        &mut self,
        parts: &Parts,
        kept: &Kept,
        column: usize,
        written: impl Fn(usize) -> String,
    ) {
        let mut is_kept = vec![false; parts.ranges.len()];
        kept.iter().flatten().for_each(|at| is_kept[*at] = true);
        let mut at = 0;
        while at < parts.ranges.len() {
            let gone = is_kept[at..]
                .iter()
                .take_while(|is_kept| !**is_kept)
                .count();
            if gone > 0 {
                self.remove(parts, at, at + gone);
            }
            at += gone.max(1);
        }
        let mut before = None;
        for (at, kept_as) in kept.iter().enumerate() {
            match kept_as {
                Some(part) => before = Some(*part),
                None => {
                    let next = kept[at..].iter().flatten().next().copied();
                    self.add(parts, before, next, column, &written(at));
                }
            }
        }
    }

    /// Adds a part behind one, or in front of the first.
    fn add(
        &mut self,
        parts: &Parts,
        before: Option<usize>,
        next: Option<usize>,
        column: usize,
        text: &str,
    ) {
        let line_break = self.lines.line_break();
        let indent = " ".repeat(column);
        let text = self.shifted(text, column);
        match (before, next) {
            (Some(before), _) if parts.flow => {
                let end = parts.ranges[before].1;
                self.splice(end, end, format!(", {text}"));
            }
            (Some(before), _) => {
                let end = parts.ranges[before].1;
                if self.lines.is_start(end) {
                    self.splice(end, end, format!("{indent}{text}{line_break}"));
                } else {
                    let end = self.lines.end(end);
                    self.splice(end, end, format!("{line_break}{indent}{text}"));
                }
            }
            (None, Some(next)) => {
                let start = parts.ranges[next].0;
                let separator = match parts.flow {
                    true => ", ".to_owned(),
                    false => format!("{line_break}{indent}"),
                };
                self.splice(start, start, text + &separator);
            }
            (None, None) => {}
        }
    }

    /// Removes the parts `first..behind`, some part being left.
    fn remove(&mut self, parts: &Parts, first: usize, behind: usize) {
        let (start, end) = (parts.ranges[first].0, parts.ranges[behind - 1].1);
        let (from, to) = match parts.flow {
            true => self.flow_removal(parts, first, behind),
            false => self.block_removal(start, end),
        };
        self.splice(from, to, String::new());
    }

    fn flow_removal(&self, parts: &Parts, first: usize, behind: usize) -> (usize, usize) {
        let text = self.lines.text;
        let (start, end) = (parts.ranges[first].0, parts.ranges[behind - 1].1);
        if let Some((next, _)) = parts.ranges.get(behind) {
            let gap = &text[end..*next];
            return match (gap.find('#'), gap.find(',')) {
                (Some(comment), Some(comma)) if comma < comment => {
                    // The comment behind the comma stays.
                    let behind = &text[end + comma + 1..];
                    let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
                    (start, end + comma + 1 + blanks)
                }
                _ => (start, *next),
            };
        }
        let before = parts.ranges[first - 1].1;
        match text[before..start].contains('#') {
            // A comma may stand at the end.
            true => (start, end),
            false => (before, end),
        }
    }

    fn block_removal(&self, start: usize, end: usize) -> (usize, usize) {
        let lines = self.lines;
        let line = lines.start(start);
        let to = match lines.is_start(end) {
            true => end,
            false => lines.next(end),
        };
        let is_first_in_line = lines.text[line..start].trim_start_matches(' ').is_empty();
        if !is_first_in_line {
            // Behind a dash: what follows takes the place.
            let rest = &lines.text[to..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\r', '\n']).len();
            return (start, to + blanks);
        }
        if lines.is_start(to) {
            // Empty lines above and below do not add up: a text above that ends
            // with empty lines would get more of them.
            let is_below_empty = line > 0 && lines.is_empty_line(lines.start(line - 1));
            let mut to = to;
            while is_below_empty && lines.is_empty_line(to) {
                to = lines.next(to);
            }
            return (line, to);
        }
        // The last line, without a line break: the one above has none then.
        let above = lines.text[..line].strip_suffix('\n').unwrap_or("");
        (above.strip_suffix('\r').unwrap_or(above).len(), to)
    }
}

/// Whether the node is the one that was read, or stands for it.
fn is_same(old: &Node, new: &Node) -> bool {
    match new.span {
        (0, 0) => old.value().is_some() && old.content == new.content,
        span => span == old.span,
    }
}

/// Finds for each edited part the one that it was, in order; `None` if nothing
/// was kept.
fn matched<T>(before: &[T], after: &[T], is_same: impl Fn(&T, &T) -> bool) -> Option<Kept> {
    let mut from = 0;
    let mut kept = Vec::with_capacity(after.len());
    for new in after {
        let found = before[from..].iter().position(|old| is_same(old, new));
        let found = found.map(|more| from + more);
        from = found.map_or(from, |found| found + 1);
        kept.push(found);
    }
    kept.iter().any(Option::is_some).then_some(kept)
}
