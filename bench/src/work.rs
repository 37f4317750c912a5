//! The kinds of work that are measured, each with its unit and the bar that it has to reach.

use std::borrow::Cow;

use crate::material::{LARGE, PACKAGE, SMALL};

/// In the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    WarmPodAlone,
    WarmPodTogether,
    WarmPodSetNamespace,
    ExecSetNamespace,
    ExecTogether,
    LargeListInPod,
    LargeListInExec,
    FirstCall,
    MemoryIdle,
    MemoryAfterLargeLists,
    MemoryAfterExec,
    WrapperSize,
    Bundled(Bundled),
}

/// Work of bundled functions. Beside it is the Go function, a process for each call, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bundled {
    /// A function on a list of this many bytes, as kyaml writes it; one caller.
    Alone(&'static str, usize),
    /// set-namespace on a large list, of which a part is not as kyaml writes it.
    OneInTenOdd,
    AllOdd,
    /// set-namespace on the small list.
    Together,
    /// starlark on the small list, without processes that wait for one.
    StarlarkNotAhead,
    InARow,
    /// set-namespace on the small list, beside a call that does nothing.
    BesideHealth,
    /// set-namespace on this many bytes, beside the Go function in the peer's exec runtime.
    PeerAlone(usize),
    PeerTogether,
    /// set-namespace on the small list, beside the same server with `--confine=off`: the Go function,
    /// whose processes are confined, and the bundled one, which has none.
    Confined,
    NothingConfined,
    /// What one call of a function takes on a large list.
    Memory(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    CallsPerSecond,
    Megabytes,
}

/// What ours has to be: divided by the other's, or by itself, in the work's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
    OursAtMost(f64),
    /// It is only reported.
    None,
}

impl Bar {
    pub(crate) fn is_met(self, ours: f64, other: f64) -> bool {
        match self {
            Self::AtMost(bar) => ours / other <= bar,
            Self::AtLeast(bar) => ours / other >= bar,
            Self::OursAtMost(bar) => ours <= bar,
            Self::None => true,
        }
    }
}

impl Work {
    pub(crate) fn name(self) -> Cow<'static, str> {
        let name = match self {
            Self::WarmPodAlone => "warm pod, identity, 1 caller, p50",
            Self::WarmPodTogether => "warm pod, identity, 16 callers",
            Self::WarmPodSetNamespace => "warm pod, set-namespace (Go), 16 callers",
            Self::ExecSetNamespace => "exec, set-namespace (Go), 1 caller, p50",
            Self::ExecTogether => "exec, identity, 16 callers",
            Self::LargeListInPod => "4.5 MB list, identity, pod, p50",
            Self::LargeListInExec => "4.5 MB list, identity, exec, p50",
            Self::FirstCall => "first call, no pod yet, image on the node",
            Self::MemoryIdle => "resident memory, idle",
            Self::MemoryAfterLargeLists => "resident memory after 4.5 MB calls of 16 callers",
            Self::MemoryAfterExec => {
                "resident memory after exec calls, functions kept started included"
            }
            Self::WrapperSize => "wrapper and probe binaries",
            Self::Bundled(bundled) => return bundled.name().into(),
        };
        name.into()
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::WarmPodTogether | Self::WarmPodSetNamespace | Self::ExecTogether => {
                Unit::CallsPerSecond
            }
            Self::MemoryIdle
            | Self::MemoryAfterLargeLists
            | Self::MemoryAfterExec
            | Self::WrapperSize => Unit::Megabytes,
            Self::Bundled(
                Bundled::Together
                | Bundled::PeerTogether
                | Bundled::Confined
                | Bundled::NothingConfined,
            ) => Unit::CallsPerSecond,
            Self::Bundled(Bundled::Memory(_)) => Unit::Megabytes,
            _ => Unit::Milliseconds,
        }
    }

    /// The budgets of this project, all of them: `make bench` fails if one is missed in every
    /// round. That of the wrapper is kept by `scripts/check-wrapper` as well.
    pub(crate) fn bar(self) -> Bar {
        match self {
            Self::WarmPodAlone => Bar::AtMost(1.0 / 20.0),
            Self::WarmPodTogether => Bar::AtLeast(30.0),
            Self::WarmPodSetNamespace => Bar::AtLeast(10.0),
            // Where both sides wait for the function's own process: decision 101.
            Self::ExecSetNamespace => Bar::AtMost(0.75),
            Self::ExecTogether => Bar::AtLeast(0.95),
            Self::LargeListInPod => Bar::AtMost(1.0 / 6.0),
            Self::LargeListInExec => Bar::AtMost(0.6),
            Self::FirstCall => Bar::AtMost(0.65),
            Self::MemoryIdle | Self::MemoryAfterLargeLists => Bar::AtMost(1.0 / 3.0),
            Self::MemoryAfterExec => Bar::AtMost(1.0),
            Self::WrapperSize => Bar::OursAtMost(3.3),
            Self::Bundled(bundled) => bundled.bar(),
        }
    }
}

