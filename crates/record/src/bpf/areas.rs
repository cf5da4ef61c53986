//! Where the code of the recorded processes lies, for the kernel programs.
//!
//! A stack's key covers the words that can be return addresses. The programs tell them from data by ranges
//! around all executable memory of a process: one around what lies low (the program), one around what lies
//! high (libraries), one around code made at run time. A range that is too wide only makes keys less stable;
//! one that is too narrow would make different stacks one. So ranges only grow, until the process executes
//! another program.

use std::fs;
use std::ops::Range;

use aya::maps::{HashMap as BpfHashMap, MapData, MapError};
use longpole_event::{Blocking, Time};
use longpole_symbols::Mapping;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::raw::{RawEvent, RawKind};

/// Programs lie below, libraries above.
const HIGH: u64 = 0x6000_0000_0000;
/// Mappings for an execution are made before it is reported, but hardly longer than this before.
const EXECUTION_NANOSECONDS: u64 = 2_000_000_000;
/// Mappings of a process that are remembered with their time.
const MOST_RECENT: usize = 128;

/// As `struct areas` in `bpf/longpole.bpf.c`: start and size of each range.
pub(super) type WireAreas = [u64; 6];

/// Ranges around the code of one process.
#[derive(Clone, Debug, Default, PartialEq)]
struct Areas {
    program: Option<Range<u64>>,
    libraries: Option<Range<u64>>,
    generated: Option<Range<u64>>,
    recent: Vec<(Time, Range<u64>, MappingClass)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MappingClass {
    Program,
    Library,
    Generated,
}

impl Areas {
    fn add(&mut self, range: &Range<u64>, class: MappingClass) {
        let area = match class {
            MappingClass::Program => &mut self.program,
            MappingClass::Library => &mut self.libraries,
            MappingClass::Generated => &mut self.generated,
        };
        *area = Some(match area {
            Some(area) => area.start.min(range.start)..area.end.max(range.end),
            None => range.clone(),
        });
    }

    fn map(&mut self, time: Time, range: Range<u64>, class: MappingClass) {
        self.add(&range, class);
        if self.recent.len() < MOST_RECENT {
            self.recent.push((time, range, class));
        }
    }

    /// Forgets what was mapped long before an execution at `time`.
    fn execute(&mut self, time: Time) {
        // With more mappings than are remembered, forgetting could forget one of the new program.
        if self.recent.len() >= MOST_RECENT {
            self.recent.clear();
            return;
        }
        let begin = time - EXECUTION_NANOSECONDS;
        let recent = std::mem::take(&mut self.recent);
        *self = Areas::default();
        for (time, range, class) in recent.into_iter().filter(|(time, ..)| *time >= begin) {
            self.map(time, range, class);
        }
    }

    fn to_wire(&self) -> WireAreas {
        let pair = |range: &Option<Range<u64>>| {
            range.as_ref().map_or([0, 0], |range| [range.start, range.end - range.start])
        };
        let parts = [pair(&self.program), pair(&self.libraries), pair(&self.generated)];
        parts.concat().try_into().expect("three pairs are six numbers")
    }
}

/// Whether what is mapped is a file that a path leads to.
pub(super) fn is_file(path: &[u8]) -> bool {
    let others = [b"//anon".as_slice(), b"/memfd:", b"/dev/", b"/SYSV"];
    path.starts_with(b"/") && !others.iter().any(|start| path.starts_with(start))
}

fn classify(mapping: &Mapping) -> Option<MappingClass> {
    let path = mapping.path.as_os_str().as_encoded_bytes();
    if path.starts_with(b"[v") {
        // vdso, vsyscall: they lie beside the stack, and nothing returns into them.
        return None;
    }
    Some(match (is_file(path), mapping.start >= HIGH) {
        (false, _) => MappingClass::Generated,
        (true, true) => MappingClass::Library,
        (true, false) => MappingClass::Program,
    })
}

/// The areas of all recorded processes.
#[derive(Debug, Default)]
pub(super) struct ExecutableAreas {
    processes: FxHashMap<u32, Areas>,
    changed: FxHashSet<u32>,
}

impl ExecutableAreas {
    /// The process is recorded from now on; its code is read from `/proc`.
    pub(super) fn track(&mut self, pid: u32, time: Time) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let areas = self.processes.entry(pid).or_default();
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        for mapping in maps.lines().filter_map(parse_executable) {
            if let Some(class) = classify(&mapping) {
                // Older than anything an execution could have mapped.
                areas.map(time - 2 * EXECUTION_NANOSECONDS, mapping.start..mapping.end, class);
            }
        }
        self.changed.insert(pid);
    }

