//! `causality`: which places make which fetch, by sets of units that behave alike (C §2.2, §3.3, §3.4, figure 2a).

use longpole_communication::{
    AccessPattern, CausalityCause, DataPlace, ObjectCausality, PatternTallies, RecordedCommunication,
};
use longpole_trace::Fold;

use super::communication::{command, doubts, head, path_text, place_name, thread_name};
use super::no_accesses::no_accesses;
use super::sampled;
use crate::input::{ReportOptions, ReportTables};
use crate::name::shorten;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::simulation::SimulationNumbers;
use crate::text::TextSection;
use crate::view::{OutsideAnswerKind, View, ViewDefinition};

const COLUMNS: [&str; 11] = [
    "rank",
    "object",
    "kind",
    "units",
    "addresses",
    "transfers",
    "transfer_seconds",
    "percent",
    "nodes",
    "edges",
    "transitions",
];
/// Graphs of the text, unless the reader asks for more.
const GRAPHS_OF_TEXT: usize = 3;
/// Columns of a matrix: so many that a line has 80 characters.
const COLUMNS_OF_TEXT: usize = 8;
/// Characters of a column of a matrix.
const CELL_WIDTH: usize = 8;
/// Characters of a place's name in the legend of a matrix.
const NAME_WIDTH: usize = 70;

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "causality",
    about: "Which places of the program make which fetch each object: causality graphs of units that behave alike.",
    fold: Fold::None,
    outside: &[OutsideAnswerKind::Communication, OutsideAnswerKind::CausalityGraphs],
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let ranges = sampled::columns(input.outside_answers.communication.as_deref());
    let columns: Vec<&str> = COLUMNS.iter().chain(ranges).copied().collect();
    let mut report = Report::new(View::Causality, input, options, &columns);
    let Some(answer) = &input.outside_answers.communication else {
        report.sections.extend(no_accesses(input));
        return report;
    };
    report.simulation = Some(SimulationNumbers::of(input, answer));
    let whole: u64 = answer.graphs.iter().map(ObjectCausality::cost).sum();
    let graphs = (1..).zip(&answer.graphs);
    let listed = graphs.clone().take(options.top.unwrap_or(usize::MAX));
    report.rows.extend(listed.map(|(rank, graph)| row(input, answer, graph, (rank, whole))));
    report.sections.extend(head(answer));
    if answer.graphs.is_empty() {
        let none = "No graph: no thread's write took a unit from another thread that asked for it again.";
        report.sections.push(TextSection::Blank);
        report.sections.push(TextSection::Paragraph(none.to_owned()));
    } else {
        report.sections.push(TextSection::Remark(LEGEND.to_owned()));
    }
    let most = options.top.unwrap_or(GRAPHS_OF_TEXT);
    for (rank, graph) in graphs.take(most) {
        report.sections.extend(matrix(answer, graph, (rank, whole)));
    }
    if answer.graphs.len() > most {
        let rest: u64 = answer.graphs[most..].iter().map(ObjectCausality::cost).sum();
        let left = count_of((answer.graphs.len() - most) as u64, "more graph");
        let share = percent_text(percent(rest as f64, whole as f64));
        report.sections.push(TextSection::Blank);
        report
            .sections
            .push(TextSection::Remark(format!("{left}, {share} of the cost; `--top` shows them.")));
    }
    if !answer.graphs.is_empty() {
        report.sections.push(TextSection::Blank);
        report.sections.push(command("patterns", "how each object is shared"));
    }
    report.sections.extend(doubts(answer).into_iter().map(TextSection::Warning));
    report
}

const LEGEND: &str = "A matrix is of units that behave alike. A column is a cause of requests: R the place that asks, I the \
                      synchronisation at which its copy became invalid, W the place of the write. “from 0”: how often the \
                      copy that a request of column 0 had fetched was written, and so led to a request of the column, in % \
                      of all such steps.";

