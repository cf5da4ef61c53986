//! `communication`: who makes whom fetch what, in the simulated caches or nodes (C §2.2).

mod chains;

use std::collections::{BTreeMap, BTreeSet};

use longpole_communication::{
    AccessPattern, CommunicationFlow, DataPlace, FollowedRequests, RecordedCommunication,
};
use longpole_metrics::By;
use longpole_trace::Fold;

use super::no_accesses::no_accesses;
use super::sampled;
use crate::findings::in_shell;
use crate::input::{ReportOptions, ReportTables};
use crate::name::shorten;
use crate::quantity::{count_of, grouped, percent, time_text};
use crate::report::{Report, Row};
use crate::simulation::SimulationNumbers;
use crate::table::{Show, Shown, TextTable, shown};
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

/// Columns of every row, behind those that say what it is about.
const COLUMNS: [&str; 14] = [
    "requests",
    "transfers",
    "request_seconds",
    "percent",
    "cold_percent",
    "read_only_percent",
    "false_sharing_percent",
    "migratory_percent",
    "spsc_percent",
    "spmc_percent",
    "mpsc_percent",
    "mpmc_percent",
    "used_percent",
    "through",
];

/// Patterns with their columns.
pub(super) const PATTERNS: [(AccessPattern, &str); 8] = [
    (AccessPattern::Cold, "cold_percent"),
    (AccessPattern::ReadOnly, "read_only_percent"),
    (AccessPattern::FalseSharing, "false_sharing_percent"),
    (AccessPattern::Migratory, "migratory_percent"),
    (AccessPattern::Spsc, "spsc_percent"),
    (AccessPattern::Spmc, "spmc_percent"),
    (AccessPattern::Mpsc, "mpsc_percent"),
    (AccessPattern::Mpmc, "mpmc_percent"),
];

/// Cell of all first references; of the text only.
const FIRST: &str = "first_percent";

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "communication",
    about: "Who makes whom fetch data: requests of cache lines or pages, and the writes behind them.",
    fold: Fold::None,
    has_levels: true,
    outside: &[OutsideAnswerKind::Communication],
    build,
    ..ViewDefinition::PLAIN
};

/// Letters of a writer's name and of a synchronisation's, so that they leave room for the row's own.
const NAME_WIDTH: usize = 60;

/// The flows of one row.
#[derive(Default)]
struct FlowGroup<'a> {
    flows: Vec<&'a CommunicationFlow>,
    /// Their indexes in the answer.
    indexes: BTreeSet<usize>,
}

