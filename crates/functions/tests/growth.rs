//! Four times the work takes about four times as long: no loop is over pairs.

use std::time::Duration;

use functions::{Clock, catalog};

/// The processor time that this thread has had: a busy machine does not add to it.
fn processor_time() -> Duration {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = spent
        .split_whitespace()
        .next()
        .and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

/// The least processor time of some runs.
fn time(function: &str, input: &str) -> Duration {
    let function = catalog::find(function).expect("a function");
    let run = || {
        let begin = processor_time();
        let ended = function.run(input.as_bytes(), &Clock::default());
        let ended = ended.expect("no deadline");
        assert_eq!(ended.exit, 0, "{function}: {}", ended.stderr);
        processor_time().saturating_sub(begin)
    };
    (0..3).map(|_| run()).min().expect("some runs")
}

/// Loops over pairs would take 16 times as long, every time; what shares the processor's caches
/// adds to some measurements.
fn grows_with_its_input(function: &str, input: impl Fn(usize) -> String, size: usize) {
    let (small, large) = (input(size), input(4 * size));
    let mut factors = Vec::new();
    for _ in 0..3 {
        let [small, large] = [&small, &large].map(|input| time(function, input).as_secs_f64());
        factors.push(large / small);
        if large / small < 10.0 {
            return;
        }
    }
    panic!("{function}: four times as much as {size} takes {factors:?} times as long");
}

fn list(data: &str, items: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}\
         functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n  \
         data:\n{data}"
    )
}

#[test]
fn fields_with_setters_cost_the_same_each() {
    let input = |count: usize| {
        let data: String = (0..count).map(|at| format!("    s{at}: v{at}\n")).collect();
        let field = |at| format!("  f{at}: x # kpt-set: ${{s{at}}}\n");
        let fields: String = (0..count).map(field).collect();
        let item = format!("- apiVersion: v1\n  kind: A\n  metadata: {{name: a}}\n{fields}");
        list(&data, &item)
    };
    grows_with_its_input("apply-setters", input, 2_000);
}

#[test]
fn objects_that_name_each_other_cost_the_same_each() {
    let input = |count: usize| {
        let object = |at| {
            format!(
                "- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: m{at}}}}}\n\
                 - {{apiVersion: v1, kind: Pod, metadata: {{name: p{at}}}, spec: {{volumes: \
                 [{{name: v, configMap: {{name: m{at}}}}}]}}}}\n"
            )
        };
        list(
            "    prepend: x-\n",
            &(0..count).map(object).collect::<String>(),
        )
    };
    grows_with_its_input("ensure-name-substring", input, 500);
}
