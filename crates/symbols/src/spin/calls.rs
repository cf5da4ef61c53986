//! What the functions do that are called in a loop.
//!
//! A small function is followed: if it only loads and computes, a loop that calls it may wait.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use rustc_hash::FxHashMap;

use crate::functions::Functions;
use crate::image::Image;
use crate::spin::effect::{is_frame_work, is_visible};
use crate::spin::flow::{CarriedVariable, CodeRegion};
use crate::spin::function::{DecodedFunction, is_pause};
use crate::spin::known::{KnownFunction, KnownFunctions};
use crate::spin::loops::loops_among;
use crate::spin::transfer::Code;
use crate::spin::variables::{Set, written_slots};

/// A function of more bytes than this does something.
const LARGEST_HELPER: u64 = 1024;
/// Helpers may call helpers this deep.
const DEEPEST: u32 = 5;

/// What a small function does that only loads, computes and pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionSummary {
    /// The registers that it reads its arguments from.
    pub arguments: Set,
    /// All that it writes.
    pub writes: Set,
    /// Its result depends on memory that others may change.
    pub loads: bool,
    /// It pauses or yields.
    pub pauses: bool,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEffect {
    Known(KnownFunction),
    Follows(FunctionSummary),
    /// Its target is only known when the program runs.
    Indirect,
    /// It may do anything.
    Unknown,
}

impl CallEffect {
    /// Whether it tells the processor or the kernel that the thread waits.
    pub fn pauses(&self) -> bool {
        match self {
            CallEffect::Known(known) => matches!(known, KnownFunction::Yields | KnownFunction::Sleeps),
            CallEffect::Follows(summary) => summary.pauses,
            CallEffect::Indirect | CallEffect::Unknown => false,
        }
    }
}

/// The functions of one file, as far as they were followed.
#[derive(Default)]
pub(crate) struct Callees {
    known: KnownFunctions,
    summaries: FxHashMap<u64, Option<FunctionSummary>>,
}

/// The code of one file.
#[derive(Clone, Copy)]
pub(crate) struct FileParts<'a> {
    pub image: &'a Image,
    pub functions: &'a Functions,
}

impl Callees {
    pub fn of(image: &Image) -> Self {
        Callees { known: KnownFunctions::of(image), summaries: FxHashMap::default() }
    }

    /// Whether a function that yields begins at the address.
    pub fn yields(&self, address: u64) -> bool {
        self.known.yields(address)
    }

    /// What the call at an index of a function does.
    pub fn call(&mut self, parts: FileParts<'_>, function: &DecodedFunction, index: usize) -> CallEffect {
        self.call_within(parts, function, index, DEEPEST)
    }

    fn call_within(
        &mut self,
        parts: FileParts<'_>,
        function: &DecodedFunction,
        index: usize,
        depth: u32,
    ) -> CallEffect {
        let instruction = &function.instructions[index];
        let mut target = Some(instruction.near_branch_target()).filter(|&target| target != 0);
        let mut known = None;
        if target.is_none() {
            let Some(slot) = slot(function, index) else { return CallEffect::Indirect };
            if !self.known.is_in_table(slot) {
                return CallEffect::Indirect;
            }
            known = self.known.behind(slot);
            target = self.known.own_function(slot);
        }
        let known = known.or_else(|| self.known.at(parts.image, target?));
        let Some(known) = known else {
            let followed = target.and_then(|target| self.summary_within(parts, target, depth));
            return followed.map_or(CallEffect::Unknown, CallEffect::Follows);
        };
        if known == KnownFunction::ReadsClock && reads_own_time(&function.instructions[..index]) {
            return CallEffect::Unknown;
        }
        CallEffect::Known(known)
    }

    /// What the function at an address does; `None` where it may do more than load and compute.
    pub fn summary(&mut self, parts: FileParts<'_>, address: u64) -> Option<FunctionSummary> {
        self.summary_within(parts, address, DEEPEST)
    }