impl FlowGroup<'_> {
    fn requests(&self) -> u64 {
        self.flows.iter().map(|flow| flow.requests).sum()
    }

    fn transfers(&self) -> impl Iterator<Item = &&CommunicationFlow> {
        self.flows.iter().filter(|flow| flow.writer.is_some())
    }

    fn transfer_cost(&self) -> u64 {
        self.transfers().map(|flow| flow.cost).sum()
    }

    fn cost(&self) -> u64 {
        self.flows.iter().map(|flow| flow.cost).sum()
    }

    /// The transfers by a key, as shares of them, the largest first.
    fn shares(&self, key: impl Fn(&CommunicationFlow) -> String) -> Vec<(String, f64)> {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for flow in self.transfers() {
            *sums.entry(key(flow)).or_default() += flow.cost;
        }
        let whole = self.transfer_cost() as f64;
        let mut shares: Vec<_> =
            sums.into_iter().map(|(name, cost)| (name, percent(cost as f64, whole))).collect();
        shares.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        shares
    }
}

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let own: &[&str] = match options.by {
        By::Line => &["procedure", "module", "file", "line", "from"],
        By::Object => &["object", "kind", "requests_low", "requests_high", "from"],
        By::Thread => &["thread", "writer", "from"],
        _ => &["procedure", "module", "file", "from"],
    };
    let explained: &[&str] = if options.explain.is_some() { &chains::COLUMNS } else { &[] };
    let ranges = sampled::columns(input.outside_answers.communication.as_deref());
    let columns: Vec<&str> =
        ["rank"].iter().chain(own).chain(&COLUMNS).chain(ranges).chain(explained).copied().collect();
    let mut report = Report::new(View::Communication, input, options, &columns);
    let Some(answer) = &input.outside_answers.communication else {
        report.sections.extend(no_accesses(input));
        return report;
    };
    report.simulation = Some(SimulationNumbers::of(input, answer));
    let mut rows = rows(input, answer, options.by);
    rows.sort_by_cached_key(|(group, _, name)| {
        (std::cmp::Reverse((group.transfer_cost(), group.cost())), name.clone())
    });
    let whole: u64 = rows.iter().map(|(group, ..)| group.transfer_cost()).sum();
    let most = options.top.unwrap_or(super::ROWS_OF_TEXT);
    let causes: Vec<TextSection> = rows
        .iter()
        .take(most.min(CAUSES_OF_TEXT))
        .filter_map(|(group, _, name)| cause(input, answer, (group, name), options.by))
        .collect();
    if let Some(number) = options.explain {
        explain(input, answer, (&rows, whole), (number, options.by), &mut report);
        return report;
    }
    let rows: Vec<(Row, String)> = (1..)
        .zip(rows)
        .map(|(rank, (group, row, name))| {
            (cells(input, answer, &group, row.count("rank", rank), (whole, options.by)), name)
        })
        .collect();
    let listed = rows.iter().take(options.top.unwrap_or(usize::MAX));
    report.rows.extend(listed.map(|(row, _)| row.clone()));
    report.sections.extend(head(answer));
    if !rows.is_empty() {
        let left = rows.len().saturating_sub(most);
        let ranges = sampled::shown_ranges(answer);
        report
            .sections
            .extend([TextSection::Blank, TextSection::Table(table(rows, most, (options.by, ranges)))]);
        if left > 0 {
            let left = count_of(left as u64, "more row");
            report.sections.push(TextSection::Remark(format!("{left}; `--top` shows them.")));
        }
    }
    if !causes.is_empty() {
        report.sections.push(TextSection::Blank);
        report.sections.extend(causes);
    }
    report.sections.extend(commands(answer, options.by));
    report.sections.extend(doubts(answer).into_iter().map(TextSection::Warning));
    report
}

