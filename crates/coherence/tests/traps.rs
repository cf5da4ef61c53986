//! Slips that simulators of coherence make, each as a small program.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, reason = "tests")]

mod programs;

use longpole_coherence::{
    AccessKind, AccessPattern, CausalityGraph, CauseMatrix, CoherenceProtocol, CoherenceSettings,
    DataObjectId, Error, ProcessorId, ProcessorStream, RequestCause, SharingKind, SiteId, StepCosts,
    StreamStep, SyncKind, SyncToken, VirtualRun, VirtualWaitCause,
};
use programs::{Event, Program};

const LAZY: CoherenceProtocol = CoherenceProtocol::LazyRelease;

#[test]
fn a_downgrade_clears_what_the_owner_wrote() {
    let mut program = Program::default();
    program.read(1, 0x1000, 8, 1);
    program.write(0, 0x1000, 8, 2);
    program.read(1, 0x1000, 8, 1);
    // The reader has these bytes; what makes it fetch again are others.
    program.write(0, 0x1008, 8, 3);
    program.read(1, 0x1000, 8, 1);
    let result = program.run(CoherenceSettings::lines());
    let sharing: Vec<_> = result.requests.iter().map(|one| one.outcome.unwrap().sharing).collect();
    assert_eq!(sharing, [SharingKind::Cold, SharingKind::Cold, SharingKind::True, SharingKind::False]);
    let RequestCause::Invalidated { stale, writes, .. } = &result.requests[3].cause else { panic!() };
    assert_eq!((stale.ranges(), writes.len(), writes[0].site), (vec![8..16], 1, SiteId(3)));
}

/// Rows of a page: each processor updates its own row, page by page in turn, as red-black sweeps of tiles do.
fn sweeps(processors: u16, rounds: u64) -> Program {
    let mut program = Program::default();
    for _ in 0..rounds {
        for processor in 0..processors {
            program.acquire(processor, 5, 10);
            for word in 0..32 {
                let address = 0x10000 + u64::from(processor) * 1024 + word * 8;
                program.access(processor, AccessKind::Read, address, 8, 88);
                program.access(processor, AccessKind::Write, address, 8, 90);
            }
            program.release(processor, 5, 11);
        }
    }
    program
}

#[test]
fn holders_that_take_turns_on_a_page_do_not_migrate_by_order_alone() {
    for protocol in [LAZY, CoherenceProtocol::Sequential] {
        let result = sweeps(4, 20).run(CoherenceSettings::pages(8192).with_protocol(protocol));
        assert_eq!(result.patterns().share(AccessPattern::FalseSharing), Some(1.0));
        assert_eq!(result.used_share(), Some(32.0 / 1024.0));
    }
}

#[test]
fn a_datum_migrates_while_its_page_does_not() {
    let mut program = Program::default();
    // Molecules of 64 bytes on one page, each under its own lock; all processors visit all molecules.
    for step in 0..160 {
        let (processor, molecule) = ((step % 4) as u16, (step / 4 + step * 3) % 8);
        program.acquire(processor, molecule, 10);
        program.access(processor, AccessKind::Update, 0x10000 + molecule * 64, 64, 1);
        program.release(processor, molecule, 11);
    }
    let datum = program.run(CoherenceSettings { unit: 8, ..CoherenceSettings::lines() });
    assert_eq!(datum.patterns().share(AccessPattern::Migratory), Some(1.0));
    let page = program.run(CoherenceSettings::pages(4096).with_protocol(CoherenceProtocol::Sequential));
    assert!(page.patterns().share(AccessPattern::Migratory).unwrap() < 0.2);
    assert!(page.patterns().of(AccessPattern::FalseSharing).requests > 100);
}

#[test]
fn unordered_writes_invalidate_lines_and_not_lazy_pages() {
    let mut program = Program::default();
    for _ in 0..10 {
        program.write(0, 0x1000, 8, 1);
        program.write(1, 0x1008, 8, 2);
    }
    let lines = program.run(CoherenceSettings::lines());
    assert_eq!((lines.transfers(), lines.total_requests), (18, 20));
    assert_eq!((lines.range().necessary, lines.range().possible), (0, 18));
    let unordered =
        |cause: &RequestCause| matches!(cause, RequestCause::Invalidated { synchronisation: None, .. });
    assert_eq!(lines.requests.iter().filter(|one| unordered(&one.cause)).count(), 18);
    let pages = program.run(CoherenceSettings::pages(4096));
    assert_eq!(pages.transfers(), 0);
}