    fn summary_within(&mut self, parts: FileParts<'_>, address: u64, depth: u32) -> Option<FunctionSummary> {
        if let Some(known) = self.summaries.get(&address) {
            return *known;
        }
        let range = parts.functions.range_of(address)?;
        if range.start != address || range.end - range.start > LARGEST_HELPER || depth == 0 {
            return None;
        }
        // Functions that call themselves do something.
        self.summaries.insert(address, None);
        let code = parts.image.code(range.start, (range.end - range.start) as usize);
        let function = DecodedFunction::decode(code, range.start);
        let summary = self.summarise(parts, &function, depth - 1);
        self.summaries.insert(address, summary);
        summary
    }

    fn summarise(
        &mut self,
        parts: FileParts<'_>,
        function: &DecodedFunction,
        depth: u32,
    ) -> Option<FunctionSummary> {
        let members = reachable(function);
        let returns = |&index: &usize| function.leaves(index) && !function.is_last_call(index);
        if !members.iter().any(returns) {
            return None;
        }
        let mut calls: FxHashMap<usize, CallEffect> = FxHashMap::default();
        let mut pauses = false;
        for &index in &members {
            let instruction = &function.instructions[index];
            pauses |= is_pause(instruction);
            if is_call(instruction) || (function.leaves(index) && !is_return(instruction)) {
                if function.is_last_call(index) {
                    calls.insert(index, CallEffect::Unknown);
                    continue;
                }
                let call = self.call_within(parts, function, index, depth);
                if !matches!(call, CallEffect::Known(_) | CallEffect::Follows(_))
                    || call == CallEffect::Known(KnownFunction::Locks)
                {
                    return None;
                }
                pauses |= call.pauses();
                calls.insert(index, call);
            } else if !is_frame_work(instruction) && is_visible(instruction, function) {
                return None;
            }
        }
        let slots = written_slots(function, &members)?;
        let loops = loops_among(function, members.clone());
        let code = Code { image: parts.image, function, slots: &slots };
        let region = CodeRegion { code, members: &members, entries: &[0], loops: &loops, calls: &calls };
        let flow = region.follow()?;
        let moves = flow.carried.values().any(|kind| *kind == CarriedVariable::Moving);
        if moves || !flow.deeds.moving_loads.is_empty() || !flow.deeds.updates.is_empty() {
            return None;
        }
        let (arguments, writes) = (region.arguments(), region.writes());
        Some(FunctionSummary { arguments, writes, loads: flow.deeds.loads, pauses })
    }
}

/// The place in memory that a call or jump takes its target from, itself or by a register that holds nothing else.
fn slot(function: &DecodedFunction, index: usize) -> Option<u64> {
    let instruction = &function.instructions[index];
    if instruction.is_ip_rel_memory_operand() {
        return Some(instruction.ip_rel_memory_address());
    }
    let set = function.only_write(instruction.op0_register())?;
    (set.mnemonic() == Mnemonic::Mov && set.is_ip_rel_memory_operand()).then(|| set.ip_rel_memory_address())
}

/// The instructions to which control gets from the first one.
fn reachable(function: &DecodedFunction) -> Vec<usize> {
    let mut reached = vec![false; function.instructions.len()];
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        if reached.get(index).is_none_or(|reached| *reached) {
            continue;
        }
        reached[index] = true;
        open.extend(function.following(index));
    }
    (0..reached.len()).filter(|&index| reached[index]).collect()
}

pub(crate) fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
}

fn is_return(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::Return
}

/// Whether the clock that is read before the end of these instructions is the processor time of the caller: who
/// waits for that to pass does not wait for others.
fn reads_own_time(before: &[Instruction]) -> bool {
    const NEAR: usize = 16;
    /// `CLOCK_PROCESS_CPUTIME_ID` and `CLOCK_THREAD_CPUTIME_ID`.
    const OWN: [u64; 2] = [2, 3];
    let sets = |instruction: &&Instruction| {
        instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().full_register() == Register::RDI
    };
    let set = before.iter().rev().take(NEAR).find(sets);
    set.is_some_and(|set| {
        set.mnemonic() == Mnemonic::Mov
            && set.op1_kind() != OpKind::Register
            && set.op1_kind() != OpKind::Memory
            && OWN.contains(&set.immediate(1))
    })
}
