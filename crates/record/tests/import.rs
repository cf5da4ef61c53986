//! Imports of real files. They were made by `fixtures/make`, which says what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use longpole_event::Blocking;
use longpole_record::import::{ImportError, ImportSummary, parse};
use longpole_record::raw::{RawEvent, RawKind, RawStack, RawWaker};

const PLAIN: &[u8] = include_bytes!("fixtures/plain.data");
const MACHINE: &[u8] = include_bytes!("fixtures/machine.data");
const DWARF: &[u8] = include_bytes!("fixtures/dwarf.data");
const WITHOUT_WAKING: &[u8] = include_bytes!("fixtures/without-waking.data");

fn import(bytes: &[u8]) -> (Vec<RawEvent>, ImportSummary) {
    let mut events = Vec::new();
    let summary = parse(Cursor::new(bytes), &mut |event| {
        events.push(event);
        Ok(())
    });
    (events, summary.expect("an import"))
}

/// What the program of the fixtures does, whichever way it was recorded.
fn assert_lockers(events: &[RawEvent], summary: &ImportSummary) {
    assert!(events.is_sorted_by_key(|event| event.time));
    assert_eq!(summary.command, ["./lockers"]);
    assert!(!summary.is_truncated);
    let mut names = BTreeSet::new();
    let (mut forks, mut exits) = (0, 0);
    let mut root = 0;
    for event in events {
        match &event.kind {
            RawKind::Exec { task, program, .. } => {
                assert_eq!((program.as_str(), root), ("lockers", task.pid));
            }
            RawKind::Name { task, name } => {
                root = if root == 0 { task.pid } else { root };
                assert_eq!(task.pid, root, "{name} is of another process");
                names.insert(name.as_str());
            }
            RawKind::Fork { parent, child, .. } => {
                assert_eq!((parent.pid, parent.tid, child.pid), (root, root, root));
                forks += 1;
            }
            RawKind::Exit { task } => {
                assert_eq!(task.pid, root);
                exits += 1;
            }
            RawKind::Map { pid, .. } => assert_eq!(*pid, root),
            _ => {}
        }
    }
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["first", "lockers", "second"]);
    assert_eq!((forks, exits), (2, 3));
}

/// Every thread that goes out came in, and the other way round.
fn assert_switches_alternate(events: &[RawEvent]) {
    let mut running = BTreeMap::new();
    for event in events {
        if let RawKind::Switch { previous, next, .. } = &event.kind {
            if let Some(task) = previous {
                assert_eq!(
                    running.insert(task.tid, false),
                    Some(true),
                    "{} goes out at {}",
                    task.tid,
                    event.time
                );
            }
            if let Some(task) = next {
                assert_ne!(
                    running.insert(task.tid, true),
                    Some(true),
                    "{} comes in at {}",
                    task.tid,
                    event.time
                );
            }
        }
    }
}

/// Wakes of one worker by the other in the unlock of the mutex.
fn wakes_by_another_worker(events: &[RawEvent]) -> usize {
    let by_thread = |event: &&RawEvent| {
        matches!(&event.kind, RawKind::Wake { wakee, waker: RawWaker::Task(task, name), stack: RawStack::Taken(_), .. }
            if task.pid == wakee.pid && task.tid != wakee.tid && (name == "first" || name == "second"))
    };
    events.iter().filter(by_thread).count()
}

fn blocked_with_stack(events: &[RawEvent]) -> usize {
    let blocked = |event: &&RawEvent| {
        matches!(&event.kind, RawKind::Switch { blocking: Blocking::Interruptible, stack: RawStack::Taken(stack), .. }
            if !stack.chain.is_empty())
    };
    events.iter().filter(blocked).count()
}

#[test]
fn a_file_of_one_program_is_imported() {
    let (events, summary) = import(PLAIN);
    assert_lockers(&events, &summary);
    assert_switches_alternate(&events);
    assert!(wakes_by_another_worker(&events) >= 2);
    assert!(blocked_with_stack(&events) >= 4);
    assert_eq!(summary.hertz, 4000);
    assert!(summary.notes.iter().any(|note| note == "imported: every process in the file"));
    assert!(summary.notes.iter().any(|note| note.contains("are estimates (recorded without -a)")));
}

#[test]
fn a_compressed_file_of_the_machine_yields_the_tree_of_the_command() {
    let (events, summary) = import(MACHINE);
    assert_lockers(&events, &summary);
    assert_switches_alternate(&events);
    assert!(wakes_by_another_worker(&events) >= 2);
    assert!(blocked_with_stack(&events) >= 4);
    assert!(summary.notes.iter().any(|note| note == "imported: ./lockers and its descendants"));
}

#[test]
fn dumped_stacks_and_the_places_of_creation_are_imported_where_they_are_there() {
    let (events, summary) = import(DWARF);
    assert_lockers(&events, &summary);
    assert_switches_alternate(&events);
    let taken = |event: &RawEvent| match &event.kind {
        RawKind::Switch { stack: RawStack::Taken(stack), .. }
        | RawKind::Fork { stack: RawStack::Taken(stack), .. } => {
            let registers = stack.registers.expect("registers with a dump");
            assert!(!stack.memory.is_empty() && stack.memory.len() <= 2048);
            assert!(registers.ip != 0 && registers.sp != 0);
            Some(matches!(event.kind, RawKind::Fork { .. }))
        }
        _ => None,
    };
    let kinds: Vec<bool> = events.iter().filter_map(taken).collect();
    assert_eq!(kinds.iter().filter(|is_fork| **is_fork).count(), 2);
    assert!(kinds.len() >= 20);
}

#[test]
fn a_file_without_a_needed_event_is_refused_by_the_event_s_name() {
    let error = parse(Cursor::new(WITHOUT_WAKING), &mut |_| Ok(())).unwrap_err();
    assert!(matches!(error, ImportError::MissingEvent { event: "sched:sched_waking" }));
    let text = format!("failed to {error}");
    assert!(text.contains("perf record -e sched:sched_switch,sched:sched_waking,cpu-clock -g"), "{text}");
}

#[test]
fn other_files_are_refused() {
    let refused = |bytes: &[u8]| parse(Cursor::new(bytes), &mut |_| Ok(())).unwrap_err();
    assert!(matches!(refused(b""), ImportError::NotPerfData { .. }));
    assert!(matches!(refused(&[0; 200]), ImportError::NotPerfData { .. }));
    assert!(matches!(refused(&[&b"2ELIFREP"[..], &[0; 200]].concat()), ImportError::BigEndian));
    assert!(matches!(
        refused(&[&b"PERFILE2"[..], &16_u64.to_le_bytes(), &[0; 200]].concat()),
        ImportError::Pipe
    ));
}

#[test]
fn a_file_cut_anywhere_keeps_what_came_before_or_says_what_is_wrong() {
    let whole = import(PLAIN).0.len();
    for end in (0..PLAIN.len()).step_by(211) {
        let mut count = 0;
        let result = parse(Cursor::new(&PLAIN[..end]), &mut |_| {
            count += 1;
            Ok(())
        });
        assert!(count <= whole);
        match result {
            Ok(summary) => assert!(summary.is_truncated, "{end} bytes"),
            Err(ImportError::NotPerfData { .. } | ImportError::MissingEvent { .. }) => {}
            Err(error) => panic!("{end} bytes: {error}"),
        }
    }
}
