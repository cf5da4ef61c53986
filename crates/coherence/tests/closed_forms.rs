//! Programs whose requests can be counted by hand, for 2, 4 and 8 processors.

#![allow(clippy::unwrap_used, reason = "tests")]

mod programs;

use longpole_coherence::{
    AccessKind, AccessPattern, CoherenceProtocol, CoherenceSettings, CommunicationResult, ProcessorId,
    RequestCause, SharingKind, SiteId, SyncObject, SyncOrigin, SyncToken,
};
use programs::Program;

const PROCESSORS: [u16; 3] = [2, 4, 8];
const ROUNDS: u64 = 50;
const READ: u32 = 1;
const WRITE: u32 = 2;
const ACQUIRE: u32 = 10;
const RELEASE: u32 = 11;
const LOCK: u64 = 7;

fn cold(result: &CommunicationResult) -> u64 {
    result.total_requests - result.transfers()
}

fn of(result: &CommunicationResult, pattern: AccessPattern) -> u64 {
    result.patterns().of(pattern).requests
}

/// Every order gives the same: happens-before leaves no choice.
fn assert_forced(result: &CommunicationResult) {
    let range = result.range();
    assert_eq!((range.necessary, range.possible), (result.transfers(), result.transfers()));
}

/// Protocols under which a program that is ordered by synchronisation has the same requests.
fn settings() -> [CoherenceSettings; 3] {
    let lines = CoherenceSettings::lines();
    [CoherenceProtocol::Lines, CoherenceProtocol::LazyRelease, CoherenceProtocol::Sequential]
        .map(|protocol| lines.with_protocol(protocol))
}

#[test]
fn a_ring_of_16_lines_is_fetched_once_an_item() {
    for settings in settings() {
        let mut program = Program::default();
        for item in 0..1000 {
            let slot = 0x1000 + item % 16 * 64;
            // The producer waits until the consumer has emptied the slot.
            program.acquire(0, 1, ACQUIRE);
            program.write(0, slot, 8, WRITE);
            program.release(0, 2, RELEASE);
            program.acquire(1, 2, ACQUIRE);
            program.read(1, slot, 8, READ);
            program.release(1, 1, RELEASE);
        }
        let result = program.run(settings);
        let consumer = |site| result.sum_flows(|flow| flow.key.reader)[&ProcessorId(1)].requests == site;
        assert!(consumer(16 + 984));
        assert_eq!((result.transfers(), cold(&result)), (984, 16 + 16));
        assert_eq!(of(&result, AccessPattern::Spsc), 984);
        assert_forced(&result);
        let last = result.requests.last().unwrap();
        let origin = SyncOrigin { object: SyncObject::Token(SyncToken(2)), site: SiteId(ACQUIRE) };
        let RequestCause::Invalidated { synchronisation, writes, .. } = &last.cause else { panic!() };
        assert_eq!((last.site, *synchronisation), (SiteId(READ), Some(origin)));
        assert_eq!((writes.len(), writes[0].processor, writes[0].site), (1, ProcessorId(0), SiteId(WRITE)));
    }
}

fn counters(processors: u16, address: impl Fn(u16) -> u64) -> Program {
    let mut program = Program::default();
    for _ in 0..ROUNDS {
        for processor in 0..processors {
            program.acquire(processor, LOCK, ACQUIRE);
            program.read(processor, address(processor), 8, READ);
            program.write(processor, address(processor), 8, WRITE);
            program.release(processor, LOCK, RELEASE);
        }
    }
    program
}

#[test]
fn a_counter_under_a_lock_migrates() {
    for (settings, processors) in settings().into_iter().flat_map(|one| PROCESSORS.map(|count| (one, count)))
    {
        let result = counters(processors, |_| 0x1000).run(settings);
        let expected = u64::from(processors) * (ROUNDS - 1);
        assert_eq!((result.transfers(), cold(&result)), (expected, processors.into()));
        assert_eq!(of(&result, AccessPattern::Migratory), expected);
        // Each holder reads, which leaves the one before it a copy, and then writes.
        let is_lazy = settings.protocol == CoherenceProtocol::LazyRelease;
        assert_eq!(result.upgrades(), if is_lazy { 0 } else { u64::from(processors) * ROUNDS - 1 });
        assert_forced(&result);
    }
}

#[test]
fn counters_on_one_line_are_falsely_shared() {
    for (settings, processors) in settings().into_iter().flat_map(|one| PROCESSORS.map(|count| (one, count)))
    {
        let result = counters(processors, |processor| 0x1000 + u64::from(processor) * 8).run(settings);
        let expected = u64::from(processors) * (ROUNDS - 1);
        assert_eq!((result.transfers(), cold(&result)), (expected, processors.into()));
        // By order they migrate: each holder reads and then writes. By bytes nothing does.
        assert_eq!(of(&result, AccessPattern::FalseSharing), expected);
        let false_sharing: u64 = result.flows.iter().map(|flow| flow.totals.false_sharing).sum();
        assert_eq!(false_sharing, expected);
        assert_eq!(result.used_share(), Some(1.0 / 8.0));
    }
}

