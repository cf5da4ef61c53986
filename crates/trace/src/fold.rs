//! Folding: work of the kernel and of libraries is charged to the procedure of the program that asked for it
//! (metrics.md §1).
//!
//! ```text
//!   path                main → encode_frame → memset → asm_exc_page_fault → clear_page_erms
//!   --fold none                                                             └ owner
//!   --fold kernel                             └ owner
//!   --fold libraries           └ owner          action: "zeroing pages"
//! ```
//! Folding goes outwards to the first procedure that is the program's own, and never past the begin of the thread's
//! own stack: what a thread's creator did is not what the thread does. A stack without a procedure of the program
//! belongs to the outermost procedure of the runtime that does more than start the thread.
//!
//! A procedure without a name (`cc1+0x81e250`, in a stripped file) belongs to its nearest caller with a name in the same file, where
//! there is one.
//!
//! Procedures of CPython, of modules in C that come with it or as a package, and of the libraries that these call belong to the function of
//! Python that they work for, where that has a name; functions of Python's own library to the function of the program that called them.
//!
//! What modules of Python's library and of packages do when they are imported belongs to the function of the program that imports them.
//!
//! A procedure that a compiler inlined into two or more others is a helper: it is folded too, so that its work is divided
//! among those who use it. So is a closure that was inlined into the procedure that it is written in: it is a part of its text.
//! A closure of which only `{closure#0}` is known belongs to whoever called it.
//!
//! In: the tree of paths. Out: an owner for each path, found once. Time: constant for each path.

mod actions;
mod code_owner;
mod go_library;
mod python_library;

use crate::objects::Objects;
use crate::paths::{PathId, Paths, ProcedureId};
use crate::program::Program;
use crate::timeline::{Item, ItemKind, LockHold, Placement, Timelines};
use actions::action;
use code_owner::{CodeOwner, code_owner, is_unnamed};
pub(crate) use code_owner::{is_code_of_program, is_thread_start};
use python_library::{BelowPython, imports, of_processes};

/// Which procedures are folded into their callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fold {
    /// None: each path belongs to its innermost procedure.
    None,
    /// Those of the kernel.
    Kernel,
    /// Those of the kernel, the C library, allocators, runtimes of languages, and inlined helpers.
    #[default]
    Libraries,
}

/// To whom each call path belongs.
#[derive(Clone, Debug, Default)]
pub struct Folding {
    fold: Fold,
    owners: Vec<PathId>,
    is_folded: Vec<bool>,
    actions: Vec<Option<&'static str>>,
    /// By procedure: what it does where it is of the library that starts processes and hands work to them.
    processes: Vec<Option<&'static str>>,
    /// By path: modules are imported there.
    imports: Vec<bool>,
}

impl Folding {
    /// The action of importing modules of Python.
    pub const IMPORTS: &'static str = "importing modules";
    /// The action of handing work and results to other processes in Python.
    pub const PASSING: &'static str = "passing work to processes";
    /// The action of starting processes in Python.
    pub(crate) const STARTING: &'static str = "starting processes";
    /// The action of collecting garbage.
    pub const GARBAGE: &'static str = "collecting garbage";
    /// The action of letting others go on.
    pub const WAKING: &'static str = "waking threads";
    /// The action of blocking and going on.
    pub const SWITCHING: &'static str = "switching threads";

    /// The owners of all paths.
    #[must_use]
    pub fn new(paths: &Paths, fold: Fold) -> Folding {
        let procedures = paths.procedures();
        let folds = |(index, procedure): (usize, &crate::Procedure)| match fold {
            Fold::None => false,
            Fold::Kernel => code_owner(procedure) == CodeOwner::Kernel,
            Fold::Libraries => {
                let id = ProcedureId(index as u32);
                code_owner(procedure) != CodeOwner::Program
                    || paths.is_inlined_helper(id)
                    || is_inlined_closure(paths, id)
                    || is_nameless_closure(&procedure.name)
            }
        };
        let mut folding = Folding {
            fold,
            owners: Vec::with_capacity(paths.len()),
            is_folded: procedures.iter().enumerate().map(folds).collect(),
            actions: procedures.iter().map(action).collect(),
            processes: procedures.iter().map(of_processes).collect(),
            imports: vec![false],
        };
        folding.find_owners(paths);
        folding
    }

