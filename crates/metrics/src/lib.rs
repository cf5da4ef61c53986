//! Every metric of the comparison, one file each, from one recording.
//!
//! [`analyse`] reads timelines and gives an [`Analysis`]: what every (thread, call path) was charged, the
//! critical paths, the parallelism. [`rows`] sums the charges into tables. [`registry`] says what every
//! number is called and means.

mod analyse;
mod analysis;
mod balance;
mod burst_ages;
mod call_tree;
mod callers;
mod change_replays;
mod charges;
mod charging;
mod contention;
mod cpu_history;
mod critical_path;
mod curve;
mod cut_ends;
mod details;
mod division;
#[cfg(test)]
mod drawn;
mod early;
mod error;
mod execution;
mod final_waits;
mod folded;
mod gains;
mod hand_offs;
mod histogram;
mod holds;
mod idle_blame;
mod kept_analysis;
mod kept_details;
mod lane_path;
mod lanes;
mod lengths;
mod levels;
mod lock_loads;
mod lock_uses;
mod lookahead;
mod marks;
mod npt;
mod object_states;
mod on_path;
mod pair_counts;
mod parallel_regions;
mod parallelism;
mod path_hand_offs;
mod path_waits;
mod phases;
mod pieces;
mod pinned;
mod polls;
mod precision;
mod probe_effect;
mod processors;
mod profile;
mod regions;
pub mod registry;
mod replay;
mod row_replays;
mod rows;
mod sample_pairs;
mod share_draws;
mod source_lines;
mod spin_costs;
mod spin_ends;
mod spin_waits;
mod states;
mod strata;
mod stratum_groups;
mod stratum_parts;
mod synchronisation;
mod timer_check;
mod turns;
mod wait_ends;
mod waits;
mod what_if;
mod work_on_path;

pub use analyse::{analyse, analyse_beside};
pub use analysis::{
    Analysis, By, Charge, CriticalPath, EffectiveSamples, Measures, MetricOptions, Node, NodeRow, Order,
    PathSegment, Precisions, ThreadStates, Weight,
};
pub use balance::Balance;
pub use call_tree::{CallNode, CallTree, call_tree};
pub use callers::{CallCounts, Neighbour, Neighbours, neighbours};
pub use change_replays::{change_replays, tells_holds};
pub use charging::Charging;
pub use contention::{ContendedObject, Contention, Handover, WaiterPair};
pub use curve::{Bin, ParallelismCurve};
pub use details::{Details, DetailsDemand, costs, details, details_with};
pub use early::EarlyDetails;
pub use error::{are_tied, standard_error};
pub use execution::{
    ExecutedGain, Executions, LeastGain, LockPolicy, ReplayedChange, ReplayedChanges, SchedulerModel,
};
pub use final_waits::FinalWait;
pub use folded::FoldedLeaf;
pub use gains::{Gain, Gains, GainsOf};
pub use histogram::Histogram;
pub use holds::{LockHoldSums, LockHolds};
pub use lengths::LengthHistogram;
pub use lock_uses::ReplayedOrder;
pub use parallel_regions::{ForkJoinRegion, ParallelRegions};
pub use path_waits::{PathWaitKind, PathWaitTimes};
pub use phases::{Phases, ProposedPhase};
pub use pinned::{PinnedSet, PinnedTime, Pinning};
pub use polls::PolledTime;
pub use precision::{Precision, RowPrecision};
pub use processors::ProcessorTime;
pub use regions::MarkedRegion;
pub use replay::{MOST_MISSED, ProcessorsPoint, Replay, ReplayDemand, ReplayRefusal, ReplayedGain, replay};
pub use row_replays::{MOST_ROWS, NoRowReplays, RowReplays, row_replays};
pub use rows::{rows, total};
pub use sample_pairs::SamplePairs;
pub use source_lines::{SourceLine, source_lines};
pub use spin_costs::SpinCosts;
pub use states::{Condition, Spread, Spreads, StateRow, StateTable};
pub use synchronisation::{CallPart, SiteCost, SynchronisationCost};
pub use timer_check::TimerCheck;
pub use waits::{
    Category, GroupId, Split, StepAction, StepId, StepShare, StepTable, ThreadGroup, Unwanted, WaitClass,
    WaitClassKind, WaitClassSource, WaitStep, Waits, service_threads,
};
pub use what_if::{ChangeSubject, PredictedGain, RecordedLengths, WhatIf, WorkChange, what_if};
