//! What a drawing means: who is where and in what state in each column, and the timelines of that.

use longpole_event::{MachineId, ProcessId, ThreadId, Time};
use longpole_trace::{
    DependenceKind, Item, ItemKind, LockHold, ObjectKind, ObservationKind, PathId, Paths, State, Thread,
};

use crate::drawing::{Drawing, DrawnDependence};
use crate::memory::MemoryTimelines;

impl Drawing {
    /// Length of the longest row, in characters.
    pub(crate) fn length(&self) -> usize {
        self.threads.iter().map(|thread| thread.row.len()).max().unwrap_or(0)
    }

    pub(crate) fn time(&self, column: usize) -> Time {
        Time::from_nanoseconds(column as u64 * self.unit)
    }

    /// The letter whose procedure a thread is in just before `column`.
    pub(crate) fn letter_before(&self, thread: usize, column: usize) -> Option<char> {
        let row = &self.threads[thread].row;
        row[..column.min(row.len())].iter().rev().copied().find(char::is_ascii_uppercase)
    }

    /// The thread that created this one, and when.
    pub(crate) fn creation(&self, thread: usize) -> Option<(usize, usize)> {
        let create = |dependence: &&DrawnDependence| {
            dependence.thread == thread && dependence.kind == DependenceKind::Create
        };
        let dependence = self.dependences.iter().find(create)?;
        Some((dependence.source, dependence.source_time))
    }

    /// The places of a path, outermost first, from those of the threads that led to its thread's creation on.
    pub(crate) fn places_before(&self, thread: usize, column: usize) -> Vec<(String, u32)> {
        // A thread that was (wrongly) created after its creator's column 0 by one of its own children would
        // never end: each step has to go back in time.
        let mut places = match self.creation(thread) {
            Some((creator, created)) if created < column || self.begin(thread) == Some(created) => {
                if self.begin(creator).is_some_and(|begin| begin < created) {
                    self.places_before(creator, created)
                } else {
                    Vec::new()
                }
            }
            _ => Vec::new(),
        };
        if let Some(letter) = self.letter_before(thread, column) {
            match self.letters.get(&letter) {
                Some(path) => places.extend(path.iter().cloned()),
                None => places.push((letter.to_string(), 0)),
            }
        }
        places
    }

    /// The first column in which the thread is there.
    pub(crate) fn begin(&self, thread: usize) -> Option<usize> {
        self.threads[thread].row.iter().position(|&character| character != '_')
    }

    /// The column after the last one in which the thread is there; `None` if it lives on.
    pub(crate) fn end(&self, thread: usize) -> Option<usize> {
        let row = &self.threads[thread].row;
        let last = row.iter().rposition(|&character| character != '_')?;
        let is_on_cpu = self.state_of(row[last]).is_some_and(State::is_on_cpu);
        (last + 1 < self.length() || is_on_cpu).then_some(last + 1)
    }

    /// The run as timelines.
    #[must_use]
    pub fn timelines(&self) -> MemoryTimelines {
        let mut made = MemoryTimelines::default();
        self.add_program(&mut made);
        for column in 0..=self.length() {
            self.add_column(&mut made, column);
        }
        made.settle_exclusions();
        made
    }

    fn path(&self, made: &mut MemoryTimelines, thread: usize, column: usize) -> PathId {
        let places = self.places_before(thread, column);
        places.iter().fold(Paths::ROOT, |path, (name, line)| made.call(path, name, *line))
    }

    fn add_program(&self, made: &mut MemoryTimelines) {
        made.program.command = vec!["drawn".to_owned()];
        made.program.elapsed_nanoseconds = self.time(self.length()).nanoseconds();
        let cpus = self.cpus.unwrap_or(self.threads.len() as u32);
        for (index, drawn) in self.threads.iter().enumerate() {
            let machine = made.program.machines.iter().position(|machine| machine.name == drawn.machine);
            let machine = machine.map_or_else(|| made.machine(&drawn.machine, cpus), MachineId::from_index);
            let process = made
                .program
                .processes
                .iter()
                .position(|process| process.machine == machine && process.name == drawn.process);
            let process =
                process.map_or_else(|| made.process(machine, &drawn.process), ProcessId::from_index);
            let creation = self.creation(index);
            let prefix = match creation {
                Some((creator, created)) => self.path(made, creator, created),
                None => Paths::ROOT,
            };
            let in_process =
                made.program.threads.iter().filter(|thread| thread.process == process).count() as u32;
            made.program.threads.push(Thread {
                process,
                tid: made.program.processes[process.index()].pid + in_process,
                name: drawn.name.clone(),
                start: self.time(self.begin(index).unwrap_or(0)),
                end: self.end(index).map(|end| self.time(end)),
                creator: creation.map(|(creator, _)| ThreadId::from_index(creator)),
                prefix,
            });
        }
        for (index, _) in self.threads.iter().enumerate() {
            let Some((creator, _)) = self.creation(index) else { continue };
            let (child, parent) =
                (made.program.threads[index].process, made.program.threads[creator].process);
            if child != parent {
                made.program.processes[child.index()].parent.get_or_insert(parent);
            }
        }
    }

