use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// What `text` reads as: the results' lines, or why it is not a list.
fn results(text: &str) -> Result<Vec<String>, String> {
    let list = read(text.as_bytes()).map_err(|reason| reason.to_string())?;
    Ok(list.results.list.iter().map(ToString::to_string).collect())
}

fn walked(text: &str) -> Result<Vec<String>, String> {
    let list = walk(text).map_err(|reason| reason.to_string())?;
    Ok(list.results.list.iter().map(ToString::to_string).collect())
}

#[test]
fn a_list_is_recognised_in_every_form() {
    for text in [
        "kind: ResourceList",
        "kind: ResourceList\r\nitems: []\r\n",
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: ConfigMap\n",
        "# comment\n---\n# comment\nkind: 'ResourceList' # comment\n",
        "kind: \"ResourceList\"\n...\nrubbish: [",
        "kind: ResourceList\n---\nkind: Other\n",
        "\u{feff}kind: ResourceList\n",
        "items:\n- data: |\n    kind: Other\n  x: y\nkind: ResourceList\n",
        // The parser's share.
        "--- {kind: ResourceList}",
        "  kind: ResourceList\n  items: []\n",
        "? kind\n: ResourceList\n",
        "!!map\nkind: !!str ResourceList\n",
        "kind:\n  ResourceList\n",
        "\"kind\": ResourceList\n",
        "%YAML 1.2\n---\nkind: ResourceList\n",
        "items: [\n]\nkind: ResourceList\n",
        // JSON and its relatives.
        "{\"kind\":\"ResourceList\"}",
        " {\"items\": [{\"kind\": \"}\"}, 1.5e-3, null], \"a\": \"\\\"\", \"kind\" : \"ResourceList\"}\n",
        "{kind: ResourceList, items: []}",
        "{'kind': ResourceList} # comment",
        "{\"kind\":\"ResourceList\",}",
    ] {
        assert_eq!(results(text), Ok(vec![]), "{text:?}");
    }
}

#[test]
fn what_is_not_a_list_is_told_why() {
    for (text, reason) in [
        ("", "it is empty"),
        (" \n\t\n", "it is empty"),
        ("hello", "it is not a mapping"),
        ("- kind: ResourceList", "it is a list, not a mapping"),
        (
            "kind: ConfigMap\n",
            "its kind is \"ConfigMap\", not \"ResourceList\"",
        ),
        (
            "{\"kind\": \"Pod\"}",
            "its kind is \"Pod\", not \"ResourceList\"",
        ),
        (
            "a: {kind: ResourceList}\n",
            "it has no top-level field \"kind\"",
        ),
        (
            "items:\n- kind: ResourceList\n",
            "it has no top-level field \"kind\"",
        ),
        (
            "a: |\n  x\n\n  kind: ResourceList\n",
            "it has no top-level field \"kind\"",
        ),
        (
            "kind: ResourceListing\n",
            "its kind is \"ResourceListing\", not \"ResourceList\"",
        ),
        (
            "kind: Resource List\n",
            "its kind is \"Resource List\", not \"ResourceList\"",
        ),
        ("{\"kind\": \"ResourceList\"", "it is not YAML"),
        (
            "kind: [ResourceList]\n",
            "it has no top-level field \"kind\"",
        ),
        ("# only a comment\n", "it ends too early"),
        (
            "panic: oops\ngoroutine 1 [running]:\nmain.main()\n",
            "it is not YAML",
        ),
    ] {
        let told = results(text).unwrap_err();
        assert!(told.starts_with(reason), "{text:?}: {told}");
    }
    assert_eq!(
        read(b"kind: ResourceList\nx: \xff\n")
            .unwrap_err()
            .to_string(),
        "it is not UTF-8 text (byte 22)"
    );
}

#[test]
fn results_are_read_in_every_shape() {
    let full = "[error] v1/ConfigMap/ns/name data.key: it's bad";
    for text in [
        // Block style, list at the margin, list indented.
        "kind: ResourceList\nresults:\n- message: it's bad\n  severity: error\n  resourceRef:\n    \
         apiVersion: v1\n    kind: ConfigMap\n    namespace: ns\n    name: name\n  field:\n    \
         path: data.key\nitems: []\n",
        "results:\n  # comment\n  - message: \"it's bad\" # comment\n    resourceRef: {apiVersion: \
         v1, kind: ConfigMap, name: name, namespace: ns}\n    field: {path: data.key}\nkind: \
         ResourceList\n",
        // Older SDKs: a mapping with items; identity below metadata.
        "kind: ResourceList\nresults:\n  name: fn\n  items:\n  - message: it's bad\n    \
         resourceRef:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: name, \
         namespace: ns}\n    field:\n      path: data.key\n      proposedValue: [1, 2]\n",
        // Flow style and JSON.
        "{kind: ResourceList, results: [{message: it's bad, resourceRef: {apiVersion: v1, kind: \
         ConfigMap, namespace: ns, name: name}, field: {path: data.key}}]}",
        r#"{"kind":"ResourceList","results":{"items":[{"message":"it's bad","severity":"error",
           "resourceRef":{"apiVersion":"v1","kind":"ConfigMap","namespace":"ns","name":"name"},
           "field":{"path":"data.key"}}]},"items":[]}"#,
        // An anchor from outside the results.
        "kind: ResourceList\nfunctionConfig: &x {path: other}\nresults:\n- message: it's bad\n  \
         file: *x\n  resourceRef: {apiVersion: v1, kind: ConfigMap, namespace: ns, name: name}\n  \
         field: {path: data.key}\n",
    ] {
        assert_eq!(results(text), Ok(vec![full.to_owned()]), "{text}");
    }
}

