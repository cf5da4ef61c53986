//! `sharing`: the units that several threads touch, and which of their bytes each uses.

use longpole_communication::{RecordedCommunication, SharedUnit, SharedUnitUse};
use longpole_trace::Fold;

use super::communication::{doubts, head, layout_commands, thread_name};
use super::no_accesses::no_accesses;
use crate::input::{ReportOptions, ReportTables};
use crate::name::shorten;
use crate::quantity::{count_of, grouped};
use crate::report::{Report, Row};
use crate::simulation::SimulationNumbers;
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

const COLUMNS: [&str; 11] = [
    "object",
    "kind",
    "address",
    "offset",
    "requests",
    "transfers",
    "requests_low",
    "requests_high",
    "false_sharing_percent",
    "threads",
    "uses",
];

/// Units of which text shows the bytes, unless the reader asks for more.
const UNITS_OF_TEXT: usize = 5;
/// Signs of a map of bytes.
const MAP_WIDTH: u64 = 64;
/// Letters of a thread's name behind a map, so that both have room in 80 columns.
const NAME_WIDTH: usize = 15;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "sharing",
    about: "The cache lines or pages that several threads touch, with the bytes that each reads and writes.",
    fold: Fold::None,
    outside: &[OutsideAnswerKind::Communication],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Sharing, input, options, &COLUMNS);
    let Some(answer) = &input.outside_answers.communication else {
        report.sections.extend(no_accesses(input));
        return report;
    };
    report.simulation = Some(SimulationNumbers::of(input, answer));
    let mut units: Vec<&SharedUnit> = answer.units.iter().collect();
    units.sort_by_key(|unit| (std::cmp::Reverse((unit.transfers, unit.requests)), unit.address));
    let listed = units.iter().take(options.top.unwrap_or(usize::MAX));
    report.rows.extend(listed.map(|unit| cells(input, answer, unit)));
    report.sections.extend(head(answer));
    let most = options.top.unwrap_or(UNITS_OF_TEXT);
    let moved: Vec<&&SharedUnit> = units.iter().filter(|unit| unit.transfers > 0).collect();
    for unit in moved.iter().take(most) {
        report.sections.extend(byte_map(input, answer, unit));
    }
    report.sections.push(TextSection::Blank);
    if moved.len() > most {
        let left = count_of((moved.len() - most) as u64, "more unit");
        report.sections.push(TextSection::Remark(format!("{left} with transfers; `--top` shows them.")));
    }
    if moved.len() < units.len() {
        let still = count_of((units.len() - moved.len()) as u64, "unit");
        let remark = format!(
            "{still} that several threads touch without transfers: they only read, or take no turns."
        );
        report.sections.push(TextSection::Remark(remark));
    }
    if answer.sample.is_some() {
        report.sections.push(TextSection::Remark(
            "Units that were not followed are not listed; the counts of a unit are its own, and no estimates.".to_owned(),
        ));
    }
    let commands = layout_commands(answer);
    if !commands.is_empty() {
        report.sections.push(TextSection::Blank);
        report.sections.extend(commands);
    }
    report.sections.extend(doubts(answer).into_iter().map(TextSection::Warning));
    report
}

/// Where in its object a unit begins: below 0 where the object begins inside the unit.
fn offset(answer: &RecordedCommunication, unit: &SharedUnit) -> Option<i64> {
    let object = &answer.objects[unit.object];
    (object.address > 0).then(|| unit.address.wrapping_sub(object.address) as i64)
}

fn cells(input: &ReportTables<'_>, answer: &RecordedCommunication, unit: &SharedUnit) -> Row {
    let object = &answer.objects[unit.object];
    let share = unit.false_sharing as f64 * 100.0 / unit.requests.max(1) as f64;
    let ranges = |ranges: &[(u32, u32)]| {
        ranges.iter().map(|(from, to)| format!("{from}..{to}")).collect::<Vec<_>>().join(" ")
    };
    let uses = unit.uses.iter().map(|one| {
        Row::default()
            .text("thread", thread_name(input, answer, one.thread))
            .text("read", ranges(&one.read))
            .text("written", ranges(&one.written))
            .count("accesses", one.accesses)
    });
    let row = Row::default()
        .text("object", &object.name)
        .text("kind", object.kind)
        .text("address", format!("{:#x}", unit.address))
        .count("requests", unit.requests)
        .count("transfers", unit.transfers)
        .count("requests_low", unit.low)
        .count("requests_high", unit.high)
        .percent("false_sharing_percent", share)
        .count("threads", unit.uses.len() as u64)
        .list("uses", uses.collect());
    match offset(answer, unit) {
        Some(offset) => row.amount("offset", Some(offset as f64)),
        None => row,
    }
}

/// A line for each thread: what it does with each byte, or with each part of a large unit.
fn byte_map(input: &ReportTables<'_>, answer: &RecordedCommunication, unit: &SharedUnit) -> Vec<TextSection> {
    let object = &answer.objects[unit.object];
    let place = match offset(answer, unit) {
        Some(0) => String::new(),
        Some(offset) if offset < 0 => format!(", from {} bytes before it", -offset),
        Some(offset) => format!(" + {offset}"),
        None => format!(" at {:#x}", unit.address),
    };
    let title = format!(
        "{}{place}: {} (of any order {} to {}), {} of them false sharing",
        object.name,
        count_of(unit.transfers, "transfer"),
        grouped(unit.low),
        grouped(unit.high),
        grouped(unit.false_sharing),
    );
    let step = (answer.unit / MAP_WIDTH).max(1) as u32;
    let scale = match step {
        1 => "a sign is a byte".to_owned(),
        bytes => format!("a sign is {bytes} bytes"),
    };
    let legend = format!("r read, w written, b both, . not touched; {scale}");
    let mut sections = vec![TextSection::Blank, TextSection::Headline(title), TextSection::Remark(legend)];
    for one in &unit.uses {
        let map = signs(one, answer.unit as u32, step);
        let name = shorten(&thread_name(input, answer, one.thread), NAME_WIDTH);
        sections.push(TextSection::Line(format!("{map} {name}")));
    }
    sections
}

fn signs(one: &SharedUnitUse, unit: u32, step: u32) -> String {
    let touches = |ranges: &[(u32, u32)], from: u32| {
        ranges.iter().any(|&(begin, end)| begin < from + step && from < end)
    };
    (0..unit)
        .step_by(step as usize)
        .map(|from| match (touches(&one.read, from), touches(&one.written, from)) {
            (true, true) => 'b',
            (true, false) => 'r',
            (false, true) => 'w',
            (false, false) => '.',
        })
        .collect()
}