    /// The recorded processes.
    pub(super) fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.processes.keys().copied()
    }

    /// Learns from an event.
    pub(super) fn learn(&mut self, event: &RawEvent) {
        let pid = match &event.kind {
            RawKind::Map { pid, mapping } => {
                let Some(areas) = self.processes.get_mut(pid) else { return };
                let Some(class) = classify(mapping) else { return };
                areas.map(event.time, mapping.start..mapping.end, class);
                *pid
            }
            RawKind::Fork { parent, child, .. } if parent.pid != child.pid => {
                let areas = self.processes.get(&parent.pid).cloned().unwrap_or_default();
                self.processes.insert(child.pid, areas);
                child.pid
            }
            RawKind::Exec { task, .. } => {
                self.processes.entry(task.pid).or_default().execute(event.time);
                task.pid
            }
            RawKind::Switch { previous: Some(task), blocking: Blocking::Dead, .. }
                if task.pid == task.tid =>
            {
                self.processes.remove(&task.pid);
                task.pid
            }
            _ => return,
        };
        self.changed.insert(pid);
    }

    /// Tells the kernel programs what has changed. A process that they are told nothing of is treated as
    /// having code everywhere.
    pub(super) fn publish(&mut self, map: &mut BpfHashMap<MapData, u32, WireAreas>) -> Result<(), MapError> {
        for pid in self.changed.drain() {
            match self.processes.get(&pid) {
                Some(areas) if areas.program.is_some() || areas.libraries.is_some() => {
                    // A full table is no failure: the process is then treated as one not told of.
                    let _ = map.insert(pid, areas.to_wire(), 0);
                }
                _ => match map.remove(&pid) {
                    Ok(()) | Err(MapError::KeyNotFound) => {}
                    Err(MapError::SyscallError(error))
                        if error.io_error.raw_os_error() == Some(libc::ENOENT) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(())
    }
}

/// An executable mapping in a line of `/proc/PID/maps`.
fn parse_executable(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_executable = words.next()?.contains('x');
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let path = words.nth(3).unwrap_or_default().into();
    is_executable.then_some(Mapping { start, end, file_offset: 0, path, build_id: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{KernelTask, RawStack};

    const PROGRAM: u64 = 0x5555_0000_0000;
    const LIBRARY: u64 = 0x7fff_0000_0000;

    fn at(nanoseconds: u64, kind: RawKind) -> RawEvent {
        RawEvent { time: Time::from_nanoseconds(nanoseconds), cpu: 0, kind }
    }

    fn map(nanoseconds: u64, pid: u32, start: u64, path: &str) -> RawEvent {
        let mapping =
            Mapping { start, end: start + 0x1000, file_offset: 0, path: path.into(), build_id: Vec::new() };
        at(nanoseconds, RawKind::Map { pid, mapping })
    }

    fn fork(parent: u32, child: u32) -> RawEvent {
        let task = |pid| KernelTask { pid, tid: pid };
        at(0, RawKind::Fork { parent: task(parent), child: task(child), stack: RawStack::None })
    }

    fn learnt(events: &[RawEvent]) -> ExecutableAreas {
        let mut areas = ExecutableAreas::default();
        areas.processes.insert(1, Areas::default());
        events.iter().for_each(|event| areas.learn(event));
        areas
    }

    #[test]
    fn ranges_grow_around_what_is_mapped() {
        let areas = learnt(&[
            map(1, 1, PROGRAM, "/bin/x"),
            map(2, 1, LIBRARY, "/lib/a.so"),
            map(3, 1, LIBRARY - 0x5000, "/lib/b.so"),
            map(4, 1, 0x7000_0000, "//anon"),
            map(5, 1, 0x7fff_ffff_0000, "[vdso]"),
            map(6, 99, 0x1000, "/bin/other"),
        ]);
        let expected = [PROGRAM, 0x1000, LIBRARY - 0x5000, 0x6000, 0x7000_0000, 0x1000];
        assert_eq!(areas.processes[&1].to_wire(), expected);
        assert!(!areas.processes.contains_key(&99));
    }

    #[test]
    fn a_child_starts_with_its_parents_code() {
        let areas = learnt(&[map(1, 1, PROGRAM, "/bin/x"), fork(1, 2)]);
        assert_eq!(areas.processes[&2], areas.processes[&1]);
    }

    #[test]
    fn an_execution_forgets_the_old_program_and_keeps_its_own() {
        let second = 1_000_000_000;
        let task = KernelTask { pid: 1, tid: 1 };
        let areas = learnt(&[
            map(second, 1, LIBRARY, "/lib/old.so"),
            map(9 * second, 1, PROGRAM, "/bin/new"),
            at(9 * second + 1000, RawKind::Exec { task, program: "/bin/new".into(), title: None }),
        ]);
        assert_eq!(areas.processes[&1].to_wire(), [PROGRAM, 0x1000, 0, 0, 0, 0]);
    }

    #[test]
    fn own_code_is_found_in_proc() {
        let mut areas = ExecutableAreas::default();
        areas.track(std::process::id(), crate::clock::now());
        let here = own_code_is_found_in_proc as *const () as u64;
        let [program, size, libraries, libraries_size, ..] = areas.processes[&std::process::id()].to_wire();
        let is_in = |start: u64, size: u64| (start..start + size).contains(&here);
        assert!(is_in(program, size) || is_in(libraries, libraries_size));
    }
}
