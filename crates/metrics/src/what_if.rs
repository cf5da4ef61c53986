//! What if (metrics.md §5; I §2.1): the critical path with some work made shorter or longer.
//!
//! Each change has a factor for the work of one thing: 0 leaves it out, 0.5 halves it, 1 changes nothing, 2 doubles
//! it. Work that several changes meet is multiplied by all their factors.
//!
//! ```text
//!   T1  AAAABBBB      A at 0.5:  T1 2 + 4, T2 1 + 6: from 8 to 7
//!   T2  AACCCCCC      A at 0.5 and C at 0.5: T1 6, T2 4: from 8 to 6; alone they gain 1 and 0
//! ```
//! Two lengths: of the critical path by CPU time, which is what the run needs if there are enough processors and nothing
//! else waits; and the elapsed time, in which ready time, devices and unexplained waits last as long as they did.
//!
//! Time and memory: as [`Lanes`], which has two lanes more than there are changes.

use longpole_event::{ProcessId, ThreadId};
use longpole_graph::sweep;
use longpole_trace::{ObjectId, PathId, Paths, ProcedureId, Program, Timelines};

use crate::analysis::{Charge, Measures, Options, PathSegment, Weight};
use crate::foresight::Foresight;
use crate::lanes::{Lanes, Lengths};
use crate::marks::{Mark, ObjectMark, Rules};
use crate::path_charges::PathCharges;

/// Whose work changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A procedure's own work.
    Procedure(ProcedureId),
    /// All work on behalf of a procedure.
    Inclusive(ProcedureId),
    /// Lines of procedures, their own work.
    Lines(Vec<(ProcedureId, u32)>),
    /// What threads wait for these objects, as far as other threads explain it.
    Objects(Vec<ObjectId>),
    /// Threads.
    Threads(Vec<ThreadId>),
    /// Processes.
    Processes(Vec<ProcessId>),
}

impl Subject {
    fn has(&self, program: &Program, paths: &Paths, thread: ThreadId, path: PathId) -> bool {
        let innermost = || paths.innermost(path);
        match self {
            Subject::Procedure(procedure) => innermost().is_some_and(|place| place.procedure == *procedure),
            Subject::Inclusive(procedure) => paths.places_of(path).any(|place| place.procedure == *procedure),
            Subject::Lines(lines) => {
                innermost().is_some_and(|place| lines.contains(&(place.procedure, place.line)))
            }
            Subject::Objects(_) => false,
            Subject::Threads(threads) => threads.contains(&thread),
            Subject::Processes(processes) => processes.contains(&program.threads[thread.index()].process),
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Whose work.
    pub subject: Subject,
    /// What it is multiplied by; not negative.
    pub factor: f64,
}

/// What becomes of the run; nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// As recorded.
    pub before: Before,
    /// Gain of each change alone.
    pub alone: Vec<Saved>,
    /// Gain of all of them.
    pub together: Saved,
    /// What is on the critical path by CPU time after all changes: each charge's `critical_cpu`, by thread and path.
    pub path: Vec<Charge>,
}

/// Lengths as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Of the critical path by CPU time.
    pub path: u64,
    /// Of the run.
    pub elapsed: u64,
}

/// What a change gains; less than 0 where the run becomes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Saved {
    /// Of the critical path by CPU time.
    pub path: f64,
    /// Of the elapsed time.
    pub elapsed: f64,
}

/// Lane i is change i alone; the last one is all of them.
#[derive(Clone, Debug)]
struct ChangeRules<'a> {
    program: &'a Program,
    paths: &'a Paths,
    changes: &'a [Change],
    of_object: Vec<Vec<ObjectMark>>,
}

