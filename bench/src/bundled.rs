//! The bundled functions beside the Go functions, each a process of our own server that starts none
//! ahead; beside the peer's server; and beside a call that does nothing.
//!
//! Both sides of a row are measured right after each other; they take turns in going first.

mod others;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;

use crate::caller::{Load, at_once, call, drive};
use crate::lists::{self, Objects, config};
use crate::material::{LARGE, PACKAGE, SMALL};
use crate::servers::{Functions, Server, Servers, bundled, go};
use crate::table::Measurements;
use crate::work::{Bundled, Unit, Work};

const MEASURED: [&str; 5] = [
    "apply-setters",
    "search-replace",
    "set-labels",
    "set-namespace",
    "starlark",
];
const TOGETHER: usize = 16;

/// All rows, or those whose names contain one of these words.
pub(crate) async fn all_rounds(
    rounds: usize,
    time: Duration,
    only: &[String],
) -> Result<Measurements> {
    let functions = Functions::build()?;
    let mut measurements = Measurements::new();
    for round in 0..rounds {
        let begin = Instant::now();
        let servers = functions.serve().await?;
        let mut this = Round {
            servers: &servers,
            time,
            only,
            ours_begins: round % 2 == 0,
            measurements: &mut measurements,
        };
        this.measure().await?;
        servers.stop().await?;
        let seconds = begin.elapsed().as_secs();
        eprintln!("round {} of {rounds}: {seconds} s", round + 1);
    }
    Ok(measurements)
}

struct Round<'a> {
    servers: &'a Servers,
    /// For each load.
    time: Duration,
    only: &'a [String],
    ours_begins: bool,
    measurements: &'a mut Measurements,
}

/// One side of a row: which server is called with what.
struct Called<'a> {
    server: &'a Server,
    image: String,
}

impl<'a> Round<'a> {
    async fn measure(&mut self) -> Result<()> {
        for function in MEASURED {
            for size in [SMALL, PACKAGE, LARGE] {
                let work = Bundled::Alone(function, size);
                self.beside_go(work, function, Objects::Canonical, size, 1)
                    .await?;
            }
            self.memory(function).await?;
        }
        let function = "set-namespace";
        for (work, objects) in [
            (Bundled::OneInTenOdd, Objects::OneInTenOdd),
            (Bundled::AllOdd, Objects::AllOdd),
        ] {
            self.beside_go(work, function, objects, LARGE, 1).await?;
        }
        self.beside_go(
            Bundled::Together,
            function,
            Objects::Canonical,
            SMALL,
            TOGETHER,
        )
        .await?;
        self.starlark_not_ahead().await?;
        self.in_a_row().await?;
        self.beside_health().await?;
        self.beside_unconfined().await?;
        if let Some(peer) = &self.servers.peer {
            for (work, size, callers) in [
                (Bundled::PeerAlone(SMALL), SMALL, 1),
                (Bundled::PeerAlone(LARGE), LARGE, 1),
                (Bundled::PeerTogether, SMALL, TOGETHER),
            ] {
                let list = list(Objects::Canonical, size, function)?;
                let [ours, _] = self.sides(function);
                let other = Called {
                    server: peer,
                    image: go(function),
                };
                self.row(work, ours, Some(other), list, callers).await?;
            }
        }
        Ok(())
    }

    fn is_wanted(&self, work: Bundled) -> bool {
        let name = Work::Bundled(work).name();
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word))
    }

    /// The bundled function, and the Go function in a server that starts none ahead.
    fn sides(&self, function: &str) -> [Called<'a>; 2] {
        let Servers {
            bundled: ahead,
            not_ahead,
            ..
        } = self.servers;
        [
            Called {
                server: ahead,
                image: bundled(function),
            },
            Called {
                server: not_ahead,
                image: go(function),
            },
        ]
    }

    async fn beside_go(
        &mut self,
        work: Bundled,
        function: &'static str,
        objects: Objects,
        size: usize,
        callers: usize,
    ) -> Result<()> {
        let list = list(objects, size, function)?;
        let [ours, other] = self.sides(function);
        let other = has_go(function).then_some(other);
        self.row(work, ours, other, list, callers).await
    }

    /// Measures both sides, whose answers have to be the same.
    async fn row(
        &mut self,
        work: Bundled,
        ours: Called<'_>,
        other: Option<Called<'_>>,
        list: Bytes,
        callers: usize,
    ) -> Result<()> {
        if !self.is_wanted(work) {
            return Ok(());
        }
        let expected = ours.answer(&list).await?;
        if let Some(other) = other.as_ref().filter(|_| list.len() < LARGE) {
            let is_same = other.answer(&list).await? == expected;
            ensure!(is_same, "{} and {} differ", ours.image, other.image);
        }
        let mut sides = vec![(Some(&ours), true), (other.as_ref(), false)];
        if !self.ours_begins {
            sides.reverse();
        }
        for (side, is_ours) in sides {
            let Some(side) = side else { continue };
            let load = Load {
                images: vec![side.image.clone()],
                list: list.clone(),
                callers,
                time: self.time,
                at_least: 1,
            };
            let channel = &side.server.channel;
            let outcome = match list.len() {
                // Nothing is cold in a call that takes seconds.
                LARGE.. if !is_ours => {
                    at_once(
                        channel,
                        &Load {
                            time: Duration::ZERO,
                            ..load
                        },
                    )
                    .await?
                }
                _ => drive(channel, &load).await?,
            };
            let value = match Work::Bundled(work).unit() {
                Unit::CallsPerSecond => outcome.per_second(),
                _ => outcome.p50()?,
            };
            self.put(work, is_ours, value);
        }
        Ok(())
    }

    fn put(&mut self, work: Bundled, is_ours: bool, value: f64) {
        let rounds = self.measurements.entry(Work::Bundled(work)).or_default();
        let values = if is_ours {
            &mut rounds.ours
        } else {
            &mut rounds.other
        };
        values.push(value);
    }
}

impl Called<'_> {
    async fn answer(&self, list: &Bytes) -> Result<Bytes> {
        call(self.server.channel.clone(), &self.image, list).await
    }
}

/// Whether its Go function can be built from a module.
fn has_go(function: &str) -> bool {
    function != "set-labels"
}

fn list(objects: Objects, size: usize, function: &str) -> Result<Bytes> {
    let config = config(function).context("no configuration")?;
    Ok(lists::list(objects, size, config).into())
}
