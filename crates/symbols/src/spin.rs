//! Which addresses lie in loops that only wait for memory to change.
//!
//! In: the code of a file and an address. Out: whether a thread found at that address spins. A thread spins
//! * at a `pause` instruction, or right behind one;
//! * in a small loop with a `pause`, or with a call that only pauses or yields, and no other call;
//! * in a small loop in which each round does the same as the round before unless another thread changes
//!   the memory it reads (see [`crate::round`]).
//!
//! Everything that is in doubt is useful work.

use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

use crate::functions::Functions;
use crate::image::Image;
use crate::imports::Yields;
use crate::round::repeats;

/// A loop of more instructions than this does something.
const LARGEST_LOOP: usize = 32;
/// Functions beyond this size are not decoded.
const LARGEST_FUNCTION: u64 = 1 << 18;
/// A function of at most this many instructions may be one that only pauses.
const LARGEST_HELPER: usize = 16;
/// A loop of at most this many instructions may wait though its header has other ways round.
const SHORTEST_WAIT: usize = 6;
/// A loop without pause that has more conditional branches than this does something.
const MOST_TESTS: usize = 2;
/// Compilers pad with at most this many instructions.
const LONGEST_PADDING: usize = 32;
/// Helpers may call helpers this deep.
const HELPER_DEPTH: u32 = 2;

/// Decides for the addresses of one file.
pub(crate) struct Spins {
    yields: Yields,
    /// The function looked at last.
    last: Option<Function>,
}

impl Spins {
    /// Prepares for a file.
    pub fn of(image: &Image) -> Self {
        Spins { yields: Yields::of(image), last: None }
    }

    /// Whether a thread found at the address only waits. Quickest when asked in the order of addresses.
    pub fn at(&mut self, image: &Image, functions: &Functions, address: u64) -> bool {
        let Some(range) = functions.range_of(address) else { return false };
        if self.yields.is_function(range.start) {
            return true;
        }
        if range.end - range.start > LARGEST_FUNCTION {
            return false;
        }
        if self.last.as_ref().is_none_or(|function| function.range != range) {
            let code = image.code(range.start, (range.end - range.start) as usize);
            self.last = Some(Function::decode(code, range));
        }
        let Some(function) = &self.last else { return false };
        let Some(here) = function.index_of_byte(address) else { return false };
        let pause = |index: usize| function.instructions.get(index).is_some_and(is_pause);
        if pause(here) || here.checked_sub(1).is_some_and(pause) {
            return true;
        }
        let judge = Judge { image, yields: &self.yields, function };
        let mut around = function.loops.iter().filter(|body| body.members.binary_search(&here).is_ok());
        around.any(|body| judge.waits(body))
    }
}

fn is_pause(instruction: &Instruction) -> bool {
    use Mnemonic::{Mwait, Mwaitx, Pause, Tpause, Umwait};
    matches!(instruction.mnemonic(), Pause | Tpause | Umwait | Mwait | Mwaitx)
}

pub(crate) fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch)
}

/// A loop: the index of the first instruction of a round, and those of all, in ascending order.
pub(crate) struct Body {
    pub header: usize,
    pub members: Vec<usize>,
    /// There is no other way round from the header than within `members`.
    whole: bool,
}

/// A decoded function and its small loops.
struct Function {
    range: Range<u64>,
    instructions: Vec<Instruction>,
    loops: Vec<Body>,
}

impl Function {
    fn decode(code: &[u8], range: Range<u64>) -> Self {
        let instructions: Vec<Instruction> =
            Decoder::with_ip(64, code, range.start, DecoderOptions::NONE).into_iter().collect();
        // Branches within the function, as (to, from).
        let mut branches: Vec<(usize, usize)> = Vec::new();
        for (from, instruction) in instructions.iter().enumerate() {
            if is_branch(instruction) {
                let target = instruction.near_branch_target();
                let to = instructions.binary_search_by_key(&target, Instruction::ip);
                branches.extend(to.ok().map(|to| (to, from)));
            }
        }
        branches.sort_unstable();
        let graph = Graph { instructions: &instructions, branches: &branches };
        let mut joins: Vec<usize> = branches.iter().map(|branch| branch.0).collect();
        joins.dedup();
        let loops = joins.into_iter().flat_map(|header| graph.loops_at(header)).collect();
        Function { range, instructions, loops }
    }

    /// The instruction that holds the byte at the address.
    fn index_of_byte(&self, address: u64) -> Option<usize> {
        let index = self.instructions.partition_point(|instruction| instruction.next_ip() <= address);
        self.instructions.get(index).filter(|instruction| instruction.ip() <= address).map(|_| index)
    }
}

/// What leads to a branch.
enum Way {
    /// A loop of few instructions, in ascending order.
    Small(Vec<usize>),
    /// More than a small loop has.
    Large,
    /// Also what does not come from the loop's header.
    FromOutside,
}

/// The control flow of a function.
struct Graph<'a> {
    instructions: &'a [Instruction],
    /// Branches as (to, from), sorted.
    branches: &'a [(usize, usize)],
}

