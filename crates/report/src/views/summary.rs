//! `summary`: the answer on one screen of 24 lines.

use longpole_event::ThreadId;
use longpole_metrics::{By, Measures, Node, NodeRow as Charged};
use longpole_trace::Cause;

use super::changes::{self, Changes, add_changes, changes};
use super::npt::npt;
use super::parallelism::most_charged;
use super::{causes_text, census, identity, with_sentence};
use crate::bar::bar;
use crate::evidence::{kept_part, leading_warning, lost_percent, warnings};
use crate::findings::{
    Finding, Findings, GUIDANCE, Guidance, LeadingAnswer, NextCommand, RankedWork, Sentence, record_names,
};
use crate::folded::FoldedWork;
use crate::input::{ReportOptions, ReportTables};
use crate::name;
use crate::needs::{CHAIN_NEEDS, lacks};
use crate::quantity::{percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::share::{Estimate, behind_path};
use crate::style::Style;
use crate::table::{Show, Shown, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition, findings_demand};

const COLUMNS: [&str; 21] = [
    "section",
    "text",
    "level",
    "cause",
    "procedure",
    "module",
    "file",
    "thread",
    "tid",
    "process",
    "pid",
    "seconds",
    "percent",
    "critical_path_percent",
    "critical_path_error_percent",
    "critical_path_inclusive_percent",
    "npt_percent",
    "npt_inclusive_percent",
    "cpu_percent",
    "cpu_inclusive_percent",
    "procedure_percent",
];
/// Lines and columns of the screen that the summary fits on; a line is left for the prompt.
const SCREEN: (usize, usize) = (23, 80);
/// Characters of the name beside a bar: with it, a line has 80.
const NAME: usize = 20;
const BAR: usize = 30;
/// Rows of procedures and of waits, where the screen has room for them.
const PROCEDURES: usize = 5;
const WAITS: usize = 3;
/// Characters of a command beside what it shows; a longer one stands alone.
const COMMAND: usize = 54;
/// Shares below this in every column are not shown, percent.
const SMALLEST: f64 = 0.5;

/// How much of each part there is room for.
#[derive(Clone, Copy)]
struct SummaryLimits {
    reasons: usize,
    changes: Changes,
    procedures: usize,
    doubts: usize,
}

const fn room(reasons: usize, changes: Changes, procedures: usize, doubts: usize) -> SummaryLimits {
    SummaryLimits { reasons, changes, procedures, doubts }
}

/// From what one would like to see down to what must be said.
const ROOMS: [SummaryLimits; 9] = [
    room(3, changes(6, 6), 5, 2),
    room(2, changes(5, 3), 5, 2),
    room(2, changes(4, 3), 3, 2),
    room(2, changes(4, 2), 3, 1),
    room(2, changes(4, 1), 2, 1),
    room(1, changes(4, 1), 2, 1),
    room(1, changes(3, 1), 2, 1),
    room(1, changes(3, 1), 0, 1),
    room(1, changes(2, 0), 0, 1),
];

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "summary",
    about: "The short answer: what holds the program back, why, how sure that is, and what to do next.",
    demand: findings_demand,
    outside: &[OutsideAnswerKind::CorrelationsWhereRecorded, OutsideAnswerKind::IdleProcessors],
    has_frame: false,
    needs: |_| CHAIN_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let (lines, width) = SCREEN;
    let fits = |report: &Report| report.text(&Style::plain(width)).lines().count() <= lines;
    let findings = Findings::of(input);
    let parts =
        SummaryParts { list: findings.changes(), guidance: findings.guidance(), answer: findings.answer() };
    let mut reports = ROOMS.into_iter().map(|room| with_room(input, options, &parts, room));
    let mut report = reports.next().expect("there is a first room");
    while !fits(&report) {
        match reports.next() {
            Some(smaller) => report = smaller,
            None => break,
        }
    }
    report
}

/// What the summary is made of: selections of the same findings.
struct SummaryParts<'f> {
    answer: LeadingAnswer,
    list: Vec<&'f Finding>,
    guidance: Guidance,
}

