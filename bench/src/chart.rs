//! Line charts as SVG, in colours that are readable on light and on dark pages. Both axes are
//! logarithmic, because the values are orders of magnitude apart.

use std::fmt::Write as _;

use crate::stats::short;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;

/// Two lines' labels are at least this far apart.
const LINE: f64 = 15.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Ours,
    OursDashed,
    Peer,
    PeerDashed,
}

impl Style {
    fn classes(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::OursDashed => "ours dashed",
            Self::Peer => "peer",
            Self::PeerDashed => "peer dashed",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) style: Style,
    /// All above zero.
    pub(crate) points: Vec<(f64, f64)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    pub(crate) x_label: &'static str,
    pub(crate) y_label: &'static str,
    /// Where the horizontal axis has its marks, with their texts.
    pub(crate) x_marks: Vec<(f64, String)>,
    pub(crate) series: Vec<Series>,
}

/// A logarithmic axis: from a value to a place on the page.
struct Axis {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let span = (self.most / self.least).ln();
        let part = if span > 0.0 {
            (value / self.least).ln() / span
        } else {
            0.5
        };
        self.from + part * (self.to - self.from)
    }
}

impl Chart {
    pub(crate) fn svg(&self) -> String {
        let values = self.series.iter().flat_map(|series| &series.points);
        let ys: Vec<f64> = values.map(|(_, y)| *y).collect();
        let marks = decades(&ys);
        let x = Axis {
            least: self.x_marks.first().map_or(1.0, |mark| mark.0),
            most: self.x_marks.last().map_or(1.0, |mark| mark.0),
            from: LEFT,
            to: WIDTH - RIGHT,
        };
        let y = Axis {
            least: marks.first().copied().unwrap_or(1.0),
            most: marks.last().copied().unwrap_or(1.0),
            from: HEIGHT - BOTTOM,
            to: TOP,
        };
        let mut svg = String::new();
        self.open(&mut svg);
        for value in marks {
            let place = y.place(value);
            let end = WIDTH - RIGHT;
            line(&mut svg, "grid", (LEFT, place), (end, place));
            text(&mut svg, "end", LEFT - 8.0, place + 4.0, &short_mark(value));
        }
        for (value, label) in &self.x_marks {
            let place = x.place(*value);
            line(&mut svg, "grid", (place, TOP), (place, HEIGHT - BOTTOM));
            text(&mut svg, "middle", place, HEIGHT - BOTTOM + 18.0, label);
        }
        for series in &self.series {
            let mut points = String::new();
            for (value, height) in &series.points {
                let _ = write!(points, "{:.1},{:.1} ", x.place(*value), y.place(*height));
            }
            let (classes, points) = (series.style.classes(), points.trim_end());
            let _ = writeln!(svg, r#"<polyline class="{classes}" points="{points}"/>"#);
        }
        self.label_lines(&mut svg, &y);
        svg.push_str("</svg>\n");
        svg
    }

    /// The same for those who see no pictures.
    pub(crate) fn text(&self) -> String {
        let mut text = self.title.to_owned();
        for series in &self.series {
            let _ = write!(text, "\n  {}:", series.name);
            for ((_, mark), (_, value)) in self.x_marks.iter().zip(&series.points) {
                let _ = write!(text, " {mark} → {},", short(*value));
            }
        }
        text.trim_end_matches(',').to_owned()
    }

    fn open(&self, svg: &mut String) {
        let title = escaped(self.title);
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">"#
        );
        svg.push_str(
            "<style>\
             text{font:13px sans-serif;fill:#777}.title{font-weight:600}\
             .grid{stroke:#8884;stroke-width:1}polyline{fill:none;stroke-width:2.5}\
             .ours{stroke:#3b82d6}.peer{stroke:#d9730d}.dashed{stroke-dasharray:6 4}\
             </style>\n",
        );
        let _ = writeln!(
            svg,
            r#"<text class="title" x="{LEFT}" y="22">{title}</text>"#
        );
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        text(svg, "middle", middle, HEIGHT - 10.0, self.x_label);
        let middle = f64::midpoint(TOP, HEIGHT - BOTTOM);
        let _ = writeln!(
            svg,
            r#"<text text-anchor="middle" transform="translate(16 {middle}) rotate(-90)">{}</text>"#,
            escaped(self.y_label)
        );
    }

