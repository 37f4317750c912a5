//! Text and tree say the same: what is split is read as the parser reads it, and
//! written as the emitter writes it.

mod edits;
mod meetings;

use std::rc::Rc;

use proptest::prelude::*;

use super::split;
use crate::yaml::{Content, Node, SequenceIndent, Style, parse_all, write_node};

/// The fuzz target `as_text` tries millions.
const CASES: u32 = 256;
const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";
const TAIL: &str = "functionConfig:\n  data: {a: b} # c\nresults:\n- message: x\n";

/// Compares both ways of reading; how many objects stayed text.
fn compare(text: &str, indent: SequenceIndent) -> usize {
    let style = Style {
        indent,
        keeps_heads: true,
    };
    let Some((root, texts)) = split(&Rc::new(text.to_owned().into()), style) else {
        return 0;
    };
    let documents = parse_all(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let [document] = &documents[..] else {
        panic!("{} documents: {text}", documents.len());
    };
    let parsed = write_node(&document.root, indent);
    assert_eq!(write_node(&root, indent), parsed, "{text}");
    assert_same(&root, &document.root, text);
    // What was looked at is written the same, and so is what may have been changed.
    assert_eq!(write_node(&root, indent), parsed, "{text}");
    let mut touched = root.clone();
    touch(&mut touched);
    assert_eq!(write_node(&touched, indent), parsed, "{text}");
    texts
}

/// All of a node but where comments of the whole list go, which functions never see.
fn assert_same(root: &Node, parsed: &Node, text: &str) {
    assert_eq!(root.fields().len(), parsed.fields().len(), "{text}");
    for ((key, value), (other_key, other)) in root.fields().iter().zip(parsed.fields()) {
        assert_eq!(key.value(), other_key.value(), "{text}");
        if key.value() == Some("items") {
            assert_eq!(value.items(), other.items(), "{text}");
        } else {
            assert_eq!(value, other, "{text}");
        }
    }
}

/// Reads everything as if it were to be changed.
fn touch(node: &mut Node) {
    match &mut node.content {
        Content::Mapping { fields, .. } => fields.iter_mut().for_each(|(_, value)| touch(value)),
        Content::Sequence { items, .. } => items.iter_mut().for_each(touch),
        Content::Scalar { .. } | Content::Alias(_) => {}
    }
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z]{1,8}",
        2 => "[0-9]{1,4}",
        2 => "'[ -~&&[^']]{0,12}'",
        2 => "\"[ -~&&[^\"\\\\]]{0,12}\"",
        1 => "[!-~][ -~]{0,8}",
        1 => "[-.?:<~+*&!%@|>][ -~]{0,4}",
        1 => "\\{ {0,2}[a-z]{1,3}: {0,2}[a-z0-9]{1,3},? {0,2}b: '[a-z #]{0,4}' ?\\}",
        1 => "\\[ ?[a-z0-9]{1,3}, ?\"[a-z:]{0,4}\" ?, {0,2}[-.a-z/]{1,3} {0,2}\\]",
        1 => "[\\[{][a-z:, \\]}]{0,8}[\\]}]?",
        1 => prop::sample::select(vec![
            "{}", "[]", "null", "~", "<<", "---", "...", "- a", "2020-01-02", "0x1F", "1_000", "",
            "é", "a  b", "a # c", "\"a\\n\"", "'it''s'", "!!str 5", "&a b", "*a", "a:b", "a: b",
            "a#b", "yes", "\u{a0}", "x\u{85}y", "a\tb",
        ]).prop_map(str::to_owned),
    ]
}

fn comment() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        1 => " # ?[a-z:#{}$ -]{0,8}",
        1 => prop::sample::select(vec!["  # far", " ", "  ", " #", " # end "]).prop_map(str::to_owned),
    ]
}

