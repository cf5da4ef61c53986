//! The index: everything that windows are drawn from, made in one reading of the timelines.
//!
//! Memory, of a recording of scheduling events: about 40 bytes per event, and 48 per hand-off on the critical paths.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, ParallelismLevel, Sweep, sweep};
use longpole_metrics::{Analysis, MetricOptions, Weight};
use longpole_trace::{ObservationKind, PathId, State, Timelines};

use crate::dependences::DependenceColumns;
use crate::lane::ThreadLane;
use crate::levels::LevelSteps;
use crate::route::CriticalRoute;

/// The states, observations and dependences of a whole run.
#[derive(Clone, Debug)]
pub struct Index {
    pub(crate) lanes: Vec<ThreadLane>,
    pub(crate) levels: LevelSteps,
    pub(crate) dependences: DependenceColumns,
    pub(crate) cpu_route: CriticalRoute,
    pub(crate) elapsed_route: CriticalRoute,
    pub(crate) io_idle: bool,
    elapsed: u64,
}

impl Index {
    /// The index of a whole run; `analysis` is of the same timelines, made with the same options.
    ///
    /// # Errors
    /// What the timelines say when they cannot be read.
    pub fn of<T: Timelines>(
        timelines: &T,
        options: &MetricOptions,
        analysis: &Analysis,
    ) -> Result<Index, T::Error> {
        let threads = timelines.program().threads.len();
        let mut recorder = Recorder { lanes: vec![ThreadLane::default(); threads], ..Recorder::default() };
        sweep(timelines, options.io_idle, &mut recorder)?;
        let Recorder { lanes, levels, dependences, end } = recorder;
        Ok(Index {
            cpu_route: CriticalRoute::new(&analysis.critical_cpu.segments, lanes.len()),
            elapsed_route: CriticalRoute::new(&analysis.critical_elapsed.segments, lanes.len()),
            lanes,
            levels,
            dependences,
            io_idle: options.io_idle,
            elapsed: end,
        })
    }

    /// Length of the run, nanoseconds.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.elapsed
    }

    /// Bytes of memory that the index takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let lanes: usize = self.lanes.iter().map(ThreadLane::bytes).sum();
        let routes = self.cpu_route.bytes() + self.elapsed_route.bytes();
        lanes + self.levels.bytes() + self.dependences.bytes() + routes
    }

    pub(crate) fn route(&self, weight: Weight) -> &CriticalRoute {
        match weight {
            Weight::Cpu => &self.cpu_route,
            Weight::Elapsed => &self.elapsed_route,
        }
    }
}

/// The sweep that fills the columns.
#[derive(Debug, Default)]
struct Recorder {
    lanes: Vec<ThreadLane>,
    levels: LevelSteps,
    dependences: DependenceColumns,
    end: u64,
}

impl Recorder {
    fn lane(&mut self, thread: ThreadId) -> &mut ThreadLane {
        if thread.index() >= self.lanes.len() {
            self.lanes.resize(thread.index() + 1, ThreadLane::default());
        }
        &mut self.lanes[thread.index()]
    }
}

impl Sweep for Recorder {
    fn pass(&mut self, from: Time, to: Time, level: ParallelismLevel) {
        self.levels.pass(from.nanoseconds(), to.nanoseconds(), level.effective);
    }

    fn arc(&mut self, arc: Arc) {
        if let Some(object) = arc.object.filter(|_| arc.state != State::Running) {
            self.lane(arc.thread).wait_for(object);
        }
    }

    fn enter(&mut self, thread: ThreadId, time: Time, _before: State, state: State) {
        self.lane(thread).enter(time.nanoseconds(), state);
    }

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId, _: ObservationKind) {
        self.lane(thread).observe(time.nanoseconds(), path);
    }

    fn depend(&mut self, dependence: Dependence) {
        self.dependences.push(&dependence);
    }

    fn finish(&mut self, end: Time) {
        self.end = end.nanoseconds();
        self.lanes.iter_mut().for_each(ThreadLane::finish);
        self.levels.finish();
        self.dependences.finish();
    }
}
