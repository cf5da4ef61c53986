//! The reports as tables: one for each view, under its name.

use anyhow::Result;
use longpole_answer::{Question, Recording};
use longpole_metrics::registry::MetricUnit;
use longpole_report::{Cell, CellText, Report, Row, View};
use longpole_tables::{CellValue, ColumnKind, Schema, TableColumn};

use super::tables::ExportedTables;
use crate::answer::refused;

/// Writes what every view says.
pub fn write(recording: &Recording, question: &Question, tables: &mut ExportedTables) -> Result<()> {
    let reports = recording.reports(View::ALL, question).map_err(refused)?;
    for report in &reports {
        let about = report.view.parse::<View>().map_or("", View::about);
        write_report(report, about, tables)?;
    }
    Ok(())
}

fn write_report(report: &Report, about: &str, tables: &mut ExportedTables) -> Result<()> {
    let columns: Vec<TableColumn> = report.columns.iter().map(|column| typed(column, &report.rows)).collect();
    let kinds: Vec<ColumnKind> = columns.iter().map(|column| column.kind).collect();
    let schema = Schema { name: report.view.to_owned(), about: about.to_owned(), columns };
    let text = tables.cells();
    let mut table = tables.table(schema)?;
    for row in &report.rows {
        let cells = report.columns.iter().zip(&kinds);
        table.row(cells.map(|(column, &kind)| value(row.get(column.name), kind, text)))?;
    }
    table.finish()?;
    Ok(())
}

fn typed(column: &longpole_report::Column, rows: &[Row]) -> TableColumn {
    let cells = rows.iter().filter_map(|row| row.get(column.name));
    TableColumn {
        name: column.name.to_owned(),
        kind: kind(column.unit, cells),
        unit: column.unit.name().to_owned(),
        title: column.title.to_owned(),
        explanation: column.explanation.to_owned(),
    }
}

/// What the registry says the values are, where all of them are that; words hold anything. Of a column whose rows say the
/// unit, it is what the values are.
fn kind<'a>(unit: MetricUnit, cells: impl Iterator<Item = &'a Cell> + Clone) -> ColumnKind {
    let kinds: &[ColumnKind] = match unit {
        MetricUnit::Text if cells.clone().next().is_some() => {
            &[ColumnKind::Flag, ColumnKind::Count, ColumnKind::Number]
        }
        MetricUnit::Text => &[],
        MetricUnit::Count => &[ColumnKind::Count, ColumnKind::Number],
        MetricUnit::Seconds | MetricUnit::Percent | MetricUnit::PercentagePoints | MetricUnit::Threads => {
            &[ColumnKind::Number]
        }
    };
    let is_one = |cell: &Cell, kind| match cell {
        Cell::Count(count) => {
            kind == ColumnKind::Number || (kind == ColumnKind::Count && i64::try_from(*count).is_ok())
        }
        Cell::Number(_) => kind == ColumnKind::Number,
        Cell::Flag(_) => kind == ColumnKind::Flag,
        Cell::Text(_) | Cell::List(_) | Cell::Numbers(_) => false,
    };
    let of_all = kinds.iter().copied().find(|&kind| cells.clone().all(|cell| is_one(cell, kind)));
    of_all.unwrap_or(ColumnKind::Text)
}

fn value(cell: Option<&Cell>, kind: ColumnKind, text: CellText) -> CellValue<'_> {
    match (cell, kind) {
        (None, _) => CellValue::Nothing,
        (Some(cell @ (Cell::Text(_) | Cell::List(_))), _) => CellValue::Text(text.of(&cell.text()).into()),
        (Some(cell), ColumnKind::Text) => CellValue::Text(cell.text().into()),
        (Some(Cell::Number(number)), _) => CellValue::Number(*number),
        (Some(Cell::Count(count)), ColumnKind::Number) => CellValue::Number(*count as f64),
        (Some(Cell::Count(count)), _) => {
            CellValue::Count(i64::try_from(*count).expect("counts of a column of counts are looked at"))
        }
        (Some(Cell::Flag(flag)), _) => CellValue::Flag(*flag),
        (Some(cell @ Cell::Numbers(_)), _) => CellValue::Text(cell.text().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_of_the_kind_that_the_registry_and_all_its_values_allow() {
        let of = |unit, cells: &[Cell]| kind(unit, cells.iter());
        assert_eq!(of(MetricUnit::Seconds, &[]), ColumnKind::Number);
        assert_eq!(of(MetricUnit::Seconds, &[Cell::Number(0.5), Cell::Count(1)]), ColumnKind::Number);
        assert_eq!(of(MetricUnit::Seconds, &[Cell::Numbers(vec![0.5, 1.0])]), ColumnKind::Text);
        assert_eq!(of(MetricUnit::Count, &[]), ColumnKind::Count);
        assert_eq!(of(MetricUnit::Count, &[Cell::Count(1), Cell::Number(1.5)]), ColumnKind::Number);
        assert_eq!(of(MetricUnit::Count, &[Cell::Count(u64::MAX)]), ColumnKind::Number);
        assert_eq!(of(MetricUnit::Text, &[]), ColumnKind::Text);
        assert_eq!(of(MetricUnit::Text, &[Cell::Flag(true)]), ColumnKind::Flag);
        assert_eq!(of(MetricUnit::Text, &[Cell::Count(1), Cell::Number(0.5)]), ColumnKind::Number);
        assert_eq!(of(MetricUnit::Text, &[Cell::Flag(true), Cell::Text("so".into())]), ColumnKind::Text);
    }

    #[test]
    fn words_hold_what_is_of_another_kind() {
        assert_eq!(
            value(Some(&Cell::Count(3)), ColumnKind::Text, CellText::Plain),
            CellValue::Text("3".into())
        );
        assert_eq!(
            value(Some(&Cell::Numbers(vec![0.5, 1.0])), ColumnKind::Text, CellText::Plain),
            CellValue::Text("0.5 1".into())
        );
        assert_eq!(value(None, ColumnKind::Count, CellText::Plain), CellValue::Nothing);
    }
}