    /// Each line's name at its end, moved down where two would overlap.
    fn label_lines(&self, svg: &mut String, y: &Axis) {
        let mut labels: Vec<(f64, &str)> = self
            .series
            .iter()
            .filter_map(|series| Some((y.place(series.points.last()?.1), series.name.as_str())))
            .collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut lowest = f64::MIN;
        for (place, name) in labels {
            lowest = place.max(lowest + LINE);
            text(svg, "start", WIDTH - RIGHT + 8.0, lowest + 4.0, name);
        }
    }
}

/// Powers of ten that enclose the values.
fn decades(values: &[f64]) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    if values.is_empty() || least <= 0.0 {
        return Vec::new();
    }
    let mut mark = 10_f64.powf(least.log10().floor());
    let mut marks = vec![mark];
    while mark < most {
        mark *= 10.0;
        marks.push(mark);
    }
    marks
}

fn short_mark(value: f64) -> String {
    let text = short(value);
    match text.split_once('.') {
        Some((whole, rest)) if rest.chars().all(|digit| digit == '0') => whole.to_owned(),
        Some(_) => text.trim_end_matches('0').to_owned(),
        None => text,
    }
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
    );
}

fn text(svg: &mut String, anchor: &str, x: f64, y: f64, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        svg,
        r#"<text text-anchor="{anchor}" x="{x:.1}" y="{y:.1}">{words}</text>"#
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(series: Vec<Series>) -> String {
        let chart = Chart {
            title: "calls < callers",
            x_label: "callers",
            y_label: "calls per second",
            x_marks: vec![
                (1.0, "1".into()),
                (10.0, "10".into()),
                (100.0, "100".into()),
            ],
            series,
        };
        chart.svg()
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series {
            name: name.to_owned(),
            style: Style::Ours,
            points: points.to_vec(),
        }
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let svg = chart(vec![series(
            "ours",
            &[(1.0, 1.0), (10.0, 10.0), (100.0, 100.0)],
        )]);
        let points = svg.split("points=\"").nth(1).unwrap();
        let points = points.split('"').next().unwrap();
        assert_eq!(points, "70.0,348.0 330.0,196.0 590.0,44.0");
    }

    #[test]
    fn axes_and_lines_are_named_and_text_is_escaped() {
        let svg = chart(vec![series("ours", &[(1.0, 20.0), (100.0, 30.0)])]);
        for words in [
            ">callers<",
            ">calls per second<",
            ">ours<",
            ">calls &lt; callers<",
        ] {
            assert!(svg.contains(words), "{words}:\n{svg}");
        }
    }

    #[test]
    fn labels_of_lines_that_end_together_do_not_overlap() {
        let line = [(1.0, 20.0), (100.0, 50.0)];
        let svg = chart(vec![series("one", &line), series("two", &line)]);
        let height = |name: &str| -> f64 {
            let before = svg.split(&format!("\">{name}<")).next().unwrap();
            before.rsplit("y=\"").next().unwrap().parse().unwrap()
        };
        assert!(height("two") - height("one") >= LINE - 0.1, "{svg}");
    }

    #[test]
    fn marks_enclose_the_values() {
        assert_eq!(decades(&[17.0, 900.0]), [10.0, 100.0, 1000.0]);
        assert_eq!(decades(&[10.0]), [10.0]);
        assert!(decades(&[]).is_empty());
    }

    #[test]
    fn marks_have_no_needless_digits() {
        for (value, text) in [(1.0, "1"), (0.1, "0.1"), (1000.0, "1,000"), (10.0, "10")] {
            assert_eq!(short_mark(value), text);
        }
    }
}
