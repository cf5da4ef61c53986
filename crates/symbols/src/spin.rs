//! Which addresses are in loops that only wait for memory, or the time, to change.
//!
//! In: the code of a file and an address. Out: whether a thread found at that address waits. It does
//! * at a `pause` instruction, or right behind one;
//! * in a small loop with a `pause`, or with a call that pauses or yields, in its own rounds, whatever else it does
//!   but calling what is not known, and looping without a pause;
//! * in a call of a loop that pauses, whatever else that does, if what is called only reads a clock or a flag;
//! * in a loop that meets the rule of [`rule`].
//!
//! Everything that is in doubt is useful work; where little is in doubt, it is said that it may wait.
//!
//! ```text
//!   decoded function ─► loops, nested ─► values around each loop ─► rule
//!   (function)          (loops)          (flow, transfer, value)    (rule)
//! ```

mod accessed;
mod calls;
mod effect;
mod flow;
mod function;
mod known;
mod loops;
mod polled;
mod rule;
mod transfer;
mod value;
mod variables;

use std::ops::Range;

use iced_x86::Mnemonic;
use longpole_event::BusyWaiting;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::functions::Functions;
use crate::image::Image;
pub use crate::spin::accessed::AccessedWord;
use crate::spin::accessed::accessed_words;
use crate::spin::calls::{CallEffect, Callees, FileParts, is_call};
use crate::spin::effect::is_visible;
use crate::spin::flow::CodeRegion;
use crate::spin::function::{DecodedFunction, is_pause};
use crate::spin::known::KnownFunction;
use crate::spin::loops::{Loop, loops_among, ways_of};
use crate::spin::polled::polled_words;
pub use crate::spin::polled::{PolledState, PolledWord};
use crate::spin::rule::{LoopClassifier, LoopRounds};
use crate::spin::transfer::Code;
use crate::spin::variables::written_slots;

/// A loop of more instructions than this does something.
const LARGEST_LOOP: usize = 256;
/// A loop with a pause and more instructions than this does something beside.
const LARGEST_PAUSE: usize = 32;
/// Functions beyond this size are not decoded.
const LARGEST_FUNCTION: u64 = 1 << 18;

/// Functions are kept for as many instructions: threads are found now in one, now in another.
const MOST_INSTRUCTIONS: usize = 1 << 18;

/// Decides for the addresses of one file.
pub(crate) struct Spins {
    callees: Callees,
    /// The functions that were looked at, by their beginning.
    functions: FxHashMap<u64, Loops>,
    /// Instructions in them.
    instructions: usize,
}

impl Spins {
    /// Prepares for a file.
    pub fn of(image: &Image) -> Self {
        Spins { callees: Callees::of(image), functions: FxHashMap::default(), instructions: 0 }
    }

    /// Whether a thread found at the address waits.
    pub fn at(&mut self, image: &Image, functions: &Functions, address: u64) -> BusyWaiting {
        let Some(range) = functions.range_of(address) else { return BusyWaiting::Work };
        if self.callees.yields(range.start) {
            return BusyWaiting::Spins;
        }
        if range.end - range.start > LARGEST_FUNCTION {
            return BusyWaiting::Work;
        }
        let parts = FileParts { image, functions };
        let loops = self.loops_of(parts, range.clone());
        let Some(here) = loops.function.index_of_byte(address) else { return BusyWaiting::Work };
        let found = loops.verdict(parts, here);
        if found == BusyWaiting::Work
            && self.callees.summary(parts, range.start).is_some_and(|does| does.loads)
        {
            return BusyWaiting::Polls;
        }
        found
    }

    fn loops_of(&mut self, parts: FileParts<'_>, range: Range<u64>) -> &mut Loops {
        if !self.functions.contains_key(&range.start) {
            let code = parts.image.code(range.start, (range.end - range.start) as usize);
            let function = DecodedFunction::decode(code, range.start);
            self.instructions += function.instructions.len();
            if self.instructions > MOST_INSTRUCTIONS {
                self.instructions = function.instructions.len();
                self.functions.clear();
            }
            let loops = Loops::of(function, parts, &mut self.callees);
            self.functions.insert(range.start, loops);
        }
        self.functions.get_mut(&range.start).expect("it is in there now")
    }

    /// The words that a thread looks at which is found at the address, where it waits there; else those that it accesses.
    pub fn words(
        &mut self,
        image: &Image,
        functions: &Functions,
        address: u64,
    ) -> (Vec<PolledWord>, Vec<AccessedWord>) {
        let waiting = self.at(image, functions, address);
        let known = functions.range_of(address).and_then(|range| self.functions.get(&range.start));
        let Some(Loops { function, small, .. }) = known else { return Default::default() };
        let Some(here) = function.index_of_byte(address) else { return Default::default() };
        match waiting {
            BusyWaiting::Spins => {
                let around = small.iter().filter(|found| found.has(here));
                let words = around.map(|found| polled_words(function, found));
                (words.into_iter().find(|words| !words.is_empty()).unwrap_or_default(), Vec::new())
            }
            BusyWaiting::Work => (Vec::new(), accessed_words(function, here)),
            BusyWaiting::MayWait | BusyWaiting::Polls => Default::default(),
        }
    }
}

