//! Tags: what kind of item a row of the columns is, in a byte.
//!
//! A row has a tag, a time, a thread and a value (the path, object, thread or token that the item names); what does not fit
//! there stands in a column of its own, *more*.

use longpole_event::{ThreadId, Time};

use crate::objects::{ObjectId, Objects};
use crate::paths::{PathId, Paths};
use crate::program::Program;
use crate::state::{Cause, State};
use crate::timeline::{Acquisition, DependenceKind, ItemKind, LockHold, ObservationKind, QueueId, TokenId};

const BLOCKED: u8 = 5;
const OBSERVE: u8 = 64;
/// A sample of which the gap is known.
const SAMPLE: u8 = 71;
const AWAIT: u8 = 72;
const HELD: u8 = 73;
const RELEASE: u8 = 74;
const WRITTEN: u8 = 75;
const DEPEND: u8 = 80;
/// A dependence whose source enabled the thread earlier.
const DEPEND_LATER: u8 = 96;
const ACQUIRE: u8 = 112;

const DEPENDENCES: [DependenceKind; 10] = [
    DependenceKind::Create,
    DependenceKind::Spawn,
    DependenceKind::Join,
    DependenceKind::Unlock,
    DependenceKind::Signal,
    DependenceKind::Barrier,
    DependenceKind::Post,
    DependenceKind::Message,
    DependenceKind::Stop,
    DependenceKind::Wake,
];

/// How many ids of each kind there are: an item that names another one is no item of this recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdCounts {
    /// Machines.
    pub machines: usize,
    /// Processes.
    pub processes: usize,
    /// Threads.
    pub threads: usize,
    /// Call paths.
    pub paths: usize,
    /// Objects.
    pub objects: usize,
    /// Procedures.
    pub procedures: usize,
    /// Places in procedures.
    pub places: usize,
}

impl IdCounts {
    /// As many as there can be: for what is compared with the numbers later.
    pub(crate) const ANY: IdCounts = IdCounts {
        machines: usize::MAX,
        processes: usize::MAX,
        threads: usize::MAX,
        paths: usize::MAX,
        objects: usize::MAX,
        procedures: usize::MAX,
        places: usize::MAX,
    };

    /// Those of a recording.
    #[must_use]
    pub fn of(program: &Program, paths: &Paths, objects: &Objects) -> IdCounts {
        IdCounts {
            machines: program.machines.len(),
            processes: program.processes.len(),
            threads: program.threads.len(),
            paths: paths.len(),
            objects: objects.all().len(),
            procedures: paths.procedures().len(),
            places: paths.all_places().len(),
        }
    }

    pub(super) fn thread(&self, id: u64) -> Option<ThreadId> {
        (id < self.threads as u64).then_some(ThreadId(id as u32))
    }

    fn path(&self, id: u64) -> Option<PathId> {
        (id < self.paths as u64).then_some(PathId(id as u32))
    }

    fn object(&self, id: u64) -> Option<ObjectId> {
        (id < self.objects as u64).then_some(ObjectId(id as u32))
    }

    /// An object, or none: as 0 for none, and one more than the id.
    fn object_if_any(&self, number: u64) -> Option<Option<ObjectId>> {
        match number.checked_sub(1) {
            None => Some(None),
            Some(id) => self.object(id).map(Some),
        }
    }
}

fn number_of(object: Option<ObjectId>) -> u64 {
    object.map_or(0, |object| u64::from(object.0) + 1)
}

fn state_tag(state: State) -> u8 {
    match state {
        State::Absent => 0,
        State::Running => 1,
        State::Spinning => 2,
        State::Overhead => 3,
        State::Ready => 4,
        State::Blocked(cause) => BLOCKED + cause.index() as u8,
    }
}

fn observation_tag(kind: ObservationKind, more: &mut Vec<u64>) -> u8 {
    match kind {
        ObservationKind::Sample { gap: 0 } => OBSERVE,
        ObservationKind::Sample { gap } => {
            more.push(gap.into());
            SAMPLE
        }
        ObservationKind::Site => OBSERVE + 1,
        ObservationKind::Preemption => OBSERVE + 2,
        ObservationKind::Boundary => OBSERVE + 3,
        ObservationKind::Estimate => OBSERVE + 4,
    }
}

