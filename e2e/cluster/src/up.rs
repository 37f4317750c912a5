//! Bringing the node up.
//!
//! ```text
//! outside:  prerequisites ─► programs ─► leftovers away ─► control groups ─► namespaces
//! inside:   mounts, network ─► registries, containerd, etcd ─► API server ─► the rest
//!                                    └─► images
//! ```
//! The inside half is the same program again, started in the namespaces: there every address is
//! reachable by plain sockets.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::binaries::{Binaries, Missing};
use crate::command::run;
use crate::component::Component;
use crate::layout::{
    API_SERVICE_ADDRESS, CLUSTER_DOMAIN, NODE_ADDRESS, NODE_NAME, admin_kubeconfig, ca_certificate,
    state,
};
use crate::lock::Lock;
use crate::parts::Part;
use crate::pki::{self, Authority};
use crate::registry::{PASSWORD, Registry, USER};
use crate::{cgroup, down, kubeconfig, namespaces, prerequisites, seed, status};

/// The verb that runs the inside half.
pub const INSIDE: &str = "start-inside";

/// Brings the node up, or finds it up; then says how to use it.
pub fn up(missing: Missing) -> Result<()> {
    namespaces::require_visible(&std::env::current_exe()?)?;
    prerequisites::ensure(missing)?;
    let binaries = Binaries::obtain(&Part::NODE, missing)?;
    let _lock = Lock::take()?;
    let same_programs = Binaries::recorded().is_ok_and(|recorded| recorded == binaries);
    if same_programs && status::is_up() {
        println!("the cluster is up already");
    } else {
        let began = Instant::now();
        if down::clear()? {
            eprintln!("removed what an earlier cluster left behind");
        }
        if let Err(error) = start(&binaries) {
            down::clear()?;
            return Err(error);
        }
        println!(
            "the node is Ready after {:.1} s",
            began.elapsed().as_secs_f32()
        );
    }
    print_usage();
    Ok(())
}

fn start(binaries: &Binaries) -> Result<()> {
    binaries.record()?;
    cgroup::create()?;
    namespaces::create()?;
    let program = std::env::current_exe()?;
    let status = namespaces::enter(&program)?.arg(INSIDE).status()?;
    if !status.success() {
        bail!("the node did not start");
    }
    fs::write(state("ready"), "")?;
    Ok(())
}

/// The inside half.
pub fn start_inside() -> Result<()> {
    ensure!(
        namespaces::inside(),
        "this half of `up` would change the host's own mounts"
    );
    let binaries = Binaries::recorded()?;
    namespaces::furnish()?;
    certificates().context("could not make certificates")?;
    let begin = |components: &[Component]| -> Result<()> {
        components
            .iter()
            .try_for_each(|component| component.start(&binaries).map(drop))
    };
    let ready = |components: &[Component]| -> Result<()> {
        components
            .iter()
            .try_for_each(|component| component.wait_ready(&binaries))
    };
    use Component::{
        ApiServer, Containerd, ControllerManager, CoreDns, Etcd, KubeProxy, Kubelet, OpenRegistry,
        PrivateRegistry, Scheduler,
    };
    begin(&[OpenRegistry, PrivateRegistry, Containerd, Etcd])?;
    thread::scope(|scope| {
        let images = scope.spawn(|| {
            ready(&[OpenRegistry, PrivateRegistry])?;
            seed::push(&binaries)
        });
        ready(&[Etcd])?;
        begin(&[ApiServer])?;
        ready(&[ApiServer])?;
        begin(&[ControllerManager, Scheduler, KubeProxy, CoreDns])?;
        ready(&[Containerd])?;
        begin(&[Kubelet])?;
        images
            .join()
            .map_err(|_| anyhow!("pushing images panicked"))?
    })?;
    ready(&Component::ALL)?;
    let wait = |arguments: &[&str]| -> Result<String> {
        run(binaries
            .kubectl()
            .args(["wait", "--timeout=60s"])
            .args(arguments))
    };
    let node = format!("node/{NODE_NAME}");
    wait(&["--for=create", &node]).context("the node did not register")?;
    wait(&["--for=condition=Ready", &node]).with_context(|| {
        format!(
            "the node registered and is not Ready; kubelet:\n{}",
            Kubelet.log_tail(15)
        )
    })?;
    // Without its service account the first pod would be refused.
    wait(&[
        "--for=create",
        "serviceaccount/default",
        "--namespace=default",
    ])
    .map(drop)
}

fn certificates() -> Result<()> {
    let authority = Authority::create()?;
    let service = format!("kubernetes.default.svc.{CLUSTER_DOMAIN}");
    let forms = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        &service,
    ];
    let mut names: Vec<String> = forms.map(str::to_owned).to_vec();
    names.extend([NODE_ADDRESS.to_string(), API_SERVICE_ADDRESS.to_string()]);
    authority.server("apiserver", &names)?;
    let registry = Registry::Private.host();
    authority.server(registry, &[registry.to_owned()])?;
    pki::create_service_account_keys()?;
    kubeconfig::create(&authority)
}

fn print_usage() {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("cluster"));
    let program = program.display();
    println!(
        "
  a shell with kubectl   {program} shell
  one command            {program} exec -- kubectl get pods --all-namespaces
  KUBECONFIG             {kubeconfig} (works inside only; shell and exec set it)
  open registry          {open}
  private registry       {private}, {USER} / {PASSWORD}, authority {authority}
  logs                   {logs}
  remove it all          make cluster-down",
        authority = ca_certificate().display(),
        kubeconfig = admin_kubeconfig().display(),
        logs = state("logs").display(),
        open = Registry::Open.address(),
        private = Registry::Private.address(),
    );
}