/// A value, as it follows a colon or a dash: in the same line, or below. `COLUMN`
/// lines are indented later.
fn value(depth: u32) -> BoxedStrategy<Vec<String>> {
    let leaf = prop_oneof![
        6 => (scalar(), comment()).prop_map(|(value, comment)| vec![format!(" {value}{comment}")]),
        1 => (
            "\\|[-+2]? ?",
            prop::collection::vec("|[ -~]{0,8}|\t?[a-z#-]{1,5}", 1..4),
            depth_of_block(),
        ).prop_map(|(header, lines, by)| {
            std::iter::once(format!(" {header}")).chain(indented(lines, by)).collect()
        }),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let nested = (comment(), block(depth - 1))
        .prop_map(|(comment, block)| std::iter::once(comment).chain(block).collect());
    prop_oneof![3 => leaf, 2 => nested].boxed()
}

fn indented(lines: Vec<String>, by: usize) -> Vec<String> {
    let indented = |line: String| {
        if line.is_empty() {
            line
        } else {
            format!("{:by$}{line}", "")
        }
    };
    lines.into_iter().map(indented).collect()
}

/// How deep blocks are below their key: mostly as they would be written.
fn depth_of_block() -> impl Strategy<Value = usize> {
    prop_oneof![6 => Just(2), 1 => 1..5_usize]
}

/// What may be above a field or an entry.
fn above() -> impl Strategy<Value = Vec<String>> {
    let odd =
        prop_oneof![2 => Just("# head"), 2 => Just(""), 1 => Just(" "), 1 => Just("  # deep")];
    let lines = prop::collection::vec(odd.prop_map(str::to_owned), 1..4);
    prop_oneof![9 => Just(Vec::new()), 1 => lines]
}

/// The lines of a mapping or a sequence, relative to the column of the key above.
fn block(depth: u32) -> BoxedStrategy<Vec<String>> {
    let mapping = (fields(depth), depth_of_block());
    let mapping = mapping.prop_map(move |(lines, by)| indented(lines, by));
    let entry = prop_oneof![
        value(0).prop_map(|lines| (lines, true)),
        fields(depth).prop_map(|lines| (lines, false)),
    ];
    let behind_dash = prop_oneof![6 => Just(1), 1 => 2..4_usize];
    let entry =
        (entry, above(), behind_dash).prop_map(move |((mut lines, is_value), mut all, spaces)| {
            let spaces = if is_value { 0 } else { spaces };
            let first = lines.remove(0);
            all.push(format!("-{:spaces$}{first}", ""));
            all.extend(indented(lines, 1 + spaces.max(1)));
            all
        });
    let by = prop_oneof![3 => Just(0), 3 => Just(2), 1 => 0..5_usize];
    let sequence = (prop::collection::vec(entry, 1..3), by);
    let sequence = sequence.prop_map(move |(entries, by)| indented(entries.concat(), by));
    prop_oneof![mapping, sequence].boxed()
}

fn fields(depth: u32) -> BoxedStrategy<Vec<String>> {
    let key = prop_oneof![20 => "[a-z]{1,6}", 1 => "[!-~]{1,4}", 1 => "\"[a-z ]{1,4}\""];
    let colon = prop_oneof![12 => Just(":"), 1 => Just(": "), 1 => Just(" :")];
    let field = (key, colon, value(depth), above());
    let field = field.prop_map(|(key, colon, mut lines, above)| {
        lines[0] = format!("{key}{colon}{}", lines[0]);
        [above, lines].concat()
    });
    prop::collection::vec(field, 1..4)
        .prop_map(|fields| fields.concat())
        .boxed()
}

/// A list of objects, most of which are as they would be written, or nearly so.
fn list() -> impl Strategy<Value = (String, SequenceIndent)> {
    let objects = prop::collection::vec(fields(3), 1..4);
    let indent = prop::sample::select(vec![SequenceIndent::Compact, SequenceIndent::Wide]);
    let column = prop_oneof![2 => Just(0), 2 => Just(2), 1 => 0..5_usize];
    (objects, indent, column, any::<bool>()).prop_map(|(objects, indent, column, tail)| {
        let mut text = HEAD.to_owned();
        for object in objects {
            for (at, line) in object.iter().enumerate() {
                match (at, line.is_empty()) {
                    (0, _) => text.push_str(&format!("{:column$}- {line}\n", "")),
                    (_, true) => text.push('\n'),
                    _ => text.push_str(&format!("{:column$}  {line}\n", "")),
                }
            }
        }
        if tail {
            text.push_str(TAIL);
        }
        (text, indent)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn what_stays_text_is_what_would_be_read_and_written((text, indent) in list()) {
        compare(&text, indent);
    }

    /// What the emitter wrote is text of which all stays so, or a few characters
    /// that no longer are.
    #[test]
    fn written_lists_with_mistakes_are_the_same_either_way(
        (text, indent) in list(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[ -~\n\t]{0,2}", 0..3_usize), 0..3),
    ) {
        let documents = parse_all(&text).unwrap_or_default();
        if let Some(document) = documents.first() {
            let mut written = write_node(&document.root, indent);
            for (at, new, gone) in edits {
                let at = at.index(written.len() + 1);
                let end = (at + gone).min(written.len());
                if written.is_char_boundary(at) && written.is_char_boundary(end) {
                    written.replace_range(at..end, &new);
                }
            }
            compare(&written, indent);
        }
    }
}

#[test]
fn usual_objects_stay_text() {
    let object = "\
- apiVersion: apps/v1
  kind: Deployment
  metadata: # kpt-merge: default/app
    name: app
    annotations:
      internal.config.kubernetes.io/path: 'apps/app.yaml'
  spec:
    replicas: 3 # kpt-set: ${replicas}
    template:
      spec:
        containers:
        # the only one
        - name: main
          image: registry.example.com/team/app:v1.2
          args: [\"--listen=:8080\", '-v', a]
          command:
          - sh
          - -c
          resources:
            limits: {cpu: 100m, memory: 128Mi}
        volumes:
        - name: tmp
          emptyDir: {}
    script: |
      #!/bin/sh

      exec app
";
    let text = format!("{HEAD}{object}{object}{TAIL}");
    assert_eq!(compare(&text, SequenceIndent::Compact), 2);
    let odd = object.replace("replicas: 3", "replicas: &a 3");
    let text = format!("{HEAD}{object}{odd}{object}{TAIL}");
    assert_eq!(compare(&text, SequenceIndent::Compact), 2);
    let commented = object.replace("- apiVersion", "# between\n- apiVersion");
    let text = format!("{HEAD}{object}{commented}{object}{TAIL}");
    assert_eq!(compare(&text, SequenceIndent::Compact), 1);
}

/// Indentation, empty lines and blanks as people like them.
#[test]
fn objects_that_only_blanks_tell_from_written_ones_stay_text() {
    let object = "  - # Copyright
    #
    apiVersion:  apps/v1
    kind: \"Deployment\"   # what it is

    metadata: # kpt-merge: default/app
        name: app
        labels: { app: app,tier:  \"front\" }
    \u{20}
    # how many
    spec:
      template:

          containers:
            # the only one
            -   name: main
                args: [ a,b ]  # all
      script: |
         exec app
           --verbose

      last: 1

";
    let text = format!("{HEAD}{object}{object}{TAIL}");
    for indent in [SequenceIndent::Compact, SequenceIndent::Wide] {
        assert_eq!(compare(&text, indent), 2, "{indent:?}");
    }
}

/// Found by the fuzz target: the object below has the comment.
#[test]
fn a_comment_behind_bare_dashes_tags_and_anchors_is_read_with_the_object_below() {
    let object = "- a: b\n";
    for odd in [
        "- # c\n",
        "- - # c\n",
        "- a:\n  - # c\n",
        "- ! # c\n",
        "- \n    &x !t # c\n",
        "- a:\n    !!str # c\n",
    ] {
        let text = format!("{HEAD}{object}{odd}{object}{object}");
        assert_eq!(compare(&text, SequenceIndent::Compact), 2, "{odd}");
    }
}

/// Found by the fuzz target, too.
#[test]
fn what_looks_like_an_object_between_quotes_is_text() {
    let text = format!("{HEAD}- a: b\n- a: 'b\n- c: d'\n- a: b\n");
    assert_eq!(compare(&text, SequenceIndent::Compact), 0);
}

#[test]
fn a_comment_that_goes_on_behind_a_rare_line_break_is_the_parsers() {
    for end in ["\u{85}", "\u{2028}", "\u{2029}"] {
        let text = format!(
            "kind: ResourceList\nitems:\n- apiVersion: a\n- kind  metadata:\n    b/c\n  data:\n    \
             list: # kpt-set: $d(- ({end}f n)g`  script: |\n      h\n\n      i\n"
        );
        assert_eq!(compare(&text, SequenceIndent::Compact), 0, "{text}");
    }
}
