//! The work that everything else waits for: which procedure, or at which level it can be named at all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use longpole_metrics::{By, Measures, Node, NodeRow};
use longpole_trace::{Procedure, ProcedureId, Process};

use super::RunFacts;
use super::sentence::{Sentence, ShareInWords, TimeInWords, sentence};
use super::threshold::{COARSE, FLAT, ONE_THREAD};
use crate::folded::{FoldedWork, callers, callers_text};
use crate::input::ReportTables;
use crate::name;
use crate::quantity::{count_of, percent};
use crate::share::{Estimate, PrecisionBehind, behind_cpu, behind_npt, behind_path};

/// How the names of languages' libraries begin.
const LANGUAGES: &[&str] = &["core::", "alloc::", "std::", "<core::", "<alloc::", "<std::", "runtime."];

/// By what procedures are ranked in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankedWork {
    /// The critical path by CPU time.
    CriticalPath,
    /// Normalised processor time.
    Npt,
    /// CPU time.
    Cpu,
}

impl RankedWork {
    /// What suits the run: CPU time where the processors are the limit, normalised processor time where the critical path
    /// is in pieces, else the critical path.
    pub(crate) fn of(facts: &RunFacts) -> RankedWork {
        if facts.is_cpu_bound() {
            RankedWork::Cpu
        } else if facts.is_path_in_pieces() {
            RankedWork::Npt
        } else {
            RankedWork::CriticalPath
        }
    }

    /// What is ranked, nanoseconds.
    pub(crate) fn measure(self) -> fn(&Measures) -> f64 {
        match self {
            RankedWork::CriticalPath => |measures| measures.critical_cpu as f64,
            RankedWork::Npt => Measures::npt,
            RankedWork::Cpu => |measures| (measures.running + measures.spinning) as f64,
        }
    }

    /// All of it.
    fn whole(self, input: &ReportTables<'_>) -> f64 {
        match self {
            RankedWork::CriticalPath => input.analysis.critical_cpu.length as f64,
            ranked => (ranked.measure())(input.totals()),
        }
    }

    fn behind<'a>(self, input: &ReportTables<'a>) -> PrecisionBehind<'a> {
        match self {
            RankedWork::CriticalPath => behind_path(input.analysis),
            RankedWork::Npt => behind_npt(input.analysis),
            RankedWork::Cpu => behind_cpu(input.analysis),
        }
    }

    /// What shares of it are shares of.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RankedWork::CriticalPath => "the critical path",
            RankedWork::Npt => "the normalised processor time",
            RankedWork::Cpu => "the CPU time",
        }
    }

    /// The procedure with the largest share, where it is known.
    pub(crate) fn largest(self, input: &ReportTables<'_>) -> Option<Node> {
        let measure = self.measure();
        let row = largest_of(input.rows(By::Procedure), measure)?;
        (measure(&row.own) > 0.0 && is_named(input, row.node)).then_some(row.node)
    }
}

/// A name and a share of something, percent.
type NamedShare = (Sentence, f64);

/// Work that leads an answer: a procedure with what surrounds it.
#[derive(Clone, Debug)]
pub(crate) struct LeadingWork {
    node: Node,
    name: Sentence,
    /// What most of its work is, in words that follow the name; empty where it is its own.
    action: String,
    /// The procedure folded into it that most of its work is in, and its share.
    leaf: Option<NamedShare>,
    percent: f64,
    error: Option<f64>,
    /// Whether no procedure has a larger share.
    is_largest: bool,
    /// The largest other procedure that has the same share within the error.
    tied_with: Option<Sentence>,
    /// Where the procedure is small: what all of it is done for.
    on_behalf: Option<NamedShare>,
    /// Processes of one name that have nearly everything, or the one that has most, where there are many processes.
    processes: Option<(Sentence, usize, f64)>,
    /// The process that most of the run depended on, and for how long; nanoseconds.
    holder: Option<(Sentence, u64)>,
    /// Where the procedure is a library's: the program's procedure that has most of it done, and its share.
    caller: Option<NamedShare>,
    /// Where it works for several procedures of the program: those, with their shares.
    callers: Vec<NamedShare>,
    /// Length of the run, nanoseconds.
    elapsed: u64,
    /// Thread of the work, where one has nearly all of it.
    thread: Option<NamedShare>,
}

