//! The simulation beside the oracle on random programs.
//!
//! 300 programs by default; `LONGPOLE_COHERENCE_PROGRAMS=10000` for more, `LONGPOLE_COHERENCE_SEED` for others.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod oracle;
mod programs;

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{
    AccessKind, AccessPattern, ByteSet, CausalityGraph, CauseMatrix, CoherenceProtocol, CoherenceSettings,
    CoherenceSimulation, CommunicationResult, DataObjectId, DataRequest, FlowKey, FlowTotals, PatternTallies,
    ProcessorId, RequestCause, SyncKind,
};
use oracle::{Oracle, Piece, Seen};
use programs::{Program, random, small};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

fn addresses(unit: u64, bytes: &ByteSet) -> BTreeSet<u64> {
    bytes.ranges().into_iter().flatten().map(|offset| unit + u64::from(offset)).collect()
}

fn seen(request: &DataRequest) -> Seen {
    let outcome = request.outcome.unwrap();
    let cause = match &request.cause {
        RequestCause::Cold => None,
        RequestCause::Invalidated { synchronisation, writes, stale } => {
            let write = |write: &longpole_coherence::InvalidatingWrite| {
                (write.processor, write.site, write.ordered_by, write.request)
            };
            Some((*synchronisation, writes.iter().map(write).collect(), addresses(request.unit, stale)))
        }
    };
    Seen {
        processor: request.processor,
        site: request.site,
        time: request.time,
        unit: request.unit,
        offset: request.offset,
        kind: request.kind,
        cause,
        words: outcome.words,
        sharing: outcome.sharing,
        is_migratory: outcome.is_migratory,
    }
}

fn compare(seed: u64, program: &Program, settings: CoherenceSettings) -> u64 {
    let result = program.run(settings);
    let oracle = Oracle::new(&program.0, settings);
    let about = format!("seed {seed}, {settings:?}");
    let found: Vec<Seen> = result.requests.iter().map(seen).collect();
    for (found, expected) in found.iter().zip(&oracle.requests) {
        assert_eq!(found, expected, "{about}, {:#?}", program.0);
    }
    assert_eq!(found.len(), oracle.requests.len(), "{about}");
    assert_eq!(result.total_requests, oracle.requests.len() as u64, "{about}");
    assert_eq!(result.upgrades(), oracle.upgrades, "{about}");
    compare_sums(&result, &oracle, &about);
    compare_units(&result, &oracle, settings, &about);
    result.transfers()
}

fn compare_sums(result: &CommunicationResult, oracle: &Oracle, about: &str) {
    let totals = |totals: longpole_coherence::FlowTotals| {
        let longpole_coherence::FlowTotals { requests, contributions, cost, .. } = totals;
        [requests, contributions, cost, totals.false_sharing, totals.true_sharing, totals.words_used]
    };
    let flows: BTreeMap<_, _> = result.flows.iter().map(|flow| (flow.key, totals(flow.totals))).collect();
    assert_eq!(flows.len(), result.flows.len(), "{about}");
    assert_eq!(flows, oracle.flows(), "{about}");
    let key = |index: usize| result.flows[index].key;
    let transitions: BTreeMap<_, _> =
        result.transitions.iter().map(|one| ((key(one.from), key(one.to)), one.count)).collect();
    assert_eq!(transitions, oracle.transitions(), "{about}");
}

fn compare_units(result: &CommunicationResult, oracle: &Oracle, settings: CoherenceSettings, about: &str) {
    let mut patterns = BTreeMap::new();
    let mut bytes = BTreeMap::new();
    for unit in &result.units {
        for pattern in AccessPattern::ALL {
            let tally = unit.patterns.of(pattern);
            assert_eq!(tally.cost, tally.requests * settings.costs.request, "{about}");
            if tally.requests > 0 {
                patterns.insert((unit.address, pattern), tally.requests);
            }
        }
        for one in &unit.uses {
            let (read, written) = (addresses(unit.address, &one.read), addresses(unit.address, &one.written));
            bytes.insert((unit.address, one.processor), (read, written, one.accesses, one.writes));
        }
        let own = oracle.requests.iter().filter(|request| request.unit == unit.address);
        let words: u64 = own.clone().map(|request| request.words).sum();
        assert_eq!(
            (unit.words_used, unit.words_fetched),
            (words, own.clone().count() as u64 * settings.unit / 8)
        );
        let transfers = own.filter(|request| request.cause.is_some()).count() as u64;
        let (necessary, possible) = oracle.range(unit.address);
        let range = unit.range;
        if settings.shared_epochs == usize::MAX {
            assert_eq!((range.necessary, range.possible), (necessary, possible), "{about}");
        }
        assert!(range.necessary <= necessary && possible <= range.possible, "{about}");
        assert!(range.necessary <= transfers && transfers <= range.possible, "{about}");
    }
    assert_eq!(patterns, oracle.patterns(), "{about}");
    let mut by_flow = BTreeMap::new();
    for (index, flow) in result.flows.iter().enumerate() {
        let of_flow = result.patterns_of(index);
        for pattern in AccessPattern::ALL {
            let tally = of_flow.of(pattern);
            assert_eq!(tally.cost, tally.requests * settings.costs.request, "{about}");
            if tally.requests > 0 {
                by_flow.insert((flow.key, pattern), tally.requests);
            }
        }
    }
    assert_eq!(by_flow, oracle.flow_patterns(), "{about}");
    assert_eq!(bytes, oracle.byte_map(), "{about}");
}