fn with_room(
    input: &ReportTables<'_>,
    options: &ReportOptions,
    parts: &SummaryParts<'_>,
    room: SummaryLimits,
) -> Report {
    let answer = &parts.answer;
    let names: Vec<&str> = COLUMNS.iter().chain(&changes::COLUMNS).copied().collect();
    let mut report = Report::new(View::Summary, input, options, &names);
    report.sections.extend(leading_warning(input).map(TextSection::Warning));
    report.sections.extend(kept_part(input).map(TextSection::Remark));
    report.sections.extend(options.phase.map(|span| TextSection::Remark(super::phase_line(span))));
    add_answer(&mut report, input, answer);
    add_changes(&mut report, input, &parts.list, room.changes);
    add_reasons(&mut report, input, parts, room.reasons);
    if answer.ranked_by.is_some() || input.analysis.elapsed > 0 {
        report.sections.push(TextSection::Blank);
        report.sections.push(TextSection::Paragraph(run_text(input, options)));
        add_parallelism(&mut report, input);
        add_outside(&mut report, input, room.procedures > 0);
    }
    match answer.ranked_by {
        // Nothing else names anybody.
        None => add_threads(&mut report, input, room.procedures.max(2)),
        Some(ranked) => add_procedures(&mut report, input, ranked, room.procedures),
    }
    // The list says what the waits mean; where it has next to nothing, they stand for themselves.
    add_waits(&mut report, input, if parts.list.len() < 2 { room.procedures.min(WAITS) } else { 0 });
    add_doubts(&mut report, input, options, room.doubts);
    add_next(&mut report, answer, input);
    report.drop_empty_columns(&["section", "text"]);
    report
}

/// What goes on outside the threads when few are busy; in the rows always, in the text where there is room.
fn add_outside(report: &mut Report, input: &ReportTables<'_>, is_shown: bool) {
    let Some(text) = input.outside_answers.correlations.as_ref().and_then(super::correlation::in_a_line)
    else {
        return;
    };
    report.rows.push(Row::default().text("section", "outside").text("text", &text));
    report.sections.extend(is_shown.then_some(TextSection::Paragraph(text)));
}

fn add_answer(report: &mut Report, input: &ReportTables<'_>, answer: &LeadingAnswer) {
    report.sections.push(TextSection::Headline(answer.headline.text()));
    let sentences = std::iter::once(&answer.headline).chain(&answer.reasons);
    let row = |sentence| with_sentence(Row::default().text("section", "answer"), input, sentence);
    report.rows.extend(sentences.map(row));
}

/// Why, and which ranking to trust.
fn add_reasons(report: &mut Report, input: &ReportTables<'_>, parts: &SummaryParts<'_>, most: usize) {
    let lead = &parts.guidance.lead;
    let is_ranked = parts.answer.ranked_by.is_some();
    if is_ranked {
        report.rows.push(with_sentence(Row::default().text("section", "trust"), input, lead));
    }
    let reasons = parts.answer.reasons.iter().take(most).map(Sentence::text);
    let lead = lead.text();
    let text: Vec<String> = reasons.chain(is_ranked.then(|| first_sentence(&lead).to_owned())).collect();
    if !text.is_empty() {
        report.sections.push(TextSection::Paragraph(text.join(" ")));
    }
}

/// A text up to the end of its first sentence.
fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

fn run_text(input: &ReportTables<'_>, options: &ReportOptions) -> String {
    let totals = input.totals();
    let program = input.program;
    let disks = [Cause::Io, Cause::PageFault].map(|cause| totals.blocked_for(cause)).iter().sum::<u64>();
    let disks = match disks {
        disks if disks * 10 > input.analysis.elapsed && !options.io_idle => " (disk waits count as busy)",
        _ => "",
    };
    let machines = match program.machines.len() {
        0 | 1 => String::new(),
        several => format!(" on {several} machines"),
    };
    format!(
        "{} elapsed, {} CPU, on average {:.2} busy{disks}; {}.",
        time_text(input.analysis.elapsed),
        time_text(totals.running + totals.spinning),
        input.effective_parallelism(),
        census(program, &machines),
    )
}

/// Levels of parallelism as ranges, so that there are at most four lines.
fn ranges(levels: usize) -> Vec<(usize, usize)> {
    match levels {
        0..=4 => (0..levels).map(|level| (level, level)).collect(),
        _ => {
            let middle = (levels - 1).div_ceil(2);
            vec![(0, 0), (1, 1), (2, middle), (middle + 1, levels - 1)]
        }
    }
}