    fn add_column(&self, made: &mut MemoryTimelines, column: usize) {
        let time = self.time(column);
        for thread in 0..self.threads.len() {
            if self.is_observed(thread, column) {
                let path = self.path(made, thread, column);
                let what = ItemKind::Observe { path, kind: ObservationKind::Boundary };
                made.items.push(Item { time, thread: ThreadId::from_index(thread), what });
            }
        }
        for dependence in self.dependences.iter().filter(|dependence| dependence.time == column) {
            let what = ItemKind::Depend {
                source: ThreadId::from_index(dependence.source),
                source_time: self.time(dependence.source_time),
                kind: dependence.kind,
            };
            made.items.push(Item { time, thread: ThreadId::from_index(dependence.thread), what });
        }
        self.add_holds(made, column);
        for thread in 0..self.threads.len() {
            let before = column.checked_sub(1).map_or(State::Absent, |column| self.state(thread, column));
            let lives_on = column == self.length() && self.end(thread).is_none();
            let state = if lives_on { before } else { self.state(thread, column) };
            if before != state {
                if let Some((kind, name)) = self.awaited(thread, column) {
                    let what = ItemKind::Await(made.known_object(*kind, name));
                    made.items.push(Item { time, thread: ThreadId::from_index(thread), what });
                }
                let what = ItemKind::State(state);
                made.items.push(Item { time, thread: ThreadId::from_index(thread), what });
            }
        }
    }

    fn add_holds(&self, made: &mut MemoryTimelines, column: usize) {
        for drawn in self.holds.iter().filter(|hold| hold.time == column) {
            let Some((kind, name)) = self.object_of(drawn.object) else { continue };
            let hold = LockHold {
                outer: None,
                object: made.known_object(*kind, name),
                path: self.path(made, drawn.thread, column),
                acquisitions: drawn.acquisitions,
                contended: drawn.contended,
                nanoseconds: drawn.held * self.unit,
                longest: drawn.longest * self.unit,
            };
            let thread = ThreadId::from_index(drawn.thread);
            made.items.push(Item { time: self.time(column), thread, what: ItemKind::Held(hold) });
        }
    }

    /// What the thread begins to wait for in the column; not again where it has spun for it before.
    pub(crate) fn awaited(&self, thread: usize, column: usize) -> Option<&(ObjectKind, String)> {
        let row = &self.threads[thread].row;
        let object = self.object_of(*row.get(column)?)?;
        let before = row[..column].iter().rev().copied().find(|&character| character != '-');
        let is_same = before.filter(|_| column > 0).and_then(|before| self.object_of(before)) == Some(object);
        let spun = before.and_then(|before| self.state_of(before)) == Some(State::Spinning);
        (!(is_same && spun)).then_some(object)
    }

    /// Where in its process the futex lies that the thread waits for in the column: of an object, its own place.
    pub(crate) fn address(&self, thread: usize, column: usize) -> u64 {
        const ELSEWHERE: u64 = 16;
        let drawn = self.threads[thread].row.get(column).and_then(|&character| self.object_of(character));
        drawn.map_or(ELSEWHERE, |object| self.address_of(object))
    }

    /// Where the object's futex lies in each process.
    pub(crate) fn address_of(&self, object: &(ObjectKind, String)) -> u64 {
        let at = self.objects.values().position(|other| other == object);
        0x1000 + 64 * at.unwrap_or(0) as u64
    }

    /// The thread's state in the column; absent after its row.
    pub(crate) fn state(&self, thread: usize, column: usize) -> State {
        self.threads[thread]
            .row
            .get(column)
            .and_then(|&character| self.state_of(character))
            .unwrap_or(State::Absent)
    }

    /// Whether something looks at the thread at the begin of the column.
    pub(crate) fn is_observed(&self, thread: usize, column: usize) -> bool {
        let row = &self.threads[thread].row;
        let Some(&before) = column.checked_sub(1).and_then(|before| row.get(before)) else { return false };
        let is_on_cpu = self.state_of(before).is_some_and(State::is_on_cpu);
        let changes = row.get(column) != Some(&before);
        let enables = self
            .dependences
            .iter()
            .any(|dependence| (dependence.source, dependence.source_time) == (thread, column));
        is_on_cpu && (changes || enables || self.looks.contains(&(thread, column)))
    }
}
