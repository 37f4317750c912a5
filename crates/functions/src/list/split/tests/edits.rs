//! Edits in text are those of the tree, and so are fields that are added when a text is read.

use memchr::memmem::Finder;
use proptest::prelude::*;

use super::{CASES, HEAD, list, split, touch};
use crate::{
    list::places,
    yaml::{Comments, Content, Node, SequenceIndent, Style, Tag, parse_all, write_node},
};

/// A scalar that was visited: its path, what it was, and its comments.
type Visited = (String, String, Comments);

fn edit(node: &mut Node, path: &str, mark: &str, new: &str, visited: &mut Vec<Visited>) {
    let value = node.value().unwrap_or("").to_owned();
    let is_mark = value == mark;
    visited.push((path.to_owned(), value, node.comments().clone()));
    if is_mark {
        node.set_value(new);
        node.tag = Tag::None;
    }
}

/// Visits the scalars of a tree in whose value or comment the mark stands.
fn walk(node: &mut Node, path: &str, mark: &str, new: &str, visited: &mut Vec<Visited>) {
    let line = node.comments().line.clone();
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            for (key, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{}", key.value().unwrap_or(""));
                walk(value, &path, mark, new, visited);
            }
        }
        Content::Sequence { items, .. } => {
            for (at, item) in items.iter_mut().enumerate() {
                walk(item, &format!("{path}[{at}]"), mark, new, visited);
            }
        }
        Content::Scalar { value, .. } => {
            if value.contains(mark) || line.contains(mark) {
                edit(node, path, mark, new, visited);
            }
        }
        Content::Alias(_) => {}
    }
}

fn roots(text: &str, indent: SequenceIndent) -> Option<(Node, Node)> {
    let style = Style {
        indent,
        keeps_heads: true,
    };
    let (root, _) = split(&std::rc::Rc::new(text.to_owned().into()), style)?;
    let mut documents = parse_all(text).ok()?;
    Some((root, documents.pop()?.root))
}

fn items(root: &mut Node) -> &mut Vec<Node> {
    let items = root.get_mut("items").and_then(Node::items_mut);
    items.expect("a list has items")
}

/// How many objects were edited as text.
fn compare_edits(text: &str, indent: SequenceIndent, mark: &str, new: &str) -> usize {
    let Some((mut root, mut parsed)) = roots(text, indent) else {
        return 0;
    };
    let (mut visited, mut expected) = (Vec::new(), Vec::new());
    let mut edited = 0;
    for (item, parsed) in items(&mut root).iter_mut().zip(items(&mut parsed)) {
        let known = visited.len();
        let before = write_node(item, indent);
        let in_text = item.edit_text(&Finder::new(mark), |node, path| {
            edit(node, path, mark, new, &mut visited);
            Some(())
        });
        if in_text.is_none() {
            visited.truncate(known);
            assert_eq!(write_node(item, indent), before, "{text}");
            walk(item, "", mark, new, &mut visited);
        }
        edited += usize::from(in_text.is_some());
        walk(parsed, "", mark, new, &mut expected);
    }
    assert_eq!(visited, expected, "{mark}: {text}");
    let written = write_node(&parsed, indent);
    assert_eq!(write_node(&root, indent), written, "{mark}: {text}");
    // What is read of the new text is the new text.
    touch(&mut root);
    assert_eq!(write_node(&root, indent), written, "{mark}: {text}");
    edited
}

/// Compares what [`places`] does to text and to trees.
fn compare_places(text: &str, touched: bool) {
    let indent = SequenceIndent::Compact;
    let Some((mut root, mut parsed)) = roots(text, indent) else {
        return;
    };
    let completed = [&mut root, &mut parsed].map(|root| places::complete(items(root)));
    let [Ok(before), Ok(expected)] = completed else {
        let errors = completed.map(Result::err);
        assert_eq!(errors[0], errors[1], "{text}");
        return;
    };
    // What is added is there for everybody who looks.
    assert_eq!(items(&mut root.clone()), items(&mut parsed), "{text}");
    let [seen, known] = [&root, &parsed].map(|root| write_node(root, indent));
    assert_eq!(seen, known, "{text}");
    if touched {
        touch(&mut root);
    }
    let restored = places::restore(items(&mut root), &before);
    assert_eq!(
        restored,
        places::restore(items(&mut parsed), &expected),
        "{text}"
    );
    for root in [&mut root, &mut parsed] {
        let cleared = items(root).iter_mut().try_for_each(places::clear_empty);
        assert_eq!(cleared, Ok(()), "{text}");
    }
    let [seen, known] = [&root, &parsed].map(|root| write_node(root, indent));
    assert_eq!(seen, known, "{text}");
}

/// Objects with annotations that say where they are, in one way or another.
fn placed() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "internal.config.kubernetes.io/path",
        "config.kubernetes.io/path",
        "internal.config.kubernetes.io/index",
        "config.kubernetes.io/index",
        "internal.config.kubernetes.io/id",
        "config.k8s.io/id",
        places::MIGRATION,
        "other",
    ]);
    let value = prop::sample::select(vec![
        "a",
        "'0'",
        "a",
        "'0'",
        "''",
        "~",
        "{}",
        "|\n        a",
    ]);
    let annotations = prop::collection::vec((name, value), 0..4);
    let above = prop::sample::select(vec!["metadata:", "metadata:", "metadata: # c"]);
    let object = (above, annotations).prop_map(|(above, annotations)| {
        let mut text = format!("- kind: A\n  {above}\n    name: a\n");
        if !annotations.is_empty() {
            text.push_str("    annotations:\n");
        }
        for (name, value) in annotations {
            text.push_str(&format!("      {name}: {value}\n"));
        }
        text + "  spec: {}\n"
    });
    prop::collection::vec(object, 1..3).prop_map(|objects| HEAD.to_owned() + &objects.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn edits_in_text_are_those_of_the_tree(
        (text, indent) in list(),
        mark in "[a-z]{1,2}|[0-9]",
        new in prop::sample::select(vec!["word", "5", "null", "two words", "", "true", "-x"]),
    ) {
        compare_edits(&text, indent, &mark, new);
    }

    #[test]
    fn places_are_the_same_in_text_and_tree(text in placed(), touched in any::<bool>()) {
        compare_places(&text, touched);
    }
}

#[test]
fn usual_edits_are_made_in_text() {
    let object = "\
- kind: Deployment
  metadata: # kpt-merge: a
    name: a
  # above web
  spec:
    web: web # web
    list:
    # an entry
    - web
    - name: web
      args:
      - b
      - 'web'
    other: web
";
    let text = format!("{HEAD}{object}");
    assert_eq!(
        compare_edits(&text, SequenceIndent::Compact, "web", "app"),
        1
    );
    assert_eq!(compare_edits(&text, SequenceIndent::Compact, "web", "5"), 1);
    assert_eq!(
        compare_edits(&text, SequenceIndent::Compact, "none", "5"),
        1
    );
    for beyond in ["", "null", "two words", "a: b"] {
        let edited = compare_edits(&text, SequenceIndent::Compact, "web", beyond);
        assert_eq!(edited, 0, "{beyond}");
    }
    // Behind the key of a block, and in brackets.
    assert_eq!(compare_edits(&text, SequenceIndent::Compact, "a", "b"), 0);
    let flow = text.replace("list:\n", "flow: [web]\n    list:\n");
    assert_eq!(
        compare_edits(&flow, SequenceIndent::Compact, "web", "app"),
        0
    );
}
