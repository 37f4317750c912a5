//! How cost grows: with the size of the list, with the number of callers, with the number of
//! functions. Each becomes a chart; the two sides take turns at every point.

use std::time::Duration;

use acceptance::program::Program;
use anyhow::Result;
use futures::future::try_join_all;
use tonic::transport::Channel;

use crate::caller::{Load, drive};
use crate::chart::{Chart, Series, Style};
use crate::material::{LARGE, SMALL, list};
use crate::rig::{EXEC_IDENTITY, Rig, Side};
use crate::rounds::echoes;

const SIZES: [usize; 5] = [SMALL, 10_000, 100_000, 1_000_000, LARGE];
const CALLERS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const FUNCTIONS: [usize; 4] = [1, 2, 4, 8];

/// Callers while the number of functions changes.
const TOGETHER: usize = 16;

/// A chart and the file it belongs into.
pub(crate) type Named = (&'static str, Chart);

/// One line to be: a runner, what to call there, and how it is drawn.
struct Line {
    name: &'static str,
    style: Style,
    channel: Channel,
    image: String,
}

/// Runners of both sides, which live as long as this.
struct Field {
    lines: Vec<Line>,
    runners: Vec<Program>,
}

impl Field {
    async fn start(rig: &Rig) -> Result<Self> {
        let (mut lines, mut runners) = (Vec::new(), Vec::new());
        for side in Side::BOTH {
            let (pods, exec) = (rig.with_pods(side).await?, rig.with_exec(side).await?);
            let named = match side {
                Side::Ours => [
                    ("ours, pod", Style::Ours),
                    ("ours, exec", Style::OursDashed),
                ],
                Side::Peer => [
                    ("peer, pod", Style::Peer),
                    ("peer, exec", Style::PeerDashed),
                ],
            };
            let images = [rig.identity.clone(), EXEC_IDENTITY.to_owned()];
            for (((name, style), image), runner) in
                named.into_iter().zip(images).zip([&pods, &exec])
            {
                let channel = runner.connect().await?;
                echoes(&channel, &image, &list(SMALL)).await?;
                lines.push(Line {
                    name,
                    style,
                    channel,
                    image,
                });
            }
            runners.extend([pods, exec]);
        }
        Ok(Self { lines, runners })
    }

    async fn stop(self) -> Result<()> {
        for runner in self.runners {
            runner.stop().await?;
        }
        Ok(())
    }
}

/// Measures all three, with this much time for each point.
pub(crate) async fn charts(rig: &Rig, time: Duration) -> Result<Vec<Named>> {
    let field = Field::start(rig).await?;
    let charts = vec![
        ("list-size.svg", over_list_size(&field, time).await?),
        ("callers.svg", over_callers(&field, time).await?),
        ("functions.svg", over_functions(rig, &field, time).await?),
    ];
    field.stop().await?;
    Ok(charts)
}

fn load(image: &str, time: Duration) -> Load {
    Load {
        images: vec![image.to_owned()],
        list: list(SMALL),
        callers: 1,
        time,
        at_least: 3,
    }
}

fn empty(lines: &[Line]) -> Vec<Series> {
    let series = |line: &Line| Series {
        name: line.name.to_owned(),
        style: line.style,
        points: Vec::new(),
    };
    lines.iter().map(series).collect()
}

#[expect(clippy::cast_precision_loss, reason = "the points are small numbers")]
fn real(number: usize) -> f64 {
    number as f64
}

async fn over_list_size(field: &Field, time: Duration) -> Result<Chart> {
    let mut series = empty(&field.lines);
    for size in SIZES {
        let list = list(size);
        for (line, series) in field.lines.iter().zip(&mut series) {
            let mut load = load(&line.image, time);
            load.list = list.clone();
            let p50 = drive(&line.channel, &load).await?.p50()?;
            series.points.push((real(size), p50));
        }
    }
    let texts = ["1 kB", "10 kB", "100 kB", "1 MB", "4.5 MB"].map(str::to_owned);
    Ok(Chart {
        title: "Time of a call, by the size of its list (identity, 1 caller)",
        x_label: "size of the ResourceList",
        y_label: "p50, milliseconds",
        x_marks: SIZES.map(real).into_iter().zip(texts).collect(),
        series,
    })
}

async fn over_callers(field: &Field, time: Duration) -> Result<Chart> {
    let mut series = empty(&field.lines);
    for callers in CALLERS {
        for (line, series) in field.lines.iter().zip(&mut series) {
            let mut load = load(&line.image, time);
            (load.callers, load.at_least) = (callers, 1);
            let rate = drive(&line.channel, &load).await?.per_second();
            series.points.push((real(callers), rate));
        }
    }
    Ok(Chart {
        title: "Calls per second, by callers (identity, small list)",
        x_label: "callers at once, over one connection",
        y_label: "calls per second",
        x_marks: CALLERS
            .map(|count| (real(count), count.to_string()))
            .to_vec(),
        series,
    })
}

async fn over_functions(rig: &Rig, field: &Field, time: Duration) -> Result<Chart> {
    let most = FUNCTIONS[FUNCTIONS.len() - 1];
    let images = rig.several(most)?;
    let in_pods = |line: &&Line| matches!(line.style, Style::Ours | Style::Peer);
    let lines: Vec<&Line> = field.lines.iter().filter(in_pods).collect();
    let mut series = Vec::new();
    for line in &lines {
        let small = list(SMALL);
        let first = images
            .iter()
            .map(|image| echoes(&line.channel, image, &small));
        try_join_all(first).await?;
        series.push(Series {
            name: line.name.to_owned(),
            style: line.style,
            points: Vec::new(),
        });
    }
    for count in FUNCTIONS {
        for (line, series) in lines.iter().zip(&mut series) {
            let mut load = load(&line.image, time);
            load.images = images[..count].to_vec();
            (load.callers, load.at_least) = (TOGETHER, 1);
            let rate = drive(&line.channel, &load).await?.per_second();
            series.points.push((real(count), rate));
        }
    }
    Ok(Chart {
        title: "Calls per second, by functions in use (identity, 16 callers)",
        x_label: "functions, each with a pod of its own",
        y_label: "calls per second",
        x_marks: FUNCTIONS
            .map(|count| (real(count), count.to_string()))
            .to_vec(),
        series,
    })
}