#[test]
fn a_lazy_copy_becomes_invalid_at_the_acquire_and_not_at_another() {
    let mut program = Program::default();
    program.read(1, 0x1000, 8, 1);
    program.write(0, 0x1000, 8, 2);
    program.release(0, 7, 20);
    program.acquire(1, 8, 21);
    program.read(1, 0x1000, 8, 1);
    program.acquire(1, 7, 22);
    program.acquire(1, 7, 23);
    program.read(1, 0x1000, 8, 3);
    let result = program.run(CoherenceSettings::pages(4096));
    assert_eq!(result.total_requests, 3);
    let RequestCause::Invalidated { synchronisation, .. } = &result.requests[2].cause else { panic!() };
    assert_eq!((result.requests[2].site, synchronisation.unwrap().site), (SiteId(3), SiteId(22)));
}

#[test]
fn a_barrier_orders_by_episode() {
    let mut program = Program::default();
    program.read(1, 0x1000, 8, 1);
    program.barrier(2, 3, 20);
    // The writer is already at the next episode while the reader still works in this one.
    program.write(0, 0x1000, 8, 2);
    program.sync(0, SyncKind::Barrier { expected: 2 }, 3, 20);
    program.read(1, 0x1000, 8, 1);
    assert_eq!(program.run(CoherenceSettings::pages(4096)).transfers(), 0);
    let lines = program.run(CoherenceSettings::lines());
    let RequestCause::Invalidated { synchronisation, .. } = &lines.requests[2].cause else { panic!() };
    assert_eq!(*synchronisation, None);
}

#[test]
fn a_release_store_ends_what_the_token_carried() {
    for (kind, transfers) in
        [(SyncKind::Release, 1), (SyncKind::ReleaseStore, 0), (SyncKind::RelaxedStore, 0)]
    {
        let mut program = Program::default();
        program.read(1, 0x1000, 8, 1);
        program.write(0, 0x1000, 8, 2);
        program.release(0, 7, 20);
        program.sync(2, kind, 7, 21);
        program.acquire(1, 7, 22);
        program.read(1, 0x1000, 8, 1);
        assert_eq!(program.run(CoherenceSettings::pages(4096)).transfers(), transfers, "{kind:?}");
    }
}

#[test]
fn an_access_over_the_end_of_a_line_is_two() {
    let mut program = Program::default();
    program.write(0, 0x103c, 8, 1);
    program.write(0, u64::MAX - 3, 8, 1);
    program.write(0, 0x2000, 0, 1);
    let result = program.run(CoherenceSettings::lines());
    let units: Vec<u64> = result.requests.iter().map(|one| one.unit).collect();
    assert_eq!(units, [0x1000, 0x1040, u64::MAX - 63]);
    assert_eq!(result.units[0].uses[0].written.ranges(), [60..64]);
}

#[test]
fn units_have_sizes_that_masks_can_have() {
    for bytes in [0, 4, 48, 1 << 21] {
        let settings = CoherenceSettings { unit: bytes, ..CoherenceSettings::lines() };
        let error = longpole_coherence::CoherenceSimulation::new(settings).err();
        assert_eq!(error, Some(Error::Unit { bytes }));
    }
}

#[test]
fn requests_beyond_the_records_are_still_counted() {
    let program = sweeps(4, 20);
    let all = program.run(CoherenceSettings::lines());
    let few = program.run(CoherenceSettings { records: 3, ..CoherenceSettings::lines() });
    assert_eq!((few.requests.len(), few.total_requests), (3, all.total_requests));
    assert_eq!((few.flows, few.units), (all.flows, all.units));
}

