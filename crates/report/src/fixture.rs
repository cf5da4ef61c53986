//! Drawn runs for tests and documents.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

use longpole_communication::{
    AccessPattern, AccessThread, CausalityCause, CausalityPlace, CausalityTransition, CausePaths,
    CommunicationFlow, DataObject, DataPlace, DataTransfers, FlowWriter, FollowedRequests, ObjectCausality,
    PatternTallies, PatternTally, RecordedCommunication, SharedUnit, SharedUnitUse, UnitClass,
};
use longpole_metrics::{Analysis, DetailsDemand, NoRowReplays, analyse, details, row_replays};
use longpole_series::{MetricClass, MetricValue, NodeMetrics, SeriesCorrelation, SeriesCorrelations};
use longpole_testkit::{MemoryTimelines, draw};
use longpole_trace::{
    CodePlace, Evidence, Fold, FoldedTimelines, Folding, ItemKind, Objects, PathId, Paths, Phase, Procedure,
    Timelines,
};

use crate::input::{OutsideAnswers, ReportInput, ReportOptions, ReportTables};
use crate::report::Report;
use crate::style::Style;
use crate::view::View;

/// Looks that stand behind each column of a drawing.
const LOOKS: f64 = 20.0;

/// A drawn run with its evidence.
pub(crate) struct DrawnRun {
    pub timelines: MemoryTimelines,
    pub evidence: Evidence,
    pub outside_answers: OutsideAnswers,
    /// Observations behind each column of the drawing.
    pub looks: f64,
}

impl DrawnRun {
    /// The run of a drawing, ten milliseconds per column, with a look at every running thread in every column.
    pub(crate) fn of(drawing: &str) -> DrawnRun {
        let mut text = format!("unit 10000000\n{drawing}\n");
        for line in drawing.lines().filter(|line| !line.contains(['@', '=']) && !line.starts_with("cpus")) {
            let Some((name, row)) = line.trim().split_once(char::is_whitespace) else { continue };
            let name = name.rsplit('/').next().unwrap();
            for (column, _) in
                row.trim().char_indices().filter(|(_, mark)| mark.is_ascii_uppercase() || *mark == '~')
            {
                writeln!(text, "{name}@{} look", column + 1).unwrap();
            }
        }
        let mut scene = DrawnRun::with(draw(&text));
        scene.timelines.program.command = vec!["./drawn".to_owned(), "--fast".to_owned()];
        scene
    }

    /// A run with evidence that nothing speaks against.
    pub(crate) fn with(timelines: MemoryTimelines) -> DrawnRun {
        let evidence = Evidence {
            collector: "bpf".to_owned(),
            sample_hertz: 997,
            events: 5000,
            switches: 40,
            wakes: 20,
            samples: 4940,
            observations: 5000,
            kernel_seconds: Some(0.0005),
            recorder_cpu_seconds: 0.012,
            recorder_peak_bytes: 20 << 20,
            recording_bytes: 41_000,
            ..Evidence::default()
        };
        DrawnRun { timelines, evidence, outside_answers: outside_answers(), looks: LOOKS }
    }

    pub(crate) fn report(&self, view: View, options: &ReportOptions) -> Report {
        match options.phase {
            None => self.report_of(&self.timelines, view, options),
            Some(span) => {
                let Ok(phase) = Phase::new(&self.timelines, span.begin(), span.end());
                self.report_of(&phase, view, options)
            }
        }
    }

    fn report_of(
        &self,
        timelines: &(impl Timelines<Error = Infallible> + Sync),
        view: View,
        options: &ReportOptions,
    ) -> Report {
        let choices = longpole_metrics::MetricOptions { io_idle: options.io_idle, ..Default::default() };
        let Ok(mut analysis) = analyse(timelines, &choices);
        multiply(&mut analysis, self.looks);
        let folding = Folding::new(timelines.paths(), view.fold(None));
        let analysis = analysis.folded(timelines.paths(), &folding);
        let folded = FoldedTimelines::new(timelines, &folding);
        let demand = view.demand(options);
        let Ok(mut details) = details(&folded, &choices, &demand, &analysis);
        if let Some(by) = demand.replays {
            let Ok(unfolded) = analyse(timelines, &choices);
            let of = (by, details.contention.as_ref());
            let Ok(replays) = row_replays(timelines, &choices, (&unfolded, &analysis, &folding), of);
            let is_whole = options.phase.is_none();
            details.replays = Some(if is_whole { replays } else { Err(NoRowReplays::Part) });
        }
        let folding = &folding;
        let (program, paths, objects) = (timelines.program(), timelines.paths(), timelines.objects());
        let (analysis, evidence) = (&analysis, &self.evidence);
        let outside_answers = &self.outside_answers;
        let input = ReportInput {
            program,
            paths,
            folding,
            objects,
            analysis,
            details: &details,
            evidence,
            outside_answers,
        };
        crate::build(view, &input, options)
    }

