//! From the logs to placed series.
//!
//! ```text
//!   log      s1 v, s2 v, s1 v, …     ──►  values by series, in time order, those before the run as one at zero
//!   by pid   |A A A|~|B B|           ──►  a series of A, a series of B; ~ is counted
//! ```

use longpole_event::{Event, EventKind, MachineId, SeriesId, SeriesKind, SeriesNode, TextId, Time};
use longpole_recording::{Defects, DefinitionTables, LogName, Manifest, RecordingFolder};
use longpole_trace::{Axis, LogStream, Program};
use rustc_hash::FxHashMap;

use super::anomalies::SeriesAnomalies;
use super::lifetimes::OwnerLifetimes;
use super::{Outside, OutsideNode, Series};

/// What stands for a text that was lost with its block.
const LOST: &str = "[lost]";

/// All series of all machines.
pub(super) fn read(
    folder: &RecordingFolder,
    manifest: &Manifest,
    program: &Program,
) -> longpole_trace::Result<Outside> {
    let mut outside = Outside::default();
    let mut oddities = SeriesAnomalies::default();
    let logged = longpole_trace::machines_of_logs(manifest);
    for (index, machine) in manifest.machines.iter().enumerate() {
        let id = MachineId::from_index(index);
        let mut stream = match LogStream::open(folder, id, LogName::Series) {
            Ok(Some(stream)) => stream,
            Ok(None) => continue,
            Err(longpole_trace::Error::Recording(
                error @ longpole_recording::Error::NotARecording { .. },
            )) => {
                outside
                    .notes
                    .push(format!("the outside series of {} are lost: failed to {error}", machine.name));
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut intake = Intake::new(Axis::new(machine, program.begin_nanoseconds));
        let mut tables = DefinitionTables::default();
        stream.read_all(&mut tables, &mut |event| intake.take(event))?;
        outside.notes.extend(damage(&machine.name, stream.defects()));
        let owner = logged[index];
        let places = Places { tables: &tables, machine: owner, lives: OwnerLifetimes::of(program, owner) };
        for (series, raw) in intake.into_ordered() {
            places.place(series, raw, &mut outside.series, &mut oddities);
        }
    }
    let elapsed = Time::from_nanoseconds(program.elapsed_nanoseconds);
    outside.series.iter_mut().for_each(|series| end_with_owner(series, elapsed));
    outside.notes.extend(super::namesakes::part(&mut outside.series));
    outside.series.sort_by(|one, other| {
        let begin = |series: &Series| series.values.first().map(|value| value.0);
        (&one.metric, one.node, &one.label, &one.collector, begin(one)).cmp(&(
            &other.metric,
            other.node,
            &other.label,
            &other.collector,
            begin(other),
        ))
    });
    outside.notes.extend(oddities.into_notes());
    Ok(outside)
}

/// What a process, a thread or the program did, it did before it ended, though it was looked at later.
fn end_with_owner(series: &mut Series, elapsed: Time) {
    let end = match series.node {
        OutsideNode::Machine(_) => return,
        OutsideNode::Program => elapsed,
        OutsideNode::Process(_) | OutsideNode::Thread(_) => series.end.unwrap_or(elapsed),
    };
    series.values.iter_mut().for_each(|(time, _)| *time = end.min(*time));
}

/// What is wrong with a log, as a sentence.
fn damage(machine: &str, defects: Defects) -> Option<String> {
    let Defects { torn_bytes, damaged_chunks, undecodable_chunks, orphans: _ } = defects;
    let damaged = damaged_chunks + undecodable_chunks;
    (!defects.is_none()).then(|| {
        format!(
            "the outside series of {machine} have gaps: {damaged} damaged blocks, {torn_bytes} bytes cut off at the end"
        )
    })
}

/// Values of one series as they come.
#[derive(Debug, Default)]
struct RawSeries {
    /// The last one before the run, and how long before.
    before: Option<(u64, f64)>,
    values: Vec<(Time, f64)>,
    /// Refused: earlier than the one before, or no number.
    disordered: u64,
    unreadable: u64,
}

impl RawSeries {
    /// The values with what was before the run at time zero.
    fn into_values(self, samples: SeriesKind) -> Vec<(Time, f64)> {
        let RawSeries { before, mut values, .. } = self;
        let Some((ahead, last)) = before else { return values };
        let first = values.first().copied();
        // The share of what came between the two that came before the run.
        let earlier = first.map_or(1.0, |(time, _)| ahead as f64 / (ahead + time.nanoseconds()) as f64);
        let at_begin = match (samples, first) {
            (SeriesKind::Gauge, _) | (SeriesKind::Counter, None) => last,
            (SeriesKind::Counter, Some((_, value))) if value >= last => last + (value - last) * earlier,
            (SeriesKind::Counter, Some((_, value))) => value * earlier,
            (SeriesKind::Amount, _) => 0.0,
        };
        if let (SeriesKind::Amount, Some(first)) = (samples, values.first_mut()) {
            first.1 *= 1.0 - earlier;
        }
        if first.is_none_or(|(time, _)| time > Time::ZERO) {
            values.insert(0, (Time::ZERO, at_begin));
        }
        values
    }
}

/// Takes the values of one log.
#[derive(Debug)]
struct Intake {
    axis: Axis,
    raw: FxHashMap<SeriesId, RawSeries>,
}

impl Intake {
    fn new(axis: Axis) -> Self {
        Intake { axis, raw: FxHashMap::default() }
    }

    fn take(&mut self, event: &Event) {
        let EventKind::Value { series, value } = event.kind else { return };
        let raw = self.raw.entry(series).or_default();
        if !value.is_finite() {
            raw.unreadable += 1;
            return;
        }
        let (time, ahead) = (self.axis.place(event.time), self.axis.before_begin(event.time));
        match (raw.values.last(), raw.before) {
            (Some(&(last, _)), _) if ahead > 0 || time < last => raw.disordered += 1,
            (None, Some((last, _))) if ahead > last => raw.disordered += 1,
            _ if ahead > 0 => raw.before = Some((ahead, value)),
            _ => raw.values.push((time, value)),
        }
    }

    fn into_ordered(self) -> Vec<(SeriesId, RawSeries)> {
        let mut all: Vec<_> = self.raw.into_iter().collect();
        all.sort_unstable_by_key(|&(series, _)| series);
        all
    }
}

/// Where series of one machine have their places.
struct Places<'a> {
    tables: &'a DefinitionTables,
    machine: MachineId,
    lives: OwnerLifetimes,
}

impl Places<'_> {
    fn place(&self, id: SeriesId, raw: RawSeries, into: &mut Vec<Series>, oddities: &mut SeriesAnomalies) {
        let count = raw.values.len() as u64 + u64::from(raw.before.is_some());
        let Some(defined) = self.tables.series.get(id.index()) else {
            oddities.undefined += count;
            return;
        };
        let metric = self.text(defined.name);
        // A series has a collector and a unit, which are never one text: this stands for one that was lost.
        if metric.is_empty() || (defined.name == defined.unit && defined.name == defined.collector) {
            oddities.undefined += count;
            return;
        }
        oddities.count(metric, |odd| {
            odd.disordered += raw.disordered;
            odd.unreadable += raw.unreadable;
        });
        let series = Series {
            metric: metric.to_owned(),
            unit: self.text(defined.unit).to_owned(),
            samples: defined.samples,
            node: OutsideNode::Machine(self.machine),
            label: self.text(defined.label).to_owned(),
            collector: self.text(defined.collector).to_owned(),
            end: None,
            values: raw.into_values(defined.samples),
        };
        self.split(series, defined.node, into, oddities);
    }

    /// The text, empty where it is lost.
    fn text(&self, id: TextId) -> &str {
        let text = self.tables.text(id);
        if text == LOST { "" } else { text }
    }

    /// Who has the node's number at the time, and when that ends.
    fn owner(&self, node: SeriesNode, time: Time) -> Option<(OutsideNode, Option<Time>)> {
        match node {
            SeriesNode::Program => Some((OutsideNode::Program, None)),
            SeriesNode::Machine => Some((OutsideNode::Machine(self.machine), None)),
            SeriesNode::Process { pid } => {
                self.lives.process(pid, time).map(|life| (OutsideNode::Process(life.id), life.end))
            }
            SeriesNode::Thread { tid } => {
                self.lives.thread(tid, time).map(|life| (OutsideNode::Thread(life.id), life.end))
            }
        }
    }

    /// Gives each owner its part.
    fn split(
        &self,
        mut whole: Series,
        node: SeriesNode,
        into: &mut Vec<Series>,
        oddities: &mut SeriesAnomalies,
    ) {
        let mut all = std::mem::take(&mut whole.values);
        let mut begin = 0;
        while let Some(&(first, _)) = all.get(begin) {
            let owner = self.owner(node, first);
            let end = self.reach(node, &all, begin);
            let Some((node_then, node_end)) = owner else {
                oddities.count(&whole.metric, |odd| {
                    odd.strangers.insert(node);
                    odd.without_place += (end - begin) as u64;
                });
                begin = end;
                continue;
            };
            let is_all = begin == 0 && end == all.len();
            let values = if is_all { std::mem::take(&mut all) } else { all[begin..end].to_vec() };
            let part = Series { node: node_then, end: node_end, values, ..whole.clone() };
            oddities.restarted(&part);
            into.push(part);
            begin = end;
        }
    }

    /// How long the values from `begin` have the same owner: the index after them.
    fn reach(&self, node: SeriesNode, values: &[(Time, f64)], begin: usize) -> usize {
        if matches!(node, SeriesNode::Program | SeriesNode::Machine) {
            return values.len();
        }
        let owner = self.owner(node, values[begin].0);
        let is_other = |&(time, _): &(Time, f64)| self.owner(node, time) != owner;
        values[begin..].iter().position(is_other).map_or(values.len(), |length| begin + length)
    }
}
