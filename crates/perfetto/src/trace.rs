//! A trace: a first reading for what others refer to and an index, a second one for events in the order of time.
//!
//! ```text
//!   packets by the time they begin   ├─A──────┤              a packet is read when the next event is not before its beginning;
//!                                       ├─B─┤                its events then wait among those of the others
//!                                              ├─C────┤
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{Read, Seek};

use rustc_hash::FxHashMap;

use crate::contents::{PerfettoContents, PerfettoDamage};
use crate::definitions::PerfettoThreads;
use crate::error::{PerfettoError, PerfettoResult};
use crate::event::{PerfettoEvent, PerfettoKind, PerfettoWaker};
use crate::first_reading::{FirstReading, Generation, IndexedPacket};
use crate::ftrace::{FtraceBundle, FtraceEntry, FtraceKind, HARD_INTERRUPT, SOFT_INTERRUPT};
use crate::interned::{CallstackKey, PerfettoFrame};
use crate::packet::{Packet, PacketBody, SampleEntry, TrackEntry};
use crate::packet_file::{PacketFile, PacketPlace};
use crate::pending::{PendingKind, PendingTraceEvent, PerfettoCpu};

/// Events that wait for their turn; beyond, they are handed over as they come.
const MOST_PENDING: usize = 1 << 21;

/// An open trace.
#[derive(Debug)]
pub struct PerfettoTrace<R> {
    file: PacketFile<R>,
    pub(crate) packets: Vec<IndexedPacket>,
    pub(crate) generations: Vec<Generation>,
    pub(crate) threads: PerfettoThreads,
    pub(crate) contents: PerfettoContents,
    pub(crate) damage: PerfettoDamage,
    next: usize,
    pending: BinaryHeap<Reverse<PendingTraceEvent>>,
    order: u64,
    cpus: FxHashMap<u32, PerfettoCpu>,
    /// Time and previous task of the first switch of each processor.
    pub(crate) first_switches: BTreeMap<u32, (u64, Option<u32>)>,
    /// How much each bundle's clock differs from the common one, where it does.
    pub(crate) offsets: FxHashMap<u64, i64>,
    buffer: Vec<u8>,
}

