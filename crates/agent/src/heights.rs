//! How high on its stack the frame of an instrumented procedure begins: above its return address.
//!
//! The compiler hands the return address to the hook, so it is searched for above the hook's frame. It can lie there
//! twice: a compiler that has no register left keeps a copy, and old frames leave theirs. The code in front of the
//! hook's call tells them apart, as it loads the true one:
//!
//! ```text
//!   at.frame            hook called                                         top
//!   | rbp | return to f | f's frame …  copy of site … | site | f's caller's frame …
//!
//!   f:  sub  $0xa8,%rsp
//!       mov  0xd8(%rsp),%rsi      loads from here ------^
//!       mov  %rsi,0x8(%rsp)       keeps ---^
//!       call hook
//! ```
//! The distance is the same at each call from that code, and is remembered.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::stack::HookFrame;

/// Bytes of a word.
pub const WORD: u64 = 8;
/// Larger frames without a frame pointer are taken to be small.
const MOST_WORDS: u64 = 512;
/// Copies of a return address that are looked at.
const MOST_COPIES: usize = 8;
/// The hook is called so near to a procedure's beginning, bytes.
const LONGEST_BEGINNING: u64 = 512;

/// Distances that are remembered: the address of the code behind the hook's call, and the words.
static DISTANCES: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];
const DISTANCE_BITS: u32 = 16;
/// There is no such word.
const NONE: u64 = (1 << DISTANCE_BITS) - 1;

/// The height of `procedure`'s frame, which called the hook and was called from `site`. The stack ends at `top`, which lies at
/// least two words above the hook's frame.
#[inline(always)]
#[must_use]
pub fn height(procedure: u64, site: u64, at: HookFrame, top: u64) -> u64 {
    let lowest = at.frame + 2 * WORD;
    // SAFETY: between the hook's frame and the highest address all memory is the thread's stack.
    let word = |address: u64| unsafe { *(address as *const u64) };
    let frame = word(at.frame);
    if frame >= lowest && frame & (WORD - 1) == 0 && frame + 2 * WORD <= top && word(frame + WORD) == site {
        return frame + 2 * WORD;
    }
    // Callees begin at or below the stack pointer of the hook's call: this is above them.
    let above_call = lowest + WORD;
    let code = at.caller();
    let place = &DISTANCES[(code ^ code >> 9) as usize % DISTANCES.len()];
    let known = place.load(Ordering::Relaxed);
    if known >> DISTANCE_BITS == code {
        let distance = known & NONE;
        let address = lowest + WORD * distance;
        if distance == NONE {
            return above_call;
        }
        if address < top && word(address) == site {
            return address + WORD;
        }
    }
    let highest = top.min(lowest + MOST_WORDS * WORD);
    // SAFETY: the words between the hook's frame and the highest address, as above.
    let words =
        unsafe { core::slice::from_raw_parts(lowest as *const u64, ((highest - lowest) / WORD) as usize) };
    let distance = distance(words, site, (procedure, code)).map(|index| index as u64);
    place.store(code << DISTANCE_BITS | distance.unwrap_or(NONE), Ordering::Relaxed);
    distance.map_or(above_call, |distance| lowest + WORD * (distance + 1))
}

/// Which of the words above the hook's call is the return address `site`: the first one that the code in front of the call
/// loads, or the first where it loads none of them as a distance from the stack pointer.
#[cold]
fn distance(words: &[u64], site: u64, (procedure, code): (u64, u64)) -> Option<usize> {
    let mut copies =
        words.iter().enumerate().filter(|&(_, &word)| word == site).map(|(index, _)| index).take(MOST_COPIES);
    let first = copies.next()?;
    // A procedure that was put into another lies elsewhere.
    if procedure >= code || code - procedure > LONGEST_BEGINNING {
        return Some(first);
    }
    // SAFETY: the code from a procedure's beginning to where it called the hook, which was just executed.
    let beginning =
        unsafe { core::slice::from_raw_parts(procedure as *const u8, (code - procedure) as usize) };
    let mut all = core::iter::once(first).chain(copies);
    Some(all.find(|&index| loads(beginning, index as u64 * WORD)).unwrap_or(first))
}

/// Whether the code has an instruction that loads a register from this far above the stack pointer: `mov distance(%rsp),%r`.
fn loads(code: &[u8], distance: u64) -> bool {
    /// The stack pointer as the only base, without a scaled index.
    const FROM_STACK_POINTER: u8 = 0x24;
    const MOV_LOAD: u8 = 0x8b;
    code.windows(4).enumerate().any(|(index, start)| {
        let [rex, opcode, mode, base] = *start else { return false };
        if rex & 0xfb != 0x48 || opcode != MOV_LOAD || mode & 7 != 4 || base != FROM_STACK_POINTER {
            return false;
        }
        let rest = &code[index + 4..];
        let loaded = match mode >> 6 {
            0 => Some(0),
            1 => rest.first().map(|&byte| i64::from(byte as i8)),
            2 => rest.first_chunk().map(|&bytes| i64::from(i32::from_le_bytes(bytes))),
            _ => None,
        };
        loaded == i64::try_from(distance).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: u64 = 0x40_1234;

    /// The stack of clang's `recover`, which keeps a copy of its return address in the second word.
    fn stack() -> [u64; 30] {
        let mut words = [7; 30];
        words[1] = SITE;
        words[27] = SITE;
        words
    }

    /// The words' distance, where a procedure begins with this code and calls the hook at its end.
    fn distance_behind(code: &[u8]) -> Option<usize> {
        let begin = code.as_ptr() as u64;
        distance(&stack(), SITE, (begin, begin + code.len() as u64))
    }

    #[test]
    fn a_copy_that_the_code_keeps_is_not_the_return_address() {
        let code = [
            &[0x48, 0x81, 0xec, 0xa8, 0, 0, 0][..],   // sub $0xa8,%rsp
            &[0x48, 0x8b, 0xb4, 0x24, 0xd8, 0, 0, 0], // mov 0xd8(%rsp),%rsi
            &[0x48, 0x89, 0x74, 0x24, 0x08],          // mov %rsi,0x8(%rsp)
        ]
        .concat();
        assert_eq!(distance_behind(&code), Some(27));
    }

    #[test]
    fn what_an_old_frame_left_higher_up_is_not_either() {
        assert_eq!(distance_behind(&[0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x90]), Some(1)); // mov 0x8(%rsp),%r9
    }

    #[test]
    fn the_first_is_taken_where_the_code_does_not_tell() {
        assert_eq!(distance_behind(&[0x90; 8]), Some(1));
        assert_eq!(distance(&stack(), SITE, (0, 0x40_0000)), Some(1), "put into another procedure");
        assert_eq!(distance(&[7; 8], SITE, (0, 0x40_0000)), None);
    }

    #[test]
    fn loads_from_elsewhere_are_no_loads_from_the_stack_pointer() {
        assert!(loads(&[0x48, 0x8b, 0x34, 0x24], 0)); // mov (%rsp),%rsi
        assert!(!loads(&[0x48, 0x8b, 0x75, 0x08], 8)); // mov 0x8(%rbp),%rsi
        assert!(!loads(&[0x48, 0x89, 0x74, 0x24, 0x08], 8)); // mov %rsi,0x8(%rsp)
        assert!(!loads(&[0x48, 0x8b, 0x74, 0x24], 8), "cut");
    }
}
