//! What callers choose does not make the process grow. Alone in its process, because it
//! looks at the whole process's memory.

use std::time::Duration;

use metrics::{
    Code,
    functions::{Ended, Runtime, ended},
    registries::{Outcome, requested},
};

#[test]
fn a_million_names_of_functions_and_hosts_take_less_than_5_mb() {
    let before = metrics::own().memory;
    for number in 0..1_000_000_u64 {
        // Everybody uses the name twice: the first time it has no series, the second time it
        // may have one.
        let image = format!("registry-{number}.example.com/team/function-{number}:v1.{number}");
        for code in [Code::NotFound, Code::Ok] {
            let call = Ended {
                runtime: Runtime::Pod,
                code,
                took: Duration::from_micros(number),
                queue_wait: Duration::from_nanos(number),
            };
            ended(Some(&image), call);
        }
        if number % 100 == 0 {
            let host = format!("registry-{number}.example.com");
            requested(
                &host,
                Outcome::NotFound,
                Duration::from_millis(3),
                "not found",
            );
        }
    }
    let grown = metrics::own().memory.saturating_sub(before);
    assert!(grown < 5_000_000, "{grown} bytes");
    let shown = metrics::functions::shown();
    assert_eq!(shown.len(), metrics::functions::MOST + 1);
    assert_eq!(shown.iter().map(|of| of.calls).sum::<u64>(), 2_000_000);
}
