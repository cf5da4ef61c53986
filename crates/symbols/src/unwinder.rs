//! From registers, stack memory and frame-pointer chains to call paths.
//!
//! ```text
//! registers ─▶ unwind information, step by step, while the recorded memory lasts
//!                     └─▶ then the rest of the frame-pointer chain (see `chain`)
//! ```
//! Invariant: a frame is only reported if unwind information or a frame pointer led to it and it lies in
//! executable memory. Where frames are known to be missing in between, one frame of the module `[missing]`
//! stands for them.

use rustc_hash::FxHashMap;

use crate::cfi::{CodeProgress, FrameInformation, UnwindPosition, UnwindStep};
use crate::chain::Chain;
use crate::mapping::{Mapping, Registers};
use crate::maps;
use crate::module::{CodeModule, KERNEL, Modules};
use crate::process::{MappedCode, ProcessMappings};
use crate::skipped::{FollowedBy, SkippedFunctions};

/// Paths longer than this are cut at their outer end.
const MOST_FRAMES: usize = 2048;
/// A frame pointer that leads nowhere; 0 is that of the outermost frame.
const NOWHERE: u64 = 8;
/// Frame pointers that are tried where the register is not known.
const MOST_POINTERS: usize = 256;

/// What was recorded of a thread's stack in user space.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserStack<'a> {
    /// The registers, where they are known.
    pub registers: Option<Registers>,
    /// The memory from the stack pointer upwards.
    pub memory: &'a [u8],
    /// What the kernel found by frame pointers, innermost first; the first is the instruction pointer.
    pub chain: &'a [u64],
}

/// One code address, as a frame of a recording defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeAddress {
    /// Index into [`Unwinder::modules`].
    pub module: u32,
    /// Address in the module's file, or absolute for kernel, run-time and unknown code. For a return
    /// address, the address of the last byte of the call; where a thread is in a system call, that of the call.
    pub address: u64,
}

/// The address of data that a module's file lays out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataAddress {
    /// Index into [`Unwinder::modules`].
    pub module: u32,
    /// Address in the module's file.
    pub address: u64,
}

/// Unwinds the stacks of all processes of one machine.
pub struct Unwinder {
    modules: Modules,
    frames: FrameInformation,
    skipped: SkippedFunctions,
    processes: FxHashMap<u32, ProcessMappings>,
    /// Number of modules whose unwind information is known to `frames`.
    added: usize,
}

impl Default for Unwinder {
    fn default() -> Self {
        Self::new()
    }
}

impl Unwinder {
    /// An unwinder that knows no process.
    #[must_use]
    pub fn new() -> Self {
        Unwinder {
            modules: Modules::new(),
            frames: FrameInformation::new(),
            skipped: SkippedFunctions::default(),
            processes: FxHashMap::default(),
            added: 0,
        }
    }

    /// The process has mapped executable memory; what it had mapped there before is gone.
    pub fn map(&mut self, pid: u32, mapping: Mapping) {
        if mapping.path.as_os_str().as_encoded_bytes().starts_with(b"[kernel") {
            self.modules.set_kernel_build_id(&mapping.build_id);
            return;
        }
        let source = self.modules.source(pid, &mapping);
        self.processes.entry(pid).or_default().map(mapping.start..mapping.end, source);
        let table = self.modules.table();
        for (index, module) in table.iter().enumerate().skip(self.added) {
            if let Some(image) = module.image() {
                self.frames.add(index as u32, image);
            }
        }
        self.added = table.len();
    }

    /// `child` is a new process with a copy of the memory of `parent`.
    pub fn fork(&mut self, parent: u32, child: u32) {
        let copy = self.processes.get(&parent).cloned().unwrap_or_default();
        self.processes.insert(child, copy);
    }

    /// The process becomes another program: its mappings are gone.
    pub fn exec(&mut self, pid: u32) {
        self.processes.entry(pid).or_default().clear();
        self.modules.forget_process(pid);
    }

    /// The process has ended.
    pub fn exit(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.modules.forget_process(pid);
    }

    /// Whether anything is known of the process.
    #[must_use]
    pub fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// Reads the mappings of a process that runs on this machine now.
    ///
    /// # Errors
    /// Those of reading `/proc/PID/maps`.
    pub fn load_maps(&mut self, pid: u32) -> std::io::Result<()> {
        for mapping in maps::read(&pid.to_string())? {
            self.map(pid, mapping);
        }
        Ok(())
    }

