//! A report: one typed object per view, and its machine-readable forms.

use std::collections::BTreeMap;

use longpole_metrics::By;
use serde::ser::{Serialize, SerializeMap, Serializer};

use longpole_metrics::registry::MetricUnit;

use crate::column::{Column, columns};
use crate::evidence::Facts;
use crate::input::{ReportOptions, ReportTables};
use crate::quantity::seconds;
use crate::simulation::SimulationNumbers;
use crate::spreadsheet::CellText;
use crate::style::Style;
use crate::text::{self, TextSection};
use crate::view::View;
use crate::visible::visible_json;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A quantity.
    Number(f64),
    /// A number of things.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// Rows within a row.
    List(Vec<Row>),
    /// Quantities, in an order that the column says.
    Numbers(Vec<f64>),
}

impl Cell {
    /// The value as a cell of CSV: rows within it as `NAME=VALUE …; …`, several numbers with blanks between them.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(number) => number.to_string(),
            Cell::Count(count) => count.to_string(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::List(rows) => rows.iter().map(csv_row).collect::<Vec<_>>().join("; "),
            Cell::Numbers(numbers) => numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        }
    }
}

/// A row: values by column name. A column that does not apply to the row is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    cells: BTreeMap<&'static str, Cell>,
}

impl Row {
    /// Adds words; nothing for none.
    pub(crate) fn text(mut self, column: &'static str, text: impl Into<String>) -> Row {
        let text = text.into();
        if !text.is_empty() {
            self.cells.insert(column, Cell::Text(text));
        }
        self
    }

    /// Adds a count.
    pub(crate) fn count(mut self, column: &'static str, count: u64) -> Row {
        self.cells.insert(column, Cell::Count(count));
        self
    }

    /// Adds yes or no.
    pub(crate) fn flag(mut self, column: &'static str, flag: bool) -> Row {
        self.cells.insert(column, Cell::Flag(flag));
        self
    }

    /// Adds a cell of another row; nothing for none.
    pub(crate) fn copied(mut self, column: &'static str, cell: Option<&Cell>) -> Row {
        if let Some(cell) = cell {
            self.cells.insert(column, cell.clone());
        }
        self
    }

    /// Adds rows.
    pub(crate) fn list(mut self, column: &'static str, rows: Vec<Row>) -> Row {
        self.cells.insert(column, Cell::List(rows));
        self
    }

    /// Adds a time given in nanoseconds.
    pub(crate) fn time(self, column: &'static str, nanoseconds: u64) -> Row {
        self.number(column, seconds(nanoseconds), 1e9)
    }

    /// Adds a time given in nanoseconds that is not a whole number of them.
    pub(crate) fn fraction(self, column: &'static str, nanoseconds: f64) -> Row {
        self.number(column, nanoseconds / 1e9, 1e9)
    }

    /// Adds a mean number of things.
    pub(crate) fn mean(self, column: &'static str, mean: f64) -> Row {
        self.number(column, mean, 1e4)
    }

    /// Adds a share in percent.
    pub(crate) fn percent(self, column: &'static str, percent: f64) -> Row {
        self.number(column, percent, 1e4)
    }

    /// Adds a mean number of threads.
    pub(crate) fn threads(self, column: &'static str, threads: f64) -> Row {
        self.number(column, threads, 1e4)
    }

    /// Adds a share in percent where there is one.
    pub(crate) fn percent_if(self, column: &'static str, percent: Option<f64>) -> Row {
        match percent {
            Some(percent) => self.percent(column, percent),
            None => self,
        }
    }

    /// Adds an amount of any unit, as it is; nothing for none.
    pub(crate) fn amount(mut self, column: &'static str, amount: Option<f64>) -> Row {
        if let Some(amount) = amount {
            self.cells.insert(column, Cell::Number(told(amount)));
        }
        self
    }

    /// Adds quantities in their order; NaN where there is none.
    pub(crate) fn numbers(mut self, column: &'static str, numbers: Vec<f64>) -> Row {
        self.cells.insert(column, Cell::Numbers(numbers.into_iter().map(told).collect()));
        self
    }

    /// Adds times given in nanoseconds.
    pub(crate) fn times(mut self, column: &'static str, nanoseconds: impl Iterator<Item = u64>) -> Row {
        self.cells.insert(column, Cell::Numbers(nanoseconds.map(seconds).collect()));
        self
    }

    fn number(mut self, column: &'static str, number: f64, places: f64) -> Row {
        // Rounded, so that the digits of floating point do not look like measured ones.
        // Adding 0 makes −0 plain 0.
        self.cells.insert(column, Cell::Number((number * places).round() / places + 0.0));
        self
    }

    /// The value in a column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Cell> {
        self.cells.get(column)
    }

    /// The words in a column; empty where there are none.
    #[must_use]
    pub fn words(&self, column: &str) -> &str {
        match self.get(column) {
            Some(Cell::Text(text)) => text,
            _ => "",
        }
    }

    /// The number in a column.
    #[must_use]
    pub fn value(&self, column: &str) -> Option<f64> {
        match self.get(column)? {
            Cell::Number(number) => Some(*number),
            Cell::Count(count) => Some(*count as f64),
            Cell::Text(_) | Cell::Flag(_) | Cell::List(_) | Cell::Numbers(_) => None,
        }
    }
}

/// An amount of any size with ten digits: more would look like measured ones.
fn told(amount: f64) -> f64 {
    format!("{amount:.9e}").parse().unwrap_or(amount)
}

