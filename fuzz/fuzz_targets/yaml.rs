//! Any text is read or refused. What is read can be edited and written anew, and the
//! new text can be read, too.
#![no_main]

use functions::yaml::{Node, SequenceIndent, parse_all, write};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(documents) = parse_all(text) else {
        return;
    };
    let Some(document) = documents.first() else {
        return;
    };
    let _ = parse_all(&write(document, SequenceIndent::Compact));
    for edit in [set, add, remove] {
        let mut document = document.clone();
        if edit(&mut document.root, text.len()) {
            let _ = parse_all(&write(&document, SequenceIndent::Compact));
        }
    }
});

/// Changes a scalar: which one, the length of the text decides.
fn set(node: &mut Node, choice: usize) -> bool {
    if node.value().is_some() {
        node.set_text("other");
        return true;
    }
    child(node, choice).is_some_and(|child| set(child, choice / 3))
}

/// Adds a field or an entry as deep as one can get.
fn add(node: &mut Node, choice: usize) -> bool {
    if child(node, choice).is_some_and(|child| add(child, choice / 3)) {
        return true;
    }
    node.insert("new", Node::text("value"));
    if let Some(items) = node.items_mut() {
        items.push(Node::text("new"));
    }
    node.is_mapping() || node.is_sequence()
}

/// Removes a field or an entry as deep as one can get.
fn remove(node: &mut Node, choice: usize) -> bool {
    if child(node, choice).is_some_and(|child| remove(child, choice / 3)) {
        return true;
    }
    let count = node.fields().len() + node.items().len();
    if count == 0 {
        return false;
    }
    if let Some(fields) = node.fields_mut() {
        fields.remove(choice % count);
    } else if let Some(items) = node.items_mut() {
        items.remove(choice % count);
    }
    true
}

fn child(node: &mut Node, choice: usize) -> Option<&mut Node> {
    if node.is_mapping() {
        let fields = node.fields_mut()?;
        let count = fields.len().max(1);
        return fields.get_mut(choice % count).map(|(_, value)| value);
    }
    let items = node.items_mut()?;
    let count = items.len().max(1);
    items.get_mut(choice % count)
}
