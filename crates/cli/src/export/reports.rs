//! The reports as tables: one for each view, under its name.

use anyhow::Result;
use longpole_answer::{Question, Recording};
use longpole_metrics::registry::Unit;
use longpole_report::{Cell, Report, Row, View};
use longpole_tables::{Column, Kind, Schema, Value};

use super::tables::Tables;
use crate::answer::refused;

/// Writes what every view says.
pub fn write(recording: &Recording, question: &Question, tables: &mut Tables) -> Result<()> {
    let reports = recording.reports(View::ALL, question).map_err(refused)?;
    for report in &reports {
        let about = report.view.parse::<View>().map_or("", View::about);
        write_report(report, about, tables)?;
    }
    Ok(())
}

fn write_report(report: &Report, about: &str, tables: &mut Tables) -> Result<()> {
    let columns: Vec<Column> = report.columns.iter().map(|column| typed(column, &report.rows)).collect();
    let kinds: Vec<Kind> = columns.iter().map(|column| column.kind).collect();
    let schema = Schema { name: report.view.to_owned(), about: about.to_owned(), columns };
    let mut table = tables.table(schema)?;
    for row in &report.rows {
        let cells = report.columns.iter().zip(&kinds);
        table.row(cells.map(|(column, &kind)| value(row.get(column.name), kind)))?;
    }
    table.finish()?;
    Ok(())
}

fn typed(column: &longpole_report::Column, rows: &[Row]) -> Column {
    let cells = rows.iter().filter_map(|row| row.get(column.name));
    Column {
        name: column.name.to_owned(),
        kind: kind(column.unit, cells),
        unit: column.unit.name().to_owned(),
        title: column.title.to_owned(),
        explanation: column.explanation.to_owned(),
    }
}

/// What the registry says the values are, where all of them are that; words hold anything. Of a column whose rows say the
/// unit, it is what the values are.
fn kind<'a>(unit: Unit, cells: impl Iterator<Item = &'a Cell> + Clone) -> Kind {
    let kinds: &[Kind] = match unit {
        Unit::Text if cells.clone().next().is_some() => &[Kind::Flag, Kind::Count, Kind::Number],
        Unit::Text => &[],
        Unit::Count => &[Kind::Count, Kind::Number],
        Unit::Seconds | Unit::Percent | Unit::PercentagePoints | Unit::Threads => &[Kind::Number],
    };
    let is_one = |cell: &Cell, kind| match cell {
        Cell::Count(count) => kind == Kind::Number || (kind == Kind::Count && i64::try_from(*count).is_ok()),
        Cell::Number(_) => kind == Kind::Number,
        Cell::Flag(_) => kind == Kind::Flag,
        Cell::Text(_) | Cell::List(_) | Cell::Numbers(_) => false,
    };
    let of_all = kinds.iter().copied().find(|&kind| cells.clone().all(|cell| is_one(cell, kind)));
    of_all.unwrap_or(Kind::Text)
}

fn value(cell: Option<&Cell>, kind: Kind) -> Value<'_> {
    match (cell, kind) {
        (None, _) => Value::Nothing,
        (Some(Cell::Text(text)), _) => Value::Text(text.as_str().into()),
        (Some(cell), Kind::Text) => Value::Text(cell.text().into()),
        (Some(Cell::Number(number)), _) => Value::Number(*number),
        (Some(Cell::Count(count)), Kind::Number) => Value::Number(*count as f64),
        (Some(Cell::Count(count)), _) => {
            Value::Count(i64::try_from(*count).expect("counts of a column of counts are looked at"))
        }
        (Some(Cell::Flag(flag)), _) => Value::Flag(*flag),
        (Some(cell @ (Cell::List(_) | Cell::Numbers(_))), _) => Value::Text(cell.text().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_of_the_kind_that_the_registry_and_all_its_values_allow() {
        let of = |unit, cells: &[Cell]| kind(unit, cells.iter());
        assert_eq!(of(Unit::Seconds, &[]), Kind::Number);
        assert_eq!(of(Unit::Seconds, &[Cell::Number(0.5), Cell::Count(1)]), Kind::Number);
        assert_eq!(of(Unit::Seconds, &[Cell::Numbers(vec![0.5, 1.0])]), Kind::Text);
        assert_eq!(of(Unit::Count, &[]), Kind::Count);
        assert_eq!(of(Unit::Count, &[Cell::Count(1), Cell::Number(1.5)]), Kind::Number);
        assert_eq!(of(Unit::Count, &[Cell::Count(u64::MAX)]), Kind::Number);
        assert_eq!(of(Unit::Text, &[]), Kind::Text);
        assert_eq!(of(Unit::Text, &[Cell::Flag(true)]), Kind::Flag);
        assert_eq!(of(Unit::Text, &[Cell::Count(1), Cell::Number(0.5)]), Kind::Number);
        assert_eq!(of(Unit::Text, &[Cell::Flag(true), Cell::Text("so".into())]), Kind::Text);
    }

    #[test]
    fn words_hold_what_is_of_another_kind() {
        assert_eq!(value(Some(&Cell::Count(3)), Kind::Text), Value::Text("3".into()));
        assert_eq!(value(Some(&Cell::Numbers(vec![0.5, 1.0])), Kind::Text), Value::Text("0.5 1".into()));
        assert_eq!(value(None, Kind::Count), Value::Nothing);
    }
}
