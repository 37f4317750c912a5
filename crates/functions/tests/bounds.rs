//! Small inputs that ask for very much: each ends with a clear error, soon, and
//! having used no more than 64 MB and twenty times its list.

use std::time::{Duration, Instant};

use functions::{Clock, catalog};

fn list(config: &str, items: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\
         functionConfig:\n{config}"
    )
}

/// Runs the function, which must be stopped because of what it makes.
fn is_stopped(function: &str, input: &str) {
    let started = Instant::now();
    let function = catalog::find(function).expect("a bundled function");
    let ended = function
        .run(input.as_bytes(), &Clock::default())
        .expect("no deadline");
    let took = started.elapsed();
    assert_eq!(ended.exit, 1, "{function}");
    assert!(ended.stdout.is_empty(), "{function}");
    let is_told = ended
        .stderr
        .contains("than the 64 MB and 20 times the list");
    assert!(is_told, "{function}: {}", ended.stderr);
    assert!(took < Duration::from_secs(20), "{function} took {took:?}");
}

/// The most memory that this process has had, in MB.
fn most_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse::<usize>().ok())
        .expect("a size")
        / 1024
}

fn setters_that_name_setters() -> String {
    let mut config =
        String::from("  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data:\n");
    for level in 0..30 {
        let next = format!("${{s{}}}", level + 1).repeat(4);
        config += &format!("    s{level}: \"{next}\"\n");
    }
    config += "    s30: x\n";
    let items = "- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n  v: x # kpt-set: ${s0}\n";
    list(&config, items)
}

fn a_spec_copied_into_itself() -> String {
    let mut config = String::from(
        "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  metadata: {name: c}\n  \
         replacements:\n",
    );
    for at in 0..30 {
        config += &format!(
            "  - source: {{kind: A, fieldPath: spec}}\n    targets:\n    - select: {{kind: A}}\n      \
             fieldPaths: [spec.a{at}]\n      options: {{create: true}}\n"
        );
    }
    let items = "- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n  spec: {x: {y: 1}}\n";
    list(&config, items)
}

fn a_large_label_on_many_items() -> String {
    let label = "x".repeat(1 << 20);
    let config = format!(
        "  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  data: {{l: {label}}}\n"
    );
    let items = (0..20_000)
        .map(|at| format!("- {{apiVersion: v1, kind: A, metadata: {{name: a{at}}}}}\n"))
        .collect::<String>();
    list(&config, &items)
}

/// The only test of this file: memory is counted for the whole process.
#[test]
fn what_a_run_makes_of_its_list_is_bounded() {
    for (function, input) in [
        ("apply-setters", setters_that_name_setters()),
        ("apply-setters@v0.2.2", setters_that_name_setters()),
        ("apply-replacements", a_spec_copied_into_itself()),
        ("set-labels", a_large_label_on_many_items()),
        ("set-annotations", a_large_label_on_many_items()),
    ] {
        is_stopped(function, &input);
        let most = 64 + ((20 * input.len()) >> 20);
        // The test itself, and the input.
        let own = 30 + 3 * (input.len() >> 20);
        let used = most_memory();
        assert!(used <= most + own, "{function}: {used} MB of {most} MB");
    }
}