#[test]
fn a_broadcast_is_fetched_by_each_reader_in_each_round() {
    for (settings, processors) in settings().into_iter().flat_map(|one| PROCESSORS.map(|count| (one, count)))
    {
        let mut program = Program::default();
        for _ in 0..ROUNDS {
            program.write(0, 0x1000, 8, WRITE);
            program.barrier(processors, 1, ACQUIRE);
            (1..processors).for_each(|reader| program.read(reader, 0x1000, 8, READ));
            program.barrier(processors, 1, ACQUIRE);
        }
        let result = program.run(settings);
        let expected = u64::from(processors - 1) * (ROUNDS - 1);
        assert_eq!((result.transfers(), cold(&result)), (expected, processors.into()));
        let pattern = if processors == 2 { AccessPattern::Spsc } else { AccessPattern::Spmc };
        assert_eq!(of(&result, pattern), expected);
        assert_forced(&result);
        let is_lazy = settings.protocol == CoherenceProtocol::LazyRelease;
        assert_eq!(result.upgrades(), if is_lazy { 0 } else { ROUNDS - 1 });
    }
}

#[test]
fn neighbours_fetch_from_both_sides() {
    for (settings, processors) in settings().into_iter().flat_map(|one| PROCESSORS.map(|count| (one, count)))
    {
        let line = |processor: u16| 0x1000 + u64::from(processor) * 64;
        let mut program = Program::default();
        for _ in 0..ROUNDS {
            (0..processors).for_each(|own| program.write(own, line(own), 8, WRITE));
            program.barrier(processors, 1, ACQUIRE);
            for own in 0..processors {
                if own > 0 {
                    program.read(own, line(own - 1), 8, READ);
                }
                if own + 1 < processors {
                    program.read(own, line(own + 1), 8, READ);
                }
            }
            program.barrier(processors, 1, ACQUIRE);
        }
        let result = program.run(settings);
        assert_eq!(result.transfers(), 2 * u64::from(processors - 1) * (ROUNDS - 1));
        assert_forced(&result);
        let pairs = result.sum_flows(|flow| match flow.key.origin {
            longpole_coherence::FlowOrigin::Written { writer, .. } => {
                Some(flow.key.reader.0.abs_diff(writer.0))
            }
            longpole_coherence::FlowOrigin::Cold => None,
        });
        assert_eq!(pairs.keys().copied().collect::<Vec<_>>(), [None, Some(1)]);
    }
}

/// Two structs of 64 bytes, one after the other; each processor updates the last 40 bytes of its own (five sums of a
/// regression, after an id, a pointer and a count).
#[test]
fn two_structs_share_a_line_at_two_of_four_offsets() {
    for (offset, is_shared) in [(0, false), (16, true), (32, true), (48, false)] {
        let mut program = Program::default();
        for _ in 0..ROUNDS {
            for (processor, field) in [0, 1].into_iter().flat_map(|one| (3..8).map(move |field| (one, field)))
            {
                let address = 0x1000 + offset + u64::from(processor) * 64 + field * 8;
                program.access(processor, AccessKind::Update, address, 8, WRITE);
            }
        }
        let result = program.run(CoherenceSettings::lines());
        assert_eq!(result.transfers() > 0, is_shared, "offset {offset}");
        assert_eq!(of(&result, AccessPattern::FalseSharing), result.transfers());
        // Nothing orders the two: no request is necessary.
        assert_eq!((result.range().necessary, result.range().possible > 0), (0, is_shared));
        let causes = result.requests.iter().filter_map(|request| match &request.cause {
            RequestCause::Invalidated { synchronisation, .. } => Some(*synchronisation),
            RequestCause::Cold => None,
        });
        assert!(causes.into_iter().all(|synchronisation| synchronisation.is_none()));
    }
}

#[test]
fn a_table_that_is_only_read_is_cold_once_a_reader() {
    for (settings, processors) in settings().into_iter().flat_map(|one| PROCESSORS.map(|count| (one, count)))
    {
        let mut program = Program::default();
        program.write(0, 0x1000, 64, WRITE);
        program.barrier(processors, 1, ACQUIRE);
        for _ in 0..ROUNDS {
            (0..processors).for_each(|own| program.read(own, 0x1000, 8, READ));
            program.barrier(processors, 1, ACQUIRE);
        }
        let result = program.run(settings);
        assert_eq!((result.transfers(), result.total_requests), (0, processors.into()));
        assert_eq!(of(&result, AccessPattern::ReadOnly), u64::from(processors - 1));
        assert!(result.requests.iter().all(|one| one.outcome.unwrap().sharing == SharingKind::Cold));
    }
}