impl LeadingWork {
    /// The procedure with the largest share.
    pub(crate) fn largest(input: &ReportTables<'_>, ranked: RankedWork) -> Option<LeadingWork> {
        LeadingWork::of(input, ranked, ranked.largest(input)?)
    }

    /// This procedure.
    pub(crate) fn of(input: &ReportTables<'_>, ranked: RankedWork, node: Node) -> Option<LeadingWork> {
        let (whole, measure) = (ranked.whole(input), ranked.measure());
        let estimate = Estimate::of(input, By::Procedure, ranked.behind(input), whole)?;
        let rows = input.rows(By::Procedure);
        let first = rows.iter().find(|row| row.node == node)?;
        let share = percent(measure(&first.own), whole);
        let is_tied = |row: &&NodeRow| {
            let own = percent(measure(&row.own), whole);
            let is_other = row.node != node && own > 0.0 && is_named(input, row.node);
            is_other && estimate.is_tied((node, share), (row.node, own))
        };
        let tied = rows.iter().filter(is_tied).max_by(|a, b| order(a, b, measure));
        let callers = callers_of(input, node, measure);
        Some(LeadingWork {
            node,
            name: Sentence::name(input, node),
            action: folded(input, first, measure).suffix(),
            leaf: leaf(input, first, measure),
            percent: share,
            error: estimate.error(node, share),
            is_largest: ranked.largest(input) == Some(node),
            tied_with: tied.map(|row| Sentence::name(input, row.node)),
            on_behalf: if share < FLAT { deepest(input, node, whole, measure) } else { None },
            processes: largest_process(input, whole, measure)
                .or_else(|| largest_processes(input, whole, measure)),
            holder: holder(input),
            caller: largest_caller(input, first, measure),
            callers,
            elapsed: input.analysis.elapsed,
            thread: largest_thread(input, whole, measure),
        })
    }

    /// Whether it has little of what is ranked, and another procedure the most.
    pub(crate) fn is_beside_the_largest(&self) -> bool {
        self.percent < FLAT && !self.is_largest
    }

    /// The procedure, where the work is one.
    pub(crate) fn procedure(&self) -> Option<ProcedureId> {
        match self.node {
            Node::Procedure(id) if self.percent >= FLAT => Some(id),
            _ => None,
        }
    }

    /// What the work is, as a share of `whole`.
    pub(crate) fn sentence(&self, whole: &str) -> Sentence {
        let share = Sentence::share(self.percent, self.error);
        let name = self.name.clone();
        if self.percent >= FLAT {
            return match self.tied_with.clone() {
                Some(other) => {
                    sentence![
                        name,
                        " and ",
                        other,
                        ", equal within the error — ",
                        share,
                        " of ",
                        whole,
                        " each"
                    ]
                }
                None => sentence![name, self.action.as_str(), " — ", share, " of ", whole],
            };
        }
        match (self.processes.clone(), self.on_behalf.clone()) {
            (Some((process, count, part)), _) if part >= COARSE => {
                let processes = match count {
                    1 => String::new(),
                    count => format!(" ({})", count_of(count as u64, "process")),
                };
                let spread = sentence![" of ", whole, ", spread over many procedures, "];
                sentence![process, processes, " — ", ShareInWords(part), spread, name, " first (", share, ")"]
            }
            (_, Some((behalf, part))) => {
                let within = sentence![" — ", ShareInWords(part), " of ", whole, "; in it "];
                sentence!["what ", behalf, " does and calls", within, name, " comes first (", share, ")"]
            }
            _ => sentence!["no single procedure; ", name, " comes first with ", share, " of ", whole],
        }
    }

    /// What belongs to the answer: the process that the run waited for, and whom the procedure works for.
    pub(crate) fn circumstances(&self) -> Vec<Sentence> {
        let held = |(name, time): &(Sentence, u64)| {
            sentence![
                name.clone(),
                " held the run for ",
                TimeInWords(*time),
                " of ",
                TimeInWords(self.elapsed),
                "."
            ]
        };
        self.holder.as_ref().map(held).into_iter().chain(self.on_whose_behalf()).collect()
    }

