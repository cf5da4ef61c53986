//! Collects for a while, and reads back what was collected.

use std::path::Path;
use std::time::{Duration, Instant};

use longpole_collect::{CollectionOptions, SeriesCollection, SeriesSourceChoice};
use longpole_event::{Decoder, EventKind, Record, SeriesNode, Time};
use longpole_recording::{DefinitionTables, LogBuilder, LogReader, LogWriter, OutsideAccount};

/// A series, read back.
#[derive(Debug)]
pub struct Series {
    pub metric: String,
    pub unit: String,
    pub samples: &'static str,
    pub node: SeriesNode,
    pub label: String,
    pub values: Vec<(Time, f64)>,
}

/// What one collector gave.
#[derive(Debug)]
pub struct Collected {
    pub series: Vec<Series>,
    pub account: OutsideAccount,
    /// How long its end took.
    pub stopping: Duration,
}

impl Collected {
    /// The values of a series.
    #[allow(dead_code, reason = "not every test looks at values")]
    pub fn values(&self, metric: &str, label: &str) -> Vec<f64> {
        let is_it = |series: &&Series| series.metric == metric && series.label == label;
        let found = self.series.iter().find(is_it);
        found.map_or(Vec::new(), |series| series.values.iter().map(|&(_, value)| value).collect())
    }

    /// How often a trouble with these words was counted.
    pub fn troubles(&self, words: &str) -> u64 {
        let troubles = self.account.troubles.iter();
        troubles.filter(|trouble| trouble.what.contains(words)).map(|trouble| trouble.count).sum()
    }
}

/// Collects what is asked for until `during` has ended.
#[allow(dead_code, reason = "not every test is without a program")]
pub fn collect(choice: SeriesSourceChoice, during: impl FnOnce()) -> Collected {
    collect_of(choice, None, during)
}

/// Collects what is asked for, with the process of this pid as the program, until `during` has ended.
pub fn collect_of(choice: SeriesSourceChoice, pid: Option<u32>, during: impl FnOnce()) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.log");
    let options = CollectionOptions { choices: vec![choice], interval: Duration::from_millis(10) };
    let collection = SeriesCollection::start(&options, LogBuilder::new(LogWriter::create(&path).unwrap()));
    if let Some(pid) = pid {
        collection.program(pid);
    }
    during();
    let before = Instant::now();
    let mut accounts = collection.stop();
    let stopping = before.elapsed();
    let account = accounts.remove(0);
    Collected { series: read_back(&path), account, stopping }
}

fn read_back(path: &Path) -> Vec<Series> {
    let (mut tables, mut events) = (DefinitionTables::default(), Vec::new());
    let mut reader = LogReader::open(path).unwrap();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        for record in Decoder::new(chunk.bytes) {
            match record.unwrap() {
                Record::Event(event) => events.push(event),
                record => tables.define(record),
            }
        }
    }
    let read = |series: &longpole_event::SeriesDefinition| Series {
        metric: tables.text(series.name).to_owned(),
        unit: tables.text(series.unit).to_owned(),
        samples: series.samples.name(),
        node: series.node,
        label: tables.text(series.label).to_owned(),
        values: Vec::new(),
    };
    let mut all: Vec<Series> = tables.series.iter().map(read).collect();
    for event in events {
        let EventKind::Value { series, value } = event.kind else { panic!("{event:?}") };
        all[series.0 as usize].values.push((event.time, value));
    }
    all
}