/// The item's tag and value; what else it has goes to `more`.
pub(super) fn encode(time: Time, what: &ItemKind, more: &mut Vec<u64>) -> (u8, u64) {
    match *what {
        ItemKind::State(state) => (state_tag(state), 0),
        ItemKind::Observe { path, kind } => (observation_tag(kind, more), path.0.into()),
        ItemKind::Await(object) => (AWAIT, object.0.into()),
        ItemKind::Held(LockHold { object, path, outer, acquisitions, contended, nanoseconds, longest }) => {
            more.extend([path.0.into(), number_of(outer), acquisitions, contended, nanoseconds, longest]);
            (HELD, object.0.into())
        }
        ItemKind::Depend { source, source_time, kind } if source_time == time => {
            (DEPEND + kind as u8, source.0.into())
        }
        ItemKind::Depend { source, source_time, kind } => {
            more.push(source_time.nanoseconds());
            (DEPEND_LATER + kind as u8, source.0.into())
        }
        ItemKind::Written { writer, path } => {
            more.push(path.0.into());
            (WRITTEN, writer.0.into())
        }
        ItemKind::Release(token) => (RELEASE, token.0.into()),
        ItemKind::Acquire(Acquisition { token, kind, object, queue, last }) => {
            more.push(number_of(object) << 2 | u64::from(queue.is_some()) << 1 | u64::from(last));
            more.extend(queue.map(|queue| u64::from(queue.0)));
            (ACQUIRE + kind as u8, token.0.into())
        }
    }
}

/// The item of a tag and a value; `None` where it is no item of such a recording.
#[inline]
pub(super) fn decode(
    (tag, value): (u8, u64),
    time: Time,
    more: &mut impl Iterator<Item = u64>,
    ids: &IdCounts,
) -> Option<ItemKind> {
    let dependence = |first: u8| DEPENDENCES.get(usize::from(tag - first)).copied();
    Some(match tag {
        0 => ItemKind::State(State::Absent),
        1 => ItemKind::State(State::Running),
        2 => ItemKind::State(State::Spinning),
        3 => ItemKind::State(State::Overhead),
        4 => ItemKind::State(State::Ready),
        BLOCKED..OBSERVE => ItemKind::State(State::Blocked(*Cause::ALL.get(usize::from(tag - BLOCKED))?)),
        OBSERVE..AWAIT => {
            let kind = match tag - OBSERVE {
                0 => ObservationKind::Sample { gap: 0 },
                1 => ObservationKind::Site,
                2 => ObservationKind::Preemption,
                3 => ObservationKind::Boundary,
                4 => ObservationKind::Estimate,
                _ if tag == SAMPLE => ObservationKind::Sample { gap: u32::try_from(more.next()?).ok()? },
                _ => return None,
            };
            ItemKind::Observe { path: ids.path(value)?, kind }
        }
        AWAIT => ItemKind::Await(ids.object(value)?),
        HELD => ItemKind::Held(LockHold {
            object: ids.object(value)?,
            path: ids.path(more.next()?)?,
            outer: ids.object_if_any(more.next()?)?,
            acquisitions: more.next()?,
            contended: more.next()?,
            nanoseconds: more.next()?,
            longest: more.next()?,
        }),
        RELEASE => ItemKind::Release(TokenId(u32::try_from(value).ok()?)),
        WRITTEN => ItemKind::Written { writer: ids.thread(value)?, path: ids.path(more.next()?)? },
        DEPEND..DEPEND_LATER => {
            let kind = dependence(DEPEND)?;
            ItemKind::Depend { source: ids.thread(value)?, source_time: time, kind }
        }
        DEPEND_LATER..ACQUIRE => {
            let (kind, source) = (dependence(DEPEND_LATER)?, ids.thread(value)?);
            ItemKind::Depend { source, source_time: Time::from_nanoseconds(more.next()?), kind }
        }
        ACQUIRE..=u8::MAX => {
            let (kind, token) = (dependence(ACQUIRE)?, TokenId(u32::try_from(value).ok()?));
            let rest = more.next()?;
            let object = ids.object_if_any(rest >> 2)?;
            let queue = if rest & 2 == 0 { None } else { Some(QueueId(u32::try_from(more.next()?).ok()?)) };
            ItemKind::Acquire(Acquisition { token, kind, object, queue, last: rest & 1 == 1 })
        }
        _ => return None,
    })
}
