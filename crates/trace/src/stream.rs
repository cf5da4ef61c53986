//! Events of all machines' logs in one time order.
//!
//! ```text
//! machine 0   ──1────4──6──►  ┐  each log's events are in its own order;
//! machine 1   ───2─3─────7─►  ┘  the earliest of the heads comes next: 1 2 3 4 6 7
//! ```

use longpole_event::{Decoder, Event, MachineId, Record, Time};
use longpole_recording::{ClockModel, Counts, Defects, Folder, LogName, LogReader, Tables};

use crate::error::Result;

/// Brings a machine's times onto the recording's axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    clock: ClockModel,
    begin: u64,
}

impl Axis {
    /// Of a machine with this clock, in a run that begins at `begin` on the first machine's clock, nanoseconds.
    #[must_use]
    pub fn new(clock: ClockModel, begin: u64) -> Self {
        Axis { clock, begin }
    }

    /// The time on the axis; times before its begin stand at the begin.
    #[must_use]
    pub fn place(&self, time: Time) -> Time {
        Time::from_nanoseconds(self.absolute(time).saturating_sub(self.begin))
    }

    /// Nanoseconds from the time to the begin of the axis; 0 after it.
    #[must_use]
    pub fn before_begin(&self, time: Time) -> u64 {
        self.begin.saturating_sub(self.absolute(time))
    }

    /// The time on the first machine's clock.
    fn absolute(&self, time: Time) -> u64 {
        let nanoseconds = time.nanoseconds();
        let since = nanoseconds.wrapping_sub(self.clock.reference_nanoseconds).cast_signed();
        let correction =
            self.clock.offset_nanoseconds.saturating_add((self.clock.drift * since as f64) as i64);
        nanoseconds.saturating_add_signed(correction)
    }
}

/// Reads the records of one log, block by block.
#[derive(Debug)]
pub struct LogStream {
    reader: LogReader,
    records: std::vec::IntoIter<Record>,
}

impl LogStream {
    /// The stream of a machine's log; `None` when it was never written.
    ///
    /// # Errors
    /// When the file cannot be read, or is no log.
    pub fn open(folder: &Folder, machine: MachineId, log: LogName) -> Result<Option<Self>> {
        let reader = folder.open_log(machine, log)?;
        Ok(reader.map(|reader| LogStream { reader, records: Vec::new().into_iter() }))
    }

    /// Decodes the next whole block and tells the definitions before it; `None` at the end.
    fn refill(&mut self, keep: fn(&Record) -> bool) -> Result<Option<Counts>> {
        let Some(chunk) = self.reader.next_chunk()? else { return Ok(None) };
        let before = chunk.before;
        let mut records = Vec::new();
        let mut intact = true;
        for record in Decoder::new(chunk.bytes) {
            match record {
                Ok(record) if keep(&record) => records.push(record),
                Ok(_) => {}
                Err(_) => intact = false,
            }
        }
        if !intact {
            self.reader.count_undecodable();
        }
        self.records = records.into_iter();
        Ok(Some(before))
    }

    /// Reads all definitions into `tables` and passes every event to `each`. Blocks that are lost leave
    /// placeholders, so that ids stay right.
    ///
    /// # Errors
    /// When the system cannot read the file.
    pub fn read_all(&mut self, tables: &mut Tables, each: &mut dyn FnMut(&Event)) -> Result<()> {
        while let Some(before) = self.refill(|_| true)? {
            tables.pad_to(before);
            for record in self.records.by_ref() {
                match record {
                    Record::Event(event) => each(&event),
                    definition => tables.define(definition),
                }
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Result<Option<Event>> {
        loop {
            for record in self.records.by_ref() {
                if let Record::Event(event) = record {
                    return Ok(Some(event));
                }
            }
            if self.refill(|record| matches!(record, Record::Event(_)))?.is_none() {
                return Ok(None);
            }
        }
    }

    /// What was found wrong so far.
    #[must_use]
    pub fn defects(&self) -> Defects {
        self.reader.defects()
    }
}

struct Head {
    machine: MachineId,
    stream: LogStream,
    axis: Axis,
    next: Option<Event>,
    last: Time,
}

/// The events of all machines in the order of the axis.
pub(crate) struct Merge {
    heads: Vec<Head>,
    /// Events that came earlier than their predecessor in the same log.
    pub(crate) disordered: u64,
}

impl Merge {
    pub(crate) fn new(streams: Vec<(MachineId, LogStream, Axis)>) -> Result<Self> {
        let mut heads = Vec::new();
        for (machine, mut stream, axis) in streams {
            let next = stream.next_event()?;
            heads.push(Head { machine, stream, axis, next, last: Time::ZERO });
        }
        let mut merge = Merge { heads, disordered: 0 };
        for index in 0..merge.heads.len() {
            merge.place_head(index);
        }
        Ok(merge)
    }

    /// Puts the head's event onto the axis, not before its predecessor.
    fn place_head(&mut self, index: usize) {
        let head = &mut self.heads[index];
        if let Some(event) = &mut head.next {
            let time = head.axis.place(event.time);
            if time < head.last {
                self.disordered += 1;
            }
            event.time = time.max(head.last);
            head.last = event.time;
        }
    }

    /// The next event, with its time on the axis.
    pub(crate) fn next(&mut self) -> Result<Option<(MachineId, Event)>> {
        let earliest = (0..self.heads.len())
            .filter_map(|index| Some((self.heads[index].next.as_ref()?.time, index)))
            .min();
        let Some((_, index)) = earliest else { return Ok(None) };
        let head = &mut self.heads[index];
        let machine = head.machine;
        let event = head.next.take();
        head.next = head.stream.next_event()?;
        self.place_head(index);
        Ok(event.map(|event| (machine, event)))
    }
}
