//! What all hooks of MPI share. A hook is 16 bytes of code that say which function it is: what is done around that function is in its
//! row of the table ([`super::functions`]), and read by [`dispatch`]. MPI's functions take words only, and give a number: so one
//! way of calling them does for all.
//!
//! ```text
//!   program ── MPI_Recv ── enter ── dispatch ── shapes::receive ── the real MPI_Recv
//!              16 bytes    keeps the arguments  tells of it
//! ```
//! A hook has a frame of its own: stacks that are told begin there, and its name is that of the function.
//!
//! Open MPI's functions for `mpi_f08` call the ones behind `mpi_…_`, whose own names (`ompi_…_f`) are hooked too. MPICH's are
//! `mpi_…_f08_`, or `mpi_…_f08ts_` where there is a buffer, which comes in a descriptor; some of them call those of C.
//!
//! The arguments are passed to the real function under the caller's own promises about them: that is why its calls are safe.
#![allow(clippy::undocumented_unsafe_blocks)]

use core::arch::naked_asm;
use core::ffi::{CStr, c_int, c_void};

use longpole_ring::MpiCall;

use super::Word;
use super::call::ToldCall;
use super::functions::{FUNCTIONS, NAMES, NAMES_OF_FUNCTIONS, PLACES_OF_NAMES};
use super::language::Language;
use super::shapes::{self, CompleteOnes, CompletedRequests, MessageArguments, ProbedMessage, ReceivedHalf};
use super::windows;
use crate::openmp::entry::EntryAddress;
use crate::stack::HookFrame;

/// What a hook does around its function. Details are the indices of the function's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Passes a message, or begins to: count, datatype, peer, tag, communicator, request.
    Message,
    /// Receives: peer, tag, communicator, status.
    Receive,
    /// Both: count, datatype, to, its tag, from, its tag, communicator, status.
    SendReceive,
    /// Waits or looks for a message: peer, tag, communicator, flag, message, status.
    Probe,
    /// Begins to receive the message of a probe: message, request.
    TakeMessage,
    /// Waits or looks for one request: request, flag, status.
    Complete,
    /// The same of the message of a probe.
    CompleteMessage,
    /// Of all these: count, requests, flag, statuses.
    CompleteAll,
    /// Of one of these: count, requests, index, flag, status.
    CompleteOne,
    /// Of some of these: count, requests, how many, indices, flag, statuses.
    CompleteSome,
    /// Starts what was prepared: count, requests.
    Start,
    /// Gives up: request.
    Free,
    /// Meets all members, or begins to: root, communicator, request.
    Meet,
    /// Joins the job.
    Initialise,
    /// Leaves it.
    Finalise,
    /// Parent, made.
    MakeCommunicator,
    /// Communicator, made.
    MakeWindow,
    /// Window.
    FreeWindow,
    /// Assertion, window.
    Fence,
    /// Group, window.
    Address,
    /// Window.
    EndEpoch,
    /// Window, flag.
    TestWindow,
    /// Kind, rank, window.
    Lock,
    /// Rank, window.
    Unlock,
}

/// Most details of a shape.
const MOST_DETAILS: usize = 8;
/// A detail that a function lacks.
const ABSENT: u8 = u8::MAX;
/// Most arguments of a function, with the result of Fortran's.
const MOST_WORDS: usize = 14;
/// Of these come in registers.
const IN_REGISTERS: usize = 6;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct MpiFunction {
    shape: Shape,
    call: MpiCall,
    arguments: u8,
    details: [u8; MOST_DETAILS],
}

impl MpiFunction {
    /// The function with these arguments, of which the shape's details are these.
    pub(super) const fn new(shape: Shape, call: MpiCall, arguments: &[&str], named: &[&str]) -> MpiFunction {
        let mut details = [ABSENT; MOST_DETAILS];
        let mut index = 0;
        while index < named.len() {
            details[index] = position(arguments, named[index]);
            index += 1;
        }
        assert!(arguments.len() < MOST_WORDS);
        MpiFunction { shape, call, arguments: arguments.len() as u8, details }
    }
}

/// The index of an argument; [`ABSENT`] for `_`.
const fn position(arguments: &[&str], name: &str) -> u8 {
    if are_same(name, "_") {
        return ABSENT;
    }
    let mut index = 0;
    while index < arguments.len() {
        if are_same(arguments[index], name) {
            return index as u8;
        }
        index += 1;
    }
    panic!("a detail is an argument of its function")
}

const fn are_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// Whether programs in C call a function by this name; others are Fortran's.
pub(super) const fn is_of_c(name: &str) -> bool {
    name.as_bytes()[0] == b'M'
}

/// `MPI_ERR_OTHER`: what a hook gives where no library has the function, which then no program can have called.
const MISSING: c_int = 15;

