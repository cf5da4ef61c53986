//! What a hook of MPI tells before the real function and after it.

use core::ffi::c_int;

use longpole_ring::{MPI_ANY, MpiCall, RingEventKind, call_and_bytes, event, event_in, rank_and_tag};

use super::Word;
use super::abi::{MpiAbi, StatusValues, abi};
use super::language::Language;
use super::{polls, room};
use crate::openmp::entry::EntryPoint;
use crate::stack::{self, HookFrame};
use crate::thread::CurrentThread;
use crate::tls;

/// Words for the longest name of a function.
const NAME_WORDS: usize = 6;

/// What is known of a call before it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallArguments {
    pub(super) call: MpiCall,
    /// Its handle as C has it.
    pub(super) communicator: Word,
    /// The other end, or the root.
    pub(super) peer: i32,
    pub(super) tag: i32,
    /// Of a call that completes requests, the first of them.
    pub(super) bytes: u64,
}

impl CallArguments {
    /// A call that names no other process.
    pub(super) const fn of(call: MpiCall, communicator: Word) -> CallArguments {
        CallArguments { call, communicator, peer: MPI_ANY, tag: MPI_ANY, bytes: 0 }
    }
}

/// A call that is told of. Has no destructor: it lives across the real function.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToldCall {
    me: CurrentThread,
    pub(super) abi: MpiAbi,
    pub(super) language: Language,
    /// Counts have 64 bits.
    is_wide: bool,
    /// Where the call was made.
    pub(super) caller: u64,
}

impl ToldCall {
    /// The thread is about to make a call; `None` where it goes unrecorded, where the call is part of another one,
    /// or where there is no room to tell of it.
    #[inline(never)]
    pub(super) fn new(at: HookFrame, language: Language, is_wide: bool) -> Option<ToldCall> {
        let me = CurrentThread::get()?;
        let depth = &tls::slot().mpi_calls;
        if depth.get() != 0 {
            return None;
        }
        let caller = at.caller();
        let abi = abi(caller)?;
        if !room::is_there(me) {
            return None;
        }
        depth.set(1);
        // What waits inside is part of it.
        me.with(|area| area.state.enter());
        Some(ToldCall { me, abi, language, is_wide, caller })
    }

    /// Tells what the call is.
    pub(super) fn enters(self, arguments: CallArguments, at: HookFrame) {
        self.entered(arguments, at, self.now());
    }

    /// The same of a call that was entered then; nothing was told since.
    pub(super) fn entered(self, arguments: CallArguments, at: HookFrame, time: u64) {
        let CallArguments { call, communicator, peer, tag, bytes } = arguments;
        polls::end();
        let subject = self.abi.handle(communicator);
        self.me.with(|area| {
            let key = stack::tell(area, self.me.header(), time, at);
            let rest = [call_and_bytes(call, bytes), rank_and_tag(peer, tag), key];
            area.push_here(&event::<5>(RingEventKind::Communicates, subject, time, &rest));
        });
    }

    /// Tells that a request is complete.
    pub(super) fn completes(self, request: u64, status: StatusValues) {
        let now = self.me.now();
        let rest = [u64::from(!status.is_cancelled), rank_and_tag(status.source, status.tag), status.bytes];
        self.me.with(|area| area.push_here(&event::<5>(RingEventKind::Completes, request, now, &rest)));
    }

    /// Tells that the process found a message, and took it with this handle, if any.
    pub(super) fn probed(self, communicator: Word, handle: u64, status: StatusValues) {
        let now = self.me.now();
        let subject = self.abi.handle(communicator);
        let rest = [handle, rank_and_tag(status.source, status.tag), status.bytes];
        self.me.with(|area| area.push_here(&event::<5>(RingEventKind::Probed, subject, now, &rest)));
    }

    /// Tells that a request begins that was prepared before.
    pub(super) fn starts(self, request: u64) {
        let now = self.me.now();
        self.me.with(|area| area.push(&event::<2>(RingEventKind::Starts, request, now, &[])));
    }

    /// Tells how the call ended, and that it has made this request.
    pub(super) fn leaves(self, result: c_int, request: u64, status: StatusValues) {
        self.ends(result, request, status);
        self.is_over();
    }

    /// The same of a part of the call.
    pub(super) fn ends(self, result: c_int, request: u64, status: StatusValues) {
        let now = self.me.now();
        let is_ok = u64::from(result == 0);
        self.me.with(|area| {
            // Where nothing is known of what came, nothing is said of it.
            if status == StatusValues::UNKNOWN {
                return area.push_here(&event::<3>(RingEventKind::Communicated, request, now, &[is_ok]));
            }
            let rest = [is_ok, rank_and_tag(status.source, status.tag), status.bytes];
            area.push_here(&event::<5>(RingEventKind::Communicated, request, now, &rest))
        });
    }

    /// The thread is out of the call.
    pub(super) fn is_over(self) {
        tls::slot().mpi_calls.set(0);
        self.me.with(|area| area.state.leave());
    }

    /// The thread.
    pub(super) fn thread(self) -> CurrentThread {
        self.me
    }

    /// Now.
    #[inline(always)]
    pub(super) fn now(self) -> u64 {
        self.me.now()
    }

    /// Tells of which function the call is, where only its name is known.
    pub(super) fn names(self, name: &[u8]) {
        let mut words = [0_u64; NAME_WORDS + 2];
        for (word, bytes) in words[2..].iter_mut().zip(name.chunks(8)) {
            let mut packed = [0; 8];
            packed[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(packed);
        }
        // One word at least ends with a zero.
        let length = (2 + name.len() / 8 + 1).min(words.len());
        event_in(&mut words, length, RingEventKind::NamesCall, 0, self.now());
        self.me.with(|area| area.push(&words[..length]));
    }

    /// Bytes of so many elements; of one, where no count is given.
    pub(super) fn bytes(self, count: Option<Word>, datatype: Word) -> u64 {
        type TypeSize = unsafe extern "C-unwind" fn(Word, *mut c_int) -> c_int;
        static ENTRY: EntryPoint = EntryPoint::new(c"PMPI_Type_size");
        let mut size = 0;
        // SAFETY: the function's own type; the program passes the datatype to the real function too.
        unsafe {
            if let Some((function, _)) = ENTRY.find::<TypeSize>(self.caller) {
                function(self.datatype(datatype), &raw mut size);
            }
        }
        let count = match count {
            None => 1,
            Some(count) if self.is_wide => self.wide_number(count),
            Some(count) => i64::from(self.number(count)),
        };
        u64::try_from(count.saturating_mul(i64::from(size))).unwrap_or(0)
    }
}
