//! The functions that a stack skips: they were called, and nothing on the stack leads back into them.
//!
//! A function whose last act is to call another one jumps there, and its frame is gone (a tail call). A chain of frame pointers skips the
//! caller of a function that keeps none. The call that is still on the stack tells which function it was, if it is direct:
//!
//! ```text
//!   worker:  call update      the return address is here
//!   update:  … jmp unlock     is what that call calls, and not on the stack
//!   unlock:  …                the next frame inwards
//! ```
//! Invariant: a function is only told where its first address is that of a call, and where the next frame inwards is no part of it.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};
use rustc_hash::FxHashMap;

use crate::functions::FunctionIndex;
use crate::image::Image;
use crate::module::CodeSource;
use crate::unwinder::CodeAddress;

/// Longer functions are not looked through for the place at which they were left.
const MOST_CODE: u64 = 1 << 16;

/// What direct calls call, and how that is left.
#[derive(Debug, Default)]
pub(crate) struct SkippedFunctions {
    /// By the module and the address of the call's last byte; `None` where it is no direct call of a function.
    called: FxHashMap<(u32, u64), Option<CalledFunction>>,
    /// By the module.
    indices: FxHashMap<u32, FunctionIndex>,
}

/// A file's code, and where functions are in it.
type FileCode<'a> = (&'a Image, &'a FunctionIndex);

#[derive(Clone, Debug)]
struct CalledFunction {
    range: Range<u64>,
    /// Where it goes on elsewhere for good: the jump, and its target if that is in the same file.
    leaves: Vec<(u64, Option<u64>)>,
    /// Parts of it that lie elsewhere: a jump of it leads into the middle of them.
    parts: Vec<Range<u64>>,
}

/// How a stack was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowedBy {
    /// By unwind information: only a function that has jumped elsewhere is skipped.
    UnwindInformation,
    /// By frame pointers: one that has called another is skipped, too.
    FramePointers,
}

impl SkippedFunctions {
    /// Where the function was left that the call with this last byte called, if `inner`, the next frame inwards, is not in it.
    pub fn between(
        &mut self,
        source: &CodeSource,
        call: u64,
        inner: CodeAddress,
        by: FollowedBy,
    ) -> Option<CodeAddress> {
        let image = source.image.as_ref().filter(|_| !source.is_go)?;
        let index = self.indices.entry(source.module).or_insert_with(|| FunctionIndex::of(image));
        let code = (&**image, &*index);
        let called = self.called.entry((source.module, call));
        let called = called.or_insert_with(|| CalledFunction::of(code, call)).as_ref()?;
        let is_same_file = inner.module == source.module;
        if is_same_file && called.has(inner.address) {
            return None;
        }
        let inner = is_same_file.then_some(inner.address);
        Some(CodeAddress { module: source.module, address: called.left_at(code, inner, by) })
    }
}

impl CalledFunction {
    fn of((image, index): FileCode<'_>, call: u64) -> Option<CalledFunction> {
        const CALL: u8 = 0xe8;
        let next = call.wrapping_add(1);
        let &[CALL, a, b, c, d] = image.code(next.wrapping_sub(5), 5) else { return None };
        let target = next.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into());
        let range = index.function_at(image, target)?.range;
        if range.start != target || is_stub(image, target) {
            return None;
        }
        let leaves = jumps_out(image, &range);
        let mut called = CalledFunction { range, leaves, parts: Vec::new() };
        called.find_parts((image, index));
        Some(called)
    }

    /// A function's unlikely code lies elsewhere, with a description of its own that goes on from where the function was.
    fn find_parts(&mut self, (image, index): FileCode<'_>) {
        for target in self.leaves.iter().filter_map(|(_, target)| *target) {
            if let Some(function) = index.function_at(image, target)
                && (function.range.start != target || !function.is_entered_by_calls)
                && !self.parts.contains(&function.range)
            {
                self.parts.push(function.range);
            }
        }
        let parts = std::mem::take(&mut self.parts);
        self.leaves.retain(|(_, target)| {
            target.is_none_or(|target| !parts.iter().any(|part| part.contains(&target)))
        });
        self.parts = parts;
    }

    fn has(&self, address: u64) -> bool {
        self.range.contains(&address) || self.parts.iter().any(|part| part.contains(&address))
    }

    /// The jump that led to the next frame inwards, or its first address where that is not known.
    fn left_at(&self, (image, index): FileCode<'_>, inner: Option<u64>, by: FollowedBy) -> u64 {
        if by == FollowedBy::FramePointers {
            return self.range.start;
        }
        let entered =
            inner.and_then(|inner| index.function_at(image, inner)).map(|function| function.range.start);
        let leads_there = |(_, target): &&(u64, Option<u64>)| entered.is_some() && *target == entered;
        let mut direct = self.leaves.iter().filter(leads_there);
        match (direct.next(), direct.next(), &self.leaves[..]) {
            (Some(&(jump, _)), None, _) | (None, None, &[(jump, _)]) => jump,
            _ => self.range.start,
        }
    }
}

/// The jumps of a function that lead out of it.
fn jumps_out(image: &Image, range: &Range<u64>) -> Vec<(u64, Option<u64>)> {
    let length = range.end - range.start;
    if length > MOST_CODE {
        return Vec::new();
    }
    let code = image.code(range.start, usize::try_from(length).unwrap_or(0));
    let mut leaves = Vec::new();
    for instruction in Decoder::with_ip(64, code, range.start, DecoderOptions::NONE).iter() {
        match instruction.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                if !range.contains(&target) {
                    leaves.push((instruction.ip(), Some(target)));
                }
            }
            FlowControl::IndirectBranch => leaves.push((instruction.ip(), None)),
            _ => {}
        }
    }
    leaves
}

/// Whether what begins there only leads to what the loader has filled in.
fn is_stub(image: &Image, address: u64) -> bool {
    const LONGEST: usize = 16;
    let code = image.code(address, LONGEST);
    let mut instructions = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let first = instructions.iter().find(|instruction| instruction.mnemonic() != Mnemonic::Endbr64);
    first.is_some_and(|first| first.flow_control() == FlowControl::IndirectBranch)
}
