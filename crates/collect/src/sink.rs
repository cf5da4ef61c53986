//! Where collectors put what they see: the machine's `series.log`.

use std::collections::BTreeMap;

use longpole_event::{Event, EventKind, SeriesDefinition, SeriesId, SeriesKind, SeriesNode, ThreadId, Time};
use longpole_recording::{LogBuilder, OutsideAccount, Trouble};
use rustc_hash::FxHashMap;

use crate::lines::ParsedItem;

/// Kinds of trouble that are told apart; the rest is counted together.
const MOST_TROUBLES: usize = 50;
/// Series that one collector can have.
const MOST_SERIES: usize = 20_000;
/// Bytes of a name, unit or label that are kept.
const MOST_NAME_BYTES: usize = 200;

/// What a series is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey<'a> {
    /// The metric's name.
    pub metric: &'a str,
    /// Its unit, empty where it has none.
    pub unit: &'a str,
    /// How its values are to be read.
    pub samples: SeriesKind,
    /// What it is about.
    pub node: SeriesNode,
    /// The part of the node, empty for all of it.
    pub label: &'a str,
}

/// A series that has been defined, for those who keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

/// A series that has been defined.
#[derive(Debug)]
struct DefinedSeries {
    id: SeriesId,
    /// The time of its last value.
    last: Option<Time>,
    metric: String,
}

/// What is remembered of one collector.
#[derive(Debug, Default)]
pub(crate) struct SourceLedger {
    handles: FxHashMap<(String, SeriesNode, String), Handle>,
    defined: Vec<DefinedSeries>,
    values: u64,
    troubles: BTreeMap<String, u64>,
}

impl SourceLedger {
    /// Counts something that went wrong, in words that do not change from time to time.
    pub(crate) fn trouble(&mut self, what: &str) {
        self.troubles(what, 1);
    }

    fn troubles(&mut self, what: &str, count: u64) {
        let is_known = self.troubles.contains_key(what) || self.troubles.len() < MOST_TROUBLES;
        let what = if is_known { what } else { "other troubles" };
        let sum = self.troubles.entry(what.to_owned()).or_default();
        *sum = sum.saturating_add(count);
    }

    /// The account of the collector of this name.
    pub(crate) fn into_account(self, collector: String) -> OutsideAccount {
        let trouble = |(what, count)| Trouble { what, count };
        OutsideAccount {
            collector,
            series: u32::try_from(self.defined.len()).unwrap_or(u32::MAX),
            values: self.values,
            troubles: self.troubles.into_iter().map(trouble).collect(),
            ..OutsideAccount::default()
        }
    }
}

/// Takes the values of one collector.
#[derive(Debug)]
pub struct Sink<'a> {
    pub(crate) log: &'a mut LogBuilder,
    pub(crate) collector: &'a str,
    pub(crate) ledger: &'a mut SourceLedger,
    /// The log could not be written, and why: nothing is put into it any more.
    pub(crate) broken: &'a mut Option<longpole_recording::Error>,
}

impl Sink<'_> {
    /// Puts a value at its time. Refused, and counted: what is no number, a time before the value before it.
    pub fn put(&mut self, key: &SeriesKey<'_>, time: Time, value: f64) {
        if let Some(handle) = self.open(key) {
            self.put_to(handle, time, value);
        }
    }

    /// Puts a value of a series that is known, as [`Sink::put`] does, without looking for it.
    pub fn put_to(&mut self, handle: Handle, time: Time, value: f64) {
        if self.broken.is_some() {
            return;
        }
        let defined = &mut self.ledger.defined[handle.0];
        let trouble = match defined.last {
            _ if !value.is_finite() => "was not a number",
            Some(last) if time < last => "went back in time",
            _ => {
                defined.last = Some(time);
                let kind = EventKind::Value { series: defined.id, value };
                self.ledger.values += 1;
                let put = self.log.event(Event { time, cpu: 0, thread: ThreadId(0), kind });
                return *self.broken = put.err();
            }
        };
        let trouble = format!("`{}` {trouble}", defined.metric);
        self.ledger.trouble(&trouble);
    }

    /// Takes what a reader of text found.
    pub(crate) fn take(&mut self, taken: ParsedItem<'_>) {
        match taken {
            ParsedItem::Value { key, time, value } => self.put(&key, time, value),
            ParsedItem::Trouble(what) => self.trouble(what),
        }
    }

    /// Counts something that went wrong, in words that do not change from time to time.
    pub fn trouble(&mut self, what: &str) {
        self.ledger.trouble(what);
    }

    /// Counts what went wrong so many times; nothing where it did not.
    pub fn troubles(&mut self, what: &str, count: u64) {
        if count > 0 {
            self.ledger.troubles(what, count);
        }
    }

    /// The series of this key, defined where it is new; `None` (and counted) where there are too many, or the log is broken.
    pub fn open(&mut self, key: &SeriesKey<'_>) -> Option<Handle> {
        if self.broken.is_some() {
            return None;
        }
        let (metric, label) = (shortened(key.metric), shortened(key.label));
        let kept = (metric.to_owned(), key.node, label.to_owned());
        if let Some(handle) = self.ledger.handles.get(&kept) {
            return Some(*handle);
        }
        if self.ledger.defined.len() >= MOST_SERIES {
            self.ledger.trouble(&format!("more than {MOST_SERIES} series: the rest was left out"));
            return None;
        }
        match define(self.log, key, self.collector) {
            Ok(id) => {
                let handle = Handle(self.ledger.defined.len());
                self.ledger.defined.push(DefinedSeries { id, last: None, metric: metric.to_owned() });
                self.ledger.handles.insert(kept, handle);
                Some(handle)
            }
            Err(error) => {
                *self.broken = Some(error);
                None
            }
        }
    }
}

fn define(
    log: &mut LogBuilder,
    key: &SeriesKey<'_>,
    collector: &str,
) -> longpole_recording::Result<SeriesId> {
    let name = log.text(shortened(key.metric))?;
    let (unit, label) = (log.text(shortened(key.unit))?, log.text(shortened(key.label))?);
    let collector = log.text(collector)?;
    log.series(SeriesDefinition { name, unit, samples: key.samples, node: key.node, label, collector })
}

/// The begin of a text, as much as is kept.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_NAME_BYTES)]
}

#[cfg(test)]
pub(crate) mod fixture;
