//! A log for tests: what was put is read back from the file.

use longpole_event::{Decoder, EventKind, Record, SeriesNode, Time};
use longpole_recording::{DefinitionTables, LogBuilder, LogReader, LogWriter, OutsideAccount};

use super::{Sink, SourceLedger};

/// A value, read back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) metric: String,
    pub(crate) label: String,
    pub(crate) node: SeriesNode,
    pub(crate) time: u64,
    pub(crate) value: f64,
}

impl Value {
    /// Whether it is one of this metric, at this part of its node.
    pub(crate) fn is(&self, metric: &str, label: &str) -> bool {
        self.metric == metric && self.label == label
    }
}

/// A log in a folder of its own.
pub(crate) struct Log {
    folder: tempfile::TempDir,
    builder: std::cell::RefCell<LogBuilder>,
    ledger: SourceLedger,
    broken: Option<longpole_recording::Error>,
}

impl Log {
    pub(crate) fn new() -> Log {
        let folder = tempfile::tempdir().unwrap();
        let writer = LogWriter::create(&folder.path().join("series.log")).unwrap();
        let builder = LogBuilder::new(writer).into();
        Log { folder, builder, ledger: SourceLedger::default(), broken: None }
    }

    /// Takes the values of a collector of this name.
    pub(crate) fn sink<'a>(&'a mut self, collector: &'a str) -> Sink<'a> {
        Sink { log: self.builder.get_mut(), collector, ledger: &mut self.ledger, broken: &mut self.broken }
    }

    /// Everything so far, in the order in which it was put.
    pub(crate) fn values(&self) -> Vec<Value> {
        self.builder.borrow_mut().flush().unwrap();
        let mut reader = LogReader::open(&self.folder.path().join("series.log")).unwrap();
        let (mut tables, mut values) = (DefinitionTables::default(), Vec::new());
        while let Some(chunk) = reader.next_chunk().unwrap() {
            for record in Decoder::new(chunk.bytes) {
                let event = match record.unwrap() {
                    Record::Event(event) => event,
                    record => {
                        tables.define(record);
                        continue;
                    }
                };
                let EventKind::Value { series, value } = event.kind else { panic!("{event:?}") };
                let series = &tables.series[series.0 as usize];
                let (metric, label) =
                    (tables.text(series.name).to_owned(), tables.text(series.label).to_owned());
                values.push(Value {
                    metric,
                    label,
                    node: series.node,
                    time: event.time.nanoseconds(),
                    value,
                });
            }
        }
        values
    }

    /// The values of a series as times and numbers.
    pub(crate) fn course(&self, metric: &str, node: SeriesNode, label: &str) -> Vec<(u64, f64)> {
        let is_it = |value: &Value| value.is(metric, label) && value.node == node;
        self.values().into_iter().filter(is_it).map(|value| (value.time, value.value)).collect()
    }

    /// How the collector fared.
    pub(crate) fn account(self) -> OutsideAccount {
        self.ledger.into_account("test".to_owned())
    }
}

/// A look at a time in nanoseconds, after one at another.
pub(crate) fn look(before: Option<u64>, now: u64) -> crate::track::PollTime {
    let before = before.map(Time::from_nanoseconds);
    crate::track::PollTime { now: Time::from_nanoseconds(now), before, is_last: false }
}
