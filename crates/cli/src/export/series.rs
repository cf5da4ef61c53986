//! The outside series as one table: a row for each value that was recorded.

use anyhow::{Context, Result};
use longpole_answer::Recording;
use longpole_report::CellText;
use longpole_series::Outside;
use longpole_tables::{CellValue, ColumnKind, Schema, TableColumn};

use super::tables::{ExportedTables, column};
use crate::answer::refused;
use crate::terminal;

/// Writes every value, series after series, each in the order of time. What could not be placed is said on standard error.
pub fn write(recording: &Recording, tables: &mut ExportedTables) -> Result<()> {
    let trace = recording.trace().map_err(refused)?;
    let program = trace.program();
    let outside = Outside::read(recording.folder(), recording.manifest(), program)
        .with_context(|| format!("read the series of {}", recording.folder().path().display()))?;
    let cells = tables.cells();
    let mut table = tables.table(schema())?;
    let words = |text: &str| words(text, cells);
    for series in &outside.series {
        let place = series.node.place(program);
        let text = |text: &'static str| CellValue::Text(text.into());
        for &(time, value) in &series.values {
            table.row([
                place.machine.map_or(CellValue::Nothing, words),
                words(&series.collector),
                words(&series.metric),
                words(&series.unit),
                text(series.samples.name()),
                words(&place.node),
                words(place.name),
                words(&series.label),
                CellValue::Number(time.nanoseconds() as f64 / 1e9),
                CellValue::Number(value),
            ])?;
        }
    }
    table.finish()?;
    outside.notes.iter().for_each(|note| terminal::remark(note));
    Ok(())
}

/// Words, where there are some.
fn words(text: &str, cells: CellText) -> CellValue<'static> {
    if text.is_empty() { CellValue::Nothing } else { CellValue::Text(cells.of(text).into()) }
}

fn schema() -> Schema {
    use ColumnKind::{Number, Text};
    let columns = [
        ("machine", Text, "Machine", "Name of the machine; absent for values of the whole program."),
        ("collector", Text, "Collector", "What collected the value."),
        ("metric", Text, "Metric", "What was counted or measured."),
        ("unit", Text, "Unit", "Unit of the value; absent where it has none."),
        (
            "samples",
            Text,
            "Samples",
            "How to read the values: `gauge` (the value from now on), `counter` (a total that grows), `amount` (what came since the value before).",
        ),
        (
            "node",
            Text,
            "Node",
            "What the value is of: `program`, `machine:NAME`, `process:PID` or `thread:TID`.",
        ),
        ("name", Text, "Name", "Name of the machine, process or thread."),
        ("label", Text, "Label", "The part of the node, such as `cpu0` or `vda`; absent for all of it."),
        ("time_seconds", Number, "Time", "When, counted from the begin of the run."),
        ("value", Number, "Value", "The value as it was recorded."),
    ];
    let typed = |(name, kind, title, explanation)| column(name, kind, title, explanation);
    let mut columns: Vec<TableColumn> = columns.map(typed).to_vec();
    for column in columns.iter_mut().filter(|column| column.name == "time_seconds") {
        column.unit = "s".to_owned();
    }
    Schema {
        name: "series".to_owned(),
        about: "Every value that was collected from outside, as it was recorded.".to_owned(),
        columns,
    }
}
