//! What a run in virtual time tells of itself: everything that happens, in order, and nothing else.

use longpole_coherence::{
    AccessKind, CoherenceSettings, ProcessorId, RequestCosts, SiteId, StepCosts, StreamStep, SyncToken,
    VirtualEvent, VirtualRun, VirtualRunObserver, VirtualRunSetup,
};

const LOCK: SyncToken = SyncToken(7);
const BARRIER: SyncToken = SyncToken(8);

/// Writes down what it is told, and adds up what it takes.
#[derive(Default)]
struct ToldRun {
    lines: Vec<String>,
    /// Up to where each processor's time is told of, and since when it is blocked.
    told: Vec<u64>,
    blocked: Vec<Option<u64>>,
}

impl ToldRun {
    /// The processor's time goes on from where it was told of last.
    fn go_on(&mut self, processor: ProcessorId, from: u64, nanoseconds: u64) {
        let index = processor.index();
        assert_eq!(self.told[index], from, "a gap in the time of {index}");
        self.told[index] += nanoseconds;
    }
}

impl VirtualRunObserver for &mut ToldRun {
    fn compute(&mut self, processor: ProcessorId, _: SiteId, from: u64, nanoseconds: u64) {
        self.go_on(processor, from, nanoseconds);
    }

    fn happen(&mut self, processor: ProcessorId, _: SiteId, time: u64, event: VirtualEvent<'_>) {
        let index = processor.index();
        if let VirtualEvent::Begin { .. } = event {
            self.told.resize(self.told.len().max(index + 1), 0);
            self.blocked.resize(self.blocked.len().max(index + 1), None);
            self.told[index] = time;
        }
        match event {
            VirtualEvent::Request { cost, .. } | VirtualEvent::Exchange { cost, .. } => {
                self.go_on(processor, time, cost);
            }
            VirtualEvent::Block(_) => self.blocked[index] = Some(time),
            VirtualEvent::Resume { .. } => {
                let since = self.blocked[index].take().expect("it was blocked");
                self.go_on(processor, since, time - since);
            }
            _ => assert_eq!(self.told[index], time, "{event:?}"),
        }
        let what = match event {
            VirtualEvent::Request { request, cost } => format!("request {:#x} {cost}", request.unit),
            other => format!("{other:?}"),
        };
        self.lines.push(format!("{index} {time} {what}"));
    }
}

fn access(kind: AccessKind) -> (SiteId, StreamStep) {
    (SiteId(1), StreamStep::Access { address: 0x1008, size: 8, kind })
}

fn told(
    streams: &[Vec<(SiteId, StreamStep)>],
    settings: CoherenceSettings,
    nodes: &[u16],
) -> (VirtualRun, ToldRun) {
    let costs = RequestCosts { request: 100, upgrade: 30, byte_picoseconds: 500 };
    let setup = VirtualRunSetup {
        settings: CoherenceSettings { costs, ..settings },
        costs: StepCosts { access: 1, lock: 10, barrier: 20 },
        objects: Vec::new(),
        nodes: nodes.iter().copied().map(ProcessorId).collect(),
        words_of: Vec::new(),
        records_of: Vec::new(),
        keeps_waits: false,
        layout: None,
    };
    let mut told = ToldRun::default();
    let sources = streams.iter().map(|steps| steps.iter().copied()).collect();
    let run = VirtualRun::observed(sources, &setup, &mut told).expect("streams that end");
    assert_eq!(told.told, run.ends, "all of each processor's time is told of");
    (run, told)
}

fn streams() -> [Vec<(SiteId, StreamStep)>; 2] {
    let step = |step| (SiteId(2), step);
    let first = vec![
        access(AccessKind::Write),
        step(StreamStep::Fork(ProcessorId(1))),
        step(StreamStep::Lock(LOCK)),
        access(AccessKind::Write),
        step(StreamStep::Unlock(LOCK)),
        step(StreamStep::Barrier(BARRIER, 2)),
        access(AccessKind::Read),
        step(StreamStep::Join(ProcessorId(1))),
    ];
    let second = vec![
        step(StreamStep::Lock(LOCK)),
        access(AccessKind::Update),
        step(StreamStep::Unlock(LOCK)),
        step(StreamStep::Barrier(BARRIER, 2)),
        step(StreamStep::Compute(500)),
    ];
    [first, second]
}

#[test]
fn a_run_is_told_as_it_happens() {
    let (_, told) = told(&streams(), CoherenceSettings::pages(4096), &[]);
    let expected = "\
0 0 Begin { creator: None }
0 0 request 0x1000 2148
1 2149 Begin { creator: Some(ProcessorId(0)) }
0 2149 Exchange { exchange: Acquisition(SyncToken(7)), cost: 10 }
0 2159 Acquire { lock: SyncToken(7), is_contended: false }
1 2149 Block(Lock(SyncToken(7)))
0 2160 Release(SyncToken(7))
1 2160 Resume { by: Some((ProcessorId(0), SiteId(2))) }
1 2160 Exchange { exchange: Acquisition(SyncToken(7)), cost: 10 }
1 2170 Acquire { lock: SyncToken(7), is_contended: true }
0 2160 Arrive(SyncToken(8))
0 2160 Block(Barrier(SyncToken(8)))
1 2170 request 0x1000 2148
1 4319 Release(SyncToken(7))
1 4319 Arrive(SyncToken(8))
0 4319 Resume { by: Some((ProcessorId(1), SiteId(2))) }
0 4319 Depart(SyncToken(8))
0 4319 Exchange { exchange: Passing(SyncToken(8)), cost: 20 }
1 4319 Depart(SyncToken(8))
1 4319 Exchange { exchange: Passing(SyncToken(8)), cost: 20 }
0 4339 request 0x1000 104
0 4444 Block(Join(ProcessorId(1)))
0 4839 Resume { by: Some((ProcessorId(1), SiteId(2))) }
0 4839 Joined(ProcessorId(1))
1 4839 End
0 4839 End";
    // A whole page is 4096 bytes at half a nanosecond; the diff that is fetched last is 8 bytes.
    assert_eq!(told.lines.join("\n"), expected);
}

#[test]
fn nothing_is_left_out_under_any_protocol() {
    use longpole_coherence::CoherenceProtocol::Sequential;
    for settings in [
        CoherenceSettings::lines(),
        CoherenceSettings::pages(4096),
        CoherenceSettings::pages(4096).with_protocol(Sequential),
    ] {
        let (run, told) = told(&streams(), settings, &[]);
        let requests = told.lines.iter().filter(|line| line.contains(" request ")).count();
        assert_eq!(requests as u64, run.communication.total_requests);
    }
}

#[test]
fn threads_of_one_node_have_their_copies_in_common() {
    let (run, told) = told(&streams(), CoherenceSettings::pages(4096), &[0, 0]);
    assert_eq!(run.communication.total_requests, 1, "{:#?}", told.lines);
    // Locks and barriers take their messages all the same.
    assert_eq!(told.lines.iter().filter(|line| line.contains("Exchange")).count(), 4);
}
