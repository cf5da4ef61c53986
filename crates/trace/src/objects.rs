//! What threads wait for: locks and the like, the ends of threads, files.
//!
//! ```text
//!   key      (process, futex 0x5581…) ─┐
//!   key      (process, futex 0x5583…) ─┼─► objects 0, 1, …   each with its kind and its name
//!   key      (process, place)         ─┘
//! ```
//! An object is told by its address where the kernel saw one. Several objects can have the same name, such as
//! the locks of a table's rows: reports show them as one row.

use crate::paths::PlaceId;
use crate::state::Cause;
use crate::stored;
use crate::stored::{Stored, StoredBytes};

/// An object of [`Objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Position in [`Objects::all`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $text:literal, $cause:ident);* $(;)?) => {
        /// What kind of thing a thread waits for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ObjectKind {
            $($(#[$doc])* $name,)*
        }

        impl ObjectKind {
            /// Every kind.
            pub const ALL: &'static [ObjectKind] = &[$(ObjectKind::$name),*];

            /// The kind's name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(ObjectKind::$name => $text,)* }
            }

            /// Why a thread that waits for such an object is blocked.
            #[must_use]
            pub fn cause(self) -> Cause {
                match self { $(ObjectKind::$name => Cause::$cause,)* }
            }
        }
    };
}

kinds! {
    /// A lock that one thread holds at a time.
    Mutex => "mutex", Lock;
    /// A lock that many readers or one writer hold.
    RwLock => "rwlock", Lock;
    /// Something done by the first thread that comes by.
    Once => "once", Lock;
    /// A lock that is waited for by spinning.
    SpinLock => "spin lock", Lock;
    /// A lock of which the kind could not be told.
    Lock => "lock", Lock;
    /// The lock that lets one thread at a time run an interpreter's code.
    InterpreterLock => "GIL", Lock;
    /// A lock of a file or of a part of it.
    FileLock => "file lock", Lock;
    /// A condition variable.
    Condition => "condition", Condition;
    /// The result of work that is done elsewhere, or later.
    Future => "future", Condition;
    /// A word for which threads spin.
    Flag => "flag", Condition;
    /// A barrier.
    Barrier => "barrier", Barrier;
    /// A semaphore.
    Semaphore => "semaphore", Semaphore;
    /// A queue of messages between threads.
    Channel => "channel", Message;
    /// The place at which a thread parks until another unparks it.
    Parker => "parker", Park;
    /// The end of a thread.
    ThreadEnd => "thread end", Join;
    /// The end of a certain child process, or of one of which that is not known.
    ProcessEnd => "process end", Child;
    /// The end of any child of a process.
    AnyProcessEnd => "end of any child", Child;
    /// A pipe.
    Pipe => "pipe", Pipe;
    /// A socket.
    Socket => "socket", Socket;
    /// A file on a device.
    File => "file", Io;
    /// A terminal.
    Terminal => "terminal", Terminal;
    /// A set of descriptors that is polled.
    Poll => "poll", Poll;
    /// A lock inside the kernel.
    KernelLock => "kernel lock", Kernel;
    /// A process that is to send a message.
    Sender => "sender", LateSender;
    /// A process that is to receive a message.
    Receiver => "receiver", LateReceiver;
    /// A group of processes that meet in collective operations.
    Communicator => "communicator", Collective;
    /// A call of MPI of which it is not known what it waits for.
    MessageCall => "call of MPI", Message;
    /// A page of memory of a simulated machine.
    Page => "page", Request;
    /// A cache line of a simulated machine.
    CacheLine => "cache line", Request;
    /// Messages that an operation needs between the nodes or caches of a simulated machine.
    Exchange => "messages", Request;
    /// A futex whose use could not be told.
    Futex => "futex", Futex;
}

impl ObjectKind {
    /// Whether it only keeps threads from doing something at the same time, in whatever order (metrics.md §1).
    #[must_use]
    pub fn excludes(self) -> bool {
        use ObjectKind::{FileLock, InterpreterLock, KernelLock, Lock, Mutex, RwLock, SpinLock};
        matches!(self, InterpreterLock | Mutex | RwLock | SpinLock | Lock | FileLock | KernelLock)
    }
}

