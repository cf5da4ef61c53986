//! Names of things, and how they fit into a column.

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{Paths, ProcedureId, Program};

/// Shortens a text in its middle to `width` characters: the begin says whose it is, the end what it is.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    if width <= 1 {
        return "…".chars().take(width).collect();
    }
    // The end of a procedure's name tells more than its begin (`std::vec::Vec<…>::push`).
    let begin = (width - 1) / 3;
    let end = width - 1 - begin;
    text.chars().take(begin).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

/// Whether a procedure is one of the C library's that stand at the begin of every path.
pub(crate) fn is_starter(procedure: &str) -> bool {
    matches!(procedure, "_start" | "clone" | "clone3" | "start_thread" | "thread_start")
        || procedure.starts_with("__libc_start")
}

/// File name of the program that was run, as modules are named.
pub(crate) fn program_file(program: &Program) -> &str {
    let command = program.command.first().map_or("", String::as_str);
    command.rsplit('/').next().unwrap_or(command)
}

/// A procedure with its module, where that is not the program itself: `inflate (libz.so.1)`.
pub(crate) fn procedure(paths: &Paths, program: &Program, id: ProcedureId) -> String {
    let procedure = paths.procedure_named_by(id);
    with_module(&procedure.name, &procedure.module, program_file(program))
}

/// A procedure's name with its module, unless that is `main_module` or stands in the name already.
pub(crate) fn with_module(name: &str, module: &str, main_module: &str) -> String {
    if module.is_empty() || module == main_module || name.starts_with(module) {
        return name.to_owned();
    }
    if module.starts_with('[') {
        // Not a file: the kernel, the vdso. Names without a place are in brackets themselves.
        return if name.starts_with('[') { name.to_owned() } else { format!("{name} {module}") };
    }
    format!("{name} ({module})")
}

/// A thread with its number: `worker #1234`; its process's name goes before it when there are several.
pub(crate) fn thread(program: &Program, id: ThreadId) -> String {
    let thread = &program.threads[id.index()];
    let process = program.process_of(id);
    let name = if thread.name.is_empty() { "thread" } else { &thread.name };
    if program.processes.len() > 1 && process.name != name && !process.name.is_empty() {
        format!("{}: {name} #{}", process.name, thread.tid)
    } else {
        format!("{name} #{}", thread.tid)
    }
}

/// A process with its pid: `cc1 [1234]`.
pub(crate) fn process(program: &Program, id: ProcessId) -> String {
    let process = &program.processes[id.index()];
    let name = if process.name.is_empty() { "process" } else { &process.name };
    format!("{name} [{}]", process.pid)
}

/// The command as one line.
pub(crate) fn command(program: &Program) -> String {
    program.command.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghij", 7), "ab…ghij");
        assert_eq!(shorten("naïve::größe", 5), "n…öße");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "");
    }

    #[test]
    fn a_module_is_named_unless_it_is_the_program() {
        assert_eq!(with_module("inflate", "libz.so.1", "app"), "inflate (libz.so.1)");
        assert_eq!(with_module("main", "app", "app"), "main");
        assert_eq!(with_module("do_futex", "[kernel]", "app"), "do_futex [kernel]");
        assert_eq!(with_module("[no stack]", "[unknown]", "app"), "[no stack]");
        assert_eq!(with_module("libc.so.6+0x12", "libc.so.6", "app"), "libc.so.6+0x12");
    }
}