    /// Whom a library's procedure works for, or what a procedure of the program has others do.
    fn on_whose_behalf(&self) -> Option<Sentence> {
        if self.callers.len() > 1 && self.caller.is_none() {
            return Some(sentence![self.name.clone(), " works ", callers_text(&self.callers), "."]);
        }
        if let Some((leaf, share)) = self.leaf.clone() {
            return Some(sentence![ShareInWords(share), " of it is in ", leaf, "."]);
        }
        let (caller, share) = self.caller.clone()?;
        Some(sentence![self.name.clone(), " does that for ", caller, " (", ShareInWords(share), ")."])
    }

    /// What else there is to say about it.
    pub(crate) fn remarks(&self) -> Vec<Sentence> {
        let mut remarks = Vec::new();
        if let Some((name, count, share)) = self.processes.clone().filter(|_| self.percent >= FLAT) {
            let place = match count {
                1 => "the process ".to_owned(),
                count => format!("{} of ", count_of(count as u64, "process")),
            };
            remarks.push(sentence![ShareInWords(share), " of it is in ", place, name, "."]);
        }
        if let Some((name, share)) = self.thread.clone() {
            remarks.push(sentence![ShareInWords(share), " of it runs on the thread ", name, "."]);
        }
        remarks
    }
}

/// By a measure; of equal ones the earlier node is the larger.
fn order(a: &NodeRow, b: &NodeRow, measure: fn(&Measures) -> f64) -> std::cmp::Ordering {
    measure(&a.own).total_cmp(&measure(&b.own)).then(b.node.cmp(&a.node))
}

fn largest_of(rows: &[NodeRow], measure: fn(&Measures) -> f64) -> Option<&NodeRow> {
    rows.iter().max_by(|a, b| order(a, b, measure))
}

fn folded(input: &ReportTables<'_>, row: &NodeRow, measure: fn(&Measures) -> f64) -> FoldedWork {
    FoldedWork::of(input, row.node, measure(&row.own), &measure)
}

fn leaf(input: &ReportTables<'_>, row: &NodeRow, measure: fn(&Measures) -> f64) -> Option<NamedShare> {
    let (leaf, share) = folded(input, row, measure).leaf()?;
    Some((Sentence::name(input, Node::Procedure(leaf)), share))
}

/// Whether a procedure is one, and not what stands for a path that is not known.
pub(crate) fn is_named(input: &ReportTables<'_>, node: Node) -> bool {
    match node {
        Node::Procedure(id) => !matches!(
            input.paths.procedure_named_by(id).name.as_str(),
            "[no stack]" | "[unknown]" | "[lost]" | Procedure::PROBES
        ),
        _ => true,
    }
}

/// The program's procedure for which a library's procedure does most of its work, and the share of that work.
pub(crate) fn largest_caller(
    input: &ReportTables<'_>,
    row: &NodeRow,
    measure: fn(&Measures) -> f64,
) -> Option<NamedShare> {
    let Node::Procedure(id) = row.node else { return None };
    if !is_library(input, id) {
        return None;
    }
    let mut callers: BTreeMap<ProcedureId, f64> = BTreeMap::new();
    for charge in input.analysis.charges.iter().filter(|charge| measure(&charge.measures) > 0.0) {
        let mut places = input.paths.places_of(charge.path).map(|place| place.procedure);
        if places.next() == Some(id)
            && let Some(caller) = places.find(|&caller| !is_library(input, caller))
        {
            *callers.entry(caller).or_default() += measure(&charge.measures);
        }
    }
    let (&caller, &time) = callers.iter().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)))?;
    Some((Sentence::name(input, Node::Procedure(caller)), percent(time, measure(&row.own))))
}

/// Whether a procedure is not the program's own: in a shared library, in the kernel, or of a language's library
/// that is compiled into the program. Code made at run time is its own.
fn is_library(input: &ReportTables<'_>, id: ProcedureId) -> bool {
    let procedure = input.paths.procedure_named_by(id);
    let is_program = |process: &Process| process.name == procedure.module;
    let is_of_language = LANGUAGES.iter().any(|prefix| procedure.name.starts_with(prefix));
    is_of_language
        || input.folding.is_folded(id)
        || (!procedure.is_jit()
            && procedure.module != name::program_file(input.program)
            && !input.program.processes.iter().any(is_program))
}

fn callers_of(input: &ReportTables<'_>, node: Node, measure: fn(&Measures) -> f64) -> Vec<NamedShare> {
    match node {
        Node::Procedure(id) => callers(input, id, &measure),
        _ => Vec::new(),
    }
}