    /// The data that a module's file lays out at this address of a process: a variable that is there all the time.
    ///
    /// The place of a file's data follows from that of its code, which is known: the loader moves all of a
    /// file by the same distance.
    #[must_use]
    pub fn data(&self, pid: u32, address: u64) -> Option<DataAddress> {
        let areas = self.processes.get(&pid)?.areas();
        areas.iter().find_map(|area| {
            let own = address.wrapping_add(area.source.shift);
            let image = area.source.image.as_ref()?;
            image.is_writable(own).then_some(DataAddress { module: area.source.module, address: own })
        })
    }

    /// What stands for frames that could not be recovered.
    pub fn missing(&mut self) -> CodeAddress {
        CodeAddress { module: self.modules.missing(), address: 0 }
    }

    /// Every module that was met, indexed by [`CodeAddress::module`].
    #[must_use]
    pub fn modules(&self) -> &[CodeModule] {
        self.modules.table()
    }

    /// Appends the frames of a kernel stack, innermost first.
    pub fn kernel(&mut self, chain: &[u64], out: &mut Vec<CodeAddress>) {
        for (index, &address) in chain.iter().filter(|address| !is_context_mark(**address)).enumerate() {
            let address = if index == 0 { address } else { address.wrapping_sub(1) };
            out.push(CodeAddress { module: KERNEL, address });
        }
    }

    /// Appends the frames of a user stack, innermost first. Whether they are known to lead to where the thread began.
    pub fn unwind(&mut self, pid: u32, stack: &UserStack<'_>, out: &mut Vec<CodeAddress>) -> bool {
        let process = self.processes.get(&pid).cloned().unwrap_or_default();
        let mut walk = StackWalk { unwinder: self, process, out, limit: 0 };
        walk.limit = walk.out.len() + MOST_FRAMES;
        match stack.registers {
            Some(registers) => walk.along_registers(registers, stack),
            None => {
                walk.along_chain(stack.chain);
                false
            }
        }
    }

    /// Appends the frames of a thread in a system call of which instruction and stack pointer are known, and not the
    /// frame pointer, innermost first. `memory` is what lies above the stack pointer.
    ///
    /// Unwind information mostly needs no frame pointer. Where it does, that is looked for: it points to where a
    /// function has saved its caller's, below a return address, and it is believed if with it unwind information leads
    /// to where the thread began: to an end, or back to the file of the system call, the C library, which started it.
    ///
    /// ```text
    ///   sp → │ frames without frame pointers │ … │ caller's bp │ return address │ …
    ///                                            ↑ bp
    /// ```
    pub fn unwind_call(&mut self, pid: u32, (ip, sp): (u64, u64), memory: &[u8], out: &mut Vec<CodeAddress>) {
        let process = self.processes.get(&pid).cloned().unwrap_or_default();
        let (begin, limit) = (out.len(), out.len() + MOST_FRAMES);
        let mut walk = StackWalk { unwinder: self, process, out, limit };
        let mut best = Vec::new();
        let pointers = std::iter::once(NOWHERE).chain(frame_pointers(sp, memory).take(MOST_POINTERS));
        for bp in pointers {
            if bp != NOWHERE && !walk.may_be_saved(bp, sp, memory) {
                continue;
            }
            walk.out.truncate(begin);
            let stack = UserStack { registers: None, memory, chain: &[] };
            let has_ended = walk.along_registers(Registers { ip, sp, bp }, &stack);
            if has_ended || is_there_and_back(&walk.out[begin..]) {
                return;
            }
            if best.len() < walk.out.len() - begin {
                best = walk.out[begin..].to_vec();
            }
        }
        out.truncate(begin);
        out.append(&mut best);
    }

    /// Appends the frames of procedures that are known by their first addresses, innermost first.
    pub fn procedures(&mut self, pid: u32, addresses: &[u64], out: &mut Vec<CodeAddress>) {
        let process = self.processes.get(&pid).cloned().unwrap_or_default();
        let mut walk = StackWalk { unwinder: self, process, out, limit: 0 };
        addresses.iter().take(MOST_FRAMES).for_each(|&address| walk.push(address, CodeProgress::Before));
    }
}

/// Whether a path that is in one file at its inner end leaves that and ends in it.
fn is_there_and_back(path: &[CodeAddress]) -> bool {
    let inner = path.first().map(|frame| frame.module);
    path.iter().any(|frame| Some(frame.module) != inner) && path.last().map(|frame| frame.module) == inner
}

