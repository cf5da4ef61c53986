//! The first reading: an index of packets with events, and all that events refer to.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use rustc_hash::FxHashMap;

use crate::clock::{BOOT_TIME, MONOTONIC_RAW, PerfettoClocks};
use crate::ftrace::{FtraceBundle, FtraceEntry, FtraceKind};
use crate::interned::InternedTables;
use crate::packet::{Packet, PacketBody, SampleEntry, TrackEntry};
use crate::packet_file::PacketPlace;
use crate::trace::PerfettoTrace;
use crate::wire::WireFields;

/// Packets with events that are read; further ones are counted.
const MOST_PACKETS: usize = 1 << 23;
/// Generations of interned data.
const MOST_GENERATIONS: usize = 1 << 18;
/// Times between samples that are looked at.
const MOST_GAPS: usize = 1 << 16;
/// Processors that are told apart.
const MOST_CPUS: u32 = 1 << 16;

/// What packets of a sequence refer to until it begins anew.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    pub(crate) tables: InternedTables,
    pub(crate) track: u64,
    pub(crate) clock: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexedPacket {
    pub(crate) time: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) generation: u32,
}

/// What the first reading remembers.
#[derive(Debug, Default)]
pub(crate) struct FirstReading {
    clocks: PerfettoClocks,
    /// Generation by sequence.
    sequences: FxHashMap<u32, u32>,
    interned_bytes: usize,
    /// When each thread was sampled last, and how long that was after the time before.
    sampled: FxHashMap<u32, u64>,
    sample_gaps: Vec<u64>,
    pub(crate) cpus: BTreeSet<u32>,
    pub(crate) said_cpus: u32,
}

impl FirstReading {
    fn sampled(&mut self, tid: u32, time: u64) {
        if let Some(before) = self.sampled.insert(tid, time)
            && self.sample_gaps.len() < MOST_GAPS
        {
            self.sample_gaps.push(time.abs_diff(before));
        }
    }

    /// The median of the time between two samples of a thread; threads that run are sampled at each look of the timer.
    pub(crate) fn sample_period(&mut self) -> u64 {
        let middle = self.sample_gaps.len() / 2;
        self.sample_gaps.sort_unstable();
        self.sample_gaps.get(middle).map_or(0, |&gap| gap.max(1))
    }
}

impl<R: Read + Seek> PerfettoTrace<R> {
    /// Takes the next packet of the file.
    pub(crate) fn index(&mut self, place: PacketPlace, packet: &Packet<'_>, reading: &mut FirstReading) {
        self.damage.damaged += u64::from(packet.is_damaged);
        self.damage.losses += u64::from(packet.is_after_loss && packet.sequence != 0 && !packet.is_cleared);
        let generation = self.generation(packet, reading);
        match packet.body {
            PacketBody::Tree(tree) => {
                self.contents.has_tree = true;
                self.threads.take_tree(tree);
            }
            PacketBody::Track(descriptor) => self.threads.take_track(descriptor),
            PacketBody::Clocks(snapshot) => reading.clocks.take(packet.sequence, snapshot),
            PacketBody::System(system) => self.take_system(system, reading),
            PacketBody::Compressed => self.damage.compressed += 1,
            PacketBody::Ftrace(bytes) => self.index_bundle(bytes, (place, generation), reading),
            PacketBody::Slice(_) | PacketBody::Sample(_) => {
                let clock = packet.clock.or(self.generations[generation as usize].clock).unwrap_or(BOOT_TIME);
                let time = packet.time.and_then(|time| reading.clocks.common(packet.sequence, clock, time));
                let Some(time) = time else {
                    self.damage.untimed += 1;
                    return;
                };
                self.survey_packet(packet.body, time, reading);
                self.add(place, (time, generation));
            }
            PacketBody::Other => {}
        }
    }

    fn index_bundle(
        &mut self,
        bytes: &[u8],
        (place, generation): (PacketPlace, u32),
        reading: &mut FirstReading,
    ) {
        let bundle = FtraceBundle::parse(bytes);
        let offset = match bundle.clock {
            0 => Some(0),
            4 => reading.clocks.offset(MONOTONIC_RAW),
            _ => bundle.offset,
        };
        self.damage.damaged += bundle.damaged;
        self.damage.losses += u64::from(bundle.has_losses);
        let Some(offset) = offset else {
            self.damage.untimed += bundle.entries.len() as u64;
            return;
        };
        if offset != 0 {
            self.offsets.insert(place.offset, offset);
        }
        reading.cpus.insert(bundle.cpu.min(MOST_CPUS));
        for entry in &bundle.entries {
            self.survey(entry);
            self.see_first_switch(bundle.cpu.min(MOST_CPUS), entry);
        }
        let first = bundle.entries.iter().map(|entry| entry.time).min();
        if let Some(first) = first {
            self.add(place, (first.saturating_add_signed(offset), generation));
        }
    }

