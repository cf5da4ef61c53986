//! One packet: who wrote it, when, and what it holds.

use crate::wire::WireFields;

/// What a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketBody<'a> {
    Ftrace(&'a [u8]),
    Tree(&'a [u8]),
    Clocks(&'a [u8]),
    Track(&'a [u8]),
    Slice(&'a [u8]),
    Sample(&'a [u8]),
    System(&'a [u8]),
    Compressed,
    Other,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) time: Option<u64>,
    pub(crate) clock: Option<u32>,
    pub(crate) sequence: u32,
    /// What was interned before is void.
    pub(crate) is_cleared: bool,
    /// Packets of the sequence before it are missing.
    pub(crate) is_after_loss: bool,
    pub(crate) defaults: Option<&'a [u8]>,
    pub(crate) interned: Option<&'a [u8]>,
    pub(crate) body: PacketBody<'a>,
    pub(crate) is_damaged: bool,
}

impl<'a> Packet<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Packet<'a> {
        let mut packet = Packet {
            time: None,
            clock: None,
            sequence: 0,
            is_cleared: false,
            is_after_loss: false,
            defaults: None,
            interned: None,
            body: PacketBody::Other,
            is_damaged: false,
        };
        let mut fields = WireFields::of(bytes);
        for (number, value) in fields.by_ref() {
            match number {
                1 => packet.body = PacketBody::Ftrace(value.bytes()),
                2 => packet.body = PacketBody::Tree(value.bytes()),
                6 => packet.body = PacketBody::Clocks(value.bytes()),
                8 => packet.time = Some(value.number()),
                10 => packet.sequence = value.id(),
                11 => packet.body = PacketBody::Slice(value.bytes()),
                12 => packet.interned = Some(value.bytes()),
                13 => packet.is_cleared |= value.number() & 1 != 0,
                41 => packet.is_cleared |= value.number() != 0,
                42 => packet.is_after_loss = value.number() != 0,
                45 => packet.body = PacketBody::System(value.bytes()),
                50 => packet.body = PacketBody::Compressed,
                58 => packet.clock = Some(value.id()),
                59 => packet.defaults = Some(value.bytes()),
                60 => packet.body = PacketBody::Track(value.bytes()),
                66 => packet.body = PacketBody::Sample(value.bytes()),
                _ => {}
            }
        }
        packet.is_damaged = fields.is_damaged();
        packet
    }
}

/// What a track event says: on which track, and what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrackEntry<'a> {
    pub(crate) track: Option<u64>,
    /// 1 begin, 2 end; others are no slices.
    pub(crate) kind: u64,
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) interned_name: u64,
    pub(crate) has_flow: bool,
}

impl<'a> TrackEntry<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> TrackEntry<'a> {
        let mut entry = TrackEntry::default();
        for (number, value) in WireFields::of(bytes) {
            match number {
                9 => entry.kind = value.number(),
                10 => entry.interned_name = value.number(),
                11 => entry.track = Some(value.number()),
                23 => entry.name = Some(value.bytes()),
                36 | 42 | 47 | 48 => entry.has_flow = true,
                _ => {}
            }
        }
        entry
    }
}

/// A sample of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleEntry {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) callstack: Option<u64>,
    pub(crate) is_kernel: bool,
    /// Why it has no stack, or that it is no sample: loss in the kernel, or the sampler was too slow.
    pub(crate) is_skipped: bool,
    pub(crate) lost: u64,
}

impl SampleEntry {
    pub(crate) fn parse(bytes: &[u8]) -> SampleEntry {
        let mut entry = SampleEntry::default();
        for (number, value) in WireFields::of(bytes) {
            match number {
                2 => entry.pid = value.id(),
                3 => entry.tid = value.id(),
                4 => entry.callstack = Some(value.number()),
                5 => entry.is_kernel = value.number() == 1,
                17 => entry.lost = value.number(),
                18 => entry.is_skipped = true,
                _ => {}
            }
        }
        entry
    }
}
