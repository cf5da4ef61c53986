//! Parallel regions of OpenMP in call paths: which paths are inside a region, which are in the call that begins and ends it, and
//! where that call is.
//!
//! ```text
//!   master   main → smooth:23 → GOMP_parallel → gomp_team_end           Call, site smooth:23
//!            main → smooth:23 → gomp_team_end → smooth._omp_fn.1        Body smooth._omp_fn.1, no site: a task
//!            main → smooth:23 → GOMP_parallel → smooth._omp_fn.0        Body smooth._omp_fn.0, site smooth:23
//!            main → smooth:23 → gomp_team_end                           Call at a place that begins regions
//!            main → smooth:23                                           Outside (a wait is charged without its waiting frames)
//!   worker   … | gomp_thread_start → gomp_barrier_wait                  Idle
//!            … | gomp_thread_start → smooth._omp_fn.0 → exp             Body smooth._omp_fn.0, no site
//! ```
//! The compiler makes a procedure of the body of each region, and that tells regions apart. A region inside another one
//! belongs to the outer one; [`ParallelCalls::nested`] lists these pairs. A library linked statically is found by the names of
//! its procedures.
//!
//! In: the tree of paths. Out: an answer for each path, found once. Time: constant for each path.

use std::collections::BTreeSet;

use longpole_symbols::is_openmp;

use crate::fold::{is_code_of_program, is_thread_start};
use crate::paths::{PathId, Paths, PlaceId, Procedure, ProcedureId};

/// Which part of a parallel region a path is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionPart {
    /// In no region.
    #[default]
    Outside,
    /// In the runtime, on a thread that the runtime created: the thread waits for its next region, or for the end of one.
    Idle,
    /// In a call of the runtime, outside of a body.
    Call {
        /// The place that calls.
        site: PlaceId,
        /// Whether the path shows that the call begins a region. The end of a region is a jump from there, which leaves no trace of
        /// it: where the site begins regions, the call is one, too.
        begins: bool,
    },
    /// In the body of a region.
    Body {
        /// The procedure that the compiler made of the body.
        body: ProcedureId,
        /// The place that calls; `None` on threads that the runtime created, and of tasks.
        site: Option<PlaceId>,
        /// Whether the path ends in the runtime: a barrier, a critical section.
        in_runtime: bool,
    },
}

/// The parallel regions of all paths.
#[derive(Clone, Debug, Default)]
pub struct ParallelCalls {
    of_path: Vec<Walked>,
    nested: BTreeSet<(ProcedureId, ProcedureId)>,
}

/// What a procedure is to a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    /// The call that begins and ends a region.
    Fork,
    /// Where the runtime's own threads begin.
    Start,
    /// Another procedure of the runtime.
    Runtime,
    /// The kernel, the C library: part of whatever called it.
    Passed,
    Program,
}

/// What is known at a path.
#[derive(Clone, Copy, Debug, Default)]
struct Walked {
    part: RegionPart,
    /// The innermost place of the program on the thread's own stack.
    last: Option<PlaceId>,
    /// Whether a region begins inside of a body.
    forks_again: bool,
}

impl ParallelCalls {
    /// Finds the regions of all paths.
    #[must_use]
    pub fn new(paths: &Paths) -> ParallelCalls {
        let kinds: Vec<FrameKind> = paths.procedures().iter().map(frame_kind).collect();
        if !kinds.contains(&FrameKind::Fork) {
            return ParallelCalls::default();
        }
        let mut calls = ParallelCalls { of_path: vec![Walked::default()], nested: BTreeSet::new() };
        for path in (1..paths.len()).map(|index| PathId(index as u32)) {
            let (place, caller) = (paths.innermost_id(path), paths.caller(path));
            let (place, caller) = place.zip(caller).expect("only the root has no place");
            let outer = match paths.begins_thread(path) {
                true => Walked::default(),
                false => calls.of_path[caller.0 as usize],
            };
            let procedure = paths.all_places()[place.0 as usize].procedure;
            if outer.forks_again
                && let (FrameKind::Program, RegionPart::Body { body, .. }) =
                    (kinds[procedure.0 as usize], outer.part)
            {
                calls.nested.insert((body, procedure));
            }
            calls.of_path.push(outer.enter(kinds[procedure.0 as usize], place, procedure));
        }
        calls
    }

