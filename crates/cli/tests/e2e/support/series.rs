//! The outside series of a recording, as they are in its log.

use std::path::Path;

use longpole_event::{Decoder, EventKind, MachineId, Record, SeriesKind, SeriesNode};
use longpole_recording::{DefinitionTables, LogName, RecordingFolder};

/// A series of a recording.
#[derive(Clone, Debug)]
pub struct Series {
    pub metric: String,
    pub unit: String,
    pub label: String,
    pub collector: String,
    pub samples: SeriesKind,
    pub node: SeriesNode,
    /// Nanoseconds and values.
    pub values: Vec<(u64, f64)>,
}

impl Series {
    /// Its last value.
    pub fn last(&self) -> f64 {
        self.values.last().expect("a series has values").1
    }
}

/// All series of the recording's first machine.
pub fn series(recording: &Path) -> Vec<Series> {
    let (folder, _) = RecordingFolder::open(recording).unwrap();
    let mut reader = folder.open_log(MachineId(0), LogName::Series).unwrap().expect("a log of series");
    let (mut tables, mut values) = (DefinitionTables::default(), Vec::new());
    while let Some(chunk) = reader.next_chunk().unwrap() {
        for record in Decoder::new(chunk.bytes) {
            match record.unwrap() {
                Record::Event(event) => match event.kind {
                    EventKind::Value { series, value } => {
                        values.push((series, event.time.nanoseconds(), value));
                    }
                    kind => panic!("{kind:?} among series"),
                },
                definition => tables.define(definition),
            }
        }
    }
    let text = |id: longpole_event::TextId| tables.texts[id.index()].clone();
    let defined = tables.series.iter().map(|series| Series {
        metric: text(series.name),
        unit: text(series.unit),
        label: text(series.label),
        collector: text(series.collector),
        samples: series.samples,
        node: series.node,
        values: Vec::new(),
    });
    let mut all: Vec<_> = defined.collect();
    for (series, time, value) in values {
        all[series.index()].values.push((time, value));
    }
    all
}
