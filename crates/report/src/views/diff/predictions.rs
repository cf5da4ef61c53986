//! What `what-if` predicted of the first run, beside what the second one gained.

use super::pairs::ComparedPair;
use crate::findings::threshold::LEAST_GAIN;
use crate::quantity::percent;
use crate::report::Row;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;

/// A change, and what it was predicted to gain of the first run.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierPrediction {
    /// The change, as it was asked for.
    pub change: String,
    /// The predicted gain, per cent of the run.
    pub percent: f64,
    /// The predicted range.
    pub range: (f64, f64),
}

/// A row for each prediction, the latest first.
pub(super) fn prediction_rows(earlier: &[EarlierPrediction], elapsed: &ComparedPair) -> Vec<Row> {
    let achieved = percent(-elapsed.change(), elapsed.before.value);
    let row = |prediction: &EarlierPrediction| {
        let (low, high) = prediction.range;
        // One run of each side differs by as much by chance.
        let inside = match () {
            () if (low..=high).contains(&achieved) => "yes",
            () if (low - LEAST_GAIN..=high + LEAST_GAIN).contains(&achieved) => "not sure",
            () => "no",
        };
        Row::default()
            .text("section", "prediction")
            .text("name", &prediction.change)
            .percent("elapsed_gain_percent", prediction.percent)
            .percent("gain_low_percent", low)
            .percent("gain_high_percent", high)
            .percent("achieved_gain_percent", achieved)
            .text("inside", inside)
    };
    earlier.iter().rev().map(row).collect()
}

/// The same as text.
pub(super) fn sections(rows: &[Row], limit: usize) -> Vec<TextSection> {
    if rows.is_empty() {
        return Vec::new();
    }
    let text = "Predicted by `what-if` for the recording before, beside what the run gained:";
    let columns = vec![
        shown("predicted %", Show::Percent("elapsed_gain_percent")),
        shown("from", Show::Percent("gain_low_percent")),
        shown("to", Show::Percent("gain_high_percent")),
        shown("achieved %", Show::Percent("achieved_gain_percent")),
        shown("inside", Show::Words("inside")),
    ];
    let named = rows.iter().take(limit).map(|row| (row.clone(), row.words("name").to_owned()));
    let table = TextTable { columns, name_title: "change".to_owned(), rows: named.collect() };
    let reading = "Which of these changes was made the recordings do not say.";
    vec![
        TextSection::Blank,
        TextSection::Paragraph(text.to_owned()),
        TextSection::Table(table),
        TextSection::Remark(reading.to_owned()),
    ]
}
