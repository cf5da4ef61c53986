//! The values of variables at each instruction of a loop, or of a whole function.
//!
//! A variable is *carried* through a loop if a round reads what the round before has written:
//!
//! ```text
//!   L: mov  eax, [rdi]        eax is written before it is read: not carried
//!      test eax, eax          decided by a load
//!      je   L
//!
//!   L: mov  rdi, [rdi]        rdi is carried: a walk along a list
//!      test rdi, rdi
//!      jne  L
//! ```
//! What a carried variable is at the beginning of a round is taken to be a counter, the loop followed, and what comes
//! back compared: a counter by fixed steps stays one; what is loaded or set anew in each round *repeats*; all else is
//! *moving*. Then the loop is followed again, up to where nothing new is found.

use iced_x86::FlowControl;
use rustc_hash::FxHashMap;

use crate::spin::calls::CallEffect;
use crate::spin::effect::{InstructionEffect, is_idempotent};
use crate::spin::loops::Loop;
use crate::spin::transfer::{Code, LoopActions, VariableValues};
use crate::spin::value::ValueOrigin;
use crate::spin::variables::{FLAGS, SLOTS, Set, arguments, lost_in_calls, members, variables};

/// What a carried variable is from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarriedVariable {
    Counter,
    Repeats(ValueOrigin),
    Moving,
}

/// Some instructions of a function, and what is around each other there.
pub(crate) struct CodeRegion<'a> {
    pub code: Code<'a>,
    /// Ascending.
    pub members: &'a [usize],
    /// Where control enters.
    pub entries: &'a [usize],
    /// The loops among the members, the outermost first.
    pub loops: &'a [Loop],
    pub calls: &'a FxHashMap<usize, CallEffect>,
}

/// By number of a loop in its region, and variable.
type CarriedVariables = FxHashMap<(usize, u32), CarriedVariable>;

/// The values that were found.
pub(crate) struct Flow {
    /// Before each member.
    before: Vec<Option<VariableValues>>,
    pub carried: CarriedVariables,
    pub deeds: LoopActions,
}

