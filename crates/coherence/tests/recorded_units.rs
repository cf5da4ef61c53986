//! Records of the requests of some units: the same requests, with the same chains, as if all were recorded.

use longpole_coherence::{
    AccessKind, CoherenceSettings, CommunicationResult, ProcessorId, SiteId, StepCosts, StreamStep,
    VirtualRun, VirtualRunSetup,
};

const UNITS: [u64; 4] = [0x1000, 0x1040, 0x1080, 0x10c0];

/// Processors that access words of four lines in pseudo-random order; the first one creates the others.
fn run(records_of: &[u64]) -> CommunicationResult {
    let mut state = 11_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let streams = (0..4_u16).map(|processor| {
        let forks = (1..4).filter(|_| processor == 0).map(|child| StreamStep::Fork(ProcessorId(child)));
        let mut steps: Vec<_> = forks.map(|fork| (SiteId(9), fork)).collect();
        for _ in 0..200 {
            let kind = [AccessKind::Read, AccessKind::Write, AccessKind::Update][below(3) as usize];
            let (address, site) = (UNITS[below(4) as usize] + 8 * below(8), SiteId(below(3) as u32));
            steps.push((site, StreamStep::Access { address, size: 8, kind }));
        }
        steps.into_iter()
    });
    let setup = VirtualRunSetup {
        settings: CoherenceSettings::lines(),
        costs: StepCosts { access: 1, lock: 20, barrier: 100 },
        objects: Vec::new(),
        nodes: Vec::new(),
        words_of: Vec::new(),
        records_of: records_of.to_vec(),
        keeps_waits: false,
        layout: None,
    };
    VirtualRun::of_recorded(streams.collect(), &setup).expect("streams that end").communication
}

#[test]
fn requests_of_some_units_have_the_chains_that_they_have_among_all() {
    let (all, some) = (run(&[]), run(&[UNITS[1], UNITS[3]]));
    assert_eq!((&all.flows, &all.units, all.total_requests), (&some.flows, &some.units, some.total_requests));
    let of_units = all.requests.iter().filter(|request| [UNITS[1], UNITS[3]].contains(&request.unit));
    let numbers: Vec<u64> = of_units.map(|request| request.id).collect();
    assert!(numbers.len() > 200 && numbers.len() == some.requests.len());
    for (number, request) in (0..).zip(&some.requests) {
        assert_eq!(request.id, number);
        let expected = &all.requests[numbers[number as usize] as usize];
        assert_eq!((request.processor, request.time), (expected.processor, expected.time));
        let chains = some.explain(number, 1000).expect("a record");
        let renumbered = chains.ways.iter().map(|way| way.iter().map(|&id| numbers[id as usize]).collect());
        let expected = all.explain(expected.id, 1000).expect("a record");
        assert_eq!((renumbered.collect::<Vec<Vec<u64>>>(), chains.is_cut), (expected.ways, expected.is_cut));
    }
}
