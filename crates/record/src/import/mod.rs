//! Imports what others wrote: `perf record` (here), writers of OTF2 traces ([`otf2`]), of Perfetto traces ([`perfetto`]) and of traces in
//! Chrome's JSON format ([`chrome`]).
//!
//! In: a `perf.data` file with the scheduler's tracepoints. Out: the raw events of the recorded program,
//! in time order, as a collector on this machine would have made them, and a [`ImportSummary`] of where they
//! come from. Nothing is dropped in silence: what could not be read is counted in the notes.

mod chrome;
mod command;
mod container;
mod error;
mod events;
mod kernel;
mod named;
mod otf2;
mod perfetto;
mod recording;
mod tracing;

use std::io::{Read, Seek};

use longpole_event::Time;

use crate::perf::layout::{PerfRecord, RecordOrigin};
use crate::perf::rounds::RoundSorter;
use crate::perf::{Conversion, KernelAddresses, Presence, Scope, Switches, Threads};
use crate::raw::RawEvent;
pub use chrome::{ImportChoice, import_chrome};
use command::PerfCommandLine;
use container::{Container, PerfDataEntry, RawRecord, feature};
pub use error::{ImportError, ImportResult};
use events::Events;
use kernel::RecordedKernel;
pub use otf2::import_trace_files;
pub use perfetto::import_perfetto;
pub use recording::import;

/// What follows `perf record -e` for a file with everything that is used.
pub(crate) const EVENTS_AND_OPTIONS: &str = "sched:sched_switch,sched:sched_waking,cpu-clock -g";

/// Where the events of a file come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Command line of the program, or of `perf record` where it ran none.
    pub command: Vec<String>,
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Processors online; where the file does not tell, as many as are known by their records.
    pub cpus: u32,
    /// Samples per second and processor asked for.
    pub hertz: u32,
    /// Time of the first and the last event.
    pub span: Option<(Time, Time)>,
    /// Events handed over.
    pub events: u64,
    /// The end of the file is missing.
    pub is_truncated: bool,
    /// What a reader of the results has to know.
    pub notes: Vec<String>,
}

/// Reads a file and hands its events to `sink` in time order.
///
/// # Errors
/// [`ImportError`], or what `sink` returned.
pub fn parse<R: Read + Seek>(
    file: R,
    sink: &mut dyn FnMut(RawEvent) -> ImportResult<()>,
) -> ImportResult<ImportSummary> {
    ImportSource::open(file)?.events(sink)
}

/// A file that holds the needed events.
struct ImportSource<R> {
    container: Container<R>,
    events: Events,
    command: PerfCommandLine,
    kernel: RecordedKernel,
    conversion: Conversion,
    presence: Presence,
    /// Time of the last record that was taken, nanoseconds.
    reached: u64,
    /// Highest number of a processor that a record came from.
    last_cpu: Option<u32>,
    /// Records that came later than their round allows.
    late: u64,
    /// Records without a time, until the first that has one.
    initial: Option<Vec<(usize, RawRecord)>>,
    summary: ImportSummary,
}

impl<R: Read + Seek> ImportSource<R> {
    fn open(file: R) -> ImportResult<Self> {
        let container = Container::open(file)?;
        let events = Events::find(&container)?;
        let command =
            PerfCommandLine::parse(&container.feature_texts(feature::COMMAND_LINE).unwrap_or_default());
        let scope = match (command.is_system_wide, command.process_name()) {
            (false, _) => Scope::Everything,
            (true, None) => Scope::Machine,
            (true, name) => Scope::Tree { name },
        };
        let mut conversion = Conversion::new(Threads::new(scope));
        conversion.has_creation = events.has_creation;
        conversion.switches = events.has_switches.then(|| Switches::new(command.is_system_wide));
        conversion.has_registers =
            container.feature_text(feature::ARCHITECTURE).is_none_or(|name| name == "x86_64");
        let kernel = RecordedKernel::of(&container);
        let presence = Presence::new(command.is_system_wide, events.period);
        Ok(ImportSource {
            container,
            events,
            presence,
            reached: 0,
            last_cpu: None,
            late: 0,
            command,
            kernel,
            conversion,
            initial: Some(Vec::new()),
            summary: ImportSummary::default(),
        })
    }

    /// Hands over the events.
    fn events(mut self, sink: &mut dyn FnMut(RawEvent) -> ImportResult<()>) -> ImportResult<ImportSummary> {
        let mut rounds = RoundSorter::default();
        while let Some(entry) = self.container.next_entry()? {
            match entry {
                PerfDataEntry::Record(record) => {
                    let index = self.container.attribute_of(&record);
                    let layout = &self.container.attributes()[index].layout;
                    match layout.decode(record.kind, record.misc, &record.body) {
                        Some((origin, _)) => rounds.push(origin.time, (index, record)),
                        None => self.conversion.damaged += 1,
                    }
                }
                PerfDataEntry::Round => {
                    let limit = rounds.end_round();
                    while let Some((time, (index, record))) = rounds.pop(limit) {
                        self.record(time, index, record, sink)?;
                    }
                }
            }
        }
        while let Some((time, (index, record))) = rounds.pop(u64::MAX) {
            self.record(time, index, record, sink)?;
        }
        self.hand_over(true, sink)?;
        self.describe_source();
        self.describe_losses();
        Ok(self.summary)
    }