    /// The part of a region that the path is in.
    #[must_use]
    pub fn part(&self, path: PathId) -> RegionPart {
        self.of_path.get(path.0 as usize).map_or(RegionPart::Outside, |walked| walked.part)
    }

    /// Bodies that begin regions, each with the body of such a region.
    pub fn nested(&self) -> impl Iterator<Item = (ProcedureId, ProcedureId)> + '_ {
        self.nested.iter().copied()
    }
}

impl Walked {
    /// Goes on into a procedure at this place.
    fn enter(self, kind: FrameKind, place: PlaceId, procedure: ProcedureId) -> Walked {
        if kind == FrameKind::Start {
            return Walked { part: RegionPart::Idle, ..Walked::default() };
        }
        let part = match (self.part, kind, self.last) {
            (part, FrameKind::Passed, _) => part,
            (RegionPart::Outside | RegionPart::Call { .. }, FrameKind::Fork, Some(site)) => {
                RegionPart::Call { site, begins: true }
            }
            (RegionPart::Outside, FrameKind::Runtime, Some(site)) => RegionPart::Call { site, begins: false },
            (RegionPart::Outside, FrameKind::Fork | FrameKind::Runtime, None) => RegionPart::Idle,
            (RegionPart::Body { body, site, .. }, kind, _) => {
                RegionPart::Body { body, site, in_runtime: kind != FrameKind::Program }
            }
            (part, FrameKind::Fork | FrameKind::Runtime | FrameKind::Start, _) => part,
            (RegionPart::Outside, FrameKind::Program, _) => RegionPart::Outside,
            (RegionPart::Idle, FrameKind::Program, _) => {
                RegionPart::Body { body: procedure, site: None, in_runtime: false }
            }
            (RegionPart::Call { site, begins: true }, FrameKind::Program, _) => {
                RegionPart::Body { body: procedure, site: Some(site), in_runtime: false }
            }
            // A task that the thread executes while it waits.
            (RegionPart::Call { begins: false, .. }, FrameKind::Program, _) => {
                RegionPart::Body { body: procedure, site: None, in_runtime: false }
            }
        };
        let is_program = kind == FrameKind::Program;
        let is_body = matches!(self.part, RegionPart::Body { .. });
        Walked {
            part,
            last: if is_program { Some(place) } else { self.last },
            forks_again: !is_program && (self.forks_again || (is_body && kind == FrameKind::Fork)),
        }
    }
}

