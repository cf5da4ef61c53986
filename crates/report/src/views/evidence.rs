//! `evidence`: the ledger, every count explained (metrics.md §9).

use crate::evidence::unexplained_wait_percent;
use crate::input::{Input, Options};
use crate::quantity::{grouped, percent_text};
use crate::report::{Report, Row};
use crate::text::{Section, wrap};
use crate::view::View;

/// Columns of the names and values; the meanings get the rest.
const NAME_WIDTH: usize = 24;
const VALUE_WIDTH: usize = 14;
const MEANING_WIDTH: usize = 40;

pub(super) fn build(input: &Input<'_>, options: &Options) -> Report {
    let mut report = Report::new(View::Evidence, input, options, &["name", "count", "value", "about"]);
    report.rows = rows(input);
    report.drop_empty_columns(&["name", "count", "value", "about"]);
    report
        .sections
        .push(Section::Headline("Evidence: what the answers of this recording rest on".to_owned()));
    report.sections.push(Section::Remark(super::run_line(input)));
    report.sections.push(Section::Blank);
    for row in &report.rows {
        report.sections.extend(ledger_lines(row).into_iter().map(Section::Line));
    }
    let warnings = input.evidence.warnings(input);
    report.sections.push(Section::Blank);
    if warnings.is_empty() {
        report.sections.push(Section::Paragraph("Nothing speaks against the answers.".to_owned()));
    }
    report.sections.extend(warnings.into_iter().map(Section::Warning));
    let notes = input.evidence.notes.iter().map(|note| Section::Paragraph(format!("Note: {note}")));
    report.sections.extend(notes);
    report
}

/// A count with its meaning beside it, broken over lines.
fn ledger_lines(row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, meaning) in wrap(row.words("about"), MEANING_WIDTH, 0).into_iter().enumerate() {
        let (name, value) = if at == 0 { (row.words("name"), row.words("value")) } else { ("", "") };
        lines.push(format!("{name:NAME_WIDTH$}{value:>VALUE_WIDTH$}  {meaning}"));
    }
    lines
}

fn rows(input: &Input<'_>) -> Vec<Row> {
    let evidence = input.evidence;
    let samples = input.analysis.effective_samples;
    let words = |name: &str, value: String, about: &str| {
        Row::default().text("name", name).text("value", value).text("about", about)
    };
    let count =
        |name: &str, count: u64, about: &str| words(name, grouped(count), about).count("count", count);
    let share = |name: &str, value: f64, about: &str| words(name, percent_text(value), about);
    let effective =
        |name: &str, samples: f64, about: &str| words(name, grouped(samples.round() as u64), about);
    let mut rows = vec![
        words(
            "collector",
            evidence.collector.clone(),
            "what recorded the run: bpf (kernel programs), perf (tracepoints) or an import",
        ),
        words(
            "sampling rate",
            format!("{} Hz", evidence.sample_hertz),
            "timer samples asked for, per second and CPU",
        ),
        count("events", evidence.events, "switches, wakes, starts, ends and samples read from the recording"),
        count("samples", evidence.samples, "timer samples among them"),
        effective(
            "effective samples, CPU",
            samples.cpu,
            "independent observations behind shares of CPU time; a share p has the error √(p(1−p)/n)",
        ),
        effective(
            "effective samples, NPT",
            samples.npt,
            "the same behind shares of normalised processor time",
        ),
        effective("effective samples, path", samples.critical, "the same behind shares of the critical path"),
        count(
            "lost events",
            evidence.lost_events,
            "switches, wakes, starts and ends that came too fast to be kept; states and waits are wrong by them",
        ),
        count(
            "lost samples",
            evidence.lost_samples,
            "samples that came too fast to be kept; they only widen the errors",
        ),
        count(
            "lost stacks",
            evidence.lost_stacks,
            "events whose call path is not known; their time goes to the thread's next known path",
        ),
        count(
            "lost threads",
            evidence.lost_threads,
            "threads that did not fit the collector's table and are missing altogether",
        ),
        count(
            "unmatched wakes",
            evidence.unmatched_wakes,
            "wakes of threads that did not sleep, and threads that ran without a wake; each may hide a dependence",
        ),
        share(
            "unsymbolised",
            evidence.unsymbolised_percent,
            "share of CPU time in code without a name: no symbols, or no mapping known",
        ),
        share(
            "unexplained waiting",
            unexplained_wait_percent(input),
            "share of blocked time of which no cause is known",
        ),
    ];
    match evidence.overhead_percent {
        Some(overhead) => rows.push(share(
            "cost of collecting",
            overhead,
            "CPU time spent on collecting as a share of the program's own",
        )),
        None => rows.push(words(
            "cost of collecting",
            "not measured".to_owned(),
            "this recording does not say what collecting cost",
        )),
    }
    for (kind, number) in &evidence.defects {
        rows.push(count(kind, *number, "damage of the recording: what stood there is missing"));
    }
    rows
}
