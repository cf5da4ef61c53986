//! Events of all machines' logs in one time order.
//!
//! ```text
//! machine 0   ──1────4──6──►  ┐  each log's events are in its own order;
//! machine 1   ───2─3─────7─►  ┘  the earliest of the heads comes next: 1 2 3 4 6 7
//! ```

use longpole_event::{Event, MachineId, Record, Time};
use longpole_recording::{
    Defects, DefinitionCounts, DefinitionLimit, DefinitionTables, LogName, LogReader, MachineDescription,
    RecordingFolder, WindowLog,
};

use crate::clocks::ClockCurve;
use crate::error::Result;
use crate::read_ahead::{ReadAhead, RecordBlock, next_block};

/// Brings a machine's times onto the recording's axis.
#[derive(Clone, Debug)]
pub struct Axis {
    clock: ClockCurve,
    begin: u64,
}

impl Axis {
    /// Of this machine, in a run that begins at `begin` on the first machine's clock, nanoseconds.
    #[must_use]
    pub fn new(machine: &MachineDescription, begin: u64) -> Self {
        Axis { clock: ClockCurve::of(machine), begin }
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
        self.clock.shown(time.nanoseconds())
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
        Ok(source.map(|source| LogStream { source }))
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
        LogStream { source }
    }

    /// Decodes the next whole block; `None` at the end.
    fn next_block(&mut self, keep: fn(&Record) -> bool) -> Result<Option<RecordBlock>> {
        Ok(match &mut self.source {
            LogSource::Whole(reader) => next_block(reader, keep, 0)?,
            LogSource::Ahead(ahead, _) => ahead.next()?,
            LogSource::Window(window) => {
                let records = window.next_records(keep)?;
                records.map(|records| RecordBlock { before: DefinitionCounts::default(), records })
            }
        })
    }

    /// Reads all definitions into `tables` and passes every event to `each`. Blocks that are lost leave
    /// placeholders, so that ids stay right.
    ///
    /// # Errors
    /// When the system cannot read the file, or it claims more than a file of its size can hold.
    pub fn read_all(&mut self, tables: &mut DefinitionTables, each: &mut dyn FnMut(&Event)) -> Result<()> {
        while let Some(RecordBlock { before, records }) = self.next_block(|_| true)? {
            tables.pad_to(before);
            for record in records {
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
    /// Where the head is: an event on the axis, or behind the block.
    block: Vec<Record>,
    at: usize,
    last: Time,
    /// Events that came earlier than their predecessor.
    disordered: u64,
}

impl StreamHead {
    fn event(&self) -> Option<&Event> {
        match self.block.get(self.at) {
            Some(Record::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// Goes to the next event at `at` or behind it, and puts it onto the axis, not before its predecessor.
    fn settle(&mut self) -> Result<()> {
        loop {
            match self.block.get_mut(self.at) {
                Some(Record::Event(event)) => {
                    let time = self.axis.place(event.time);
                    self.disordered += u64::from(time < self.last);
                    event.time = time.max(self.last);
                    self.last = event.time;
                    return Ok(());
                }
                Some(_) => self.at += 1,
                None => match self.stream.next_block(is_event)? {
                    Some(block) => (self.block, self.at) = (block.records, 0),
                    None => return Ok(()),
                },
            }
        }
    }
}

/// The events of all machines in the order of the axis.
pub(crate) struct Merge {
    heads: Vec<StreamHead>,
    /// The head whose event was shown last.
    shown: Option<usize>,
}

impl Merge {
    pub(crate) fn new(streams: Vec<(MachineId, LogStream, Axis)>) -> Result<Self> {
        let head = |(machine, stream, axis)| {
            let (block, at, last, disordered) = (Vec::new(), 0, Time::ZERO, 0);
            let mut head = StreamHead { machine, stream, axis, block, at, last, disordered };
            head.settle().map(|()| head)
        };
        let heads = streams.into_iter().map(head).collect::<Result<_>>()?;
        Ok(Merge { heads, shown: None })
    }

    /// The next event, with its time on the axis.
    pub(crate) fn next(&mut self) -> Result<Option<(MachineId, &Event)>> {
        if let Some(index) = self.shown {
            let head = &mut self.heads[index];
            head.at += 1;
            head.settle()?;
        }
        let events = self.heads.iter().enumerate().filter_map(|(index, head)| Some((index, head.event()?)));
        self.shown = events.min_by_key(|(_, event)| event.time).map(|(index, _)| index);
        let head = self.shown.map(|index| &self.heads[index]);
        Ok(head.and_then(|head| Some((head.machine, head.event()?))))
    }

    /// Events that came earlier than their predecessor in the same log.
    pub(crate) fn disordered(&self) -> u64 {
        self.heads.iter().map(|head| head.disordered).sum()
    }
}