    fn find_owners(&mut self, paths: &Paths) {
        // An address of a runtime says no more than the begin of the thread does.
        let is_start = |procedure| {
            is_thread_start(procedure)
                || (is_unnamed(procedure) && code_owner(procedure) == CodeOwner::Runtime)
        };
        let starts: Vec<bool> = paths.procedures().iter().map(is_start).collect();
        // Whether there is a procedure of the program between the thread's begin and the path's end.
        let mut has_program = vec![false];
        // Whether there is one that is not of Python's interpreter.
        let mut has_own = vec![false];
        let mut below_python = vec![BelowPython::default()];
        self.owners.push(Paths::ROOT);
        for path in (1..paths.len()).map(|index| PathId(index as u32)) {
            let place = paths.innermost(path).expect("only the root has no place");
            let caller = paths.caller(path).expect("only the root has no caller");
            let is_begin = caller == Paths::ROOT || paths.begins_thread(path);
            let owner = self.owners[caller.0 as usize];
            let is_part =
                !is_begin && has_program[caller.0 as usize] && self.is_unnamed_part(paths, path, owner);
            let procedure = paths.procedure_named_by(place.procedure);
            let of_caller = if is_begin { BelowPython::default() } else { below_python[caller.0 as usize] };
            let below = of_caller.enter(procedure);
            let imports = self.fold == Fold::Libraries
                && imports(!is_begin && self.imports[caller.0 as usize], procedure);
            let is_of_function = self.fold == Fold::Libraries && below.is_part(procedure);
            let is_program =
                !self.is_folded[place.procedure.0 as usize] && !is_part && !is_of_function && !imports;
            let only_starts =
                || paths.innermost(owner).is_some_and(|place| starts[place.procedure.0 as usize]);
            // What belongs to no function of the program is the library's own: `python3 -m`, threads of a pool that wait for work.
            let is_of_library = procedure.is_function_of_python() && !imports && !has_own[caller.0 as usize];
            let is_own =
                is_program || is_begin || is_of_library || (!has_program[caller.0 as usize] && only_starts());
            self.owners.push(if is_own { path } else { owner });
            self.imports.push(imports);
            below_python.push(below);
            let is_source = is_program && !procedure.is_of_python();
            has_own.push(is_source || (!is_begin && has_own[caller.0 as usize]));
            has_program.push(is_program || (!is_begin && has_program[caller.0 as usize]));
        }
    }

    /// Whether the path ends in a procedure without a name, and the owner of its caller has one in the same file.
    fn is_unnamed_part(&self, paths: &Paths, path: PathId, owner: PathId) -> bool {
        let procedure =
            |path: PathId| paths.innermost(path).map(|place| paths.procedure_named_by(place.procedure));
        let (Some(inner), Some(outer)) = (procedure(path), procedure(owner)) else { return false };
        self.fold == Fold::Libraries
            && is_unnamed(inner)
            && !is_unnamed(outer)
            && inner.module == outer.module
    }

    /// What it folds.
    #[must_use]
    pub fn fold(&self) -> Fold {
        self.fold
    }

    /// The path to which the work at this path belongs: it, or one that leads to it.
    #[must_use]
    pub fn owner(&self, path: PathId) -> PathId {
        self.owners.get(path.0 as usize).copied().unwrap_or(path)
    }

    /// Whether the procedure is folded into its callers.
    #[must_use]
    pub fn is_folded(&self, procedure: ProcedureId) -> bool {
        self.is_folded.get(procedure.0 as usize).copied().unwrap_or(false)
    }

