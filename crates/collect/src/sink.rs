//! Where collectors put what they see: the machine's `series.log`.

use std::collections::BTreeMap;

use longpole_event::{Event, EventKind, Samples, Series, SeriesId, SeriesNode, ThreadId, Time};
use longpole_recording::{LogBuilder, OutsideAccount, Trouble};
use rustc_hash::FxHashMap;

/// Kinds of trouble that are told apart; the rest is counted together.
const MOST_TROUBLES: usize = 50;
/// Series that one collector can have.
const MOST_SERIES: usize = 20_000;
/// Bytes of a name, unit or label that are kept.
const MOST_NAME_BYTES: usize = 200;

/// What a series is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    /// The metric's name.
    pub metric: &'a str,
    /// Its unit, empty where it has none.
    pub unit: &'a str,
    /// How its values are to be read.
    pub samples: Samples,
    /// What it is about.
    pub node: SeriesNode,
    /// The part of the node, empty for all of it.
    pub label: &'a str,
}

/// What is remembered of one collector.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    series: FxHashMap<(String, SeriesNode, String), (SeriesId, Time)>,
    values: u64,
    troubles: BTreeMap<String, u64>,
}

impl Ledger {
    /// Counts something that went wrong, in words that do not change from time to time.
    pub(crate) fn trouble(&mut self, what: &str) {
        let is_known = self.troubles.contains_key(what) || self.troubles.len() < MOST_TROUBLES;
        let what = if is_known { what } else { "other troubles" };
        *self.troubles.entry(what.to_owned()).or_default() += 1;
    }

    /// The account of the collector of this name.
    pub(crate) fn into_account(self, collector: String) -> OutsideAccount {
        let trouble = |(what, count)| Trouble { what, count };
        OutsideAccount {
            collector,
            series: u32::try_from(self.series.len()).unwrap_or(u32::MAX),
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
    pub(crate) ledger: &'a mut Ledger,
    /// The log could not be written, and why: nothing is put into it any more.
    pub(crate) broken: &'a mut Option<longpole_recording::Error>,
}

impl Sink<'_> {
    /// Puts a value at its time. Refused, and counted: what is no number, a time before the value before it.
    pub fn put(&mut self, key: &Key<'_>, time: Time, value: f64) {
        if self.broken.is_some() {
            return;
        }
        if !value.is_finite() {
            return self.ledger.trouble(&format!("`{}` was not a number", shortened(key.metric)));
        }
        let Some(id) = self.series(key, time) else { return };
        self.ledger.values += 1;
        let kind = EventKind::Value { series: id, value };
        let put = self.log.event(Event { time, cpu: 0, thread: ThreadId(0), kind });
        if let Err(error) = put {
            *self.broken = Some(error);
        }
    }

    /// Counts something that went wrong, in words that do not change from time to time.
    pub fn trouble(&mut self, what: &str) {
        self.ledger.trouble(what);
    }

    /// The series of this key, if `time` is not before its last value.
    fn series(&mut self, key: &Key<'_>, time: Time) -> Option<SeriesId> {
        let (metric, label) = (shortened(key.metric), shortened(key.label));
        let kept = (metric.to_owned(), key.node, label.to_owned());
        if let Some((id, last)) = self.ledger.series.get_mut(&kept) {
            if time < *last {
                self.ledger.trouble(&format!("`{metric}` went back in time"));
                return None;
            }
            *last = time;
            return Some(*id);
        }
        if self.ledger.series.len() >= MOST_SERIES {
            self.ledger.trouble(&format!("more than {MOST_SERIES} series: the rest was left out"));
            return None;
        }
        match define(self.log, key, self.collector) {
            Ok(id) => {
                self.ledger.series.insert(kept, (id, time));
                Some(id)
            }
            Err(error) => {
                *self.broken = Some(error);
                None
            }
        }
    }
}

fn define(log: &mut LogBuilder, key: &Key<'_>, collector: &str) -> longpole_recording::Result<SeriesId> {
    let name = log.text(shortened(key.metric))?;
    let (unit, label) = (log.text(shortened(key.unit))?, log.text(shortened(key.label))?);
    let collector = log.text(collector)?;
    log.series(Series { name, unit, samples: key.samples, node: key.node, label, collector })
}

/// The begin of a text, as much as is kept.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_NAME_BYTES)]
}
