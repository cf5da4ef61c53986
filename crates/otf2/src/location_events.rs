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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::PackedTrace;

    /// A file of events: a chunk of so many bytes for each list of records, of one byte order.
    fn file(is_big: bool, chunk: usize, chunks: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (place, records) in chunks.iter().enumerate() {
            let begin = bytes.len();
            bytes.extend([3, if is_big { 0x23 } else { 0x42 }]);
            bytes.extend([0; 16]);
            bytes.extend(*records);
            if place + 1 < chunks.len() {
                bytes.resize(begin + chunk, 0);
            }
        }
        bytes
    }

    fn time(is_big: bool, ticks: u64) -> Vec<u8> {
        let bytes = if is_big { ticks.to_be_bytes() } else { ticks.to_le_bytes() };
        [&[5][..], &bytes].concat()
    }

    fn read(content: Vec<u8>, chunk: u64) -> (Vec<(u64, TraceEvent)>, LocationDamage) {
        let mut files = PackedTrace::default();
        files.put(TraceFile::Events(4), content);
        let location = (4, LocalDefinitions::default());
        let mut events =
            LocationEvents::open(&mut files, location, (chunk, 16)).unwrap().expect("there is one");
        let found = std::iter::from_fn(|| events.next(&mut files).unwrap()).collect();
        (found, events.damage())
    }

    #[test]
    fn both_byte_orders_say_the_same() {
        for is_big in [false, true] {
            let number = |number: u16| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
            let [high, low] = number(0x1234);
            let records = [
                time(is_big, 1_000_000),
                vec![12, 2, high, low],
                time(is_big, 1_000_300),
                // A kind that nobody knows, by its length, and a send: receiver, communicator, tag, length.
                vec![200, 3, 9, 9, 9, 14, 6, 1, 1, 0, 255, 1, 8],
                vec![13, 2, high, low, 2],
            ]
            .concat();
            let (found, damage) = read(file(is_big, 256, &[&records]), 256);
            let message = crate::event::TraceMessage { peer: 1, communicator: 0, tag: u32::MAX, bytes: 8 };
            let expected = [
                (1_000_000, TraceEvent::Enter(0x1234)),
                (1_000_300, TraceEvent::Other(200)),
                (1_000_300, TraceEvent::Send(message)),
                (1_000_300, TraceEvent::Leave(0x1234)),
            ];
            assert_eq!(found, expected);
            assert_eq!(damage, LocationDamage::default());
        }
    }

    #[test]
    fn damage_costs_the_rest_of_its_chunk_and_a_cut_the_rest_of_the_file() {
        let enter = |region: u8| [time(false, region.into()), vec![12, 1, region]].concat();
        // The second chunk has a record that is longer than the chunk; the third is whole; the fourth has no end.
        let second = [enter(2), vec![14, 255, 0, 0, 0, 0, 1, 0, 0, 0], enter(3)].concat();
        let content = file(false, 128, &[&enter(1), &second, &enter(4), &enter(5)]);
        let (found, damage) = read(content, 128);
        let regions: Vec<TraceEvent> = found.into_iter().map(|(_, event)| event).collect();
        assert_eq!(regions, [1, 2, 4, 5].map(TraceEvent::Enter));
        assert_eq!(damage, LocationDamage { chunks: 1, is_cut: true, ..LocationDamage::default() });
    }

    #[test]
    fn times_that_go_back_are_those_before_and_counted() {
        let records = [time(false, 50), vec![12, 0], time(false, 40), vec![13, 0, 2]].concat();
        let (found, damage) = read(file(false, 256, &[&records]), 256);
        assert_eq!(found, [(50, TraceEvent::Enter(0)), (50, TraceEvent::Leave(0))]);
        assert_eq!(damage.reversed, 1);
    }
}
