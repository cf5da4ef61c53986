//! `objects --of NAME`: one object, or all of one name, in full (metrics.md §3).

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::{
    ContendedObject, Contention, Handover, LengthHistogram, LockHoldSums, Node, WaiterPair,
};
use longpole_trace::{ObjectId, PlaceId};

use super::identity;
use super::lock_order;
use super::objects::{HOLDS, is_held, seen, with_holds};
use crate::bar::bar;
use crate::input::{ReportOptions, ReportTables};
use crate::quantity::{count_of, grouped, percent, percent_text, time_text};
use crate::report::{Report, Row};
use crate::table::{Show, Shown, TextTable, shown};
use crate::text::TextSection;
use crate::view::View;

const MEASURES: [&str; 17] = [
    "section",
    "seconds",
    "percent",
    "blocks",
    "queue",
    "shortest_seconds",
    "longest_seconds",
    "waiting",
    "ended_by",
    "holder",
    "handovers",
    "held_seconds",
    "holder_cpu_seconds",
    "holder_npt_seconds",
    "order",
    "other",
    "acquired_at",
];
const NAMES: [&str; 14] = [
    "procedure",
    "module",
    "file",
    "line",
    "process",
    "pid",
    "thread",
    "tid",
    "ended_by_procedure",
    "ended_by_module",
    "ended_by_file",
    "ended_by_line",
    "ended_by_thread",
    "ended_by_tid",
];
/// Rows of each table of the text.
const ROWS: usize = 10;
const BAR: usize = 24;
/// Edges of the ranges of lengths, in nanoseconds from 1 µs: three to each power of ten.
const STEPS: [u64; 2] = [1, 3];

pub(super) fn build(input: &ReportTables<'_>, options: &ReportOptions, ids: &[ObjectId]) -> Report {
    let mut report = Report::new(View::Objects, input, options, &[&MEASURES[..], &HOLDS, &NAMES].concat());
    let Some(contention) = &input.details.contention else { return report };
    let mut sum = ContendedObject::default();
    for id in ids {
        sum.add(&contention.objects[id.index()], input.analysis.elapsed);
    }
    report.sections.extend(head(input, ids, &sum));
    let tables = [
        queue(input, &sum),
        lengths(&sum.lengths),
        acquisitions(input, ids),
        lock_order::with_others(input, ids),
        holders(input, ids, contention),
        places(input, contention),
        threads(input, contention),
    ];
    for (title, table) in tables.into_iter().flatten() {
        report.rows.extend(table.rows.iter().map(|(row, _)| row.clone()));
        let hidden = table.rows.len().saturating_sub(ROWS);
        let table = TextTable { rows: table.rows.into_iter().take(ROWS).collect(), ..table };
        report.sections.extend([
            TextSection::Blank,
            TextSection::Remark(title.to_owned()),
            TextSection::Table(table),
        ]);
        if hidden > 0 {
            let more = format!("{} in JSON and CSV", count_of(hidden as u64, "more row"));
            report.sections.push(TextSection::Remark(more));
        }
    }
    report
}

fn head(input: &ReportTables<'_>, ids: &[ObjectId], sum: &ContendedObject) -> Vec<TextSection> {
    let object = ids.first().map(|id| input.objects.get(*id));
    let (name, kind) = object.map_or(("", ""), |object| (&object.name, object.kind.name()));
    let number = match ids.len() {
        1 => kind.to_owned(),
        several => format!("{several} of kind {kind}"),
    };
    let ContendedObject { lengths, .. } = sum;
    let told = held_in_words(input, ids).map(TextSection::Paragraph);
    if lengths.count() == 0 {
        let none = format!("`{name}` ({number}): nobody waited for it.");
        return std::iter::once(TextSection::Headline(none)).chain(told).collect();
    }
    let title = format!(
        "`{name}` ({number}): {} took {} in all, {} on average, at most {}",
        count_of(lengths.count(), "wait"),
        time_text(lengths.sum()),
        time_text(lengths.mean().round() as u64),
        time_text(lengths.largest()),
    );
    let remark = format!("{} What holders did is seen only while others waited.", seen(input));
    std::iter::once(TextSection::Headline(title)).chain(told).chain([TextSection::Remark(remark)]).collect()
}

