//! What the NetworkPolicies of `deploy/` let through. There is no network here that enforces
//! them: this test derives nftables rules from them, and applies these in a network namespace of
//! its own, where addresses of the loopback device stand for pods. So it shows that the policies
//! say what they should, and not that a cluster's network does what they say.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde::Deserialize;
use socket2::{Domain, Socket, Type};

const POLICIES: [&str; 2] = [
    "components/callers/network-policy.yaml",
    "components/isolation/network-policy.yaml",
];

#[derive(Deserialize)]
struct Policy {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    namespace: String,
}

/// Whatever else a policy could say is not understood, and so refused.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    pod_selector: Selector,
    policy_types: Vec<String>,
    #[serde(default)]
    ingress: Vec<Ingress>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ingress {
    from: Vec<Peer>,
    ports: Vec<Port>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Peer {
    namespace_selector: Option<Selector>,
    pod_selector: Option<Selector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Port {
    port: u16,
    protocol: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
}

impl Selector {
    fn selects(&self, labels: &[(&str, &str)]) -> bool {
        let mut wanted = self.match_labels.iter();
        wanted.all(|(key, value)| labels.contains(&(key, value)))
    }
}

/// A pod as policies see it.
struct Pod {
    namespace: &'static str,
    label: (&'static str, &'static str),
    address: Ipv4Addr,
}

const fn pod(namespace: &'static str, label: (&'static str, &'static str), last: u8) -> Pod {
    Pod {
        namespace,
        label,
        address: Ipv4Addr::new(127, 1, 0, last),
    }
}

const RUNNER: Pod = pod("porch-system", ("app", "function-runner"), 1);
const PORCH: Pod = pod("porch-system", ("app", "porch-server"), 2);
const CONTROLLERS: Pod = pod("porch-system", ("k8s-app", "porch-controllers"), 3);
const NEIGHBOUR: Pod = pod("porch-system", ("app", "other"), 4);
const STRANGER: Pod = pod("default", ("app", "porch-server"), 5);
const FUNCTION: Pod = pod("porch-fn-system", ("fn.kpt.dev/image", "fn"), 6);
const PODS: [&Pod; 6] = [
    &RUNNER,
    &PORCH,
    &CONTROLLERS,
    &NEIGHBOUR,
    &STRANGER,
    &FUNCTION,
];

impl Peer {
    fn includes(&self, pod: &Pod, own_namespace: &str) -> bool {
        let is_there = match &self.namespace_selector {
            None => pod.namespace == own_namespace,
            Some(selector) => selector.selects(&[("kubernetes.io/metadata.name", pod.namespace)]),
        };
        let selector = self.pod_selector.as_ref();
        is_there && selector.is_none_or(|selector| selector.selects(&[pod.label]))
    }
}

/// What nftables has to be told for these policies.
fn rules(policies: &[Policy]) -> String {
    let (mut chains, mut jumps) = (String::new(), String::new());
    for (number, policy) in policies.iter().enumerate() {
        let namespace = &policy.metadata.namespace;
        let selected = PODS.iter().filter(|pod| {
            pod.namespace == namespace && policy.spec.pod_selector.selects(&[pod.label])
        });
        for Pod { address, .. } in selected {
            for kind in &policy.spec.policy_types {
                let (name, side) = match kind.as_str() {
                    "Ingress" => ("in", "daddr"),
                    "Egress" => ("out", "saddr"),
                    other => panic!("{other}"),
                };
                let name = format!("{name}{number}-{}", address.octets()[3]);
                jumps += &format!("    ip {side} {address} jump {name}\n");
                chains += &format!("  chain {name} {{\n");
                // Nothing is allowed outwards by what is understood here.
                for rule in policy.spec.ingress.iter().filter(|_| kind == "Ingress") {
                    for peer in PODS
                        .iter()
                        .filter(|pod| rule.from.iter().any(|peer| peer.includes(pod, namespace)))
                    {
                        for Port { port, protocol } in &rule.ports {
                            let protocol = protocol.to_lowercase();
                            let from = peer.address;
                            chains +=
                                &format!("    ip saddr {from} {protocol} dport {port} return\n");
                        }
                    }
                }
                chains += "    drop\n  }\n";
            }
        }
    }
    format!(
        "table inet policies {{\n{chains}  chain input {{\n    type filter hook input priority 0;\n    \
         ct state established,related accept\n{jumps}  }}\n}}\n"
    )
}

fn policies() -> Vec<Policy> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
    let read = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        serde_saphyr::from_str(&text).unwrap()
    };
    POLICIES.map(read).into()
}

/// Whether a connection from one address to another comes about.
fn reaches(from: &Pod, to: &Pod, port: u16, patience: Duration) -> bool {
    let _listener = TcpListener::bind((to.address, port)).unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket
        .bind(&SocketAddr::from((from.address, 0)).into())
        .unwrap();
    let address = SocketAddr::from((to.address, port)).into();
    socket.connect_timeout(&address, patience).is_ok()
}

#[test]
#[ignore = "needs root, util-linux, iproute2 and nftables"]
fn only_porch_reaches_the_runner_and_only_the_runner_reaches_functions() {
    const INSIDE: &str = "FUNCTION_RUNNER_TEST_IN_NAMESPACE";
    if std::env::var_os(INSIDE).is_none() {
        let name = "only_porch_reaches_the_runner_and_only_the_runner_reaches_functions";
        let status = Command::new("unshare")
            .arg("--net")
            .arg(std::env::current_exe().unwrap())
            .args([name, "--exact", "--ignored", "--nocapture"])
            .env(INSIDE, "yes")
            .status()
            .expect("unshare");
        assert!(status.success(), "in a network namespace of its own");
        return;
    }
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    assert!(up.expect("ip").success());
    let rules = rules(&policies());
    let mut nft = Command::new("nft")
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("nft");
    nft.stdin
        .take()
        .unwrap()
        .write_all(rules.as_bytes())
        .unwrap();
    assert!(nft.wait().unwrap().success(), "{rules}");
    for (from, to, port, expected) in [
        (&PORCH, &RUNNER, 9445, true),
        (&CONTROLLERS, &RUNNER, 9445, true),
        (&PORCH, &RUNNER, 9464, false),
        (&NEIGHBOUR, &RUNNER, 9445, false),
        (&STRANGER, &RUNNER, 9445, false),
        (&FUNCTION, &RUNNER, 9445, false),
        (&RUNNER, &FUNCTION, 9446, true),
        (&RUNNER, &FUNCTION, 80, false),
        (&PORCH, &FUNCTION, 9446, false),
        (&STRANGER, &FUNCTION, 9446, false),
        (&FUNCTION, &STRANGER, 80, false),
        // What no policy selects is open, as ever.
        (&STRANGER, &NEIGHBOUR, 80, true),
        (&RUNNER, &STRANGER, 80, true),
    ] {
        // A busy machine may be slow; what is dropped never comes.
        let patience = Duration::from_secs(if expected { 20 } else { 1 });
        let found = reaches(from, to, port, patience);
        assert_eq!(
            found, expected,
            "{:?} to {:?}:{port}\n{rules}",
            from.label, to.label
        );
    }
}
