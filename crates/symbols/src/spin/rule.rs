//! Whether a loop only waits.
//!
//! A loop waits if
//! * nothing is changed but registers and slots of its own stack. Atomic operations that leave memory as it was
//!   when they fail change nothing;
//! * what it carries from round to round are counters, which are compared with something;
//! * an exit hangs on a load from an address that stays the same, on an atomic operation, on a lock that could
//!   not be taken, or on a clock.
//!
//! A loop around loops over several flags waits if each round looks at all of them anew, and what they say
//! together decides the exit.
//!
//! What meets the rule but for one thing that code does not say *may* wait: calls through pointers, a lock around
//! the load, a counter that is compared with nothing, a way round beside which others work, a search for a flag.

use iced_x86::{ConditionCode, Mnemonic};

use crate::spin::calls::CallEffect;
use crate::spin::flow::{CarriedVariable, CodeRegion, Flow, counters_of};
use crate::spin::known::KnownFunction;
use crate::spin::value::ValueOrigin;
use longpole_event::BusyWaiting;

/// A way round beside others that work is more than a wait, if it has more instructions than this.
const LARGEST_IDLE_ROUND: usize = 32;
/// A way round on which nothing happens may be one that is never taken. Beside work it waits if it has at most this many
/// instructions and tests; with more it may wait.
const SHORT_IDLE_ROUND: usize = 12;
const MOST_TESTS: usize = 2;
/// One of several ways round without any work waits if it has at most this many instructions; walks along lists have
/// such ways.
const SHORTEST_WAIT: usize = 6;

/// Which ways round a loop there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopRounds {
    /// All of them were looked at.
    All,
    /// There are others, on which something is changed.
    BesideWork,
    /// There are others, that do other things.
    OneOfSeveral,
}

/// Judges a loop of which all values are known.
pub(crate) struct LoopClassifier<'a> {
    pub region: &'a CodeRegion<'a>,
    pub flow: &'a Flow,
    pub rounds: LoopRounds,
}

/// A branch on which more than one way is open.
struct OpenBranch {
    index: usize,
    flags: ValueOrigin,
    leaves: bool,
}