#[test]
fn chains_lead_back_to_the_previous_copy() {
    let mut program = Program::default();
    for processor in [0, 1, 2, 0, 1, 2] {
        program.acquire(processor, 7, 20);
        program.access(processor, AccessKind::Update, 0x1000, 8, u32::from(processor));
        program.release(processor, 7, 21);
    }
    let result = program.run(CoherenceSettings::lines());
    // The second request of processor 0: written by 1 and 2, whose own copies were first references.
    let explanation = result.explain(3, 10).unwrap();
    assert_eq!((explanation.ways, explanation.is_cut), (vec![vec![3, 1], vec![3, 2]], false));
    // The second one of processor 2: back to its first one, or past it.
    let ways = result.explain(5, 10).unwrap().ways;
    assert_eq!(ways, [vec![5, 3, 1], vec![5, 3, 2], vec![5, 4, 2], vec![5, 4, 3, 1], vec![5, 4, 3, 2]]);
    assert!(result.explain(3, 1).unwrap().is_cut);
    assert_eq!(result.explain(0, 10).unwrap().ways, [vec![0]]);
    assert_eq!(result.explain(6, 10), None);
}

#[test]
fn a_chain_ends_before_the_previous_copy_if_the_writer_kept_its_own() {
    let mut program = Program::default();
    for round in 0..1000 {
        // Processor 0 keeps a copy: its writes are upgrades, and its only request is its first reference.
        program.write(0, 0x1000, 8, 1);
        program.read(1 + round % 2, 0x1000, 8, 2);
    }
    let result = program.run(CoherenceSettings::lines());
    assert_eq!(result.explain(1000, 10).unwrap().ways, [vec![1000, 0]]);
}

