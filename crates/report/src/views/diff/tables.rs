//! What changed, by procedure, object, wait and phase.

use std::collections::BTreeMap;

use longpole_metrics::{By, Node, Phases};

use super::pairs::{
    ComparedAmount, ComparedPair, ProcedureErrors, ProcedureName, largest_first, name_of_procedure, paired,
    with_procedure,
};
use super::{BothRuns, ChangeTable};
use crate::input::ReportTables;
use crate::name::program_file;
use crate::report::Row;
use crate::share::behind_cpu;
use crate::views::waits::{ComparedWait, compared_waits};

/// CPU time of procedures.
pub(super) fn procedures(runs: BothRuns<'_, '_>) -> ChangeTable {
    let amounts = runs.map(|run| {
        let errors = ProcedureErrors::of(run, behind_cpu(run.analysis), run.totals().cpu() as f64);
        let mut amounts: BTreeMap<ProcedureName, ComparedAmount> = BTreeMap::new();
        for row in run.rows(By::Procedure) {
            let Node::Procedure(id) = row.node else { continue };
            let time = row.own.cpu() as f64;
            if time > 0.0 {
                amounts.entry(name_of_procedure(run, id)).or_default().add(errors.amount(id, time));
            }
        }
        amounts
    });
    let row = |(key, (pair, only)): (ProcedureName, (ComparedPair, &'static str))| {
        let (row, name) = with_procedure(Row::default().text("section", "procedure"), &key);
        (pair.fill(row.text("only_in", only)), name)
    };
    let mut rows: Vec<(Row, String)> = paired(amounts).into_iter().map(row).collect();
    largest_first(&mut rows);
    ChangeTable {
        rows,
        title: "Procedures",
        noun: "procedure",
        amount: "CPU time of all threads",
        nothing: "no samples tell what ran.",
        instead: None,
    }
}

/// Waiting for objects.
pub(super) fn objects(runs: BothRuns<'_, '_>) -> ChangeTable {
    let [before, after] = runs.map(objects_of);
    let waited = [renamed(runs, before), after];
    let counts = waited
        .clone()
        .map(|waited| waited.into_iter().map(|(key, (_, count))| (key, count)).collect::<BTreeMap<_, _>>());
    let amounts = waited.map(|waited| {
        waited.into_iter().map(|(key, (time, _))| (key, ComparedAmount::exact(time as f64))).collect()
    });
    let row = |(key, (pair, only)): ((&'static str, String), (ComparedPair, &'static str))| {
        let row = Row::default()
            .text("section", "object")
            .text("kind", key.0)
            .text("object", &key.1)
            .text("only_in", only)
            .count("before_count", counts[0].get(&key).copied().unwrap_or(0))
            .count("after_count", counts[1].get(&key).copied().unwrap_or(0));
        (pair.fill(row), key.1)
    };
    let mut rows: Vec<(Row, String)> = paired(amounts).into_iter().map(row).collect();
    largest_first(&mut rows);
    ChangeTable {
        rows,
        title: "Objects",
        noun: "object",
        amount: "waiting of all threads",
        nothing: "no thread waited for an object that the recordings name.",
        instead: None,
    }
}

/// The objects of the first run under their names in the second one: a thread or process that is named after the program's file is
/// the same one in another file.
fn renamed<V>(
    runs: BothRuns<'_, '_>,
    objects: BTreeMap<(&'static str, String), V>,
) -> BTreeMap<(&'static str, String), V> {
    let [before, after] = runs.map(|run| thread_name(program_file(run.program)));
    let word = |word: &str| if word == before { after.clone() } else { word.to_owned() };
    let name = |name: &str| name.split(' ').map(word).collect::<Vec<_>>().join(" ");
    objects.into_iter().map(|((kind, own), value)| ((kind, name(&own)), value)).collect()
}

/// The first 15 bytes of a file's name, which is what the kernel calls the thread that executes it.
fn thread_name(file: &str) -> String {
    let end = (0..=file.len().min(15)).rev().find(|&end| file.is_char_boundary(end)).unwrap_or(0);
    file[..end].to_owned()
}

/// Waiting and waits by kind and name.
fn objects_of(run: &ReportTables<'_>) -> BTreeMap<(&'static str, String), (u64, u64)> {
    let mut waited: BTreeMap<(&'static str, String), (u64, u64)> = BTreeMap::new();
    let Some(contention) = &run.details.contention else { return waited };
    for (object, contended) in run.objects.all().iter().zip(&contention.objects) {
        if contended.waits() > 0 {
            let sum = waited.entry((object.kind.name(), object.name.clone())).or_default();
            *sum = (sum.0 + contended.waited(), sum.1 + contended.waits());
        }
    }
    waited
}

/// Waits by place, and whether their explanation is another one.
pub(super) fn waits(runs: BothRuns<'_, '_>) -> ChangeTable {
    type WaitName = (Option<ProcedureName>, &'static str, String);
    let found = runs.map(|run| {
        let mut waits: BTreeMap<WaitName, ComparedWait> = BTreeMap::new();
        for wait in compared_waits(run) {
            let place = wait.procedure.map(|id| name_of_procedure(run, id));
            let sum = waits.entry((place, wait.kind, wait.object.clone())).or_default();
            sum.add(wait);
        }
        waits
    });
    let amounts = found.clone().map(|waits| {
        waits.into_iter().map(|(key, wait)| (key, ComparedAmount::exact(wait.time as f64))).collect()
    });
    let row = |(key, (pair, only)): (WaitName, (ComparedPair, &'static str))| {
        let row = Row::default()
            .text("section", "wait")
            .text("kind", key.1)
            .text("object", &key.2)
            .text("only_in", only);
        let (row, place) = match &key.0 {
            Some(name) => with_procedure(row, name),
            None => (row, "[no procedure known]".to_owned()),
        };
        let what = if key.2.is_empty() { key.1 } else { &key.2 };
        let name = format!("{place}: {what}");
        (pair.fill(explained(row, found.each_ref().map(|waits| waits.get(&key)))), name)
    };
    let mut rows: Vec<(Row, String)> = paired(amounts).into_iter().map(row).collect();
    largest_first(&mut rows);
    ChangeTable {
        rows,
        title: "Waits",
        noun: "place",
        amount: "waiting that is to be explained",
        nothing: "no thread waited where an explanation is wanted.",
        instead: None,
    }
}

/// The row with both explanations of its waits, and whether they are the same.
fn explained(row: Row, [before, after]: [Option<&ComparedWait>; 2]) -> Row {
    let text = |wait: Option<&ComparedWait>, of: fn(&ComparedWait) -> &str| {
        wait.map_or(String::new(), |wait| of(wait).to_owned())
    };
    let row = row
        .count("before_count", before.map_or(0, |wait| wait.count))
        .count("after_count", after.map_or(0, |wait| wait.count))
        .text("before_class", text(before, |wait| wait.class))
        .text("after_class", text(after, |wait| wait.class))
        .text("before_cause", text(before, |wait| &wait.cause))
        .text("after_cause", text(after, |wait| &wait.cause));
    match (before, after) {
        (Some(before), Some(after)) => {
            let is_same = before.class == after.class && before.main == after.main;
            row.text("explanation", if is_same { "same" } else { "changed" })
        }
        _ => row,
    }
}

/// Phases of both runs, in their order: those with the same leading procedure are one.
pub(super) fn phases(runs: BothRuns<'_, '_>) -> ChangeTable {
    let [before, after] = runs.map(phases_of);
    let mut rows = Vec::new();
    let (mut from, mut to) = (0, 0);
    let mut row = |name: &str, number: usize, pair: ComparedPair, only: &'static str| {
        let row = Row::default().text("section", "phase").text("name", name).text("only_in", only);
        rows.push((pair.fill(row), format!("{number}: {name}")));
    };
    let exact = |length: u64| ComparedAmount::exact(length as f64);
    for (one, other) in common_subsequence(&before, &after).into_iter().chain([(before.len(), after.len())]) {
        for (number, (name, length)) in before[from..one].iter().enumerate() {
            let pair = ComparedPair { before: exact(*length), ..ComparedPair::default() };
            row(name, from + number + 1, pair, "before");
        }
        for (number, (name, length)) in after[to..other].iter().enumerate() {
            let pair = ComparedPair { after: exact(*length), ..ComparedPair::default() };
            row(name, to + number + 1, pair, "after");
        }
        if let (Some((name, length)), Some((_, longer))) = (before.get(one), after.get(other)) {
            let pair = ComparedPair { before: exact(*length), after: exact(*longer) };
            row(name, one + 1, pair, "");
        }
        (from, to) = (one + 1, other + 1);
    }
    let is_matched = rows.iter().all(|(row, _)| row.words("only_in").is_empty());
    let instead = (!is_matched).then(|| {
        format!(
            "Phases: {} before and {} after do not correspond; `longpole report --view phases` shows those of each recording.",
            before.len(),
            after.len()
        )
    });
    ChangeTable {
        rows,
        title: "Phases",
        noun: "phase",
        amount: "length",
        nothing: "the runs have no length.",
        instead,
    }
}

/// The procedure that leads each phase, with the phase's length.
fn phases_of(run: &ReportTables<'_>) -> Vec<(String, u64)> {
    let Some(Phases { phases, .. }) = &run.details.phases else { return Vec::new() };
    let name = |most: Option<(longpole_trace::ProcedureId, f64)>| match most {
        Some((id, _)) => with_procedure(Row::default(), &name_of_procedure(run, id)).1,
        None => "[nobody is busy]".to_owned(),
    };
    phases.iter().map(|phase| (name(phase.most), phase.to - phase.from)).collect()
}

/// The longest sequence of phases that both have, as pairs of their positions.
fn common_subsequence(before: &[(String, u64)], after: &[(String, u64)]) -> Vec<(usize, usize)> {
    let (rows, columns) = (before.len(), after.len());
    let mut longest = vec![vec![0_u32; columns + 1]; rows + 1];
    for one in (0..rows).rev() {
        for other in (0..columns).rev() {
            longest[one][other] = if before[one].0 == after[other].0 {
                longest[one + 1][other + 1] + 1
            } else {
                longest[one + 1][other].max(longest[one][other + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut common = Vec::new();
    while one < rows && other < columns {
        if before[one].0 == after[other].0 {
            common.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if longest[one + 1][other] >= longest[one][other + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    common
}