impl LoopClassifier<'_> {
    /// Whether a thread in the loop waits.
    pub fn verdict(&self) -> BusyWaiting {
        let Some(own) = self.region.loops.first() else { return BusyWaiting::Work };
        let carried = |kind: CarriedVariable| {
            let of_kind = self.flow.carried.iter().filter(move |(_, found)| **found == kind);
            of_kind.map(|((number, variable), _)| (*number == 0, *variable))
        };
        let branches = self.branches();
        // Counters from which more is computed than steps are work.
        let computes = branches.iter().any(|branch| branch.flags.counters != 0 && !branch.flags.steady);
        if carried(CarriedVariable::Moving).any(|(is_own, _)| is_own) || (computes && !self.moves()) {
            return BusyWaiting::Work;
        }
        if self.does_more(branches.len()) || self.region.loads_for_others() {
            return BusyWaiting::Work;
        }
        let found = if self.moves() { self.sweep(&branches) } else { poll(&branches) };
        if found != BusyWaiting::Spins {
            return found;
        }
        let compared = branches.iter().fold(0, |set, branch| set | branch.flags.counters);
        let is_unbounded = carried(CarriedVariable::Counter)
            .any(|(is_own, variable)| is_own && counters_of(1 << variable) & compared == 0);
        let has_counters = carried(CarriedVariable::Counter).any(|(is_own, _)| is_own);
        let is_large = self.length() > SHORT_IDLE_ROUND || branches.len() > MOST_TESTS;
        // What stays the same is tested once, before a wait.
        let is_odd = !self.moves() && branches.iter().any(|branch| branch.leaves && branch.flags.is_fixed());
        let is_aside = self.rounds != LoopRounds::All;
        let is_doubtful = is_odd || (is_aside && (has_counters || is_large || self.moves()));
        let mut calls = self.region.calls.iter().filter(|(index, _)| own.has(**index));
        let hides = calls
            .any(|(_, call)| matches!(call, CallEffect::Indirect | CallEffect::Known(KnownFunction::Locks)));
        if is_unbounded || is_doubtful || hides { BusyWaiting::MayWait } else { BusyWaiting::Spins }
    }

    /// Whether a way round is too long to be a wait, where there are others.
    fn does_more(&self, branches: usize) -> bool {
        let length = self.length();
        match self.rounds {
            LoopRounds::All => false,
            LoopRounds::BesideWork => length > LARGEST_IDLE_ROUND,
            LoopRounds::OneOfSeveral => length > SHORTEST_WAIT || branches > MOST_TESTS || self.moves(),
        }
    }

    /// Instructions, without those that only pass time.
    fn length(&self) -> usize {
        let instructions = &self.region.code.function.instructions;
        let passes_time = |&&index: &&usize| instructions[index].mnemonic() == Mnemonic::Nop;
        self.region.members.len() - self.region.members.iter().filter(passes_time).count()
    }

    fn moves(&self) -> bool {
        let is_moving = |kind: &CarriedVariable| *kind == CarriedVariable::Moving;
        !self.flow.deeds.moving_loads.is_empty() || self.flow.carried.values().any(is_moving)
    }

    fn branches(&self) -> Vec<OpenBranch> {
        let function = self.region.code.function;
        let is_member = |next: &usize| self.region.members.binary_search(next).is_ok();
        let conditional = self.region.members.iter().filter(|&&index| {
            function.instructions[index].condition_code() != ConditionCode::None
                && function.instructions[index].is_jcc_short_or_near()
        });
        conditional
            .filter_map(|&index| {
                let flags = self.region.flags(self.flow, index)?;
                let leaves = function.leaves(index) || !function.following(index).iter().all(is_member);
                Some(OpenBranch { index, flags, leaves })
            })
            .collect()
    }

    /// Judges a loop within which addresses move.
    fn sweep(&self, branches: &[OpenBranch]) -> BusyWaiting {
        let is_inner = |index: usize| self.region.loops.iter().skip(1).any(|inner| inner.has(index));
        // A round that goes on where the one before ended is a search.
        let goes_on = self.flow.carried.iter().any(|((number, variable), kind)| {
            *number == 0
                && *kind == CarriedVariable::Counter
                && counters_of(1 << variable) & self.flow.deeds.moving_by != 0
        });
        if goes_on || !self.flow.deeds.moving_loads.iter().all(|&load| is_inner(load)) {
            return BusyWaiting::Work;
        }
        let mut exits = branches.iter().filter(|branch| branch.leaves);
        let is_sum = |branch: &OpenBranch| {
            let instruction = &self.region.code.function.instructions[branch.index];
            let is_equality = matches!(instruction.condition_code(), ConditionCode::e | ConditionCode::ne);
            branch.flags.moving && is_equality && !is_inner(branch.index)
        };
        let sums = exits.clone().any(is_sum);
        if sums && exits.clone().all(|exit| is_sum(exit) || exit.flags.is_poll() || exit.flags.is_fixed()) {
            return BusyWaiting::Spins;
        }
        let accumulates = self.flow.carried.values().any(|kind| *kind == CarriedVariable::Moving);
        let is_indirect = self.region.calls.iter().any(|(index, call)| {
            *call == CallEffect::Indirect && self.region.members.binary_search(index).is_ok()
        });
        if is_indirect && !accumulates && exits.clone().any(|exit| exit.flags.is_poll()) {
            return BusyWaiting::MayWait;
        }
        // One flag after the other: whether this waits for any of them or searches, only the program knows.
        let is_decided = exits.any(|exit| exit.flags.moving || exit.flags.counters != 0);
        let looks = branches.iter().any(|branch| branch.flags.moving && is_inner(branch.index));
        if looks && is_decided && !accumulates { BusyWaiting::MayWait } else { BusyWaiting::Work }
    }
}

/// Judges a loop all of whose loads are from addresses that stay the same.
fn poll(branches: &[OpenBranch]) -> BusyWaiting {
    let mut exits = branches.iter().filter(|branch| branch.leaves);
    let polls = exits.clone().any(|exit| exit.flags.is_poll());
    let moves = exits.any(|exit| exit.flags.moving);
    if polls && !moves { BusyWaiting::Spins } else { BusyWaiting::Work }
}