fn frame_kind(procedure: &Procedure) -> FrameKind {
    let Procedure { name, module, .. } = procedure;
    if procedure.is_region() {
        // What the agent marks in the runtime's place.
        return if name == "parallel region" { FrameKind::Fork } else { FrameKind::Passed };
    }
    let plain = name.trim_start_matches('_');
    let begins = |table: &[&str]| table.iter().any(|beginning| plain.starts_with(beginning));
    if begins(&["GOMP_parallel", "kmpc_fork"]) {
        FrameKind::Fork
    } else if is_openmp(module) || begins(&["GOMP_", "gomp_", "kmpc_", "kmp_"]) {
        if is_thread_start(procedure) { FrameKind::Start } else { FrameKind::Runtime }
    } else if is_code_of_program(procedure) {
        FrameKind::Program
    } else {
        FrameKind::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::CodePlace;

    /// Paths of procedures as `name:line|module`, innermost last; `|` alone begins a thread's own stack.
    struct DrawnPaths(Paths);

    impl DrawnPaths {
        fn path(&mut self, text: &str) -> PathId {
            let mut end = Paths::ROOT;
            let mut begins = false;
            for frame in text.split(" > ") {
                if frame == "|" {
                    begins = true;
                    continue;
                }
                let (code, module) = frame.split_once('|').unwrap_or((frame, "app"));
                let (name, line) = code.split_once(':').unwrap_or((code, "0"));
                let line = line.parse().expect("a line");
                let procedure =
                    Procedure { name: name.to_owned(), module: module.to_owned(), file: String::new() };
                let procedure = self.0.procedure(procedure);
                let place = self.0.place(CodePlace { procedure, line });
                end = self.0.path(end, place);
                if std::mem::take(&mut begins) {
                    self.0.begin_thread(end);
                }
            }
            end
        }
    }

    /// The part as words: the body, the line of the site, whether the path ends in the runtime.
    fn parts(texts: &[&str]) -> (Vec<String>, usize) {
        let mut drawn = DrawnPaths(Paths::default());
        let ends: Vec<PathId> = texts.iter().map(|text| drawn.path(text)).collect();
        let calls = ParallelCalls::new(&drawn.0);
        let line = |site: PlaceId| drawn.0.all_places()[site.0 as usize].line;
        let told = |&path: &PathId| match calls.part(path) {
            RegionPart::Outside => "outside".to_owned(),
            RegionPart::Idle => "idle".to_owned(),
            RegionPart::Call { site, begins: true } => format!("call at {}", line(site)),
            RegionPart::Call { site, begins: false } => format!("other call at {}", line(site)),
            RegionPart::Body { body, site, in_runtime } => {
                let name = &drawn.0.procedure_named_by(body).name;
                let at = site.map_or(String::new(), |site| format!(" at {}", line(site)));
                format!("{name}{at}{}", if in_runtime { ", runtime" } else { "" })
            }
        };
        (ends.iter().map(told).collect(), calls.nested().count())
    }

    const LIBGOMP: &str = "libgomp.so.1.0.0";

    #[test]
    fn a_region_is_its_body_and_the_call_around_it() {
        let (master, nested) = parts(&[
            "main > smooth:23",
            &format!("main > smooth:23 > GOMP_parallel|{LIBGOMP}"),
            &format!(
                "main > smooth:23 > GOMP_parallel|{LIBGOMP} > libgomp+0x1f|{LIBGOMP} > futex_wait|[kernel]"
            ),
            &format!("main > smooth:23 > GOMP_parallel|{LIBGOMP} > smooth._omp_fn.0 > exp:7"),
            &format!(
                "main > smooth:23 > GOMP_parallel|{LIBGOMP} > smooth._omp_fn.0 > GOMP_barrier|{LIBGOMP}"
            ),
            &format!("main > smooth:23 > omp_get_max_threads|{LIBGOMP}"),
            &format!("main > smooth:23 > gomp_team_end|{LIBGOMP} > smooth._omp_fn.1 > exp:7"),
        ]);
        let body = "smooth._omp_fn.0 at 23";
        let runtime = "smooth._omp_fn.0 at 23, runtime";
        let task = "smooth._omp_fn.1";
        assert_eq!(master, ["outside", "call at 23", "call at 23", body, runtime, "other call at 23", task]);
        assert_eq!(nested, 0);
    }

    #[test]
    fn a_thread_of_the_runtime_is_idle_or_in_a_body() {
        let fork = "main > smooth:23 > __kmpc_fork_call|libomp.so.5";
        let start = "start_thread|libc.so.6 > __kmp_launch_thread|libomp.so.5";
        let (worker, _) = parts(&[
            &format!("{fork} > |"),
            &format!("{fork} > | > {start}"),
            &format!("{fork} > | > {start} > __kmp_invoke_microtask|libomp.so.5 > smooth.omp_outlined"),
            &format!("{fork} > | > start_thread|libc.so.6 > serve"),
        ]);
        assert_eq!(worker, ["call at 23", "idle", "smooth.omp_outlined", "outside"]);
    }

    #[test]
    fn a_region_in_a_region_is_part_of_the_outer_one() {
        let fork = format!("GOMP_parallel|{LIBGOMP}");
        let inner = format!("main:3 > {fork} > pairs._omp_fn.0:9 > {fork}");
        let (parts, nested) = parts(&[&inner, &format!("{inner} > columns._omp_fn.1")]);
        assert_eq!(parts, ["pairs._omp_fn.0 at 3, runtime", "pairs._omp_fn.0 at 3"]);
        assert_eq!(nested, 1);
    }

    #[test]
    fn regions_that_the_agent_marks_are_found() {
        let marked =
            "main > smooth:23 > parallel region|[region] > begin|longpole-agent.so > smooth._omp_fn.0";
        assert_eq!(parts(&[marked]).0, ["smooth._omp_fn.0 at 23"]);
    }
}
