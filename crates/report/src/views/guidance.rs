//! `guidance`: which ranking to follow for this program, and why (metrics.md §11).

use crate::guidance::{Character, Guidance, guidance};
use crate::input::{Options, Source};
use crate::quantity::{grouped, percent_text};
use crate::report::{Report, Row};
use crate::table::{Show, Table, shown};
use crate::text::Section;
use crate::view::View;

const COLUMNS: [&str; 6] = ["section", "text", "name", "value", "about", "argument"];

pub(super) fn build(input: &Source<'_>, options: &Options) -> Report {
    let mut report = Report::new(View::Guidance, input, options, &COLUMNS);
    let guidance = guidance(input);
    for text in std::iter::once(&guidance.lead).chain(&guidance.remarks) {
        report.rows.push(Row::default().text("section", "answer").text("text", text));
    }
    let rankings = rankings(&guidance);
    let measures: Vec<Row> = measures(&guidance.character);
    report.rows.extend(rankings.iter().map(|(row, _)| row.clone()));
    report.rows.extend(measures.iter().cloned());
    report.sections.push(Section::Headline(guidance.lead));
    report
        .sections
        .extend((!guidance.remarks.is_empty()).then(|| Section::Paragraph(guidance.remarks.join(" "))));
    report.sections.push(Section::Blank);
    report.sections.push(Section::Table(Table {
        columns: vec![
            shown("longpole report", Show::Words("argument")),
            shown("verdict", Show::Words("value")),
        ],
        name_title: "because".to_owned(),
        rows: rankings,
    }));
    report.sections.push(Section::Blank);
    report.sections.push(Section::Paragraph("What the program is like:".to_owned()));
    let rows = measures.into_iter().map(|row| (row.clone(), row.words("about").to_owned())).collect();
    report.sections.push(Section::Table(Table {
        columns: vec![shown("measure", Show::Words("name")), shown("value", Show::Words("value"))],
        name_title: "meaning".to_owned(),
        rows,
    }));
    report.sections.push(Section::Remark("`longpole explain trust` has the rules.".to_owned()));
    report
}

/// Each ranking with its verdict, and why.
fn rankings(guidance: &Guidance) -> Vec<(Row, String)> {
    let mut verdicts = guidance.verdicts.clone();
    verdicts.sort_by_key(|(_, verdict, _)| *verdict);
    let row = |(ranking, verdict, why): (crate::guidance::Ranking, crate::guidance::Verdict, &str)| {
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
fn measures(character: &Character) -> Vec<Row> {
    let measure = |name: &str, value: String, about: &str| {
        Row::default().text("section", "measure").text("name", name).text("value", value).text("about", about)
    };
    let count = |count: usize| grouped(count as u64);
    let rate = character.waits_per_second;
    vec![
        measure("working threads", count(character.workers), "threads with at least 0.5 % of the CPU time"),
        measure(
            "imbalance",
            percent_text(character.imbalance),
            "what equal shares would take off the busiest",
        ),
        measure("variation", percent_text(character.variation), "deviation of their work, of its mean"),
        measure(
            "efficiency",
            percent_text(character.efficiency),
            "busy threads, of what threads and CPUs allow",
        ),
        measure("waiting", percent_text(character.waiting), "of their time they wait for each other"),
        measure("waits", format!("{rate:.1}/s"), "waits that begin per second of a thread's time"),
        measure("spinning", percent_text(character.spinning), "of the CPU time only waits"),
        measure("kernel", percent_text(character.system), "of the CPU time is in the kernel"),
        measure("devices, pages", percent_text(character.devices), "of the elapsed path waits for them"),
        measure("without a CPU", percent_text(character.ready), "time threads were ready, of the run"),
        measure("nobody runs", percent_text(character.idle), "of the run no thread could run"),
        measure(
            "observations",
            grouped(character.samples.round() as u64),
            "behind the critical path, of equal weight",
        ),
        measure("error", format!("± {:.1}", character.error), "points that a share of 10 % is known to"),
    ]
}

#[cfg(test)]
mod tests {
    use crate::fixture::{LOCK_HOG, Scene};
    use crate::input::Options;
    use crate::view::View;

    #[test]
    fn the_answer_comes_first_then_each_ranking_with_its_verdict() {
        let report = Scene::of(LOCK_HOG).report(View::Guidance, &Options::default());
        assert!(report.rows[0].words("text").starts_with("Follow the critical path"));
        let verdict = |arguments: &str| {
            let row = report.rows.iter().find(|row| row.words("argument") == arguments).unwrap();
            row.words("value").to_owned()
        };
        assert_eq!(verdict("--view critical-path"), "follow");
        assert_eq!(verdict("--view profile"), "misleads");
    }
}