#[test]
fn the_simulation_finds_what_the_whole_event_list_says() {
    let (count, seed) = (number("LONGPOLE_COHERENCE_PROGRAMS", 300), number("LONGPOLE_COHERENCE_SEED", 1));
    let mut transfers = BTreeMap::new();
    for seed in seed..seed + count {
        let program = random(seed, 20 + (seed % 5) as usize * 30, [64, 160, 640][seed as usize % 3]);
        for protocol in
            [CoherenceProtocol::Lines, CoherenceProtocol::LazyRelease, CoherenceProtocol::Sequential]
        {
            let unit = [8, 64, 128, 4096][(seed / 3) as usize % 4];
            let exact = seed % 4 != 0;
            let settings = CoherenceSettings {
                unit,
                window: (seed % 2 == 0).then_some(150),
                private_epochs: if exact { usize::MAX } else { 2 },
                shared_epochs: if exact { usize::MAX } else { 3 },
                ..CoherenceSettings::lines().with_protocol(protocol)
            };
            *transfers.entry(format!("{protocol:?}")).or_insert(0) += compare(seed, &program, settings);
        }
    }
    println!("{count} programs, transfers by protocol: {transfers:?}");
    // Programs without transfers would compare nothing.
    assert!(transfers.values().all(|&transfers| transfers > count), "{transfers:?}");
}

/// Objects that part units: words of even and odd numbers.
fn with_objects(program: &Program, settings: CoherenceSettings) -> CommunicationResult {
    let mut simulation = CoherenceSimulation::new(settings).unwrap();
    for word in 0..200 {
        simulation.place_object(0x1000 + word * 8, 8, DataObjectId((word % 2) as u32));
    }
    for event in &program.0 {
        match event {
            programs::Event::Access(access) => {
                simulation.access(access);
            }
            programs::Event::Sync(operation) => simulation.synchronise(operation),
        }
    }
    simulation.finish()
}

#[test]
fn graphs_and_matrices_of_objects_hold_every_request_and_transition_once() {
    let (mut elsewhere, mut several) = (0, 0);
    for seed in 0..number("LONGPOLE_COHERENCE_PROGRAMS", 300) {
        let result = with_objects(&random(seed, 100, 160), CoherenceSettings::lines());
        let objects: BTreeSet<_> = result.flows.iter().map(|flow| flow.key.object).collect();
        let mut groups = BTreeMap::new();
        let mut graphs = Vec::new();
        for object in objects {
            let flows: Vec<_> =
                result.flows.iter().filter(|flow| flow.key.object == object).copied().collect();
            for graph in CausalityGraph::merge_alike(CausalityGraph::by_unit(&flows, None)) {
                several += u64::from(graph.units.len() > 1);
                for &unit in &graph.units {
                    assert_eq!(groups.insert((object, unit), graphs.len()), None, "seed {seed}");
                }
                graphs.push(graph);
            }
        }
        let group = |key: &FlowKey| groups.get(&(key.object, key.unit)).copied();
        let matrices = CauseMatrix::of_groups(&result, graphs.len(), group);
        let (mut requests, mut cost, mut steps) = (0, 0, 0);
        let mut patterns = PatternTallies::default();
        for (graph, matrix) in graphs.iter().zip(&matrices) {
            let edges = || graph.edges.values().chain(graph.cold.values());
            let columns = || matrix.columns.iter().map(|(_, totals)| totals);
            // A column for each edge and each place of first references, with the same sums.
            assert_eq!(columns().count(), edges().count(), "seed {seed}");
            let values: [fn(&FlowTotals) -> u64; 3] =
                [|totals| totals.requests, |totals| totals.cost, |totals| totals.contributions];
            for value in values {
                assert_eq!(columns().map(value).sum::<u64>(), edges().map(value).sum::<u64>(), "seed {seed}");
            }
            for (&(from, to), &count) in &matrix.transitions {
                let [read, write] =
                    [matrix.columns[from].0.read_site, matrix.columns[to].0.written.unwrap().1];
                assert!(graph.nodes.contains_key(&read) && graph.nodes.contains_key(&write));
                steps += count;
            }
            steps += matrix.elsewhere.values().sum::<u64>();
            elsewhere += matrix.elsewhere.values().sum::<u64>();
            requests += columns().map(|totals| totals.requests).sum::<u64>();
            cost += columns().map(|totals| totals.cost).sum::<u64>();
            matrix.patterns.iter().for_each(|of_column| patterns.merge(of_column));
        }
        assert_eq!((requests, cost), (result.total_requests, result.total_requests * 100), "seed {seed}");
        assert_eq!(steps, result.transitions.iter().map(|one| one.count).sum::<u64>(), "seed {seed}");
        assert_eq!(patterns, result.patterns(), "seed {seed}");
    }
    assert!(elsewhere > 100 && several > 100, "{elsewhere} {several}");
}