    /// What `ask` says of the run, without details.
    pub(crate) fn with_source<R>(&self, ask: impl FnOnce(&ReportTables<'_>) -> R) -> R {
        self.with_details(&DetailsDemand::default(), ask)
    }

    /// What `ask` says of the run.
    pub(crate) fn with_details<R>(
        &self,
        demand: &DetailsDemand,
        ask: impl FnOnce(&ReportTables<'_>) -> R,
    ) -> R {
        let choices = longpole_metrics::MetricOptions::default();
        let Ok(mut analysis) = analyse(&self.timelines, &choices);
        multiply(&mut analysis, self.looks);
        let MemoryTimelines { program, paths, objects, .. } = &self.timelines;
        let folding = &Folding::new(paths, Fold::default());
        let analysis = analysis.folded(paths, folding);
        let folded = FoldedTimelines::new(&self.timelines, folding);
        let Ok(details) = details(&folded, &choices, demand, &analysis);
        let (details, evidence) = (&details, &self.evidence);
        let (analysis, outside_answers) = (&analysis, &self.outside_answers);
        ask(&ReportTables::new(ReportInput {
            program,
            paths,
            folding,
            objects,
            analysis,
            details,
            evidence,
            outside_answers,
        }))
    }

    /// Leaves out what threads waited for.
    pub(crate) fn forget_objects(&mut self) {
        self.timelines.items.retain(|item| !matches!(item.what, ItemKind::Await(_)));
        self.timelines.objects = Objects::default();
    }

    /// Puts a procedure into another module.
    pub(crate) fn move_to_module(&mut self, procedure: &str, module: &str) {
        self.change_procedure(procedure, |named| named.module = module.to_owned());
    }

    /// Puts a procedure into a source file.
    pub(crate) fn move_to_file(&mut self, procedure: &str, file: &str) {
        self.change_procedure(procedure, |named| named.file = file.to_owned());
    }

    fn change_procedure(&mut self, procedure: &str, change: impl Fn(&mut Procedure)) {
        let id = self.timelines.procedure(procedure);
        let mut moved = Paths::default();
        for path in 1..self.timelines.paths.len() {
            let old = &self.timelines.paths;
            let path = PathId(path as u32);
            let place = old.innermost(path).unwrap();
            let mut named = old.procedure_named_by(place.procedure).clone();
            if place.procedure == id {
                change(&mut named);
            }
            let procedure = moved.procedure(named);
            let place = moved.place(CodePlace { procedure, line: place.line });
            assert_eq!(moved.path(old.caller(path).unwrap(), place), path);
        }
        self.timelines.paths = moved;
    }

    pub(crate) fn text(&self, view: View, width: usize) -> String {
        self.report(view, &ReportOptions::default()).text(&Style::plain(width))
    }
}

/// A counter from outside and a ratio, in eight bins of a run of 0.32 s.
fn outside_answers() -> OutsideAnswers {
    let faults = vec![0.0, 0.0, 50.0, 11_200.0, 12_000.0, 9_000.0, f64::NAN, 25.0];
    let figure = |metric: &str, title: &str, class, origin: &str, (value, unit): (f64, &str)| MetricValue {
        metric: metric.to_owned(),
        title: title.to_owned(),
        class,
        origin: origin.to_owned(),
        calculation: if class == MetricClass::External { "total" } else { "average" },
        value: Some(value),
        unit: unit.to_owned(),
        course: faults.clone(),
        course_unit: format!("{unit}/s"),
        notes: Vec::new(),
    };
    let share = MetricValue {
        course: vec![0.5, 0.5, f64::NAN, 1.0, 1.0, 0.25, 0.25, 0.5],
        course_unit: String::new(),
        notes: vec!["`share` has no value in 1 of 8 bins: something was divided by zero".to_owned()],
        ..figure("share", "Share of user time", MetricClass::Derived, "cpu_time / sys_user_time", (0.571, ""))
    };
    let faults = figure("page_faults", "Page faults", MetricClass::External, "process", (1291.0, "faults"));
    let (node, name) = ("program".to_owned(), "./drawn".to_owned());
    let kinship = SeriesCorrelation {
        target: "effective_parallelism".to_owned(),
        moments: "while few threads are busy",
        metric: "page_faults".to_owned(),
        title: "Page faults".to_owned(),
        node: "program".to_owned(),
        unit: "faults/s".to_owned(),
        strength: Some(-0.91),
        lead_seconds: 0.02,
        bins: 180,
        samples: 31.0,
        there: 5600.0,
        elsewhere: 300.0,
        is_trivial: false,
    };
    let notes = vec!["86 series were compared; 12 never changed".to_owned()];
    let correlations = Some(SeriesCorrelations { found: vec![kinship], notes });
    OutsideAnswers {
        idle_processors: Vec::new(),
        communication: Some(Arc::new(communication())),
        zeroings: Vec::new(),
        correlations,
        figures: vec![NodeMetrics { node, name, depth: 0, figures: vec![share, faults], notes: Vec::new() }],
    }
}

/// Puts looks behind the columns.
fn multiply(analysis: &mut Analysis, looks: f64) {
    let samples = &mut analysis.effective_samples;
    for samples in [&mut samples.cpu, &mut samples.npt, &mut samples.critical] {
        *samples *= looks;
    }
}

/// One thread reads, then two compute, one of them longer.
pub(crate) const SERIAL_THEN_PARALLEL: &str = "\
cpus 2
L = main:10 > load:20
A = compute:30
M = main:12 > merge:40
main    LLLLLLLLLLLLLLLLLLLLjjjjjjjjjjjjjjjjjjjjM
worker1 ____________________AAAAAAAAAA
worker2 ____________________AAAAAAAAAAAAAAAAAAAA
main@20 -> worker1, worker2 create
worker2@40 -> main join";

/// Two threads meet at a barrier; one has three times the work.
pub(crate) const BARRIER: &str = "\
cpus 2
A = rounds:8 > compute:30
heavy AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
light AAAbbbbbbbAAAbbbbbbbAAAbbbbbbb
heavy@10 -> light barrier
heavy@20 -> light barrier
heavy@30 -> light barrier";

/// One thread holds a lock for long, two want it for short.
pub(crate) const LOCK_HOG: &str = "\
cpus 4
1 = mutex table_lock
H = hog:5 > update:30
S = polite:9 > short_update:44
I = polite:10 > independent:50
hog     HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH
polite1 II111111SII11111SII11111SII11111
polite2 I1111111SSII1111SSII1111SSII1111
hog@8 -> polite1, polite2 unlock
hog@16 -> polite1, polite2 unlock
hog@24 -> polite1, polite2 unlock";

/// The same, where the threads tell of their locks.
pub(crate) const LOCK_HOG_TOLD: &str = "\
cpus 4
1 = mutex table_lock
2 = mutex log_lock
H = hog:5 > update:30
S = polite:9 > short_update:44
I = polite:10 > independent:50
hog     HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH
polite1 II¹¹1111SII11111SII11111SII11111
polite2 I1111111SSII1111SSII1111SSII1111
hog@8 -> polite1, polite2 unlock
hog@16 -> polite1, polite2 unlock
hog@24 -> polite1, polite2 unlock
hog@24 held 1 3/0 22 8
polite1@25 held 1 3/3 3 1
polite2@26 held 1 3/3 6 2
polite2@26 held 2 12/0 1 1";

/// A program that marks what it does: it loads, then two threads work on tiles.
pub(crate) const REGIONS: &str = "\
cpus 2
M = main
L = main > {load tables} > read:12
P = main > plan:20
T = main > plan:20 > {tile} > work:30
main MLLLLLLLLLPTTTTTTTTTTTTTT
pool ..........MTTTTTTTTTTTTT.";

/// One thread computes, another spins until it is done.
pub(crate) const SPINNER: &str = "\
cpus 2
R = compute_result:10
W = wait_for_flag:20
U = use_result:30
worker  RRRRRRRRRRRRRRRRRRRRRRRR
waiter  W~~~~~~~~~~~~~~~~~~~~~~~UUUU";

/// A slow producer and a quick consumer, in two processes.
pub(crate) const PIPE: &str = "\
cpus 2
P = main:5 > produce:10
C = main:6 > consume:20
produce/producer PPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP
consume/consumer ppppppppCCppppppCCppppppCCppppppCC
producer@8 -> consumer message
producer@16 -> consumer message
producer@24 -> consumer message
producer@32 -> consumer message";

/// Four threads on two processors.
pub(crate) const CROWDED: &str = "\
cpus 2
G = worker:3 > grind:9
a GGGG----GGGG----GGGG----
b GGGG----GGGG----GGGG----
c ----GGGG----GGGG----GGGG
d ----GGGG----GGGG----GGGG";

/// Sleeping, writing to a disk, and a little work.
pub(crate) const WAITING: &str = "\
cpus 2
C = main:5 > checksum:10
J = main:8 > write_journal:20
P = main:9 > pause:30
main CCCC::::J::::J::::Pzzzzzzzzzzzzzzzzzzzzzz";

/// A parent and three workers, each a process of its own, on two processors.
pub(crate) const PROCESSES: &str = "\
cpus 2
M = main:4 > fork_workers:6
W = work:20
X = exchange:30
pool/parent Mwwwwwwwwwwwwwwwwwwwwwwww
python/one   _WWWWWWWWWWWWWWWWWWWWWWXX
python/two   _WWWWWWWWWWWWWWWWWWWWXX
python/three _kkkkkkkkkkkkkkkkkkkkkkkX
one@24 -> three message
parent@1 -> one, two, three create";

/// A program over before a timer looked.
pub(crate) const SHORT: &str = "\
cpus 2
N = [no stack]
main N.N";

/// Two threads that count in neighbouring elements of an array.
fn communication() -> RecordedCommunication {
    let place = |procedure: &str, line| DataPlace {
        procedure: procedure.to_owned(),
        module: "drawn".to_owned(),
        file: "/src/drawn.c".to_owned(),
        line,
    };
    let flow = |reader: usize, writer: Option<FlowWriter>, requests: u64| {
        let mut patterns = [0; 8];
        let pattern = if writer.is_some() { AccessPattern::FalseSharing } else { AccessPattern::Cold };
        patterns[pattern as usize] = requests;
        CommunicationFlow {
            reader,
            place: 0,
            object: 0,
            writes: true,
            writer,
            requests,
            contributions: requests,
            cost: 100 * requests,
            patterns,
            used: 8 * requests,
            fetched: 64 * requests,
            followed: FollowedRequests::default(),
        }
    };
    let by = |thread| Some(FlowWriter { thread, place: 0, through: Some(0) });
    let counts = |thread: u32| SharedUnitUse {
        thread: thread as usize,
        read: vec![(8 * thread, 8 * thread + 8)],
        written: vec![(8 * thread, 8 * thread + 8)],
        accesses: 200,
    };
    RecordedCommunication {
        unit: 64,
        protocol: "lines",
        threads: vec![AccessThread { tid: 0, accesses: 200 }; 2],
        places: vec![place("count", 12), place("work", 30)],
        objects: vec![DataObject {
            name: "counters".to_owned(),
            kind: "variable",
            address: 0x4040,
            size: 64,
            element: 8,
        }],
        synchronisations: vec![("lock".to_owned(), 1)],
        flows: vec![flow(0, None, 1), flow(1, None, 1), flow(0, by(1), 99), flow(1, by(0), 99)],
        units: vec![SharedUnit {
            address: 0x4040,
            object: 0,
            requests: 200,
            transfers: 198,
            false_sharing: 198,
            low: 198,
            high: 198,
            uses: vec![counts(0), counts(1)],
        }],
        classes: vec![falsely_shared()],
        graphs: vec![counters_graph()],
        requests: 200,
        transfers: 198,
        low: 198,
        high: 198,
        upgrades: 199,
        elapsed: 34_700,
        ..RecordedCommunication::default()
    }
}

/// The one line of the counters: 198 of 200 requests are false sharing, and no datum is shared.
fn falsely_shared() -> UnitClass {
    let mut patterns = PatternTallies::default();
    patterns.add(AccessPattern::Cold, PatternTally { requests: 2, cost: 200 });
    patterns.add(AccessPattern::FalseSharing, PatternTally { requests: 198, cost: 19_800 });
    UnitClass {
        object: 0,
        pattern: AccessPattern::FalseSharing,
        units: 1,
        followed: FollowedRequests::default(),
        patterns,
        used: 1_600,
        fetched: 12_800,
        readers: [0, 1].into(),
        writers: [0, 1].into(),
        data: Some(DataTransfers::default()),
    }
}

/// One place that makes itself fetch: of 198 requests all but the first two go on from such a request.
fn counters_graph() -> ObjectCausality {
    let cause = |written: Option<_>, requests: u64, pattern| {
        let there = |is_there| if is_there { vec![0, 1] } else { Vec::new() };
        let paths = CausePaths {
            read: there(true),
            through: if written.is_some() { vec![1] } else { Vec::new() },
            write: there(written.is_some()),
            count: 1,
        };
        let (cost, mut patterns) = (100 * requests, PatternTallies::default());
        patterns.add(pattern, PatternTally { requests, cost });
        CausalityCause { read_place: 0, written, requests, contributions: requests, cost, patterns, paths }
    };
    let transition = |from, count| CausalityTransition { from: Some(from), to: 0, count };
    ObjectCausality {
        object: 0,
        units: vec![0x4040],
        all_units: 1,
        followed: FollowedRequests::default(),
        places: vec![CausalityPlace { place: 0, readers: vec![0, 1], writers: vec![0, 1] }],
        causes: vec![
            cause(Some((Some(0), 0)), 198, AccessPattern::FalseSharing),
            cause(None, 2, AccessPattern::Cold),
        ],
        transitions: vec![transition(0, 196), transition(1, 2)],
    }
}
