//! Runs drawn by hand for tests: threads as lines of characters, ten milliseconds each.
//!
//! ```text
//!   main    LLLLjjjjM     L, M: runs in that procedure      j: waits for a thread to end
//!   worker      AAAA      blank: not there
//! ```
//! Waits: `l` lock, `b` barrier, `j` join, `c` child process, `p` pipe, `s` sleep, `d` device, `-` ready,
//! `~` spinning. A running thread is looked at every millisecond.

use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_metrics::{Analysis, Options, analyse};
use longpole_trace::{
    Cause, DependenceKind, Evidence, Item, Machine, PathId, Paths, Place, Procedure, Process, Program, State,
    Thread, Timelines, What,
};

use crate::input::Input;
use crate::report::Report;
use crate::view::View;

const TICK: u64 = 10_000_000;
const LOOK: u64 = 1_000_000;

/// A drawn run.
pub(crate) struct Scene {
    program: Program,
    paths: Paths,
    lanes: Vec<Vec<char>>,
    entry: Vec<PathId>,
    depends: Vec<(usize, usize, usize, DependenceKind)>,
    /// The evidence that goes with it.
    pub evidence: Evidence,
    /// Names of procedures by their letter.
    names: Vec<(char, &'static str, &'static str)>,
}

impl Scene {
    pub(crate) fn new(command: &[&str], cpus: u32) -> Scene {
        let program = Program {
            command: command.iter().map(|&word| word.to_owned()).collect(),
            machines: vec![Machine { name: "host".to_owned(), cpus }],
            ..Program::default()
        };
        let evidence =
            Evidence { collector: "bpf".into(), sample_hertz: 997, events: 5000, ..Evidence::default() };
        let (lanes, entry, depends, names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Scene { program, paths: Paths::default(), lanes, entry, depends, evidence, names }
    }

    /// Names the procedures behind letters: (letter, procedure, module).
    pub(crate) fn procedures(mut self, names: &[(char, &'static str, &'static str)]) -> Scene {
        self.names = names.to_vec();
        self
    }

    /// Adds a process.
    pub(crate) fn process(mut self, name: &str) -> Scene {
        let pid = 100 * (self.program.processes.len() as u32 + 1);
        let parent = (!self.program.processes.is_empty()).then_some(ProcessId(0));
        self.program.processes.push(Process { machine: MachineId(0), pid, name: name.to_owned(), parent });
        self
    }

    /// Adds a thread of the last process; `entry` is the outermost procedure of its paths.
    pub(crate) fn thread(mut self, name: &str, entry: &str, lane: &str) -> Scene {
        let process = ProcessId::from_index(self.program.processes.len() - 1);
        let at = |tick: usize| Time::from_nanoseconds(tick as u64 * TICK);
        let lane: Vec<char> = lane.chars().collect();
        let start = lane.iter().position(|&c| c != ' ').unwrap_or(0);
        let index = self.lanes.len();
        let is_first = index == 0;
        self.program.threads.push(Thread {
            process,
            tid: 100 * (process.0 + 1) + index as u32,
            name: name.to_owned(),
            start: at(start),
            end: Some(at(lane.len())),
            creator: (!is_first).then_some(ThreadId(0)),
            prefix: Paths::ROOT,
        });
        let module = self.program.processes[process.index()].name.clone();
        let root = if is_first { Paths::ROOT } else { self.entry[0] };
        let entry = self.path(root, entry, &module, 1);
        self.entry.push(entry);
        self.lanes.push(lane);
        if !is_first {
            self.depends.push((start, 0, index, DependenceKind::Create));
        }
        let length = self.lanes.iter().map(Vec::len).max().unwrap_or(0);
        self.program.elapsed_nanoseconds = length as u64 * TICK;
        self
    }

    /// At a tick, a thread enables another.
    pub(crate) fn depend(mut self, tick: usize, source: usize, target: usize, kind: DependenceKind) -> Scene {
        self.depends.push((tick, source, target, kind));
        self
    }

    fn path(&mut self, caller: PathId, name: &str, module: &str, line: u32) -> PathId {
        let file = format!("src/{module}.c");
        let procedure =
            self.paths.procedure(Procedure { name: name.to_owned(), module: module.to_owned(), file });
        let place = self.paths.place(Place { procedure, line });
        self.paths.path(caller, place)
    }

    fn items(&mut self) -> Vec<Item> {
        let mut items: Vec<(u64, u8, Item)> = Vec::new();
        for index in 0..self.lanes.len() {
            self.lane_items(index, &mut items);
        }
        for &(tick, source, target, kind) in &self.depends {
            let source_time = Time::from_nanoseconds(tick as u64 * TICK);
            let what = What::Depend { source: ThreadId::from_index(source), source_time, kind };
            items.push((
                tick as u64 * TICK,
                1,
                Item { time: source_time, thread: ThreadId::from_index(target), what },
            ));
        }
        items.sort_by_key(|&(time, order, item)| (time, order, item.thread));
        items.into_iter().map(|(_, _, item)| item).collect()
    }

    fn lane_items(&mut self, index: usize, items: &mut Vec<(u64, u8, Item)>) {
        let thread = ThreadId::from_index(index);
        let mut push = |time: u64, order: u8, what: What| {
            items.push((time, order, Item { time: Time::from_nanoseconds(time), thread, what }));
        };
        let lane = self.lanes[index].clone();
        let (mut path, mut state) = (self.entry[index], State::Absent);
        for (tick, &mark) in lane.iter().enumerate() {
            let begin = tick as u64 * TICK;
            let next = state_of(mark);
            if next == State::Running {
                let (name, module) = self.named(mark);
                path = self.path(self.entry[index], name, module, 10 + u32::from(tick as u16 % 2));
            }
            if next != state {
                push(begin, 2, What::State(next));
                state = next;
            }
            if matches!(next, State::Running | State::Spinning) {
                (1..=TICK / LOOK).for_each(|look| push(begin + look * LOOK, 0, What::Observe(path)));
            }
        }
        push(lane.len() as u64 * TICK, 3, What::State(State::Absent));
    }

    fn named(&self, letter: char) -> (&'static str, &'static str) {
        let found = self.names.iter().find(|(mark, ..)| *mark == letter);
        found.map(|&(_, name, module)| (name, module)).expect("the letter has a procedure")
    }

    pub(crate) fn build(&mut self, view: View, options: &crate::Options) -> Report {
        let drawn = Drawn { items: self.items(), program: self.program.clone(), paths: self.paths.clone() };
        let analysis: Analysis = analyse(&drawn, &Options { io_idle: options.io_idle }).unwrap();
        self.evidence.samples = analysis.charges.iter().map(|charge| charge.measures.observations).sum();
        let (program, paths, evidence) = (&drawn.program, &drawn.paths, &self.evidence);
        crate::build(view, &Input { program, paths, analysis: &analysis, evidence }, options)
    }

    pub(crate) fn text(&mut self, view: View, width: usize) -> String {
        self.build(view, &crate::Options::default()).text(&crate::Style::plain(width))
    }
}

fn state_of(mark: char) -> State {
    match mark {
        ' ' => State::Absent,
        '-' => State::Ready,
        '~' => State::Spinning,
        'l' => State::Blocked(Cause::Lock),
        'b' => State::Blocked(Cause::Barrier),
        'j' => State::Blocked(Cause::Join),
        'c' => State::Blocked(Cause::Child),
        'p' => State::Blocked(Cause::Pipe),
        's' => State::Blocked(Cause::Sleep),
        'd' => State::Blocked(Cause::Io),
        _ => State::Running,
    }
}

struct Drawn {
    items: Vec<Item>,
    program: Program,
    paths: Paths,
}

impl Timelines for Drawn {
    type Error = std::convert::Infallible;

    fn program(&self) -> &Program {
        &self.program
    }

    fn paths(&self) -> &Paths {
        &self.paths
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Self::Error> {
        self.items.iter().for_each(visit);
        Ok(())
    }
}

/// One thread reads, then two compute, unevenly.
pub(crate) fn serial_then_parallel() -> Scene {
    Scene::new(&["./app", "--fast"], 2)
        .procedures(&[('L', "load", "app"), ('A', "compute", "app"), ('M', "merge", "app")])
        .process("app")
        .thread("app", "main", "LLLLLLLLLLLLLLLLLLLLjjjjjjjjjjjjjjjjjjjjM")
        .thread("worker", "work", "                    AAAAAAAAAA")
        .thread("worker", "work", "                    AAAAAAAAAAAAAAAAAAAA")
        .depend(40, 2, 0, DependenceKind::Join)
}
