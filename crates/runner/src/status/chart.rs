//! Small pictures in SVG: how many calls lately, and what a start was made of. Every
//! picture says in words what it shows.

use maud::{Markup, html};

use super::{starts::StartView, view::LatelyView, words::duration};

const BAR: usize = 5;
const HEIGHT: u64 = 28;

/// Calls in each quarter of a minute as bars, their errors in another colour.
pub(super) fn lately(lately: &LatelyView) -> Markup {
    let most = lately
        .chart
        .iter()
        .map(|(calls, _)| *calls)
        .max()
        .unwrap_or(0);
    let width = lately.chart.len() * BAR;
    let told = format!(
        "{} calls in the last 5 minutes, {} failed, at most {most} in 15 seconds",
        lately.calls, lately.errors
    );
    // What is there at all can be seen.
    let height = |count: u64| match count {
        0 => 0,
        count => (count * HEIGHT).div_ceil(most.max(1)).clamp(2, HEIGHT),
    };
    html! {
        svg.lately role="img" aria-label=(told) viewBox={ "0 0 " (width) " " (HEIGHT + 1) } preserveAspectRatio="none" {
            rect.ground x="0" y=(HEIGHT) width=(width) height="1" {}
            @for (at, (calls, errors)) in lately.chart.iter().enumerate() {
                @let (tall, bad) = (height(*calls), height((*errors).min(*calls)));
                @if tall > 0 {
                    rect.calls x=(at * BAR) y=(HEIGHT - tall) width=(BAR - 1) height=(tall) {}
                }
                @if bad > 0 {
                    rect.errors x=(at * BAR) y=(HEIGHT - bad) width=(BAR - 1) height=(bad) {}
                }
            }
        }
    }
}

/// The parts of a start, each as long as it took, on a scale that all starts share.
pub(super) fn start(start: &StartView, longest: u64) -> Markup {
    const WIDTH: u64 = 1000;
    let scale = |millis: u64| millis * WIDTH / longest.max(1);
    let words = |name: &str, millis: u64| {
        format!(
            "{name}: {}",
            duration(std::time::Duration::from_millis(millis))
        )
    };
    let told: Vec<String> = start
        .phases
        .iter()
        .map(|(name, took)| words(name, *took))
        .collect();
    let mut from = 0;
    let mut bars = Vec::new();
    for (name, took) in &start.phases {
        bars.push((from, scale(*took).max(1), colour(name), words(name, *took)));
        from += scale(*took);
    }
    html! {
        svg.start role="img" aria-label=(told.join(", ")) viewBox={ "0 0 " (WIDTH) " 14" } preserveAspectRatio="none" {
            @for (from, width, colour, told) in bars {
                rect class=(colour) x=(from) y="0" width=(width) height="14" { title { (told) } }
            }
        }
    }
}

/// The parts of a start in their order: each has a colour of its own.
pub(super) const PHASES: [(&str, &str); 7] = [
    ("image metadata", "phase1"),
    ("creating the objects", "phase2"),
    ("scheduling", "phase3"),
    ("sandbox and network", "phase4"),
    ("init containers", "phase5"),
    ("pulling and starting the function", "phase6"),
    ("the wrapper's answer", "phase7"),
];

fn colour(phase: &str) -> &'static str {
    let known = PHASES.iter().find(|(name, _)| *name == phase);
    known.map_or("phase7", |(_, colour)| colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bar_is_as_high_as_the_picture_and_the_smallest_can_be_seen() {
        let of = LatelyView {
            calls: 1001,
            errors: 0,
            p50: None,
            p95: None,
            p99: None,
            chart: vec![(1000, 0), (1, 0), (0, 0)],
        };
        let picture = lately(&of).into_string();
        assert!(
            picture.contains("height=\"28\"") && picture.contains("height=\"2\""),
            "{picture}"
        );
        assert_eq!(picture.matches("class=\"calls\"").count(), 2, "{picture}");
        assert!(
            picture.contains("1001 calls in the last 5 minutes"),
            "{picture}"
        );
    }
}
