//! The median of a few measurements, and how far they lie apart.

/// The middle of some values, the least and the most of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Figure {
    /// `None` of nothing.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self {
            median,
            least,
            most,
        })
    }
}

/// Ours to the peer's, round by round: what disturbs a round disturbs both of its sides.
pub(crate) fn ratios(ours: &[f64], peer: &[f64]) -> Vec<f64> {
    ours.iter()
        .zip(peer)
        .map(|(ours, peer)| ours / peer)
        .collect()
}

/// A number as a reader wants it: two or three digits that matter.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        size if size >= 100.0 => thousands(value),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        let figure = Figure::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((figure.least, figure.median, figure.most), (1.0, 2.0, 3.0));
        assert_eq!(Figure::of(&[4.0, 1.0, 3.0, 2.0]).unwrap().median, 2.5);
        assert_eq!(Figure::of(&[]), None);
    }

    #[test]
    fn one_stray_value_moves_the_spread_and_not_the_median() {
        let figure = Figure::of(&[1.0, 1.1, 0.9, 1.0, 50.0]).unwrap();
        assert_eq!((figure.median, figure.most), (1.0, 50.0));
    }

    #[test]
    fn ratios_pair_what_was_measured_together() {
        assert_eq!(ratios(&[1.0, 4.0], &[2.0, 16.0]), [0.5, 0.25]);
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (1_234_567.0, "1,234,567"),
            (123.4, "123"),
            (12.34, "12.3"),
            (1.234, "1.23"),
            (0.1234, "0.12"),
            (0.0123, "0.012"),
            (0.0, "0.00"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
