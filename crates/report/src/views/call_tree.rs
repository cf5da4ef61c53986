//! `call-tree`: logical call paths with what was charged on them (metrics.md §1): what flame graphs show.

use std::cmp::Reverse;

use longpole_event::ThreadId;
use longpole_metrics::{CallTree, Measures, Node, Weight, call_tree};
use longpole_trace::Fold;

use super::npt::npt;
use super::{blocked, identity, synchronisation};
use crate::find::{FoundNodes, NameKind};
use crate::input::{ReportOptions, ReportTables};
use crate::name;
use crate::needs::WORK_NEEDS;
use crate::quantity::{count_of, percent};
use crate::report::{Report, Row};
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

const COLUMNS: [&str; 21] = [
    "id",
    "parent",
    "depth",
    "kind",
    "count",
    "cpu_seconds",
    "cpu_inclusive_seconds",
    "npt_seconds",
    "npt_inclusive_seconds",
    "critical_path_seconds",
    "critical_path_inclusive_seconds",
    "synchronisation_wait_seconds",
    "synchronisation_wait_inclusive_seconds",
    "wait_seconds",
    "wait_inclusive_seconds",
    "idle_blame_seconds",
    "idle_blame_inclusive_seconds",
    "procedure",
    "module",
    "file",
    "line",
];
/// Columns of the measures: what a row got itself, and inclusively.
const MEASURES: [(&str, &str); 6] = [
    ("cpu_seconds", "cpu_inclusive_seconds"),
    ("npt_seconds", "npt_inclusive_seconds"),
    ("critical_path_seconds", "critical_path_inclusive_seconds"),
    ("synchronisation_wait_seconds", "synchronisation_wait_inclusive_seconds"),
    ("wait_seconds", "wait_inclusive_seconds"),
    ("idle_blame_seconds", "idle_blame_inclusive_seconds"),
];
/// Measures whose share of the whole lets a path stand in the text: all but waiting for devices and clocks, and blame.
const TOLD: usize = 4;
/// Places of two measures among them.
const CPU: usize = 0;
const PATH: usize = 2;
/// Share of every measure below which a path is one of the others, percent.
const SMALLEST: f64 = 0.01;
/// Share of some measure from which on a path stands in the text, percent.
const SMALLEST_TOLD: f64 = 1.0;
/// Shares that differ by no more are told once, percent.
const ALIKE: f64 = 0.5;
/// Children of one path that text shows.
const CHILDREN_OF_TEXT: usize = 6;

/// What was charged, by measure, nanoseconds.
type ChargedAmounts = [f64; MEASURES.len()];

fn amounts(measures: &Measures, weight: Weight) -> ChargedAmounts {
    [
        measures.cpu() as f64,
        npt(measures),
        measures.critical(weight) as f64,
        synchronisation(&measures.blocked) as f64,
        blocked(measures) as f64,
        measures.idle_blame as f64,
    ]
}

fn sum(all: impl Iterator<Item = ChargedAmounts>) -> ChargedAmounts {
    all.fold(ChargedAmounts::default(), |mut sum, amounts| {
        sum.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
        sum
    })
}

fn shares(amounts: &ChargedAmounts, wholes: &ChargedAmounts) -> ChargedAmounts {
    std::array::from_fn(|at| percent(amounts[at], wholes[at]))
}

/// A row: a path, or the small ones below a path.
struct CallTreeRow {
    parent: Option<usize>,
    depth: usize,
    /// Node of the tree; `None` for small paths together.
    node: Option<usize>,
    /// Small paths that it stands for.
    count: usize,
    own: ChargedAmounts,
    inclusive: ChargedAmounts,
    children: Vec<usize>,
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "call-tree",
    about: "The tree of call paths with CPU time, critical path and waiting: what flame graphs are drawn from.",
    kinds: &[NameKind::Procedure, NameKind::Region, NameKind::Thread, NameKind::Process],
    fold: Fold::None,
    needs: |_| WORK_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::CallTree, input, options, &COLUMNS);
    let tree = tree(input, options);
    let entries = entries(&tree, options.weight);
    report.rows = entries.iter().enumerate().map(|(id, entry)| row(input, &tree, id, entry)).collect();
    report.drop_empty_columns(&COLUMNS[..4]);
    report.sections.push(TextSection::Headline(title(input, options, &tree)));
    if entries.len() == 1 && entries[0].inclusive == ChargedAmounts::default() {
        report.sections.push(TextSection::Paragraph("Nothing was charged to any call path.".to_owned()));
        return report;
    }
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(text(input, &tree, &entries, options)));
    report
}