#[test]
fn units_that_behave_alike_are_one_graph() {
    let mut program = Program::default();
    for round in 0..20 {
        for page in 0..8 {
            // Pages 0 to 5: written at 88, read at 90. Pages 6 and 7: the other way round.
            let (write, read) = if page < 6 { (88, 90) } else { (90, 88) };
            program.write(0, 0x10000 + page * 4096, 8, write);
            program.write(0, 0x10000 + page * 4096 + 8, 8, if round % 20 == 0 { 91 } else { write });
            program.barrier(2, 3, 20);
            program.read(1, 0x10000 + page * 4096, 16, read);
            program.barrier(2, 3, 20);
        }
    }
    let result = program.run(CoherenceSettings::pages(4096));
    let graphs = CausalityGraph::merge_alike(CausalityGraph::by_unit(&result.flows, None));
    let units: Vec<usize> = graphs.iter().map(|graph| graph.units.len()).collect();
    assert_eq!(units, [6, 2]);
    let edge = graphs[0].edges.keys().next().unwrap();
    assert_eq!((edge.write_site, edge.read_site), (SiteId(88), SiteId(90)));
    assert_eq!(graphs.iter().map(CausalityGraph::cost).sum::<u64>(), result.transfers() * 2_000_000);
    let matrix = CauseMatrix::of(&result, &graphs[0].units, None);
    let text = matrix.text(|site| format!("bb {}", site.0), |origin| format!("barrier {}", origin.site.0));
    let expected = "\
\x20       0           1      2
cost    90 %        5 %    5 %
R       bb 90       bb 88  bb 90
I       barrier 20  cold   cold
W       bb 88       -      -
from 0  -           -      -
from 1  100 %       -      -
from 2  -           -      -
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn requests_are_charged_to_the_object_at_the_accessed_address() {
    let mut program = Program::default();
    for round in 0..3 {
        program.write(0, 0x1000, 8, 1);
        program.write(1, 0x1000 + 8 * (round % 2), 8, 2);
    }
    let mut simulation = longpole_coherence::CoherenceSimulation::new(CoherenceSettings::lines()).unwrap();
    simulation.place_object(0x1000, 8, DataObjectId(1));
    simulation.place_object(0x1008, 8, DataObjectId(2));
    for event in &program.0 {
        let Event::Access(access) = event else { panic!() };
        simulation.access(access);
    }
    let sums = simulation.finish().sum_flows(|flow| flow.key.object.map(|object| object.0));
    let requests: Vec<_> = sums.iter().map(|(object, sum)| (*object, sum.requests)).collect();
    assert_eq!(requests, [(Some(1), 5), (Some(2), 1)]);
}

const COSTS: StepCosts = StepCosts { access: 1, lock: 10, barrier: 20 };

fn update(address: u64) -> (SiteId, StreamStep) {
    (SiteId(1), StreamStep::Access { address, size: 8, kind: AccessKind::Update })
}

#[test]
fn virtual_time_finds_the_transfers_that_long_slices_hide() {
    for processors in [2, 4, 8] {
        const UPDATES: u64 = 1000;
        let streams: Vec<ProcessorStream> =
            (0..processors).map(|own| vec![update(0x1000 + own * 8); UPDATES as usize]).collect();
        // As a machine with one processor would record it: one thread after the other.
        let mut slices = Program::default();
        for (own, _) in (0..processors).flat_map(|own| (0..UPDATES).map(move |update| (own, update))) {
            slices.access(own as u16, AccessKind::Update, 0x1000 + own * 8, 8, 1);
        }
        let slices = slices.run(CoherenceSettings::lines());
        assert_eq!(slices.transfers(), 0);
        let run = VirtualRun::of(&streams, CoherenceSettings::lines(), COSTS).unwrap();
        assert_eq!(run.communication.transfers(), processors * UPDATES - processors);
        let range = slices.range();
        assert_eq!((range.necessary, range.possible), (0, processors * (UPDATES - 1)));
        assert_eq!(run.communication.range(), range);
        assert_eq!(run.ends, vec![UPDATES * 101; processors as usize]);
    }
}

#[test]
fn locks_go_to_who_asked_first_in_virtual_time() {
    let token = SyncToken(7);
    let critical = |before| {
        let step = |step| (SiteId(2), step);
        vec![
            step(StreamStep::Compute(before)),
            step(StreamStep::Lock(token)),
            step(StreamStep::Compute(100)),
            step(StreamStep::Unlock(token)),
        ]
    };
    let run = VirtualRun::of(&[critical(30), critical(20), critical(0)], CoherenceSettings::lines(), COSTS)
        .unwrap();
    // 0 + 10 + 100; then 110 + 10 + 100; then 220 + 10 + 100.
    assert_eq!(run.ends, [330, 220, 110]);
    let waits: Vec<_> = run.waits.iter().map(|wait| (wait.processor.0, wait.start, wait.end)).collect();
    assert_eq!(waits, [(2, 0, 10), (1, 20, 120), (0, 30, 230)]);
    assert_eq!(run.waits[1].enabled_by, Some(ProcessorId(2)));
    assert_eq!(run.waits[1].cause, VirtualWaitCause::Token(token));
}

#[test]
fn barriers_semaphores_and_joins_wait_for_the_last() {
    let step = |step| (SiteId(3), step);
    let (barrier, semaphore) = (SyncToken(1), SyncToken(2));
    let first = vec![
        step(StreamStep::Fork(ProcessorId(1))),
        step(StreamStep::Barrier(barrier, 2)),
        step(StreamStep::Await(semaphore)),
        step(StreamStep::Join(ProcessorId(1))),
    ];
    let second = vec![
        step(StreamStep::Compute(50)),
        step(StreamStep::Barrier(barrier, 2)),
        step(StreamStep::Compute(5)),
        step(StreamStep::Post(semaphore)),
        step(StreamStep::Compute(40)),
    ];
    let run = VirtualRun::of(&[first, second], CoherenceSettings::lines(), COSTS).unwrap();
    assert_eq!(run.ends, [115, 115]);
    let waits: Vec<_> = run.waits.iter().map(|wait| (wait.processor.0, wait.start, wait.end)).collect();
    assert_eq!(waits, [(0, 0, 70), (1, 50, 70), (0, 70, 85), (0, 85, 115)]);
}

#[test]
fn streams_that_cannot_go_on_are_refused() {
    let run = |streams: &[ProcessorStream]| VirtualRun::of(streams, CoherenceSettings::lines(), COSTS).err();
    let step = |step| (SiteId(3), step);
    let (one, two) = (SyncToken(1), SyncToken(2));
    let hold = |first, second| vec![step(StreamStep::Lock(first)), step(StreamStep::Lock(second))];
    let blocked = vec![ProcessorId(0), ProcessorId(1)];
    assert_eq!(run(&[hold(one, two), hold(two, one)]), Some(Error::Deadlock { blocked, steps: vec![1, 1] }));
    let processor = ProcessorId(0);
    assert_eq!(run(&[vec![step(StreamStep::Unlock(one))]]), Some(Error::NotHeld { processor, token: one }));
    let child = ProcessorId(1);
    assert_eq!(run(&[vec![step(StreamStep::Fork(child))]]), Some(Error::NoStream { processor, child }));
}
