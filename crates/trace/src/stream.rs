//! Events of all machines' logs in one time order.
//!
//! ```text
//! machine 0   ──1────4──6──►  ┐  each log's events are in its own order;
//! machine 1   ───2─3─────7─►  ┘  the earliest of the heads comes next: 1 2 3 4 6 7
//! ```

use longpole_event::{Event, MachineId, Record, Time};
use longpole_recording::{
    ClockModel, Defects, DefinitionCounts, DefinitionLimit, DefinitionTables, LogName, LogReader,
    RecordingFolder, WindowLog,
};

use crate::error::Result;
use crate::read_ahead::{ReadAhead, RecordBlock, next_block};

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

/// What a log is read from.
#[derive(Debug)]
enum LogSource {
    /// One file.
    Whole(LogReader),
    /// One long file, by a thread of its own.
    Ahead(ReadAhead, DefinitionLimit),
    /// Segments: the last part of the run.
    Window(Box<WindowLog>),
}

/// Bytes from which on a log is read by a thread of its own.
const LONG: u64 = 1 << 20;

/// Reads the records of one log, block by block.
#[derive(Debug)]
pub struct LogStream {
    source: LogSource,
    records: std::vec::IntoIter<Record>,
}

impl LogStream {
    /// The stream of a machine's log; `None` when it was never written.
    ///
    /// # Errors
    /// When the file cannot be read, or is no log.
    pub fn open(folder: &RecordingFolder, machine: MachineId, log: LogName) -> Result<Option<Self>> {
        let source = match folder.open_log(machine, log)? {
            Some(reader) => Some(LogSource::Whole(reader)),
            None => folder.open_window(machine, log)?.map(|window| LogSource::Window(Box::new(window))),
        };
        Ok(source.map(|source| LogStream { source, records: Vec::new().into_iter() }))
    }

    /// The same, with a thread that decodes blocks before they are needed, where the log is long. Only such records are shown.
    pub(crate) fn read_ahead(self, keep: fn(&Record) -> bool) -> LogStream {
        let source = match self.source {
            LogSource::Whole(reader) if reader.length() >= LONG => {
                let limit = reader.definition_limit();
                LogSource::Ahead(ReadAhead::new(reader, keep), limit)
            }
            source => source,
        };
        LogStream { source, ..self }
    }

    /// Decodes the next whole block and tells the definitions before it; `None` at the end.
    fn refill(&mut self, keep: fn(&Record) -> bool) -> Result<Option<DefinitionCounts>> {
        let block = match &mut self.source {
            LogSource::Whole(reader) => next_block(reader, keep, 0)?,
            LogSource::Ahead(ahead, _) => ahead.next()?,
            LogSource::Window(window) => {
                let records = window.next_records(keep)?;
                records.map(|records| RecordBlock { before: DefinitionCounts::default(), records })
            }
        };
        Ok(block.map(|RecordBlock { before, records }| {
            self.records = records.into_iter();
            before
        }))
    }

    /// Reads all definitions into `tables` and passes every event to `each`. Blocks that are lost leave
    /// placeholders, so that ids stay right.
    ///
    /// # Errors
    /// When the system cannot read the file, or it claims more than a file of its size can hold.
    pub fn read_all(&mut self, tables: &mut DefinitionTables, each: &mut dyn FnMut(&Event)) -> Result<()> {
        while let Some(before) = self.refill(|_| true)? {
            tables.pad_to(before);
            for record in self.records.by_ref() {
                match record {
                    Record::Event(event) => each(&event),
                    definition => tables.define(definition),
                }
            }
            match &self.source {
                LogSource::Whole(reader) => reader.allow_definitions(tables.len())?,
                LogSource::Ahead(_, limit) => limit.allow(tables.len())?,
                LogSource::Window(window) => window.allow_definitions(tables.len())?,
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
            if self.refill(is_event)?.is_none() {
                return Ok(None);
            }
        }
    }

    /// What was found wrong so far.
    #[must_use]
    pub fn defects(&self) -> Defects {
        match &self.source {
            LogSource::Whole(reader) => reader.defects(),
            LogSource::Ahead(ahead, _) => ahead.defects,
            LogSource::Window(window) => window.defects(),
        }
    }
}

/// Whether it is an event.
pub(crate) fn is_event(record: &Record) -> bool {
    matches!(record, Record::Event(_))
}

struct StreamHead {
    machine: MachineId,
    stream: LogStream,
    axis: Axis,
    next: Option<Event>,
    last: Time,
}

/// The events of all machines in the order of the axis.
pub(crate) struct Merge {
    heads: Vec<StreamHead>,
    /// Events that came earlier than their predecessor in the same log.
    pub(crate) disordered: u64,
}

impl Merge {
    pub(crate) fn new(streams: Vec<(MachineId, LogStream, Axis)>) -> Result<Self> {
        let mut heads = Vec::new();
        for (machine, mut stream, axis) in streams {
            let next = stream.next_event()?;
            heads.push(StreamHead { machine, stream, axis, next, last: Time::ZERO });
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
