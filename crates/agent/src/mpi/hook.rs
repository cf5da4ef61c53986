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
use super::functions::{FUNCTIONS, NAMED_FUNCTIONS, NAMES, NAMES_OF_FUNCTIONS};
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
    /// Begins or ends what all members of a window are about: window.
    OfWindow,
    /// Window, flag.
    TestWindow,
    /// Kind, rank, window.
    Lock,
    /// The same of one member: rank, window.
    OfMember,
    /// Accesses a member's window, or begins to: count, datatype, rank, window, request.
    Access,
    /// Something of which nothing is known but that it may wait, or look: request, flag.
    Opaque,
}

/// Most details of a shape.
const MOST_DETAILS: usize = 8;
/// Most arguments of a function, with the result of Fortran's.
const MOST_WORDS: usize = 14;
/// Room for them, and for what a function lacks: a power of two.
const ROOM: usize = 16;
/// A detail that a function lacks: where always 0 is.
const ABSENT: u8 = ROOM as u8 - 1;
/// Of these come in registers.
const IN_REGISTERS: usize = 6;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct MpiFunction {
    shape: Shape,
    call: MpiCall,
    /// Arguments in C.
    arguments: u8,
    /// Lengths of texts, which Fortran passes behind the result.
    hidden: u8,
    /// The number of the name in C.
    name: u16,
    details: [u8; MOST_DETAILS],
}

impl MpiFunction {
    /// The function with these arguments, of which the shape's details are these. The last ones may be lengths of texts (`hidden`).
    pub(super) const fn new(
        name: u16,
        (shape, call): (Shape, MpiCall),
        arguments: &[&str],
        named: &[&str],
    ) -> MpiFunction {
        let mut details = [ABSENT; MOST_DETAILS];
        let mut index = 0;
        while index < named.len() {
            details[index] = position(arguments, named[index]);
            index += 1;
        }
        assert!(arguments.len() < MOST_WORDS);
        let mut visible = arguments.len();
        while visible > 0 && are_same(arguments[visible - 1], "hidden") {
            visible -= 1;
        }
        let hidden = (arguments.len() - visible) as u8;
        MpiFunction { shape, call, arguments: visible as u8, hidden, name, details }
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

/// Whether counts of a function with this name have 64 bits.
pub(super) const fn is_wide(name: &str) -> bool {
    ends_with(name, "_c") || ends_with(name, "_large_")
}

const fn ends_with(name: &str, end: &str) -> bool {
    let (name, end) = (name.as_bytes(), end.as_bytes());
    if name.len() < end.len() {
        return false;
    }
    let mut index = 0;
    while index < end.len() && name[name.len() - end.len() + index] == end[index] {
        index += 1;
    }
    index == end.len()
}

/// What a name is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedFunction {
    /// Index of the function.
    pub(super) function: u16,
    /// Where the name begins among all names.
    pub(super) begin: u16,
    pub(super) language: Language,
    /// Counts have 64 bits.
    pub(super) is_wide: bool,
}

/// `MPI_ERR_OTHER`: what a hook gives where no library has the function, which then no program can have called.
const MISSING: c_int = 15;

/// Places of calls that each function remembers, where MPI is not loaded with the program.
const PLACES: usize = 4;

/// Where functions really are, by the number of their name.
static ADDRESSES: [EntryAddress<PLACES>; NAMES] = [const { EntryAddress::new() }; NAMES];

/// The name with this number.
fn name_of(number: usize) -> &'static CStr {
    let names = &NAMES_OF_FUNCTIONS[usize::from(NAMED_FUNCTIONS[number].begin)..];
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
    words: [Word; ROOM],
    /// Of these the function takes so many.
    count: usize,
    /// Which of them says where the result goes, in Fortran.
    error_at: Option<usize>,
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
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, ..] = self.words;
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
        match self.error_at.map(|index| self.words[index]) {
            None => result,
            Some(0) => 0,
            Some(error) => unsafe { *(error as *const c_int) },
        }
    }

    /// The argument that is this detail of its function; 0 where there is none.
    fn argument(&self, detail: u8) -> Word {
        self.words[usize::from(detail) % ROOM]
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
    let NamedFunction { function, language, is_wide, .. } = NAMED_FUNCTIONS[number];
    let function = &FUNCTIONS[usize::from(function)];
    let arguments = usize::from(function.arguments);
    let at = HookFrame { instruction, stack: frame, frame };
    let (address, _) = ADDRESSES[number].find(|| name_of(number), at.caller());
    if address.is_null() {
        return MISSING;
    }
    let count = match language {
        Language::C => arguments,
        Language::Fortran => arguments + 1 + usize::from(function.hidden),
    };
    let mut words = [0; ROOM];
    unsafe {
        words[..IN_REGISTERS].copy_from_slice(&*registers);
        // Above the hook's frame and the return address.
        let on_stack = (frame as *const Word).add(2);
        for (index, word) in words[..count].iter_mut().skip(IN_REGISTERS).enumerate() {
            *word = *on_stack.add(index);
        }
    }
    let error_at = (language == Language::Fortran).then_some(arguments);
    let mut real = RealCall { address, words, count, error_at };
    let Some(told) = ToldCall::new(at, language, is_wide) else { return unsafe { real.call() } };
    unsafe { tell((told, at), function, &mut real) }
}

