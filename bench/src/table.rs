//! The measurements as a Markdown table, and its place in a document.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::stats::{Figure, ratios, short};
use crate::work::{Bar, Unit, Work};

/// The two sides of each round.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rounds {
    pub(crate) ours: Vec<f64>,
    pub(crate) other: Vec<f64>,
}

/// In which rounds a bar was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    Always,
    Sometimes,
    Never,
}

impl Rounds {
    fn met(&self, bar: Bar) -> Met {
        let rounds = self.ours.iter().zip(&self.other);
        let met = rounds
            .clone()
            .filter(|(ours, other)| bar.is_met(**ours, **other));
        match met.count() {
            count if count == rounds.len() => Met::Always,
            0 => Met::Never,
            _ => Met::Sometimes,
        }
    }
}

/// The work whose bar was missed in every round: one bad round may be the machine's fault.
pub(crate) fn missed(measurements: &Measurements) -> Vec<String> {
    let missed = measurements
        .iter()
        .filter(|(work, rounds)| rounds.met(work.bar()) == Met::Never);
    missed.map(|(work, _)| work.name().into_owned()).collect()
}

pub(crate) type Measurements = BTreeMap<Work, Rounds>;

/// One row for each kind of work that was measured. `other` names the other side.
pub(crate) fn render(measurements: &Measurements, other: &str) -> String {
    let head = format!(
        "| work | ours | {other} | ours : {other} | bar | met |\n|---|---|---|---|---|---|\n"
    );
    let rows = measurements
        .iter()
        .filter_map(|(work, rounds)| row(*work, rounds));
    head + &rows.collect::<String>()
}

fn row(work: Work, rounds: &Rounds) -> Option<String> {
    let ours = Figure::of(&rounds.ours)?;
    let unit = work.unit();
    let Some(other) = Figure::of(&rounds.other) else {
        // Nothing to compare with.
        let (name, spread) = (work.name(), spread(&ours, short));
        return Some(format!(
            "| {name} | {}{spread} | | | | |\n",
            with_unit(unit, ours.median)
        ));
    };
    let ratio = Figure::of(&ratios(&rounds.ours, &rounds.other))?;
    let met = match rounds.met(work.bar()) {
        _ if work.bar() == Bar::None => "",
        Met::Always => "yes",
        Met::Sometimes => "in some rounds",
        Met::Never => "**no**",
    };
    Some(format!(
        "| {} | {}{} | {}{} | **{}**{} | {} | {met} |\n",
        work.name(),
        with_unit(unit, ours.median),
        spread(&ours, short),
        with_unit(unit, other.median),
        spread(&other, short),
        quotient(ratio.median),
        spread(&ratio, quotient),
        bar(work.bar(), unit),
    ))
}

fn with_unit(unit: Unit, value: f64) -> String {
    let unit = match unit {
        Unit::Milliseconds => "ms",
        Unit::CallsPerSecond => "/s",
        Unit::Megabytes => "MB",
    };
    format!("{} {unit}", short(value))
}

/// In parentheses; nothing where all values look the same.
fn spread(figure: &Figure, text: fn(f64) -> String) -> String {
    let (least, most) = (text(figure.least), text(figure.most));
    if least == most {
        String::new()
    } else {
        format!(" ({least} to {most})")
    }
}

/// A ratio as it is spoken: `1/23`, `0.43`, `41 ×`.
fn quotient(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 1.0 => format!("{} ×", short(ratio)),
        ratio if ratio > 0.0 && ratio < 0.2 => format!("1/{}", short(1.0 / ratio)),
        ratio => short(ratio),
    }
}

fn bar(bar: Bar, unit: Unit) -> String {
    match bar {
        Bar::AtMost(bar) => {
            let whole = (1.0 / bar).round();
            if (bar * whole - 1.0).abs() < 1e-9 && whole > 2.0 {
                format!("at most 1/{whole}")
            } else if bar > 1.0 {
                format!("at most {bar} ×")
            } else {
                format!("at most {bar}")
            }
        }
        Bar::AtLeast(bar) => format!("at least {bar} ×"),
        Bar::OursAtMost(bar) => format!("ours at most {}", with_unit(unit, bar)),
        Bar::None => String::new(),
    }
}

