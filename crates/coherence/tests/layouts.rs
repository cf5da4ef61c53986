//! Another layout of the data, beside programs that are written with the addresses of that layout.
//!
//! The oracle lays out elements byte by byte. It takes from the map only where the first byte of a block is.
//! 300 programs by default; `LONGPOLE_COHERENCE_PROGRAMS=10000` for more.

#![allow(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, reason = "it knows more than is compared here")]
mod oracle;
mod programs;

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{
    AccessKind, AddressMap, CoherenceProtocol, CoherenceSettings, CoherenceSimulation, DataAccess,
    DataLayout, DataObjectId, LayoutChanges, ProcessorId, ProcessorStream, SiteId, StepCosts, StreamStep,
    SyncToken, VirtualRun, VirtualRunSetup,
};
use oracle::Oracle;
use programs::{Event, Program, Random, random};

/// First byte, bytes, object.
type Block = (u64, u64, DataObjectId);

fn count() -> u64 {
    std::env::var("LONGPOLE_COHERENCE_PROGRAMS").ok().map_or(300, |text| text.parse().unwrap())
}

/// Random changes; with elements and parts of whole words where no access may be cut.
fn changes(random: &mut Random, step: u64) -> LayoutChanges {
    let element = (random.below(4) > 0).then(|| step * (1 + random.below(64 / step)));
    let mut range = || {
        let from = step * random.below(64 / step);
        from..from + step * random.below(24 / step)
    };
    let order = match seed_of(&range()) % 3 {
        0 => vec![range(), range()],
        _ => Vec::new(),
    };
    let origin = if random.below(3) == 0 { step * random.below(40 / step) } else { 0 };
    LayoutChanges {
        element,
        origin,
        padding: [None, Some(step), Some(64), Some(24), Some(256)][random.below(5) as usize],
        alignment: [None, Some(16), Some(64), Some(8192)][random.below(4) as usize],
        order,
        splits: (0..random.below(3)).map(|_| step * random.below(40 / step)).collect(),
        is_private: random.below(4) == 0,
        is_grouped: random.below(4) == 0,
    }
}

fn seed_of(range: &std::ops::Range<u64>) -> u64 {
    range.start ^ range.end
}

/// Blocks beside each other, with gaps, of three objects; two of them change.
fn scene(seed: u64, step: u64) -> (DataLayout, Vec<Block>) {
    let mut random = Random(seed ^ 0x5eed);
    let changes = vec![changes(&mut random, step), changes(&mut random, step)];
    let objects = BTreeMap::from([(DataObjectId(0), 0), (DataObjectId(1), 1), (DataObjectId(3), 1)]);
    let (mut blocks, mut at) = (Vec::new(), 0x1000);
    while at < 0x1000 + 640 {
        let size = 8 * (1 + random.below(24));
        blocks.push((at, size, DataObjectId(random.below(4) as u32)));
        at += size + 8 * random.below(2);
    }
    (DataLayout { changes, objects }, blocks)
}

/// Where each byte of a block of so many bytes lies, from the block's first one: a struct written down byte by byte.
fn table(changes: &LayoutChanges, block: u64, unit: u64) -> Vec<u64> {
    // What is before the elements is where it was.
    let (origin, whole) = (changes.origin.min(block), block);
    let block = whole - origin;
    let size = changes.element.unwrap_or(block).min(block);
    let mut bytes: Vec<u64> = Vec::new();
    for byte in changes.order.iter().cloned().flatten().chain(0..size) {
        if byte < size && !bytes.contains(&byte) {
            bytes.push(byte);
        }
    }
    // A part begins where an offset does not follow the one before, or at a split.
    let is_split = |byte: u64| byte > 0 && changes.splits.contains(&byte);
    let is_named = |byte: u64| changes.order.iter().position(|range| range.contains(&byte));
    let mut at = BTreeMap::new();
    let mut cursor: u64 = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        let follows = index > 0 && bytes[index - 1] + 1 == byte;
        if is_split(byte) {
            cursor = cursor.div_ceil(unit) * unit;
        } else if index == 0 && byte > 0 || index > 0 && !follows {
            let length = (index..bytes.len())
                .take_while(|&next| {
                    next == index
                        || bytes[next] == bytes[next - 1] + 1
                            && !is_split(bytes[next])
                            && is_named(bytes[next]) == is_named(byte)
                })
                .count() as u64;
            let fits = |alignment: &u64| byte.is_multiple_of(*alignment) && *alignment <= length;
            let alignment = [16, 8, 4, 2, 1].into_iter().find(fits).unwrap();
            cursor = cursor.div_ceil(alignment) * alignment;
        }
        at.insert(byte, cursor);
        cursor += 1;
    }
    let mut stride = cursor.max(size);
    let up = |stride: u64, to: u64| stride.div_ceil(to) * to;
    if !changes.order.is_empty() && size > 0 {
        stride = up(
            stride,
            [16, 8, 4, 2, 1].into_iter().find(|alignment| size.is_multiple_of(*alignment)).unwrap(),
        );
    }
    if bytes.iter().any(|&byte| is_split(byte)) {
        stride = up(stride, unit);
    }
    stride = up(stride, changes.padding.unwrap_or(1));
    let elements = (0..block).map(|byte| origin + byte / size * stride + at[&(byte % size)]);
    (0..origin).chain(elements).collect()
}