/// The same of a call that is told of.
#[inline(always)]
unsafe fn tell(
    hooked: shapes::HookedCall,
    &MpiFunction { shape, call, details, name, .. }: &MpiFunction,
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
        if status_at != ABSENT {
            real.words[usize::from(status_at) % ROOM] = status;
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
        Shape::OfWindow => windows::of_window(hooked, call, a, &mut || call_with(0)),
        Shape::TestWindow => windows::test(hooked, (a, b), &mut || call_with(0)),
        Shape::Lock => windows::lock(hooked, (a, b, c), &mut || call_with(0)),
        Shape::OfMember => windows::of_member(hooked, call, (a, b), &mut || call_with(0)),
        Shape::Access => {
            let access = windows::WindowAccess { count: given(0), datatype: b, rank: c, window: d };
            windows::access(hooked, call, &access, given(4), &mut || call_with(0))
        }
        Shape::Opaque => {
            let function = || name_of(usize::from(name)).to_bytes();
            shapes::not_understood(hooked, &function, (given(0), given(1)), &mut || call_with(0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_function() {
        let all: Vec<&str> = (0..NAMES).map(|number| name_of(number).to_str().unwrap()).collect();
        let first = all.iter().position(|&name| name == "MPI_Sendrecv").unwrap();
        let first_of_fortran = all.iter().position(|&name| name == "mpi_sendrecv_").unwrap();
        let [c, fortran] = [first, first_of_fortran].map(|number| NAMED_FUNCTIONS[number]);
        assert_eq!((c.language, c.is_wide), (Language::C, false));
        assert_eq!((fortran.function, fortran.language), (c.function, Language::Fortran));
        let MpiFunction { shape, arguments, details, name, .. } = FUNCTIONS[usize::from(c.function)];
        assert_eq!((shape, arguments, details), (Shape::SendReceive, 12, [1, 2, 3, 4, 8, 9, 10, 11]));
        assert_eq!(usize::from(name), first);
        let large = all.iter().position(|&name| name == "MPI_Send_c").unwrap();
        assert!(NAMED_FUNCTIONS[large].is_wide);
        let opens = all.iter().position(|&name| name == "mpi_file_open_").unwrap();
        let MpiFunction { arguments, hidden, .. } = FUNCTIONS[usize::from(NAMED_FUNCTIONS[opens].function)];
        assert_eq!((arguments, hidden), (5, 1));
        let mut names = all.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len(), "a name is of one function");
    }
}
