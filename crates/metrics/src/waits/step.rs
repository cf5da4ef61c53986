//! The steps that explanations are made of: what a group of threads did, and in which scope.

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{
    Cause, CodePlace, PathId, Paths, Procedure, ProcedureId, Program, Stored, StoredBytes, stored,
};
use rustc_hash::FxHashMap;

/// What a thread did in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Useful work on a processor.
    Running,
    /// Busy-waiting.
    Spinning,
    /// Was in the collector's code.
    Overhead,
    /// Could run, had no processor.
    Ready,
    /// Was blocked for this cause.
    Blocked(Cause),
    /// Wrote what the other had to fetch, at some time before the wait.
    Written,
    /// The message, or the operation that hands over, was under way.
    UnderWay,
    /// Was released later, or created later, than the other.
    Released,
    /// Had not begun, or had ended.
    Absent,
    /// Not told apart: older than what is kept, or too small.
    Rest,
}

/// A group of threads: those that were created at the same call path and start with the same procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// A step of [`StepTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

/// What is done in a step, by whomever: steps of two threads with the same deed cancel out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepAction {
    /// What.
    pub category: Category,
    /// In which procedure; with line 0 where procedures are compared, and not lines. `None` where no procedure is known, and for
    /// being ready, which is the same everywhere.
    pub scope: Option<CodePlace>,
}

impl StepAction {
    /// The same at any line of its procedure.
    pub(super) fn of_procedure(self) -> StepAction {
        let scope = self.scope.map(|place| CodePlace { line: 0, ..place });
        StepAction { scope, ..self }
    }
}

/// A step: who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitStep {
    /// Whose; `None` where it is nobody's, or of threads of which it is not yet known how they start.
    pub group: Option<GroupId>,
    /// What.
    pub deed: StepAction,
}

/// A group of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadGroup {
    /// Its threads.
    pub threads: Vec<ThreadId>,
    /// The procedure that they start with.
    pub start: ProcedureId,
}

/// All steps and groups that were met.
#[derive(Clone, Debug, Default)]
pub struct StepTable {
    steps: Vec<WaitStep>,
    groups: Vec<ThreadGroup>,
    deed_numbers: Vec<u32>,
    step_ids: FxHashMap<(Option<GroupId>, StepAction), StepId>,
    deed_ids: FxHashMap<StepAction, u32>,
    group_ids: FxHashMap<(PathId, ProcedureId, Option<ProcessId>), GroupId>,
}

stored!(ids: GroupId, StepId);

/// What interns more steps is not kept: what is read is asked for its steps only.
impl Stored for StepTable {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.steps.store(bytes);
        self.groups.store(bytes);
    }

    fn restore(bytes: &mut StoredBytes<'_>) -> Option<Self> {
        let (steps, groups) = Stored::restore(bytes)?;
        Some(StepTable { steps, groups, ..StepTable::default() })
    }
}

impl StepTable {
    /// Whether it has the step, with its group.
    pub(super) fn has(&self, id: StepId) -> bool {
        let has_group = |group: GroupId| (group.0 as usize) < self.groups.len();
        self.steps.get(id.0 as usize).is_some_and(|step| step.group.is_none_or(has_group))
    }

    /// The group of a thread that was found at this path, unless that does not tell with which procedure it starts: the
    /// outermost one after the path at which it was created.
    pub(super) fn group_at(
        &mut self,
        thread: ThreadId,
        path: PathId,
        (program, paths): (&Program, &Paths),
    ) -> Option<GroupId> {
        let known = program.threads.get(thread.index())?;
        let own = std::iter::successors(Some(path), |&path| paths.caller(path))
            .take_while(|&path| path != known.prefix);
        let procedures = own.filter_map(|path| paths.innermost(path)).map(|place| place.procedure);
        let start = procedures.filter(|&procedure| is_own(paths.procedure_named_by(procedure))).last()?;
        // Threads that nobody was seen to create are alike only within their process, and ranks are told apart.
        let is_rank = program.process_of(thread).rank.is_some();
        let process = (is_rank || known.creator.is_none()).then_some(known.process);
        let next = GroupId(self.groups.len() as u32);
        let group = *self.group_ids.entry((known.prefix, start, process)).or_insert(next);
        if group == next {
            self.groups.push(ThreadGroup { threads: Vec::new(), start });
        }
        self.groups[group.0 as usize].threads.push(thread);
        Some(group)
    }

