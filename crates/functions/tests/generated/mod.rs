//! YAML as people write it, made up: comments everywhere, all styles, odd
//! indentation.

use proptest::prelude::*;

/// A value that begins in its key's line; further lines are indented by two.
fn inline() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[a-z]{1,4} [a-zé☺日]{1,4}",
        "[0-9]{1,4}",
        "'[ -~&&[^']]{0,12}'",
        "\"[ -~&&[^\"\\\\]]{0,12}\"",
        "[a-z]{1,4}  # [a-z:' ]{0,8}",
        "'[a-z]{1,4}' \t# [a-z]{0,8}",
        prop::sample::select(vec![
            "",
            "# nothing here",
            "~",
            "\"tab\\tand\ttab\"",
            "'it''s'",
            "plain\tand tab",
            "*first",
            "!!str 5",
            "!custom x",
            "{}",
            "[]",
            "{a: 1, b: [x, 'y'], \"c\": {d: e}}",
            "[1, two, {three: 3}]",
            "{a: 1, # one\n   b: 2}",
            "[\n  x, # an x\n  y\n  ]",
            "|\n  lit\n    two\n\n  three",
            "| # about it\n  text",
            "|-\n  stripped",
            "|+\n  kept\n\n",
            ">-\n  folded\n  text",
            ">\n    deep\n    er",
            "\"first\n  second\"",
            "'first\n\n  second'",
            "plain\n  goes on",
        ])
        .prop_map(str::to_owned),
    ]
}

/// What may stand between two lines.
fn between() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![Just(String::new()), "# [a-z: ]{0,10}", "   # [a-z'-]{0,10}",];
    prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(line, 1..3),
    ]
}

type Lines = Vec<String>;

fn indented(lines: &Lines, by: usize) -> impl Iterator<Item = String> {
    let by = " ".repeat(by);
    lines.iter().map(move |line| match line.is_empty() {
        true => String::new(),
        false => format!("{by}{line}"),
    })
}

fn split(value: &str) -> Lines {
    value.split('\n').map(str::to_owned).collect()
}

fn space(value: &str) -> &str {
    if value.is_empty() { "" } else { " " }
}

fn mapping(value: BoxedStrategy<Lines>) -> impl Strategy<Value = Lines> {
    let nested = (
        value,
        1..5_usize,
        prop_oneof![3 => Just(""), 1 => Just(" # of the key")],
    );
    let field = prop_oneof![
        2 => inline().prop_map(Ok),
        1 => nested.prop_map(Err),
    ];
    let key = prop_oneof![4 => "[a-z]{1,6}", 1 => "'[a-z ]{1,4}'", 1 => "\"[a-z:]{1,4}\""];
    prop::collection::vec((between(), key, field), 1..5).prop_map(|fields| {
        let mut lines = Vec::new();
        for (at, (between, key, field)) in fields.into_iter().enumerate() {
            // The first line may have to stand behind a dash.
            lines.extend(between.into_iter().filter(|_| at > 0));
            // Keys differ, so that a mapping has each once.
            let key = match key.strip_suffix(['\'', '"']) {
                Some(start) => format!("{start}{at}{}", &key[..1]),
                None => format!("{key}{at}"),
            };
            match field {
                Ok(inline) => lines.extend(split(&format!("{key}:{}{inline}", space(&inline)))),
                Err((value, by, comment)) => {
                    lines.push(format!("{key}:{comment}"));
                    lines.extend(indented(&value, by));
                }
            }
        }
        lines
    })
}

fn sequence(value: BoxedStrategy<Lines>) -> impl Strategy<Value = Lines> {
    let entry = prop_oneof![
        2 => inline().prop_map(|inline| split(&inline)),
        1 => value,
    ];
    prop::collection::vec((between(), entry), 1..5).prop_map(|entries| {
        let mut lines = Vec::new();
        for (at, (between, entry)) in entries.into_iter().enumerate() {
            lines.extend(between.into_iter().filter(|_| at > 0));
            let mut entry = indented(&entry, 2).collect::<Vec<_>>();
            let first = std::mem::take(&mut entry[0]);
            lines.push(format!(
                "-{}{}",
                space(&first),
                first.trim_start_matches(' ')
            ));
            lines.extend(entry.drain(1..));
        }
        lines
    })
}

/// A document: a mapping with an anchor, and what can be in a mapping.
pub(crate) fn document() -> impl Strategy<Value = String> {
    let leaf = mapping(Just(vec!["- x".to_owned()]).boxed()).boxed();
    let value = leaf.prop_recursive(3, 24, 4, |value| {
        prop_oneof![mapping(value.clone()), sequence(value)].boxed()
    });
    let value = value.boxed();
    let list = (sequence(value.clone()), 0..3_usize);
    let root = (between(), mapping(value), list, between());
    (root, any::<bool>(), any::<bool>()).prop_map(
        |((above, mut root, (list, by), below), crlf, ended)| {
            let first = vec!["first: &first value".to_owned()];
            root.push("list:".to_owned());
            root.extend(indented(&list, by));
            // A block scalar that ends with the text would end otherwise if something
            // were below it.
            let last = (!ended).then(|| "last: end".to_owned());
            let lines: Vec<String> = above
                .into_iter()
                .chain(first)
                .chain(root)
                .chain(last)
                .chain(below)
                .collect();
            let mut text = lines.join(if crlf { "\r\n" } else { "\n" });
            if ended {
                text.push_str(if crlf { "\r\n" } else { "\n" });
            }
            text
        },
    )
}
