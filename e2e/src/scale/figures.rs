//! What was measured, beside what is allowed.

use std::fmt;

/// One measured value.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    what: String,
    measured: f64,
    unit: &'static str,
    /// `None`: it depends on the machine, and is only reported.
    most: Option<f64>,
    least: Option<f64>,
}

/// All of them, in the order in which they were measured.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures(Vec<Figure>);

impl Figures {
    /// A value that has no bound: it says how fast this machine is.
    pub(super) fn tell(&mut self, what: impl Into<String>, measured: f64, unit: &'static str) {
        self.add(what.into(), measured, unit, None, None);
    }

    /// A value that may not be larger than `most`.
    pub(super) fn at_most(
        &mut self,
        what: impl Into<String>,
        measured: f64,
        unit: &'static str,
        most: f64,
    ) {
        self.add(what.into(), measured, unit, Some(most), None);
    }

    /// A count that has to be this and nothing else.
    pub(super) fn exactly(&mut self, what: impl Into<String>, measured: usize, wanted: usize) {
        let bound = Some(wanted as f64);
        self.add(what.into(), measured as f64, "", bound, bound);
    }

    /// A count within two bounds, both allowed.
    pub(super) fn between(
        &mut self,
        what: impl Into<String>,
        measured: usize,
        (least, most): (usize, usize),
    ) {
        let bounds = [least, most].map(|bound| Some(bound as f64));
        self.add(what.into(), measured as f64, "", bounds[1], bounds[0]);
    }

    fn add(
        &mut self,
        what: String,
        measured: f64,
        unit: &'static str,
        most: Option<f64>,
        least: Option<f64>,
    ) {
        let figure = Figure {
            what,
            measured,
            unit,
            most,
            least,
        };
        println!("  {figure}");
        self.0.push(figure);
    }

    /// Those that are out of bounds.
    pub(super) fn wrong(&self) -> Vec<String> {
        let wrong = self.0.iter().filter(|figure| !figure.is_allowed());
        wrong.map(ToString::to_string).collect()
    }
}

impl Figure {
    fn is_allowed(&self) -> bool {
        let not_too_much = self.most.is_none_or(|most| self.measured <= most);
        let enough = self.least.is_none_or(|least| self.measured >= least);
        // What could not be computed is not allowed either.
        self.measured.is_finite() && not_too_much && enough
    }

    fn allowed(&self) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) if least < most => {
                format!("{} to {}", plain(least), plain(most))
            }
            (Some(_), Some(exactly)) => format!("exactly {}", plain(exactly)),
            (_, Some(most)) => format!("at most {}", plain(most)),
            _ => "-".to_owned(),
        }
    }
}

/// Whole, where the digits behind the point say nothing.
fn plain(value: f64) -> String {
    if value.fract().abs() < 0.005 || value.abs() >= 1_000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, measured, allowed) = (&self.what, plain(self.measured), self.allowed());
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        let verdict = if self.is_allowed() { "" } else { " !!!" };
        write!(
            formatter,
            "{what}: {measured}{unit} (allowed: {allowed}){verdict}"
        )
    }
}

impl fmt::Display for Figures {
    /// As Markdown, for docs/scale.md.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "| figure | measured | allowed |\n|---|---:|---:|"
        )?;
        for figure in &self.0 {
            let (measured, allowed) = (plain(figure.measured), figure.allowed());
            let Figure { what, unit, .. } = figure;
            let measured = format!("{measured} {unit}");
            writeln!(formatter, "| {what} | {} | {allowed} |", measured.trim())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_has_grown_over_its_bound_is_named() {
        let mut figures = Figures::default();
        figures.tell("calls", 17.0, "/s");
        figures.at_most("memory", 1_000.0, "bytes", 1_024.0);
        figures.exactly("pods", 5, 5);
        figures.between("owners", 3, (3, 5));
        assert!(figures.wrong().is_empty());
        figures.at_most("memory", 1_025.0, "bytes", 1_024.0);
        figures.exactly("dials", 4, 5);
        figures.at_most("share", f64::NAN, "", 2.0);
        figures.between("owners", 2, (3, 5));
        let wrong = figures.wrong();
        assert_eq!(wrong.len(), 4);
        assert_eq!(wrong[3], "owners: 2 (allowed: 3 to 5) !!!");
        assert_eq!(wrong[0], "memory: 1025 bytes (allowed: at most 1024) !!!");
        assert!(figures.to_string().contains("| dials | 4 | exactly 5 |"));
    }
}
