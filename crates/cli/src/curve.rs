//! `longpole report --curve`: metrics over time, on one time axis.

use anyhow::Result;
use longpole_answer::{CurveAnswer, CurveRequest, Recording, TimeRange};
use longpole_report::{amount_text, sparkline, visible, visible_json};

use crate::answer::refused;
use crate::report::{OutputFormat, ReportArgs};
use crate::terminal;

/// Columns of a drawn curve beside its numbers.
const DRAWN: usize = 64;

/// Writes the curves that were asked for, below a heading.
pub fn run(recording: &Recording, args: &ReportArgs, heading: &str) -> Result<()> {
    let stretch = match &args.phase {
        Some(phase) => recording.stretch(phase).map_err(refused)?,
        None => TimeRange::default(),
    };
    let course = |metric: &String| CurveRequest {
        metric: metric.clone(),
        node: args.node.clone(),
        stretch,
        bins: args.bins,
        io: args.io,
        define: args.definitions.define.clone(),
    };
    let curves = args.curve.iter().map(|metric| recording.curve(&course(metric)).map_err(refused));
    let curves: Vec<CurveAnswer> = curves.collect::<Result<_>>()?;
    let text = match args.format {
        OutputFormat::Text => text(&curves),
        OutputFormat::Json => json(&curves),
        OutputFormat::Csv => csv(&curves)?,
    };
    terminal::print(&(heading.to_owned() + &text))
}

fn json(curves: &[CurveAnswer]) -> String {
    let text = match curves {
        [curve] => serde_json::to_string_pretty(curve),
        several => serde_json::to_string_pretty(several),
    };
    visible_json(text.expect("a curve has only JSON types") + "\n")
}

/// A line per bin: when it begins, and each metric in it; empty where it has no value.
fn csv(curves: &[CurveAnswer]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = curves.iter().map(|curve| curve.metric.as_str());
    writer.write_record(std::iter::once("time_seconds").chain(names))?;
    let bins = curves.first().map_or(0, |curve| curve.values.len());
    for bin in 0..bins {
        let begin = curves[0].from_seconds + bin as f64 * curves[0].width_seconds;
        let values = curves.iter().map(|curve| curve.values[bin]);
        let cell = |value: f64| if value.is_nan() { String::new() } else { value.to_string() };
        writer.write_record(std::iter::once(format!("{begin:.9}")).chain(values.map(cell)))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Each curve as a line of blocks, with its least, mean and largest value.
fn text(curves: &[CurveAnswer]) -> String {
    let mut text = String::new();
    for curve in curves {
        let amount = |value: f64| amount_text(value, &curve.unit);
        let head = format!("{} of {} ({})", curve.title, curve.node, curve.metric);
        text += &format!("{}\n", visible(&head));
        let known: Vec<f64> = curve.values.iter().copied().filter(|value| !value.is_nan()).collect();
        if known.is_empty() {
            text += "no value in this part of the run\n";
        } else {
            let least = known.iter().copied().fold(f64::INFINITY, f64::min);
            let most = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            text += &format!("{}\n", sparkline(&curve.values, DRAWN.min(curve.values.len())));
            text += &format!(
                "from {:.3} s to {:.3} s in {} bins: at least {}, on average {}, at most {}\n",
                curve.from_seconds,
                curve.to_seconds,
                curve.bins,
                amount(least),
                amount(mean),
                amount(most)
            );
        }
        for note in &curve.notes {
            text += &format!("{}\n", visible(note));
        }
        text.push('\n');
    }
    text.pop();
    text
}
