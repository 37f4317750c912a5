//! What may go wrong during a soak, as plain data: each of these faults has a test of its own.

use std::fmt;
use std::time::Duration;

use cluster::component::Component;

use super::call::Script;
use crate::api_proxy::Manner;
use crate::name_server::Answers;

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Something happens to pods of functions.
    Pods(Blow, Aim),
    /// The runners' way to the API server.
    Api(Manner),
    /// The runners' name server.
    Names(Answers),
    /// A part of the node does not run.
    Stopped(Component),
    /// A part of the node hangs.
    Frozen(Component),
    /// The second replica is replaced, as a rolling update does.
    Replaced,
    /// The second replica is killed, and another one started.
    Crashed,
    /// A file or an object that runners follow has another content that means the same.
    Changed(Followed),
    /// It has a content that cannot be understood, for a while.
    Broken(Followed),
    /// An image's tag stands for another image of the same function.
    TagMoved(Script),
    /// Connections that send nothing.
    Strangers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// Deleted without a time to say goodbye.
    Delete,
    Evict,
    /// Ended by the kubelet and left there as failed.
    Fail,
    /// Its service is deleted.
    Unserve,
    /// The container's first process is killed on the node.
    Kill,
    /// The wrapper stands still for a while.
    Pause,
}

/// Whose pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// One pod of this function.
    One(Script),
    All,
}

/// What runners read again when it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followed {
    Policy,
    ExecConfig,
    CacheConfig,
    Template,
    /// An object of Porch 1.6, whose kind the whole node has then.
    FunctionConfig,
}

impl Fault {
    /// Whether a call that runs in a pod of this function may lose that pod by it.
    pub(crate) fn takes_pods_of(self, function: Script) -> bool {
        match self {
            Self::Pods(_, Aim::All) => true,
            Self::Pods(_, Aim::One(struck)) => struck == function,
            _ => false,
        }
    }

    /// Whether the node suffers from it, and everybody on it.
    pub(crate) fn breaks_node(self) -> bool {
        matches!(
            self,
            Self::Stopped(_) | Self::Frozen(_) | Self::Changed(Followed::FunctionConfig)
        )
    }

    /// Whether the registry cannot be asked meanwhile.
    pub(crate) fn hides_registry(self) -> bool {
        match self {
            Self::Names(Answers::Failures | Answers::Silence) => true,
            Self::Stopped(component) | Self::Frozen(component) => {
                matches!(component, Component::OpenRegistry | Component::CoreDns)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pods(blow, aim) => {
                match aim {
                    Aim::One(script) => write!(formatter, "a pod of {}", script.name())?,
                    Aim::All => write!(formatter, "every pod")?,
                }
                formatter.write_str(match blow {
                    Blow::Delete => " is deleted",
                    Blow::Evict => " is evicted",
                    Blow::Fail => " fails",
                    Blow::Unserve => " loses its service",
                    Blow::Kill => " has its container killed",
                    Blow::Pause => " stands still",
                })
            }
            Self::Api(Manner::Plain) => formatter.write_str("the API server is itself"),
            Self::Api(Manner::Slow(time)) => {
                write!(formatter, "the API server is slow by {}", Time(*time))
            }
            Self::Api(Manner::Refusing) => formatter.write_str("the API server refuses with 429"),
            Self::Api(Manner::Failing) => formatter.write_str("the API server fails with 503"),
            Self::Api(Manner::Forgetful) => formatter.write_str("the API server forgets (410)"),
            Self::Api(Manner::Unwatched) => formatter.write_str("the API server ends watches"),
            Self::Names(Answers::Late(time)) => {
                write!(formatter, "names come late by {}", Time(*time))
            }
            Self::Names(Answers::Failures) => formatter.write_str("names fail"),
            Self::Names(Answers::Silence) => formatter.write_str("names get no answer"),
            Self::Stopped(component) => write!(formatter, "{component} is stopped"),
            Self::Frozen(component) => write!(formatter, "{component} hangs"),
            Self::Replaced => formatter.write_str("a runner is replaced"),
            Self::Crashed => formatter.write_str("a runner crashes"),
            Self::Changed(followed) => write!(formatter, "{followed} changes"),
            Self::Broken(followed) => write!(formatter, "{followed} is broken"),
            Self::TagMoved(script) => write!(formatter, "the tag of {} moves", script.name()),
            Self::Strangers => formatter.write_str("strangers connect and say nothing"),
        }
    }
}

impl fmt::Display for Followed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Policy => "the image policy",
            Self::ExecConfig => "the exec configuration",
            Self::CacheConfig => "the pod cache configuration",
            Self::Template => "the pod template",
            Self::FunctionConfig => "a FunctionConfig",
        })
    }
}

/// A duration for tables: minutes matter less than tenths of seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(pub Duration);

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.1} s", self.0.as_secs_f64());
        formatter.pad(&text)
    }
}