/// The tree that was asked for.
fn tree(input: &ReportTables<'_>, options: &ReportOptions) -> CallTree {
    let is_chosen = |thread: ThreadId| match &options.of {
        Some(FoundNodes::Threads(threads)) => threads.contains(&thread),
        Some(FoundNodes::Processes(all)) => all.contains(&input.program.threads[thread.index()].process),
        _ => true,
    };
    let of = match options.of {
        Some(FoundNodes::Procedure(id)) => Some(id),
        _ => None,
    };
    call_tree(input.analysis, input.paths, of, is_chosen)
}

fn title(input: &ReportTables<'_>, options: &ReportOptions, tree: &CallTree) -> String {
    let name = |of: &FoundNodes| match of {
        FoundNodes::Procedure(id) => Some(name::procedure(input.paths, input.program, *id)),
        FoundNodes::Threads(threads) => threads.first().map(|id| name::thread(input.program, *id)),
        FoundNodes::Processes(all) => all.first().map(|id| name::process(input.program, *id)),
        _ => None,
    };
    let below = match &options.of {
        Some(of @ FoundNodes::Procedure(_)) => name(of).map(|name| format!(" below `{name}`")),
        Some(of) => name(of).map(|name| format!(" of `{name}`")),
        None => None,
    };
    let paths = count_of(tree.nodes.len().saturating_sub(1) as u64, "path");
    format!("Call tree{}: {paths}; all figures but `self` with what was called", below.unwrap_or_default())
}

/// The rows, each before those below it; small paths are put together below the path that they go on from.
fn entries(tree: &CallTree, weight: Weight) -> Vec<CallTreeRow> {
    let own: Vec<ChargedAmounts> = tree.nodes.iter().map(|node| amounts(&node.own, weight)).collect();
    let inclusive: Vec<ChargedAmounts> =
        tree.nodes.iter().map(|node| amounts(&node.inclusive, weight)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        node.parent.into_iter().for_each(|parent| children[parent].push(at));
    }
    let wholes = inclusive[0];
    let is_large = |at: usize| shares(&inclusive[at], &wholes).iter().any(|&share| share >= SMALLEST);
    let mut entries: Vec<CallTreeRow> = Vec::new();
    let mut pending: Vec<(Option<usize>, usize)> = vec![(None, 0)];
    while let Some((parent, node)) = pending.pop() {
        let id = add(&mut entries, parent, Some(node), (own[node], inclusive[node]));
        let (mut large, small): (Vec<usize>, Vec<usize>) =
            children[node].iter().partition(|&&child| is_large(child));
        // The last one is taken first. Equal children stay in the order of their numbers.
        let key = |child: &usize| [PATH, CPU, TOLD].map(|measure| inclusive[*child][measure] as u64);
        large.sort_by_key(|child| (key(child), Reverse(*child)));
        let rest = sum(small.iter().map(|&child| inclusive[child]));
        if rest != ChargedAmounts::default() {
            let others = add(&mut entries, Some(id), None, (rest, rest));
            entries[others].count = small.len();
        }
        pending.extend(large.into_iter().map(|child| (Some(id), child)));
    }
    entries
}

fn add(
    entries: &mut Vec<CallTreeRow>,
    parent: Option<usize>,
    node: Option<usize>,
    (own, inclusive): (ChargedAmounts, ChargedAmounts),
) -> usize {
    let id = entries.len();
    let depth = parent.map_or(0, |parent| entries[parent].depth + 1);
    entries.push(CallTreeRow { parent, depth, node, count: 0, own, inclusive, children: Vec::new() });
    if let Some(parent) = parent {
        entries[parent].children.push(id);
    }
    id
}

fn row(input: &ReportTables<'_>, tree: &CallTree, id: usize, entry: &CallTreeRow) -> Row {
    let node = entry.node.map(|at| &tree.nodes[at]);
    let procedure = node.and_then(|node| node.procedure);
    let kind = match (node, procedure) {
        (None, _) => "others",
        (_, None) => "program",
        (_, Some(id)) if input.paths.procedure_named_by(id).is_region() => "region",
        _ => "procedure",
    };
    let mut row = procedure.map_or(Row::default(), |id| identity(input, Node::Procedure(id)).0);
    row = row.text("kind", kind).count("id", id as u64).count("depth", entry.depth as u64);
    if let Some(parent) = entry.parent {
        row = row.count("parent", parent as u64);
    }
    if entry.count > 0 {
        row = row.count("count", entry.count as u64);
    }
    if let Some(line) = node.map(|node| node.line).filter(|&line| line > 0) {
        row = row.count("line", u64::from(line));
    }
    for (at, (own, inclusive)) in MEASURES.into_iter().enumerate() {
        for (column, amount) in [(own, entry.own[at]), (inclusive, entry.inclusive[at])] {
            row = if amount > 0.0 { row.fraction(column, amount) } else { row };
        }
    }
    row
}