/// Least and most requests, without first references, of a processor over all orders of the pieces that happens-before
/// allows: every order is tried.
struct Orders<'a> {
    oracle: &'a Oracle,
    /// By processor: least, most.
    found: BTreeMap<u16, (u64, u64)>,
    sums: (u64, u64),
}

impl Orders<'_> {
    fn extend(&mut self, order: &mut Vec<usize>) {
        let pieces = &self.oracle.pieces;
        if order.len() == pieces.len() {
            return self.count(order);
        }
        for next in 0..pieces.len() {
            let waits_for =
                |other: usize| self.oracle.before[pieces[next].event].contains(&pieces[other].event);
            if !order.contains(&next)
                && (0..pieces.len()).all(|other| order.contains(&other) || !waits_for(other))
            {
                order.push(next);
                self.extend(order);
                order.pop();
            }
        }
    }

    fn count(&mut self, order: &[usize]) {
        let mut sum = 0;
        for (&processor, found) in &mut self.found {
            let mut requests = 0;
            // None: no copy yet.
            let mut is_valid = None;
            for piece in order.iter().map(|&piece| -> &Piece { &self.oracle.pieces[piece] }) {
                if piece.processor.0 == processor {
                    requests += u64::from(is_valid == Some(false));
                    is_valid = Some(true);
                } else if piece.kind.is_write() {
                    is_valid = is_valid.map(|_| false);
                }
            }
            *found = (found.0.min(requests), found.1.max(requests));
            sum += requests;
        }
        self.sums = (self.sums.0.min(sum), self.sums.1.max(sum));
    }
}

#[test]
fn ranges_hold_over_every_order_and_are_exact_for_each_processor() {
    let count = number("LONGPOLE_COHERENCE_PROGRAMS", 300);
    let (mut tried, mut wide, mut forced) = (0, 0, 0);
    for seed in 0..count {
        let program = small(seed);
        let settings = CoherenceSettings { shared_epochs: usize::MAX, ..CoherenceSettings::lines() };
        let settings = CoherenceSettings { private_epochs: usize::MAX, ..settings };
        let oracle = Oracle::new(&program.0, settings);
        let found = oracle.pieces.iter().map(|piece| (piece.processor.0, (u64::MAX, 0))).collect();
        let mut orders = Orders { oracle: &oracle, found, sums: (u64::MAX, 0) };
        orders.extend(&mut Vec::new());
        for (processor, found) in &orders.found {
            assert_eq!(oracle.range_of(0x1000, *processor), *found, "seed {seed}, processor {processor}");
        }
        let range = program.run(settings).range();
        let (least, most) = orders.sums;
        assert!(
            range.necessary <= least && most <= range.possible,
            "seed {seed}: {range:?}, {least} to {most}"
        );
        tried += 1;
        wide += u64::from(least < most);
        forced += u64::from(range.necessary > 0);
    }
    println!("{tried} programs in every order, {wide} with a choice, {forced} with necessary requests");
    assert!(wide > count / 10 && forced > count / 10);
}

/// Processors that go on while they wait, join themselves or are created twice: a recording can be torn anywhere.
#[test]
fn no_order_of_operations_panics() {
    for seed in 0..number("LONGPOLE_COHERENCE_PROGRAMS", 300) {
        let mut random = programs::Random(seed);
        let mut program = Program::default();
        for _ in 0..100 {
            let (processor, other) = (random.below(4) as u16, ProcessorId(random.below(5) as u16));
            let kind = match random.below(12) {
                0 => SyncKind::Fork { child: other },
                1 => SyncKind::Join { child: other },
                2 => SyncKind::Barrier { expected: random.below(4) as u32 },
                3 => SyncKind::Acquire,
                4 => SyncKind::Release,
                _ => {
                    let address = random.below(40).wrapping_sub(20);
                    program.access(processor, AccessKind::Update, address, random.below(99) as u32, 1);
                    continue;
                }
            };
            program.sync(processor, kind, random.below(2), 2);
        }
        for protocol in [CoherenceProtocol::Lines, CoherenceProtocol::LazyRelease] {
            let result = program.run(CoherenceSettings::lines().with_protocol(protocol));
            let sum: u64 = result.flows.iter().map(|flow| flow.totals.requests).sum();
            assert_eq!(sum, result.total_requests);
        }
    }
}
