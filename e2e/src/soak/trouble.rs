//! Carries out a round's faults, at their times. Each lane has one fault at a time; a fault that
//! takes longer than planned delays the rest of its lane, so that the gaps stay.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cluster::component::Component;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::blows::{Pods, insist};
use super::fault::{Fault, Time};
use super::ledger::Ledger;
use super::material::Material;
use super::plan::{Planned, Round};
use super::replicas::Replicas;
use crate::api_proxy::Manner;
use crate::name_server::Answers;
use crate::outage::{Breakable, Outage};

/// Connections that send nothing.
const STRANGERS: usize = 40;

#[derive(Debug)]
pub(crate) struct Trouble<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) replicas: &'a Replicas<'a>,
    pub(crate) material: &'a Material,
    pub(crate) pods: Pods<'a>,
    /// Lives as long as the process: an outage is ended in another thread.
    pub(crate) node: Option<&'static Breakable>,
}

impl Trouble<'_> {
    /// Until the round is over. Callers go on meanwhile, in their own threads.
    pub(crate) async fn of(&self, round: &Round) -> Result<()> {
        let began = Instant::now();
        tokio::try_join!(
            self.lane(&round.surroundings, began),
            self.lane(&round.blows, began)
        )?;
        sleep(round.lasts.saturating_sub(began.elapsed())).await;
        Ok(())
    }

    async fn lane(&self, lane: &[Planned], began: Instant) -> Result<()> {
        let mut delay = Duration::ZERO;
        for planned in lane {
            sleep((planned.at + delay).saturating_sub(began.elapsed())).await;
            let number = self.ledger.begins(planned.fault);
            println!("{:>9}  {}", Time(self.ledger.now()), planned.fault);
            let start = Instant::now();
            let happened = self.happen(planned).await;
            happened.with_context(|| format!("while {}", planned.fault))?;
            self.ledger.ends(number);
            delay += start.elapsed().saturating_sub(planned.lasts);
        }
        Ok(())
    }

    async fn happen(&self, planned: &Planned) -> Result<()> {
        let lasts = planned.lasts;
        match planned.fault {
            Fault::Pods(blow, aim) => self.pods.strike(blow, aim, lasts).await?,
            Fault::Api(manner) => {
                self.replicas.proxy.be(manner);
                sleep(lasts).await;
                self.replicas.proxy.be(Manner::Plain);
            }
            Fault::Names(answers) => {
                self.replicas.names.give(answers);
                sleep(lasts).await;
                self.replicas.names.give(Answers::Late(Duration::ZERO));
            }
            Fault::Stopped(component) => {
                self.out_of_order(component, lasts, Breakable::stop).await?;
            }
            Fault::Frozen(component) => {
                self.out_of_order(component, lasts, Breakable::pause)
                    .await?;
            }
            Fault::Replaced => self.replicas.replace().await?,
            Fault::Crashed => self.replicas.crash().await?,
            Fault::Changed(followed) => insist(|| self.material.change(followed)).await?,
            Fault::Broken(followed) => {
                insist(|| self.material.break_it(followed)).await?;
                sleep(lasts).await;
                insist(|| self.material.change(followed)).await?;
            }
            Fault::TagMoved(function) => {
                insist(async || self.material.move_tag(function)).await?;
            }
            Fault::Strangers => self.strangers(lasts).await?,
        }
        Ok(())
    }

    async fn out_of_order(
        &self,
        component: Component,
        lasts: Duration,
        fault: impl Fn(&'static Breakable, Component) -> Result<Outage<'static>>,
    ) -> Result<()> {
        let node = self.node.context("a plan for a node of one's own")?;
        let outage = fault(node, component)?;
        sleep(lasts).await;
        // The repair waits for whole programs.
        spawn_blocking(move || outage.end()).await?
    }

    async fn strangers(&self, lasts: Duration) -> Result<()> {
        let mut open = Vec::new();
        for _ in 0..STRANGERS {
            open.push(TcpStream::connect(self.replicas.front.address()).await?);
        }
        sleep(lasts).await;
        drop(open);
        Ok(())
    }
}
