use super::*;

fn call(number: i32, arguments: [u64; 3], file: FileKind) -> CallDefinition {
    CallDefinition { number, arguments, file }
}

fn hints(innermost: Option<ObjectKind>, outermost: Option<ObjectKind>) -> StackHints {
    let mut hints = StackHints::default();
    innermost.into_iter().chain(outermost).for_each(|kind| hints.add(Hint::Object(kind)));
    hints
}

#[test]
fn a_futex_is_explained_by_the_outermost_waiting_frame() {
    let futex = call(202, [0x1000, 128, 2], FileKind::None);
    let of = |hints| cause(Blocking::Interruptible, Some(&futex), hints);
    assert_eq!(of(hints(Some(ObjectKind::Condition), Some(ObjectKind::Barrier))), Cause::Barrier);
    assert_eq!(of(hints(Some(ObjectKind::Mutex), Some(ObjectKind::Condition))), Cause::Lock);
    assert_eq!(of(hints(None, None)), Cause::Futex);
}

#[test]
fn an_interpreters_lock_is_one_within_any_other_wait() {
    let mut hints = StackHints::default();
    let frames = [
        Hint::Paired(ObjectKind::Condition),
        Hint::Object(ObjectKind::InterpreterLock),
        Hint::PerThreadObject(ObjectKind::Condition),
    ];
    frames.into_iter().for_each(|frame| hints.add(frame));
    assert_eq!(hints.futex().and_then(|told| told.kind), Some(ObjectKind::InterpreterLock));
    assert!(!hints.is_per_thread);
}

#[test]
fn a_shared_wait_on_a_thread_id_is_a_join_even_without_names() {
    let join = call(202, [0x1000, 265, 77], FileKind::None);
    assert_eq!(cause(Blocking::Interruptible, Some(&join), StackHints::default()), Cause::Join);
}

#[test]
fn the_operation_tells_what_a_stack_without_names_does_not() {
    let of = |operation| {
        let call = call(202, [0x1000, operation, 0], FileKind::None);
        cause(Blocking::Interruptible, Some(&call), StackHints::default())
    };
    assert_eq!(of(6 | 128), Cause::Lock);
    assert_eq!(of(11 | 128), Cause::Condition);
    assert_eq!(of(9 | 128), Cause::Futex);
}

#[test]
fn a_read_is_explained_by_the_file() {
    let of = |file| cause(Blocking::Interruptible, Some(&call(0, [3, 0, 0], file)), StackHints::default());
    assert_eq!(of(FileKind::Pipe), Cause::Pipe);
    assert_eq!(of(FileKind::Socket), Cause::Socket);
    assert_eq!(of(FileKind::Regular), Cause::Io);
}

#[test]
fn a_file_is_written_when_it_is_closed_or_changed_by_its_name() {
    for number in [3, 90, 188, 266, 436] {
        let call = call(number, [3, 0, 0], FileKind::None);
        let of = |hints| cause(Blocking::Uninterruptible, Some(&call), hints);
        assert_eq!(of(StackHints::default()), Cause::Io, "{number}");
        assert_eq!(of(StackHints { kernel: Some(Cause::Kernel), ..StackHints::default() }), Cause::Kernel);
    }
}

#[test]
fn a_page_fault_that_waits_for_the_lock_of_the_memory_map_waits_for_a_lock() {
    let fault = call(-1, [0; 3], FileKind::None);
    let of = |innermost_first: &[Cause]| {
        let mut hints = StackHints::default();
        innermost_first.iter().for_each(|&seen| hints.add_kernel(seen));
        (cause(Blocking::Uninterruptible, Some(&fault), hints), cause(Blocking::Uninterruptible, None, hints))
    };
    for (seen, expected) in [
        (&[Cause::Kernel, Cause::PageFault, Cause::PageFault][..], Cause::Kernel),
        (&[Cause::Io, Cause::PageFault], Cause::PageFault),
        (&[Cause::Kernel, Cause::Io, Cause::PageFault, Cause::PageFault], Cause::PageFault),
    ] {
        assert_eq!(of(seen), (expected, expected), "{seen:?}");
    }
}

#[test]
fn a_timer_and_a_sleep_until_a_moment_end_at_a_moment() {
    let of = |number, arguments, file| {
        cause(Blocking::Interruptible, Some(&call(number, arguments, file)), StackHints::default())
    };
    assert_eq!(of(0, [3, 0, 0], FileKind::Timer), Cause::Timer);
    assert_eq!(of(230, [0, 1, 0], FileKind::None), Cause::Timer);
    assert_eq!(of(230, [0, 0, 0], FileKind::None), Cause::Sleep);
    let python = StackHints { in_python: true, ..StackHints::default() };
    assert_eq!(
        cause(Blocking::Interruptible, Some(&call(230, [1, 1, 0], FileKind::None)), python),
        Cause::Sleep
    );
}

#[test]
fn poll_without_descriptors_is_a_sleep() {
    let poll = call(7, [0, 0, 100], FileKind::None);
    assert_eq!(cause(Blocking::Interruptible, Some(&poll), StackHints::default()), Cause::Sleep);
    // In a loop that only looks.
    let looks = StackHints { polls: true, ..StackHints::default() };
    assert_eq!(cause(Blocking::Interruptible, Some(&poll), looks), Cause::PollingSleep);
}

#[test]
fn without_the_system_call_the_kernel_procedures_tell() {
    let seen = StackHints { kernel: Some(Cause::Pipe), ..hints(None, Some(ObjectKind::Mutex)) };
    assert_eq!(cause(Blocking::Interruptible, None, seen), Cause::Pipe);
    let futex = StackHints { kernel: Some(Cause::Futex), ..hints(None, Some(ObjectKind::Mutex)) };
    assert_eq!(cause(Blocking::Interruptible, None, futex), Cause::Lock);
}

#[test]
fn a_device_wait_without_any_other_sign_is_io() {
    assert_eq!(cause(Blocking::Device, None, StackHints::default()), Cause::Io);
    assert_eq!(
        cause(Blocking::Device, Some(&call(-1, [0; 3], FileKind::None)), StackHints::default()),
        Cause::PageFault
    );
    let ring = call(426, [0; 3], FileKind::None);
    assert_eq!(cause(Blocking::Device, Some(&ring), StackHints::default()), Cause::Io);
    assert_eq!(cause(Blocking::Interruptible, Some(&ring), StackHints::default()), Cause::Poll);
}
