//! Text that is read and written back is the same bytes, and after an edit all
//! that is outside of the edit still is.

mod generated;

use std::{fs, path::Path};

use functions::yaml::{Content, Document, Node, Source};
use proptest::prelude::*;

/// Inputs of the golden cases, where the project has them at hand, and of its own.
fn inputs() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = root.join("../../../shared/golden");
    if !golden.is_dir() {
        eprintln!("left out: the golden cases, since there is no ../shared/golden");
    }
    let mut inputs = Vec::new();
    for folder in [root.join("tests/cases"), golden] {
        let functions = fs::read_dir(folder).into_iter().flatten().flatten();
        for case in
            functions.flat_map(|function| fs::read_dir(function.path()).expect("cases").flatten())
        {
            let path = case.path().join("input.yaml");
            let text = fs::read_to_string(&path).expect("an input");
            inputs.push((path.display().to_string(), text));
        }
    }
    assert!(inputs.len() >= 36, "only {} cases were found", inputs.len());
    inputs
}

/// The ways to all nodes below a node: numbers of fields and entries.
fn ways(node: &Node) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new()];
    let values = node.fields().iter().map(|(_, value)| value);
    for (at, child) in values.chain(node.items()).enumerate() {
        for mut way in ways(child) {
            way.insert(0, at);
            found.push(way);
        }
    }
    found
}

fn at<'n>(node: &'n Node, way: &[usize]) -> &'n Node {
    way.iter().fold(node, |node, at| match &node.content {
        Content::Mapping { fields, .. } => &fields[*at].1,
        _ => &node.items()[*at],
    })
}

fn at_mut<'n>(node: &'n mut Node, way: &[usize]) -> &'n mut Node {
    way.iter().fold(node, |node, at| match &mut node.content {
        Content::Mapping { fields, .. } => &mut fields[*at].1,
        Content::Sequence { items, .. } => &mut items[*at],
        _ => unreachable!("ways lead through collections"),
    })
}

/// Whether `written` is `text` with something in one place.
fn is_added(text: &str, written: &str) -> bool {
    let same = |(a, b): &(u8, u8)| a == b;
    let start = text.bytes().zip(written.bytes()).take_while(same).count();
    written[start..].ends_with(&text[start..])
        || text
            .bytes()
            .rev()
            .zip(written.bytes().rev())
            .take_while(same)
            .count()
            + start
            >= text.len()
}

/// The place of an edit with the white space around it.
fn around(text: &str, (from, to): (u32, u32)) -> (usize, usize) {
    let before = text[..from as usize].trim_end().len();
    let rest = &text[to as usize..];
    (before, text.len() - rest.trim_start().len())
}

/// Where the line ends, with its line break and the empty lines below.
fn line_end(text: &str, at: u32) -> usize {
    let rest = &text[at as usize..];
    let below = rest.find('\n').map_or("", |more| &rest[more + 1..]);
    text.len() - below.trim_start().len()
}

/// Edits the first document of `text`, and tells what was written if it is as the
/// edit wants it: the same content as the tree, and other bytes in `place` only.
fn edited(
    text: &str,
    place: impl Fn(&Node) -> (usize, usize),
    edit: impl Fn(&mut Node),
) -> Result<String, String> {
    let source = Source::parse(text).map_err(|error| error.to_string())?;
    let mut documents: Vec<Document> = source.documents().to_vec();
    let place = place(&documents[0].root);
    edit(&mut documents[0].root);
    let written = source.write(&documents);
    let again = Source::parse(&written).map_err(|error| format!("{error}\n{written}"))?;
    if !documents[0].root.same_content(&again.documents()[0].root) {
        return Err(format!("another content:\n{written}"));
    }
    let kept = match place {
        // Something was added: all of the text is still there.
        (0, 0) => is_added(text, &written),
        (from, to) => written.starts_with(&text[..from]) && written[from..].ends_with(&text[to..]),
    };
    if !kept {
        return Err(format!(
            "something changed outside of {place:?}:\n{written}"
        ));
    }
    Ok(written)
}

#[test]
fn every_input_is_written_back_as_it_was() {
    for (name, text) in inputs() {
        if let Ok(source) = Source::parse(&text) {
            assert_eq!(source.write(source.documents()), text, "{name}");
        }
    }
}