fn add_parallelism(report: &mut Report, input: &ReportTables<'_>) {
    let busy = &input.analysis.busy;
    let charged = input.rows(By::Procedure);
    let levels = busy.iter().rposition(|&time| time > 0).map_or(0, |last| last + 1);
    for (from, to) in ranges(levels) {
        let time: u64 = busy[from..=to].iter().sum();
        let share = percent(time as f64, input.analysis.elapsed as f64);
        let label = if from == to { from.to_string() } else { format!("{from}–{to}") };
        let most = if from == 1 && to == 1 { most_charged(charged, 1) } else { None };
        let (who, row) = most.map_or(Default::default(), |(node, share)| {
            let (row, name) = identity(input, node);
            let who = format!("{} {}", name::shorten(&name, NAME), percent_text(share));
            (who, row.percent("procedure_percent", share))
        });
        let row = row.text("section", "busy").text("text", label.as_str()).count("level", from as u64);
        report.rows.push(row.time("seconds", time).percent("percent", share));
        if time == 0 {
            continue;
        }
        let line = format!("  {label:>5} busy {:>8}  {:30} {who}", percent_text(share), bar(share, BAR));
        report.sections.push(TextSection::Line(line));
    }
}

fn add_procedures(report: &mut Report, input: &ReportTables<'_>, ranked: RankedWork, most: usize) {
    let totals = input.totals();
    let length = input.analysis.critical_cpu.length as f64;
    let cpu = |measures: &Measures| (measures.running + measures.spinning) as f64;
    let path = |measures: &Measures| measures.critical_cpu as f64;
    let key = |row: &Charged| match ranked {
        RankedWork::Cpu => [cpu(&row.own), path(&row.own)],
        RankedWork::Npt => [npt(&row.own), cpu(&row.own)],
        RankedWork::CriticalPath => [path(&row.own), cpu(&row.own)],
    };
    let is_large = |row: &&Charged| {
        let shares = [percent(cpu(&row.own), cpu(totals)), percent(path(&row.own), length)];
        shares.iter().any(|&share| share >= SMALLEST)
    };
    let mut charged: Vec<&Charged> = input.rows(By::Procedure).iter().filter(is_large).collect();
    charged.sort_by(|a, b| {
        let ([a1, a2], [b1, b2]) = (key(a), key(b));
        b1.total_cmp(&a1).then(b2.total_cmp(&a2)).then(a.node.cmp(&b.node))
    });
    let estimate = Estimate::of(input, By::Procedure, behind_path(input.analysis), length);
    let mut rows = Vec::new();
    for charged in charged.iter().take(PROCEDURES) {
        let (identity, name) = identity(input, charged.node);
        let folded = FoldedWork::of(input, charged.node, cpu(&charged.own), &cpu);
        let (identity, name) = (folded.add_to(input, identity), name + &folded.suffix());
        let share = percent(path(&charged.own), length);
        let error = estimate.as_ref().and_then(|estimate| estimate.error(charged.node, share));
        let row = identity
            .text("section", "procedure")
            .percent("critical_path_percent", share)
            .percent_if("critical_path_error_percent", error)
            .percent("critical_path_inclusive_percent", percent(path(&charged.inclusive), length))
            .percent("npt_percent", percent(npt(&charged.own), npt(totals)))
            .percent("npt_inclusive_percent", percent(npt(&charged.inclusive), npt(totals)))
            .percent("cpu_percent", percent(cpu(&charged.own), cpu(totals)))
            .percent("cpu_inclusive_percent", percent(cpu(&charged.inclusive), cpu(totals)));
        rows.push((row, name));
    }
    if rows.is_empty() {
        return;
    }
    report.rows.extend(rows.iter().map(|(row, _)| row.clone()));
    rows.truncate(most);
    if rows.is_empty() {
        return;
    }
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(TextTable {
        columns: columns_of_procedures(),
        name_title: "procedure".to_owned(),
        rows,
    }));
}

fn columns_of_procedures() -> Vec<Shown> {
    vec![
        shown("critical path %", Show::Estimate("critical_path_percent", "critical_path_error_percent")),
        shown("incl", Show::Percent("critical_path_inclusive_percent")),
        shown("NPT %", Show::Percent("npt_percent")),
        shown("incl", Show::Percent("npt_inclusive_percent")),
        shown("CPU %", Show::Percent("cpu_percent")),
        shown("incl", Show::Percent("cpu_inclusive_percent")),
    ]
}

