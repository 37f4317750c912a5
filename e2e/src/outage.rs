//! Breaking the cluster on purpose, for a while.

use std::mem;

use anyhow::Result;
use cluster::binaries::Binaries;
use cluster::component::Component;

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
        let process = component.running()?;
        process.kill()?;
        process.wait_dead()?;
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
    Done,
}

impl Outage<'_> {
    /// Repairs the component and waits until it works.
    pub fn end(mut self) -> Result<()> {
        self.repair()
    }

    fn repair(&mut self) -> Result<()> {
        match mem::replace(&mut self.repair, Repair::Done) {
            Repair::Start => drop(self.component.start(&self.node.binaries)?),
            Repair::Resume => self.component.running()?.resume()?,
            Repair::Done => return Ok(()),
        }
        self.component.wait_ready(&self.node.binaries)
    }
}

impl Drop for Outage<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.repair() {
            eprintln!("{} could not be repaired: {error:#}", self.component);
        }
    }
}