impl Graph<'_> {
    /// The small loops whose rounds begin at `header`: each way round alone, and all together.
    fn loops_at(&self, header: usize) -> Vec<Body> {
        let mut ways: Vec<Vec<usize>> = Vec::new();
        let mut large: Vec<usize> = Vec::new();
        for end in self.predecessors(header) {
            match self.way(header, end) {
                Way::Small(members) => ways.push(members),
                Way::Large => large.push(end),
                Way::FromOutside => {}
            }
        }
        if ways.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<usize> = ways.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let whole = all.len() <= LARGEST_LOOP && self.are_entered(header, &large);
        let together = whole.then_some(Body { header, members: all, whole });
        let alone = ways.into_iter().map(|members| Body { header, members, whole: false });
        together.into_iter().chain(alone).collect()
    }

    /// All that leads from `header` to `end`.
    fn way(&self, header: usize, end: usize) -> Way {
        let mut members = vec![header];
        let mut open = vec![end];
        while let Some(index) = open.pop() {
            if members.contains(&index) {
                continue;
            }
            members.push(index);
            let known = open.len();
            open.extend(self.predecessors(index));
            if index == 0 || open.len() == known {
                return Way::FromOutside;
            }
            if members.len() > LARGEST_LOOP {
                return Way::Large;
            }
        }
        members.sort_unstable();
        Way::Small(members)
    }

    /// Whether control reaches all of these from the function's beginning without passing `header`.
    fn are_entered(&self, header: usize, ends: &[usize]) -> bool {
        if ends.is_empty() {
            return true;
        }
        let mut reached = vec![false; self.instructions.len()];
        reached[header] = true;
        let mut open = vec![0];
        while let Some(index) = open.pop() {
            if reached.get(index).is_none_or(|reached| *reached) {
                continue;
            }
            reached[index] = true;
            if self.falls_through(index) {
                open.push(index + 1);
            }
            let instruction = &self.instructions[index];
            if is_branch(instruction) {
                let target = instruction.near_branch_target();
                open.extend(self.instructions.binary_search_by_key(&target, Instruction::ip));
            }
        }
        ends.iter().all(|&end| end != header && reached[end])
    }

    /// Instructions from which control reaches this one directly.
    fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> {
        let before = index.checked_sub(1).filter(|&before| self.falls_through(before));
        before.into_iter().chain(self.branches_to(index))
    }

    fn branches_to(&self, index: usize) -> impl Iterator<Item = usize> {
        let first = self.branches.partition_point(|branch| branch.0 < index);
        self.branches[first..].iter().take_while(move |branch| branch.0 == index).map(|branch| branch.1)
    }

    /// Whether control goes on behind an instruction. It does not behind padding that nothing leads to.
    fn falls_through(&self, index: usize) -> bool {
        use FlowControl::{IndirectBranch, Return, UnconditionalBranch};
        let mut last = index;
        for _ in 0..LONGEST_PADDING {
            let instruction = &self.instructions[last];
            if matches!(instruction.flow_control(), UnconditionalBranch | Return | IndirectBranch) {
                return false;
            }
            let is_padding =
                instruction.mnemonic() == Mnemonic::Nop && self.branches_to(last).next().is_none();
            if !is_padding || last == 0 {
                return true;
            }
            last -= 1;
        }
        true
    }
}

/// Judges the loops of one function.
struct Judge<'a> {
    image: &'a Image,
    yields: &'a Yields,
    function: &'a Function,
}

impl Judge<'_> {
    /// Whether a loop only waits.
    fn waits(&self, body: &Body) -> bool {
        let mut pauses = false;
        for instruction in body.members.iter().map(|&index| &self.function.instructions[index]) {
            match instruction.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => {
                    if !self.only_pauses(instruction, HELPER_DEPTH) {
                        return false;
                    }
                    pauses = true;
                }
                FlowControl::Next => pauses |= is_pause(instruction),
                FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {}
                _ => return false,
            }
            if matches!(instruction.mnemonic(), Mnemonic::Syscall | Mnemonic::INVALID) {
                return false;
            }
        }
        pauses
            || (self.is_telling(body)
                && repeats(&self.function.instructions, body)
                && self.inner_loops(body).all(|inner| self.waits(inner)))
    }

    /// Whether a loop without pause may be judged by its rounds.
    ///
    /// A way round on which nothing happens may be one that is never taken, behind tests that the compiler
    /// could not leave out; walks along lists have such. So waits have few tests, and where there are other
    /// ways round, few instructions.
    fn is_telling(&self, body: &Body) -> bool {
        let instructions = body.members.iter().map(|&index| &self.function.instructions[index]);
        let tests =
            instructions.filter(|instruction| instruction.flow_control() == FlowControl::ConditionalBranch);
        tests.count() <= MOST_TESTS && (body.whole || body.members.len() <= SHORTEST_WAIT)
    }

    /// The loops within a round of another.
    fn inner_loops(&self, outer: &Body) -> impl Iterator<Item = &Body> {
        self.function.loops.iter().filter(|body| {
            let is_member = |index: &usize| outer.members.binary_search(index).is_ok();
            body.header != outer.header && body.members.iter().all(is_member)
        })
    }

    /// Whether a call, or a jump out of a helper, leads to code that only pauses or yields.
    fn only_pauses(&self, instruction: &Instruction, depth: u32) -> bool {
        if instruction.is_ip_rel_memory_operand() {
            return self.yields.is_slot(instruction.ip_rel_memory_address());
        }
        if !matches!(instruction.flow_control(), FlowControl::Call | FlowControl::UnconditionalBranch) {
            return false;
        }
        let target = instruction.near_branch_target();
        self.yields.is_function(target) || (depth > 0 && self.is_pausing_helper(target, depth - 1))
    }

    fn is_pausing_helper(&self, start: u64, depth: u32) -> bool {
        let code = self.image.code(start, LARGEST_HELPER * 15);
        let mut pauses = false;
        for instruction in
            Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().take(LARGEST_HELPER)
        {
            match instruction.flow_control() {
                FlowControl::Return => return pauses,
                FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                    return self.only_pauses(&instruction, depth);
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    if !self.only_pauses(&instruction, depth) {
                        return false;
                    }
                    pauses = true;
                }
                FlowControl::Next if instruction.code() != Code::INVALID => pauses |= is_pause(&instruction),
                _ => return false,
            }
        }
        false
    }
}
