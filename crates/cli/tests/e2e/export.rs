//! `longpole export --to csv` and `--to parquet`: the tables hold what the reports and the recording hold, value by value.

use std::fs;
use std::path::{Path, PathBuf};

use longpole_event::{Event, EventKind, MachineId, SeriesDefinition, SeriesKind, SeriesNode, ThreadId, Time};
use longpole_recording::{LogBuilder, LogName, RecordingFolder};
use longpole_testkit::Drawing;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Collector, Run, Session, longpole, or_skip, run};

const DRAWING: &str = "\
unit 10000000
cpus 2
1 = mutex m
H = main:3 > hold \"it\", long:7
W = main:4 > work:9
boss     HHHHHHHHHHWWWWWWWWWW
one      WW11111111HHHHHHHHWW
two      WWWW11111111111111HH
boss@10 -> one unlock
one@18 -> two unlock
";

/// A drawn run, recorded in a folder of its own.
fn drawn() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.longpole");
    Drawing::parse(DRAWING).unwrap().write(&path).unwrap();
    (folder, path)
}

fn export(recording: &Path, form: &str) -> Run {
    let output = recording.with_extension(form);
    run(longpole().arg("export").arg(recording).args(["--to", form, "-o"]).arg(output))
}

/// The folder of tables that an export made.
fn exported(recording: &Path, form: &str) -> PathBuf {
    let run = export(recording, form);
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.stderr, "");
    PathBuf::from(run.stdout.trim())
}

/// Names of the tables in a folder.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

/// Header and rows of a CSV file.
fn lines(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// What `longpole report --view VIEW --format FORM` prints.
fn printed(recording: &Path, view: &str, form: &str) -> String {
    let run = run(longpole().arg("report").arg(recording).args(["--view", view, "--format", form]));
    assert!(run.status.success(), "{}", run.stderr);
    run.stdout
}

/// The names of all views.
fn views(recording: &Path) -> Vec<String> {
    let all: Value = serde_json::from_str(&printed(recording, "all", "json")).unwrap();
    let name = |report: &Value| report["view"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = all.as_array().unwrap().iter().map(name).collect();
    names.sort();
    names
}

/// Series of two numbers of two nodes, and one of a process that there never was.
fn add_series(recording: &Path, count: u64) {
    let (folder, _) = RecordingFolder::open(recording).unwrap();
    let mut log = LogBuilder::new(folder.create_log(MachineId(0), LogName::Series).unwrap());
    let mut define = |metric: &str, unit: &str, samples, node, label: &str| {
        let [name, unit, label] = [metric, unit, label].map(|text| log.text(text).unwrap());
        let collector = log.text("drawn").unwrap();
        log.series(SeriesDefinition { name, unit, samples, node, label, collector }).unwrap()
    };
    let faults = define("faults", "faults", SeriesKind::Counter, SeriesNode::Process { pid: 100 }, "");
    let load = define("load, \"mean\"", "", SeriesKind::Gauge, SeriesNode::Machine, "cpu0");
    for at in 0..count {
        let time = Time::from_nanoseconds(at * 200_000_000 / count);
        for (series, value) in [(faults, at as f64), (load, at as f64 / 3.0 - 1.0)] {
            let kind = EventKind::Value { series, value };
            log.event(Event { time, cpu: 0, thread: ThreadId(0), kind }).unwrap();
        }
    }
    log.flush().unwrap();
}

#[test]
fn every_view_is_a_table_and_holds_what_the_report_prints() {
    let (_folder, recording) = drawn();
    let tables = exported(&recording, "csv");
    let views = views(&recording);
    let mut expected: Vec<String> = views.clone();
    expected.extend(["columns", "series"].map(str::to_owned));
    expected.sort();
    assert_eq!(names(&tables), expected);
    for view in &views {
        let table = fs::read_to_string(tables.join(format!("{view}.csv"))).unwrap();
        assert_eq!(table, printed(&recording, view, "csv"), "{view}");
    }
    let columns = lines(&tables.join("columns.csv"));
    let of_npt =
        |column: &str| columns.iter().find(|row| row[..2] == ["npt", column]).unwrap()[2..4].to_vec();
    assert_eq!(of_npt("seconds"), ["number", "s"]);
    assert_eq!(of_npt("procedure"), ["text", ""]);
    assert!(columns[1..].iter().all(|row| row[5].ends_with('.')), "{columns:?}");
}

#[test]
fn every_value_of_every_series_is_a_row() {
    let (_folder, recording) = drawn();
    add_series(&recording, 4);
    let rows = lines(&exported(&recording, "csv").join("series.csv"));
    let names = "machine collector metric unit samples node name label time_seconds value";
    assert_eq!(rows[0], names.split(' ').collect::<Vec<_>>());
    let machine = rows[1][0].clone();
    let of = |row: &[&str]| -> Vec<String> {
        std::iter::once(machine.as_str()).chain(row.iter().copied()).map(str::to_owned).collect()
    };
    let name = &rows[1][6];
    let faults =
        |time, value| of(&["drawn", "faults", "faults", "counter", "process:100", name, "", time, value]);
    let node = format!("machine:{machine}");
    let load =
        |time, value| of(&["drawn", "load, \"mean\"", "", "gauge", &node, &machine, "cpu0", time, value]);
    let expected = [
        faults("0", "0"),
        faults("0.05", "1"),
        faults("0.1", "2"),
        faults("0.15", "3"),
        load("0", "-1"),
        load("0.05", &(1.0_f64 / 3.0 - 1.0).to_string()),
        load("0.1", &(2.0_f64 / 3.0 - 1.0).to_string()),
        load("0.15", "0"),
    ];
    assert_eq!(rows[1..], expected);
}

/// The column `name` of the row.
fn cell<'a>(header: &[String], row: &'a [String], name: &str) -> &'a str {
    &row[header.iter().position(|column| column == name).unwrap()]
}

