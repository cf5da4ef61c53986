//! Threads of runtimes that run anybody's work: which thread of Go's scheduler makes another one, and in which goroutine, says
//! nothing of what the new thread will do.
//!
//! ```text
//!   creator's path   main.main → main.load → runtime.newproc → … → runtime.newm → runtime.newosproc
//!   new thread       main.serve → …             not below main.load
//! ```

use crate::paths::{PathId, Paths};

/// Procedures that make a thread of such a runtime, by the begin of their names.
const MAKERS: &[&str] =
    &["runtime.newosproc", "runtime.newm", "runtime.startTemplateThread", "_cgo_sys_thread_start"];

/// Whether a thread that was created at this path is one of a runtime's. `creators` is what the creator's paths begin with.
pub(crate) fn makes_pool_thread(paths: &Paths, path: PathId, creators: PathId) -> bool {
    let own =
        std::iter::successors(Some(path), |&path| paths.caller(path)).take_while(|&path| path != creators);
    let mut names = own
        .filter_map(|path| paths.innermost(path))
        .map(|place| &paths.procedure_named_by(place.procedure).name);
    names.any(|name| MAKERS.iter().any(|maker| name.starts_with(maker)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{CodePlace, Procedure};

    fn path(paths: &mut Paths, from: PathId, names: &[&str]) -> PathId {
        names.iter().fold(from, |caller, name| {
            let procedure = Procedure { name: (*name).into(), module: "server".into(), file: String::new() };
            let procedure = paths.procedure(procedure);
            let place = paths.place(CodePlace { procedure, line: 0 });
            paths.path(caller, place)
        })
    }

    #[test]
    fn threads_of_a_scheduler_are_told_from_those_that_a_program_starts() {
        let mut paths = Paths::default();
        let spawn = path(&mut paths, Paths::ROOT, &["main", "spawn"]);
        let pool = path(
            &mut paths,
            Paths::ROOT,
            &["main.main", "runtime.newproc", "runtime.newm1", "runtime.newosproc"],
        );
        assert!(!makes_pool_thread(&paths, spawn, Paths::ROOT));
        assert!(makes_pool_thread(&paths, pool, Paths::ROOT));
        let below = path(&mut paths, pool, &["main.serve"]);
        assert!(!makes_pool_thread(&paths, below, pool), "only the creator's own part tells");
    }
}
