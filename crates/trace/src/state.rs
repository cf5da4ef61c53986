//! The states of a thread (metrics.md §1).

use std::fmt;

use crate::stored;

/// What a thread does at a point in time; always exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Not yet created, already ended, or not yet seen.
    Absent,
    /// On a processor, doing useful work, in user code or in the system.
    Running,
    /// On a processor, only waiting for memory to change.
    Spinning,
    /// On a processor, in the collector's own code: neither the program's work nor a wait of it.
    Overhead,
    /// Could run, but has no processor.
    Ready,
    /// Off its processor until something happens.
    Blocked(Cause),
}

impl State {
    /// Whether the thread counts towards effective parallelism U(t); a thread blocked for a device or a
    /// page counts too unless `io_idle` (metrics.md §3).
    #[must_use]
    pub fn is_busy(self, io_idle: bool) -> bool {
        match self {
            State::Running => true,
            State::Blocked(Cause::Io | Cause::PageFault) => !io_idle,
            _ => false,
        }
    }

    /// Whether the thread counts towards nominal parallelism N(t): running, spinning or ready; in the collector's
    /// code it could run.
    #[must_use]
    pub fn is_runnable(self) -> bool {
        matches!(self, State::Running | State::Spinning | State::Overhead | State::Ready)
    }

    /// Whether the thread has a processor.
    #[must_use]
    pub fn is_on_cpu(self) -> bool {
        matches!(self, State::Running | State::Spinning | State::Overhead)
    }
}

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident => $text:literal),* $(,)?) => {
        /// Why a thread is blocked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Cause {
            $($(#[$doc])* $name,)*
        }

        impl Cause {
            /// Every cause, in the order of their numbers.
            pub const ALL: &'static [Cause] = &[$(Cause::$name),*];

            /// The cause's name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Cause::$name => $text,)*
                }
            }
        }
    };
}

causes! {
    /// A mutex, a reader-writer lock, or another lock.
    Lock => "lock",
    /// A condition variable, or an event of a runtime.
    Condition => "condition",
    /// A barrier.
    Barrier => "barrier",
    /// The end of another thread.
    Join => "join",
    /// The end of a child process.
    Child => "child process",
    /// A semaphore.
    Semaphore => "semaphore",
    /// A message: queues of messages.
    Message => "message",
    /// A file on a device.
    Io => "io",
    /// Data in, or room in, a pipe.
    Pipe => "pipe",
    /// A socket.
    Socket => "socket",
    /// Data in a socket that another thread had written long before it arrived.
    Delivery => "delivery",
    /// A terminal.
    Terminal => "terminal",
    /// Any of several descriptors: poll, select, epoll.
    Poll => "poll",
    /// The same, and none became ready before the time that the thread would wait at most, or a timer did: an event loop's timers, as a rule.
    PollTimeout => "poll timeout",
    /// A page of memory that had to be read or made.
    PageFault => "page fault",
    /// A time set by the program itself.
    Sleep => "sleep",
    /// A moment that the program itself set: a timer (`timerfd`), a sleep until then (`TIMER_ABSTIME`).
    Timer => "timer",
    /// A time after which the thread looks again whether another one has done something: a sleep in a loop that does nothing else.
    PollingSleep => "polling sleep",
    /// A signal.
    Signal => "signal",
    /// Stopped by a signal or a debugger.
    Stopped => "stopped",
    /// A thread parked until another unparks it (Rust, Java, Go).
    Park => "park",
    /// A lock inside the kernel, such as that of the memory map.
    Kernel => "kernel lock",
    /// A lock or a condition, which of them could not be told (a futex without a known caller).
    Futex => "futex",
    /// A message that another process had not begun to send.
    LateSender => "late sender",
    /// A message that another process was not ready to receive.
    LateReceiver => "late receiver",
    /// An operation of several processes to which not all had come.
    Collective => "collective",
    /// Data, or messages of an operation, that come from another node or cache of a simulated machine.
    Request => "request",
    /// Something else, or not known.
    Other => "other",
}

stored!(enum Cause: Cause::ALL);

impl Cause {
    /// Position in [`Cause::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the clock ends it: a time or moment that the program itself set.
    #[must_use]
    pub fn is_of_clock(self) -> bool {
        matches!(self, Cause::Sleep | Cause::Timer | Cause::PollTimeout | Cause::PollingSleep)
    }

    /// Whether this is synchronisation with another thread of the program, rather than with a device, a
    /// clock or a user (ips2 profile, metrics.md §2).
    #[must_use]
    pub fn is_synchronisation(self) -> bool {
        let is_outside = matches!(
            self,
            Cause::Io
                | Cause::Delivery
                | Cause::Terminal
                | Cause::PageFault
                | Cause::Signal
                | Cause::Stopped
                | Cause::Request
        );
        !is_outside && !self.is_of_clock()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