/// The run, in numbers.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RecordingNumbers {
    /// The command line.
    pub command: Vec<String>,
    /// Number of machines.
    pub machines: usize,
    /// Number of processes.
    pub processes: usize,
    /// Number of threads.
    pub threads: usize,
    /// Processors of all machines.
    pub cpus: u32,
    /// Length of the run.
    pub elapsed_seconds: f64,
    /// CPU time, useful and spinning.
    pub cpu_seconds: f64,
    /// CPU time spent busy-waiting.
    pub spin_seconds: f64,
    /// Mean number of busy threads over the run.
    pub effective_parallelism: f64,
    /// The part of the run that the report is about, as begin and end in seconds; `None` for all of it.
    pub phase: Option<[f64; 2]>,
}

impl RecordingNumbers {
    pub(crate) fn of(input: &ReportTables<'_>, options: &ReportOptions) -> RecordingNumbers {
        let totals = input.totals();
        let round = |number: f64| (number * 1e9).round() / 1e9;
        RecordingNumbers {
            command: input.program.command.clone(),
            machines: input.program.machines.len(),
            processes: input.program.processes.len(),
            threads: input.program.threads.len(),
            cpus: input.program.cpus(),
            elapsed_seconds: round(seconds(input.analysis.elapsed)),
            cpu_seconds: round(seconds(totals.running + totals.spinning)),
            spin_seconds: round(seconds(totals.spinning)),
            effective_parallelism: (input.effective_parallelism() * 1e4).round() / 1e4,
            phase: options.phase.map(|span| span.seconds()),
        }
    }
}

/// What one view says about one recording.
#[derive(Clone, Debug)]
pub struct Report {
    /// The view's name, or that of the command that made it.
    pub view: &'static str,
    /// What a row is.
    pub by: By,
    /// The run.
    pub recording: RecordingNumbers,
    /// The run that it is compared with, where it compares two.
    pub before: Option<RecordingNumbers>,
    /// What was simulated, where it is of recorded accesses to memory.
    pub simulation: Option<SimulationNumbers>,
    /// What the answer rests on, as JSON shows it.
    pub evidence: Facts,
    /// The columns of the rows.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    pub(crate) sections: Vec<TextSection>,
}

impl Report {
    /// A view without rows yet.
    pub(crate) fn new(
        view: View,
        input: &ReportTables<'_>,
        options: &ReportOptions,
        names: &[&str],
    ) -> Report {
        Report::named(view.name(), input, options, names)
    }

    /// A report without rows yet.
    pub(crate) fn named(
        view: &'static str,
        input: &ReportTables<'_>,
        options: &ReportOptions,
        names: &[&str],
    ) -> Report {
        Report {
            view,
            by: options.by,
            recording: RecordingNumbers::of(input, options),
            before: None,
            simulation: None,
            evidence: Facts::of(input),
            columns: columns(names),
            rows: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// The report for people.
    #[must_use]
    pub fn text(&self, style: &Style) -> String {
        text::render(self, *style)
    }

    /// The report as one JSON object with a line break at its end.
    #[must_use]
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report has only JSON types");
        text.push('\n');
        visible_json(text)
    }

    /// The rows as CSV (RFC 4180), with the columns' names as its first line; `text` says how texts stand in it.
    #[must_use]
    pub fn csv(&self, text: CellText) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let header = self.columns.iter().map(|column| column.name);
        writer.write_record(header).expect("writing to memory does not fail");
        for row in &self.rows {
            let cell = |column: &Column| match row.get(column.name) {
                Some(cell @ (Cell::Text(_) | Cell::List(_))) => text.of(&cell.text()),
                Some(cell) => cell.text(),
                None => String::new(),
            };
            let cells = self.columns.iter().map(cell);
            writer.write_record(cells).expect("every row has one cell per column");
        }
        let bytes = writer.into_inner().expect("writing to memory does not fail");
        String::from_utf8(bytes).expect("text was written")
    }

    /// Drops columns in which no row has a value, except those in `always`.
    pub(crate) fn drop_empty_columns(&mut self, always: &[&str]) {
        let rows = &self.rows;
        self.columns.retain(|column| {
            let is_used = |row: &Row| match row.get(column.name) {
                Some(Cell::Number(number)) => *number != 0.0 || column.unit != MetricUnit::Seconds,
                cell => cell.is_some(),
            };
            always.contains(&column.name) || rows.iter().any(is_used)
        });
    }
}

/// A row within a cell: `side=positive percent=92.1 seconds=1.2 procedure=update …`.
fn csv_row(row: &Row) -> String {
    let cells = row.cells.iter().map(|(name, cell)| format!("{name}={}", cell.text()));
    cells.collect::<Vec<_>>().join(" ")
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.cells)
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("longpole", env!("CARGO_PKG_VERSION"))?;
        map.serialize_entry("view", self.view)?;
        map.serialize_entry("recording", &self.recording)?;
        if let Some(before) = &self.before {
            map.serialize_entry("before", before)?;
        }
        if let Some(simulation) = &self.simulation {
            map.serialize_entry("simulation", simulation)?;
        }
        map.serialize_entry("evidence", &self.evidence)?;
        map.serialize_entry("columns", &self.columns)?;
        let rows: Vec<RowOf<'_>> =
            self.rows.iter().map(|row| RowOf { row, columns: &self.columns }).collect();
        map.serialize_entry("rows", &rows)?;
        map.end()
    }
}

/// A row that writes its cells in the order of the columns.
struct RowOf<'a> {
    row: &'a Row,
    columns: &'a [Column],
}

impl Serialize for RowOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for column in self.columns {
            if let Some(cell) = self.row.get(column.name) {
                map.serialize_entry(column.name, cell)?;
            }
        }
        map.end()
    }
}
