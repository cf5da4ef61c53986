//! The result of analysing a recording: what reports are made from.
//!
//! All times are nanoseconds. A *charge* is what one (thread, logical call path) got; every table is a sum
//! of charges, so the tables of all levels agree with each other.

use std::sync::Arc;

use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_trace::{LazyStored, ObjectId, PathId, ProcedureId, State};

use crate::charging::Charging;
use crate::final_waits::FinalWait;
use crate::folded::FoldedLeaf;
use crate::parallel_regions::ParallelRegions;
use crate::path_waits::{PathWaitKind, PathWaitTimes};
use crate::pinned::Pinning;
use crate::polls::PolledTime;
use crate::precision::Precision;
use crate::sample_pairs::SamplePairs;
use crate::spin_costs::SpinCosts;
use crate::synchronisation::SiteCost;
use crate::timer_check::TimerCheck;

/// Choices that change definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MetricOptions {
    /// Threads blocked for a device or a page do not count as busy (metrics.md §3, `--io idle`).
    pub io_idle: bool,
    /// Which hand-offs of locks are arcs of the graph.
    pub order: Order,
}

/// Which hand-offs of locks are arcs of the program activity graph by CPU time, and hold when it is executed again
/// (metrics.md §1, `--order`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Those of locks that were held for more than a third of the time in which threads want them: exclusion is not order.
    #[default]
    Busy,
    /// All that were recorded, as in the paper (M §2.2).
    Recorded,
}

/// Everything computed from one recording.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Length of the run.
    pub elapsed: u64,
    /// `busy[i]`: time with effective parallelism U = i; sums to `elapsed`.
    pub busy: Vec<u64>,
    /// `nominal[i]`: time with nominal parallelism N = i; sums to `elapsed`.
    pub nominal: Vec<u64>,
    /// One entry per (thread, path) that was charged anything, ordered by thread, then path.
    pub charges: Vec<Charge>,
    /// What of the charges was folded into the procedures that they are at; empty where nothing was.
    pub folded: Vec<FoldedLeaf>,
    /// What of the charges is calls that synchronise; empty before folding.
    pub synchronisation: Vec<SiteCost>,
    /// What parallel regions take; empty before folding.
    pub parallel_regions: ParallelRegions,
    /// Busy-waiting of which nothing tells who ended it, of all threads.
    pub spun_for_unknown: u64,
    /// What busy-waits keep from work.
    pub spin_costs: SpinCosts,
    /// Time of each thread in each state, by thread id.
    pub threads: Vec<ThreadStates>,
    /// The longest path by CPU time; spinning, ready and blocked weigh 0.
    pub critical_cpu: CriticalPath,
    /// The longest path by elapsed time; its length is the elapsed time of the run.
    pub critical_elapsed: CriticalPath,
    /// Effective numbers of observations behind the estimated shares.
    pub effective_samples: EffectiveSamples,
    /// How sure the estimated shares are.
    pub precisions: Precisions,
    /// Waits that nothing ended, by thread.
    pub final_waits: Vec<FinalWait>,
    /// How threads waited for processors on which they are pinned.
    pub pinning: Pinning,
    /// How threads slept until they looked again, by thread id.
    pub polls: Vec<PolledTime>,
    /// What two threads were found in at the same time.
    pub sample_pairs: SamplePairs,
    /// How the timer stood to the program.
    pub timer: TimerCheck,
    /// How useful work is divided, for what follows threads through time.
    pub charging: Arc<LazyStored<Charging>>,
}

/// What one thread was charged on one logical call path.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The thread.
    pub thread: ThreadId,
    /// The path.
    pub path: PathId,
    /// What was charged.
    pub measures: Measures,
}

/// The quantities that are charged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// CPU time of useful work.
    pub running: u64,
    /// CPU time spent busy-waiting.
    pub spinning: u64,
    /// CPU time that the collector took, which is no part of the program's.
    pub overhead: u64,
    /// Time runnable without a processor.
    pub ready: u64,
    /// Time blocked, by [`longpole_trace::Cause`] index; shorter than the causes where the rest is 0.
    pub blocked: Vec<u64>,
    /// Number of times it blocked.
    pub blocks: u64,
    /// Normalised processor time by its terms: `npt_terms[i]` was charged while U = i (index 0 unused).
    pub npt_terms: Vec<f64>,
    /// Time on the CPU-weighted critical path.
    pub critical_cpu: u64,
    /// Time on the elapsed-weighted critical path.
    pub critical_elapsed: u64,
    /// What of that is no useful work.
    pub path_waits: PathWaitTimes,
    /// Time that others waited until this ended their waits.
    pub caused_wait: u64,
    /// Time of idle processors meanwhile, divided among all that waited (Q §3.2.5).
    pub idle_blame: u64,
    /// Observations that charged something.
    pub observations: u64,
}

/// Which arcs of the program activity graph have weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Useful CPU time only (I §2.1, M §2.2).
    Cpu,
    /// Also io, sleep, ready time and message latency at their elapsed time.
    Elapsed,
}

