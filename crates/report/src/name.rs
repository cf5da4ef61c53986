//! Names of things.

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{Paths, Procedure, ProcedureId, Program};

pub(crate) use crate::shortening::shorten;
use crate::shortening::shorten_procedure;

/// Whether a procedure is one of the C library's that stand at the begin of every path.
pub(crate) fn is_starter(procedure: &str) -> bool {
    matches!(procedure, "_start" | "clone" | "clone3" | "start_thread" | "thread_start")
        || procedure.starts_with("__libc_start")
}

/// Whether it is where the dynamic linker begins, before the program's first instruction: under it lies all that it takes
/// to map the program and its libraries.
pub(crate) fn is_program_start(procedure: &Procedure) -> bool {
    let is_linker = ["ld-linux", "ld-musl", "ld64"].iter().any(|name| procedure.module.starts_with(name));
    is_linker && (procedure.name.starts_with("_dl_start") || procedure.name == "_start")
}

/// File name of the program that was run, as modules are named.
pub(crate) fn program_file(program: &Program) -> &str {
    let command = program.command.first().map_or("", String::as_str);
    let command = if program.file.is_empty() { command } else { &program.file };
    command.rsplit('/').next().unwrap_or(command)
}

/// Characters of a procedure's name in sentences and tables; its row has the whole.
const LONGEST: usize = 64;

/// A procedure with its module, where that is not the program itself: `inflate (libz.so.1)`.
pub(crate) fn procedure(paths: &Paths, program: &Program, id: ProcedureId) -> String {
    let procedure = paths.procedure_named_by(id);
    if is_program_start(procedure) {
        return "starting the program".to_owned();
    }
    let name = match crate::instances::mark(paths, id) {
        Some(mark) => shorten_procedure(&(procedure.name.clone() + &mark), LONGEST),
        None => shorten_procedure(&procedure.name, LONGEST),
    };
    with_module(&name, &procedure.module, program_file(program))
}

/// A procedure's name with its module, unless that is `main_module` or stands in the name already.
pub(crate) fn with_module(name: &str, module: &str, main_module: &str) -> String {
    if module.is_empty() || module == main_module || name.starts_with(module) || stands_for(name, module) {
        return name.to_owned();
    }
    if module == "[jit]" || module == Procedure::PYTHON {
        // Code made at run time is the program's own, and says where it is from.
        return name.to_owned();
    }
    if module.starts_with('[') {
        // Not a file: the kernel, the vdso. Names without a place are in brackets themselves.
        return if name.starts_with('[') { name.to_owned() } else { format!("{name} {module}") };
    }
    format!("{name} ({module})")
}

/// Whether the name is that of the module in brackets, as where nothing more is known of an address.
fn stands_for(name: &str, module: &str) -> bool {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) == Some(module)
}

/// A thread with its number: `worker #1234`; its process's name goes before it when there are several.
pub(crate) fn thread(program: &Program, id: ThreadId) -> String {
    let thread = &program.threads[id.index()];
    let process = program.process_of(id);
    let name = if thread.name.is_empty() { "thread" } else { &thread.name };
    if program.processes.len() > 1 && process.name == *name {
        return format!("{} #{}", process.label(), thread.tid);
    }
    if program.processes.len() > 1 && !process.name.is_empty() {
        format!("{}: {name} #{}", process.label(), thread.tid)
    } else {
        format!("{name} #{}", thread.tid)
    }
}

/// A process with its pid: `cc1 [1234]`.
pub(crate) fn process(program: &Program, id: ProcessId) -> String {
    let process = &program.processes[id.index()];
    let name = if process.name.is_empty() { "process" } else { process.label() };
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
    fn a_module_is_named_unless_it_is_the_program() {
        assert_eq!(with_module("inflate", "libz.so.1", "app"), "inflate (libz.so.1)");
        assert_eq!(with_module("main", "app", "app"), "main");
        assert_eq!(with_module("do_futex", "[kernel]", "app"), "do_futex [kernel]");
        assert_eq!(with_module("[no stack]", "[unknown]", "app"), "[no stack]");
        assert_eq!(with_module("libc.so.6+0x12", "libc.so.6", "app"), "libc.so.6+0x12");
        assert_eq!(with_module("[libx264.so.164]", "libx264.so.164", "app"), "[libx264.so.164]");
    }

    #[test]
    fn the_dynamic_linker_starts_the_program_where_it_begins() {
        let is_start = |name: &str, module: &str| {
            is_program_start(&Procedure { name: name.into(), module: module.into(), file: String::new() })
        };
        assert!(is_start("_dl_start", "ld-linux-x86-64.so.2") && is_start("_start", "ld-musl-x86_64.so.1"));
        assert!(!is_start("_dl_open", "ld-linux-x86-64.so.2"), "the program asked for it");
        assert!(!is_start("_start", "app") && !is_start("_dl_start_profile", "app"));
    }

    #[test]
    fn a_program_that_is_a_link_has_the_name_of_its_file() {
        let command = vec!["/usr/bin/redis-server".to_owned(), "--port".to_owned()];
        let mut program = Program { command, ..Program::default() };
        assert_eq!(program_file(&program), "redis-server");
        program.file = "/usr/bin/redis-check-rdb".to_owned();
        assert_eq!(program_file(&program), "redis-check-rdb");
    }
}
