//! The tables of the definitions that come from the code: rules of rankings, kinds of findings, thresholds.

use std::fmt::Write;

use super::rankings::{RULES, RankingRule, Verdict};
use super::table::KINDS;
use super::threshold::{THRESHOLDS, Threshold};

/// The definitions with these tables in the place of `{rules}`, `{remarks}`, `{findings}` and `{thresholds}`.
pub(crate) fn with_tables(definitions: &str) -> String {
    definitions
        .replace("{rules}", &rules(true))
        .replace("{remarks}", &rules(false))
        .replace("{findings}", &kinds())
        .replace("{thresholds}", &thresholds())
}

fn rules(leads: bool) -> String {
    let mut table = String::from("| when | then |\n|---|---|\n");
    for rule in RULES.iter().filter(|rule| rule.leads == leads) {
        let _ = writeln!(table, "| {} | {} |", rule.condition, verdicts(rule));
    }
    table.trim_end().to_owned()
}

/// What a rule says of rankings: `critical-path` follow (why); …
fn verdicts(rule: &RankingRule) -> String {
    let said = rule.says.iter().filter(|(_, verdict, _)| rule.leads || *verdict != Verdict::Follow);
    let said = said.map(|(ranking, verdict, why)| {
        let arguments = ranking.arguments();
        let name = arguments.trim_start_matches("--view ");
        format!("`{name}` {} ({why})", verdict.name())
    });
    match said.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => "a remark".to_owned(),
        said => said,
    }
}

fn kinds() -> String {
    let mut table = String::from("| what | when, and the gain | kind of change |\n|---|---|---|\n");
    for kind in KINDS {
        let _ = writeln!(table, "| {} | {} | {} |", kind.what, kind.when, kind.advice);
    }
    table.trim_end().to_owned()
}

fn thresholds() -> String {
    let mut table = String::from("| value | what it separates |\n|---|---|\n");
    for threshold in THRESHOLDS {
        let _ = writeln!(table, "| {} | {} |", amount(threshold), threshold.meaning);
    }
    table.trim_end().to_owned()
}

fn amount(threshold: &Threshold) -> String {
    let value = threshold.value;
    match threshold.unit {
        "ns" => format!("{} ms", value / 1e6),
        "" => value.to_string(),
        unit => format!("{value} {unit}"),
    }
}
