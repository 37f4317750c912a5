//! A run that is late ends wherever it is: while parsing, inside of one item, in
//! loops that make nothing, while writing.

use std::time::{Duration, Instant};

use functions::{
    Clock, Late,
    catalog::{self, Chosen},
};

fn list(config: &str, items: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\
         functionConfig:\n{config}"
    )
}

/// What is promised of the optimised program.
const MOST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 100 });

/// How late a run ends, with a deadline so many milliseconds ahead. A machine that is
/// busy makes anything late, so the best of some runs counts.
fn overrun(function: Chosen, input: &str, after: u64) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let deadline = Instant::now() + Duration::from_millis(after);
        let ended = function.run(input.as_bytes(), &Clock::until(deadline));
        least = least.min(Instant::now().saturating_duration_since(deadline));
        if after == 0 {
            assert_eq!(ended, Err(Late), "{function}");
        }
        if least < MOST {
            break;
        }
    }
    least
}

#[test]
fn a_late_run_ends_wherever_it_is() {
    let many = "- {apiVersion: v1, kind: A, metadata: {name: a}}\n".repeat(100_000);
    let one = format!(
        "- apiVersion: v1\n  kind: Kptfile\n  metadata: {{name: a}}\n  v:\n{}",
        "  - {a: b, c: [d, e, f]}\n".repeat(100_000)
    );
    let config = "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  \
                  data: {namespace: x, prepend: p, by-value: b, project-id: y, name: b, newTag: z}\n";
    let without_targets = format!(
        "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  metadata: {{name: c}}\n  \
         replacements:\n{}",
        "  - {source: {kind: A, fieldPath: metadata.name}, targets: []}\n".repeat(20_000)
    );
    let one_object = "- {apiVersion: v1, kind: A, metadata: {name: a}}\n";
    let inputs = [
        list(config, &many),
        list(config, &one),
        list(&without_targets, one_object),
        format!("{}x", "[".repeat(100)) + &"x, ".repeat(1_000_000),
    ];
    for (number, input) in inputs.iter().enumerate() {
        for function in catalog::native() {
            is_never_late(function, input, [0, 20, 100], &format!("list {number}"));
        }
    }
}

/// An engine looks at all states of the first expression at each byte of the text; each
/// of the others takes a while to be compiled, and so does the next one.
#[test]
fn a_late_run_ends_inside_of_its_expressions() {
    const SLOW: &str = "(.*x){90}y";
    let data = |data: &str| {
        format!(
            "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  data: {{{data}}}\n"
        )
    };
    let object = "- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n";
    let long = "ax".repeat(1 << 19);
    let long = format!("{object}  v: {long} # kpt-set: {SLOW}${{s}}\n");
    let reject = |at| format!("      - {{kind: 'a{at}[^a]{{250}}'}}\n");
    let rejects: String = (0..2000).map(reject).collect();
    let many = format!(
        "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  metadata: {{name: c}}\n  \
         replacements:\n  - source: {{kind: A, fieldPath: metadata.name}}\n    targets:\n    - \
         select: {{kind: A}}\n      reject:\n{rejects}"
    );
    for (function, input) in [
        (
            "search-replace",
            list(&data(&format!("by-value-regex: '{SLOW}'")), &long),
        ),
        ("apply-setters@v0.1.0", list(&data("s: b"), &long)),
        (
            "set-image",
            list(
                &data(&format!("name: '{SLOW}', newTag: a")),
                &containers(&long),
            ),
        ),
        ("apply-replacements", list(&many, object)),
    ] {
        let function = catalog::find(function).expect("a bundled function");
        // The last one leaves time to read the list, also for a build that is not optimised.
        is_never_late(function, &input, [0, 100, 500], "expressions");
    }
}

/// A pod with an image of this text.
fn containers(object: &str) -> String {
    let pod = object.replace("kind: A", "kind: Pod");
    pod.replace(
        "  v: ",
        "  spec:\n    containers:\n    - name: c\n      image: ",
    )
}

fn is_never_late(function: Chosen, input: &str, deadlines: [u64; 3], what: &str) {
    for after in deadlines {
        let late = overrun(function, input, after);
        let case = format!("{function}, {what}, {after} ms");
        assert!(late < MOST, "{case}: ended {late:?} late");
    }
}
