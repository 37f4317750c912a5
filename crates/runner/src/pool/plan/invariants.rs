//! The invariants of the pool, on histories that nobody thought of: an observer checks
//! after each step that they hold. It keeps its own books from events and actions, and
//! looks into the plan only to see that nothing else has changed.

mod history;
mod observer;
mod refusals;

use observer::Observer;
use proptest::prelude::*;

use super::{super::state::Outlook, tests::SETTINGS, *};

/// One step of a generated history. Numbers pick among what there is at the time.
#[derive(Debug, Clone)]
enum Step {
    Request {
        function: u8,
        /// Whether it was sent somewhere before.
        again: Option<usize>,
    },
    GiveUp(usize),
    Release(usize),
    /// A pod has started.
    Ready(usize),
    /// A pod in doubt answers.
    Answer(usize),
    Doubt(usize),
    Fail(usize, Outlook),
    Outdate(usize),
    /// A deletion has ended.
    Gone(usize),
    Change {
        function: Option<u8>,
    },
    Adopt {
        function: u8,
    },
    Warm {
        function: u8,
    },
    /// From now on these settings are asked for.
    Settings {
        function: u8,
        settings: Settings,
    },
    Wait {
        seconds: u64,
    },
    Scan,
    /// Repeats an earlier event that by now says nothing new.
    Echo(usize),
    /// An event about something that was never there.
    Unknown(usize),
}

fn outlooks() -> impl Strategy<Value = Outlook> {
    prop_oneof![
        2 => Just(Outlook::Lasting),
        1 => Just(Outlook::Passing),
        1 => Just(Outlook::Denied),
        2 => Just(Outlook::Taken),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let numbers = (1..4_usize, 1..4_usize, 1..9_usize, 0..5_usize);
    (numbers, any::<bool>(), 0..2_u64).prop_map(|(numbers, is_warm_up, revision)| Settings {
        max_waitlist_length: numbers.0,
        max_pods: numbers.1,
        max_queued: numbers.2,
        is_warm_up,
        min_pods: if is_warm_up { numbers.3 } else { 0 },
        revision,
        ..SETTINGS
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let function = || 0..3_u8;
    let any = any::<usize>;
    let step = prop_oneof![
        8 => (function(), prop::option::weighted(0.2, any()))
            .prop_map(|(function, again)| Step::Request { function, again }),
        1 => any().prop_map(Step::GiveUp),
        4 => any().prop_map(Step::Release),
        4 => any().prop_map(Step::Ready),
        2 => any().prop_map(Step::Answer),
        2 => any().prop_map(Step::Doubt),
        3 => (any(), outlooks()).prop_map(|(pod, outlook)| Step::Fail(pod, outlook)),
        3 => any().prop_map(Step::Outdate),
        1 => any().prop_map(Step::Gone),
        1 => prop::option::of(function()).prop_map(|function| Step::Change { function }),
        1 => function().prop_map(|function| Step::Adopt { function }),
        1 => function().prop_map(|function| Step::Warm { function }),
        1 => (function(), settings())
            .prop_map(|(function, settings)| Step::Settings { function, settings }),
        2 => (0..90_u64).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Scan),
        2 => any().prop_map(Step::Echo),
        1 => any().prop_map(Step::Unknown),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_invariants_hold_in_any_history(max_pods in 0..6_usize, steps in steps(), ends_well: bool) {
        let mut observer = Observer::new(max_pods);
        for step in &steps {
            observer.step(step);
        }
        observer.settle(ends_well);
    }
}
