//! What is built from Go modules: the pinned sources, and the programs that come of them.
//!
//! The go.mod and go.sum files are part of this program, so a version stands in one place only and
//! building needs no checkout.

use go_programs::{Form, Module, Program};

/// A module file and the programs built from it together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Etcd,
    Kubernetes,
    CoreDns,
    Functions,
    ApplySetters,
    Peer,
    Registry,
    Kwok,
}

impl Part {
    /// What every node needs.
    pub(crate) const NODE: [Self; 5] = [
        Self::Etcd,
        Self::Kubernetes,
        Self::CoreDns,
        Self::Functions,
        Self::ApplySetters,
    ];

    /// All there are; the peer, the registry and kwok are built only for those who ask for them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Etcd,
        Self::Kubernetes,
        Self::CoreDns,
        Self::Functions,
        Self::ApplySetters,
        Self::Peer,
        Self::Registry,
        Self::Kwok,
    ];

    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Kubernetes => "kubernetes",
            Self::CoreDns => "coredns",
            Self::Functions => "functions",
            Self::ApplySetters => "apply-setters",
            Self::Peer => "peer",
            Self::Registry => "registry",
            Self::Kwok => "kwok",
        }
    }

    #[must_use]
    pub(crate) fn go_mod(self) -> &'static str {
        match self {
            Self::Etcd => include_str!("../go/etcd/go.mod"),
            Self::Kubernetes => include_str!("../go/kubernetes/go.mod"),
            Self::CoreDns => include_str!("../go/coredns/go.mod"),
            Self::Functions => include_str!("../go/functions/go.mod"),
            Self::ApplySetters => include_str!("../go/apply-setters/go.mod"),
            Self::Peer => include_str!("../go/peer/go.mod"),
            Self::Registry => include_str!("../go/registry/go.mod"),
            Self::Kwok => include_str!("../go/kwok/go.mod"),
        }
    }

    #[must_use]
    pub(crate) fn go_sum(self) -> &'static str {
        match self {
            Self::Etcd => include_str!("../go/etcd/go.sum"),
            Self::Kubernetes => include_str!("../go/kubernetes/go.sum"),
            Self::CoreDns => include_str!("../go/coredns/go.sum"),
            Self::Functions => include_str!("../go/functions/go.sum"),
            Self::ApplySetters => include_str!("../go/apply-setters/go.sum"),
            Self::Peer => include_str!("../go/peer/go.sum"),
            Self::Registry => include_str!("../go/registry/go.sum"),
            Self::Kwok => include_str!("../go/kwok/go.sum"),
        }
    }

    /// A program of our own around the modules, where theirs does not do.
    #[must_use]
    pub(crate) fn main_go(self) -> Option<&'static str> {
        match self {
            Self::Registry => Some(include_str!("../go/registry/main.go")),
            _ => None,
        }
    }

    /// Everything built from this part: name and package of each.
    fn packages(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Etcd => &[("etcd", "go.etcd.io/etcd/server/v3")],
            Self::Kubernetes => &[
                ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
                (
                    "kube-controller-manager",
                    "k8s.io/kubernetes/cmd/kube-controller-manager",
                ),
                ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
                ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
                ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
                ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            ],
            Self::CoreDns => &[("coredns", "github.com/coredns/coredns")],
            Self::Functions => &[
                (
                    "apply-replacements",
                    "github.com/kptdev/krm-functions-catalog/functions/go/apply-replacements",
                ),
                (
                    "set-namespace",
                    "github.com/kptdev/krm-functions-catalog/functions/go/set-namespace",
                ),
                (
                    "starlark",
                    "github.com/kptdev/krm-functions-catalog/functions/go/starlark",
                ),
            ],
            Self::ApplySetters => &[(
                "apply-setters",
                "github.com/kptdev/krm-functions-catalog/functions/go/apply-setters",
            )],
            Self::Peer => &[
                ("server", "github.com/nephio-project/porch/func/server"),
                (
                    "wrapper-server",
                    "github.com/nephio-project/porch/func/wrapper-server",
                ),
                (
                    "grpc-health-probe",
                    "github.com/grpc-ecosystem/grpc-health-probe",
                ),
            ],
            Self::Registry => &[("registry", "function-runner.test/registry")],
            Self::Kwok => &[("kwok", "sigs.k8s.io/kwok/cmd/kwok")],
        }
    }

    #[must_use]
    pub(crate) fn programs(self) -> Vec<Program<'static>> {
        let program = |(name, package): &(&'static str, &'static str)| Program {
            name,
            package,
            version: match self.main_go() {
                None => pinned(self.go_mod(), package),
                Some(_) => pinned(self.go_mod(), "github.com/distribution/distribution/v3"),
            },
        };
        self.packages().iter().map(program).collect()
    }

    #[must_use]
    pub(crate) fn module(self) -> Module<'static> {
        Module {
            name: self.name(),
            go_mod: self.go_mod(),
            go_sum: self.go_sum(),
            main_go: self.main_go(),
            linker_flags: self.linker_flags(),
            programs: self.programs(),
            form: Form::Once,
        }
    }

    /// Linker flags. Kubernetes' programs refuse to work together without knowing their version.
    #[must_use]
    pub(crate) fn linker_flags(self) -> String {
        let mut flags = "-s -w".to_owned();
        if self == Self::Kubernetes {
            let version = self.programs()[0].version;
            let mut numbers = version.trim_start_matches('v').split('.');
            let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
            for package in [
                "k8s.io/component-base/version",
                "k8s.io/client-go/pkg/version",
            ] {
                let stamps = [
                    ("gitVersion", version),
                    ("gitMajor", major),
                    ("gitMinor", minor),
                ];
                for (variable, value) in stamps {
                    flags.push_str(&format!(" -X {package}.{variable}={value}"));
                }
            }
        }
        flags
    }
}

/// The version that go.mod requires of the module a package belongs to.
fn pinned(go_mod: &'static str, package: &str) -> &'static str {
    let requirements = go_mod
        .lines()
        .take_while(|line| !line.starts_with("replace"));
    requirements
        .filter_map(|line| line.trim_start_matches("require").trim().split_once(' '))
        .find(|(module, _)| package == *module || package.starts_with(&format!("{module}/")))
        .and_then(|(_, rest)| rest.split(' ').next())
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_pinned_version() {
        for program in Part::ALL.iter().flat_map(|part| part.programs()) {
            assert!(program.version.starts_with('v'), "{program:?}");
        }
    }

    #[test]
    fn kubernetes_programs_are_told_their_version() {
        let flags = Part::Kubernetes.linker_flags();
        assert!(
            flags.contains("component-base/version.gitMinor=34"),
            "{flags}"
        );
    }
}
