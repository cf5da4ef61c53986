//! The program that the recorder starts: when it has replaced the recorder's child.
//!
//! ```text
//!   child: recorder's own code │ execve │ the program
//!                              ↑ the kernel's record        ↑ LATEST after the child's pipe was closed: the record was lost
//! ```
//! The child's stacks before are the recorder's own. The record of the execution can be lost, where other programs fill
//! the rings of the collector; that the program was executed is then known from the pipe to the child, which the kernel
//! closes as it executes.

use std::path::Path;

use longpole_event::Time;

use crate::process_title::process_title;
use crate::raw::{KernelTask, RawEvent, RawKind, RawStack};

/// The kernel tells of the execution within this time, however busy the machine is: nanoseconds.
const LATEST: u64 = 100_000_000;

/// What is known of the program's start.
#[derive(Debug)]
pub(crate) struct StartedProgram {
    task: KernelTask,
    /// The child's pipe was closed.
    executed: Time,
    file: String,
    title: Option<String>,
    /// The kernel told of the execution, or does not tell any more.
    is_told: bool,
}

impl StartedProgram {
    /// The child `pid`, which executes `file` with these arguments, the program's name first: it has done so by now.
    pub(crate) fn new(pid: u32, file: &Path, arguments: &[&str]) -> StartedProgram {
        let file = file.to_string_lossy().into_owned();
        let title = process_title(&file, arguments);
        let task = KernelTask { pid, tid: pid };
        StartedProgram { task, executed: crate::clock::now(), file, title, is_told: false }
    }

    /// Takes the recorder's own stacks from an event. Gives the execution where the kernel has not told of it and will not.
    pub(crate) fn look_at(&mut self, event: &mut RawEvent) -> Option<RawEvent> {
        if self.is_told {
            return None;
        }
        match &mut event.kind {
            RawKind::Exec { task, .. } if *task == self.task => self.is_told = true,
            _ if event.time >= self.executed + LATEST => {
                self.is_told = true;
                let kind = RawKind::Exec {
                    task: self.task,
                    program: std::mem::take(&mut self.file),
                    title: self.title.take(),
                };
                return Some(RawEvent { time: event.time, cpu: event.cpu, kind });
            }
            _ if event.time >= self.executed => {}
            RawKind::Switch { stack, call, .. } | RawKind::Wake { stack, call, .. } => {
                *stack = RawStack::None;
                *call = None;
            }
            RawKind::Sample { stack, .. } => *stack = RawStack::None,
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(program: &StartedProgram, after: i64) -> RawEvent {
        let time = Time::from_nanoseconds(program.executed.nanoseconds().strict_add_signed(after));
        let stack = RawStack::Known(1);
        RawEvent { time, cpu: 0, kind: RawKind::Sample { task: program.task, kernel: false, stack, gap: 0 } }
    }

    fn has_stack(event: &RawEvent) -> bool {
        matches!(&event.kind, RawKind::Sample { stack: RawStack::Known(_), .. })
    }

    #[test]
    fn stacks_are_the_recorders_until_the_program_is_executed() {
        let mut program = StartedProgram::new(7, Path::new("/bin/sort"), &["sort", "-R"]);
        let mut before = sample(&program, -5);
        assert_eq!(program.look_at(&mut before), None);
        assert!(!has_stack(&before));
        let kind = RawKind::Exec { task: program.task, program: "/bin/sort".into(), title: None };
        let mut told = RawEvent { kind, ..sample(&program, -3) };
        assert_eq!(program.look_at(&mut told), None);
        let mut early = sample(&program, -1);
        assert_eq!(program.look_at(&mut early), None);
        assert!(has_stack(&early));
        let mut late = sample(&program, 2 * LATEST as i64);
        assert_eq!(program.look_at(&mut late), None, "the kernel told");
    }

    #[test]
    fn an_execution_whose_record_was_lost_is_told_once() {
        let mut program = StartedProgram::new(7, Path::new("/bin/sort"), &["sort", "-R"]);
        let mut soon = sample(&program, 5);
        assert_eq!(program.look_at(&mut soon), None);
        assert!(has_stack(&soon), "the program runs");
        let mut late = sample(&program, LATEST as i64);
        let told = program.look_at(&mut late).unwrap();
        assert!(has_stack(&late));
        assert_eq!(told.time, late.time);
        assert!(matches!(told.kind, RawKind::Exec { task, program, title: Some(title) }
            if task.tid == 7 && program == "/bin/sort" && title == "sort -R"));
        assert_eq!(program.look_at(&mut late), None);
    }
}
