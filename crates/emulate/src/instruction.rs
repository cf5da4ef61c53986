//! What an instruction of a program does to memory, from its bytes: as much as decides what of it is recorded.
//!
//! Calls, returns, `push`, `pop` and the like access the stack because that is how code is called, not because the program
//! says so; no compiler instruments them. An instruction with the prefix `lock`, and `xchg` with memory, is an atomic operation.

/// What is recorded of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionClass {
    /// Its accesses.
    Plain,
    /// Its access, one atomic operation.
    Atomic,
    /// None of its accesses.
    Hidden,
    /// What it reads: it pushes that.
    Push,
    /// What it writes: it pops that.
    Pop,
    /// What it reads, which is where the procedure is; it writes the return address.
    Call {
        /// The procedure; `None` where it is read from a register or from memory.
        target: Option<u64>,
    },
    /// None: it reads the return address.
    Return,
}

/// The register or memory operand of an instruction.
#[derive(Clone, Copy)]
struct Operand(u8);

impl Operand {
    fn is_memory(self) -> bool {
        self.0 >> 6 != 3
    }

    /// The bits that say which instruction it is, where several have one opcode.
    fn extension(self) -> u8 {
        self.0 >> 3 & 7
    }
}

/// Classifies the instruction with these bytes, in 64-bit code; `next` is the address of the one behind it.
#[must_use]
pub fn classify(bytes: &[u8], next: u64) -> InstructionClass {
    use InstructionClass as C;
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 | 0x40..=0x4f);
    let prefixes = bytes.iter().take_while(|byte| is_prefix(byte)).count();
    let is_locked = bytes[..prefixes].contains(&0xf0);
    let Some((&opcode, rest)) = bytes[prefixes..].split_first() else { return C::Plain };
    let operand = Operand(rest.first().copied().unwrap_or(0xc0));
    match opcode {
        0xe8 => {
            let distance = rest.first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
            C::Call { target: distance.map(|distance| next.wrapping_add_signed(distance.into())) }
        }
        0xff if operand.extension() == 2 => C::Call { target: None },
        0xc2 | 0xc3 => C::Return,
        0x50..=0x5f | 0x68 | 0x6a | 0x9c | 0x9d | 0xc8 | 0xc9 => C::Hidden,
        0x0f if matches!(rest.first(), Some(0xa0 | 0xa1 | 0xa8 | 0xa9)) => C::Hidden,
        0xff if operand.extension() == 6 => C::Push,
        0x8f if operand.extension() == 0 => C::Pop,
        // A fence: `lock or` of nothing to the top of the stack.
        0x83 if is_locked && rest.starts_with(&[0x0c, 0x24, 0]) => C::Hidden,
        0x86 | 0x87 if operand.is_memory() => C::Atomic,
        _ if is_locked => C::Atomic,
        _ => C::Plain,
    }
}

/// How many bytes before an address [`may_follow_call`] looks at.
pub const LONGEST_CALL: usize = 7;

/// Whether a call may end behind these bytes, the address of which is `next`, that `is_known` does not hold for.
#[must_use]
pub fn may_follow_call(before: &[u8], next: u64, is_known: impl Fn(u64) -> bool) -> bool {
    let is_call = |length: usize| {
        let bytes = before.len().checked_sub(length).map_or(&[][..], |begin| &before[begin..]);
        match (bytes.first(), classify(bytes, next)) {
            (Some(0xe8), InstructionClass::Call { target: Some(target) }) => length == 5 && !is_known(target),
            (Some(0xff), InstructionClass::Call { target: None }) => true,
            _ => false,
        }
    };
    (2..=LONGEST_CALL).any(is_call)
}

#[cfg(test)]
mod tests {
    use super::InstructionClass as C;
    use super::*;

    fn class(bytes: &[u8]) -> C {
        classify(bytes, 0x1000)
    }

    #[test]
    fn calls_know_their_procedure_where_it_is_in_the_instruction() {
        assert_eq!(class(&[0xe8, 0x10, 0, 0, 0]), C::Call { target: Some(0x1010) });
        assert_eq!(class(&[0xe8, 0xf0, 0xff, 0xff, 0xff]), C::Call { target: Some(0xff0) });
        assert_eq!(class(&[0xff, 0xd0]), C::Call { target: None });
        // call *0x2fe2(%rip), call *%r12
        assert_eq!(class(&[0xff, 0x15, 0xe2, 0x2f, 0, 0]), C::Call { target: None });
        assert_eq!(class(&[0x41, 0xff, 0xd4]), C::Call { target: None });
        assert_eq!(class(&[0xc3]), C::Return);
        assert_eq!(class(&[0xf3, 0xc3]), C::Return);
    }

    #[test]
    fn what_only_the_stack_is_for_is_hidden() {
        assert_eq!(class(&[0x55]), C::Hidden);
        assert_eq!(class(&[0x41, 0x5f]), C::Hidden);
        assert_eq!(class(&[0xc9]), C::Hidden);
        // push (%rax), pop (%rax)
        assert_eq!(class(&[0xff, 0x30]), C::Push);
        assert_eq!(class(&[0x8f, 0x00]), C::Pop);
        // lock orq $0,(%rsp)
        assert_eq!(class(&[0xf0, 0x48, 0x83, 0x0c, 0x24, 0]), C::Hidden);
    }

    #[test]
    fn atomic_operations_are_those_with_lock_and_exchanges_with_memory() {
        // lock addl $1,(%rdi); lock cmpxchg %ecx,(%rdi); lock xadd %rax,(%rdx)
        assert_eq!(class(&[0xf0, 0x83, 0x07, 1]), C::Atomic);
        assert_eq!(class(&[0xf0, 0x0f, 0xb1, 0x0f]), C::Atomic);
        assert_eq!(class(&[0xf0, 0x48, 0x0f, 0xc1, 0x02]), C::Atomic);
        // xchg %rax,(%rdx); xchg %rax,%rdx
        assert_eq!(class(&[0x48, 0x87, 0x02]), C::Atomic);
        assert_eq!(class(&[0x48, 0x87, 0xc2]), C::Plain);
    }

    #[test]
    fn what_may_have_been_a_call_is_seen_from_behind() {
        let unknown = |_| false;
        // call *%r12; call *0x2fe2(%rip); call
        assert!(may_follow_call(&[0, 0, 0, 0, 0x41, 0xff, 0xd4], 0x1000, unknown));
        assert!(may_follow_call(&[0, 0xff, 0x15, 0xe2, 0x2f, 0, 0], 0x1000, unknown));
        let direct = [0, 0, 0xe8, 0x10, 0, 0, 0];
        assert!(may_follow_call(&direct, 0x1000, unknown));
        assert!(!may_follow_call(&direct, 0x1000, |target| target == 0x1010));
        assert!(!may_follow_call(&[0x90; 7], 0x1000, unknown));
        assert!(!may_follow_call(&[], 0x1000, unknown));
    }

    #[test]
    fn everything_else_is_plain() {
        // mov (%rax),%rdx; incl (%rax); jmp *(%rax); vmovups (%rax),%ymm0; nothing
        for bytes in [&[0x48, 0x8b, 0x10][..], &[0xff, 0x00], &[0xff, 0x20], &[0xc5, 0xfc, 0x10, 0x00], &[]] {
            assert_eq!(class(bytes), C::Plain, "{bytes:x?}");
        }
    }
}
