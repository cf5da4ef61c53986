//! What a question about curves is of, by its name, and whose time then counts: threads, call paths or objects.

use longpole_event::{MachineId, ThreadId};
use longpole_report::{FoundNodes, NameKind, RecordingNames};
use longpole_trace::{CodePlace, PathId, Paths, Program};

use crate::error::{Error, Result};

/// What a name means to whoever asks for a node of the program's tree, or for anything else that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectedNodes {
    /// Everything.
    Program,
    /// The machines of one name.
    Machines(Vec<MachineId>),
    /// What [`RecordingNames::find`] found.
    Found(FoundNodes),
}

impl SelectedNodes {
    /// What the user means: `program`, `machine:NAME`, or what [`RecordingNames::find`] understands.
    ///
    /// # Errors
    /// [`Error::NoSuchMachine`], [`Error::Name`].
    pub fn named(names: &RecordingNames<'_>, wanted: &str) -> Result<SelectedNodes> {
        if wanted == "program" {
            return Ok(SelectedNodes::Program);
        }
        match wanted.strip_prefix("machine:") {
            Some(name) => machines(names.program, name).map(SelectedNodes::Machines),
            None => Ok(SelectedNodes::Found(names.find(wanted, NameKind::ALL)?)),
        }
    }
}

/// All machines of this name.
fn machines(program: &Program, name: &str) -> Result<Vec<MachineId>> {
    let all = || (0..program.machines.len()).map(MachineId::from_index);
    let name_of = |id: MachineId| program.machines[id.index()].name.as_str();
    let found: Vec<MachineId> = all().filter(|&id| name_of(id) == name.trim()).collect();
    if found.is_empty() {
        let known: Vec<&str> = all().map(name_of).collect();
        return Err(Error::NoSuchMachine { name: name.trim().to_owned(), known: known.join(", ") });
    }
    Ok(found)
}

/// Whose time counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurveNode {
    /// Everything.
    Program,
    /// All time of these threads.
    Threads(Vec<ThreadId>),
    /// Time charged to the paths that are marked, by path id.
    Paths(Vec<bool>),
    /// Waits for the objects that are marked, by object id.
    Objects(Vec<bool>),
}

impl CurveNode {
    /// What the user means, as [`SelectedNodes::named`] understands it.
    ///
    /// # Errors
    /// Those of [`SelectedNodes::named`].
    pub fn named(names: &RecordingNames<'_>, wanted: &str) -> Result<CurveNode> {
        Ok(CurveNode::of(names, &SelectedNodes::named(names, wanted)?))
    }

    /// Whose time counts where these are asked for.
    #[must_use]
    pub fn of(names: &RecordingNames<'_>, selected: &SelectedNodes) -> CurveNode {
        let program = names.program;
        match selected {
            SelectedNodes::Program => CurveNode::Program,
            SelectedNodes::Machines(machines) => {
                CurveNode::Threads(threads(program, |id| machines.contains(&program.machine_of(id))))
            }
            SelectedNodes::Found(found) => CurveNode::of_found(names, found),
        }
    }

    fn of_found(names: &RecordingNames<'_>, found: &FoundNodes) -> CurveNode {
        let program = names.program;
        match found {
            FoundNodes::Procedure(procedure) => {
                CurveNode::Paths(passing(names.paths, |place| place.procedure == *procedure))
            }
            FoundNodes::Lines(lines) => {
                let is_there = |place: CodePlace| lines.contains(&(place.procedure, place.line));
                CurveNode::Paths(passing(names.paths, is_there))
            }
            FoundNodes::File(file) => {
                let is_there =
                    |place: CodePlace| names.paths.procedure_named_by(place.procedure).file == *file;
                CurveNode::Paths(passing(names.paths, is_there))
            }
            FoundNodes::Threads(threads) => CurveNode::Threads(threads.clone()),
            FoundNodes::Processes(processes) => CurveNode::Threads(threads(program, |id| {
                processes.contains(&program.threads[id.index()].process)
            })),
            FoundNodes::Objects(objects) => {
                let mut marked = vec![false; names.objects.all().len()];
                objects.iter().for_each(|object| marked[object.index()] = true);
                CurveNode::Objects(marked)
            }
        }
    }

    /// What kind of thing it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            CurveNode::Program => "the program",
            CurveNode::Threads(_) => "threads",
            CurveNode::Paths(_) => "a procedure or line",
            CurveNode::Objects(_) => "an object",
        }
    }
}

fn threads(program: &Program, is: impl Fn(ThreadId) -> bool) -> Vec<ThreadId> {
    (0..program.threads.len()).map(ThreadId::from_index).filter(|&id| is(id)).collect()
}

/// The paths that pass through a place.
fn passing(paths: &Paths, is: impl Fn(CodePlace) -> bool) -> Vec<bool> {
    let mut passes = vec![false; paths.len()];
    // A path leads on from its caller, which has the smaller id.
    for index in 1..passes.len() {
        let path = PathId(u32::try_from(index).expect("fewer than 2^32 paths"));
        let is_at = paths.innermost(path).is_some_and(&is);
        passes[index] = is_at || paths.caller(path).is_some_and(|caller| passes[caller.0 as usize]);
    }
    passes
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, draw};

    use super::*;

    fn named(made: &MemoryTimelines, wanted: &str) -> Result<CurveNode> {
        CurveNode::named(
            &RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects },
            wanted,
        )
    }

    #[test]
    fn threads_are_meant_by_their_own_names_and_by_those_of_what_they_are_in() {
        let made = draw("one:a/T1 AA\none:b/T2 AA\ntwo:b/T3 BB");
        let ids = |indices: &[usize]| {
            CurveNode::Threads(indices.iter().map(|&at| ThreadId::from_index(at)).collect())
        };
        assert_eq!(named(&made, "machine:one").unwrap(), ids(&[0, 1]));
        assert_eq!(named(&made, "process:b").unwrap(), ids(&[1, 2]));
        assert_eq!(named(&made, "process:200").unwrap(), ids(&[1]));
        assert_eq!(named(&made, "thread:T3").unwrap(), ids(&[2]));
        assert_eq!(named(&made, "program").unwrap(), CurveNode::Program);
        let error = named(&made, "machine:six").unwrap_err().to_string();
        assert_eq!(error, "find a machine named `six`: there are one, two");
        assert!(matches!(named(&made, "thread:T9"), Err(Error::Name(_))));
    }

    #[test]
    fn a_procedure_has_the_paths_that_lead_through_it() {
        let made = draw("A = main > work\nB = main > work > leaf\nC = main\nT1 ABC");
        let CurveNode::Paths(passes) = named(&made, "procedure:work").unwrap() else { panic!() };
        assert_eq!(passes.iter().filter(|&&passes| passes).count(), 2);
        let CurveNode::Paths(passes) = named(&made, "procedure:main").unwrap() else { panic!() };
        assert_eq!(passes.iter().filter(|&&passes| passes).count(), 3);
    }
}
