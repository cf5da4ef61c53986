//! Runtimes that schedule tasks of their own on the threads of a program.

use crate::paths::Paths;

/// Runtimes whose threads do whatever task there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskRuntime {
    /// Any thread of the program runs goroutines.
    Go,
    /// Threads that began at one call path run tasks.
    Tasks,
    /// None is known.
    None,
}

impl TaskRuntime {
    /// That of a program with these call paths.
    #[must_use]
    pub fn of(paths: &Paths) -> TaskRuntime {
        let has = |is_of: fn(&str) -> bool| paths.procedures().iter().any(|procedure| is_of(&procedure.name));
        if has(|name| matches!(name, "runtime.goexit" | "runtime.main" | "runtime.mcall" | "runtime.mstart"))
        {
            TaskRuntime::Go
        } else if has(|name| {
            name.starts_with("rayon_core::registry::")
                || name.starts_with("tokio::runtime::scheduler::multi_thread")
        }) {
            TaskRuntime::Tasks
        } else {
            TaskRuntime::None
        }
    }
}