impl<R: Read + Seek> PerfettoTrace<R> {
    /// Whether a file begins as a Perfetto trace: with a packet.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        let mut rest = bytes.strip_prefix(b"\x0a").unwrap_or_default();
        let Some(length) = crate::wire::varint(&mut rest) else { return false };
        // A packet begins with one of its fields: a varint or a message, of a number that packets have.
        let Some(key) = crate::wire::varint(&mut rest) else { return false };
        length >= 2 && (1..1024).contains(&(key >> 3)) && matches!(key & 7, 0 | 2)
    }

    /// Reads all but the events.
    ///
    /// # Errors
    /// [`PerfettoError`].
    pub fn open(reader: R) -> PerfettoResult<Self> {
        let mut trace = PerfettoTrace {
            file: PacketFile::open(reader)?,
            packets: Vec::new(),
            generations: vec![Generation::default()],
            threads: PerfettoThreads::default(),
            contents: PerfettoContents::default(),
            damage: PerfettoDamage::default(),
            next: 0,
            pending: BinaryHeap::new(),
            order: 0,
            cpus: FxHashMap::default(),
            first_switches: BTreeMap::new(),
            offsets: FxHashMap::default(),
            buffer: Vec::new(),
        };
        let (mut reading, mut buffer) = (FirstReading::default(), Vec::new());
        while let Some(place) = trace.file.next(&mut buffer)? {
            trace.index(place, &Packet::parse(&buffer), &mut reading);
        }
        trace.packets.sort_unstable();
        trace.damage.is_cut = trace.file.is_cut;
        trace.damage.passed_over = trace.file.passed_over;
        trace.contents.sample_period = reading.sample_period();
        trace.contents.cpus = reading.said_cpus.max(reading.cpus.len() as u32);
        if trace.contents.switches == 0 && trace.contents.slices == 0 {
            return Err(PerfettoError::Nothing);
        }
        Ok(trace)
    }

    /// What it holds.
    #[must_use]
    pub fn contents(&self) -> &PerfettoContents {
        &self.contents
    }

    /// What could not be read so far; complete after the last event.
    #[must_use]
    pub fn damage(&self) -> &PerfettoDamage {
        &self.damage
    }

    /// Its processes and threads.
    #[must_use]
    pub fn threads(&self) -> &PerfettoThreads {
        &self.threads
    }

    /// The threads that were on a processor before the first switch there, with the processor, in its order.
    #[must_use]
    pub fn running_at_begin(&self) -> Vec<(u32, u32)> {
        let found = self.first_switches.iter().filter_map(|(&cpu, &(_, previous))| Some((cpu, previous?)));
        found.filter(|&(_, tid)| tid != 0).collect()
    }

    /// The frames of a call stack, outermost first.
    #[must_use]
    pub fn frames(&self, stack: CallstackKey) -> Vec<PerfettoFrame> {
        let generation = self.generations.get(stack.generation as usize);
        generation.map(|generation| generation.tables.frames(stack.number)).unwrap_or_default()
    }

    /// The next event in the order of time; `None` at the end.
    ///
    /// # Errors
    /// [`PerfettoError::Read`].
    pub fn next_event(&mut self) -> PerfettoResult<Option<PerfettoEvent>> {
        loop {
            let first = self.pending.peek().map(|Reverse(first)| first.key.0);
            let opens = self.packets.get(self.next).is_some_and(|packet| {
                first.is_none_or(|first| packet.time <= first && self.pending.len() < MOST_PENDING)
            });
            if opens {
                self.open_packet(self.packets[self.next])?;
                self.next += 1;
                continue;
            }
            let Some(Reverse(PendingTraceEvent { key, cpu, kind })) = self.pending.pop() else {
                return Ok(None);
            };
            if let Some(kind) = self.settle(cpu, kind) {
                return Ok(Some(PerfettoEvent { time: key.0, kind }));
            }
        }
    }

    fn open_packet(&mut self, indexed: IndexedPacket) -> PerfettoResult<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.file.read(PacketPlace { offset: indexed.offset, length: indexed.length }, &mut buffer)?;
        match Packet::parse(&buffer).body {
            PacketBody::Ftrace(bytes) => {
                let bundle = FtraceBundle::parse(bytes);
                let offset = self.offsets.get(&indexed.offset).copied().unwrap_or(0);
                for entry in bundle.entries {
                    let time = entry.time.saturating_add_signed(offset);
                    if let Some(kind) = self.pending_kind(bundle.cpu, &entry) {
                        self.push(time, bundle.cpu, kind);
                    }
                }
            }
            PacketBody::Slice(bytes) => self.open_slice(indexed, TrackEntry::parse(bytes)),
            PacketBody::Sample(bytes) => {
                let sample = SampleEntry::parse(bytes);
                self.damage.lost_samples += sample.lost + u64::from(sample.is_skipped);
                if !sample.is_skipped {
                    let callstack = sample
                        .callstack
                        .map(|number| CallstackKey { generation: indexed.generation, number });
                    let (tid, is_kernel) = (sample.tid, sample.is_kernel);
                    let kind = PerfettoKind::Sample { tid, is_kernel, callstack };
                    self.push(indexed.time, 0, PendingKind::Event(kind));
                }
            }
            _ => {}
        }
        self.buffer = buffer;
        Ok(())
    }

    fn push(&mut self, time: u64, cpu: u32, kind: PendingKind) {
        self.order += 1;
        self.pending.push(Reverse(PendingTraceEvent { key: (time, self.order), cpu, kind }));
    }

    fn open_slice(&mut self, indexed: IndexedPacket, entry: TrackEntry<'_>) {
        if !matches!(entry.kind, 1 | 2) {
            return;
        }
        let generation = &self.generations[indexed.generation as usize];
        let Some(tid) = self.threads.track(entry.track.unwrap_or(generation.track)) else {
            self.damage.other_tracks += u64::from(entry.kind == 1);
            return;
        };
        self.damage.flows += u64::from(entry.has_flow);
        let kind = if entry.kind == 2 {
            PerfettoKind::SliceEnd { tid }
        } else {
            let name = match entry.name {
                Some(name) => Some(String::from_utf8_lossy(name).into_owned()),
                None => generation.tables.name(entry.interned_name).map(str::to_owned),
            };
            self.damage.unresolved += u64::from(name.is_none());
            PerfettoKind::SliceBegin { tid, name: name.unwrap_or_else(|| "unnamed slice".to_owned()) }
        };
        self.push(indexed.time, 0, PendingKind::Event(kind));
    }

    fn pending_kind(&self, cpu: u32, entry: &FtraceEntry<'_>) -> Option<PendingKind> {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let wake = |wakee: u32, flags: Option<u64>| {
            let flags = flags.unwrap_or(0);
            let context = match () {
                () if flags & HARD_INTERRUPT != 0 => PerfettoWaker::Interrupt,
                () if flags & SOFT_INTERRUPT != 0 => PerfettoWaker::SoftInterrupt,
                () => PerfettoWaker::Task,
            };
            PerfettoKind::Wake { cpu, waker: entry.task, wakee, context }
        };
        let kind = match entry.kind {
            FtraceKind::Switch { previous, state, next } => {
                PerfettoKind::Switch { cpu, previous: previous.map(|(tid, _)| tid), state, next: next.0 }
            }
            FtraceKind::Waking { wakee, flags } => wake(wakee.0, flags),
            FtraceKind::Wakeup { wakee } if self.contents.wakings == 0 => wake(wakee.0, None),
            FtraceKind::Wakeup { .. } => return None,
            FtraceKind::Fork { parent, child } => PerfettoKind::Fork { parent, child: child.0 },
            FtraceKind::NewTask { child, .. } => PerfettoKind::Fork { parent: entry.task?, child: child.0 },
            FtraceKind::Rename { tid, name } => PerfettoKind::Rename { tid, name: text(name) },
            FtraceKind::Exec { tid, program } => PerfettoKind::Exec { tid, program: text(program) },
            FtraceKind::Exit { tid, .. } => PerfettoKind::Exit { tid },
            FtraceKind::SliceBegin { name } => {
                PerfettoKind::SliceBegin { tid: entry.task?, name: text(name) }
            }
            FtraceKind::SliceEnd => PerfettoKind::SliceEnd { tid: entry.task? },
            FtraceKind::Interrupt { is_soft, begins } => {
                return Some(PendingKind::Interrupt { is_soft, begins });
            }
        };
        Some(PendingKind::Event(kind))
    }

    /// Adds what the state of the processor says.
    fn settle(&mut self, cpu: u32, kind: PendingKind) -> Option<PerfettoKind> {
        let mut kind = match kind {
            PendingKind::Event(kind) => kind,
            PendingKind::Interrupt { is_soft, begins } => {
                let state = self.cpus.entry(cpu).or_default();
                let depth = if is_soft { &mut state.soft } else { &mut state.hard };
                *depth = if begins { depth.saturating_add(1) } else { depth.saturating_sub(1) };
                return None;
            }
        };
        match &mut kind {
            PerfettoKind::Switch { previous, next, .. } => {
                let state = self.cpus.entry(cpu).or_default();
                *previous = previous.or(state.task);
                // No task is switched within an interrupt.
                *state = PerfettoCpu { task: Some(*next), hard: 0, soft: 0 };
            }
            PerfettoKind::Wake { waker, context, .. } => {
                let state = self.cpus.get(&cpu).copied().unwrap_or_default();
                *waker = waker.or(state.task);
                match context {
                    PerfettoWaker::Task if state.hard > 0 => *context = PerfettoWaker::Interrupt,
                    PerfettoWaker::Task if state.soft > 0 => *context = PerfettoWaker::SoftInterrupt,
                    _ => {}
                }
            }
            _ => {}
        }
        Some(kind)
    }
}