impl Weight {
    /// Whether time in this state has weight by itself. Waits and busy-waits have none: what ended them explains them.
    pub(crate) fn grows(self, state: State) -> bool {
        match state {
            State::Running => true,
            State::Overhead | State::Ready => self == Weight::Elapsed,
            State::Absent | State::Blocked(_) | State::Spinning => false,
        }
    }
}

impl Analysis {
    /// The longest path by this weight.
    #[must_use]
    pub fn critical(&self, weight: Weight) -> &CriticalPath {
        match weight {
            Weight::Cpu => &self.critical_cpu,
            Weight::Elapsed => &self.critical_elapsed,
        }
    }
}

impl Measures {
    /// What of the critical path by elapsed weight is of this kind, nanoseconds.
    #[must_use]
    pub fn on_elapsed_path(&self, kind: PathWaitKind) -> u64 {
        self.path_waits.get(&kind).copied().unwrap_or(0)
    }

    /// Time on the critical path of this weight.
    #[must_use]
    pub fn critical(&self, weight: Weight) -> u64 {
        match weight {
            Weight::Cpu => self.critical_cpu,
            Weight::Elapsed => self.critical_elapsed,
        }
    }
}

/// A critical path.
#[derive(Clone, Debug, Default)]
pub struct CriticalPath {
    /// Its length: the sum of the weights on it.
    pub length: u64,
    /// Its pieces in time order, each on one thread; the hand-offs are between them.
    pub segments: Vec<PathSegment>,
}

/// A piece of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSegment {
    /// The thread.
    pub thread: ThreadId,
    /// Begin.
    pub from: Time,
    /// End.
    pub to: Time,
}

/// Time of one thread in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadStates {
    /// Running.
    pub running: u64,
    /// Spinning.
    pub spinning: u64,
    /// In the collector's code.
    pub overhead: u64,
    /// Ready.
    pub ready: u64,
    /// Blocked, by cause index (length = number of causes).
    pub blocked: Vec<u64>,
    /// Of that, waits for any of several descriptors that another thread of the program ended.
    pub polled_for_others: u64,
    /// Switches off the processor.
    pub switches: u64,
}

/// Effective number of observations n = (Σw)² / Σw² behind a metric, w being what each observation
/// charged: equal weights give the plain count, and what is exact is in the first sum only. The standard error of a share p is sqrt(p(1−p)/n).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EffectiveSamples {
    /// Behind CPU time.
    pub cpu: f64,
    /// Behind normalised processor time.
    pub npt: f64,
    /// Behind the CPU-weighted critical path.
    pub critical: f64,
}

impl EffectiveSamples {
    /// Nothing is estimated.
    pub const EXACT: EffectiveSamples =
        EffectiveSamples { cpu: f64::INFINITY, npt: f64::INFINITY, critical: f64::INFINITY };

    /// No more than this many: a recording with `samples` timer samples knows no share better than those tell
    /// it, however many switches its times are cut at.
    #[must_use]
    pub fn at_most(self, samples: u64) -> Self {
        let most = |effective: f64| effective.min(samples as f64);
        EffectiveSamples { cpu: most(self.cpu), npt: most(self.npt), critical: most(self.critical) }
    }
}

/// How sure the estimates of each figure are.
#[derive(Clone, Debug, Default)]
pub struct Precisions {
    /// Of CPU time.
    pub cpu: Precision,
    /// Of normalised processor time.
    pub npt: Precision,
    /// Of time on the CPU-weighted critical path.
    pub critical: Precision,
}

impl Precisions {
    /// The same with each sample at the owner of its path.
    pub(crate) fn folded(&self, owner: impl Fn(PathId) -> PathId) -> Precisions {
        let [cpu, npt, critical] =
            [&self.cpu, &self.npt, &self.critical].map(|precision| precision.folded(&owner));
        Precisions { cpu, npt, critical }
    }
}

/// What a row of a table is (`--by`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// A procedure.
    #[default]
    Procedure,
    /// A line of a procedure.
    Line,
    /// A thread.
    Thread,
    /// A process.
    Process,
    /// A machine.
    Machine,
    /// A synchronisation object; objects of one kind and name are one row.
    Object,
    /// A procedure in each process apart.
    ProcessProcedure,
}

/// The thing a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A procedure.
    Procedure(ProcedureId),
    /// A line of a procedure.
    Line(ProcedureId, u32),
    /// A thread.
    Thread(ThreadId),
    /// A process.
    Process(ProcessId),
    /// A machine.
    Machine(MachineId),
    /// All objects of the kind and name of this one, the first of them.
    Object(ObjectId),
    /// A procedure in a process.
    ProcessProcedure(ProcessId, ProcedureId),
}

/// A row: a node with what it was charged itself, and with what was charged on its behalf.
#[derive(Clone, Debug)]
pub struct NodeRow {
    /// The node.
    pub node: Node,
    /// Charged to paths that end at the node. For threads, processes and machines equal to `inclusive`.
    pub own: Measures,
    /// Charged to paths that pass through the node; once, however often they pass.
    pub inclusive: Measures,
}
