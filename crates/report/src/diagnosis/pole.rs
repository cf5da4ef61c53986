//! The thing everything else waits for: which procedure, or at which level it can be named at all.

use std::collections::BTreeMap;

use longpole_metrics::{By, Measures, Node, Row};
use longpole_trace::{ProcedureId, Process};

use crate::input::Source;
use crate::name;
use crate::quantity::{count_of, percent, percent_text, percent_with_error};
use crate::share::{is_tied, standard_error};

/// Below this share of the largest procedure the pole is named at a coarser level, percent.
const FLAT: f64 = 20.0;
/// Share that a coarser level has to have, percent.
const COARSE: f64 = 50.0;

/// How the names of languages' libraries begin.
const LANGUAGES: &[&str] = &["core::", "alloc::", "std::", "<core::", "<alloc::", "<std::", "runtime."];

/// The long pole.
#[derive(Clone, Debug)]
pub(super) struct Pole {
    /// The largest procedure.
    node: Node,
    /// Its name, quoted.
    name: String,
    percent: f64,
    error: Option<f64>,
    /// Another procedure that has the same share within the error.
    tied_with: Option<String>,
    /// Where the largest procedure is small: what it all is done for.
    on_behalf: Option<(String, f64)>,
    /// Processes of one name that have nearly everything, where there are many processes.
    processes: Option<(String, usize, f64)>,
    /// Where the procedure is a library's: the program's procedure that has most of it done, and its share.
    caller: Option<(String, f64)>,
    /// Thread of the work, where one has nearly all of it.
    thread: Option<(String, f64)>,
}

impl Pole {
    /// By the CPU-weighted critical path.
    pub(super) fn by_path(input: &Source<'_>) -> Option<Pole> {
        let whole = input.analysis.critical_cpu.length;
        Pole::of(input, whole, input.analysis.effective_samples.critical, |measures| measures.critical_cpu)
    }

    /// By CPU time.
    pub(super) fn by_cpu(input: &Source<'_>) -> Option<Pole> {
        let totals = input.totals();
        let whole = totals.running + totals.spinning;
        let samples = input.analysis.effective_samples.cpu;
        Pole::of(input, whole, samples, |measures| measures.running + measures.spinning)
    }

    fn of(input: &Source<'_>, whole: u64, samples: f64, measure: fn(&Measures) -> u64) -> Option<Pole> {
        let mut rows: Vec<&Row> = input.rows(By::Procedure).iter().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(measure(&row.own)), row.node));
        let share = |time: u64| percent(time as f64, whole as f64);
        let first = rows.first().filter(|row| measure(&row.own) > 0 && is_named(input, row.node))?;
        let first_share = share(measure(&first.own));
        let tied_with = rows
            .get(1)
            .filter(|row| measure(&row.own) > 0 && is_tied(first_share, share(measure(&row.own)), samples))
            .map(|row| quoted(input, row.node));
        let on_behalf = (first_share < FLAT).then(|| deepest(input, &rows, whole, measure)).flatten();
        Some(Pole {
            node: first.node,
            name: quoted(input, first.node),
            percent: first_share,
            error: standard_error(first_share, samples),
            tied_with,
            on_behalf,
            processes: largest_processes(input, whole, measure),
            caller: largest_caller(input, first, measure),
            thread: largest_thread(input, whole, measure),
        })
    }

    /// The procedure that the pole is, if it is one.
    pub(super) fn procedure(&self) -> Option<ProcedureId> {
        match self.node {
            Node::Procedure(id) if self.percent >= FLAT => Some(id),
            _ => None,
        }
    }

    /// What the pole is, as a share of `whole`.
    pub(super) fn sentence(&self, whole: &str) -> String {
        let share = percent_with_error(self.percent, self.error);
        if self.percent >= FLAT {
            return match &self.tied_with {
                Some(other) => {
                    format!("{} and {other}, equal within the error — {share} of {whole} each", self.name)
                }
                None => format!("{} — {share} of {whole}", self.name),
            };
        }
        match (&self.processes, &self.on_behalf) {
            (Some((name, count, part)), _) if *part >= COARSE => {
                let processes = count_of(*count as u64, "process");
                format!(
                    "{name} ({processes}) — {} of {whole}, spread over many procedures, {} first ({share})",
                    percent_text(*part),
                    self.name
                )
            }
            (_, Some((behalf, part))) => {
                format!(
                    "what {behalf} does and calls — {} of {whole}; in it {} comes first ({share})",
                    percent_text(*part),
                    self.name
                )
            }
            _ => format!("no single procedure; {} comes first with {share} of {whole}", self.name),
        }
    }

    /// Whom a library's procedure works for; it belongs to the answer.
    pub(super) fn on_whose_behalf(&self) -> Option<String> {
        let (caller, share) = self.caller.as_ref()?;
        Some(format!("{} does that for {caller} ({}).", self.name, percent_text(*share)))
    }

    /// What else there is to say about it.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some((name, count, share)) = self.processes.as_ref().filter(|_| self.percent >= FLAT) {
            let place = match count {
                1 => format!("the process {name}"),
                count => format!("{} of {name}", count_of(*count as u64, "process")),
            };
            remarks.push(format!("{} of it is in {place}.", percent_text(*share)));
        }
        if let Some((name, share)) = &self.thread {
            remarks.push(format!("{} of it runs on the thread {name}.", percent_text(*share)));
        }
        remarks
    }
}