    /// Takes one record, in time order.
    fn record(
        &mut self,
        time: u64,
        index: usize,
        record: RawRecord,
        sink: &mut dyn FnMut(RawEvent) -> ImportResult<()>,
    ) -> ImportResult<()> {
        if let Some(initial) = &mut self.initial {
            if time == 0 {
                initial.push((index, record));
                return Ok(());
            }
            self.begin(time);
        }
        if time != 0 && time < self.reached {
            self.late += 1;
        }
        let time = time.max(self.reached);
        self.reached = time;
        let layout = self.container.attributes()[index].layout;
        if let Some((origin, decoded)) = layout.decode(record.kind, record.misc, &record.body) {
            let meaning = &self.events.meanings[index];
            self.last_cpu = self.last_cpu.max(origin.cpu);
            self.conversion.convert(meaning, Time::from_nanoseconds(time), origin, decoded);
        }
        for event in self.conversion.take() {
            self.presence.push(event);
        }
        self.hand_over(false, sink)
    }

    fn hand_over(
        &mut self,
        at_end: bool,
        sink: &mut dyn FnMut(RawEvent) -> ImportResult<()>,
    ) -> ImportResult<()> {
        while let Some(event) = self.presence.pop(at_end) {
            let begin = self.summary.span.map_or(event.time, |(begin, _)| begin);
            self.summary.span = Some((begin, event.time));
            self.summary.events += 1;
            sink(event)?;
        }
        Ok(())
    }

    /// The first record with a time is there: what was before it is the state at the start.
    fn begin(&mut self, time: u64) {
        let records = self.initial.take().unwrap_or_default();
        let mut decoded: Vec<(RecordOrigin, PerfRecord<'_>)> = Vec::new();
        for (index, record) in &records {
            let layout = &self.container.attributes()[*index].layout;
            decoded.extend(layout.decode(record.kind, record.misc, &record.body));
        }
        for (_, record) in &decoded {
            if let PerfRecord::Map { pid: u32::MAX, mapping } = record {
                self.kernel.see(&mapping.path.to_string_lossy(), mapping.start);
            }
        }
        self.conversion.kernel = self.kernel.addresses().unwrap_or_else(|reason| {
            self.summary.notes.push(format!("kernel frames are left out: {reason}"));
            KernelAddresses::Drop
        });
        for (_, record) in decoded {
            self.conversion.convert_initial(Time::from_nanoseconds(time), record);
        }
    }

    fn describe_source(&mut self) {
        let summary = &mut self.summary;
        let text = |feature| self.container.feature_text(feature).unwrap_or_default();
        summary.host = text(feature::HOST_NAME);
        summary.kernel = text(feature::OS_RELEASE);
        summary.cpus = self
            .container
            .feature(feature::CPU_COUNT)
            .and_then(|bytes| Some(u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?)))
            .filter(|&cpus| cpus > 0)
            .unwrap_or_else(|| self.last_cpu.map_or(0, |last| last.saturating_add(1)));
        summary.hertz = self.events.hertz;
        summary.command = match self.command.program.is_empty() {
            true => self.container.feature_texts(feature::COMMAND_LINE).unwrap_or_default(),
            false => self.command.program.clone(),
        };
        summary.notes.push(match self.conversion.threads.scope() {
            Scope::Everything => "imported: every process in the file".to_owned(),
            Scope::Machine => {
                "imported: every process of the machine but perf and the kernel's own".to_owned()
            }
            Scope::Tree { name: None } => {
                format!("imported: {} and its descendants", self.command.program.join(" "))
            }
            Scope::Tree { name: Some(name) } => format!("the start of {name} is not in the file"),
        });
    }

    fn describe_losses(&mut self) {
        let notes = &mut self.summary.notes;
        let mut note = |is_so: bool, text: &str| {
            if is_so {
                notes.push(text.to_owned());
            }
        };
        note(!self.events.has_clock, "without samples: record with -e cpu-clock too");
        note(!self.events.has_stacks, "without call chains: record with -g");
        let has_chains = self.events.has_stacks && !self.events.has_copies;
        note(
            has_chains,
            "call chains by frame pointers: the caller of a C library procedure is taken from the call before it, \
                 without its line; --call-graph dwarf,2048 is exact",
        );
        notes.extend(self.conversion.switches.iter().filter_map(Switches::note));
        let untold = self.conversion.switches.as_ref().map_or(0, |switches| switches.untold);
        let counts = [
            (untold, "waits have neither place nor reason: the kernel did not deliver their tracepoints"),
            (
                self.presence.missing,
                "switches to a thread are missing in the file and were put where it next does something",
            ),
            (
                self.presence.estimated,
                "times at which threads got a processor are estimates (recorded without -a)",
            ),
            (self.late, "records came too late and were taken when they came"),
            (self.conversion.damaged, "records could not be read"),
            (self.conversion.unused, "samples of other events were left out"),
        ];
        for (count, what) in counts.into_iter().filter(|&(count, _)| count > 0) {
            notes.push(format!("{count} {what}"));
        }
        self.summary.is_truncated = self.container.is_torn;
        if self.container.is_torn {
            let text = "the file ends early or is damaged: what came before is here; tracepoint formats and kernel \
                        names that its end would have told are this machine's";
            notes.push(text.to_owned());
        }
    }
}