/// Places of calls that each function remembers, where MPI is not loaded with the program.
const PLACES: usize = 4;

/// Where functions really are, by the number of their name.
static ADDRESSES: [EntryAddress<PLACES>; NAMES] = [const { EntryAddress::new() }; NAMES];

/// The name with this number.
fn name_of(number: usize) -> &'static CStr {
    let mut names = NAMES_OF_FUNCTIONS;
    for _ in 0..number {
        let end = names.iter().position(|&byte| byte == 0).map_or(names.len(), |end| end + 1);
        names = &names[end..];
    }
    CStr::from_bytes_until_nul(names).unwrap_or_default()
}

/// Makes a hook with this name, which is the one with this number.
macro_rules! hook {
    ($name:ident, $number:expr) => {
        /// As MPI defines it.
        ///
        /// # Safety
        /// As the function of this name.
        #[cfg_attr(feature = "preload", unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "mov eax, {number}",
                "call {enter}",
                "pop rbp",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                number = const $number as u32,
                enter = sym $crate::mpi::hook::enter,
            )
        }
    };
}

pub(super) use hook;

/// Keeps the arguments that came in registers, for the hook whose number is in `eax` and whose frame is the caller's.
///
/// # Safety
/// Only hooks call it.
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 48",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov edi, eax",
        "mov rsi, rsp",
        // The hook's frame, and where it goes on.
        "mov rdx, [rbp]",
        "mov rcx, [rbp + 8]",
        "call {dispatch}",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch,
    )
}

/// The real function, and what it is to be called with.
struct RealCall {
    address: *mut c_void,
    words: [Word; MOST_WORDS],
    /// Of these the function takes so many.
    count: usize,
    language: Language,
}

impl RealCall {
    /// Calls it, and gives its result.
    #[inline(always)]
    unsafe fn call(&self) -> c_int {
        type OfRegisters = unsafe extern "C-unwind" fn(Word, Word, Word, Word, Word, Word) -> c_int;
        type OfAll = unsafe extern "C-unwind" fn(
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
        ) -> c_int;
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = self.words;
        // What a function takes less than it is given it does not see.
        let result = unsafe {
            if self.count <= IN_REGISTERS {
                core::mem::transmute::<*mut c_void, OfRegisters>(self.address)(a, b, c, d, e, f)
            } else {
                core::mem::transmute::<*mut c_void, OfAll>(self.address)(
                    a, b, c, d, e, f, g, h, i, j, k, l, m, n,
                )
            }
        };
        match (self.language, self.words[self.count.saturating_sub(1)]) {
            (Language::C, _) => result,
            // The last argument is where the result goes, if anywhere.
            (Language::Fortran, 0) => 0,
            (Language::Fortran, error) => unsafe { *(error as *const c_int) },
        }
    }

    /// The argument that is this detail of its function; 0 where there is none.
    fn argument(&self, detail: u8) -> Word {
        self.words.get(usize::from(detail)).copied().unwrap_or(0)
    }
}

/// Does what the function's row says around the real one.
unsafe extern "C-unwind" fn dispatch(
    number: u32,
    registers: *const [Word; IN_REGISTERS],
    frame: u64,
    instruction: u64,
) -> c_int {
    let number = number as usize;
    let (index, language) = PLACES_OF_NAMES[number];
    let &MpiFunction { shape, call, arguments, details } = &FUNCTIONS[usize::from(index)];
    let is_fortran = language == Language::Fortran;
    let at = HookFrame { instruction, stack: frame, frame };
    let (address, _) = ADDRESSES[number].find(|| name_of(number), at.caller());
    if address.is_null() {
        return MISSING;
    }
    let count = usize::from(arguments) + usize::from(is_fortran);
    let mut words = [0; MOST_WORDS];
    unsafe {
        words[..IN_REGISTERS].copy_from_slice(&*registers);
        // Above the hook's frame and the return address.
        let on_stack = (frame as *const Word).add(2);
        for (index, word) in words[..count].iter_mut().skip(IN_REGISTERS).enumerate() {
            *word = *on_stack.add(index);
        }
    }
    let mut real = RealCall { address, words, count, language };
    let Some(told) = ToldCall::new(at, language) else { return unsafe { real.call() } };
    unsafe { tell((told, at), (shape, call), details, &mut real) }
}