/// What is exact when no procedure is known: the threads.
fn add_threads(report: &mut Report, input: &ReportTables<'_>, most: usize) {
    let mut threads: Vec<(usize, u64)> = input
        .analysis
        .threads
        .iter()
        .enumerate()
        .map(|(at, states)| (at, states.running + states.spinning))
        .filter(|&(_, cpu)| cpu > 0)
        .collect();
    super::ranking::longest_first(&mut threads);
    let mut rows: Vec<(Row, String)> = threads
        .iter()
        .take(PROCEDURES)
        .map(|&(at, cpu)| {
            let (row, name) = identity(input, Node::Thread(ThreadId::from_index(at)));
            let waits = causes_text(&input.analysis.threads[at].blocked, 2);
            (row.text("section", "thread").time("seconds", cpu).text("cause", waits), name)
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    report.rows.extend(rows.iter().map(|(row, _)| row.clone()));
    rows.truncate(most);
    let columns = vec![shown("CPU", Show::Time("seconds")), shown("blocked for", Show::Words("cause"))];
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(TextTable { columns, name_title: "thread".to_owned(), rows }));
}

fn add_waits(report: &mut Report, input: &ReportTables<'_>, most: usize) {
    let mut waits: Vec<((Option<Cause>, Node), u64)> = Vec::new();
    for row in input.working_rows() {
        waits.push(((None, row.node), row.own.ready));
        let causes = row.own.blocked.iter().zip(Cause::ALL);
        waits.extend(causes.map(|(&time, &cause)| ((Some(cause), row.node), time)));
    }
    // Waits below 1 % of the run hold nobody back.
    waits.retain(|&(_, time)| time > input.analysis.elapsed / 100);
    super::ranking::longest_first(&mut waits);
    // Waiting for the end of what one started is seldom what holds a program back: other waits come first.
    waits.sort_by_key(|&((cause, _), _)| matches!(cause, Some(Cause::Join | Cause::Child)));
    let mut rows: Vec<(Row, String)> = waits
        .iter()
        .take(WAITS)
        .map(|&((cause, node), time)| {
            let (row, name) = identity(input, node);
            let cause = cause.map_or("a CPU", Cause::name);
            (row.text("section", "wait").text("cause", cause).time("seconds", time), name)
        })
        .collect();
    report.rows.extend(rows.iter().map(|(row, _)| row.clone()));
    rows.truncate(most);
    if rows.is_empty() {
        return;
    }
    let columns =
        vec![shown("thread time", Show::Time("seconds")), shown("waiting for", Show::Words("cause"))];
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(TextTable {
        columns,
        name_title: "in procedure".to_owned(),
        rows,
    }));
}

fn add_doubts(report: &mut Report, input: &ReportTables<'_>, options: &ReportOptions, most: usize) {
    let lacks = lacks(View::Summary, input, options).into_iter().map(str::to_owned);
    let led = leading_warning(input);
    let mut warnings = warnings(input);
    // What was lost comes before what the collector never sees.
    let losses = if lost_percent(input.evidence) > 0.0 { warnings.drain(..1).collect() } else { Vec::new() };
    for (at, doubt) in losses.into_iter().chain(lacks).chain(warnings).enumerate() {
        report.rows.push(Row::default().text("section", "warning").text("text", &doubt));
        if at < most + usize::from(led.is_some()) && led.as_ref() != Some(&doubt) {
            report.sections.push(TextSection::Warning(doubt));
        }
    }
}

fn add_next(report: &mut Report, answer: &LeadingAnswer, input: &ReportTables<'_>) {
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Line("Next:".to_owned()));
    let mut next: Vec<_> = record_names(input).into_iter().chain(answer.next.iter().cloned()).collect();
    if answer.ranked_by.is_some() {
        next.truncate(2);
        next.push(GUIDANCE);
    }
    let length = |next: &NextCommand| next.command.chars().count();
    let width = next.iter().map(length).filter(|&length| length <= COMMAND).max().unwrap_or(0);
    for next in next {
        let shows = if length(&next) <= COMMAND { next.shows } else { "" };
        report.rows.push(Row::default().text("section", "next").text("text", next.command.as_ref()));
        let command = format!("{:width$}", next.command);
        report.sections.push(TextSection::Command { command, shows: shows.to_owned() });
    }
}
