//! The index: everything that windows are drawn from, made in one reading of the timelines.
//!
//! Memory, of a recording of scheduling events: about 40 bytes per event, and 48 per hand-off on the critical paths.

use longpole_event::{ThreadId, Time};
use longpole_graph::{Arc, Dependence, Level, Sweep, sweep};
use longpole_metrics::{Analysis, Options, Weight};
use longpole_trace::{PathId, State, Timelines};

use crate::dependences::Dependences;
use crate::lane::Lane;
use crate::levels::Levels;
use crate::route::Route;

/// The states, observations and dependences of a whole run.
#[derive(Clone, Debug)]
pub struct Index {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) levels: Levels,
    pub(crate) dependences: Dependences,
    pub(crate) cpu_route: Route,
    pub(crate) elapsed_route: Route,
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
        options: &Options,
        analysis: &Analysis,
    ) -> Result<Index, T::Error> {
        let threads = timelines.program().threads.len();
        let mut recorder = Recorder { lanes: vec![Lane::default(); threads], ..Recorder::default() };
        sweep(timelines, options.io_idle, &mut recorder)?;
        let Recorder { lanes, levels, dependences, end } = recorder;
        Ok(Index {
            cpu_route: Route::new(&analysis.critical_cpu.segments, lanes.len()),
            elapsed_route: Route::new(&analysis.critical_elapsed.segments, lanes.len()),
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
        let lanes: usize = self.lanes.iter().map(Lane::bytes).sum();
        let routes = self.cpu_route.bytes() + self.elapsed_route.bytes();
        lanes + self.levels.bytes() + self.dependences.bytes() + routes
    }

    pub(crate) fn route(&self, weight: Weight) -> &Route {
        match weight {
            Weight::Cpu => &self.cpu_route,
            Weight::Elapsed => &self.elapsed_route,
        }
    }
}

/// The sweep that fills the columns.
#[derive(Debug, Default)]
struct Recorder {
    lanes: Vec<Lane>,
    levels: Levels,
    dependences: Dependences,
    end: u64,
}

impl Recorder {
    fn lane(&mut self, thread: ThreadId) -> &mut Lane {
        if thread.index() >= self.lanes.len() {
            self.lanes.resize(thread.index() + 1, Lane::default());
        }
        &mut self.lanes[thread.index()]
    }
}

impl Sweep for Recorder {
    fn pass(&mut self, from: Time, to: Time, level: Level) {
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

    fn observe(&mut self, thread: ThreadId, time: Time, path: PathId) {
        self.lane(thread).observe(time.nanoseconds(), path);
    }

    fn depend(&mut self, dependence: Dependence) {
        self.dependences.push(&dependence);
    }

    fn finish(&mut self, end: Time) {
        self.end = end.nanoseconds();
        self.lanes.iter_mut().for_each(Lane::finish);
        self.levels.finish();
        self.dependences.finish();
    }
}
