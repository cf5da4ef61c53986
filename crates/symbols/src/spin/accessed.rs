//! Which memory a thread found at an instruction accesses just before and after it, in terms of its registers there.
//!
//! ```text
//!   L: mov rax, [rdi]         just executed: rdi is what it was       read
//!      add rax, 1
//!   ►  mov [rdi], rax         found here                              written
//!      add rdx, 1
//!      cmp rsi, rdx           up to the branch all will be executed
//!      jne L
//! ```
//! Only what is certain is told: instructions of the same straight line of code, whose addresses are made of registers that no
//! instruction between them and the thread's place writes. The thread's own frame is left out.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register, UsedMemory};

use crate::spin::function::DecodedFunction;
use crate::spin::polled::{Base, PolledWord};
use crate::spin::variables::{is_read, is_write};

/// Instructions that are looked at on each side.
const REACH: usize = 24;
/// Words of one place that are told.
const MOST_WORDS: usize = 16;

/// A word of memory that is accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessedWord {
    /// Where it is.
    pub word: PolledWord,
    /// It is written.
    pub is_written: bool,
}

/// The words that a thread accesses which is found at this instruction.
pub(super) fn accessed_words(function: &DecodedFunction, here: usize) -> Vec<AccessedWord> {
    let mut found = AccessedWords { function, factory: InstructionInfoFactory::new(), words: Vec::new() };
    found.look_behind(here);
    found.look_ahead(here);
    found.words.truncate(MOST_WORDS);
    found.words
}

struct AccessedWords<'a> {
    function: &'a DecodedFunction,
    factory: InstructionInfoFactory,
    words: Vec<AccessedWord>,
}

impl AccessedWords<'_> {
    /// What the thread executed last, back to where it may have come from elsewhere.
    fn look_behind(&mut self, here: usize) {
        let mut written = 0;
        for index in (here.saturating_sub(REACH)..here).rev() {
            if self.function.preceding(index + 1) != [index] || is_call(&self.function.instructions[index]) {
                return;
            }
            written |= self.writes_of(index);
            self.take(index, written);
        }
    }

    /// What it will execute next, up to where it may go elsewhere.
    fn look_ahead(&mut self, here: usize) {
        let mut written = 0;
        for index in here..(here + REACH).min(self.function.instructions.len()) {
            self.take(index, written);
            if self.function.following(index) != [index + 1] || is_call(&self.function.instructions[index]) {
                return;
            }
            written |= self.writes_of(index);
        }
    }

    /// The general registers that an instruction writes, as bits.
    fn writes_of(&mut self, index: usize) -> u16 {
        let used = self.factory.info(&self.function.instructions[index]).used_registers();
        let written = used.iter().filter(|used| is_write(used.access()));
        let general =
            written.map(|used| used.register().full_register()).filter(|register| register.is_gpr64());
        general.fold(0, |set, register| set | 1 << register.number())
    }

    /// Adds what an instruction accesses, where the registers of its addresses are none of these.
    fn take(&mut self, index: usize, written: u16) {
        let instruction = &self.function.instructions[index];
        if instruction.is_stack_instruction() || is_call(instruction) {
            return;
        }
        for memory in self.factory.info(instruction).used_memory() {
            let is_written = is_write(memory.access()) || memory.access() == OpAccess::ReadCondWrite;
            if !(is_written || is_read(memory.access())) || self.function.frame.slot(memory).is_some() {
                continue;
            }
            if let Some(word) = word(memory, written) {
                let accessed = AccessedWord { word, is_written };
                if !self.words.contains(&accessed) {
                    self.words.push(accessed);
                }
            }
        }
    }
}

fn word(memory: &UsedMemory, written: u16) -> Option<PolledWord> {
    if matches!(memory.segment(), Register::FS | Register::GS) {
        return None;
    }
    let kept = |register: Register| register.is_gpr64() && written & 1 << register.number() == 0;
    let base = match memory.base() {
        Register::None | Register::RIP => Base::File,
        Register::RSP => return None,
        register if kept(register) => Base::Register(register.number()),
        _ => return None,
    };
    let index = match memory.index() {
        Register::None => None,
        register if kept(register) => Some((register.number(), memory.scale() as u64)),
        _ => return None,
    };
    let bytes = memory.memory_size().size() as u64;
    (bytes > 0).then(|| PolledWord { base, index, displacement: memory.displacement(), bytes })
}

fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Syscall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spin::polled::PolledState;

    /// What a thread accesses that is found at this instruction of code at 0x1000, with rdi 0x7000 and rax 0x9000.
    fn accesses(code: &[u8], here: usize) -> Vec<(u64, u64, bool)> {
        let function = DecodedFunction::decode(code, 0x1000);
        let mut registers = [0; 16];
        (registers[0], registers[7]) = (0x9000, 0x7000);
        let state = PolledState { registers: &registers, bias: 0x50_0000, read: &|_| None };
        let words = accessed_words(&function, here);
        let one = |one: &AccessedWord| Some((one.word.address(&state)?, one.word.bytes, one.is_written));
        words.iter().filter_map(one).collect()
    }

    /// L: mov rax, [rdi]; add rax, 1; mov [rdi], rax; add rdx, 1; cmp rsi, rdx; jne L; ret
    const COUNT: [u8; 20] = [
        0x48, 0x8b, 0x07, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x89, 0x07, 0x48, 0x83, 0xc2, 0x01, 0x48, 0x39, 0xd6,
        0x75, 0xed, 0xc3,
    ];

    #[test]
    fn a_counter_is_read_and_written_wherever_around_the_thread_is() {
        let both = [(0x7000, 8, false), (0x7000, 8, true)];
        for here in 0..=6 {
            let mut found = accesses(&COUNT, here);
            found.sort_unstable();
            assert_eq!(found, both, "at {here}");
        }
    }

    #[test]
    fn an_address_that_is_replaced_in_between_is_not_known() {
        // mov [rax], rdx; mov rax, [rdi]; nop; ret
        let code = [0x48, 0x89, 0x10, 0x48, 0x8b, 0x07, 0x90, 0xc3];
        assert_eq!(accesses(&code, 0), [(0x9000, 8, true), (0x7000, 8, false)]);
        assert_eq!(accesses(&code, 2), [(0x7000, 8, false)]);
    }

    #[test]
    fn frames_and_what_is_behind_calls_are_left_out() {
        // mov [rsp + 8], rax; call next; lock inc dword ptr [rip + 0x10]; ret
        let code = [0x48, 0x89, 0x44, 0x24, 0x08, 0xe8, 0, 0, 0, 0, 0xf0, 0xff, 0x05, 0x10, 0, 0, 0, 0xc3];
        assert_eq!(accesses(&code, 0), []);
        assert_eq!(accesses(&code, 2), [(0x50_1021, 4, true)]);
    }
}