    /// What the folded part of a path does, in words that follow a name (`zeroing pages`): the innermost procedure says it
    /// that is known for something, else a module for Python, else the outermost one by the library that it is of; but all that Python's
    /// library does to start processes or to hand work to them is that. `None` where nothing is folded.
    #[must_use]
    pub fn action(&self, paths: &Paths, path: PathId) -> Option<&'static str> {
        let owner = self.owner(path);
        if owner != path && self.imports.get(path.0 as usize) == Some(&true) {
            return Some(Folding::IMPORTS);
        }
        let folded = || {
            std::iter::successors(Some(path), |&path| paths.caller(path))
                .take_while(|&path| path != owner)
                .filter_map(|path| paths.innermost(path))
        };
        let of_processes = folded().find_map(|place| self.processes[place.procedure.0 as usize]);
        if of_processes.is_some() {
            return of_processes;
        }
        let known = folded().find_map(|place| self.actions[place.procedure.0 as usize]);
        known.or_else(|| {
            let procedures = || folded().map(|place| paths.procedure_named_by(place.procedure));
            // The interpreter calls all modules.
            let of_module = procedures().find_map(actions::of_python_module);
            of_module.or_else(|| procedures().filter_map(actions::in_general).last())
        })
    }
}

/// Whether the procedure is a closure that was inlined into the procedure in whose text it stands, as Rust's and C++'s compilers name it:
/// `total::{closure}`, `total(int)::{lambda(int)#1}::operator()(int) const`, `total(int)::$_0::operator()(int) const`.
fn is_inlined_closure(paths: &Paths, procedure: ProcedureId) -> bool {
    let Some(outer) = paths.inlined_into(procedure) else { return false };
    let (inner, outer) = (paths.procedure_named_by(procedure), paths.procedure_named_by(outer));
    let rest = inner.name.strip_prefix(outer.name.as_str());
    rest.is_some_and(|rest| {
        ["::{closure", "::{{closure", "::{lambda", "::$_"].iter().any(|kind| rest.starts_with(kind))
    })
}

/// The procedure that a closure, or the body of a region or task of OpenMP, stands in: `table::fill` of `table::fill::{closure#0}`,
/// `smooth(int)` of `smooth(int) [clone ._omp_fn.0]`.
#[must_use]
pub fn enclosing_procedure(name: &str) -> &str {
    const MARKS: [&str; 7] = [
        "::{{closure}}",
        "::{closure}",
        "::{closure#",
        "::{lambda(",
        "._omp_fn.",
        ".omp_outlined",
        ".omp_task",
    ];
    let begins = MARKS.iter().filter_map(|mark| name.find(mark)).filter(|&at| at > 0);
    begins.min().map_or(name, |at| name[..at].trim_end_matches(" [clone "))
}

/// Whether that is all the name of a closure: debug information that has only tables of lines leaves out in which procedure it stands.
pub(crate) fn is_nameless_closure(name: &str) -> bool {
    name == "operator()"
        || ["{closure", "{{closure"].iter().any(|begin| name.starts_with(begin)) && name.ends_with('}')
}

/// Timelines whose observations are at the owners of their paths.
#[derive(Clone, Copy, Debug)]
pub struct FoldedTimelines<'a, T> {
    timelines: &'a T,
    folding: &'a Folding,
}

impl<'a, T: Timelines> FoldedTimelines<'a, T> {
    /// The timelines, folded.
    pub fn new(timelines: &'a T, folding: &'a Folding) -> Self {
        FoldedTimelines { timelines, folding }
    }
}

impl<T: Timelines> Timelines for FoldedTimelines<'_, T> {
    type Error = T::Error;

    fn program(&self) -> &Program {
        self.timelines.program()
    }

    fn paths(&self) -> &Paths {
        self.timelines.paths()
    }

    fn objects(&self) -> &Objects {
        self.timelines.objects()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), T::Error> {
        let owner = |path: PathId| self.folding.owner(path);
        self.timelines.for_each(&mut |item| {
            let what = match item.what {
                ItemKind::Observe { path, kind } => ItemKind::Observe { path: owner(path), kind },
                ItemKind::Held(hold) => ItemKind::Held(LockHold { path: owner(hold.path), ..hold }),
                ItemKind::Written { writer, path } => ItemKind::Written { writer, path: owner(path) },
                other => other,
            };
            visit(&Item { what, ..*item });
        })
    }

    fn for_each_unfolded(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), T::Error> {
        self.timelines.for_each_unfolded(visit)
    }

    fn owner(&self, path: PathId) -> PathId {
        self.folding.owner(self.timelines.owner(path))
    }

    fn placements(&self) -> Result<Vec<Placement>, T::Error> {
        self.timelines.placements()
    }
}

#[cfg(test)]
mod tests;