/// Replaces what stands between a document's two marks of this name.
pub(crate) fn insert(document: &str, name: &str, text: &str) -> Result<String> {
    let begin = format!("<!-- {name}: begin -->\n");
    let end = format!("<!-- {name}: end -->");
    let (before, rest) = document
        .split_once(&begin)
        .context("no mark for the begin")?;
    let (_, after) = rest.split_once(&end).context("no mark for the end")?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{material::SMALL, work::Bundled};

    fn measured(work: Work, ours: &[f64], peer: &[f64]) -> String {
        let rounds = Rounds {
            ours: ours.to_vec(),
            other: peer.to_vec(),
        };
        render(&[(work, rounds)].into(), "peer")
    }

    #[test]
    fn a_row_shows_medians_spread_ratio_and_whether_the_bar_is_met() {
        let table = measured(Work::WarmPodAlone, &[2.0, 1.0, 3.0], &[60.0, 60.0, 60.0]);
        assert!(
            table.ends_with(
                "| warm pod, identity, 1 caller, p50 | 2.00 ms (1.00 to 3.00) | 60.0 ms | \
                 **1/30.0** (1/60.0 to 1/20.0) | at most 1/20 | yes |\n"
            ),
            "{table}"
        );
    }

    #[test]
    fn a_bar_that_is_missed_is_said() {
        let table = measured(Work::ExecTogether, &[90.0], &[100.0]);
        assert!(
            table.ends_with("| **0.90** | at least 0.95 × | **no** |\n"),
            "{table}"
        );
        let table = measured(Work::FirstCall, &[60.0], &[100.0]);
        assert!(
            table.ends_with("| **0.60** | at most 0.65 | yes |\n"),
            "{table}"
        );
        let table = measured(Work::WrapperSize, &[3.0], &[50.0]);
        assert!(
            table.ends_with("| ours at most 3.30 MB | yes |\n"),
            "{table}"
        );
    }

    #[test]
    fn a_bar_counts_as_missed_only_if_no_round_met_it() {
        let rounds = |ours: &[f64]| Rounds {
            ours: ours.to_vec(),
            other: vec![100.0; ours.len()],
        };
        let measurements: Measurements = [
            (Work::FirstCall, rounds(&[66.0, 64.0, 70.0])),
            (Work::ExecTogether, rounds(&[94.0, 90.0])),
            (Work::LargeListInExec, rounds(&[50.0, 60.0])),
        ]
        .into();
        assert_eq!(missed(&measurements), [Work::ExecTogether.name()]);
        let table = render(&measurements, "peer");
        assert!(
            table.contains("| at most 0.65 | in some rounds |"),
            "{table}"
        );
        assert!(table.contains("| at least 0.95 × | **no** |"), "{table}");
        assert!(table.contains("| at most 0.6 | yes |"), "{table}");
    }

    #[test]
    fn what_was_not_measured_has_no_row() {
        assert_eq!(render(&Measurements::new(), "peer").lines().count(), 2);
    }

    #[test]
    fn work_with_nothing_beside_it_has_a_row_with_our_figure_and_fails_no_bar() {
        let work = Work::Bundled(Bundled::Alone("set-labels", SMALL));
        let table = measured(work, &[2.0], &[]);
        assert!(
            table.ends_with("| set-labels, 1 kB | 2.00 ms | | | | |\n"),
            "{table}"
        );
        let rounds = Rounds {
            ours: vec![2.0],
            other: Vec::new(),
        };
        assert_eq!(missed(&[(work, rounds)].into()), [""; 0]);
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let document = "a\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nz\n";
        let expected = "a\n<!-- measured: begin -->\nnew\n<!-- measured: end -->\nz\n";
        assert_eq!(insert(document, "measured", "new\n").unwrap(), expected);
        assert!(insert("nothing", "measured", "new").is_err());
        assert!(insert(document, "others", "new").is_err());
    }
}