/// Addresses in the memory above `sp` at which a frame pointer of a caller may have been saved: it points further up.
fn frame_pointers(sp: u64, memory: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let end = sp.wrapping_add(memory.len() as u64);
    let words = memory.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    (0..).step_by(8).zip(words).filter_map(move |(distance, saved)| {
        let at = sp.wrapping_add(distance);
        let is_outermost = saved <= 1;
        (is_outermost || (saved > at && saved < end && saved.is_multiple_of(8))).then_some(at)
    })
}

/// Whether a word of a call chain is one of perf's marks between kernel and user part, and no address.
fn is_context_mark(word: u64) -> bool {
    word >= (-4095i64).cast_unsigned()
}

/// One stack being unwound.
struct StackWalk<'a> {
    unwinder: &'a mut Unwinder,
    process: ProcessMappings,
    out: &'a mut Vec<CodeAddress>,
    limit: usize,
}

impl StackWalk<'_> {
    /// Whether a return address stands above what may be a saved frame pointer.
    fn may_be_saved(&self, bp: u64, sp: u64, memory: &[u8]) -> bool {
        let above = Chain::new(sp, bp, memory, &[]).read(bp.wrapping_add(8));
        above.is_some_and(|address| self.is_plausible_return(address))
    }

    /// Says whether it came to where the thread began.
    fn along_registers(&mut self, registers: Registers, stack: &UserStack<'_>) -> bool {
        let Registers { ip, sp, bp } = registers;
        let marks = stack.chain.iter().take_while(|word| is_context_mark(**word)).count();
        let chain = Chain::new(sp, bp, stack.memory, &stack.chain[marks..]);
        let mut read = |address| chain.read(address).ok_or(());
        let process = self.process.clone();
        let mut place = UnwindPosition { ip, sp, bp, at: self.progress(ip) };
        let mut area = process.area(place.code_address());
        self.push_in(area, place);
        if self.next_is_return(area, ip) {
            // Where the function has no unwind information, its end is seen by that.
            place.at = CodeProgress::Before;
        }
        loop {
            let space = area.and_then(|area| Some(area.source.shift.wrapping_add(area.source.space?)));
            let step = match space {
                _ if returns_from_signal(area, place) => signal_step(place, &mut read),
                _ if place.at == CodeProgress::InCall && is_go(area) => {
                    frame_pointer_step(place, stack, &mut read)
                }
                Some(space) => self.unwinder.frames.step(place, place.ip.wrapping_add(space), &mut read),
                None => frame_pointer_step(place, stack, &mut read),
            };
            let leads_out = |step: &UnwindStep| matches!(step, UnwindStep::Caller(caller) if self.is_plausible_return(caller.ip));
            if place.at == CodeProgress::InSystemCall && !leads_out(&step) {
                // The system call of `clone` has no unwind information, as it is wrong for the child.
                place.at = CodeProgress::Before;
                continue;
            }
            let unread = match step {
                UnwindStep::Root => return true,
                UnwindStep::Caller(mut caller) => {
                    if place.at != CodeProgress::InCall && is_go(area) {
                        caller.bp = go_frame_pointer(place, caller, &mut read);
                    }
                    let address = caller.code_address();
                    // Callers mostly lie in the same file.
                    if area.is_none_or(|area| !area.range.contains(&address)) {
                        area = process.area(address);
                    }
                    if area.is_some() && self.out.len() < self.limit {
                        if let Some(area) = area.filter(|_| caller.at == CodeProgress::InCall) {
                            self.push_skipped(area, address, FollowedBy::UnwindInformation);
                        }
                        place = caller;
                        self.push_in(area, place);
                        continue;
                    }
                    None
                }
                UnwindStep::Unread(address) => Some(address),
                UnwindStep::Nonsense => None,
            };
            self.splice((place, is_go(area)), unread, stack, &chain);
            return false;
        }
    }

    /// Goes on with the frame-pointer chain where the unwind information or the memory ended.
    fn splice(
        &mut self,
        (place, is_go): (UnwindPosition, bool),
        unread: Option<u64>,
        stack: &UserStack<'_>,
        chain: &Chain<'_>,
    ) {
        let Some(rest) = chain.rest_above(place.bp) else { return };
        // Where the step that failed was one by the frame pointer, the chain has its result. Otherwise
        // the function had not saved the frame pointer: the chain goes on further out.
        let saved = [Some(place.bp), Some(place.bp.wrapping_add(8))];
        // Go's chain goes on where the runtime has left the stack of a goroutine, and misses nothing.
        let exact = saved.contains(&unread) || stack.memory.is_empty() || is_go;
        let mut marked = exact;
        for &address in rest {
            if !self.is_plausible_return(address) || self.out.len() >= self.limit {
                return;
            }
            if marked {
                self.push_return(address);
            } else {
                let missing = self.unwinder.missing();
                self.out.push(missing);
                marked = true;
                self.push(address, CodeProgress::InCall);
            }
        }
    }

    /// Takes a chain as it is, for want of registers.
    fn along_chain(&mut self, chain: &[u64]) {
        let mut addresses = chain.iter().filter(|address| !is_context_mark(**address));
        let Some(&ip) = addresses.next() else { return };
        self.push(ip, self.progress(ip));
        for &address in addresses {
            if self.out.len() >= self.limit || !self.is_plausible_return(address) {
                return;
            }
            self.push_return(address);
        }
    }

    /// Appends the frame of the function that the call with this last byte called, if it is missing.
    fn push_skipped(&mut self, area: &MappedCode, call: u64, by: FollowedBy) {
        let Some(&inner) = self.out.last() else { return };
        let call = call.wrapping_add(area.source.shift);
        let skipped = self.unwinder.skipped.between(&area.source, call, inner, by);
        self.out.extend(skipped);
    }

    /// Appends the frames that a chain of frame pointers leads to.
    fn push_return(&mut self, return_address: u64) {
        let process = self.process.clone();
        let call = return_address.wrapping_sub(1);
        let area = process.area(call);
        if let Some(area) = area {
            self.push_skipped(area, call, FollowedBy::FramePointers);
        }
        self.push_in(area, UnwindPosition { ip: return_address, sp: 0, bp: 0, at: CodeProgress::InCall });
    }

    /// Whether the address lies in executable memory and, where its bytes are known, after a call.
    fn is_plausible_return(&self, address: u64) -> bool {
        let Some(area) = self.process.area(address.wrapping_sub(1)) else { return false };
        let Some(image) = &area.source.image else { return true };
        ends_with_call(image.code(address.wrapping_add(area.source.shift).wrapping_sub(7), 7))
    }

    /// Appends the frame of an address, mapped or not.
    fn push(&mut self, ip: u64, at: CodeProgress) {
        let process = self.process.clone();
        let place = UnwindPosition { ip, sp: 0, bp: 0, at };
        self.push_in(process.area(place.code_address()), place);
    }

    /// Whether a thread whose instruction pointer that is, is in a system call.
    fn progress(&self, ip: u64) -> CodeProgress {
        const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];
        let before = ip.wrapping_sub(SYSTEM_CALL.len() as u64);
        let code = |area: &MappedCode| {
            Some(area.source.image.as_ref()?.code(before.wrapping_add(area.source.shift), 2) == SYSTEM_CALL)
        };
        let is_after = self.process.area(before).and_then(code).unwrap_or(false);
        if is_after { CodeProgress::InSystemCall } else { CodeProgress::Before }
    }

    /// Whether the instruction at `ip` returns to the caller.
    fn next_is_return(&self, area: Option<&MappedCode>, ip: u64) -> bool {
        const RETURN: [u8; 1] = [0xc3];
        let source = area.map(|area| &area.source);
        let code =
            source.and_then(|source| Some(source.image.as_ref()?.code(ip.wrapping_add(source.shift), 1)));
        code == Some(&RETURN)
    }

    fn push_in(&mut self, area: Option<&MappedCode>, place: UnwindPosition) {
        let address = place.code_address();
        let frame = match area {
            Some(area) => {
                CodeAddress { module: area.source.module, address: address.wrapping_add(area.source.shift) }
            }
            None => CodeAddress { module: self.unwinder.modules.nowhere(), address },
        };
        self.out.push(frame);
    }
}