/// How the objects were held, all together.
fn held(input: &ReportTables<'_>, ids: &[ObjectId]) -> LockHoldSums {
    let mut sum = LockHoldSums::default();
    let holds = input.details.holds.as_ref();
    for held in ids.iter().filter_map(|id| holds?.objects.get(id.index())) {
        sum.add(held);
    }
    sum
}

/// `Taken 120 times, 117 of them (98 %) after a wait; held for 93 % of the run, 4.1 ms on average, at most 9.0 ms.`
fn held_in_words(input: &ReportTables<'_>, ids: &[ObjectId]) -> Option<String> {
    let held = held(input, ids);
    let share = |part: u64, whole: u64| percent_text(percent(part as f64, whole as f64));
    (held.acquisitions > 0).then(|| {
        format!(
            "Taken {}, {} of them ({}) after a wait; held for {} of the run, {} on average, at most {}.",
            count_of(held.acquisitions, "time"),
            grouped(held.contended),
            share(held.contended, held.acquisitions),
            share(held.held, input.analysis.elapsed),
            time_text(held.mean().round() as u64),
            time_text(held.longest),
        )
    })
}

/// Where it was acquired.
fn acquisitions(input: &ReportTables<'_>, ids: &[ObjectId]) -> Option<Titled> {
    let mut sums: BTreeMap<Option<PlaceId>, LockHoldSums> = BTreeMap::new();
    let places = &input.details.holds.as_ref()?.places;
    for ((_, place), held) in places.iter().filter(|((id, _), _)| ids.contains(id)) {
        sums.entry(*place).or_default().add(held);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(place, held)| (std::cmp::Reverse(held.held), *place));
    let whole: u64 = sums.iter().map(|(_, held)| held.held).sum();
    let row = |(place, held): (Option<PlaceId>, LockHoldSums)| {
        let name = place_name(input, place);
        let row = place_cells(input, place)
            .text("section", "acquisition")
            .text("acquired_at", &name)
            .percent("percent", percent(held.held as f64, whole as f64))
            .text("mean", time_text(held.mean().round() as u64))
            .text("longest", time_text(held.longest));
        (with_holds(row, &held, None), name)
    };
    let columns = vec![
        shown("% of holding", Show::Percent("percent")),
        shown("taken", Show::Count("acquisitions")),
        shown("% had to wait", Show::Percent("contended_acquisitions_percent")),
        shown("mean hold", Show::Words("mean")),
        shown("longest", Show::Words("longest")).optional(),
    ];
    let rows = sums.into_iter().map(row).collect();
    Some(("Where it was acquired, with all its holds:", table(columns, "place", rows)?))
}