#[test]
fn missing_parts_of_a_result_are_left_out() {
    for (result, line) in [
        ("{message: m}", "[error]: m"),
        ("{message: m, severity: info}", "[info]: m"),
        ("{message: m, field: {path: a.b}}", "[error] a.b: m"),
        (
            "{message: m, resourceRef: {kind: Pod, name: n}}",
            "[error] Pod/n: m",
        ),
        ("{}", "[error]: "),
    ] {
        let text = format!("kind: ResourceList\nresults: [{result}]\n");
        assert_eq!(results(&text), Ok(vec![line.to_owned()]), "{text}");
    }
    for nothing in ["", "[]", "{}", "null", "{items: }", "[a, [b]]", "&x [*x]"] {
        let text = format!("kind: ResourceList\nresults: {nothing}\n");
        assert_eq!(results(&text), Ok(vec![]), "{text}");
    }
}

/// About 10 ms optimised; a parser would need a hundred times as long.
const QUICK: Duration = Duration::from_secs(2);

#[test]
fn six_megabytes_are_recognised_quickly() {
    let item = "- apiVersion: v1\n  kind: ConfigMap\n  data:\n    key: |\n      some text\n";
    let list = format!("{}{}kind: ResourceList\n", "items:\n", item.repeat(80_000));
    let json_item = r#"{"kind":"ConfigMap","data":{"key":"some text \" with quotes"}},"#;
    let json = format!(
        "{{\"items\":[{}1],\"kind\":\"ResourceList\"}}",
        json_item.repeat(100_000)
    );
    for text in [list, json] {
        assert!(text.len() > 5_500_000);
        let mut least = Duration::MAX;
        // Once more if it was held up: a parser takes long every time.
        for _ in 0..5 {
            let begin = Instant::now();
            assert_eq!(results(&text), Ok(vec![]));
            least = least.min(begin.elapsed());
            if least < QUICK {
                break;
            }
        }
        assert!(least < QUICK, "{least:?}");
    }
}

#[test]
fn hostile_text_is_refused_in_bounded_time() {
    let bomb = (1..40).fold("a0: &a0 [x]\n".to_owned(), |text, n| {
        let m = n - 1;
        format!("{text}a{n}: &a{n} [*a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}]\n")
    });
    let in_results = format!("{bomb}kind: ResourceList\nresults: *a39\n");
    let self_reference = "kind: ResourceList\nresults: &r [{message: m, field: *r}]\n";
    assert_eq!(
        results(&bomb),
        Err("it has no top-level field \"kind\"".into())
    );
    assert_eq!(results(&in_results), Ok(vec![]));
    assert_eq!(results(self_reference), Ok(vec!["[error]: m".into()]));

    let begin = Instant::now();
    for text in [
        "[".repeat(6_000_000),
        "{".repeat(6_000_000),
        "- ".repeat(3_000_000),
        "? ".repeat(100_000),
        "a:\n ".repeat(1_000_000),
        format!("kind: ResourceList\nresults: {}", "[{a: ".repeat(1_000_000)),
        format!(
            "kind: ResourceList\nresults: [{}]",
            "{field: ".repeat(900) + &"}".repeat(900)
        ),
        "!".repeat(1_000_000),
        "\"".to_owned() + &"\\x41".repeat(1_000_000),
    ] {
        let _ = results(&text);
    }
    assert!(
        begin.elapsed() < Duration::from_secs(60),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn endless_results_are_counted_not_kept() {
    let text = format!(
        "kind: ResourceList\nresults:\n{}",
        "- message: m\n".repeat(5000)
    );
    let list = read(text.as_bytes()).unwrap();
    assert_eq!(
        (list.results.list.len(), list.results.not_read),
        (1000, 4000)
    );
}

proptest! {
    /// Wherever the text can be cut, the parser agrees.
    #[test]
    fn cutting_and_parsing_agree(parts in prop::collection::vec(0..FRAGMENTS.len(), 1..8)) {
        let text: String = parts.iter().map(|part| FRAGMENTS[*part]).collect();
        let cut = results(&text);
        let parsed = walked(&text);
        // Cutting does not look into items, so it may pass what the parser refuses.
        if let Ok(parsed) = parsed {
            prop_assert_eq!(cut, Ok(parsed), "{}", text);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_yaml_like_text_is_read_without_a_panic(text in "[ \n\r\t#&*!|>'\"%@{}\\[\\],:?.a-c-]{0,80}") {
        let _ = read(text.as_bytes());
        let _ = read(format!("kind: ResourceList\nresults:\n{text}").as_bytes());
    }
}

const FRAGMENTS: &[&str] = &[
    "kind: ResourceList\n",
    "kind: 'ResourceList'  # c\n",
    "apiVersion: config.kubernetes.io/v1\n",
    "# a comment\n",
    "\n",
    "---\n",
    "items:\n- a: b\n  c: |\n    kind: x\n\n    y\n- d\n",
    "items: []\n",
    "items: [\n  {a: b}]\n",
    "functionConfig:\n  kind: ConfigMap\n  data: {a: \"b\n    c\"}\n",
    "results:\n- message: one\n- message: two\n  severity: info\n",
    "results: {items: [{message: three}]}\n",
    "results:\n  - message: >\n      four\n      five\n",
    "\"quoted\": 1\n",
    "...\n",
];
