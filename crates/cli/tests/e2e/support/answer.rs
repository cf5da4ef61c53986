//! A report's JSON, as tests ask it.

use serde_json::{Map, Value};

/// Rows that a message shows.
const ROWS: usize = 25;

/// One report.
#[derive(Debug)]
pub struct Answer {
    view: String,
    pub value: Value,
}

impl Answer {
    /// Reads what `report --format json` wrote.
    pub fn new(view: &str, text: &str) -> Answer {
        let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{view}: {error}\n{text}"));
        Answer { view: view.to_owned(), value }
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.value["rows"].as_array().expect("a report has rows").iter().filter_map(Value::as_object)
    }

    /// The entries of the list of changes, the first one first.
    pub fn all_changes(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.rows().filter(|row| row.contains_key("remedy"))
    }

    /// The entries of the list of changes that advise this.
    pub fn changes<'a>(&'a self, remedy: &'a str) -> impl Iterator<Item = &'a Map<String, Value>> {
        self.all_changes().filter(move |row| row["remedy"] == remedy)
    }

    /// The number `column` of all rows whose `key` column holds `name`, added up; 0 without such a row.
    pub fn sum(&self, key: &str, name: &str, column: &str) -> f64 {
        let rows =
            self.rows().filter(|row| row.get(key).and_then(Value::as_str).is_some_and(|it| is(it, name)));
        rows.filter_map(|row| row.get(column)?.as_f64()).sum()
    }

    /// The number `column` of all rows, added up.
    pub fn sum_of(&self, column: &str) -> f64 {
        self.rows().filter_map(|row| row.get(column)?.as_f64()).sum()
    }

    /// The share of a procedure, percent.
    pub fn percent(&self, procedure: &str) -> f64 {
        self.sum("procedure", procedure, "percent")
    }

    /// Asserts a procedure's share: within `margin` percentage points and three standard errors.
    pub fn assert_percent(&self, procedure: &str, expected: f64, margin: f64) {
        self.assert_share("procedure", procedure, expected, margin);
    }

    /// Asserts that a procedure's share lies between two, give or take `margin` and three standard errors.
    /// For shares of normalised processor time: what runs beside each other on an idle machine runs in turn
    /// on a busy one, and the share moves from that of the one case to that of the other.
    pub fn assert_between(&self, key: &str, name: &str, shares: (f64, f64), margin: f64) {
        let percent = self.share(key, name);
        self.assert_share(key, name, percent.clamp(shares.0, shares.1), margin);
    }

    /// Asserts the share of whatever a row is about. Of a procedure it is the inclusive share: the programs'
    /// procedures call nothing, and what the kernel does while they run (interrupts above all) varies.
    pub fn assert_share(&self, key: &str, name: &str, expected: f64, margin: f64) {
        let percent = self.share(key, name);
        let error = self.sum(key, name, "error_percent");
        let off = (percent - expected).abs();
        assert!(
            off <= margin + 3.0 * error,
            "{}\n{}: {name} has {percent:.1} % ± {error:.1}, not {expected:.1} ± {margin:.1}",
            self.table(key),
            self.view
        );
    }

    pub fn share(&self, key: &str, name: &str) -> f64 {
        self.sum(key, name, if key == "procedure" { "inclusive_percent" } else { "percent" })
    }

    /// A number of the `recording` or `evidence` object.
    pub fn number(&self, object: &str, key: &str) -> f64 {
        let value = &self.value[object][key];
        value.as_f64().unwrap_or_else(|| panic!("{}: no number {object}.{key}: {value}", self.view))
    }

    /// Names and shares of the first rows, for messages; what missed is to stand below it.
    pub fn table(&self, key: &str) -> String {
        let line = |row: &Map<String, Value>| format!("{} {}", row["percent"], row[key]);
        let has_both = |row: &&Map<String, Value>| row.contains_key("percent") && row.contains_key(key);
        self.rows().filter(has_both).take(ROWS).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Whether a name in a report is `name`, its parameters, template arguments, module path and crate aside.
pub fn is(reported: &str, name: &str) -> bool {
    let plain = reported.split(['(', '<']).next().unwrap_or(reported);
    reported == name || plain == name || plain.ends_with(&format!("::{name}"))
}
