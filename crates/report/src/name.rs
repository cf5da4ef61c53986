//! Names of things, and how they fit into a column.

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{Paths, ProcedureId, Program};

/// Shortens a name to `width` characters. Where it says at its end where the thing is, as in `inflate (libz.so.1)` or
/// `inflate inflate.c:12`, that part gets up to half of the width.
pub(crate) fn shorten(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    let Some((head, place)) = parts(name) else { return without_middle(name, width) };
    let [head_length, place_length] = [head, place].map(|part| part.chars().count());
    let room = width.saturating_sub(1);
    let for_place = place_length.min((room / 2).max(room.saturating_sub(head_length)));
    format!("{} {}", without_middle(head, room - for_place), without_middle(place, for_place))
}

/// What a thing is, and where.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (head, place) = match name.rfind(" (") {
        Some(at) if name.ends_with(')') => (&name[..at], &name[at + 1..]),
        _ => name.rsplit_once(' ')?,
    };
    let is_line =
        || place.rsplit_once(':').is_some_and(|(_, line)| line.bytes().all(|digit| digit.is_ascii_digit()));
    (place.ends_with(')') || place.ends_with(']') || place.starts_with('#') || is_line())
        .then_some((head, place))
}

/// Leaves the middle of a text out: the begin says whose it is, the end what it is.
fn without_middle(text: &str, width: usize) -> String {
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
    fn the_place_of_a_thing_gets_its_part_of_a_short_name() {
        assert_eq!(shorten("_dl_lookup_symbol_x (ld-linux-x86-64.so.2)", 28), "_dl_…_symbol_x (ld-…64.so.2)");
        assert_eq!(shorten("a_rather_long_procedure main.c:18", 22), "a_r…rocedure main.c:18");
        assert_eq!(shorten("std::map<int, char>::insert", 16), "std::…r>::insert");
        for width in 0..40 {
            assert!(shorten("a_rather_long_procedure (module.so)", width).chars().count() <= width.max(1));
        }
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
