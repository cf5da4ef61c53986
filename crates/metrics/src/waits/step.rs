//! The steps that explanations are made of: what a group of threads did, and in which scope.

use longpole_event::ThreadId;
use longpole_trace::{Cause, PathId, Paths, Place, ProcedureId, Program};
use rustc_hash::FxHashMap;

/// What a thread did in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Useful work on a processor.
    Running,
    /// Busy-waiting.
    Spinning,
    /// Could run, had no processor.
    Ready,
    /// Was blocked for this cause.
    Blocked(Cause),
    /// The message, or the operation that hands over, was under way.
    UnderWay,
    /// Was released later, or created later, than the other.
    Released,
    /// Had not begun, or had ended.
    Absent,
    /// Not told apart: older than what is kept, or too small.
    Rest,
}

/// A group of threads: those that were created at the same call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// A step of [`StepTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

/// What is done in a step, by whomever: steps of two threads with the same deed cancel out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deed {
    /// What.
    pub category: Category,
    /// In which procedure; with line 0 where procedures are compared, and not lines.
    pub scope: Option<Place>,
}

/// A step: who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whose; `None` where it is nobody's.
    pub group: Option<GroupId>,
    /// What.
    pub deed: Deed,
}

/// A group of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadGroup {
    /// Its threads.
    pub threads: Vec<ThreadId>,
    /// The procedure that the first of them to be looked at ran first.
    pub start: Option<ProcedureId>,
}

/// All steps and groups that were met.
#[derive(Clone, Debug, Default)]
pub struct StepTable {
    steps: Vec<Step>,
    groups: Vec<ThreadGroup>,
    deed_numbers: Vec<u32>,
    deeds: Vec<Deed>,
    step_ids: FxHashMap<(Option<GroupId>, Deed), StepId>,
    deed_ids: FxHashMap<Deed, u32>,
    group_of: Vec<GroupId>,
}

impl StepTable {
    /// No steps yet; the groups of the program.
    pub(super) fn new(program: &Program) -> Self {
        let mut table = StepTable::default();
        let mut by_prefix: FxHashMap<(PathId, bool), GroupId> = FxHashMap::default();
        for (index, thread) in program.threads.iter().enumerate() {
            let next = GroupId(table.groups.len() as u32);
            // Threads that nobody was seen to create have nothing in common but that.
            let group = match thread.creator {
                Some(_) => *by_prefix.entry((thread.prefix, true)).or_insert(next),
                None => next,
            };
            if group == next {
                table.groups.push(ThreadGroup::default());
            }
            table.groups[group.0 as usize].threads.push(ThreadId::from_index(index));
            table.group_of.push(group);
        }
        table
    }

    pub(super) fn group_of(&self, thread: ThreadId) -> Option<GroupId> {
        self.group_of.get(thread.index()).copied()
    }

    /// The thread was found at this path: its group's first procedure is the outermost one after the path at which
    /// its threads were created.
    pub(super) fn see_start(&mut self, group: GroupId, prefix: PathId, path: PathId, paths: &Paths) {
        let group = &mut self.groups[group.0 as usize];
        if group.start.is_some() || path == prefix {
            return;
        }
        let mut own = path;
        let mut start = None;
        while own != prefix && own != Paths::ROOT {
            if let Some(place) = paths.innermost(own) {
                let name = paths.procedure_named_by(place.procedure).name.as_str();
                if !is_starter(name) {
                    start = Some(place.procedure);
                }
            }
            own = paths.caller(own).unwrap_or(Paths::ROOT);
        }
        group.start = start;
    }

    pub(super) fn intern(
        &mut self,
        group: Option<GroupId>,
        category: Category,
        scope: Option<Place>,
    ) -> StepId {
        let deed = Deed { category, scope };
        let next = StepId(self.steps.len() as u32);
        let id = *self.step_ids.entry((group, deed)).or_insert(next);
        if id == next {
            let next_deed = self.deeds.len() as u32;
            let number = *self.deed_ids.entry(deed).or_insert(next_deed);
            if number == next_deed {
                self.deeds.push(deed);
            }
            self.deed_numbers.push(number);
            self.steps.push(Step { group, deed });
        }
        id
    }

    /// The number of the step's deed.
    pub(super) fn deed_of(&self, step: StepId) -> u32 {
        self.deed_numbers[step.0 as usize]
    }

    /// The deed of a number.
    pub(super) fn deed(&self, number: u32) -> Deed {
        self.deeds[number as usize]
    }

    /// The step.
    #[must_use]
    pub fn step(&self, id: StepId) -> Step {
        self.steps[id.0 as usize]
    }

    /// The group.
    #[must_use]
    pub fn group(&self, id: GroupId) -> &ThreadGroup {
        &self.groups[id.0 as usize]
    }
}

/// Whether a procedure is one of the C library's that stand at the begin of every thread.
fn is_starter(name: &str) -> bool {
    matches!(name, "_start" | "clone" | "clone3" | "start_thread" | "thread_start")
        || name.starts_with("__libc_start")
        || name.starts_with('[')
}

/// Two sums per number, emptied in constant time.
#[derive(Debug, Default)]
pub(super) struct Sides {
    slots: Vec<Slot>,
    touched: Vec<u32>,
    epoch: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    epoch: u32,
    positive: f64,
    negative: f64,
}

impl Sides {
    pub(super) fn clear(&mut self) {
        self.touched.clear();
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.clear();
            self.epoch = 1;
        }
    }

    fn slot(&mut self, index: u32) -> &mut Slot {
        let at = index as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
        }
        let epoch = self.epoch;
        let slot = &mut self.slots[at];
        if slot.epoch != epoch {
            *slot = Slot { epoch, ..Slot::default() };
            self.touched.push(index);
        }
        slot
    }

    /// Adds to the positive side.
    pub(super) fn gain(&mut self, index: u32, amount: f64) {
        self.slot(index).positive += amount;
    }

    /// Adds to the negative side.
    pub(super) fn lose(&mut self, index: u32, amount: f64) {
        self.slot(index).negative += amount;
    }

    /// Both sums.
    pub(super) fn get(&self, index: u32) -> (f64, f64) {
        match self.slots.get(index as usize) {
            Some(slot) if slot.epoch == self.epoch => (slot.positive, slot.negative),
            _ => (0.0, 0.0),
        }
    }

    /// The numbers with sums, in the order in which they came.
    pub(super) fn touched(&self) -> &[u32] {
        &self.touched
    }
}
