//! Which lanes a piece of work is left out of, and how much of it.

use longpole_event::ThreadId;
use longpole_trace::{ObjectId, PathId};
use rustc_hash::FxHashMap;

/// What a piece of work means to a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    /// The lane.
    pub lane: u32,
    /// The part of the work that the lane leaves out, 1 for all of it; negative where the lane has more of it.
    pub left_out: f64,
    /// Only of the work on the critical path.
    pub on_path: bool,
}

/// What waiting for an object means to a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ObjectMark {
    /// The lane.
    pub lane: u32,
    /// The part of the wait that stays.
    pub factor: f64,
}

/// Says what each lane is about.
pub(crate) trait Rules {
    /// Number of lanes.
    fn lanes(&self) -> usize;

    /// Threads and paths that have the same marks have the same key.
    fn key(&self, thread: ThreadId, path: PathId) -> (ThreadId, PathId);

    /// Adds the marks of work of this thread at this path; at most one per lane.
    fn marks(&self, thread: ThreadId, path: PathId, marks: &mut Vec<Mark>);

    /// The marks of waits for this object.
    fn object_marks(&self, object: ObjectId) -> &[ObjectMark];
}

/// The marks of all work seen so far.
#[derive(Debug)]
pub(crate) struct Marks<R> {
    pub rules: R,
    ranges: FxHashMap<(ThreadId, PathId), (u32, u32)>,
    marks: Vec<Mark>,
}

impl<R: Rules> Marks<R> {
    pub fn new(rules: R) -> Self {
        Marks { rules, ranges: FxHashMap::default(), marks: Vec::new() }
    }

    /// The marks of work of this thread at this path.
    pub fn of(&mut self, thread: ThreadId, path: PathId) -> &[Mark] {
        let Marks { rules, ranges, marks } = self;
        let (from, to) = *ranges.entry(rules.key(thread, path)).or_insert_with(|| {
            let from = marks.len() as u32;
            rules.marks(thread, path, marks);
            (from, marks.len() as u32)
        });
        &self.marks[from as usize..to as usize]
    }
}
