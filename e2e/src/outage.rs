//! Breaking the cluster on purpose, for a while.

use std::mem;

use anyhow::Result;
use cluster::binaries::Binaries;
use cluster::component::{Component, coredns};

/// Who watches the API server. Cut off, each waits longer and longer, up to a minute, before it asks
/// again, and as long once more if it was refused. No test, nor the one after it, should wait for that.
const FOLLOWERS: [Component; 5] = [
    Component::ControllerManager,
    Component::Scheduler,
    Component::KubeProxy,
    Component::CoreDns,
    Component::Kubelet,
];

/// The node in the hands of the one test that may break it.
#[derive(Debug)]
pub struct Breakable {
    binaries: Binaries,
}

impl Breakable {
    pub(crate) fn attach() -> Result<Self> {
        Ok(Self {
            binaries: Binaries::recorded()?,
        })
    }

    /// Ends a component as a power cut would: its ports are closed until the outage ends.
    pub fn stop(&self, component: Component) -> Result<Outage<'_>> {
        kill(component)?;
        Ok(Outage {
            node: self,
            component,
            repair: Repair::Start,
        })
    }

    /// Freezes a component: connections open and nothing answers until the outage ends.
    pub fn pause(&self, component: Component) -> Result<Outage<'_>> {
        component.running()?.pause()?;
        Ok(Outage {
            node: self,
            component,
            repair: Repair::Resume,
        })
    }

    /// Makes DNS keep its answers for 30 seconds, "no such name" among them, as real clusters do.
    pub fn slow_dns(&self) -> Result<Outage<'_>> {
        let outage = Outage {
            node: self,
            component: Component::CoreDns,
            repair: Repair::FreshDns,
        };
        coredns::keep_answers(true)?;
        self.restart(Component::CoreDns)?;
        Ok(outage)
    }

    fn restart(&self, component: Component) -> Result<()> {
        self.restart_all(&[component])
    }

    fn restart_all(&self, components: &[Component]) -> Result<()> {
        for component in components {
            if component.running().is_ok() {
                kill(*component)?;
            }
            component.start(&self.binaries)?;
        }
        for component in components {
            component.wait_ready(&self.binaries)?;
        }
        Ok(())
    }
}

fn kill(component: Component) -> Result<()> {
    let process = component.running()?;
    process.kill()?;
    process.wait_dead()
}

/// A component out of order. It is repaired when this is dropped, also when the test fails.
#[derive(Debug)]
#[must_use = "dropping it ends the outage"]
pub struct Outage<'a> {
    node: &'a Breakable,
    component: Component,
    repair: Repair,
}

#[derive(Debug)]
enum Repair {
    Start,
    Resume,
    FreshDns,
    Done,
}

impl Outage<'_> {
    /// Repairs the component and waits until it works.
    pub fn end(mut self) -> Result<()> {
        self.repair()
    }

    fn repair(&mut self) -> Result<()> {
        match mem::replace(&mut self.repair, Repair::Done) {
            Repair::Start => self.node.restart(self.component)?,
            Repair::Resume => {
                self.component.running()?.resume()?;
                self.component.wait_ready(&self.node.binaries)?;
            }
            Repair::FreshDns => {
                coredns::keep_answers(false)?;
                self.node.restart(self.component)?;
            }
            Repair::Done => return Ok(()),
        }
        if self.component == Component::ApiServer {
            self.node.restart_all(&FOLLOWERS)?;
        }
        Ok(())
    }
}

impl Drop for Outage<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.repair() {
            eprintln!("{} could not be repaired: {error:#}", self.component);
        }
    }
}
