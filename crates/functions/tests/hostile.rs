//! Input that wants to hurt: every function answers with an error or a list, in
//! bounded time, and never panics.

use std::time::{Duration, Instant};

use functions::{Clock, Late, catalog, yaml::parse_all};

/// Whether a text is YAML, and the kind of its first document.
fn kind(text: &str) -> Result<Option<String>, String> {
    let documents = parse_all(text).map_err(|error| error.to_string())?;
    let kind = documents.first().and_then(|first| first.root.get("kind"));
    Ok(kind.and_then(|kind| kind.value()).map(str::to_owned))
}

/// Runs every function on `input`: each says what is wrong, or makes a list of a list. What is not a
/// list may come back, as from the Go functions, but it has to be YAML. Neither gets much larger.
fn all(input: &[u8]) {
    let given = kind(&String::from_utf8_lossy(input)).ok().flatten();
    for function in catalog::native() {
        let started = Instant::now();
        let ended = function.run(input, &Clock::default()).expect("no deadline");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{function} took {took:?}");
        let (length, most) = (
            ended.stdout.len() + ended.stderr.len(),
            3 * input.len() + 10_000,
        );
        assert!(length < most, "{function} made {length} bytes, not {most}");
        if ended.exit == 0 {
            let written = kind(&ended.stdout);
            assert_eq!(written, Ok(given.clone()), "{function} wrote {ended:?}");
        } else {
            let reason = ended.stderr.trim();
            assert!(reason.len() > 5, "{function} gives no reason: {ended:?}");
        }
    }
}

fn list(items: &str) -> Vec<u8> {
    let config = "functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, \
                  data: {namespace: x, prepend: p, by-value: a}}\n";
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\n{config}")
        .into_bytes()
}

#[test]
fn an_alias_bomb_stays_small() {
    let mut bomb =
        String::from("- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n  a0: &a0 [x]\n");
    for level in 1..60 {
        let before = level - 1;
        bomb += &format!("  a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n");
    }
    all(&list(&bomb));
}

#[test]
fn depth_is_refused_before_anybody_recurses() {
    for deep in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        (0..300)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect(),
    ] {
        let error = parse_all(&deep).unwrap_err().to_string();
        assert!(error.contains("exceeded max depth"), "{error}");
        all(deep.as_bytes());
    }
}

#[test]
fn the_deepest_list_that_is_read_is_written_again() {
    // A thread of the runtime's size, as the server uses them.
    let run = || {
        let deep = format!("kind: ResourceList\nitems:\n- {}", "- ".repeat(150));
        all(format!("{deep}x\n").as_bytes());
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn large_scalars_and_odd_bytes_are_survived() {
    let large = "x".repeat(6 << 20);
    let items = format!("- {{apiVersion: v1, kind: A, metadata: {{name: a}}, v: \"{large}\"}}");
    let function = catalog::find("set-namespace").unwrap();
    let ended = function.run(list(&items), &Clock::default()).unwrap();
    assert_eq!(ended.exit, 0);
    assert!(ended.stdout.contains(&large));
    for odd in [
        &b"\xff\xfe\x00"[..],
        b"",
        b"\0",
        b"kind: \xc3",
        b"---\n---\n",
        b"- a",
        b"&a",
        b"*a",
        b"!",
        b"? ",
        b"|",
        b"%",
        b"\t",
    ] {
        all(odd);
    }
}

#[test]
fn a_run_ends_at_its_deadline() {
    let items = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n".repeat(1000);
    for function in catalog::native() {
        let clock = Clock::until(Instant::now());
        assert_eq!(function.run(list(&items), &clock), Err(Late), "{function}");
        let clock = Clock::default();
        clock.cancel();
        assert_eq!(function.run(list(&items), &clock), Err(Late), "{function}");
    }
}
