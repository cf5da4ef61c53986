//! What is written is read again, by readers that are not ours.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// A row in a form of its own.
type Plain = (Option<String>, Option<f64>, Option<i64>, Option<bool>);

fn schema() -> Schema {
    let column = |name: &str, kind, unit: &str| TableColumn {
        name: name.to_owned(),
        kind,
        unit: unit.to_owned(),
        title: format!("Title of {name}"),
        explanation: format!("What {name} means."),
    };
    let columns = vec![
        column("who", ColumnKind::Text, ""),
        column("long", ColumnKind::Number, "s"),
        column("many", ColumnKind::Count, ""),
        column("so", ColumnKind::Flag, ""),
    ];
    Schema { name: "drawn".to_owned(), about: "Rows that were drawn.".to_owned(), columns }
}

fn values((who, long, many, so): &Plain) -> [CellValue<'_>; 4] {
    [
        who.as_ref().map_or(CellValue::Nothing, |who| CellValue::Text(who.as_str().into())),
        long.map_or(CellValue::Nothing, CellValue::Number),
        many.map_or(CellValue::Nothing, CellValue::Count),
        so.map_or(CellValue::Nothing, CellValue::Flag),
    ]
}

fn write(folder: &Path, form: TableForm, rows: impl Iterator<Item = Plain>) -> std::path::PathBuf {
    let mut table = TableFolder::create(folder, form).unwrap().table(schema()).unwrap();
    for row in rows {
        table.row(values(&row)).unwrap();
    }
    table.finish().unwrap()
}

fn read_csv(path: &Path) -> Vec<Plain> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// Rows of any values that CSV can tell apart: there, nothing is an empty text.
fn rows() -> impl Strategy<Value = Vec<Plain>> {
    let text = prop::option::of("[ -~µ█\n]{1,9}");
    let number = prop::option::of(prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL);
    prop::collection::vec((text, number, any::<Option<i64>>(), any::<Option<bool>>()), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_csv_file_holds_every_value(rows in rows()) {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), TableForm::Csv, rows.iter().cloned());
        prop_assert_eq!(read_csv(&path), rows);
    }
}

#[test]
fn what_does_not_fit_its_column_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = TableFolder::create(folder.path(), TableForm::Csv).unwrap().table(schema()).unwrap();
    let told = |result: Result<()>| result.unwrap_err().to_string();
    let nothing = || [CellValue::Nothing, CellValue::Nothing, CellValue::Nothing, CellValue::Nothing];
    let words = [CellValue::Nothing, CellValue::Text("long".into()), CellValue::Nothing, CellValue::Nothing];
    assert_eq!(told(table.row(words)), "write a row of drawn: a value of the column long is no number");
    assert!(told(table.row([CellValue::Nothing])).ends_with("it has no value for the column long"));
    assert!(
        told(table.row(nothing().into_iter().chain([CellValue::Nothing])))
            .contains("more values than the table")
    );
    // A count is a quantity, too, and what was refused left nothing behind.
    table.row([CellValue::Nothing, CellValue::Count(2), CellValue::Nothing, CellValue::Nothing]).unwrap();
    assert_eq!(read_csv(&table.finish().unwrap()), [(None, Some(2.0), None, None)]);
}

#[test]
fn a_table_that_is_not_finished_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let row = || (Some("a".to_owned()), None, Some(1), Some(true));
    let path = write(folder.path(), TableForm::Csv, std::iter::once(row()));
    let before = fs::read(&path).unwrap();
    let table = TableFolder::create(folder.path(), TableForm::Csv).unwrap().table(schema()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    drop(table);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("tables");
    assert!(matches!(TableFolder::create(&inner, TableForm::Parquet), Err(Error::WithoutParquet)));
    assert!(!inner.exists());
}

#[cfg(feature = "parquet")]
mod with_parquet {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    fn open(path: &Path) -> SerializedFileReader<fs::File> {
        SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap()
    }

    fn read(path: &Path) -> Vec<Plain> {
        let plain = |row: parquet::record::Row| {
            let mut plain = Plain::default();
            for (name, field) in row.get_column_iter() {
                match (name.as_str(), field) {
                    (_, Field::Null) => {}
                    ("who", Field::Str(text)) => plain.0 = Some(text.clone()),
                    ("long", &Field::Double(number)) => plain.1 = Some(number),
                    ("many", &Field::Long(count)) => plain.2 = Some(count),
                    ("so", &Field::Bool(flag)) => plain.3 = Some(flag),
                    other => panic!("{other:?}"),
                }
            }
            plain
        };
        open(path).get_row_iter(None).unwrap().map(|row| plain(row.unwrap())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_parquet_file_holds_every_value(rows in rows()) {
            let folder = tempfile::tempdir().unwrap();
            let path = write(folder.path(), TableForm::Parquet, rows.iter().cloned());
            prop_assert_eq!(read(&path), rows);
        }
    }

    #[test]
    fn several_groups_of_rows_hold_what_the_csv_file_holds() {
        let folder = tempfile::tempdir().unwrap();
        let row = |at: i64| {
            let who = (at % 7 != 0).then(|| format!("thread {}", at / 1000));
            (who, (at % 5 != 0).then(|| at as f64 / 3.0), Some(at), (at % 3 != 0).then_some(at % 2 == 0))
        };
        let path = write(folder.path(), TableForm::Parquet, (0..150_000).map(row));
        let lines = write(folder.path(), TableForm::Csv, (0..150_000).map(row));
        assert_eq!(open(&path).metadata().num_row_groups(), 3);
        assert!(read(&path) == read_csv(&lines), "{} is not {}", path.display(), lines.display());
        assert!(fs::metadata(path).unwrap().len() < fs::metadata(lines).unwrap().len() / 3);
    }

    #[test]
    fn what_columns_mean_stands_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), TableForm::Parquet, std::iter::empty());
        let reader = open(&path);
        let metadata = reader.metadata().file_metadata();
        let told = |key: &str| {
            let entry = metadata.key_value_metadata()?.iter().find(|entry| entry.key == key)?;
            entry.value.as_deref()
        };
        assert_eq!(told("about"), Some("Rows that were drawn."));
        assert_eq!(told("long.unit"), Some("s"));
        assert_eq!(told("who.unit"), None);
        assert_eq!(told("many.explanation"), Some("What many means."));
    }
}
