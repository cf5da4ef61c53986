//! The table of predicted and measured gains as a picture, an SVG that needs nothing else.
//!
//! ```text
//!   prepare × 1.25      ░░░░▓░░░░          predicted: the range, and a mark in the middle
//!                         ├──●──┤     yes  measured: the interval, and its median
//!   short_side × 1.25              ░▓░
//!                               ├──●──┤  not sure
//!                      -20   -10    0     per cent of the elapsed time
//! ```
//! Colours have at least 3:1 against the ground in light and in dark; outcomes are words, not colours alone.

use std::fmt::Write as _;

use crate::report::{Report, Row};
use crate::visible::visible;

const WIDTH: f64 = 820.0;
/// Left of the drawing: names of changes.
const NAMES: f64 = 230.0;
/// Right of it: outcomes.
const OUTCOMES: f64 = 100.0;
const HEAD: f64 = 96.0;
const FOOT: f64 = 66.0;
const ROW: f64 = 44.0;
/// Characters of a name.
const LONGEST_NAME: usize = 30;
/// Marks on the axis, at most about so many.
const MARKS: f64 = 7.0;

const STYLE: &str = "\
.ground{fill:#fff}text{font:13px system-ui,sans-serif;fill:#1c2430}.title{font-size:16px;font-weight:600}\
.quiet{fill:#5a6472;font-size:12px}.name{text-anchor:end}.mark{text-anchor:middle;fill:#5a6472;font-size:12px}\
.grid{stroke:#e3e7ec}.zero{stroke:#8a94a1}.range{fill:#9cc3ea}.middle{stroke:#1f66ad;stroke-width:2}\
.interval{stroke:#b34a00;stroke-width:2}.median{fill:#b34a00}\
@media(prefers-color-scheme:dark){.ground{fill:#12161c}text{fill:#e6eaf0}.quiet,.mark{fill:#a3adba}.grid{stroke:#2a313b}\
.zero{stroke:#76808d}.range{fill:#2c5f94}.middle{stroke:#8fc1f5}.interval{stroke:#ff9d5c}.median{fill:#ff9d5c}}";

/// The picture of a report of [`build_zero`](super::build_zero).
#[must_use]
pub fn plot_zero(report: &Report) -> String {
    let axis = GainAxis::of(&report.rows);
    let bottom = HEAD + ROW * report.rows.len() as f64;
    let height = bottom + FOOT;
    let command = escaped(&shortened(&report.recording.command.join(" "), 90));
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>Predicted and measured gains</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"16\" y=\"28\">Predicted and measured gains</text>\n\
         <text class=\"quiet\" x=\"16\" y=\"48\">{command}</text>\n"
    );
    legend(&mut picture);
    for mark in axis.marks() {
        let (x, class) = (axis.x(mark), if mark == 0.0 { "zero" } else { "grid" });
        let _ = writeln!(
            picture,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEAD}\" y2=\"{bottom}\"/>\
             <text class=\"mark\" x=\"{x:.1}\" y=\"{}\">{}</text>",
            bottom + 18.0,
            mark_text(mark)
        );
    }
    for (index, row) in report.rows.iter().enumerate() {
        draw(&mut picture, row, &axis, HEAD + ROW * index as f64);
    }
    let middle = f64::midpoint(NAMES, WIDTH - OUTCOMES);
    let _ = writeln!(
        picture,
        "<text class=\"mark\" x=\"{middle:.1}\" y=\"{}\">gain, % of the elapsed time (negative: the run takes longer)</text>\n</svg>",
        bottom + 44.0
    );
    picture
}

fn legend(picture: &mut String) {
    let _ = writeln!(
        picture,
        "<rect class=\"range\" x=\"{NAMES}\" y=\"66\" width=\"34\" height=\"10\" rx=\"2\"/>\
         <line class=\"middle\" x1=\"{0}\" x2=\"{0}\" y1=\"64\" y2=\"78\"/>\
         <text class=\"quiet\" x=\"{1}\" y=\"75\">predicted range</text>\
         <line class=\"interval\" x1=\"{2}\" x2=\"{3}\" y1=\"71\" y2=\"71\"/><circle class=\"median\" cx=\"{4}\" cy=\"71\" r=\"4\"/>\
         <text class=\"quiet\" x=\"{5}\" y=\"75\">measured median and its 95 % interval</text>\
         <text class=\"quiet\" x=\"{6}\" y=\"75\">inside?</text>",
        NAMES + 17.0,
        NAMES + 42.0,
        NAMES + 150.0,
        NAMES + 184.0,
        NAMES + 167.0,
        NAMES + 192.0,
        WIDTH - OUTCOMES + 16.0,
    );
}