/// One row in full.
fn explain(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    (rows, whole): (&[(FlowGroup<'_>, Row, String)], u64),
    (number, by): (usize, By),
    report: &mut Report,
) {
    report.sections.extend(head(answer));
    let Some((group, row, name)) = number.checked_sub(1).and_then(|at| rows.get(at)) else {
        let known = match rows.len() {
            0 => "no thread accessed memory".to_owned(),
            1 => "`communication` has only row 1".to_owned(),
            last => format!("`communication` has the rows 1 to {last}"),
        };
        report.sections.push(TextSection::Paragraph(format!("There is no row {number}: {known}.")));
        return;
    };
    let row = cells(input, answer, group, row.clone().count("rank", number as u64), (whole, by));
    let (row, sections) = match &answer.chains {
        Some(found) => {
            let flows = group.indexes.clone();
            chains::explain(input, answer, found, chains::ExplainedRow { number, name, row, flows })
        }
        None => (row, Vec::new()),
    };
    report.rows.push(row);
    report.sections.extend(sections);
    report.sections.extend(doubts(answer).into_iter().map(TextSection::Warning));
}

fn table(rows: Vec<(Row, String)>, most: usize, (by, ranges): (By, Vec<Shown>)) -> TextTable {
    let counts = [
        shown("#", Show::Rank),
        shown("%", Show::Percent("percent")),
        shown("cost", Show::Time("request_seconds")),
        shown("requests", Show::Count("requests")),
        shown("transfers", Show::Count("transfers")),
    ];
    let shares = [
        shown("false %", Show::Percent("false_sharing_percent")),
        shown("migr. %", Show::Percent("migratory_percent")),
        shown("cold %", Show::Percent(FIRST)).optional(),
        shown("used %", Show::Percent("used_percent")).optional(),
    ];
    TextTable {
        columns: counts.into_iter().chain(ranges).chain(shares).collect(),
        name_title: match by {
            By::Object => "object",
            By::Thread => "thread",
            By::Line => "line",
            _ => "procedure",
        }
        .to_owned(),
        rows: rows.into_iter().take(most).map(|(row, name)| (with_first(row), name)).collect(),
    }
}

fn with_first(row: Row) -> Row {
    let of = |column| row.value(column).unwrap_or(0.0);
    let first = of("cold_percent") + of("read_only_percent");
    row.percent(FIRST, first)
}

/// The groups of flows, with the cells and the text that name them.
fn rows<'a>(
    input: &ReportTables<'_>,
    answer: &'a RecordedCommunication,
    by: By,
) -> Vec<(FlowGroup<'a>, Row, String)> {
    let mut groups: BTreeMap<(String, usize), (FlowGroup<'a>, Row)> = BTreeMap::new();
    for (index, flow) in answer.flows.iter().enumerate() {
        let (name, other, row) = match by {
            By::Object => {
                let object = &answer.objects[flow.object];
                let row = Row::default().text("object", &object.name).text("kind", object.kind);
                (object.name.clone(), flow.object, row)
            }
            By::Thread => {
                let name = thread_name(input, answer, flow.reader);
                let writer = flow.writer.map_or(usize::MAX, |writer| writer.thread);
                let row = Row::default().text("thread", &name);
                let row = match flow.writer {
                    Some(writer) => row.text("writer", thread_name(input, answer, writer.thread)),
                    None => row,
                };
                (name, flow.reader << 20 ^ writer, row)
            }
            _ => {
                let place = &answer.places[flow.place];
                let line = if by == By::Line { place.line } else { 0 };
                let name = match line {
                    0 => place.procedure.clone(),
                    _ => place_name(place),
                };
                let row = Row::default()
                    .text("procedure", &place.procedure)
                    .text("module", &place.module)
                    .text("file", &place.file);
                (name, 0, if line > 0 { row.count("line", line.into()) } else { row })
            }
        };
        let (group, _) = groups.entry((name, other)).or_insert_with(|| (FlowGroup::default(), row));
        group.flows.push(flow);
        group.indexes.insert(index);
    }
    let ranges = |object: usize| {
        let units = answer.units.iter().filter(|unit| unit.object == object);
        units.fold((0, 0), |(low, high), unit| (low + unit.low, high + unit.high))
    };
    groups
        .into_iter()
        .map(|((name, _), (group, row))| {
            let row = match by {
                By::Object => {
                    let (low, high) = ranges(group.flows[0].object);
                    row.count("requests_low", low).count("requests_high", high)
                }
                _ => row,
            };
            (group, row, name)
        })
        .collect()
}

fn cells(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    group: &FlowGroup<'_>,
    row: Row,
    (whole, by): (u64, By),
) -> Row {
    let requests = group.requests();
    let sum = |value: fn(&CommunicationFlow) -> u64| group.flows.iter().map(|flow| value(flow)).sum::<u64>();
    // A pair of threads has a transfer where one's write is behind a request of the other, and others' may be too.
    let transfers =
        |flow: &&CommunicationFlow| if by == By::Thread { flow.contributions } else { flow.requests };
    let mut row = row
        .count("requests", requests)
        .count("transfers", group.transfers().copied().map(|flow| transfers(&flow)).sum())
        .time("request_seconds", group.cost())
        .percent("percent", percent(group.transfer_cost() as f64, whole as f64))
        .percent("used_percent", percent(sum(|flow| flow.used) as f64, sum(|flow| flow.fetched) as f64));
    let mut followed = FollowedRequests::default();
    group.flows.iter().for_each(|flow| followed.merge(&flow.followed));
    row = match by {
        By::Thread => sampled::with_ranges_of_pair(row, answer, &followed),
        _ => sampled::with_ranges(row, answer, &followed),
    };
    for (pattern, column) in PATTERNS {
        let of: u64 = group.flows.iter().map(|flow| flow.patterns[pattern as usize]).sum();
        row = row.percent(column, percent(of as f64, requests as f64));
    }
    let list = |column: &'static str, shares: Vec<(String, f64)>| {
        shares
            .into_iter()
            .map(|(name, share)| Row::default().text(column, name).percent("percent", share))
            .collect()
    };
    let from = group.shares(|flow| writer_name(input, answer, flow));
    let through = group.shares(|flow| through_name(answer, flow));
    row.list("from", list("procedure", from)).list("through", list("object", through))
}

/// Rows whose causes are in the text.
const CAUSES_OF_TEXT: usize = 6;

/// R ← I ← W in a sentence: the largest writers and synchronisations behind the transfers of a row.
fn cause(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    (group, name): (&FlowGroup<'_>, &str),
    by: By,
) -> Option<TextSection> {
    let from = group.shares(|flow| match by {
        By::Thread => writer_name(input, answer, flow),
        _ => flow.writer.map_or(String::new(), |writer| answer.places[writer.place].procedure.clone()),
    });
    let through = group.shares(|flow| through_name(answer, flow));
    let listed = |shares: Vec<(String, f64)>| {
        let share = |share: f64| if share > 99.5 { String::new() } else { format!(" ({share:.0} %)") };
        let named = shares.into_iter().take(2).filter(|(_, share)| *share >= LEAST_CAUSE);
        let texts: Vec<String> =
            named.map(|(name, of)| format!("{}{}", shorten(&name, NAME_WIDTH), share(of))).collect();
        texts.join(", ")
    };
    let (from, through) = (listed(from), listed(through));
    let name = shorten(name, NAME_WIDTH);
    (!from.is_empty()).then(|| TextSection::Paragraph(format!("{name} ← {from}; {through}")))
}

/// Causes with less of a row's cost are left out of the text, percent.
const LEAST_CAUSE: f64 = 5.0;

/// Who wrote: the place, and in pairs of threads the thread.
fn writer_name(input: &ReportTables<'_>, answer: &RecordedCommunication, flow: &CommunicationFlow) -> String {
    let Some(writer) = flow.writer else { return String::new() };
    let thread = thread_name(input, answer, writer.thread);
    format!("{} of {thread}", place_name(&answer.places[writer.place]))
}

/// Through what the reader learnt of the write.
fn through_name(answer: &RecordedCommunication, flow: &CommunicationFlow) -> String {
    match flow.writer.and_then(|writer| writer.through) {
        Some(through) => format!("through {}", answer.synchronisations[through].0),
        None => "unordered".to_owned(),
    }
}

pub(super) fn place_name(place: &DataPlace) -> String {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    match place.line {
        0 => place.procedure.clone(),
        line => format!("{} {file}:{line}", place.procedure),
    }
}

/// A call path, the innermost place first.
pub(super) fn path_text(answer: &RecordedCommunication, path: &[usize]) -> String {
    path.iter().map(|&place| place_name(&answer.places[place])).collect::<Vec<_>>().join(" < ")
}

/// A thread by its name and number.
pub(crate) fn thread_name(input: &ReportTables<'_>, answer: &RecordedCommunication, thread: usize) -> String {
    let tid = answer.threads.get(thread).map_or(0, |one| one.tid);
    let found = input.program.threads.iter().find(|one| one.tid == tid && !one.name.is_empty());
    found.map_or_else(|| format!("thread {thread}"), |one| format!("{} #{thread}", one.name))
}

pub(super) fn head(answer: &RecordedCommunication) -> Vec<TextSection> {
    let unit = match answer.unit {
        64 => "cache lines of 64 bytes".to_owned(),
        bytes => format!("units of {} bytes", grouped(bytes)),
    };
    let title = format!(
        "Communication: {} of {unit}, {} of them first references; {} transfers",
        count_of(answer.requests, "request"),
        grouped(answer.requests - answer.transfers),
        grouped(answer.transfers),
    );
    let remark = format!(
        "Simulated (protocol {}) from {} of {}, in virtual time ({}). A request is an access without a valid copy; a \
         transfer is one that is not the thread's first. Over all orders that the program permits there are {} to {} \
         transfers, and {} took a copy from others without a fetch here.",
        answer.protocol,
        count_of(answer.accesses(), "access"),
        count_of(answer.threads.len() as u64, "thread"),
        time_text(answer.elapsed),
        grouped(answer.low),
        grouped(answer.high),
        count_of(answer.upgrades, "write"),
    );
    let sample = sampled::remark(answer).map(TextSection::Remark);
    [TextSection::Headline(title), TextSection::Remark(remark)].into_iter().chain(sample).collect()
}

/// A command that shows another view.
pub(super) fn command(arguments: &str, shows: &str) -> TextSection {
    TextSection::Command { command: format!("longpole report --view {arguments}"), shows: shows.to_owned() }
}

fn commands(answer: &RecordedCommunication, by: By) -> Vec<TextSection> {
    if answer.transfers == 0 {
        return Vec::new();
    }
    let mut commands = vec![TextSection::Blank];
    if by != By::Object {
        commands.push(command("communication --by object", "which data"));
    }
    commands.push(command("communication --explain 1", "row 1 in full"));
    commands.push(command("sharing", "which bytes of it each thread uses"));
    commands.push(command("patterns", "how each object is shared"));
    commands.push(command("causality", "what leads to what"));
    commands.extend(layout_commands(answer));
    commands
}

/// Layouts to try where an object has mostly false sharing: of the one that has most of it.
pub(super) fn layout_commands(answer: &RecordedCommunication) -> Vec<TextSection> {
    // Another layout needs the accesses to all units.
    if answer.sample.is_some() {
        return Vec::new();
    }
    let mut objects: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for flow in answer.flows.iter().filter(|flow| flow.writer.is_some()) {
        let (falsely, transfers) = objects.entry(flow.object).or_default();
        *falsely += flow.patterns[AccessPattern::FalseSharing as usize];
        *transfers += flow.requests;
    }
    objects.retain(|_, (falsely, transfers)| *falsely > 0 && 2 * *falsely >= *transfers);
    let Some((&most, _)) = objects.iter().max_by_key(|&(&object, found)| (found, std::cmp::Reverse(object)))
    else {
        return Vec::new();
    };
    let object = &answer.objects[most];
    let (name, unit) = (&object.name, answer.unit);
    let change = match object.kind {
        "variable" if object.element > 0 && object.element < object.size => {
            Some(format!("pad:{name}={unit}"))
        }
        // Where elements of allocated data begin is found by trying.
        _ => None,
    };
    let what_if = |change: &str, shows: &str| TextSection::Command {
        command: format!("longpole what-if --remap {}", in_shell(change)),
        shows: shows.to_owned(),
    };
    let named = change.map(|change| what_if(&change, "the transfers in that layout"));
    named.into_iter().chain([what_if("auto", "layouts against false sharing")]).collect()
}

/// What makes the answer less than whole.
pub(crate) fn doubts(answer: &RecordedCommunication) -> Vec<String> {
    let RecordedCommunication { unfollowed, lost_blocks, ignored, other_processes, .. } = *answer;
    let of =
        |count: u64, what: &str, rest: &str| (count > 0).then(|| format!("{}{rest}", count_of(count, what)));
    [
        of(lost_blocks, "block", " of the log of accesses missing or damaged: there were more accesses"),
        of(
            unfollowed,
            "step",
            " waited in the recorded run for what comes later in virtual time, and went on without",
        ),
        of(ignored, "operation", " on locks or threads without the one that belongs to it"),
        of(other_processes as u64, "other process", " with accesses: this is of the one with most"),
    ]
    .into_iter()
    .flatten()
    .chain(sampled::doubts(answer))
    .collect()
}
