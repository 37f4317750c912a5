//! NetworkPolicies as rules of nftables. Nothing on this node enforces policies, so these rules do it, in
//! the node's own network namespace, for the pods that there are when they are derived. They show that the
//! policies say what they should; that a cluster's network does what they say is the network's promise.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A pod as policies see it.
#[derive(Debug, Clone)]
pub struct Party {
    namespace: String,
    labels: BTreeMap<String, String>,
    address: Ipv4Addr,
}

impl Party {
    pub fn of(pod: &Pod) -> Result<Self> {
        let address = pod.status.as_ref().and_then(|it| it.pod_ip.as_deref());
        Ok(Self {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            labels: pod.metadata.labels.clone().unwrap_or_default(),
            address: address.context("a pod without an address")?.parse()?,
        })
    }
}

/// Whether all labels of the selector are there. Other ways to select are not understood, and refused.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> Result<bool> {
    ensure!(selector.match_expressions.is_none(), "{selector:?}");
    let mut wanted = selector.match_labels.iter().flatten();
    Ok(wanted.all(|(key, value)| labels.get(key) == Some(value)))
}

/// Whether a peer of a policy in `own_namespace` includes this pod.
fn includes(peer: &NetworkPolicyPeer, party: &Party, own_namespace: &str) -> Result<bool> {
    ensure!(peer.ip_block.is_none(), "{peer:?}");
    let is_there = match &peer.namespace_selector {
        None => party.namespace == own_namespace,
        Some(selector) => {
            let name = "kubernetes.io/metadata.name".to_owned();
            selects(selector, &BTreeMap::from([(name, party.namespace.clone())]))?
        }
    };
    let is_meant = |selector| selects(selector, &party.labels);
    Ok(is_there && peer.pod_selector.as_ref().map_or(Ok(true), is_meant)?)
}

/// The rules for what one policy lets in.
fn allowances(
    rule: &NetworkPolicyIngressRule,
    parties: &[Party],
    own_namespace: &str,
) -> Result<String> {
    let mut rules = String::new();
    for party in parties {
        let mut is_included = false;
        for peer in rule.from.iter().flatten() {
            is_included |= includes(peer, party, own_namespace)?;
        }
        for NetworkPolicyPort { port, protocol, .. } in rule.ports.iter().flatten() {
            let (Some(IntOrString::Int(port)), Some(protocol)) = (port, protocol) else {
                bail!("not understood: {rule:?}");
            };
            if is_included {
                let (from, protocol) = (party.address, protocol.to_lowercase());
                writeln!(rules, "    ip saddr {from} {protocol} dport {port} return")?;
            }
        }
    }
    Ok(rules)
}

/// The rules of nftables for these policies, in a table of this name.
pub(crate) fn rules(table: &str, policies: &[NetworkPolicy], parties: &[Party]) -> Result<String> {
    let (mut chains, mut jumps) = (String::new(), String::new());
    for (number, policy) in policies.iter().enumerate() {
        let spec = policy.spec.as_ref().context("a policy without a spec")?;
        let namespace = policy.metadata.namespace.as_deref().unwrap_or_default();
        // What is let out would need rules of its own.
        ensure!(spec.egress.iter().flatten().next().is_none(), "{spec:?}");
        let pod_selector = spec.pod_selector.as_ref().context("no pods selected")?;
        for party in parties {
            if party.namespace != namespace || !selects(pod_selector, &party.labels)? {
                continue;
            }
            let address = party.address;
            for kind in spec.policy_types.iter().flatten() {
                let (name, side) = match kind.as_str() {
                    "Ingress" => ("in", "daddr"),
                    "Egress" => ("out", "saddr"),
                    other => bail!("{other}"),
                };
                let name = format!("{name}-{number}-{:x}", u32::from(address));
                writeln!(jumps, "    ip {side} {address} jump {name}")?;
                writeln!(chains, "  chain {name} {{")?;
                let ingress = spec.ingress.iter().flatten();
                for rule in ingress.filter(|_| kind == "Ingress") {
                    chains += &allowances(rule, parties, namespace)?;
                }
                chains += "    drop\n  }\n";
            }
        }
    }
    // Forwarded: to other pods and beyond. Input: to the node itself. What the node itself sends, the kubelet's
    // probes for one, is free.
    Ok(format!(
        "table inet {table} {{\n{chains}  chain policies {{\n    ct state established,related return\n{jumps}  }}\n  \
         chain forwarded {{ type filter hook forward priority 0; jump policies; }}\n  \
         chain received {{ type filter hook input priority 0; jump policies; }}\n}}\n"
    ))
}

/// Rules that are in force as long as this value lives.
#[derive(Debug)]
pub struct Enforced {
    table: String,
}

impl Enforced {
    pub fn begin(table: &str, policies: &[NetworkPolicy], parties: &[Party]) -> Result<Self> {
        let rules = rules(table, policies, parties)?;
        println!("{rules}");
        nft(&rules)?;
        Ok(Self {
            table: table.to_owned(),
        })
    }
}

impl Drop for Enforced {
    fn drop(&mut self) {
        if let Err(error) = nft(&format!("delete table inet {}\n", self.table)) {
            eprintln!("rules stay in force: {error:#}");
        }
    }
}

fn nft(rules: &str) -> Result<()> {
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .context("Debian's package nftables is needed")?;
    let mut stdin = nft.stdin.take().context("a pipe")?;
    stdin.write_all(rules.as_bytes())?;
    drop(stdin);
    ensure!(nft.wait()?.success(), "nft does not take {rules}");
    Ok(())
}