fn quoted(input: &Source<'_>, node: Node) -> String {
    match node {
        Node::Procedure(id) => format!("`{}`", name::procedure(input.paths, input.program, id)),
        Node::Thread(id) => format!("`{}`", name::thread(input.program, id)),
        _ => String::new(),
    }
}

/// Whether a procedure is one, and not what stands for a path that is not known.
pub(crate) fn is_named(input: &Source<'_>, node: Node) -> bool {
    match node {
        Node::Procedure(id) => {
            !matches!(input.paths.procedure_named_by(id).name.as_str(), "[no stack]" | "[unknown]" | "[lost]")
        }
        _ => true,
    }
}

/// The program's procedure for which a library's procedure does most of its work, and the share of that work.
pub(crate) fn largest_caller(
    input: &Source<'_>,
    row: &Row,
    measure: fn(&Measures) -> u64,
) -> Option<(String, f64)> {
    let Node::Procedure(id) = row.node else { return None };
    if !is_library(input, id) {
        return None;
    }
    let mut callers: BTreeMap<ProcedureId, u64> = BTreeMap::new();
    for charge in input.analysis.charges.iter().filter(|charge| measure(&charge.measures) > 0) {
        let mut places = input.paths.places_of(charge.path).map(|place| place.procedure);
        if places.next() == Some(id)
            && let Some(caller) = places.find(|&caller| !is_library(input, caller))
        {
            *callers.entry(caller).or_default() += measure(&charge.measures);
        }
    }
    let (&caller, &time) =
        callers.iter().max_by_key(|&(&caller, &time)| (time, std::cmp::Reverse(caller)))?;
    Some((quoted(input, Node::Procedure(caller)), percent(time as f64, measure(&row.own) as f64)))
}

/// Whether a procedure is not the program's own: in a shared library, in the kernel, or of a language's library
/// that is compiled into the program.
fn is_library(input: &Source<'_>, id: ProcedureId) -> bool {
    let procedure = input.paths.procedure_named_by(id);
    let is_program = |process: &Process| process.name == procedure.module;
    let is_of_language = LANGUAGES.iter().any(|prefix| procedure.name.starts_with(prefix));
    is_of_language
        || (procedure.module != name::program_file(input.program)
            && !input.program.processes.iter().any(is_program))
}

/// The procedure closest to the work on whose behalf most of it is done.
fn deepest(
    input: &Source<'_>,
    rows: &[&Row],
    whole: u64,
    measure: fn(&Measures) -> u64,
) -> Option<(String, f64)> {
    let share = |row: &Row| percent(measure(&row.inclusive) as f64, whole as f64);
    let is_starter = |row: &&&Row| match row.node {
        Node::Procedure(id) => {
            let name = input.paths.procedure_named_by(id).name.as_str();
            name == "main" || name::is_starter(name) || name.starts_with('[') || name.contains("+0x")
        }
        _ => true,
    };
    rows.iter()
        .filter(|row| share(row) >= COARSE && !is_starter(row))
        .min_by(|a, b| share(a).total_cmp(&share(b)).then(a.node.cmp(&b.node)))
        .map(|row| (quoted(input, row.node), share(row)))
}

/// The processes of one name with the largest share, where the program has more than two processes.
fn largest_processes(
    input: &Source<'_>,
    whole: u64,
    measure: fn(&Measures) -> u64,
) -> Option<(String, usize, f64)> {
    let mut names: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for row in input.rows(By::Process) {
        let Node::Process(id) = row.node else { continue };
        let entry = names.entry(input.program.processes[id.index()].name.as_str()).or_default();
        entry.0 += measure(&row.own);
        entry.1 += 1;
    }
    let is_several = names.len() > 1 || names.values().any(|&(_, count)| count > 1);
    let (name, &(time, count)) =
        names.iter().max_by_key(|&(name, &(time, _))| (time, std::cmp::Reverse(*name)))?;
    is_several.then(|| (format!("`{name}`"), count, percent(time as f64, whole as f64)))
}

/// The thread with nearly all of it, where there are several that work.
fn largest_thread(input: &Source<'_>, whole: u64, measure: fn(&Measures) -> u64) -> Option<(String, f64)> {
    let rows = input.rows(By::Thread);
    let working = rows.iter().filter(|row| measure(&row.own) > 0).count();
    let row = rows.iter().max_by_key(|row| (measure(&row.own), std::cmp::Reverse(row.node)))?;
    let share = percent(measure(&row.own) as f64, whole as f64);
    (working > 1 && share >= 80.0).then(|| (quoted(input, row.node), share))
}