/// The procedure closest to the work on whose behalf most of it is done, and some of it by `node`.
fn deepest(
    input: &ReportTables<'_>,
    node: Node,
    whole: f64,
    measure: fn(&Measures) -> f64,
) -> Option<NamedShare> {
    let share = |row: &NodeRow| percent(measure(&row.inclusive), whole);
    let is_starter = |row: &&NodeRow| match row.node {
        Node::Procedure(id) => {
            let name = input.paths.procedure_named_by(id).name.as_str();
            name == "main"
                || input.folding.is_folded(id)
                || name::is_starter(name)
                || name.starts_with('[')
                || name.contains("+0x")
        }
        _ => true,
    };
    let charges = input.analysis.charges.iter().filter(|charge| measure(&charge.measures) > 0.0);
    let paths = charges.map(|charge| charge.path);
    let paths = paths.filter(|&path| {
        input.paths.innermost(path).map(|place| Node::Procedure(place.procedure)) == Some(node)
    });
    let behind: BTreeSet<Node> = paths
        .flat_map(|path| input.paths.places_of(path).map(|place| Node::Procedure(place.procedure)))
        .collect();
    let rows = input.rows(By::Procedure).iter();
    rows.filter(|row| behind.contains(&row.node) && share(row) >= COARSE && !is_starter(row))
        .min_by(|a, b| share(a).total_cmp(&share(b)).then(a.node.cmp(&b.node)))
        .map(|row| (Sentence::name(input, row.node), share(row)))
}

/// A process by what a person would call it.
fn process_name(input: &ReportTables<'_>, node: Node) -> Option<Sentence> {
    let Node::Process(id) = node else { return None };
    let label = input.program.processes[id.index()].label();
    (!label.is_empty()).then(|| Sentence::named(node, label))
}

/// The process that has most of it, where there are several.
fn largest_process(
    input: &ReportTables<'_>,
    whole: f64,
    measure: fn(&Measures) -> f64,
) -> Option<(Sentence, usize, f64)> {
    let rows = input.rows(By::Process);
    let row = largest_of(rows, measure)?;
    let share = percent(measure(&row.own), whole);
    let name = process_name(input, row.node)?;
    (rows.len() > 2 && share >= COARSE).then_some((name, 1, share))
}

/// The process on which the critical path by elapsed time is for most of the run, where there are several.
fn holder(input: &ReportTables<'_>) -> Option<(Sentence, u64)> {
    let rows = input.rows(By::Process);
    let held = |row: &NodeRow| row.own.critical_elapsed;
    let row = rows.iter().max_by_key(|row| (held(row), Reverse(row.node)))?;
    let share = percent(held(row) as f64, input.analysis.elapsed as f64);
    let name = process_name(input, row.node)?;
    (rows.len() > 2 && share >= COARSE).then(|| (name, held(row)))
}

/// The processes of one name with the largest share, where the program has more than two processes.
fn largest_processes(
    input: &ReportTables<'_>,
    whole: f64,
    measure: fn(&Measures) -> f64,
) -> Option<(Sentence, usize, f64)> {
    let mut names: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    for row in input.rows(By::Process) {
        let Node::Process(id) = row.node else { continue };
        let name = input.program.processes[id.index()].name.as_str();
        let entry = names.entry(name).or_default();
        entry.0 += measure(&row.own);
        entry.1 += 1;
    }
    let is_several = names.len() > 1 || names.values().any(|&(_, count)| count > 1);
    let (name, &(time, count)) =
        names.iter().max_by(|(a, (x, _)), (b, (y, _))| x.total_cmp(y).then(b.cmp(a)))?;
    is_several.then(|| (Sentence::code(*name), count, percent(time, whole)))
}

/// The thread with nearly all of it, where there are several that work.
fn largest_thread(input: &ReportTables<'_>, whole: f64, measure: fn(&Measures) -> f64) -> Option<NamedShare> {
    let rows = input.rows(By::Thread);
    let working = rows.iter().filter(|row| measure(&row.own) > 0.0).count();
    let row = largest_of(rows, measure)?;
    let share = percent(measure(&row.own), whole);
    (working > 1 && share >= ONE_THREAD).then(|| (Sentence::name(input, row.node), share))
}