    fn add(&mut self, place: PacketPlace, (time, generation): (u64, u32)) {
        if self.packets.len() >= MOST_PACKETS {
            self.damage.beyond += 1;
            return;
        }
        self.packets.push(IndexedPacket { time, offset: place.offset, length: place.length, generation });
    }

    /// The generation that a packet belongs to, after what it says itself.
    fn generation(&mut self, packet: &Packet<'_>, reading: &mut FirstReading) -> u32 {
        let known = reading.sequences.get(&packet.sequence).copied();
        let says = packet.is_cleared || packet.defaults.is_some() || packet.interned.is_some();
        let generation = match known {
            Some(known) if !packet.is_cleared => known,
            None if !says => return 0,
            _ if self.generations.len() >= MOST_GENERATIONS => {
                self.damage.unresolved += 1;
                return 0;
            }
            _ => {
                self.generations.push(Generation::default());
                let made = self.generations.len() as u32 - 1;
                reading.sequences.insert(packet.sequence, made);
                made
            }
        };
        let of = &mut self.generations[generation as usize];
        for (number, value) in packet.defaults.into_iter().flat_map(WireFields::of) {
            match number {
                11 => {
                    let track = WireFields::of(value.bytes()).find(|&(number, _)| number == 11);
                    of.track = track.map_or(of.track, |(_, value)| value.number());
                }
                58 => of.clock = Some(value.id()),
                _ => {}
            }
        }
        if let Some(data) = packet.interned {
            self.damage.damaged += u64::from(!of.tables.take(data, &mut reading.interned_bytes));
        }
        generation
    }

    fn take_system(&mut self, system: &[u8], reading: &mut FirstReading) {
        for (number, value) in WireFields::of(system) {
            match number {
                1 => {
                    let release = WireFields::of(value.bytes()).find(|&(number, _)| number == 3);
                    self.contents.kernel = release.map(|(_, value)| value.text()).unwrap_or_default();
                }
                8 => reading.said_cpus = value.id().min(MOST_CPUS),
                17 => self.contents.host = value.text(),
                _ => {}
            }
        }
    }

    fn see_first_switch(&mut self, cpu: u32, entry: &FtraceEntry<'_>) {
        let FtraceKind::Switch { previous, .. } = entry.kind else { return };
        let found = (entry.time, previous.map(|(tid, _)| tid));
        let first = self.first_switches.entry(cpu).or_insert(found);
        if found.0 < first.0 {
            *first = found;
        }
    }

    /// Counts an event, and learns what it says of threads.
    fn survey(&mut self, entry: &FtraceEntry<'_>) {
        let threads = &mut self.threads;
        let mut called = |(tid, name): (u32, &[u8])| threads.called(tid, name);
        match entry.kind {
            FtraceKind::Switch { previous, next, .. } => {
                self.contents.switches += 1;
                previous.into_iter().for_each(&mut called);
                called(next);
            }
            FtraceKind::Waking { wakee, .. } => {
                self.contents.wakings += 1;
                called(wakee);
            }
            FtraceKind::Wakeup { wakee } => {
                self.contents.wakeups += 1;
                called(wakee);
            }
            FtraceKind::Fork { child, .. } => called(child),
            FtraceKind::NewTask { child, is_thread } => {
                called(child);
                let of_parent = entry.task.and_then(|tid| threads.process_of(tid));
                match of_parent.filter(|_| is_thread) {
                    Some(pid) => threads.belongs(child.0, pid),
                    None if !is_thread => threads.belongs(child.0, child.0),
                    None => {}
                }
            }
            FtraceKind::Exit { tid, pid } => threads.belongs(tid, pid),
            FtraceKind::Exec { tid, program } => threads.executes(tid, program),
            FtraceKind::SliceBegin { .. } => self.contents.slices += 1,
            _ => {}
        }
    }

    fn survey_packet(&mut self, body: PacketBody<'_>, time: u64, reading: &mut FirstReading) {
        match body {
            PacketBody::Slice(bytes) if TrackEntry::parse(bytes).kind == 1 => self.contents.slices += 1,
            PacketBody::Sample(bytes) => {
                let sample = SampleEntry::parse(bytes);
                self.contents.samples += u64::from(!sample.is_skipped);
                if sample.callstack.is_some() && !sample.is_skipped {
                    self.contents.stacks += 1;
                    reading.sampled(sample.tid, time);
                }
                self.threads.belongs(sample.tid, sample.pid);
            }
            _ => {}
        }
    }
}
