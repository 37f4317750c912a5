//! The parts of a pod's start, and how far a status shows it to be.

use k8s_openapi::api::core::v1::PodStatus;

use super::progress::has_address;

/// The parts of a start, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StartPhase {
    Metadata,
    Create,
    Schedule,
    Sandbox,
    Init,
    Container,
    Wrapper,
}

impl StartPhase {
    pub(crate) const ALL: [Self; 7] = [
        Self::Metadata,
        Self::Create,
        Self::Schedule,
        Self::Sandbox,
        Self::Init,
        Self::Container,
        Self::Wrapper,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Metadata => "image metadata",
            Self::Create => "creating the objects",
            Self::Schedule => "scheduling",
            Self::Sandbox => "sandbox and network",
            Self::Init => "init containers",
            Self::Container => "pulling and starting the function",
            Self::Wrapper => "the wrapper's answer",
        }
    }

    /// The last phase that a status shows to be over.
    pub(crate) fn passed(status: &PodStatus) -> Option<Self> {
        let holds = |name: &str| {
            let conditions = status.conditions.iter().flatten();
            let mut named = conditions.filter(|condition| condition.type_ == name);
            named.any(|condition| condition.status == "True")
        };
        let has_address = has_address(status);
        if status.phase.as_deref() == Some("Running") {
            Some(Self::Container)
        } else if holds("Initialized") {
            // Also true from the beginning where there is nothing to initialise.
            has_address.then_some(Self::Init)
        } else if has_address || holds("PodReadyToStartContainers") {
            Some(Self::Sandbox)
        } else {
            holds("PodScheduled").then_some(Self::Schedule)
        }
    }
}
