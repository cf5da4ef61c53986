//! The call stack at a hook, for recorders that get none from the kernel.

use longpole_ring::{AgentHeader, Area, LONGEST_EVENT, RingEventKind, event_in};

/// Registers of a hook's frame.
#[derive(Clone, Copy, Debug)]
pub struct HookFrame {
    /// An address in the hook.
    pub instruction: u64,
    /// Stack pointer.
    pub stack: u64,
    /// Frame pointer: the hook's caller's frame pointer and the return address lie there.
    pub frame: u64,
}

impl HookFrame {
    /// Where the hook was called: its return address.
    #[inline(always)]
    #[must_use]
    pub fn caller(&self) -> u64 {
        // SAFETY: the library is built with frame pointers: this is the hook's own frame.
        unsafe { *(self.frame as *const u64).add(1) }
    }
}

/// The frame of the function that this stands in. Only in hooks, which are never inlined.
#[macro_export]
macro_rules! frame {
    () => {{
        let (instruction, stack, frame): (u64, u64, u64);
        // SAFETY: reads three registers.
        unsafe {
            core::arch::asm!(
                "lea {instruction}, [rip]",
                "mov {stack}, rsp",
                "mov {frame}, rbp",
                instruction = out(reg) instruction,
                stack = out(reg) stack,
                frame = out(reg) frame,
                options(nomem, nostack, preserves_flags)
            );
        }
        $crate::stack::HookFrame { instruction, stack, frame }
    }};
}

/// Most return addresses of a chain.
const MOST_CHAIN: usize = 64;
/// Words of a stack event before the chain.
const FIXED: usize = 7;
/// Memory below a thread's first frame that is certainly its stack, whatever the system keeps at its ends.
const SMALLEST_STACK: u64 = 64 * 1024;

/// Tells the stack, unless this thread has told the same one lately. Returns its key; 0 where there is none.
#[inline]
pub fn tell(area: &Area, header: &AgentHeader, now: u64, at: HookFrame) -> u64 {
    let mode = header.mode();
    let (bottom, top) = area.stack();
    let is_on_stack = at.stack > bottom && at.frame >= at.stack && at.frame < top;
    let bytes = if is_on_stack { u64::from(mode.stack_bytes).min(top - at.stack) } else { 0 };
    let most = if mode.frame_pointers { LONGEST_EVENT - FIXED - MOST_CHAIN } else { LONGEST_EVENT - FIXED };
    // SAFETY: between the stack pointer and the thread's first frame all memory is the thread's stack. The thread itself is here,
    // and does not change what lies above.
    let memory =
        unsafe { core::slice::from_raw_parts(at.stack as *const u64, (bytes as usize / 8).min(most)) };
    let place = at.instruction ^ at.caller().rotate_left(24);
    if mode.frame_pointers || !is_on_stack {
        return tell_chain((area, now, at), memory, (is_on_stack, top));
    }
    // SAFETY: the area is this thread's, and signal handlers leave it alone.
    let known = area.copies().and_then(|copies| unsafe { copies.find(place, memory, SMALL_NUMBERS) });
    match known {
        Some(key) if area.known_stacks.knows(key) => key,
        _ => tell_memory((area, now, at), place, memory),
    }
}

#[cold]
fn tell_memory((area, now, at): (&Area, u64, HookFrame), place: u64, memory: &[u64]) -> u64 {
    let key = mix(place, digest(memory)) | 1;
    if let Some(copies) = area.copies() {
        // SAFETY: the area is this thread's, and signal handlers leave it alone.
        unsafe { copies.keep(place, memory, key) };
    }
    tell_new((area, now, at), key, &[], memory)
}

/// The same of a stack whose frame pointers are followed, or that is not known to be one.
#[cold]
fn tell_chain(
    (area, now, at): (&Area, u64, HookFrame),
    memory: &[u64],
    (is_on_stack, top): (bool, u64),
) -> u64 {
    let mut chain = [0_u64; MOST_CHAIN];
    let mut length = 0;
    let mut key = at.instruction ^ at.caller().rotate_left(24);
    let mut frame = at.frame;
    while is_on_stack && length < MOST_CHAIN && frame & 7 == 0 && frame >= at.stack && frame + 16 <= top {
        // SAFETY: between the stack pointer and the thread's first frame all memory is the thread's stack.
        let (next, address) = unsafe { (*(frame as *const u64), *(frame as *const u64).add(1)) };
        if address == 0 {
            break;
        }
        chain[length] = address;
        length += 1;
        key = mix(key, address);
        if next <= frame {
            break;
        }
        frame = next;
    }
    if !is_on_stack {
        chain[0] = at.caller();
        length = 1;
    }
    // Where the chain tells stacks apart, what lies between the frames need not.
    if length < 2 {
        key = mix(key, digest(memory));
    }
    tell_new((area, now, at), key | 1, &chain[..length], memory)
}

/// Tells a stack with this key, unless that is known as told.
#[cold]
fn tell_new((area, now, at): (&Area, u64, HookFrame), key: u64, chain: &[u64], memory: &[u64]) -> u64 {
    if !area.known_stacks.tell(key) {
        return key;
    }
    let mut words = [0_u64; FIXED + MOST_CHAIN];
    words[2..FIXED].copy_from_slice(&[key, at.instruction, at.stack, at.frame, chain.len() as u64]);
    let length = FIXED + chain.len();
    words[FIXED..length].copy_from_slice(chain);
    event_in(&mut words, length + memory.len(), RingEventKind::Stack, 0, now);
    if !area.push_parts(&words[..length], memory) {
        area.known_stacks.forget(key);
        return 0;
    }
    key
}

/// Numbers below this are no addresses, so that stacks which differ in them alone have the same callers.
const SMALL_NUMBERS: u64 = 1 << 16;

/// A hash of all addresses in this memory, by their places; in lanes that do not wait for each other.
fn digest(memory: &[u64]) -> u64 {
    const LANES: usize = 8;
    let address = |word: u64| if word < SMALL_NUMBERS { 0 } else { word };
    let mut lanes: [u64; LANES] = core::array::from_fn(|lane| lane as u64);
    let (whole, rest) = memory.as_chunks::<LANES>();
    for words in whole {
        for (lane, &word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, address(word));
        }
    }
    let rest = rest.iter().fold(0, |key, &word| mix(key, address(word)));
    lanes.iter().fold(rest, |key, &lane| mix(key, lane))
}

fn mix(key: u64, word: u64) -> u64 {
    (key.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Notes where the calling thread's stack lies, given the address of its first frame and its size.
pub fn note_extent(area: &Area, first_frame: u64, bytes: u64) {
    if bytes >= 2 * SMALLEST_STACK {
        area.set_stack(first_frame - bytes + SMALLEST_STACK, first_frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_told_apart_by_every_address_and_its_place_but_not_by_small_numbers() {
        let stack: Vec<u64> = (0..21).map(|word| 0x5555_0000_1000 + word).collect();
        let changed = |index: usize, word: u64| {
            let mut stack = stack.clone();
            stack[index] = word;
            digest(&stack)
        };
        for index in 0..stack.len() {
            assert_ne!(changed(index, 0x7fff_1234_5678), digest(&stack), "{index}");
            assert_eq!(changed(index, 3), changed(index, 4), "{index}");
        }
        let mut swapped = stack.clone();
        swapped.swap(2, 10);
        assert_ne!(digest(&swapped), digest(&stack));
    }
}