/// The nodes' numbers are their places in the list.
fn row(
    input: &ReportTables<'_>,
    answer: &RecordedCommunication,
    graph: &ObjectCausality,
    (rank, whole): (u64, u64),
) -> Row {
    let object = &answer.objects[graph.object];
    let threads = |indexes: &[usize]| {
        let named: Vec<String> = indexes.iter().map(|&one| thread_name(input, answer, one)).collect();
        named.join(", ")
    };
    let nodes = (0..).zip(&graph.places).map(|(number, node)| {
        place_cells(&answer.places[node.place])
            .count("node", number)
            .text("readers", threads(&node.readers))
            .text("writers", threads(&node.writers))
    });
    let steps: u64 = graph.transitions.iter().map(|one| one.count).sum();
    let transitions = graph.transitions.iter().map(|one| {
        let row = Row::default()
            .count("to", one.to as u64)
            .count("count", one.count)
            .percent("percent", percent(one.count as f64, steps as f64));
        match one.from {
            Some(from) => row.count("from", from as u64),
            None => row,
        }
    });
    let row = sampled::with_ranges(Row::default().count("rank", rank), answer, &graph.followed);
    row.text("object", &object.name)
        .text("kind", object.kind)
        .count("units", graph.all_units)
        .text("addresses", address_ranges(&graph.units, answer.unit))
        .count("transfers", graph.transfers())
        .time("transfer_seconds", graph.cost())
        .percent("percent", percent(graph.cost() as f64, whole as f64))
        .list("nodes", nodes.collect())
        .list("edges", (0..).zip(&graph.causes).map(|(at, cause)| edge(answer, graph, (at, cause))).collect())
        .list("transitions", transitions.collect())
}

/// Where the units are: ranges of addresses, ascending, each with the end behind its last byte.
fn address_ranges(units: &[u64], bytes: u64) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &unit in units {
        match ranges.last_mut() {
            Some((_, end)) if *end == unit => *end = unit.saturating_add(bytes),
            _ => ranges.push((unit, unit.saturating_add(bytes))),
        }
    }
    ranges.iter().map(|(from, to)| format!("{from:#x}..{to:#x}")).collect::<Vec<_>>().join(" ")
}

fn place_cells(place: &DataPlace) -> Row {
    let row = Row::default()
        .text("procedure", &place.procedure)
        .text("module", &place.module)
        .text("file", &place.file);
    if place.line > 0 { row.count("line", place.line.into()) } else { row }
}

fn edge(answer: &RecordedCommunication, graph: &ObjectCausality, (at, cause): (u64, &CausalityCause)) -> Row {
    let node = |place: usize| graph.places.iter().position(|node| node.place == place).unwrap_or(0) as u64;
    let row = Row::default()
        .count("edge", at)
        .count("to", node(cause.read_place))
        .count("requests", cause.requests)
        .count("contributions", cause.contributions)
        .time("request_seconds", cause.cost)
        .percent("percent", percent(cause.cost as f64, all_cost(graph) as f64))
        .text("patterns", pattern_text(&cause.patterns))
        .count("paths", cause.paths.count as u64)
        .text("read_path", path_text(answer, &cause.paths.read));
    let Some((through, writer)) = cause.written else { return row };
    let row = row
        .count("from", node(writer))
        .text("through_path", path_text(answer, &cause.paths.through))
        .text("write_path", path_text(answer, &cause.paths.write));
    match through {
        None => row.text("through", "unordered"),
        Some(through) => {
            let (name, place) = &answer.synchronisations[through];
            let place = &answer.places[*place];
            let row = row
                .text("through", name)
                .text("through_procedure", &place.procedure)
                .text("through_file", &place.file);
            if place.line > 0 { row.count("through_line", place.line.into()) } else { row }
        }
    }
}

