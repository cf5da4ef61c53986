//! The events of a location, in the order of its file, by the trace's clock.

use crate::error::{TraceError, TraceResult};
use crate::event::TraceEvent;
use crate::files::{TraceFile, TraceFiles};
use crate::local::LocalDefinitions;
use crate::records::RecordReader;

/// The kind of records that only say more of the event behind them.
const ATTRIBUTES: u8 = 6;

/// What could not be read of a location's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocationDamage {
    /// Records whose content cannot be what their kind says.
    pub records: u64,
    /// Chunks of which the rest, or all, could not be read.
    pub chunks: u64,
    /// The file ends without its mark: it was cut, or its writer did not finish.
    pub is_cut: bool,
    /// Times before the one before; they were taken for that.
    pub reversed: u64,
}

/// Reads the events of a location.
#[derive(Debug)]
pub struct LocationEvents {
    reader: RecordReader,
    file: TraceFile,
    local: LocalDefinitions,
    damage: LocationDamage,
    /// What was read last, as its file has it, and by the trace's clock.
    time: (u64, u64),
}

impl LocationEvents {
    /// At the begin of a location's events; `None` where it has no file. `memory` bytes of it are in memory.
    ///
    /// # Errors
    /// [`TraceError::Read`].
    pub fn open(
        files: &mut impl TraceFiles,
        (location, local): (u64, LocalDefinitions),
        (chunk, memory): (u64, usize),
    ) -> TraceResult<Option<LocationEvents>> {
        let file = TraceFile::Events(location);
        let reader = RecordReader::open(files, file, (chunk, memory))
            .map_err(|error| TraceError::Read { file, error })?;
        let damage = LocationDamage::default();
        Ok(reader.map(|reader| LocationEvents { reader, file, local, damage, time: (0, 0) }))
    }

    /// The next event and its time, in ticks of the trace's clock; `None` at the end.
    ///
    /// # Errors
    /// [`TraceError::Read`].
    pub fn next(&mut self, files: &mut impl TraceFiles) -> TraceResult<Option<(u64, TraceEvent)>> {
        loop {
            let file = self.file;
            let next = self.reader.next(files).map_err(|error| TraceError::Read { file, error })?;
            let Some(record) = next else { return Ok(None) };
            if record.kind == ATTRIBUTES {
                continue;
            }
            let mut content = self.reader.content(record);
            let Some(mut event) = TraceEvent::decode(record.kind, &mut content, &self.local.numbers) else {
                self.damage.records += 1;
                continue;
            };
            let time = self.corrected();
            if let TraceEvent::Flush(end) = event {
                // As long as it took by the location's own clock.
                event = TraceEvent::Flush(time.saturating_add(end.saturating_sub(self.reader.time)));
            }
            return Ok(Some((time, event)));
        }
    }

    fn corrected(&mut self) -> u64 {
        let (last, corrected) = self.time;
        if self.reader.time != last {
            let time = self.local.clock.correct(self.reader.time);
            self.damage.reversed += u64::from(time < corrected);
            self.time = (self.reader.time, time.max(corrected));
        } else if corrected == 0 {
            self.time.1 = self.local.clock.correct(last);
        }
        self.time.1
    }

    /// What could not be read so far.
    #[must_use]
    pub fn damage(&self) -> LocationDamage {
        let file = self.reader.damage;
        LocationDamage { chunks: file.chunks, is_cut: file.is_cut, ..self.damage }
    }
}