impl CodeRegion<'_> {
    fn effect(&self, index: usize) -> InstructionEffect {
        match self.calls.get(&index) {
            Some(CallEffect::Follows(summary)) => InstructionEffect {
                reads: summary.arguments,
                replaces: summary.writes & lost_in_calls(),
                changes: 0,
            },
            Some(CallEffect::Known(_)) => InstructionEffect {
                reads: variables(iced_x86::Register::RDI).0,
                replaces: lost_in_calls(),
                changes: 0,
            },
            Some(_) => {
                let call = &self.code.function.instructions[index];
                let target = [call.op0_register(), call.memory_base(), call.memory_index()];
                let reads = target.iter().fold(0, |set, &register| set | variables(register).0);
                InstructionEffect { reads, replaces: lost_in_calls(), changes: 0 }
            }
            None => {
                let instruction = &self.code.function.instructions[index];
                if instruction.is_stack_instruction() {
                    return InstructionEffect::default();
                }
                InstructionEffect::of(instruction, self.code.function, self.code.slots)
            }
        }
    }

    fn position(&self, index: usize) -> Option<usize> {
        self.members.binary_search(&index).ok()
    }

    /// The variables that may be read before they are written, from each member on, where ways to `ends` are cut.
    fn live(&self, members: &[usize], ends: &[usize]) -> FxHashMap<usize, Set> {
        let effects: Vec<InstructionEffect> = members.iter().map(|&index| self.effect(index)).collect();
        let mut live: FxHashMap<usize, Set> = FxHashMap::default();
        let mut changed = true;
        while changed {
            changed = false;
            for (&index, effect) in members.iter().zip(&effects).rev() {
                let following = self.code.function.following(index).iter();
                let after = following
                    .filter(|next| !ends.contains(next))
                    .fold(0, |set, next| set | live.get(next).copied().unwrap_or(0));
                let before = effect.reads | (after & !effect.replaces);
                changed |= live.insert(index, before) != Some(before) && before != 0;
            }
        }
        live
    }

    /// The arguments that the region's code reads.
    pub fn arguments(&self) -> Set {
        let live = self.live(self.members, &[]);
        self.entries.iter().fold(0, |set, entry| set | live.get(entry).copied().unwrap_or(0)) & arguments()
    }

    /// All that the region's code writes.
    pub fn writes(&self) -> Set {
        self.members.iter().fold(0, |set, &index| set | self.effect(index).writes())
    }

    fn carried(&self) -> CarriedVariables {
        let mut carried = CarriedVariables::default();
        for (number, found) in self.loops.iter().enumerate() {
            let live = self.live(&found.members, &found.headers);
            let written = found.members.iter().fold(0, |set, &index| set | self.effect(index).writes());
            let read =
                found.headers.iter().fold(0, |set, header| set | live.get(header).copied().unwrap_or(0));
            let set = read & written & !(1 << FLAGS);
            carried.extend(members(set).map(|variable| ((number, variable), CarriedVariable::Counter)));
        }
        carried
    }

    /// Follows all values; `None` where no end is found.
    pub fn follow(&self) -> Option<Flow> {
        const MOST_ROUNDS: usize = 16;
        let mut flow = Flow { before: Vec::new(), carried: self.carried(), deeds: LoopActions::default() };
        for _ in 0..MOST_ROUNDS {
            let back = self.pass(&mut flow);
            let mut changed = false;
            for (key, kind) in &mut flow.carried {
                let Some(&value) = back.get(key) else { continue };
                let found = if value.repeats() {
                    CarriedVariable::Repeats(value)
                } else if value.steady && !value.moving {
                    CarriedVariable::Counter
                } else {
                    CarriedVariable::Moving
                };
                // What was found to move is not looked at again, so that an end is found.
                if *kind != CarriedVariable::Moving && *kind != found {
                    *kind = found;
                    changed = true;
                }
            }
            if !changed {
                self.look(&mut flow);
                return Some(flow);
            }
        }
        None
    }

    /// One pass over the region; the values that carried variables have on the ways back.
    fn pass(&self, flow: &mut Flow) -> FxHashMap<(usize, u32), ValueOrigin> {
        let variables = SLOTS as usize + self.code.slots.len();
        let mut back: FxHashMap<(usize, u32), ValueOrigin> = FxHashMap::default();
        flow.before = vec![None; self.members.len()];
        let mut open: Vec<usize> = Vec::new();
        for &entry in self.entries {
            let Some(position) = self.position(entry) else { continue };
            let mut state = vec![ValueOrigin::FIXED; variables];
            for (number, found) in self.loops.iter().enumerate() {
                if found.headers.contains(&entry) {
                    self.begin_round((number, false), &mut state, &flow.carried, &mut back);
                }
            }
            flow.before[position] = Some(state);
            open.push(position);
        }
        while let Some(position) = open.pop() {
            let Some(mut state) = flow.before[position].clone() else { continue };
            let index = self.members[position];
            self.code.step(index, self.calls.get(&index), &mut state, &mut LoopActions::default());
            for &next in self.code.function.following(index) {
                let Some(following) = self.position(next) else { continue };
                let mut incoming = state.clone();
                for (number, found) in self.loops.iter().enumerate() {
                    if found.headers.contains(&next) {
                        let way = (number, found.ends.contains(&index));
                        if way.1 || !found.has(index) || found.shares_header {
                            self.begin_round(way, &mut incoming, &flow.carried, &mut back);
                        }
                    }
                }
                if join(&mut flow.before[following], incoming) {
                    open.push(following);
                }
            }
        }
        back
    }

    /// Makes of values what they are at the beginning of a loop's first round, or of further rounds.
    fn begin_round(
        &self,
        (number, returns): (usize, bool),
        state: &mut VariableValues,
        carried: &CarriedVariables,
        back: &mut FxHashMap<(usize, u32), ValueOrigin>,
    ) {
        for (variable, value) in state.iter_mut().enumerate() {
            let key = (number, variable as u32);
            let Some(kind) = carried.get(&key) else { continue };
            if returns {
                let sum = back.entry(key).or_insert(*value);
                *sum = sum.or(*value);
            }
            *value = match kind {
                CarriedVariable::Counter if returns => counter(variable),
                CarriedVariable::Counter => ValueOrigin { moving: value.moving, ..counter(variable) },
                CarriedVariable::Repeats(repeated) => value.or(*repeated),
                CarriedVariable::Moving => ValueOrigin { polled: value.polled, ..ValueOrigin::MOVING },
            };
        }
    }

    /// What the instructions do with the values that were found.
    fn look(&self, flow: &mut Flow) {
        let mut deeds = LoopActions::default();
        for (&index, before) in self.members.iter().zip(&flow.before) {
            let Some(mut state) = before.clone() else { continue };
            self.code.step(index, self.calls.get(&index), &mut state, &mut deeds);
        }
        flow.deeds = deeds;
    }

    /// Whether something is loaded that decides nothing here: it is for what comes after.
    pub fn loads_for_others(&self) -> bool {
        let mut needed: FxHashMap<usize, Set> = FxHashMap::default();
        let after = |needed: &FxHashMap<usize, Set>, index: usize| {
            let following = self.code.function.following(index).iter();
            following.fold(0, |set, next| set | needed.get(next).copied().unwrap_or(0))
        };
        let decides = |index: usize| {
            let instruction = &self.code.function.instructions[index];
            self.calls.contains_key(&index)
                || is_idempotent(instruction)
                || instruction.flow_control() != FlowControl::Next
        };
        let mut changed = true;
        while changed {
            changed = false;
            for &index in self.members.iter().rev() {
                let (effect, after) = (self.effect(index), after(&needed, index));
                let reads = effect.reads | if self.calls.contains_key(&index) { arguments() } else { 0 };
                let is_needed = decides(index) || effect.writes() & after != 0;
                let before = (after & !effect.replaces) | if is_needed { reads } else { 0 };
                changed |= needed.insert(index, before) != Some(before) && before != 0;
            }
        }
        self.members.iter().any(|&index| {
            !decides(index)
                && self.code.loads(index)
                && self.effect(index).writes() & after(&needed, index) == 0
        })
    }

    /// The flags before a member; `None` where control does not get there.
    pub fn flags(&self, flow: &Flow, index: usize) -> Option<ValueOrigin> {
        let before = flow.before.get(self.position(index)?)?.as_ref()?;
        before.get(FLAGS as usize).copied()
    }
}

/// A counter in a variable: one for both parts of a register.
fn counter(variable: usize) -> ValueOrigin {
    ValueOrigin::counter(counters_of(1 << variable))
}

/// The counters that variables are.
pub(crate) fn counters_of(variables: Set) -> Set {
    const LOW_PARTS: Set = 0x5555_5555;
    const PARTS: Set = 0xffff_ffff;
    (variables & !PARTS) | ((variables | variables >> 1) & LOW_PARTS)
}

/// Adds what may come to a place; whether that was new.
fn join(before: &mut Option<VariableValues>, incoming: VariableValues) -> bool {
    let Some(state) = before else {
        *before = Some(incoming);
        return true;
    };
    let mut changed = false;
    for (value, other) in state.iter_mut().zip(incoming) {
        let joined = value.or(other);
        changed |= joined != *value;
        *value = joined;
    }
    changed
}
