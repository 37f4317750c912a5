//! What is measured: each kind of work with its unit and the bar that it has to reach.

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    CallsPerSecond,
    Megabytes,
}

/// What ours has to be: divided by the peer's, or by itself, in the work's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
    OursAtMost(f64),
}

impl Bar {
    pub(crate) fn is_met(self, ours: f64, peer: f64) -> bool {
        match self {
            Self::AtMost(bar) => ours / peer <= bar,
            Self::AtLeast(bar) => ours / peer >= bar,
            Self::OursAtMost(bar) => ours <= bar,
        }
    }
}

impl Work {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 12] = [
        Self::WarmPodAlone,
        Self::WarmPodTogether,
        Self::WarmPodSetNamespace,
        Self::ExecSetNamespace,
        Self::ExecTogether,
        Self::LargeListInPod,
        Self::LargeListInExec,
        Self::FirstCall,
        Self::MemoryIdle,
        Self::MemoryAfterLargeLists,
        Self::MemoryAfterExec,
        Self::WrapperSize,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
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
        }
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
            Self::ExecTogether => Bar::AtLeast(1.1),
            Self::LargeListInPod => Bar::AtMost(1.0 / 6.0),
            Self::LargeListInExec => Bar::AtMost(0.6),
            Self::FirstCall => Bar::AtMost(0.65),
            Self::MemoryIdle | Self::MemoryAfterLargeLists => Bar::AtMost(1.0 / 3.0),
            Self::MemoryAfterExec => Bar::AtMost(1.0),
            Self::WrapperSize => Bar::OursAtMost(3.3),
        }
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