/// A change: the predicted range above, the measured interval below it.
fn draw(picture: &mut String, row: &Row, axis: &GainAxis, top: f64) {
    let (above, below) = (top + 8.0, top + 30.0);
    let _ = writeln!(
        picture,
        "<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
        NAMES - 14.0,
        top + 26.0,
        escaped(&shortened(&super::label(row), LONGEST_NAME))
    );
    if let Some((low, high)) = row.value("gain_low_percent").zip(row.value("gain_high_percent")) {
        // A range of no width is seen too.
        let (from, width) = (axis.x(low), (axis.x(high) - axis.x(low)).max(3.0));
        let _ = writeln!(
            picture,
            "<rect class=\"range\" x=\"{from:.1}\" y=\"{above}\" width=\"{width:.1}\" height=\"12\" rx=\"2\"/>"
        );
    }
    if let Some(x) = row.value("elapsed_gain_percent").map(|gain| axis.x(gain)) {
        let _ = writeln!(
            picture,
            "<line class=\"middle\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"/>",
            above - 2.0,
            above + 14.0
        );
    }
    if let Some((low, high)) = row.value("measured_low_percent").zip(row.value("measured_high_percent")) {
        let (low, high) = (axis.x(low), axis.x(high));
        let _ = writeln!(
            picture,
            "<path class=\"interval\" d=\"M{low:.1} {}v8M{low:.1} {below}H{high:.1}M{high:.1} {}v8\"/>",
            below - 4.0,
            below - 4.0
        );
    }
    if let Some(gain) = row.value("measured_gain_percent") {
        let (x, outcome) = (axis.x(gain), row.words("inside"));
        let outcome = if outcome.is_empty() { "no interval" } else { outcome };
        let _ = writeln!(
            picture,
            "<circle class=\"median\" cx=\"{x:.1}\" cy=\"{below}\" r=\"4.5\"/>\
             <text x=\"{}\" y=\"{}\">{outcome}</text>",
            WIDTH - OUTCOMES + 16.0,
            top + 26.0
        );
    }
}

/// Gains from left to right, zero among them.
struct GainAxis {
    low: f64,
    high: f64,
    step: f64,
}

impl GainAxis {
    fn of(rows: &[Row]) -> GainAxis {
        let drawn = [
            "elapsed_gain_percent",
            "gain_low_percent",
            "gain_high_percent",
            "measured_gain_percent",
            "measured_low_percent",
            "measured_high_percent",
        ];
        let values = || rows.iter().flat_map(|row| drawn.iter().filter_map(|column| row.value(column)));
        let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        let step = step_of((high - low).max(1.0) / MARKS);
        GainAxis { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }.padded()
    }

    /// Where all gains are on one side there is room on the other side of zero.
    fn padded(self) -> GainAxis {
        let high = if self.high == 0.0 { self.step / 2.0 } else { self.high };
        let low = if self.low == 0.0 { -self.step / 2.0 } else { self.low };
        GainAxis { low, high, ..self }
    }

    fn x(&self, gain: f64) -> f64 {
        NAMES + (WIDTH - OUTCOMES - NAMES) * (gain - self.low) / (self.high - self.low)
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        let first = (self.low / self.step).ceil() as i64;
        let last = (self.high / self.step).floor() as i64;
        let step = self.step;
        (first..=last).map(move |mark| mark as f64 * step)
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn step_of(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

fn mark_text(mark: f64) -> String {
    let text = if mark.fract() == 0.0 { format!("{mark:.0}") } else { format!("{mark:.1}") };
    text.replace('-', "−")
}

/// The end is left out, what follows the name of the procedure (its factor) is kept.
fn shortened(text: &str, most: usize) -> String {
    let text = visible(text).to_string();
    let count = text.chars().count();
    if count <= most {
        return text;
    }
    let kept = most - 1;
    let begin: String = text.chars().take(kept - kept / 3).collect();
    let end: String = text.chars().skip(count - kept / 3).collect();
    format!("{begin}…{end}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(predicted: [f64; 3], measured: [f64; 3]) -> Row {
        Row::default()
            .text("change", "grid::solve<int> & more")
            .percent("gain_low_percent", predicted[0])
            .percent("elapsed_gain_percent", predicted[1])
            .percent("gain_high_percent", predicted[2])
            .percent("measured_low_percent", measured[0])
            .percent("measured_gain_percent", measured[1])
            .percent("measured_high_percent", measured[2])
    }

    #[test]
    fn all_that_is_drawn_is_between_the_ends_of_the_axis_and_zero_too() {
        let rows = [row([-12.0, -10.0, -8.0], [-31.0, -20.0, -9.0]), row([1.0, 2.0, 3.0], [2.0, 2.5, 3.0])];
        let axis = GainAxis::of(&rows);
        assert_eq!((axis.low, axis.high, axis.step), (-35.0, 5.0, 5.0));
        assert!(axis.marks().any(|mark| mark == 0.0) && axis.marks().count() == 9);
        assert!(axis.x(-31.0) > NAMES && axis.x(3.0) < WIDTH - OUTCOMES && axis.x(-31.0) < axis.x(3.0));
        let all_positive = GainAxis::of(&rows[1..]);
        assert_eq!((all_positive.low, all_positive.high), (-0.25, 3.0));
        let nothing = GainAxis::of(&[]);
        assert!(nothing.low < 0.0 && nothing.high > 0.0);
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!([0.9, 1.0, 1.1, 3.0, 7.0].map(step_of), [1.0, 1.0, 2.0, 5.0, 10.0]);
        assert_eq!(
            (mark_text(-5.0), mark_text(0.5), mark_text(0.0)),
            ("−5".into(), "0.5".into(), "0".into())
        );
    }

    #[test]
    fn names_are_text_and_keep_their_end() {
        let mut picture = String::new();
        let row = row([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]);
        draw(&mut picture, &row, &GainAxis::of(std::slice::from_ref(&row)), 0.0);
        assert!(picture.contains("grid::solve&lt;int&gt; &amp; more") && !picture.contains("<int>"));
        assert_eq!(shortened("abcdefghij × 1.25", 10), "abcdef….25");
    }
}
