//! What is written is read again as the same, and canonical text passes as it is.

use functions::yaml::{Document, SequenceIndent, parse_all, write};
use proptest::prelude::*;

const COMPACT: SequenceIndent = SequenceIndent::Compact;

fn first(text: &str) -> Option<Document> {
    parse_all(text).ok()?.into_iter().next()
}

/// The document of a text that has to be read. Only comments and empty lines hold none.
fn read(text: &str) -> Option<Document> {
    let documents = parse_all(text);
    let documents = documents.unwrap_or_else(|error| panic!("{text:?} is refused: {error}"));
    let is_empty = |line: &str| line.trim().is_empty() || line.starts_with('#');
    let holds_one = !text.lines().all(is_empty);
    assert_eq!(documents.len(), usize::from(holds_one), "{text:?}");
    documents.into_iter().next()
}

/// Scalars in every style, some over several lines.
fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[0-9]{1,4}",
        "\"[ -~&&[^\"\\\\]]{0,12}\"",
        "'[ -~&&[^']]{0,12}'",
        "[a-zé☺]{1,4} # [a-z ]{0,8}",
        Just("|\n        lit\n          two\n".to_owned()),
        Just(">-\n        folded\n        text\n".to_owned()),
        Just("\"tab\\tand\ttab\"".to_owned()),
        Just("&anchor value".to_owned()),
        Just("{a: 1, b: [x, 'y']}".to_owned()),
        Just("!!str 5".to_owned()),
        Just(String::new()),
    ]
}

/// Lines of a document with comments and empty lines everywhere.
fn document() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => ("[a-z]{1,6}", scalar()).prop_map(|(key, value)| format!("KEY{key}: {value}")),
        1 => "# [a-z ]{0,10}",
        1 => Just(String::new()),
        1 => scalar().prop_map(|value| format!("list:\n- {value}\n- x # y")),
        1 => scalar().prop_map(|value| format!("map: # c\n  # above\n  in: {value}")),
    ];
    let lines = prop::collection::vec(line, 1..12);
    (lines, any::<bool>(), any::<bool>()).prop_map(|(lines, crlf, ended)| {
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            // Keys differ, so that a mapping has each once.
            let line = line.replace("KEY", &format!("k{at}"));
            let line = line
                .replace("list:", &format!("list{at}:"))
                .replace("map:", &format!("map{at}:"));
            text.push_str(&line);
            text.push('\n');
        }
        let text = if ended {
            text
        } else {
            text.trim_end().to_owned()
        };
        if crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn written_text_says_the_same(text in document()) {
        if let Some(document) = read(&text) {
            for indent in [COMPACT, SequenceIndent::Wide] {
                let written = write(&document, indent);
                let again = first(&written).expect("what was written can be read");
                prop_assert!(document.root.same_content(&again.root), "{text:?}\n{written}");
            }
        }
    }

    #[test]
    fn anything_is_read_or_refused(text in "\\PC{0,60}|[-a:#\\[\\]{}&*!|>'\"%@`,?\n \t]{0,60}") {
        if let Some(document) = first(&text) {
            let _ = write(&document, COMPACT);
        }
    }

    #[test]
    fn every_node_knows_its_line(text in document()) {
        for (key, _) in read(&text).iter().flat_map(|document| document.root.fields()) {
            let line = text.lines().nth(key.line as usize - 1).unwrap_or("");
            prop_assert!(line.contains(key.value().unwrap_or("")), "{line:?}");
        }
    }
}

#[test]
fn anchors_survive_the_end_of_a_document() {
    let documents = parse_all("a: &x 1\n---\nb: *x\n").unwrap();
    let written: Vec<String> = documents
        .iter()
        .map(|document| write(document, COMPACT))
        .collect();
    assert_eq!(written, ["a: &x 1\n", "b: *x\n"]);
    assert!(parse_all("b: *x\n---\na: &x 1\n").is_err());
}

#[test]
fn canonical_text_passes_as_it_is() {
    let text =
        "# head\n\n# of a\na: 1 # one\nb:\n# in b\n- x: 'y'\n  z: \"w\"\n- |\n  lit\nc: {d: [e]}\n";
    let document = first(text).unwrap();
    assert_eq!(write(&document, COMPACT), text);
}

#[test]
fn edits_keep_comments_and_styles() {
    let mut document = first("a: # k\n  - name: 'x' # note\n    v: 1\nb: 2\n").unwrap();
    let entry = document
        .root
        .get_mut("a")
        .unwrap()
        .entry_mut("name", "x")
        .unwrap();
    entry.get_mut("name").unwrap().set_text("y");
    entry.remove("v");
    document.root.rename("b", "c");
    document.root.set_text_at(&["d", "e"], "yes: no").unwrap();
    let expected = "a: # k\n- name: 'y' # note\nc: 2\nd:\n  e: 'yes: no'\n";
    assert_eq!(write(&document, COMPACT), expected);
}