    pub(super) fn intern(
        &mut self,
        group: Option<GroupId>,
        category: Category,
        scope: Option<CodePlace>,
    ) -> StepId {
        let scope = scope.filter(|_| !matches!(category, Category::Ready | Category::Overhead));
        let deed = StepAction { category, scope };
        let next = StepId(self.steps.len() as u32);
        let id = *self.step_ids.entry((group, deed)).or_insert(next);
        if id == next {
            let next_deed = self.deed_ids.len() as u32;
            self.deed_numbers.push(*self.deed_ids.entry(deed).or_insert(next_deed));
            self.steps.push(WaitStep { group, deed });
        }
        id
    }

    /// The number of the step's deed.
    pub(super) fn deed_of(&self, step: StepId) -> u32 {
        self.deed_numbers[step.0 as usize]
    }

    /// The step.
    #[must_use]
    pub fn step(&self, id: StepId) -> WaitStep {
        self.steps[id.0 as usize]
    }

    /// The group.
    #[must_use]
    pub fn group(&self, id: GroupId) -> &ThreadGroup {
        &self.groups[id.0 as usize]
    }
}

/// Whether a procedure is the program's: not the kernel's, nor of the C library, in which every thread begins.
fn is_own(procedure: &Procedure) -> bool {
    let name = procedure.name.as_str();
    let is_starter = matches!(name, "_start" | "clone" | "clone3" | "start_thread" | "thread_start")
        || name.starts_with("__libc_start")
        || name.starts_with('[');
    !is_starter && procedure.module != "[kernel]" && !procedure.is_of_c_library()
}

/// Two sums per number, emptied in constant time.
#[derive(Debug, Default)]
pub(super) struct StepSums {
    slots: Vec<StepSlot>,
    touched: Vec<u32>,
    epoch: u32,
}

#[derive(Clone, Copy, Debug)]
struct StepSlot {
    epoch: u32,
    positive: f64,
    negative: f64,
    /// Whose amounts the sides are.
    steps: (StepId, StepId),
}

impl Default for StepSlot {
    fn default() -> Self {
        StepSlot { epoch: 0, positive: 0.0, negative: 0.0, steps: (StepId(0), StepId(0)) }
    }
}

impl StepSums {
    pub(super) fn clear(&mut self) {
        self.touched.clear();
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.slots.clear();
            self.epoch = 1;
        }
    }

    fn slot(&mut self, index: u32) -> &mut StepSlot {
        let at = index as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, StepSlot::default());
        }
        let epoch = self.epoch;
        let slot = &mut self.slots[at];
        if slot.epoch != epoch {
            *slot = StepSlot { epoch, ..StepSlot::default() };
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

    /// Adds a step to the positive side of its deed.
    pub(super) fn gain_step(&mut self, deed: u32, amount: f64, step: StepId) {
        let slot = self.slot(deed);
        slot.positive += amount;
        slot.steps.0 = step;
    }

    /// Adds a step to the negative side of its deed.
    pub(super) fn lose_step(&mut self, deed: u32, amount: f64, step: StepId) {
        let slot = self.slot(deed);
        slot.negative += amount;
        slot.steps.1 = step;
    }

    /// The steps that were added last to each side of a deed.
    pub(super) fn steps(&self, deed: u32) -> (StepId, StepId) {
        self.slots[deed as usize].steps
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
