//! What threads wait for: locks and the like, the ends of threads, files.
//!
//! ```text
//!   key      (process, futex 0x5581…) ─┐
//!   key      (process, futex 0x5583…) ─┼─► objects 0, 1, …   each with its kind and its name
//!   key      (process, place)         ─┘
//! ```
//! An object is told by its address where the kernel saw one. Several objects can have the same name, such as
//! the locks of a table's rows: reports show them as one row.

use crate::state::Cause;

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
    /// A lock of a file or of a part of it.
    FileLock => "file lock", Lock;
    /// A condition variable.
    Condition => "condition", Condition;
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
    /// The end of a child process.
    ProcessEnd => "process end", Child;
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
    /// A futex whose use could not be told.
    Futex => "futex", Futex;
}

/// Something that threads wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name, the same in the next run: the variable that holds it, or where it is waited for.
    pub name: String,
}

/// Who is who among the objects of a recording.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    all: Vec<Object>,
}

impl Objects {
    /// Adds an object.
    pub fn add(&mut self, object: Object) -> ObjectId {
        let id = ObjectId(u32::try_from(self.all.len()).expect("fewer than 2^32 objects"));
        self.all.push(object);
        id
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