/// A loop that is not judged yet.
struct UnjudgedLoop {
    found: Loop,
    kind: LoopRounds,
}

/// The loops and ways round that may wait, of all loops of a function and those without visible instructions.
fn candidates(function: &DecodedFunction, all: &[Loop], quiet: Vec<Loop>) -> Vec<UnjudgedLoop> {
    let mut candidates: Vec<UnjudgedLoop> = Vec::new();
    for found in quiet {
        let is_whole = all.iter().any(|other| other.members == found.members);
        if found.members.len() <= LARGEST_LOOP {
            let ways = ways_of(function, &found).into_iter();
            let alone = ways.filter(|way| way.members.len() < found.members.len());
            candidates.extend(alone.map(|found| UnjudgedLoop { found, kind: LoopRounds::OneOfSeveral }));
        }
        let kind = match (found.shares_header, is_whole) {
            (true, _) => LoopRounds::OneOfSeveral,
            (false, true) => LoopRounds::All,
            (false, false) => LoopRounds::BesideWork,
        };
        candidates.push(UnjudgedLoop { found, kind });
    }
    candidates
}

/// Whether a round of the loop pauses, not only one of a loop within.
fn pauses_itself(function: &DecodedFunction, all: &[Loop], outer: &Loop) -> bool {
    let is_own = |index: usize| !all.iter().any(|inner| inner.is_inside(outer) && inner.has(index));
    outer.members.iter().any(|&index| is_pause(&function.instructions[index]) && is_own(index))
}

/// The loops of a function, judged as they are asked for.
struct Loops {
    function: DecodedFunction,
    calls: FxHashMap<usize, CallEffect>,
    /// All that may be looked at, the smallest first.
    small: Vec<Loop>,
    /// Loops without calls that are not known.
    pausing: Vec<Loop>,
    /// Loops that pause, with all that they do beside.
    busy: Vec<Loop>,
    candidates: Vec<UnjudgedLoop>,
    verdicts: Vec<BusyWaiting>,
}

impl Loops {
    fn of(function: DecodedFunction, parts: FileParts<'_>, callees: &mut Callees) -> Self {
        let all = loops_among(&function, (0..function.instructions.len()).collect());
        let inside: FxHashSet<usize> = all.iter().flat_map(|found| found.members.iter().copied()).collect();
        let is_inside = |index: &usize| inside.contains(index);
        let calling = (0..function.instructions.len())
            .filter(is_inside)
            .filter(|&index| is_call(&function.instructions[index]));
        let calls: FxHashMap<usize, CallEffect> =
            calling.map(|index| (index, callees.call(parts, &function, index))).collect();
        let is_open = |index: &usize| match calls.get(index) {
            Some(call) => !matches!(call, CallEffect::Unknown | CallEffect::Indirect),
            None => {
                !matches!(function.instructions[*index].mnemonic(), Mnemonic::Syscall | Mnemonic::INVALID)
            }
        };
        let is_quiet = |index: &usize| match calls.get(index) {
            Some(call) => *call != CallEffect::Unknown,
            None => !is_visible(&function.instructions[*index], &function),
        };
        let of = |keep: &dyn Fn(&usize) -> bool| {
            let members = (0..function.instructions.len()).filter(is_inside).filter(|index| keep(index));
            loops_among(&function, members.collect())
        };
        let candidates = candidates(&function, &all, of(&is_quiet));
        let pausing = of(&is_open)
            .iter()
            .filter(|found| found.members.len() <= LARGEST_LOOP)
            .flat_map(|found| ways_of(&function, found))
            .collect();
        let is_small = |found: &&Loop| found.members.len() <= LARGEST_LOOP;
        let busy = all.iter().filter(is_small).filter(|found| pauses_itself(&function, &all, found));
        let busy = busy.cloned().collect();
        let mut small: Vec<Loop> = all.iter().filter(is_small).cloned().collect();
        small.sort_by_key(|found| found.members.len());
        let verdicts = vec![BusyWaiting::Work; function.instructions.len()];
        Loops { function, calls, small, pausing, busy, candidates, verdicts }
    }

    fn verdict(&mut self, parts: FileParts<'_>, here: usize) -> BusyWaiting {
        let pause = |index: usize| self.function.instructions.get(index).is_some_and(is_pause);
        let is_behind = !is_call(&self.function.instructions[here]) && here.checked_sub(1).is_some_and(pause);
        if pause(here) || is_behind || self.pauses(here) || self.asks(here) {
            return BusyWaiting::Spins;
        }
        let (around, rest): (Vec<UnjudgedLoop>, Vec<UnjudgedLoop>) =
            std::mem::take(&mut self.candidates).into_iter().partition(|next| next.found.has(here));
        self.candidates = rest;
        for candidate in around {
            self.judge(parts, candidate);
        }
        self.verdicts[here]
    }