/// The requests of each pattern, as `29 migratory, 61 MPMC`.
fn pattern_text(patterns: &PatternTallies) -> String {
    let named = AccessPattern::ALL.into_iter().filter_map(|pattern| {
        let requests = patterns.of(pattern).requests;
        (requests > 0).then(|| format!("{requests} {}", pattern.name()))
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Cost of all requests of the graph, first references among them.
fn all_cost(graph: &ObjectCausality) -> u64 {
    graph.causes.iter().map(|cause| cause.cost).sum()
}

/// Places and synchronisations of a matrix by letters, in the order in which they come.
#[derive(Default)]
struct MatrixLegend(Vec<String>);

impl MatrixLegend {
    fn letter(&mut self, name: String) -> String {
        let at = self.0.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        char::from(b'a' + at as u8).to_string()
    }
}

/// The incidence matrix in lines of 80 characters.
fn matrix(
    answer: &RecordedCommunication,
    graph: &ObjectCausality,
    (rank, whole): (u64, u64),
) -> Vec<TextSection> {
    let alike = if graph.all_units > 1 { " alike" } else { "" };
    let range = answer.sample.as_ref().map(|sample| sampled::range_text(sample.transfers(&graph.followed)));
    let range = range.map_or(String::new(), |range| format!(", {range}"));
    let title = format!(
        "{rank}. {}: {}{alike}, {}{range} ({}), {} of all",
        answer.objects[graph.object].name,
        count_of(graph.all_units, "unit"),
        count_of(graph.transfers(), "transfer"),
        time_text(graph.cost()),
        percent_text(percent(graph.cost() as f64, whole as f64)),
    );
    let causes = &graph.causes[..graph.causes.len().min(COLUMNS_OF_TEXT)];
    let mut legend = MatrixLegend::default();
    let mut lines: Vec<(String, Vec<String>)> =
        ["", "pattern", "requests", "cost %", "R", "I", "W"].map(|name| (name.to_owned(), Vec::new())).into();
    for (at, cause) in causes.iter().enumerate() {
        let reader = legend.letter(place_name(&answer.places[cause.read_place]));
        let (through, writer) = match cause.written {
            None => ("-".to_owned(), "-".to_owned()),
            Some((through, writer)) => {
                let through = through.map_or_else(
                    || "unord.".to_owned(),
                    |through| legend.letter(synchronisation_name(answer, through)),
                );
                (through, legend.letter(place_name(&answer.places[writer])))
            }
        };
        let cells = [
            at.to_string(),
            leading(&cause.patterns).to_owned(),
            cause.requests.to_string(),
            format!("{:.1}", percent(cause.cost as f64, all_cost(graph) as f64)),
            reader,
            through,
            writer,
        ];
        for ((_, line), cell) in lines.iter_mut().zip(cells) {
            line.push(cell);
        }
    }
    lines.extend(steps(graph, causes.len()));
    let mut sections = vec![TextSection::Blank, TextSection::Headline(title)];
    for (name, cells) in lines {
        let cells: String = cells.iter().map(|cell| format!("{cell:>CELL_WIDTH$}")).collect();
        sections.push(TextSection::Line(format!("  {name:9}{cells}")));
    }
    for (letter, name) in ('a'..).zip(&legend.0) {
        sections.push(TextSection::Line(format!("  {letter}  {}", shorten(name, NAME_WIDTH))));
    }
    if graph.causes.len() > causes.len() {
        let rest: u64 = graph.causes[causes.len()..].iter().map(|cause| cause.cost).sum();
        let left = count_of((graph.causes.len() - causes.len()) as u64, "more cause");
        let share = percent_text(percent(rest as f64, all_cost(graph) as f64));
        sections.push(TextSection::Remark(format!("{left}, {share} of the cost; `--format json` has them.")));
    }
    sections
}

fn synchronisation_name(answer: &RecordedCommunication, number: usize) -> String {
    let (name, place) = &answer.synchronisations[number];
    format!("{name}, in {}", place_name(&answer.places[*place]))
}

/// The pattern of most of the requests, short.
fn leading(patterns: &PatternTallies) -> &'static str {
    let most = AccessPattern::ALL.into_iter().rev().max_by_key(|&one| patterns.of(one).requests);
    match most {
        Some(one) if patterns.of(one).requests == 0 => "",
        Some(AccessPattern::FalseSharing) => "false",
        Some(AccessPattern::Migratory) => "migr.",
        Some(AccessPattern::ReadOnly) => "r-only",
        Some(one) => one.name(),
        None => "",
    }
}

/// Lines of the transitions among so many columns, and of those from elsewhere.
fn steps(graph: &ObjectCausality, columns: usize) -> Vec<(String, Vec<String>)> {
    let all: u64 = graph.transitions.iter().map(|one| one.count).sum();
    let share = |from: &dyn Fn(Option<usize>) -> bool, to: usize| {
        let of = graph.transitions.iter().filter(|one| one.to == to && from(one.from));
        match of.map(|one| one.count).sum() {
            0_u64 => ".".to_owned(),
            count => format!("{:.1}", percent(count as f64, all as f64)),
        }
    };
    let line = |name: String, from: &dyn Fn(Option<usize>) -> bool| {
        (name, (0..columns).map(|to| share(from, to)).collect::<Vec<_>>())
    };
    let mut lines: Vec<_> =
        (0..columns).map(|at| line(format!("from {at}"), &move |from| from == Some(at))).collect();
    lines.push(line("elsewhere".to_owned(), &move |from| from.is_none_or(|from| from >= columns)));
    lines.retain(|(_, cells)| cells.iter().any(|cell| cell != "."));
    lines
}
