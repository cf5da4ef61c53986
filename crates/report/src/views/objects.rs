//! `objects`: what threads waited for (metrics.md §3).

use std::collections::BTreeMap;

use longpole_metrics::{ContendedObject, Contention, DetailsDemand, Handover, LockHoldSums, Node};
use longpole_trace::{Cause, ObjectId, ObjectKind, PlaceId, ProcedureId};

use super::lock_order;
use super::object_costs::{COSTS, calls_name, cost_of, costs_of_calls, with_cost};
use super::one_object;
use super::{ROWS_OF_TEXT, identity};
use crate::find::{FoundNodes, NameKind};
use crate::input::{ReportOptions, ReportTables};
use crate::name;
use crate::needs::RecordingNeed;
use crate::quantity::{count_of, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::share::places;
use crate::table::{Show, TextTable, shown};
use crate::text::TextSection;
use crate::view::{View, ViewDefinition};

/// How they were waited for.
const WAITS: [&str; 18] = [
    "rank",
    "seconds",
    "percent",
    "blocks",
    "mean_wait_seconds",
    "median_wait_seconds",
    "p90_wait_seconds",
    "longest_wait_seconds",
    "contended_seconds",
    "mean_queue",
    "longest_queue",
    "handovers",
    "held_seconds",
    "holder_cpu_seconds",
    "holder_npt_seconds",
    "holder",
    "holder_procedure",
    "holder_module",
];
/// How they were held, see [`with_holds`].
pub(super) const HOLDS: [&str; 7] = [
    "acquisitions",
    "contended_acquisitions",
    "contended_acquisitions_percent",
    "hold_seconds",
    "mean_hold_seconds",
    "longest_hold_seconds",
    "mean_access_wait_seconds",
];
/// What they are.
const NAMES: [&str; 3] = ["objects", "kind", "object"];

/// Objects of one kind and name.
#[derive(Default)]
pub(super) struct NamedObjects {
    /// One of them.
    first: Option<ObjectId>,
    pub contended: ContendedObject,
    pub objects: u64,
    /// How they were held, where the program told.
    pub held: LockHoldSums,
    /// What procedures did with them before they handed over.
    holders: BTreeMap<Option<ProcedureId>, Handover>,
}

/// Whether one thread holds such an object while others wait for it, and ends their wait when it lets go.
pub(super) fn is_held(kind: ObjectKind) -> bool {
    matches!(kind.cause(), Cause::Lock | Cause::Kernel)
}

/// Share of the run for which a lock is held from which on it is shown though nobody waited for it, percent.
const HELD_MATTERS: f64 = 5.0;

/// The objects for which anybody waited or that were held, by kind and name; those of the same name together.
fn named<'a>(
    input: &ReportTables<'a>,
    contention: &Contention,
) -> Vec<((ObjectKind, &'a str), NamedObjects)> {
    let all = input.input().objects.all();
    let mut named: BTreeMap<(ObjectKind, &'a str), NamedObjects> = BTreeMap::new();
    let holds = input.input().details.holds.as_ref();
    for (index, (object, contended)) in all.iter().zip(&contention.objects).enumerate() {
        let held = holds.and_then(|holds| holds.objects.get(index)).copied().unwrap_or_default();
        if contended.waits() > 0 || held.acquisitions > 0 {
            let sum = named.entry((object.kind, &object.name)).or_default();
            sum.first = sum.first.or(Some(ObjectId(index as u32)));
            sum.objects += 1;
            sum.contended.add(contended, input.analysis.elapsed);
            sum.held.add(&held);
        }
    }
    for (&(id, place), handover) in &contention.handovers {
        let object = &all[id.index()];
        if let Some(sum) = named.get_mut(&(object.kind, object.name.as_str())) {
            sum.holders.entry(procedure_of(input, place)).or_default().add(handover);
        }
    }
    let mut named: Vec<_> = named.into_iter().collect();
    let order = |named: &NamedObjects| std::cmp::Reverse((named.contended.waited(), named.held.held));
    named.sort_by_key(|(key, named)| (order(named), *key));
    named
}

/// How long threads waited for the objects of this one's kind and name, and the normalised processor time of those that held them
/// meanwhile, where they are held; nanoseconds.
pub(super) fn waiting_of_objects(
    input: &ReportTables<'_>,
    contention: &Contention,
    node: Node,
) -> (f64, Option<f64>) {
    let Node::Object(id) = node else { return (0.0, None) };
    let wanted = input.objects.get(id);
    let same = input.objects.all().iter().zip(&contention.objects);
    let same = same.filter(|(object, _)| object.kind == wanted.kind && object.name == wanted.name);
    let (mut waited, mut npt) = (0.0, 0.0);
    for (_, contended) in same {
        waited += contended.waited() as f64;
        npt += contended.handed.npt;
    }
    (waited, is_held(wanted.kind).then_some(npt))
}

pub(super) fn procedure_of(input: &ReportTables<'_>, place: Option<PlaceId>) -> Option<ProcedureId> {
    place.map(|place| input.paths.all_places()[place.0 as usize].procedure)
}

pub(super) static VIEW: ViewDefinition = ViewDefinition {
    name: "objects",
    about: "What threads waited for: each lock, condition, barrier with its waits.",
    kinds: &[NameKind::Object],
    demand,
    needs: |_| &[RecordingNeed::Switches, RecordingNeed::Objects],
    build,
    ..ViewDefinition::PLAIN
};

/// The costs of one object too, where that is asked for.
fn demand(options: &ReportOptions) -> DetailsDemand {
    DetailsDemand { contention: true, contended: options.chosen_objects(), ..DetailsDemand::default() }
}

fn build(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    match &options.of {
        Some(FoundNodes::Objects(ids)) => one_object::build(input, options, ids),
        _ => all_objects(input, options),
    }
}

fn all_objects(input: &ReportTables<'_>, options: &ReportOptions) -> Report {
    let mut report =
        Report::new(View::Objects, input, options, &[&WAITS[..], &COSTS, &HOLDS, &NAMES].concat());
    let Some(contention) = &input.details.contention else { return report };
    let mut named = named(input, contention);
    let all = named.len();
    let matters =
        |held: &LockHoldSums| percent(held.held as f64, input.analysis.elapsed as f64) >= HELD_MATTERS;
    named.retain(|(_, named)| options.all || named.contended.waits() > 0 || matters(&named.held));
    let quiet = all - named.len();
    let whole: u64 = named.iter().map(|(_, named)| named.contended.waited()).sum();
    let shares: Vec<f64> =
        named.iter().map(|(_, named)| percent(named.contended.waited() as f64, whole as f64)).collect();
    let rows = named.iter().zip(&shares).zip(places(&shares, None));
    let mut rows: Vec<Row> = rows
        .map(|(((key, named), &share), place)| {
            row(input, *key, named).percent("percent", share).count("rank", place)
        })
        .collect();
    rows.extend(rows_of_calls(input, rows.len()));
    report.rows = rows.iter().take(options.top.unwrap_or(usize::MAX)).cloned().collect();
    if rows.is_empty() {
        report.sections.push(TextSection::Paragraph(nothing(input)));
        report.sections.extend(left_out(quiet));
        return report;
    }
    report.sections.extend(head(input, whole));
    report.sections.push(TextSection::Blank);
    report.sections.extend(table(&rows, options));
    report.sections.extend(left_out(quiet));
    let inversions = lock_order::inversions(input);
    report
        .sections
        .extend(inversions.iter().map(|sentence| TextSection::Paragraph(format!("Caution: {sentence}."))));
    report.evidence.notes.extend(inversions);
    report
}

/// Share of the CPU time from which on calls about objects that no thread waited for have a row, percent.
const CALLS_MATTER: f64 = 0.5;

/// Calls that synchronise by objects that no thread waited for, after so many rows.
fn rows_of_calls(input: &ReportTables<'_>, before: usize) -> Vec<Row> {
    let cpu = input.totals().cpu() as f64;
    let costs = costs_of_calls(input).filter(|cost| percent(cost.total(), cpu) >= CALLS_MATTER);
    let rows = costs.enumerate().map(|(index, cost)| {
        let row = Row::default()
            .count("rank", (before + index) as u64 + 1)
            .percent("percent", 0.0)
            .time("seconds", 0)
            .count("blocks", 0)
            .text("kind", cost.kind.name())
            .text("object", calls_name(input, cost));
        with_cost(row, cost)
    });
    rows.collect()
}

fn row(input: &ReportTables<'_>, (kind, name): (ObjectKind, &str), named: &NamedObjects) -> Row {
    let NamedObjects { first, contended, objects, held, holders } = named;
    let cost = first.and_then(|object| cost_of(input, object));
    let lengths = &contended.lengths;
    let contended_time = contended.contended();
    let row = Row::default()
        .time("seconds", lengths.sum())
        .count("blocks", lengths.count())
        .fraction("mean_wait_seconds", lengths.mean())
        .fraction("median_wait_seconds", lengths.quantile(0.5))
        .fraction("p90_wait_seconds", lengths.quantile(0.9))
        .time("longest_wait_seconds", lengths.largest())
        .time("contended_seconds", contended_time)
        .mean("mean_queue", lengths.sum() as f64 / contended_time.max(1) as f64)
        .count("longest_queue", contended.queue.len().saturating_sub(1) as u64)
        .count("handovers", contended.handed.count)
        .count("objects", *objects)
        .text("kind", kind.name())
        .text("object", name);
    let row = cost.map_or(row.clone(), |cost| with_cost(row, cost));
    let row = with_holds(row, held, Some(lengths.sum()));
    if !is_held(kind) {
        return row;
    }
    let Handover { held, cpu, npt, .. } = contended.handed;
    let most = holders.iter().filter(|(_, held)| held.held > 0).max_by_key(|(_, held)| held.held);
    let most = most.and_then(|(id, _)| *id);
    let holder = most.map(|id| name::procedure(input.paths, input.program, id));
    let named = most.map_or(Row::default(), |id| identity(input, Node::Procedure(id)).0);
    row.text("holder_procedure", named.words("procedure"))
        .text("holder_module", named.words("module"))
        .time("held_seconds", held)
        .time("holder_cpu_seconds", cpu)
        .fraction("holder_npt_seconds", npt)
        .text("holder", holder.unwrap_or_default())
}

/// The row with how the lock was held ([`HOLDS`]), if that was told; threads waited so long for it in all, where that is known.
pub(super) fn with_holds(row: Row, held: &LockHoldSums, waited: Option<u64>) -> Row {
    let LockHoldSums { acquisitions, contended, held: time, longest } = *held;
    if acquisitions == 0 {
        return row;
    }
    let row = match waited {
        Some(waited) => row.fraction("mean_access_wait_seconds", waited as f64 / acquisitions as f64),
        None => row,
    };
    row.count("acquisitions", acquisitions)
        .count("contended_acquisitions", contended)
        .percent("contended_acquisitions_percent", percent(contended as f64, acquisitions as f64))
        .time("hold_seconds", time)
        .fraction("mean_hold_seconds", held.mean())
        .time("longest_hold_seconds", longest)
}

/// What is seen of accesses, in a sentence.
pub(super) fn seen(input: &ReportTables<'_>) -> &'static str {
    let is_told = input.details.holds.as_ref().is_some_and(longpole_metrics::LockHolds::is_told);
    if is_told {
        "Acquisitions and holds are those that the program's threads told of; waits are all."
    } else {
        "Only accesses that had to wait are seen: no thread told of its locks (`record --locks`)."
    }
}

/// Locks that are not shown.
fn left_out(quiet: usize) -> Option<TextSection> {
    let locks = count_of(quiet as u64, "lock");
    let verb = if quiet == 1 { "was" } else { "were" };
    (quiet > 0).then(|| {
        TextSection::Remark(format!("{locks} that {verb} held and never waited for: `--all` shows them."))
    })
}

fn head(input: &ReportTables<'_>, whole: u64) -> Vec<TextSection> {
    // What they spun for is waiting too, where they told of it, with the time for which they could not spin on.
    let totals = input.totals();
    let (blocked, spun) = (super::blocked(totals), totals.spinning);
    let (idle, what) = match spun {
        0 => (blocked, "were blocked"),
        spun => (blocked + spun + totals.ready, "did no work"),
    };
    let share = percent_text(percent(whole as f64, idle as f64));
    let waited = time_text(whole);
    let title =
        format!("Objects: threads waited {waited} for them, {share} of all the time that they {what}");
    let seen = seen(input);
    let remark = format!(
        "{seen} Queue: threads that waited at a time, while any did. While wanted: time for which a lock was held while others waited for it; NPT is that of the holders meanwhile."
    );
    vec![TextSection::Headline(title), TextSection::Remark(remark)]
}

/// Why there is no object.
fn nothing(input: &ReportTables<'_>) -> String {
    match super::blocked(input.totals()) {
        0 => "No thread was blocked.".to_owned(),
        blocked => format!(
            "Threads were blocked for {}, but the recording does not say for which objects.",
            time_text(blocked)
        ),
    }
}

/// Lengths of waits, each in the unit that suits it: those of one object are seconds, of the next microseconds.
fn in_units(row: &Row) -> Row {
    let text =
        |column| row.value(column).map_or(String::new(), |seconds| time_text((seconds * 1e9).round() as u64));
    row.clone()
        .text("mean", text("mean_wait_seconds"))
        .text("p90", text("p90_wait_seconds"))
        .text("longest", text("longest_wait_seconds"))
        .text("mean_hold", text("mean_hold_seconds"))
        .text("mean_access_wait", text("mean_access_wait_seconds"))
}

fn table(rows: &[Row], options: &ReportOptions) -> Vec<TextSection> {
    let mut columns = vec![
        shown("#", Show::Rank),
        shown("% of waiting", Show::Percent("percent")),
        shown("waited", Show::Time("seconds")),
        shown("waits", Show::Count("blocks")),
        shown("mean", Show::Words("mean")),
    ];
    if rows.iter().any(|row| row.value("call_cpu_seconds").is_some_and(|calls| calls > 0.0)) {
        columns.push(shown("cost", Show::Time("cost_seconds")).optional());
    }
    if rows.iter().any(|row| row.value("acquisitions").is_some()) {
        columns.push(shown("taken", Show::Count("acquisitions")).optional());
        columns.push(shown("mean hold", Show::Words("mean_hold")).optional());
        columns.push(shown("wait per access", Show::Words("mean_access_wait")).optional());
        columns.push(shown("% had to wait", Show::Percent("contended_acquisitions_percent")).optional());
    }
    columns.extend([
        shown("90 %", Show::Words("p90")).optional(),
        shown("longest", Show::Words("longest")).optional(),
        shown("queue", Show::Mean("mean_queue")).optional(),
    ]);
    if rows.iter().any(|row| row.value("held_seconds").is_some()) {
        columns.push(shown("while wanted", Show::Time("held_seconds")).optional());
        columns.push(shown("NPT", Show::Time("holder_npt_seconds")).optional());
    }
    let limit = options.top.unwrap_or(ROWS_OF_TEXT);
    let label = |row: &Row| match row.value("objects") {
        Some(objects) if objects > 1.0 => format!("{} ×{objects:.0}", row.words("object")),
        _ => row.words("object").to_owned(),
    };
    let shown_rows = rows.iter().take(limit).map(|row| (in_units(row), label(row))).collect();
    let mut sections =
        vec![TextSection::Table(TextTable { columns, name_title: "object".to_owned(), rows: shown_rows })];
    if rows.len() > limit {
        let rest: f64 = rows[limit..].iter().filter_map(|row| row.value("percent")).sum();
        let (hidden, all) = (rows.len() - limit, rows.len());
        sections.push(TextSection::Remark(format!(
            "{hidden} more rows with {} in all (--top {all})",
            percent_text(rest)
        )));
    }
    sections
}
