//! All runners: those that serve, the one of them whose instructions are counted, and a runner that
//! nobody calls, which only sees what the others do.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::instructions::Counter;
use super::member::Member;
use super::stage::Stage;
use crate::api_proxy::Manner;

/// How often is looked whether runners follow.
const GLANCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) counter: Counter,
    /// Runs under valgrind, serves like all others, and is the one that vanishes.
    pub(super) counted: Option<Member>,
    /// The others that serve.
    pub(super) plain: Vec<Member>,
    /// Has no pods.
    pub(super) onlooker: Member,
}

impl Fleet {
    /// Starts the first of each kind. The other runners come later: [`Self::complete`].
    pub(super) async fn start(stage: &Stage<'_>) -> Result<Self> {
        let counter = Counter::new()?;
        let onlooker = Member::start(stage, "scale-onlooker", Vec::new(), None).await?;
        let counted = Member::start(stage, "scale-0", served(stage, 0), Some(&counter)).await?;
        let plain = Member::start(stage, "scale-1", served(stage, 1), None).await?;
        Ok(Self {
            counter,
            counted: Some(counted),
            plain: vec![plain],
            onlooker,
        })
    }

    pub(super) async fn complete(&mut self, stage: &Stage<'_>) -> Result<()> {
        for number in 2..stage.size.runners {
            let name = format!("scale-{number}");
            let member = Member::start(stage, &name, served(stage, number), None).await?;
            self.plain.push(member);
        }
        Ok(())
    }

    pub(super) fn counted(&self) -> Result<&Member> {
        self.counted
            .as_ref()
            .context("the runner that vanishes is gone")
    }

    /// Those that serve and have not vanished.
    pub(super) fn serving(&self) -> Vec<&Member> {
        self.counted.iter().chain(&self.plain).collect()
    }

    /// Those and the onlooker.
    pub(super) fn everybody(&self) -> Vec<&Member> {
        let mut all = self.serving();
        all.push(&self.onlooker);
        all
    }

    pub(super) fn count_anew(&self) {
        for member in self.everybody() {
            member.proxy.count_anew();
        }
    }

    /// How the API server treats all of them.
    pub(super) fn meet(&self, manner: Manner) {
        for member in self.everybody() {
            member.proxy.be(manner);
        }
    }

    /// The most requests that any of them has made since they are counted.
    pub(super) fn most_requests(&self) -> f64 {
        let counts = self
            .everybody()
            .into_iter()
            .map(|member| member.proxy.counted().total());
        counts.max().unwrap_or(0) as f64
    }

    /// The most gated requests that any of them has had under way.
    pub(super) fn most_at_once(&self) -> Vec<String> {
        let counts = self.everybody().into_iter();
        let counts = counts.map(|member| member.proxy.counted().most_at_once);
        counts.max_by_key(Vec::len).unwrap_or_default()
    }

    /// Waits until all of them follow the API server again; how long that took.
    pub(super) async fn follows_again(&self, patience: Duration) -> Result<Duration> {
        let begin = Instant::now();
        while !self.is_following(begin, patience)? {
            tokio::time::sleep(GLANCE).await;
        }
        Ok(begin.elapsed())
    }

    /// The same for a thread that has nothing else to do.
    pub(super) fn waits_to_follow(&self, patience: Duration) -> Result<Duration> {
        let begin = Instant::now();
        while !self.is_following(begin, patience)? {
            thread::sleep(GLANCE);
        }
        Ok(begin.elapsed())
    }

    fn is_following(&self, begin: Instant, patience: Duration) -> Result<bool> {
        let everybody = self.everybody();
        let absent = everybody.iter().filter(|member| !member.follows_again());
        let absent: Vec<&str> = absent.map(|member| member.name.as_str()).collect();
        let is_late = begin.elapsed() > patience;
        ensure!(
            absent.is_empty() || !is_late,
            "after {patience:?} these do not watch again: {}",
            absent.join(", ")
        );
        Ok(absent.is_empty())
    }
}

/// The functions that are called at a runner.
fn served(stage: &Stage<'_>, runner: usize) -> Vec<String> {
    let numbers = stage.size.functions_of(runner);
    let function = |number: usize| stage.functions[number].clone();
    numbers.into_iter().map(function).collect()
}