/// The address of each byte of memory for a processor, where it is another one.
fn addresses(
    map: &mut AddressMap,
    (layout, blocks): (&DataLayout, &[Block]),
    processors: u16,
    unit: u64,
) -> BTreeMap<(u16, u64), u64> {
    let (mut of, mut owners) = (BTreeMap::new(), BTreeMap::new());
    for &(start, size, object) in blocks {
        let Some(&changes) = layout.objects.get(&object) else { continue };
        let changes = &layout.changes[changes];
        for processor in 0..processors {
            let mut first = Vec::new();
            map.pieces(ProcessorId(processor), (start, 1), &mut first);
            // The block's first byte need not be the first one of the new layout.
            let table = table(changes, size, unit);
            let base = first[0].0 - table[0];
            let origin = changes.origin.min(size);
            assert_eq!((base + origin) % changes.alignment.unwrap_or(1), 0);
            if !changes.splits.is_empty() {
                assert_eq!((base + origin) % unit, 0);
            }
            for (byte, at) in (start..).zip(table) {
                of.insert((processor, byte), base + at);
                let owner = (if changes.is_private { Some(processor) } else { None }, byte);
                assert_eq!(*owners.entry(base + at).or_insert(owner), owner, "two bytes at one address");
            }
        }
    }
    of
}

/// The pieces of an access, byte by byte.
fn pieces_of(of: &BTreeMap<(u16, u64), u64>, access: &DataAccess) -> Vec<(u64, u32)> {
    let mut pieces: Vec<(u64, u32)> = Vec::new();
    for byte in access.address..access.address + u64::from(access.size) {
        let address = of.get(&(access.processor.0, byte)).copied().unwrap_or(byte);
        match pieces.last_mut() {
            Some((first, size)) if *first + u64::from(*size) == address => *size += 1,
            _ => pieces.push((address, 1)),
        }
    }
    pieces
}

#[test]
fn a_mapped_program_is_the_program_written_with_the_mapped_addresses() {
    let (mut moved, mut cut, mut changed) = (0, 0, 0);
    for seed in 0..count() {
        let program = random(seed, 120, 640);
        let unit = [64, 128, 4096][seed as usize % 3];
        let protocol = [CoherenceProtocol::Lines, CoherenceProtocol::LazyRelease][seed as usize / 3 % 2];
        let settings = CoherenceSettings {
            unit,
            private_epochs: usize::MAX,
            shared_epochs: usize::MAX,
            ..CoherenceSettings::lines().with_protocol(protocol)
        };
        let (layout, blocks) = scene(seed, 1);
        let mut map = AddressMap::new(layout.clone(), unit);
        for &(start, size, object) in &blocks {
            map.place(None, start, size, object);
        }
        let of = addresses(&mut map, (&layout, &blocks), 8, unit);
        let mut simulation = CoherenceSimulation::new(settings).unwrap();
        let mut written = Program::default();
        let mut pieces = Vec::new();
        for event in &program.0 {
            match event {
                Event::Access(access) => {
                    map.pieces(access.processor, (access.address, access.size), &mut pieces);
                    for &(address, size) in &pieces {
                        simulation.access(&DataAccess { address, size, ..*access });
                    }
                    let expected = pieces_of(&of, access);
                    assert_eq!(pieces, expected, "seed {seed}: {access:?} of {blocks:?}, {layout:#?}");
                    moved += u64::from(expected[0].0 != access.address);
                    cut += u64::from(expected.len() > 1);
                    let piece = |&(address, size)| Event::Access(DataAccess { address, size, ..*access });
                    written.0.extend(expected.iter().map(piece));
                }
                Event::Sync(operation) => {
                    simulation.synchronise(operation);
                    written.0.push(Event::Sync(*operation));
                }
            }
        }
        let mapped = simulation.finish();
        assert_eq!(mapped, written.run(settings), "seed {seed}");
        let oracle = Oracle::new(&written.0, settings);
        let counts = (mapped.total_requests, mapped.upgrades());
        assert_eq!(counts, (oracle.requests.len() as u64, oracle.upgrades), "seed {seed}");
        changed += u64::from(mapped.transfers() != program.run(settings).transfers());
    }
    // Maps that change nothing would compare nothing.
    assert!(moved > 10 * count() && cut > count() && changed > count() / 3, "{moved} {cut} {changed}");
}