#[test]
fn a_scalar_of_an_input_can_be_edited_alone() {
    let mut count = 0;
    for (name, text) in inputs() {
        let Ok(source) = Source::parse(&text) else {
            continue;
        };
        let Some(document) = source.documents().first() else {
            continue;
        };
        let mut ways = ways(&document.root);
        ways.retain(|way| at(&document.root, way).value().is_some());
        // A sample does: there are very many.
        for way in ways.into_iter().skip(count % 7).step_by(29) {
            count += 1;
            let place = |root: &Node| around(&text, at(root, &way).span);
            let done = edited(&text, place, |root| {
                at_mut(root, &way).set_text("edited text");
            });
            assert!(done.is_ok(), "{name} {way:?}: {}", done.unwrap_err());
        }
    }
    assert!(count > 500, "only {count} scalars");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn generated_text_is_written_back_as_it_was(text in generated::document()) {
        let source = Source::parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(source.write(source.documents()), text.as_str());
    }

    #[test]
    fn only_the_edited_scalar_changes(
        text in generated::document(),
        which in any::<prop::sample::Index>(),
        value in prop_oneof![Just("edited"), Just("two words"), Just("yes: no"), Just("12"), Just("a\nb\n"), Just("")],
    ) {
        let source = Source::parse(&text).unwrap();
        let root = &source.documents()[0].root;
        let mut ways = ways(root);
        ways.retain(|way| at(root, way).value().is_some() && at(root, way).anchor().is_none());
        let way = which.get(&ways);
        let place = |root: &Node| around(&text, at(root, way).span);
        let done = edited(&text, place, |root| at_mut(root, way).set_text(value));
        prop_assert!(done.is_ok(), "{:?}: {}\n--- of\n{}", way, done.unwrap_err(), text);
    }

    #[test]
    fn only_the_lines_of_a_field_change(
        text in generated::document(),
        which in any::<prop::sample::Index>(),
        field in any::<prop::sample::Index>(),
        action in 0..4,
    ) {
        let source = Source::parse(&text).unwrap();
        let root = &source.documents()[0].root;
        let mut ways = ways(root);
        ways.retain(|way| !at(root, way).fields().is_empty());
        let way = which.get(&ways);
        let field = field.index(at(root, way).fields().len());
        let place = |root: &Node| {
            let mapping = at(root, way);
            let (key, value) = &mapping.fields()[field];
            let before = match field {
                0 => around(&text, key.span).0,
                at => mapping.fields()[at - 1].1.span.1 as usize,
            };
            match action {
                0 => around(&text, key.span),
                // The end of its last line goes with a field.
                1 if mapping.fields().len() > 1 => {
                    let next = mapping.fields().get(field + 1);
                    let end = line_end(&text, value.span.1);
                    (before, next.map_or(end, |(key, _)| key.span.0 as usize))
                }
                1 => around(&text, mapping.span),
                _ => (0, 0),
            }
        };
        let done = edited(&text, place, |root| {
            let fields = at_mut(root, way).fields_mut().unwrap();
            match action {
                0 => fields[field].0.set_text("renamed"),
                1 => drop(fields.remove(field)),
                2 => fields.insert(field, (Node::text("new"), Node::text("value"))),
                _ => fields.push((Node::text("new"), Node::mapping(vec![(Node::text("in"), Node::plain("1"))]))),
            }
        });
        prop_assume!(!is_of_anchor(at(root, way), field, action));
        prop_assert!(done.is_ok(), "{:?} {} {}: {}\n--- of\n{}", way, field, action, done.unwrap_err(), text);
    }

    #[test]
    fn only_the_lines_of_an_entry_change(
        text in generated::document(),
        which in any::<prop::sample::Index>(),
        entry in any::<prop::sample::Index>(),
        add in any::<bool>(),
    ) {
        let source = Source::parse(&text).unwrap();
        let root = &source.documents()[0].root;
        let mut ways = ways(root);
        ways.retain(|way| at(root, way).items().len() > 1);
        prop_assume!(!ways.is_empty());
        let way = which.get(&ways);
        let entry = entry.index(at(root, way).items().len());
        let place = |root: &Node| {
            let sequence = at(root, way);
            let before = match entry {
                0 => around(&text, sequence.span).0,
                at => sequence.items()[at - 1].span.1 as usize,
            };
            let end = line_end(&text, sequence.items()[entry].span.1);
            let next = sequence.items().get(entry + 1);
            let next = next.map(|item| item.span.0 as usize);
            match add {
                true => (0, 0),
                false => (before, next.unwrap_or(end)),
            }
        };
        let done = edited(&text, place, |root| {
            let items = at_mut(root, way).items_mut().unwrap();
            match add {
                true => items.insert(entry, Node::text("new")),
                false => drop(items.remove(entry)),
            }
        });
        prop_assert!(done.is_ok(), "{:?} {} {}: {}\n--- of\n{}", way, entry, add, done.unwrap_err(), text);
    }
}

/// Whether an edit takes away an anchor that is referred to.
fn is_of_anchor(mapping: &Node, field: usize, action: i32) -> bool {
    fn holds_anchor(node: &Node) -> bool {
        let mut values = node
            .fields()
            .iter()
            .map(|(_, value)| value)
            .chain(node.items());
        node.anchor().is_some() || values.any(holds_anchor)
    }
    action == 1 && holds_anchor(&mapping.fields()[field].1)
}
