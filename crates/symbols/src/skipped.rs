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

use crate::functions::{DescribedFunction, FunctionIndex};
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
type FunctionCode<'a> = (&'a Image, &'a FunctionIndex);

#[derive(Clone, Debug)]
struct CalledFunction {
    range: Range<u64>,
    /// Where it goes on in another function for good.
    leaves: Vec<LeavingJump>,
    /// Parts of it that lie elsewhere: a jump of it leads into the middle of them.
    parts: Vec<Range<u64>>,
}

#[derive(Clone, Debug)]
struct LeavingJump {
    address: u64,
    /// The function that it leads to, if that is in the same file and known.
    function: Option<Range<u64>>,
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
        let called = self.called.entry((source.module, call)).or_insert_with(|| {
            let index = self.indices.entry(source.module).or_insert_with(|| FunctionIndex::of(image));
            CalledFunction::of((image, index), call)
        });
        let inner = Some(inner).filter(|inner| inner.module == source.module).map(|inner| inner.address);
        let address = called.as_ref()?.left_for(inner, by)?;
        Some(CodeAddress { module: source.module, address })
    }
}

impl CalledFunction {
    fn of((image, index): FunctionCode<'_>, call: u64) -> Option<CalledFunction> {
        const CALL: u8 = 0xe8;
        let next = call.wrapping_add(1);
        let &[CALL, a, b, c, d] = image.code(next.wrapping_sub(5), 5) else { return None };
        let target = next.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into());
        let range = index.function_at(image, target)?.range;
        if range.start != target || is_stub(image, target) {
            return None;
        }
        let mut called = CalledFunction { range, leaves: Vec::new(), parts: Vec::new() };
        for (address, target) in jumps_out(image, &called.range) {
            called.add_jump(
                address,
                target.and_then(|target| Some((target, index.function_at(image, target)?))),
            );
        }
        Some(called)
    }

    /// A function's unlikely code lies elsewhere, with a description of its own that goes on from where the function was.
    fn add_jump(&mut self, address: u64, target: Option<(u64, DescribedFunction)>) {
        match target {
            Some((target, function)) if function.range.start != target || !function.is_entered_by_calls => {
                self.parts.push(function.range);
            }
            target => {
                let function = target.map(|(_, function)| function.range);
                self.leaves.push(LeavingJump { address, function });
            }
        }
    }

    /// Where it was left for the next frame inwards, at this address of the same file; `None` if that is a part of it. Its first address
    /// where the jump is not known.
    fn left_for(&self, inner: Option<u64>, by: FollowedBy) -> Option<u64> {
        let holds = |range: &Range<u64>| inner.is_some_and(|inner| range.contains(&inner));
        if holds(&self.range) || self.parts.iter().any(holds) {
            return None;
        }
        let mut direct = self.leaves.iter().filter(|jump| jump.function.as_ref().is_some_and(holds));
        Some(match (direct.next(), direct.next(), &self.leaves[..]) {
            _ if by == FollowedBy::FramePointers => self.range.start,
            (Some(jump), None, _) | (None, None, [jump]) => jump.address,
            _ => self.range.start,
        })
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