type Titled = (&'static str, TextTable);

fn table(columns: Vec<Shown>, name_title: &str, rows: Vec<(Row, String)>) -> Option<TextTable> {
    (!rows.is_empty()).then(|| TextTable { columns, name_title: name_title.to_owned(), rows })
}

/// How many waited at a time.
fn queue(input: &ReportTables<'_>, sum: &ContendedObject) -> Option<Titled> {
    let elapsed = input.analysis.elapsed as f64;
    let row = |(length, &time): (usize, &u64)| {
        let share = percent(time as f64, elapsed);
        let row = Row::default()
            .text("section", "queue")
            .count("queue", length as u64)
            .time("seconds", time)
            .percent("percent", share);
        (row, bar(share.min(100.0), BAR))
    };
    let rows = sum.queue.iter().enumerate().filter(|(_, time)| **time > 0).map(row).collect();
    let columns = vec![
        shown("waiting", Show::Count("queue")),
        shown("% of the run", Show::Percent("percent")),
        shown("time", Show::Time("seconds")),
    ];
    Some(("Threads that waited at a time:", table(columns, "", rows)?))
}

/// The lower edge of the range that the length is in, and the upper one; nanoseconds.
fn range_of(length: u64) -> (u64, u64) {
    let mut lower = 0;
    let mut unit: u64 = 1_000;
    loop {
        for step in STEPS {
            let Some(edge) = unit.checked_mul(step) else { return (lower, u64::MAX) };
            if length < edge {
                return (lower, edge);
            }
            lower = edge;
        }
        unit = unit.saturating_mul(10);
    }
}

/// How long waits were.
fn lengths(lengths: &LengthHistogram) -> Option<Titled> {
    let mut ranges: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    for (count, sum) in lengths.buckets() {
        let range = ranges.entry(range_of(sum / count.max(1))).or_default();
        *range = (range.0 + count, range.1 + sum);
    }
    let whole = lengths.sum() as f64;
    let row = |((from, to), (count, sum)): ((u64, u64), (u64, u64))| {
        let row = Row::default()
            .text("section", "length")
            .time("shortest_seconds", from)
            .time("longest_seconds", to)
            .text("range", format!("{} – {}", short(from), short(to)))
            .count("blocks", count)
            .time("seconds", sum)
            .percent("percent", percent(sum as f64, whole));
        (row, bar(percent(count as f64, lengths.count() as f64), BAR))
    };
    let rows = ranges.into_iter().map(row).collect();
    let columns = vec![
        shown("length", Show::Words("range")),
        shown("waits", Show::Count("blocks")),
        shown("% of time", Show::Percent("percent")),
        shown("time", Show::Time("seconds")),
    ];
    Some(("How long waits were, within an eighth (bars: number of waits):", table(columns, "", rows)?))
}

/// An edge of a range: a whole number of its unit.
fn short(nanoseconds: u64) -> String {
    match nanoseconds {
        0 => "0".to_owned(),
        n if n < 1_000_000 => format!("{} µs", n / 1_000),
        n if n < 1_000_000_000 => format!("{} ms", n / 1_000_000),
        n => format!("{} s", n / 1_000_000_000),
    }
}

/// A place as people read it.
fn place_name(input: &ReportTables<'_>, place: Option<PlaceId>) -> String {
    let Some(id) = place else { return "not known".to_owned() };
    let place = input.paths.all_places()[id.0 as usize];
    identity(input, Node::Line(place.procedure, place.line)).1
}

/// The cells that say which place it is; none where it is not known.
fn place_cells(input: &ReportTables<'_>, place: Option<PlaceId>) -> Row {
    let place = place.map(|id| input.paths.all_places()[id.0 as usize]);
    place.map_or(Row::default(), |place| identity(input, Node::Line(place.procedure, place.line)).0)
}

/// What held it.
fn holders(input: &ReportTables<'_>, ids: &[ObjectId], contention: &Contention) -> Option<Titled> {
    let is_lock = ids.first().is_some_and(|id| is_held(input.objects.get(*id).kind));
    let mut sums: BTreeMap<Option<PlaceId>, Handover> = BTreeMap::new();
    for ((_, place), handover) in contention.handovers.iter().filter(|((id, _), _)| ids.contains(id)) {
        sums.entry(*place).or_default().add(handover);
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, sum)| is_lock && sum.held > 0).collect();
    sums.sort_by_key(|(place, sum)| (std::cmp::Reverse(sum.held), *place));
    let whole: u64 = sums.iter().map(|(_, sum)| sum.held).sum();
    let row = |(place, sum): (Option<PlaceId>, Handover)| {
        let name = place_name(input, place);
        let row = place_cells(input, place)
            .text("section", "holder")
            .text("holder", &name)
            .count("handovers", sum.count)
            .time("held_seconds", sum.held)
            .percent("percent", percent(sum.held as f64, whole as f64))
            .time("holder_cpu_seconds", sum.cpu)
            .fraction("holder_npt_seconds", sum.npt);
        (row, name)
    };
    let columns = vec![
        shown("% of holding", Show::Percent("percent")),
        shown("while wanted", Show::Time("held_seconds")),
        shown("CPU", Show::Time("holder_cpu_seconds")),
        shown("NPT", Show::Time("holder_npt_seconds")),
        shown("hand-overs", Show::Count("handovers")).optional(),
    ];
    let rows = sums.into_iter().map(row).collect();
    Some((
        "Where it was handed over, with what was done since others wanted it:",
        table(columns, "place", rows)?,
    ))
}

