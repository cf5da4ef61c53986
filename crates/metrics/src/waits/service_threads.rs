//! Threads that a language's runtime has for itself: what they wait for is work that the program seldom has for them.
//!
//! Java's virtual machine (HotSpot) names them: those that compile, collect garbage, and look after the others. The kernel keeps 15 bytes of a
//! name. Only in programs in which its library was seen; a thread that the program itself names so is taken for one of them.

use longpole_trace::{Paths, Program};

/// The library of Java's virtual machine.
const VIRTUAL_MACHINE: &str = "libjvm.so";

/// What the names of its own threads begin with.
const NAMES: [&str; 21] = [
    "Attach Listener",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "Common-Cleaner",
    "Finalizer",
    "G1 ",
    "GC Thread#",
    "JFR ",
    "JVMCI",
    "Monitor Deflati",
    "Notification Th",
    "Reference Handl",
    "Service Thread",
    "Shenandoah",
    "Signal Dispatch",
    "Sweeper thread",
    "VM Periodic Tas",
    "VM Thread",
    "XWorker",
    "ZDirector",
    "ZWorker",
];

/// By thread: whether it is one that a language's runtime has for itself.
#[must_use]
pub fn service_threads(program: &Program, paths: &Paths) -> Vec<bool> {
    let is_java = paths.procedures().iter().any(|procedure| procedure.module == VIRTUAL_MACHINE);
    let is_service = |name: &str| is_java && NAMES.iter().any(|known| name.starts_with(known));
    program.threads.iter().map(|thread| is_service(&thread.name)).collect()
}

#[cfg(test)]
mod tests {
    use longpole_testkit::draw;
    use longpole_trace::{Procedure, Timelines};

    use super::*;

    #[test]
    fn threads_of_java_s_virtual_machine_are_its_own() {
        let drawn = draw("T1 A\nT2 A\nT3 A");
        let (mut paths, mut program) = (drawn.paths().clone(), drawn.program);
        for (thread, name) in program.threads.iter_mut().zip(["GC Thread#0", "Thread-0", "VM Thread"]) {
            thread.name = name.to_owned();
        }
        assert_eq!(service_threads(&program, &paths), [false; 3], "no virtual machine");
        paths.procedure(Procedure { module: VIRTUAL_MACHINE.to_owned(), ..paths.procedures()[0].clone() });
        assert_eq!(service_threads(&program, &paths), [true, false, true]);
    }
}
