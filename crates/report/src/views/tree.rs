//! `tree`: program → machine → process → thread → procedure (I §2.1).

use std::collections::BTreeMap;

use longpole_event::{MachineId, ProcessId, ThreadId};
use longpole_metrics::{Measures, Node, Weight};

use super::npt::npt;
use super::wholes::RunTotals;
use super::{blocked, identity, synchronisation};
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
    "seconds",
    "percent",
    "npt_seconds",
    "npt_percent",
    "cpu_seconds",
    "cpu_percent",
    "spin_seconds",
    "synchronisation_wait_seconds",
    "wait_seconds",
    "machine",
    "process",
    "pid",
    "thread",
    "tid",
    "procedure",
    "module",
    "file",
];
/// Children of one node that text shows; those below [`SMALLEST`] are left out too.
const CHILDREN_OF_TEXT: usize = 6;
/// Smallest share of the path or of CPU time with which a node stands in the text, percent.
const SMALLEST: f64 = 1.0;

/// So many processes, or threads, of one name stand in text as one.
const ALIKE: usize = 3;

/// A node with what is below it.
#[derive(Clone)]
struct TreeBranch {
    row: Row,
    name: String,
    totals: Measures,
    children: Vec<TreeBranch>,
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "tree",
    about: "The program's tree: machine, process, thread, procedure.",
    needs: |_| WORK_NEEDS,
    build,
    ..ViewDefinition::PLAIN
};

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report = Report::new(View::Tree, input, options, &COLUMNS);
    let mut root = program(input);
    let wholes = RunTotals::of(input, options.weight);
    finish(&mut root, &wholes);
    let mut table = TextTable {
        columns: text_columns(),
        name_title: "process › thread › procedure".to_owned(),
        rows: Vec::new(),
    };
    list(&root, None, &mut report.rows);
    let limit = options.top.unwrap_or(CHILDREN_OF_TEXT);
    let has_machines = input.program.machines.len() > 1;
    let mut root = folded(root);
    finish(&mut root, &wholes);
    draw(&root, 0, limit, has_machines, &mut table.rows);
    let weight = match options.weight {
        Weight::Cpu => "CPU",
        Weight::Elapsed => "elapsed",
    };
    report
        .sections
        .push(TextSection::Headline(format!("Tree, by time on the critical path ({weight} weight)")));
    report.sections.push(TextSection::Blank);
    report.sections.push(TextSection::Table(table));
    report
}

fn branch(
    input: &ReportTables<'_>,
    node: Node,
    level: &'static str,
    children: Vec<TreeBranch>,
) -> TreeBranch {
    let (row, name) = identity(input, node);
    let mut totals = Measures::default();
    children.iter().for_each(|child| totals.add(&child.totals));
    TreeBranch { row: row.text("kind", level), name, totals, children }
}

fn program(input: &ReportTables<'_>) -> TreeBranch {
    let mut machines: BTreeMap<MachineId, Vec<TreeBranch>> = BTreeMap::new();
    for (process, threads) in threads(input) {
        let machine = input.program.processes[process.index()].machine;
        let branch = branch(input, Node::Process(process), "process", threads);
        machines.entry(machine).or_default().push(branch);
    }
    let machines: Vec<TreeBranch> = machines
        .into_iter()
        .map(|(machine, processes)| branch(input, Node::Machine(machine), "machine", processes))
        .collect();
    let mut totals = Measures::default();
    machines.iter().for_each(|machine| totals.add(&machine.totals));
    let name = match name::command(input.program) {
        command if command.is_empty() => "program".to_owned(),
        command => command,
    };
    TreeBranch { row: Row::default().text("kind", "program"), name, totals, children: machines }
}

fn threads(input: &ReportTables<'_>) -> BTreeMap<ProcessId, Vec<TreeBranch>> {
    let mut processes: BTreeMap<ProcessId, Vec<TreeBranch>> = BTreeMap::new();
    let mut charges = input.analysis.charges.as_slice();
    while let Some(first) = charges.first() {
        // Charges stand in the order of their threads.
        let end = charges.iter().position(|charge| charge.thread != first.thread).unwrap_or(charges.len());
        let (of_thread, rest) = charges.split_at(end);
        charges = rest;
        let branch = thread(input, first.thread, of_thread);
        processes.entry(input.program.threads[first.thread.index()].process).or_default().push(branch);
    }
    processes
}

fn thread(input: &ReportTables<'_>, id: ThreadId, charges: &[longpole_metrics::Charge]) -> TreeBranch {
    let mut totals = Measures::default();
    charges.iter().for_each(|charge| totals.add(&charge.measures));
    let mut procedures: BTreeMap<_, Measures> = BTreeMap::new();
    for charge in charges {
        if let Some(place) = input.paths.innermost(charge.path) {
            procedures.entry(place.procedure).or_default().add(&charge.measures);
        }
    }
    let (identity_row, name) = identity(input, Node::Thread(id));
    let children = procedures
        .into_iter()
        .filter(|(_, own)| *own != Measures::default())
        .map(|(procedure, own)| {
            let (cells, name) = identity(input, Node::Procedure(procedure));
            let mut child = identity_row.clone().text("kind", "procedure");
            for column in ["procedure", "module", "file"] {
                child = child.text(column, cells.words(column));
            }
            TreeBranch { row: child, name, totals: own, children: Vec::new() }
        })
        .collect();
    TreeBranch { row: identity_row.text("kind", "thread"), name, totals, children }
}