/// Shares that text shows, by measure; cells of the text only.
const SHARES: [&str; TOLD] = ["cpu_share", "npt_share", "path_share", "wait_share"];
const OWN_SHARE: &str = "own_share";

/// The paths of some weight, indented. Paths that only go on are told with the one in which they end.
fn text(
    input: &ReportTables<'_>,
    tree: &CallTree,
    entries: &[CallTreeRow],
    options: &ReportOptions,
) -> TextTable {
    let wholes = entries[0].inclusive;
    let told = |id: usize| {
        let shares = shares(&entries[id].inclusive, &wholes);
        entries[id].node.is_some() && shares[..TOLD].iter().any(|&share| share >= SMALLEST_TOLD)
    };
    let limit = options.top.unwrap_or(CHILDREN_OF_TEXT);
    let mut rows: Vec<(Row, String)> = Vec::new();
    let mut pending: Vec<PendingText> = vec![PendingText::Path { id: 0, indent: 0, before: String::new() }];
    while let Some(next) = pending.pop() {
        let (id, indent, before) = match next {
            PendingText::Path { id, indent, before } => (id, indent, before),
            PendingText::More { count, indent } => {
                rows.push((Row::default(), format!("{}… {count} more", "  ".repeat(indent))));
                continue;
            }
        };
        let entry = &entries[id];
        let name = format!("{before}{}", name_of(input, tree, entry));
        let mut children: Vec<usize> = entry.children.iter().copied().filter(|&child| told(child)).collect();
        children
            .sort_by_key(|child| Reverse([PATH, CPU, TOLD].map(|at| entries[*child].inclusive[at] as u64)));
        if let [only] = children[..]
            && entry.parent.is_some()
            && are_alike(&entry.inclusive, &entries[only].inclusive, &wholes)
        {
            pending.push(PendingText::Path { id: only, indent, before: format!("{name} › ") });
            continue;
        }
        rows.push((text_row(entry, &wholes), format!("{}{name}", "  ".repeat(indent))));
        let indent = indent + 1;
        if children.len() > limit {
            pending.push(PendingText::More { count: children.len() - limit, indent });
        }
        let shown = children.iter().take(limit).rev();
        pending.extend(shown.map(|&id| PendingText::Path { id, indent, before: String::new() }));
    }
    TextTable { columns: text_columns(), name_title: "call path".to_owned(), rows }
}

/// Something that text has yet to show.
enum PendingText {
    Path { id: usize, indent: usize, before: String },
    More { count: usize, indent: usize },
}

fn are_alike(one: &ChargedAmounts, other: &ChargedAmounts, wholes: &ChargedAmounts) -> bool {
    let [one, other] = [one, other].map(|amounts| shares(amounts, wholes));
    one.iter().zip(other).take(TOLD).all(|(one, other)| (one - other).abs() <= ALIKE)
}

fn name_of(input: &ReportTables<'_>, tree: &CallTree, entry: &CallTreeRow) -> String {
    let procedure = entry.node.and_then(|at| tree.nodes[at].procedure);
    let command = || name::command(input.program);
    match procedure {
        Some(id) => name::procedure(input.paths, input.program, id),
        None if command().is_empty() => "program".to_owned(),
        None => command(),
    }
}

fn text_row(entry: &CallTreeRow, wholes: &ChargedAmounts) -> Row {
    let all = shares(&entry.inclusive, wholes);
    let row =
        SHARES.into_iter().zip(all).fold(Row::default(), |row, (column, share)| row.percent(column, share));
    row.percent(OWN_SHARE, percent(entry.own[CPU], wholes[CPU]))
}

fn text_columns() -> Vec<crate::table::Shown> {
    let [cpu, npt, path, wait] = SHARES;
    vec![
        shown("% of path", Show::Percent(path)),
        shown("% of NPT", Show::Percent(npt)).optional(),
        shown("% of CPU", Show::Percent(cpu)),
        shown("self", Show::Percent(OWN_SHARE)),
        shown("% of sync wait", Show::Percent(wait)).optional(),
    ]
}

#[cfg(test)]
mod tests;