/// The same of a call that is told of.
#[inline(always)]
unsafe fn tell(
    hooked: shapes::HookedCall,
    (shape, call): (Shape, MpiCall),
    details: [u8; MOST_DETAILS],
    real: &mut RealCall,
) -> c_int {
    let (told, _) = hooked;
    let words = details.map(|detail| real.argument(detail));
    let given = |index: usize| (details[index] != ABSENT).then_some(words[index]);
    let [a, b, c, d, e, f, g, h] = words;
    // Calls it with another status.
    let status_at = match shape {
        Shape::Receive => details[3],
        Shape::SendReceive => details[7],
        Shape::Probe | Shape::CompleteSome => details[5],
        Shape::Complete | Shape::CompleteMessage => details[2],
        Shape::CompleteAll => details[3],
        Shape::CompleteOne => details[4],
        _ => ABSENT,
    };
    let call_with = &mut |status: Word| {
        if let Some(word) = real.words.get_mut(usize::from(status_at)) {
            *word = status;
        }
        unsafe { real.call() }
    };
    let completes = |count: usize, flag: Word, which: CompleteOnes, statuses: Word| CompletedRequests {
        count,
        requests: b,
        flag,
        which,
        statuses,
        are_messages: false,
    };
    match shape {
        Shape::Message => {
            let arguments =
                MessageArguments { call, count: a, datatype: b, peer: c, tag: d, communicator: e };
            shapes::message(hooked, &arguments, given(5), &mut || call_with(0))
        }
        Shape::Receive => shapes::receive(hooked, &shapes::receives(call, a, b, c), d, call_with),
        Shape::SendReceive => {
            let sent = MessageArguments { call, count: a, datatype: b, peer: c, tag: d, communicator: g };
            let received = ReceivedHalf { peer: e, tag: f, status: h };
            shapes::send_receive(hooked, &sent, &received, call_with)
        }
        Shape::Probe => {
            let probed = ProbedMessage { flag: d, message: e, status: f };
            shapes::probe(hooked, &shapes::receives(call, a, b, c), &probed, call_with)
        }
        Shape::TakeMessage => shapes::take_message(hooked, (a, b), &mut || call_with(0)),
        Shape::Complete | Shape::CompleteMessage => {
            let are_messages = shape == Shape::CompleteMessage;
            let completed =
                CompletedRequests { requests: a, are_messages, ..completes(1, b, CompleteOnes::All, c) };
            shapes::complete(hooked, &completed, call_with)
        }
        Shape::CompleteAll => {
            shapes::complete(hooked, &completes(told.count(a), c, CompleteOnes::All, d), call_with)
        }
        Shape::CompleteOne => {
            shapes::complete(hooked, &completes(told.count(a), d, CompleteOnes::One(c), e), call_with)
        }
        Shape::CompleteSome => {
            shapes::complete(hooked, &completes(told.count(a), e, CompleteOnes::Some(c, d), f), call_with)
        }
        Shape::Start => {
            let count = given(0).map_or(1, |count| told.count(count));
            shapes::start(hooked, (count, b), &mut || call_with(0))
        }
        Shape::Free => shapes::free(hooked, a, &mut || call_with(0)),
        Shape::Meet => shapes::meet(hooked, call, (b, given(0)), given(2), &mut || call_with(0)),
        Shape::Initialise => shapes::initialise(hooked, &mut || call_with(0)),
        Shape::Finalise => shapes::finalise(hooked, &mut || call_with(0)),
        Shape::MakeCommunicator => shapes::make_communicator(hooked, (a, b), &mut || call_with(0)),
        Shape::MakeWindow => windows::make(hooked, (a, b), &mut || call_with(0)),
        Shape::FreeWindow => windows::free(hooked, a, &mut || call_with(0)),
        Shape::Fence => windows::fence(hooked, (a, b), &mut || call_with(0)),
        Shape::Address => windows::address(hooked, call, (a, b), &mut || call_with(0)),
        Shape::EndEpoch => windows::end_epoch(hooked, call, a, &mut || call_with(0)),
        Shape::TestWindow => windows::test(hooked, (a, b), &mut || call_with(0)),
        Shape::Lock => windows::lock(hooked, (a, b, c), &mut || call_with(0)),
        Shape::Unlock => windows::unlock(hooked, (a, b), &mut || call_with(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_function() {
        let all: Vec<&str> = (0..NAMES).map(|number| name_of(number).to_str().unwrap()).collect();
        let first = all.iter().position(|&name| name == "MPI_Sendrecv").unwrap();
        assert_eq!(all[first + 1], "mpi_sendrecv_");
        let (function, language) = PLACES_OF_NAMES[first + 1];
        assert_eq!((PLACES_OF_NAMES[first].0, language), (function, Language::Fortran));
        assert_eq!(PLACES_OF_NAMES[first].1, Language::C);
        let MpiFunction { shape, arguments, details, .. } = FUNCTIONS[usize::from(function)];
        assert_eq!((shape, arguments, details), (Shape::SendReceive, 12, [1, 2, 3, 4, 8, 9, 10, 11]));
        let mut names = all.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len(), "a name is of one function");
    }
}