/// Who waited and who ended the waits, for people and as cells, with what was between them.
struct WaiterRelation {
    waiting: (String, Row),
    ended_by: (String, Row),
    pair: WaiterPair,
}

/// Who waited for whom, the longest first.
fn pairs(section: &'static str, mut pairs: Vec<WaiterRelation>) -> Vec<(Row, String)> {
    let names = |relation: &WaiterRelation| (relation.waiting.0.clone(), relation.ended_by.0.clone());
    pairs.sort_by_cached_key(|relation| (std::cmp::Reverse(relation.pair.waited), names(relation)));
    let whole: u64 = pairs.iter().map(|relation| relation.pair.waited).sum();
    let row = |WaiterRelation { waiting, ended_by, pair }: WaiterRelation| {
        let mut row = waiting.1;
        for (from, to) in ENDED_BY {
            row = row.copied(to, ended_by.1.get(from));
        }
        let row = row
            .text("section", section)
            .text("waiting", &waiting.0)
            .text("ended_by", &ended_by.0)
            .count("blocks", pair.count)
            .time("seconds", pair.waited)
            .percent("percent", percent(pair.waited as f64, whole as f64));
        (row, format!("{} ← {}", waiting.0, ended_by.0))
    };
    pairs.into_iter().map(row).collect()
}

/// The cells of the one who ended a wait, and what they are called beside those of the one who waited.
const ENDED_BY: [(&str, &str); 6] = [
    ("procedure", "ended_by_procedure"),
    ("module", "ended_by_module"),
    ("file", "ended_by_file"),
    ("line", "ended_by_line"),
    ("thread", "ended_by_thread"),
    ("tid", "ended_by_tid"),
];

fn pair_columns() -> Vec<Shown> {
    vec![
        shown("% of time", Show::Percent("percent")),
        shown("time", Show::Time("seconds")),
        shown("waits", Show::Count("blocks")),
    ]
}

fn places(input: &ReportTables<'_>, contention: &Contention) -> Option<Titled> {
    let of = |place: Option<PlaceId>| (place_name(input, place), place_cells(input, place));
    let named = |(&(waiting, ender), &pair): (&(Option<PlaceId>, Option<PlaceId>), &WaiterPair)| {
        WaiterRelation { waiting: of(waiting), ended_by: of(ender), pair }
    };
    let rows = pairs("places", contention.places.iter().map(named).collect());
    Some(("Which code waited for which (waits that a thread of the program ended):", {
        table(pair_columns(), "waited ← ended the wait", rows)?
    }))
}

fn threads(input: &ReportTables<'_>, contention: &Contention) -> Option<Titled> {
    let of = |thread: ThreadId| {
        let (row, name) = identity(input, Node::Thread(thread));
        (name, row)
    };
    let nobody = || ("nobody in the program".to_owned(), Row::default());
    let named = |(&(waiting, ender), &pair): (&(ThreadId, Option<ThreadId>), &WaiterPair)| WaiterRelation {
        waiting: of(waiting),
        ended_by: ender.map_or_else(nobody, of),
        pair,
    };
    let rows = pairs("threads", contention.threads.iter().map(named).collect());
    Some(("Who waited for whom:", table(pair_columns(), "waited ← ended the wait", rows)?))
}

#[cfg(test)]
mod tests;
