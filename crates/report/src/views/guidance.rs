//! `guidance`: which ranking to follow for this program, and why (metrics.md §11).

use super::with_sentence;
use crate::findings::{Findings, Guidance, Ranking, RunFacts, Sentence, Verdict};
use crate::input::{ReportOptions, ReportTables};
use crate::needs::CHAIN_NEEDS;
use crate::quantity::{grouped, percent_text};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition, findings_demand};

const COLUMNS: [&str; 7] = ["section", "text", "spans", "name", "value", "about", "argument"];

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "guidance",
    about: "Which ranking to follow for this program, which one misleads, and why.",
    demand: findings_demand,
    needs: |_| CHAIN_NEEDS,
    outside: &[OutsideAnswerKind::IdleProcessors],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Guidance, input, options, &COLUMNS);
    let findings = Findings::of(input);
    let guidance = findings.guidance();
    for sentence in std::iter::once(&guidance.lead).chain(&guidance.remarks) {
        report.rows.push(with_sentence(Row::default().text("section", "answer"), input, sentence));
    }
    let rankings = rankings(&guidance);
    let measures: Vec<Row> = measures(findings.facts());
    report.rows.extend(rankings.iter().map(|(row, _)| row.clone()));
    report.rows.extend(measures.iter().cloned());
    report.sections.push(TextSection::Headline(guidance.lead.text()));
    let remarks = Sentence::joined(guidance.remarks.iter().cloned(), " ");
    report.sections.extend((!remarks.is_empty()).then(|| TextSection::Paragraph(remarks.text())));
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(TextTable {
        columns: vec![
            shown("longpole report", Show::Words("argument")),
            shown("verdict", Show::Words("value")),
        ],
        name_title: "because".to_owned(),
        rows: rankings,
    }));
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Paragraph("What the program is like:".to_owned()));
    let rows = measures.into_iter().map(|row| (row.clone(), row.words("about").to_owned())).collect();
    report.sections.push(TextSection::Table(TextTable {
        columns: vec![shown("measure", Show::Words("name")), shown("value", Show::Words("value"))],
        name_title: "meaning".to_owned(),
        rows,
    }));
    report.sections.push(TextSection::Remark("`longpole explain trust` has the rules.".to_owned()));
    report
}

/// Each ranking with its verdict, and why.
fn rankings(guidance: &Guidance) -> Vec<(Row, String)> {
    let mut verdicts = guidance.verdicts.clone();
    verdicts.sort_by_key(|(_, verdict, _)| *verdict);
    let row = |(ranking, verdict, why): (Ranking, Verdict, &str)| {
        let row = Row::default()
            .text("section", "ranking")
            .text("name", ranking.view())
            .text("value", verdict.name())
            .text("about", why)
            .text("argument", ranking.arguments());
        (row, why.to_owned())
    };
    verdicts.into_iter().map(row).collect()
}

/// What was measured.
fn measures(facts: &RunFacts) -> Vec<Row> {
    let measure = |name: &str, value: String, about: &str| {
        Row::default().text("section", "measure").text("name", name).text("value", value).text("about", about)
    };
    let count = |count: usize| grouped(count as u64);
    let rate = facts.waits_per_second;
    let mut measures = vec![
        measure("working threads", count(facts.workers), "threads with at least 0.5 % of the CPU time"),
        measure("imbalance", percent_text(facts.imbalance), "what equal shares would take off the busiest"),
        measure("variation", percent_text(facts.variation), "deviation of their work, of its mean"),
        measure("efficiency", percent_text(facts.efficiency), "busy threads, of what threads and CPUs allow"),
        measure("waiting", percent_text(facts.waiting), "of their time they wait for each other"),
        measure("waits", format!("{rate:.1}/s"), "waits that begin per second of a thread's time"),
        measure("spinning", percent_text(facts.spinning_percent()), "of the CPU time only waits"),
        measure("kernel", percent_text(facts.system), "of the CPU time is in the kernel"),
        measure(
            "devices, pages",
            percent_text(facts.devices_percent()),
            "of the elapsed path waits for them",
        ),
        measure(
            "without a CPU",
            percent_text(facts.of_run(facts.ready)),
            "time threads were ready, of the run",
        ),
        measure("no thread runs", percent_text(facts.of_run(facts.idle)), "of the run no thread could run"),
        measure(
            "observations",
            grouped(facts.samples.round() as u64),
            "behind the critical path, of equal weight",
        ),
        measure("error", format!("± {:.1}", facts.sample_error), "points that a share of 10 % is known to"),
    ];
    // Of a simulated run nothing is estimated.
    measures.truncate(measures.len() - if facts.samples.is_finite() { 0 } else { 2 });
    measures
}

#[cfg(test)]
mod tests {
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use crate::input::ReportOptions;
    use crate::view::View;

    #[test]
    fn the_answer_comes_first_then_each_ranking_with_its_verdict() {
        let report = DrawnRun::of(LOCK_HOG).report(View::Guidance, &ReportOptions::default());
        assert!(report.rows[0].words("text").starts_with("Follow the critical path"));
        let verdict = |arguments: &str| {
            let row = report.rows.iter().find(|row| row.words("argument") == arguments).unwrap();
            row.words("value").to_owned()
        };
        assert_eq!(verdict("--view critical-path"), "follow");
        assert_eq!(verdict("--view profile"), "misleads");
    }
}
