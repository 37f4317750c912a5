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

const REPLACEMENTS: &str = "  apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  \
                            metadata: {name: c}\n  replacements:\n";
const OBJECT: &str = "- apiVersion: v1\n  kind: A\n  metadata: {name: a}\n";

/// Each of the expressions is as large as one may be.
fn many_expressions() -> String {
    let reject = |at| format!("        - {{kind: 'a{at}[^a]{{250}}'}}\n");
    let rejects: String = (0..1000).map(reject).collect();
    let config = format!(
        "{REPLACEMENTS}  - source: {{kind: A, fieldPath: metadata.name}}\n    targets:\n    - \
         select: {{kind: A}}\n      fieldPaths: [spec.b]\n      reject:\n{rejects}"
    );
    list(&config, OBJECT)
}

fn search(data: &str, value: &str) -> String {
    let config =
        format!("  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  data:\n{data}");
    list(&config, &format!("{OBJECT}  v: {value}\n"))
}

/// A large value in each of many places of another one.
fn a_group_put_many_times() -> String {
    let put = "${1}".repeat(10_000);
    let data = format!("    by-value-regex: (y.*)\n    put-value: {put}\n");
    search(&data, &"y".repeat(100_000))
}

/// For each of its states an engine remembers where each group is.
fn an_expression_with_many_groups() -> String {
    let groups = "(.*)".repeat(250);
    let data = format!("    by-value-regex: '{groups}'\n    put-value: x\n");
    search(&data, "a")
}

/// Likewise, for texts so long that the clock is read: each expression needs 40 MB.
fn patterns_with_many_groups() -> String {
    let (groups, text) = ("(.*)".repeat(240), "ax".repeat(1000));
    let field = |at| format!("  v{at}: {text} # kpt-set: ${{s}}{at}{groups}\n");
    let fields: String = (0..4).map(field).collect();
    let input = search("    s: b\n", "c");
    input.replace("  v: c\n", &fields)
}

/// The only test of this file: memory is counted for the whole process.
#[test]
fn what_a_run_makes_of_its_list_is_bounded() {
    for (function, input) in [
        // In an order in which none is blamed for what the allocator keeps of another one.
        ("apply-setters@v0.1.0", patterns_with_many_groups()),
        ("apply-setters", setters_that_name_setters()),
        ("apply-setters@v0.2.2", setters_that_name_setters()),
        ("apply-replacements", a_spec_copied_into_itself()),
        ("apply-replacements", many_expressions()),
        ("search-replace", a_group_put_many_times()),
        ("search-replace", an_expression_with_many_groups()),
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