impl Bundled {
    fn name(self) -> String {
        match self {
            Self::Alone(function, bytes) => format!("{function}, {}", size(bytes)),
            Self::OneInTenOdd => {
                "set-namespace, 4.5 MB, one object in ten not as kyaml writes it".into()
            }
            Self::AllOdd => {
                "set-namespace, 4.5 MB, comments, quotes and brackets in every object".into()
            }
            Self::Together => "set-namespace, 1 kB, 16 callers".into(),
            Self::StarlarkNotAhead => "starlark, 1 kB, without processes started ahead".into(),
            Self::InARow => "five functions in a row on 200 kB".into(),
            Self::BesideHealth => "set-namespace, 1 kB, beside `Health/Check`".into(),
            Self::PeerAlone(bytes) => format!("set-namespace, {}, beside the peer", size(bytes)),
            Self::PeerTogether => "set-namespace, 1 kB, 16 callers, beside the peer".into(),
            Self::Confined => {
                "set-namespace (Go), 1 kB, 16 callers, confined, beside `--confine=off`".into()
            }
            Self::NothingConfined => {
                "set-namespace, 1 kB, 16 callers, beside `--confine=off`".into()
            }
            Self::Memory(function) => format!("{function}, 4.5 MB, memory above idle"),
        }
    }

    fn bar(self) -> Bar {
        match self {
            // Its Go function cannot be built from a module.
            Self::Alone("set-labels", _) => Bar::None,
            // A process on both sides.
            Self::Alone("starlark", SMALL) => Bar::AtMost(1.0 / 3.0),
            Self::Alone("set-namespace", LARGE) => Bar::AtMost(1.0 / 35.0),
            Self::Alone("starlark", _) | Self::Alone(_, PACKAGE) => Bar::None,
            Self::Alone(..) | Self::InARow => Bar::AtMost(1.0 / 20.0),
            Self::OneInTenOdd => Bar::AtMost(1.0 / 25.0),
            Self::AllOdd => Bar::AtMost(1.0 / 15.0),
            Self::Together => Bar::AtLeast(25.0),
            Self::BesideHealth => Bar::AtMost(1.8),
            // Confinement costs a tenth of a process at most, and nothing where there is none; the rest
            // is what one measurement differs from the next.
            Self::Confined => Bar::AtLeast(0.9),
            Self::NothingConfined => Bar::AtLeast(0.95),
            // Four times the list.
            Self::Memory("set-namespace") => Bar::OursAtMost(18.0),
            Self::StarlarkNotAhead | Self::PeerAlone(_) | Self::PeerTogether | Self::Memory(_) => {
                Bar::None
            }
        }
    }
}

fn size(bytes: usize) -> &'static str {
    match bytes {
        SMALL => "1 kB",
        PACKAGE => "100 kB",
        _ => "4.5 MB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrappers_budget_is_the_same_where_its_binary_is_checked() {
        let script = include_str!("../../scripts/check-wrapper");
        let bytes = script.split("most_bytes=").nth(1).unwrap();
        let bytes: f64 = bytes.split_whitespace().next().unwrap().parse().unwrap();
        assert_eq!(Work::WrapperSize.bar(), Bar::OursAtMost(bytes / 1e6));
    }
}