/// Something that threads wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name, the same in the next run: the variable that holds it, or where it is waited for.
    pub name: String,
}

impl Object {
    /// The other end of a connection that the program asked for, where that is not in the recording: `192.0.2.7:5432`.
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        let (_, service) = self.name.rsplit_once(" to ").filter(|_| self.kind == ObjectKind::Socket)?;
        Some(service)
    }

    /// Whether it is a pipe of which only one end is in the recording.
    #[must_use]
    pub fn has_open_end(&self) -> bool {
        let is_open = |end| self.name.starts_with(end);
        self.kind == ObjectKind::Pipe && ["pipe to ", "pipe from "].into_iter().any(is_open)
    }
}

/// What is known of the signals of a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signals {
    /// Those that ended a wait.
    #[default]
    Ending,
    /// All; but which of them let a thread go on follows no count.
    Irregular,
    /// All, and that threads depend on the latest ones of each other.
    Latest,
    /// All, and which one each thread depends on: wakes add nothing.
    Numbered,
}

/// Who is who among the objects of a recording.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    all: Vec<Object>,
    /// For what part of the run each excluded threads.
    exclusion: Vec<f64>,
    signals: Vec<Signals>,
    /// Where threads wait for them to write, in order.
    written: Vec<Vec<PlaceId>>,
}

stored!(enum ObjectKind: ObjectKind::ALL);
stored!(enum Signals: [Signals::Ending, Signals::Irregular, Signals::Latest, Signals::Numbered]);
stored! {
    Object { kind, name }
}

impl Stored for Objects {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.all.store(bytes);
        self.exclusion.store(bytes);
        self.signals.store(bytes);
        self.written.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let all = Vec::<Object>::restore(bytes)?;
        let (exclusion, signals) = (Vec::<f64>::restore(bytes)?, Vec::<Signals>::restore(bytes)?);
        let written = Vec::<Vec<PlaceId>>::restore(bytes)?;
        let are_whole = [exclusion.len(), signals.len(), written.len()].iter().all(|len| *len == all.len());
        are_whole.then_some(Objects { all, exclusion, signals, written })
    }
}

impl Objects {
    /// Adds an object.
    pub fn add(&mut self, object: Object) -> ObjectId {
        let id = ObjectId(u32::try_from(self.all.len()).expect("fewer than 2^32 objects"));
        self.all.push(object);
        self.exclusion.push(0.0);
        self.signals.push(Signals::default());
        self.written.push(Vec::new());
        id
    }

    /// Says where threads wait for a lock for readers and writers to write.
    pub fn set_written(&mut self, id: ObjectId, places: impl Iterator<Item = PlaceId>) {
        let written = &mut self.written[id.index()];
        written.extend(places);
        written.sort_unstable();
    }

    /// Where threads wait for a lock for readers and writers to write: of the C library's, which let readers pass.
    #[must_use]
    pub fn written(&self, id: ObjectId) -> &[PlaceId] {
        &self.written[id.index()]
    }

    /// Says what is known of the signals of a condition.
    pub fn set_signals(&mut self, id: ObjectId, signals: Signals) {
        self.signals[id.index()] = signals;
    }

    /// What is known of the signals of a condition.
    #[must_use]
    pub fn signals(&self, id: ObjectId) -> Signals {
        self.signals[id.index()]
    }

    /// Adds to the part of the run for which the object excluded threads.
    pub fn add_exclusion(&mut self, id: ObjectId, share: f64) {
        self.exclusion[id.index()] += share;
    }

    /// For what part of the whole run the object excluded threads: it was held, or wanted where holds are not known. 1 for
    /// all of it; more where holds overlap.
    #[must_use]
    pub fn exclusion(&self, id: ObjectId) -> f64 {
        self.exclusion[id.index()]
    }

    /// Every object, by id.
    #[must_use]
    pub fn all(&self) -> &[Object] {
        &self.all
    }

    /// The object of this id.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> &Object {
        &self.all[id.index()]
    }
}