    /// Whether the instruction only asks for the time or a flag, in a loop that pauses: LLVM's OpenMP does much in the loop in which
    /// it waits, and reads the time in a procedure of its own.
    fn asks(&self, here: usize) -> bool {
        let only_looks = match self.calls.get(&here) {
            Some(CallEffect::Known(known)) => *known == KnownFunction::ReadsClock,
            Some(CallEffect::Follows(summary)) => summary.loads,
            _ => false,
        };
        only_looks && self.busy.iter().any(|found| found.has(here))
    }

    /// Whether a round of a loop around an instruction pauses. A loop within that does not pause may be work for as long as it likes.
    fn pauses(&self, here: usize) -> bool {
        let pauses = |index: &usize| {
            is_pause(&self.function.instructions[*index])
                || self.calls.get(index).is_some_and(CallEffect::pauses)
        };
        let around = self.pausing.iter().filter(|found| found.has(here));
        let mut small = around.filter(|found| found.members.len() <= LARGEST_PAUSE);
        small.any(|outer| {
            let inner: Vec<&Loop> = self.pausing.iter().filter(|inner| inner.is_inside(outer)).collect();
            let own = |index: &&usize| !inner.iter().any(|inner| inner.has(**index));
            let is_work = |inner: &Loop| inner.has(here) && !inner.members.iter().any(&pauses);
            let is_in_work = || {
                let mut within = self.small.iter().filter(|inner| inner.members.len() < outer.members.len());
                within.any(is_work) || (self.calls_for_long(here) && self.is_seen(outer))
            };
            outer.members.iter().filter(own).any(pauses) && !is_in_work()
        })
    }

    /// Whether the instruction calls what neither pauses nor is known, and may work for as long as it likes.
    fn calls_for_long(&self, here: usize) -> bool {
        matches!(self.calls.get(&here), Some(CallEffect::Follows(summary)) if !summary.pauses)
    }

    /// Whether others see what the loop does: it does not only wait.
    fn is_seen(&self, found: &Loop) -> bool {
        let instructions = &self.function.instructions;
        found
            .members
            .iter()
            .any(|&index| !is_call(&instructions[index]) && is_visible(&instructions[index], &self.function))
    }

    /// Judges a loop, and where it is not one that waits because of an update, the ways round without that.
    fn judge(&mut self, parts: FileParts<'_>, candidate: UnjudgedLoop) {
        let mut open = vec![candidate];
        while let Some(UnjudgedLoop { found, kind }) = open.pop() {
            if found.members.len() > LARGEST_LOOP {
                continue;
            }
            match self.look(parts, &found, kind) {
                Ok(verdict) => {
                    for &member in &found.members {
                        self.verdicts[member] = self.verdicts[member].max(verdict);
                    }
                }
                Err(updates) => {
                    let rest = found.members.iter().filter(|member| !updates.contains(member)).copied();
                    let ways = loops_among(&self.function, rest.collect()).into_iter();
                    open.extend(ways.map(|found| UnjudgedLoop { found, kind: LoopRounds::BesideWork }));
                }
            }
        }
    }

    fn look(
        &self,
        parts: FileParts<'_>,
        found: &Loop,
        rounds: LoopRounds,
    ) -> Result<BusyWaiting, Vec<usize>> {
        let Some(slots) = written_slots(&self.function, &found.members) else { return Ok(BusyWaiting::Work) };
        let loops = loops_among(&self.function, found.members.clone());
        let region = CodeRegion {
            code: Code { image: parts.image, function: &self.function, slots: &slots },
            members: &found.members,
            entries: &found.headers,
            loops: &loops,
            calls: &self.calls,
        };
        let Some(flow) = region.follow() else { return Ok(BusyWaiting::Work) };
        if !flow.deeds.updates.is_empty() {
            return Err(flow.deeds.updates);
        }
        Ok(LoopClassifier { region: &region, flow: &flow, rounds }.verdict())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_found_now_here_now_there_have_each_function_looked_at_once() {
        let image = Image::open(&std::env::current_exe().expect("find this program")).expect("open it");
        let functions = Functions::of(&image);
        let starts = functions.all_starts();
        let [first, second] = [starts[starts.len() / 3], starts[starts.len() / 2]];
        let mut spins = Spins::of(&image);
        for address in [first, second, first, second] {
            spins.at(&image, &functions, address);
        }
        assert!([first, second].iter().all(|start| spins.functions.contains_key(start)));
        let instructions = spins.functions.values().map(|loops| loops.function.instructions.len());
        assert_eq!(spins.instructions, instructions.sum::<usize>());
    }
}