#[test]
fn what_a_recorded_program_and_the_kernel_counted_is_there() {
    let session = Session::beside_others();
    let program = or_skip!(session.build("page_faults.c", &[]));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    let rows = lines(&exported(&recording.path, "csv").join("series.csv"));
    let of = |metric: &str| -> Vec<(&str, f64)> {
        let of_metric = rows.iter().filter(|row| cell(&rows[0], row, "metric") == metric);
        of_metric.map(|row| (&*row[5], cell(&rows[0], row, "value").parse().unwrap())).collect()
    };
    // The program's header: 4 × 75 pieces, of 256 pages each.
    let pieces = of("pieces");
    let (node, total) = *pieces.last().unwrap();
    assert!(node.starts_with("process:") && pieces.iter().all(|piece| piece.0 == node), "{pieces:?}");
    assert_eq!(total, 300.0, "{pieces:?}");
    let faults = of("sys_page_faults");
    let counted = faults.last().unwrap().1 - faults.first().unwrap().1;
    assert!(counted >= 76_800.0, "{faults:?}");
    let faults = of("page_faults");
    let of_process = faults.iter().rfind(|of| of.0 == node).unwrap().1;
    // Beside the pieces: what starting the program and its threads takes.
    assert!((76_800.0..78_300.0).contains(&of_process), "{faults:?}");
}

