//! What threads wait for: locks and the like, the ends of threads, files.
//!
//! ```text
//!   key      (process, futex 0x5581…) ─┐
//!   key      (process, futex 0x5583…) ─┼─► objects 0, 1, …   each with its kind and its name
//!   key      (process, place)         ─┘
//! ```
//! An object is told by its address where the kernel saw one. Several objects can have the same name, such as
//! the locks of a table's rows: reports show them as one row.

use longpole_event::ProcessId;
use rustc_hash::FxHashMap;

use crate::paths::{PathId, Paths, Place, PlaceId};
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
    /// A lock of which the kind could not be told.
    Lock => "lock", Lock;
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// What tells one object from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectKey {
    /// Kind.
    pub(crate) kind: ObjectKind,
    /// The recording's process in whose memory it is.
    pub(crate) process: ProcessId,
    /// Its address there.
    pub(crate) address: u64,
}

/// The objects of one machine as they are come across, and the places at which threads wait for each.
#[derive(Debug, Default)]
pub(crate) struct Census {
    ids: FxHashMap<ObjectKey, ObjectId>,
    found: Vec<(ObjectKind, FxHashMap<PlaceId, u64>)>,
}

/// The objects of one machine by what tells them apart; of another replay of the same events.
#[derive(Debug, Default)]
pub(crate) struct ObjectIndex {
    ids: FxHashMap<ObjectKey, ObjectId>,
}

impl Census {
    /// The id, within this machine, of an object that a thread waits for at this path.
    pub(crate) fn come_across(&mut self, key: ObjectKey, path: PathId, paths: &Paths) -> ObjectId {
        let next = ObjectId(u32::try_from(self.found.len()).expect("fewer than 2^32 objects"));
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.found.push((key.kind, FxHashMap::default()));
        }
        if let Some(place) = paths.innermost_id(path) {
            *self.found[id.index()].1.entry(place).or_default() += 1;
        }
        id
    }

    /// Names the objects and adds them to all others.
    pub(crate) fn settle(self, paths: &Paths, objects: &mut Objects) -> ObjectIndex {
        let base = u32::try_from(objects.all.len()).expect("fewer than 2^32 objects");
        for (kind, sites) in self.found {
            objects.add(Object { kind, name: name_by_site(kind, &sites, paths) });
        }
        let ids = self.ids.into_iter().map(|(key, id)| (key, ObjectId(base + id.0))).collect();
        ObjectIndex { ids }
    }
}

impl ObjectIndex {
    /// The object's id in the recording.
    pub(crate) fn find(&self, key: ObjectKey) -> Option<ObjectId> {
        self.ids.get(&key).copied()
    }
}

/// `mutex in Cache::get (cache.rs:88)`, by the place where it was waited for most often; of equal ones the
/// first by name.
fn name_by_site(kind: ObjectKind, sites: &FxHashMap<PlaceId, u64>, paths: &Paths) -> String {
    let text = |place: PlaceId| {
        let Place { procedure, line } = paths.all_places()[place.0 as usize];
        let procedure = paths.procedure_named_by(procedure);
        let file = procedure.file.rsplit('/').next().unwrap_or_default();
        match (file, line) {
            ("", _) | (_, 0) => format!("{} in {}", kind.name(), procedure.name),
            (file, line) => format!("{} in {} ({file}:{line})", kind.name(), procedure.name),
        }
    };
    let named = sites.iter().map(|(&place, &count)| (std::cmp::Reverse(count), text(place)));
    named.min().map_or_else(|| kind.name().to_owned(), |(_, text)| text)
}