impl<'a> ChangeRules<'a> {
    fn new<T: Timelines>(timelines: &'a T, changes: &'a [Change]) -> Self {
        let mut of_object: Vec<Vec<ObjectMark>> = vec![Vec::new(); timelines.objects().all().len()];
        let mut all = vec![1.0; of_object.len()];
        for (lane, change) in changes.iter().enumerate() {
            let Subject::Objects(objects) = &change.subject else { continue };
            for object in objects {
                of_object[object.index()].push(ObjectMark { lane: lane as u32, factor: change.factor });
                all[object.index()] *= change.factor;
            }
        }
        for (marks, factor) in of_object.iter_mut().zip(all) {
            if !marks.is_empty() {
                marks.push(ObjectMark { lane: changes.len() as u32, factor });
            }
        }
        ChangeRules { program: timelines.program(), paths: timelines.paths(), changes, of_object }
    }

    /// What work of this thread at this path is multiplied by.
    fn factor(&self, thread: ThreadId, path: PathId) -> f64 {
        let is_met = |change: &&Change| change.subject.has(self.program, self.paths, thread, path);
        self.changes.iter().filter(is_met).map(|change| change.factor).product()
    }
}

impl Rules for ChangeRules<'_> {
    fn lanes(&self) -> usize {
        self.changes.len() + 1
    }

    fn key(&self, thread: ThreadId, path: PathId) -> (ThreadId, PathId) {
        (thread, path)
    }

    fn marks(&self, thread: ThreadId, path: PathId, marks: &mut Vec<Mark>) {
        let before = marks.len();
        for (lane, change) in self.changes.iter().enumerate() {
            if change.subject.has(self.program, self.paths, thread, path) {
                marks.push(Mark { lane: lane as u32, left_out: 1.0 - change.factor, on_path: false });
            }
        }
        if marks.len() > before {
            let left_out = 1.0 - self.factor(thread, path);
            marks.push(Mark { lane: self.changes.len() as u32, left_out, on_path: false });
        }
    }

    fn object_marks(&self, object: ObjectId) -> &[ObjectMark] {
        self.of_object.get(object.index()).map_or(&[], Vec::as_slice)
    }
}

/// The run with these changes.
///
/// # Errors
/// What the timelines say when they cannot be read.
pub fn what_if<T: Timelines>(
    timelines: &T,
    options: &Options,
    changes: &[Change],
) -> Result<WhatIf, T::Error> {
    let program = timelines.program();
    let foresight = Foresight::of(timelines)?;
    let rules = ChangeRules::new(timelines, changes);
    let lanes = |weight| Lanes::new(program, weight, &foresight, rules.clone(), &[]);
    let mut both = (lanes(Weight::Cpu).following(changes.len()), lanes(Weight::Elapsed));
    sweep(timelines, options.io_idle, &mut both)?;
    let (cpu, elapsed) = (both.0.into_lengths(), both.1.into_lengths());
    let saved = |lane: usize| Saved { path: cpu.gains[lane], elapsed: elapsed.gains[lane] };
    let path = new_path(timelines, options, &cpu.segments, &rules)?;
    let Lengths { base, .. } = cpu;
    Ok(WhatIf {
        before: Before { path: base, elapsed: program.elapsed_nanoseconds },
        alone: (0..changes.len()).map(saved).collect(),
        together: saved(changes.len()),
        path,
    })
}

/// What the path after all changes consists of.
fn new_path<T: Timelines>(
    timelines: &T,
    options: &Options,
    segments: &[PathSegment],
    rules: &ChangeRules<'_>,
) -> Result<Vec<Charge>, T::Error> {
    let mut charges = PathCharges::new(timelines.program(), Weight::Cpu, segments);
    sweep(timelines, options.io_idle, &mut charges)?;
    let mut path: Vec<Charge> = charges
        .ledger
        .into_entries()
        .into_iter()
        .map(|entry| {
            let time = entry.value as f64 * rules.factor(entry.thread, entry.path);
            let measures = Measures { critical_cpu: time.round() as u64, ..Measures::default() };
            Charge { thread: entry.thread, path: entry.path, measures }
        })
        .collect();
    path.sort_by_key(|charge| (charge.thread, charge.path));
    Ok(path)
}

#[cfg(test)]
mod tests;
