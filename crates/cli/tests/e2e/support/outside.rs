//! The outside series of a recording, as they were collected.

use std::path::Path;

use longpole_event::{EventKind, MachineId};
use longpole_recording::{DefinitionTables, LogName, OutsideAccount, RecordingFolder};
use longpole_trace::LogStream;

/// One series.
#[derive(Debug)]
pub struct OutsideSeries {
    pub metric: String,
    pub unit: String,
    pub samples: &'static str,
    pub label: String,
    pub collector: String,
    /// Seconds of `CLOCK_MONOTONIC`, and values.
    pub values: Vec<(f64, f64)>,
}

/// All series of the first machine, and how its collectors fared.
#[derive(Debug)]
pub struct Outside {
    pub series: Vec<OutsideSeries>,
    pub accounts: Vec<OutsideAccount>,
    /// Begin and end of the run, seconds of `CLOCK_MONOTONIC`.
    pub run: (f64, f64),
}

impl Outside {
    /// Of the recording in this folder.
    pub fn of(path: &Path) -> Outside {
        let (folder, manifest) = RecordingFolder::open(path).unwrap();
        let mut log = LogStream::open(&folder, MachineId(0), LogName::Series).unwrap().unwrap();
        let (mut tables, mut values) = (DefinitionTables::default(), Vec::new());
        log.read_all(&mut tables, &mut |event| {
            let EventKind::Value { series, value } = event.kind else { panic!("{event:?}") };
            values.push((series, event.time.nanoseconds() as f64 / 1e9, value));
        })
        .unwrap();
        assert!(log.defects().is_none());
        let series = tables.series.iter().map(|series| OutsideSeries {
            metric: tables.text(series.name).to_owned(),
            unit: tables.text(series.unit).to_owned(),
            samples: series.samples.name(),
            label: tables.text(series.label).to_owned(),
            collector: tables.text(series.collector).to_owned(),
            values: Vec::new(),
        });
        let mut series: Vec<OutsideSeries> = series.collect();
        for (id, time, value) in values {
            series[id.0 as usize].values.push((time, value));
        }
        let outcome = manifest.outcome.unwrap();
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let run = (seconds(outcome.begin_nanoseconds), seconds(outcome.end_nanoseconds));
        Outside { series, accounts: manifest.machines[0].outside.clone(), run }
    }

    /// The series of a metric.
    pub fn named<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a OutsideSeries> {
        self.series.iter().filter(move |series| series.metric == metric)
    }

    /// The account of the collector whose name begins so.
    pub fn account(&self, name: &str) -> &OutsideAccount {
        let found = self.accounts.iter().find(|account| account.collector.starts_with(name));
        found.unwrap_or_else(|| panic!("no collector {name}: {:?}", self.accounts))
    }
}
