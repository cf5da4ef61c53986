//! What a hook of MPI tells before the real function and after it.

use core::ffi::c_int;

use longpole_ring::{MPI_ANY, MpiCall, RingEventKind, event, rank_and_tag};

use super::Word;
use super::abi::{MpiAbi, StatusValues, abi};
use crate::openmp::entry::EntryPoint;
use crate::stack::{self, HookFrame};
use crate::thread::CurrentThread;
use crate::tls;

/// What is known of a call before it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallArguments {
    pub(super) call: MpiCall,
    pub(super) communicator: Word,
    /// The other end, or the root.
    pub(super) peer: i32,
    pub(super) tag: i32,
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
    /// Where the call was made.
    pub(super) caller: u64,
}

impl ToldCall {
    /// The thread is about to make a call; `None` where it goes unrecorded, or where the call is part of another one.
    #[inline]
    pub(super) fn new(at: HookFrame) -> Option<ToldCall> {
        let me = CurrentThread::get()?;
        let depth = &tls::slot().mpi_calls;
        if depth.get() != 0 {
            return None;
        }
        let caller = at.caller();
        let abi = abi(caller)?;
        depth.set(1);
        // What waits inside is part of it.
        me.with(|area| area.state.enter());
        Some(ToldCall { me, abi, caller })
    }

    /// Tells what the call is.
    pub(super) fn enters(self, arguments: CallArguments, at: HookFrame) {
        let CallArguments { call, communicator, peer, tag, bytes } = arguments;
        let now = self.me.now();
        let subject = self.abi.handle(communicator);
        self.me.with(|area| {
            let key = stack::tell(area, self.me.header(), now, at);
            let rest = [call as u64, rank_and_tag(peer, tag), bytes, key];
            area.push(&event::<6>(RingEventKind::Communicates, subject, now, &rest));
        });
    }

    /// Tells that a request is complete.
    pub(super) fn completes(self, request: u64, status: StatusValues) {
        let now = self.me.now();
        let rest = [1, rank_and_tag(status.source, status.tag), status.bytes];
        self.me.with(|area| area.push(&event::<5>(RingEventKind::Completes, request, now, &rest)));
    }

    /// Tells how the call ended, and that it has made this request.
    pub(super) fn leaves(self, result: c_int, request: u64, status: StatusValues) {
        self.ends(result, request, status);
        self.is_over();
    }

    /// The same of a part of the call.
    pub(super) fn ends(self, result: c_int, request: u64, status: StatusValues) {
        let now = self.me.now();
        let rest = [u64::from(result == 0), rank_and_tag(status.source, status.tag), status.bytes];
        self.me.with(|area| area.push(&event::<5>(RingEventKind::Communicated, request, now, &rest)));
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

    /// Bytes of so many elements.
    pub(super) fn bytes(self, count: Word, datatype: Word) -> u64 {
        type TypeSize = unsafe extern "C-unwind" fn(Word, *mut c_int) -> c_int;
        static ENTRY: EntryPoint = EntryPoint::new(c"PMPI_Type_size");
        let mut size = 0;
        // SAFETY: the function's own type; the program passes the datatype to the real function too.
        unsafe {
            if let Some((function, _)) = ENTRY.find::<TypeSize>(self.caller) {
                function(datatype, &raw mut size);
            }
        }
        let count = (count as u32).cast_signed();
        u64::try_from(i64::from(count) * i64::from(size)).unwrap_or(0)
    }
}
