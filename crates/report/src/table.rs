//! Rows as an aligned table of text.

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid, presets};

use crate::name::shorten;
use crate::quantity::Scale;
use crate::report::Row;
use crate::visible::visible;

/// What a column of a text table shows of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Show {
    /// The place, `2=` when it is tied.
    Rank,
    /// A time, in the unit that suits the column's largest.
    Time(&'static str),
    /// A time in this unit, which the title does not say.
    TimeIn(&'static str, Scale),
    /// A change of a time, with its sign and its standard error, in the unit that suits the column's largest; `none` where the
    /// row's verdict is that.
    Change(&'static str, &'static str),
    /// A share, one decimal.
    Percent(&'static str),
    /// A share with the standard error beside it.
    Estimate(&'static str, &'static str),
    /// A mean number of things, two decimals.
    Mean(&'static str),
    /// A number of things.
    Count(&'static str),
    /// A mean number of things, two decimals.
    Number(&'static str),
    /// Words, left-aligned.
    Words(&'static str),
}

/// A column of a text table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    pub title: &'static str,
    pub show: Show,
    /// Left out where the line would be too narrow for names.
    pub is_optional: bool,
}

impl Shown {
    /// The column, left out where there is no room for it.
    pub(crate) fn optional(self) -> Shown {
        Shown { is_optional: true, ..self }
    }
}

/// Shorthand of a column.
pub(crate) fn shown(title: &'static str, show: Show) -> Shown {
    Shown { title, show, is_optional: false }
}

/// A table: numbers first, the name of the row last, because names are of any length.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextTable {
    pub columns: Vec<Shown>,
    /// Title of the names.
    pub name_title: String,
    /// Each row with its name.
    pub rows: Vec<(Row, String)>,
}

/// Cell of rows that share their place; of the text only.
pub(crate) const TIED: &str = "tied";
const GAP: usize = 2;
/// Names get at least this many columns: optional columns make room for them.
const NARROWEST_NAME: usize = 28;

impl TextTable {
    /// The table's lines, its header first; no line is longer than `width` unless the numbers alone are.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let mut columns: Vec<(&Shown, Vec<String>)> =
            self.columns.iter().map(|column| (column, self.column_text(column))).collect();
        let width_of =
            |cells: &[String]| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0) + GAP;
        let mut used: usize = columns.iter().map(|(_, cells)| width_of(cells)).sum();
        while used + NARROWEST_NAME > width {
            let Some(at) = columns.iter().rposition(|(column, _)| column.is_optional) else { break };
            used -= width_of(&columns.remove(at).1);
        }
        let mut cells: Vec<Vec<String>> = vec![Vec::new(); self.rows.len() + 1];
        for (_, column) in &columns {
            for (line, cell) in cells.iter_mut().zip(column) {
                line.push(cell.clone());
            }
        }
        let room = width.saturating_sub(used).max(NARROWEST_NAME / 2);
        let names = std::iter::once(&self.name_title).chain(self.rows.iter().map(|(_, name)| name));
        for (line, name) in cells.iter_mut().zip(names) {
            line.push(shorten_name(&visible(name), room));
        }
        let are_left: Vec<bool> =
            columns.iter().map(|(column, _)| matches!(column.show, Show::Words(_))).collect();
        layout(cells, &are_left)
    }

    /// The header and the cells of a column.
    fn column_text(&self, column: &Shown) -> Vec<String> {
        let values =
            |name: &str| -> Vec<Option<f64>> { self.rows.iter().map(|(row, _)| row.value(name)).collect() };
        let mut title = column.title.to_owned();
        let cells: Vec<String> = match column.show {
            Show::Rank => values("rank").into_iter().zip(values(TIED)).map(rank).collect(),
            Show::Time(name) => {
                let values = values(name);
                let scale =
                    Scale::of(values.iter().flatten().fold(0.0, |most, &value| f64::max(most, value.abs())));
                title = format!("{title} {}", scale.unit);
                values
                    .into_iter()
                    .map(|value| value.map_or(String::new(), |value| scale.cell(value)))
                    .collect()
            }
            Show::Change(name, error) => {
                let (values, errors) = (values(name), values(error));
                let scale =
                    Scale::of(values.iter().flatten().fold(0.0, |most, &value| f64::max(most, value.abs())));
                title = format!("{title} {}", scale.unit);
                let verdicts = self.rows.iter().map(|(row, _)| row.words("verdict"));
                let cells = values.into_iter().zip(errors).zip(verdicts);
                cells.map(|((value, error), verdict)| change(value, error, verdict, scale)).collect()
            }
            Show::TimeIn(name, scale) => {
                let text = |value: Option<f64>| value.map_or(String::new(), |value| scale.cell(value));
                values(name).into_iter().map(text).collect()
            }
            Show::Percent(name) => values(name).into_iter().map(share).collect(),
            Show::Estimate(name, error) => values(name)
                .into_iter()
                .zip(values(error))
                .map(|(value, error)| estimate(value, error))
                .collect(),
            Show::Mean(name) => {
                let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
                values(name).into_iter().map(text).collect()
            }
            Show::Count(name) => {
                let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.0}"));
                values(name).into_iter().map(text).collect()
            }
            Show::Number(name) => {
                let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
                values(name).into_iter().map(text).collect()
            }
            Show::Words(name) => {
                self.rows.iter().map(|(row, _)| visible(row.words(name)).into_owned()).collect()
            }
        };
        std::iter::once(title.trim().to_owned()).chain(cells).collect()
    }
}

/// Lays out the cells; the last column, of names, and those in `are_left` are left-aligned.
fn layout(cells: Vec<Vec<String>>, are_left: &[bool]) -> Vec<String> {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING);
    grid.set_content_arrangement(ContentArrangement::Disabled);
    for line in cells {
        grid.add_row(line);
    }
    for (at, column) in grid.column_iter_mut().enumerate() {
        let is_left = are_left.get(at).copied().unwrap_or(true);
        column.set_cell_alignment(if is_left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((0, GAP as u16));
    }
    grid.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Shortens a name without its indentation.
fn shorten_name(name: &str, room: usize) -> String {
    let text = name.trim_start();
    let indent = name.len() - text.len();
    format!("{}{}", " ".repeat(indent), shorten(text, room.saturating_sub(indent).max(1)))
}

fn share(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.1}"))
}

fn estimate(value: Option<f64>, error: Option<f64>) -> String {
    match (value, error) {
        (Some(value), Some(error)) => format!("{value:.1} ±{error:<4.1}"),
        // Blanks where the error would stand, so that the points are below each other.
        (Some(value), None) => format!("{value:.1}      "),
        (None, _) => String::new(),
    }
}

fn change(value: Option<f64>, error: Option<f64>, verdict: &str, scale: Scale) -> String {
    let Some(value) = value.filter(|_| verdict != "none") else {
        return if value.is_some() { "none".to_owned() } else { String::new() };
    };
    let sign = if value < 0.0 { "−" } else { "+" };
    let text = scale.cell(value.abs());
    match error.map(|error| scale.cell(error)) {
        Some(error) => format!("{sign}{text} ±{error:<5}"),
        // Blanks where the error would stand, so that the points are below each other.
        None => format!("{sign}{text}       "),
    }
}

fn rank((place, tied): (Option<f64>, Option<f64>)) -> String {
    match (place, tied) {
        (None, _) => String::new(),
        (Some(place), Some(_)) => format!("{place:.0}="),
        (Some(place), None) => format!("{place:.0} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let row = |rank, time, percent, error| {
            let row = if rank == 2 { Row::default().count(TIED, 1) } else { Row::default() };
            row.count("rank", rank)
                .time("seconds", time)
                .percent("percent", percent)
                .percent_if("error_percent", error)
        };
        TextTable {
            columns: vec![
                shown("#", Show::Rank),
                shown("% of path", Show::Estimate("percent", "error_percent")),
                shown("self", Show::Time("seconds")),
            ],
            name_title: "procedure".to_owned(),
            rows: vec![
                (row(1, 1_500_000_000, 60.0, Some(1.9)), "lock_hog::update".to_owned()),
                (
                    row(2, 20_000_000, 0.8, Some(0.2)),
                    "std::collections::hash::map::HashMap<K,V,S>::insert".to_owned(),
                ),
                (row(2, 19_000_000, 0.7, None), "main".to_owned()),
            ],
        }
    }

    #[test]
    fn numbers_are_aligned_and_names_end_the_line() {
        assert_eq!(
            table().lines(50),
            [
                " #   % of path  self s  procedure",
                "1   60.0 ±1.9    1.500  lock_hog::update",
                "2=   0.8 ±0.2    0.020  std::…::insert",
                "2=   0.7         0.019  main",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [45, 60, 80] {
            assert!(table().lines(width).iter().all(|line| line.chars().count() <= width), "{width}");
        }
    }

    #[test]
    fn indentation_is_kept_when_a_name_is_shortened() {
        assert_eq!(shorten_name("    abcdefghij", 9), "    a…hij");
    }
}