/// Streams of processors that access whole words, some of them under a lock.
fn streams(seed: u64) -> Vec<ProcessorStream> {
    let mut random = Random(seed);
    let processors = 2 + random.below(3) as u16;
    let mut streams: Vec<ProcessorStream> = vec![Vec::new(); processors.into()];
    streams[0].extend((1..processors).map(|child| (SiteId(90), StreamStep::Fork(ProcessorId(child)))));
    for stream in &mut streams {
        for _ in 0..40 {
            let lock = SyncToken(random.below(2));
            let is_locked = random.below(2) == 0;
            if is_locked {
                stream.push((SiteId(91), StreamStep::Lock(lock)));
            }
            let kind = [AccessKind::Read, AccessKind::Write, AccessKind::Update][random.below(3) as usize];
            let access = StreamStep::Access { address: 0x1000 + 8 * random.below(60), size: 8, kind };
            stream.push((SiteId(random.below(5) as u32), access));
            if is_locked {
                stream.push((SiteId(92), StreamStep::Unlock(lock)));
            }
        }
    }
    streams
}

#[test]
fn a_mapped_run_is_the_run_of_streams_with_the_mapped_addresses() {
    let mut changed = BTreeSet::new();
    for seed in 0..count() {
        let streams = streams(seed);
        let (layout, blocks) = scene(seed, 8);
        let settings = CoherenceSettings::lines();
        let setup = |objects: Vec<Block>, layout: Option<DataLayout>| VirtualRunSetup {
            settings,
            costs: StepCosts { access: 1, lock: 20, barrier: 100 },
            objects,
            nodes: Vec::new(),
            words_of: Vec::new(),
            records_of: Vec::new(),
            keeps_waits: true,
            layout,
        };
        let run = |streams: &[ProcessorStream], setup: &VirtualRunSetup| {
            let sources = streams.iter().map(|stream| stream.iter().copied()).collect();
            VirtualRun::of_recorded(sources, setup).unwrap()
        };
        let mapped = run(&streams, &setup(blocks.clone(), Some(layout.clone())));
        let before = run(&streams, &setup(blocks.clone(), None));
        let mut map = AddressMap::new(layout.clone(), 64);
        blocks.iter().for_each(|&(start, size, object)| map.place(None, start, size, object));
        let written: Vec<ProcessorStream> = (0..)
            .zip(&streams)
            .map(|(processor, stream)| {
                let step = |&(site, step): &(SiteId, StreamStep)| match step {
                    StreamStep::Access { address, size, kind } => {
                        let mut pieces = Vec::new();
                        map.pieces(ProcessorId(processor), (address, size), &mut pieces);
                        assert_eq!(pieces.len(), 1, "whole words are not cut");
                        (site, StreamStep::Access { address: pieces[0].0, size: pieces[0].1, kind })
                    }
                    _ => (site, step),
                };
                stream.iter().map(step).collect()
            })
            .collect();
        let written = run(&written, &setup(Vec::new(), None));
        assert_eq!(mapped.ends, written.ends, "seed {seed}");
        assert_eq!(mapped.waits, written.waits, "seed {seed}");
        let numbers = |run: &VirtualRun| {
            let found = &run.communication;
            (found.total_requests, found.transfers(), found.upgrades(), found.range())
        };
        assert_eq!(numbers(&mapped), numbers(&written), "seed {seed}");
        // What is fetched has the name that it had.
        let named = |run: &VirtualRun| {
            run.communication.flows.iter().map(|flow| flow.key.object).collect::<BTreeSet<_>>()
        };
        assert!(named(&mapped).is_subset(&blocks.iter().map(|block| Some(block.2)).chain([None]).collect()));
        assert!(named(&mapped).iter().any(Option::is_some));
        if numbers(&mapped) != numbers(&before) {
            changed.insert(seed);
        }
    }
    assert!(changed.len() as u64 > count() / 2, "{}", changed.len());
}