/// Fills in the measures and sorts the children.
fn finish(branch: &mut TreeBranch, wholes: &RunTotals) {
    let totals = &branch.totals;
    let (path, cpu) = (wholes.on_path(totals), totals.running + totals.spinning);
    branch.row = std::mem::take(&mut branch.row)
        .time("seconds", path)
        .percent("percent", percent(path as f64, wholes.path))
        .fraction("npt_seconds", npt(totals))
        .percent("npt_percent", percent(npt(totals), wholes.npt))
        .time("cpu_seconds", cpu)
        .percent("cpu_percent", percent(cpu as f64, wholes.cpu))
        .time("spin_seconds", totals.spinning)
        .time("synchronisation_wait_seconds", synchronisation(&totals.blocked))
        .time("wait_seconds", blocked(totals));
    branch.children.iter_mut().for_each(|child| finish(child, wholes));
    // Sorting is stable: equal branches stay in the order of their ids.
    branch.children.sort_by_key(|child| {
        let totals = &child.totals;
        std::cmp::Reverse((wholes.on_path(totals), totals.running + totals.spinning, blocked(totals)))
    });
}

/// All branches, each before its children; with the number and the depth of the one that it is below.
fn list(branch: &TreeBranch, parent: Option<(u64, u64)>, rows: &mut Vec<Row>) {
    let (id, depth) = (rows.len() as u64, parent.map_or(0, |(_, depth)| depth + 1));
    let row = branch.row.clone().count("id", id).count("depth", depth);
    rows.push(match parent {
        Some((parent, _)) => row.count("parent", parent),
        None => row,
    });
    branch.children.iter().for_each(|child| list(child, Some((id, depth)), rows));
}

fn text_columns() -> Vec<crate::table::Shown> {
    vec![
        shown("% of path", Show::Percent("percent")),
        shown("path", Show::Time("seconds")).optional(),
        shown("% of NPT", Show::Percent("npt_percent")),
        shown("CPU", Show::Time("cpu_seconds")),
        shown("blocked", Show::Time("wait_seconds")).optional(),
    ]
}

/// The tree with processes of one name, and threads of one name in a process, as one branch each, where there are
/// many; and without the level of threads where a process has only one.
fn folded(branch: TreeBranch) -> TreeBranch {
    let mut alike: BTreeMap<String, Vec<TreeBranch>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for child in branch.children {
        let label = match child.row.words("kind") {
            kind @ ("process" | "thread") => format!("{kind} {}", child.row.words(kind)),
            kind => format!("{kind} {}", child.name),
        };
        if !alike.contains_key(&label) {
            order.push(label.clone());
        }
        alike.entry(label).or_default().push(child);
    }
    let groups = order.iter().filter_map(|label| alike.remove(label));
    let children = groups.flat_map(|group| match group.len() {
        count if count >= ALIKE && group[0].row.words("kind") != "procedure" => vec![merged(group)],
        _ => group.into_iter().map(folded).collect(),
    });
    let mut children: Vec<TreeBranch> = children.collect();
    let is_only_thread = |child: &TreeBranch| child.row.get("tid").is_some();
    if branch.row.words("kind") == "process" && children.len() == 1 && is_only_thread(&children[0]) {
        children = children.remove(0).children;
    }
    TreeBranch { children, ..branch }
}

/// Branches of one name as one, with all their procedures.
fn merged(branches: Vec<TreeBranch>) -> TreeBranch {
    let kind = branches[0].row.words("kind").to_owned();
    let label = branches[0].row.words(&kind).to_owned();
    let name = format!("{label} ({})", count_of(branches.len() as u64, &kind));
    let mut totals = Measures::default();
    branches.iter().for_each(|branch| totals.add(&branch.totals));
    let mut procedures: BTreeMap<String, TreeBranch> = BTreeMap::new();
    branches.iter().for_each(|branch| gather(branch, &mut procedures));
    let row = Row::default().text("kind", kind.as_str());
    TreeBranch { row, name, totals, children: procedures.into_values().collect() }
}

fn gather(branch: &TreeBranch, procedures: &mut BTreeMap<String, TreeBranch>) {
    branch.children.iter().for_each(|child| gather(child, procedures));
    if branch.row.words("kind") != "procedure" {
        return;
    }
    match procedures.get_mut(&branch.name) {
        Some(sum) => sum.totals.add(&branch.totals),
        None => {
            procedures.insert(branch.name.clone(), branch.clone());
        }
    }
}

/// The branches that text shows, indented.
fn draw(branch: &TreeBranch, depth: usize, limit: usize, has_machines: bool, rows: &mut Vec<(Row, String)>) {
    let is_hidden = !has_machines && branch.row.words("kind") == "machine";
    if !is_hidden {
        rows.push((branch.row.clone(), format!("{}{}", "  ".repeat(depth), branch.name)));
    }
    let depth = depth + usize::from(!is_hidden);
    let is_large = |child: &&TreeBranch| {
        let share = |column| child.row.value(column).unwrap_or(0.0);
        share("percent") >= SMALLEST || share("cpu_percent") >= SMALLEST || share("npt_percent") >= SMALLEST
    };
    let shown: Vec<&TreeBranch> = branch.children.iter().filter(is_large).take(limit).collect();
    shown.iter().for_each(|child| draw(child, depth, limit, has_machines, rows));
    let rest = branch.children.len() - shown.len();
    let has_procedures = branch.children.iter().any(|child| child.row.words("kind") == "procedure");
    if rest > 0 && !has_procedures {
        rows.push((Row::default(), format!("{}… {rest} more", "  ".repeat(depth))));
    }
}
