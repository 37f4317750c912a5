//! The rows that are not a load on one list: calls in a row, a call beside one that does nothing,
//! memory, and a server that confines nothing.

use std::time::Instant;

use acceptance::program::check_health;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;

use super::{Called, Round, TOGETHER, has_go, list};
use crate::caller::milliseconds;
use crate::lists::{Objects, config};
use crate::material::{LARGE, SMALL};
use crate::memory::peak_megabytes;
use crate::pipeline::{IN_A_ROW, ROW};
use crate::servers::{bundled, go};
use crate::stats::Figure;
use crate::work::Bundled;

impl Round<'_> {
    pub(super) async fn starlark_not_ahead(&mut self) -> Result<()> {
        let [mut ours, other] = self.sides("starlark");
        ours.server = other.server;
        let list = list(Objects::Canonical, SMALL, "starlark")?;
        self.row(Bundled::StarlarkNotAhead, ours, Some(other), list, 1)
            .await
    }

    pub(super) async fn memory(&mut self, function: &'static str) -> Result<()> {
        if !self.is_wanted(Bundled::Memory(function)) {
            return Ok(());
        }
        let list = list(Objects::Canonical, LARGE, function)?;
        let [ours, other] = self.sides(function);
        let other = has_go(function).then_some(other);
        for (side, is_ours) in [(Some(ours), true), (other, false)] {
            let Some(side) = side else { continue };
            let work = async { side.answer(&list).await.map(drop) };
            let peak = peak_megabytes(side.server.pid(), work).await?;
            self.put(Bundled::Memory(function), is_ours, peak);
        }
        Ok(())
    }

    pub(super) async fn in_a_row(&mut self) -> Result<()> {
        if !self.is_wanted(Bundled::InARow) {
            return Ok(());
        }
        let list = list(Objects::Canonical, ROW, IN_A_ROW[0])?;
        let mut answers = Vec::new();
        for is_ours in [true, false] {
            let mut times = Vec::new();
            let begin = Instant::now();
            while begin.elapsed() < self.time || times.len() < 3 {
                let called = Instant::now();
                let mut list = list.clone();
                for function in IN_A_ROW {
                    let [ours, other] = self.sides(function);
                    let side = if is_ours { ours } else { other };
                    list = side.answer(&configured(&list, function)?).await?;
                }
                times.push(milliseconds(called.elapsed()));
                answers.push(list);
            }
            let figure = Figure::of(&times).context("no call was made")?;
            self.put(Bundled::InARow, is_ours, figure.median);
        }
        let is_same = answers.iter().all(|answer| *answer == answers[0]);
        ensure!(is_same, "the sides differ after five functions");
        Ok(())
    }

    /// One after the other, so that whatever disturbs falls on both.
    pub(super) async fn beside_health(&mut self) -> Result<()> {
        if !self.is_wanted(Bundled::BesideHealth) {
            return Ok(());
        }
        let list = list(Objects::Canonical, SMALL, "set-namespace")?;
        let [ours, _] = self.sides("set-namespace");
        let channel = &ours.server.channel;
        let (mut calls, mut checks) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while begin.elapsed() < 2 * self.time {
            let called = Instant::now();
            ours.answer(&list).await?;
            calls.push(milliseconds(called.elapsed()));
            let called = Instant::now();
            check_health(channel.clone()).await?;
            checks.push(milliseconds(called.elapsed()));
        }
        for (times, is_ours) in [(calls, true), (checks, false)] {
            let figure = Figure::of(&times).context("no call was made")?;
            self.put(Bundled::BesideHealth, is_ours, figure.median);
        }
        Ok(())
    }
}

impl Round<'_> {
    pub(super) async fn beside_unconfined(&mut self) -> Result<()> {
        let function = "set-namespace";
        for (work, image) in [
            (Bundled::Confined, go(function)),
            (Bundled::NothingConfined, bundled(function)),
        ] {
            let list = list(Objects::Canonical, SMALL, function)?;
            let [ours, other] =
                [&self.servers.bundled, &self.servers.unconfined].map(|server| Called {
                    server,
                    image: image.clone(),
                });
            self.row(work, ours, Some(other), list, TOGETHER).await?;
        }
        Ok(())
    }
}

/// The list with the configuration of that function, and without results.
fn configured(list: &Bytes, function: &str) -> Result<Bytes> {
    const CONFIG: &str = "\nfunctionConfig:\n";
    let text = std::str::from_utf8(list)?;
    let (items, _) = text
        .split_once(CONFIG)
        .context("a list without its configuration")?;
    let config = config(function).context("no configuration")?;
    Ok([items, CONFIG, config].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_function_gets_its_own_configuration_and_no_results() {
        let answer = "kind: ResourceList\nitems:\n- a: b\nfunctionConfig:\n  a: b\nresults:\n- c\n";
        for function in IN_A_ROW {
            let next = configured(&answer.into(), function).unwrap();
            let config = config(function).unwrap();
            let expected = format!("kind: ResourceList\nitems:\n- a: b\nfunctionConfig:\n{config}");
            assert_eq!(next, expected);
        }
    }
}