/// Whether the code is Go's: its unwind information says where return addresses are, but not where frame pointers are saved, and
/// ends where the runtime changes to a stack of its own.
fn is_go(area: Option<&MappedCode>) -> bool {
    area.is_some_and(|area| area.source.is_go)
}

/// The frame pointer of the caller of a Go function that was interrupted: the function saves it below its return address, unless
/// it has no frame.
///
/// ```text
///   sp → │ frame │ bp │ return address │ ← sp of the caller
/// ```
fn go_frame_pointer(
    place: UnwindPosition,
    caller: UnwindPosition,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> u64 {
    const RETURN_ADDRESS: u64 = 8;
    let has_frame = caller.sp.wrapping_sub(place.sp) > RETURN_ADDRESS;
    let saved = caller.sp.wrapping_sub(2 * RETURN_ADDRESS);
    if has_frame { read(saved).unwrap_or(place.bp) } else { place.bp }
}

/// Whether a return address is that of the code to which the kernel lets signal handlers return.
fn returns_from_signal(area: Option<&MappedCode>, place: UnwindPosition) -> bool {
    /// `mov rax, SYS_rt_sigreturn; syscall`
    const RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    // C libraries align it; few other return addresses are.
    if place.at != CodeProgress::InCall || !place.ip.is_multiple_of(16) {
        return false;
    }
    let source = area.map(|area| &area.source);
    let code = source.and_then(|source| Some((source.image.as_ref()?, source.shift)));
    code.is_some_and(|(image, shift)| image.code(place.ip.wrapping_add(shift), RETURN.len()) == RETURN)
}

/// The place that a signal interrupted, from the registers that the kernel saved on the stack.
fn signal_step(place: UnwindPosition, read: &mut impl FnMut(u64) -> Result<u64, ()>) -> UnwindStep {
    /// Distances of saved registers from the stack pointer behind the handler (`struct ucontext`).
    const BP: u64 = 120;
    const SP: u64 = 160;
    const IP: u64 = 168;
    let mut saved = |distance| read(place.sp.wrapping_add(distance));
    match (saved(IP), saved(SP), saved(BP)) {
        (Ok(ip), Ok(sp), Ok(bp)) => {
            UnwindStep::Caller(UnwindPosition { ip, sp, bp, at: CodeProgress::Before })
        }
        _ => UnwindStep::Unread(place.sp.wrapping_add(IP)),
    }
}

/// The caller by frame pointer alone, for code without unwind information.
fn frame_pointer_step(
    place: UnwindPosition,
    stack: &UserStack<'_>,
    read: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> UnwindStep {
    let bp = place.bp;
    if bp < place.sp || !bp.is_multiple_of(8) {
        return UnwindStep::Nonsense;
    }
    let (Ok(caller_bp), Ok(ip)) = (read(bp), read(bp.wrapping_add(8))) else {
        // A frame pointer far off the recorded memory may be any number; the chain was checked by the
        // kernel to be readable at least.
        return if stack.chain.is_empty() { UnwindStep::Nonsense } else { UnwindStep::Unread(bp) };
    };
    if ip == 0 {
        return UnwindStep::Root;
    }
    if caller_bp != 0 && caller_bp <= bp {
        return UnwindStep::Nonsense;
    }
    UnwindStep::Caller(UnwindPosition { ip, sp: bp + 16, bp: caller_bp, at: CodeProgress::InCall })
}

/// Whether the bytes before a return address end with a call instruction.
fn ends_with_call(bytes: &[u8]) -> bool {
    let from_end = |distance: usize| bytes.len().checked_sub(distance).map(|index| bytes[index]);
    let next_to = |distance: usize| from_end(distance - 1).unwrap_or(0);
    if from_end(5) == Some(0xe8) {
        return true;
    }
    // call r/m64: FF /2, with no, one-byte or four-byte displacement, with or without index byte.
    [2, 3, 4, 6, 7].into_iter().any(|length| {
        if from_end(length) != Some(0xff) {
            return false;
        }
        let form = next_to(length);
        if form >> 3 & 7 != 2 {
            return false;
        }
        let indexed = form & 7 == 4;
        let expected = match form >> 6 {
            3 => 2,
            0 if form & 7 == 5 => 6,
            0 if indexed && length == 7 && next_to(6) & 7 == 5 => 7,
            0 => 2 + usize::from(indexed),
            1 => 3 + usize::from(indexed),
            _ => 6 + usize::from(indexed),
        };
        expected == length
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_call_is_recognised() {
        let calls: [&[u8]; 9] = [
            &[0xff, 0x14, 0xc5, 1, 2, 3, 4],
            &[0xe8, 1, 2, 3, 4],
            &[0xff, 0xd0],
            &[0x41, 0xff, 0xd4],
            &[0xff, 0x10],
            &[0xff, 0x50, 0x18],
            &[0xff, 0x54, 0x24, 0x08],
            &[0xff, 0x15, 1, 2, 3, 4],
            &[0xff, 0x94, 0xc7, 1, 2, 3, 4],
        ];
        for call in calls {
            assert!(ends_with_call(call), "{call:x?}");
        }
        let others: [&[u8]; 4] = [&[], &[0x90, 0x90], &[0xff, 0xe0], &[0x0f, 0x05]];
        for other in others {
            assert!(!ends_with_call(other), "{other:x?}");
        }
    }
}
