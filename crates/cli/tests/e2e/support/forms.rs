//! Every view of a recording, in every form.

use std::path::Path;

use longpole_report::View;
use serde_json::Value;

use super::{Answer, Run, longpole, run};

/// Width of the text, columns.
const WIDTH: usize = 80;

/// Asserts that each view answers as text that fits, as JSON whose rows keep to its columns, and as the same rows in CSV.
pub fn assert_forms(recording: &Path) {
    for view in View::ALL {
        assert_text(recording, view.name());
        let json = assert_json(recording, view.name());
        assert_csv(recording, view.name(), &json);
    }
}

/// What `report` writes about a view in a form.
fn report(recording: &Path, view: &str, form: &str) -> Run {
    let mut command = longpole();
    command.arg("report").arg(recording).args(["--view", view, "--format", form]);
    let run = run(command.args(["--width", &WIDTH.to_string()]));
    assert!(run.status.success(), "{view} as {form}: {}", run.stderr);
    assert!(run.stderr.is_empty(), "{view} as {form}: {}", run.stderr);
    run
}

fn assert_text(recording: &Path, view: &str) {
    let text = report(recording, view, "text").stdout;
    let wide = text.lines().find(|line| line.chars().count() > WIDTH);
    assert!(wide.is_none(), "{view}: wider than {WIDTH}: {wide:?}\n{text}");
    // The run, and something about it.
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines >= 2, "{view} says next to nothing:\n{text}");
    assert!(!text.contains("NaN") && !text.contains("inf "), "{view}:\n{text}");
}

fn assert_json(recording: &Path, view: &str) -> Value {
    let answer = Answer::new(view, &report(recording, view, "json").stdout);
    let value = answer.value;
    assert_eq!(value["view"], view);
    assert!(value["recording"]["elapsed_seconds"].as_f64() > Some(0.0), "{view}: {}", value["recording"]);
    assert!(value["evidence"]["events"].is_u64(), "{view}: {}", value["evidence"]);
    let columns = value["columns"].as_array().expect("columns");
    let unit_of = |name: &str| columns.iter().find(|column| column["name"] == name).map(|it| &it["unit"]);
    for row in value["rows"].as_array().expect("rows") {
        for (name, cell) in row.as_object().expect("a row is an object") {
            let unit = unit_of(name).unwrap_or_else(|| panic!("{view}: no column {name}: {row}"));
            assert!(!cell.is_null(), "{view}: {name} is no number: {row}");
            let Some(number) = cell.as_f64() else { continue };
            // Without some work, a run that is executed again can take longer.
            if view == "rankings" && (name.starts_with("gain_") || name.starts_with("replay_")) {
                continue;
            }
            let is_share = *unit == "%";
            assert!(!is_share || (-0.001..=100.001).contains(&number), "{view}: {name} is {number} %: {row}");
            // What comes after its target is below 0.
            assert!(
                *unit != "s" || number >= 0.0 || name == "lag_seconds",
                "{view}: {name} is {number} s: {row}"
            );
        }
    }
    value
}

fn assert_csv(recording: &Path, view: &str, json: &Value) {
    let text = report(recording, view, "csv").stdout;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let columns = json["columns"].as_array().expect("columns").iter();
    let names: Vec<&str> = columns.map(|column| column["name"].as_str().expect("a name")).collect();
    assert!(header == names || (names.is_empty() && header.concat().is_empty()), "{view}: {header:?}");
    let rows = json["rows"].as_array().expect("rows");
    let records: Vec<csv::StringRecord> =
        reader.records().collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{view}: {error}\n{text}"));
    assert_eq!(records.len(), rows.len(), "{view}");
    for (record, row) in records.iter().zip(rows) {
        for (name, cell) in names.iter().zip(record) {
            let same = match &row[*name] {
                Value::Null => cell.is_empty(),
                // A text that is like a formula has an apostrophe in CSV.
                Value::String(text) => cell == text || cell.strip_prefix('\'') == Some(text),
                Value::Number(number) => cell.parse().ok() == number.as_f64(),
                Value::Bool(flag) => cell == if *flag { "true" } else { "false" },
                _ => true,
            };
            assert!(same, "{view}: {name} is {cell} in CSV: {row}");
        }
    }
}