#[test]
fn tables_do_not_compare_and_say_what_does() {
    let (_folder, recording) = drawn();
    let mut export = longpole();
    export.args(["export", "--to", "csv", "--against"]).arg(&recording).arg(&recording);
    let run = export.output().unwrap();
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && told.contains("longpole diff BEFORE AFTER --format csv"), "{told}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let (folder, recording) = drawn();
    fs::write(folder.path().join("x.csv"), "a file").unwrap();
    let run = export(&recording, "csv");
    assert_eq!(run.status.code(), Some(1));
    assert!(run.stdout.is_empty() && run.stderr.contains("failed to write tables into"), "{}", run.stderr);
    assert!(run.stderr.contains("x.csv"), "{}", run.stderr);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_it() {
    let (_folder, recording) = drawn();
    let run = export(&recording, "parquet");
    assert_eq!(run.status.code(), Some(1));
    for word in ["built without", "--to csv", "--features parquet"] {
        assert!(run.stderr.contains(word), "{}", run.stderr);
    }
}

#[cfg(feature = "parquet")]
mod with_parquet {
    use parquet::file::reader::SerializedFileReader;
    use parquet::record::{Field, Row};

    use super::*;

    /// The rows of a file, one after the other, as its own library reads them.
    fn rows(path: &Path) -> impl Iterator<Item = Row> {
        let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
        reader.into_iter().map(Result::unwrap)
    }

    /// A value as CSV has it.
    fn text(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            Field::Long(count) => count.to_string(),
            Field::Bool(flag) => flag.to_string(),
            other => panic!("{other}"),
        }
    }

    /// Asserts that the value is the report's, or, of what Parquet has as words alone, the CSV's.
    fn assert_same(field: &Field, of_report: Option<&Value>, of_csv: &str, place: &str) {
        // Only CSV marks texts that are like formulas.
        let marked = of_csv.strip_prefix('\'').filter(|text| text.starts_with(['=', '+', '-', '@']));
        let of_csv = marked.unwrap_or(of_csv);
        let is_same = match (field, of_report) {
            (Field::Null, None) => true,
            (Field::Str(text), Some(Value::String(told))) => text == told,
            (Field::Double(number), Some(told)) => told.as_f64() == Some(*number),
            (Field::Long(count), Some(told)) => told.as_i64() == Some(*count),
            (Field::Bool(flag), Some(told)) => told.as_bool() == Some(*flag),
            (Field::Str(text), Some(Value::Array(_))) => text == of_csv,
            _ => false,
        };
        assert!(is_same, "{place}: {field} is not {of_report:?}");
        assert_eq!(text(field), of_csv, "{place}");
    }

    #[test]
    fn the_tables_hold_the_values_of_the_reports() {
        let (_folder, recording) = drawn();
        let (tables, lines_of) = (exported(&recording, "parquet"), exported(&recording, "csv"));
        assert_eq!(names(&tables), names(&lines_of));
        for view in views(&recording) {
            let report: Value = serde_json::from_str(&printed(&recording, &view, "json")).unwrap();
            let of_report = report["rows"].as_array().unwrap();
            let of_csv = lines(&lines_of.join(format!("{view}.csv")));
            let rows: Vec<Row> = rows(&tables.join(format!("{view}.parquet"))).collect();
            assert_eq!((rows.len(), rows.len()), (of_report.len(), of_csv.len() - 1), "{view}");
            for (at, row) in rows.iter().enumerate() {
                for (column, (name, field)) in row.get_column_iter().enumerate() {
                    assert_eq!(*name, of_csv[0][column], "{view}");
                    let place = format!("{view}, row {at}, {name}");
                    assert_same(field, of_report[at].get(name), &of_csv[at + 1][column], &place);
                }
            }
        }
    }

    #[test]
    fn a_million_values_are_the_same_in_both_forms() {
        let (_folder, recording) = drawn();
        add_series(&recording, 500_000);
        let (tables, lines_of) = (exported(&recording, "parquet"), exported(&recording, "csv"));
        for (table, least) in [("series", 1_000_000), ("columns", 100)] {
            let mut of_csv = csv::Reader::from_path(lines_of.join(format!("{table}.csv"))).unwrap();
            let mut of_csv = of_csv.records().map(Result::unwrap);
            let mut count = 0;
            for row in rows(&tables.join(format!("{table}.parquet"))) {
                let row: Vec<String> = row.get_column_iter().map(|(_, field)| text(field)).collect();
                assert_eq!(of_csv.next().unwrap(), row);
                count += 1;
            }
            assert!(of_csv.next().is_none() && count >= least, "{table}: {count}");
        }
    }
}

#[test]
fn no_text_is_a_formula_of_a_spreadsheet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.longpole");
    let names = "A = =cmd|'/c calc'!A1\nB = @SUM(A1)\nC = plain\nmain AAAAAABBBBCC";
    Drawing::parse(names).unwrap().write(&path).unwrap();
    let cells = |text: &str| -> Vec<String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let is_formula =
        |cell: &String| cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let report = cells(&printed(&path, "profile", "csv"));
    assert!(
        report.contains(&"'=cmd|'/c calc'!A1".to_owned()) && !report.iter().any(is_formula),
        "{report:?}"
    );
    let tables = exported(&path, "csv");
    for entry in fs::read_dir(&tables).unwrap() {
        let table = entry.unwrap().path();
        let odd: Vec<String> = lines(&table).into_iter().flatten().filter(is_formula).collect();
        assert!(odd.is_empty(), "{}: {odd:?}", table.display());
    }
    let raw = run(longpole().arg("report").arg(&path).args([
        "--view",
        "profile",
        "--format",
        "csv",
        "--raw-cells",
    ]));
    assert!(cells(&raw.stdout).contains(&"=cmd|'/c calc'!A1".to_owned()), "{}", raw.stdout);
}
