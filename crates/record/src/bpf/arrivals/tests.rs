use super::*;

const THREAD: KernelTask = KernelTask { pid: 1, tid: 7 };
const OTHER: KernelTask = KernelTask { pid: 1, tid: 8 };

fn time(nanoseconds: u64) -> Time {
    Time::from_nanoseconds(nanoseconds)
}

/// Feeds events by their times, and draws what comes out.
#[derive(Default)]
struct Reader {
    arrivals: Arrivals,
    out: Vec<RawEvent>,
}

impl Reader {
    /// A thread that was created long ago and has a processor since 1 ms, for which it waited 5.
    fn running() -> Reader {
        let mut reader = Reader::default();
        reader.fork(900_000, THREAD);
        reader.switch_to(1_000_000, THREAD, 5);
        reader.out.clear();
        reader
    }

    fn push(&mut self, at: u64, kind: RawKind, accounts: Accounts) {
        self.arrivals.take(RawEvent { time: time(at), cpu: 3, kind }, accounts, &mut self.out);
    }

    fn fork(&mut self, at: u64, child: KernelTask) {
        let kind = RawKind::Fork { parent: OTHER, child, stack: RawStack::None };
        self.push(at, kind, Accounts::default());
    }

    fn switch_to(&mut self, at: u64, task: KernelTask, next_waited: u64) {
        let kind = RawKind::switch(None, Blocking::Runnable, Some(task));
        self.push(at, kind, Accounts { next_waited, ..Accounts::default() });
    }

    fn leave(&mut self, at: u64, blocking: Blocking, arrived: u64, waited: u64) {
        let on = TaskAccount { arrived: (arrived > 0).then(|| time(arrived)), waited };
        let kind = RawKind::switch(Some(THREAD), blocking, None);
        self.push(at, kind, Accounts { on, ..Accounts::default() });
    }

    fn sample(&mut self, at: u64, arrived: u64, waited: u64) {
        let on = TaskAccount { arrived: Some(time(arrived)), waited };
        let kind = RawKind::Sample { task: THREAD, kernel: false, stack: RawStack::None, gap: 0 };
        self.push(at, kind, Accounts { on, ..Accounts::default() });
    }

    fn wake(&mut self, at: u64) {
        let waker = RawWaker::Task(OTHER, String::new());
        let kind = RawKind::Wake { wakee: THREAD, waker, call: None, stack: RawStack::None };
        self.push(at, kind, Accounts::default());
    }

    /// Times, in microseconds, and names of what came out since the last call.
    fn drawn(&mut self) -> String {
        let draw = |event: RawEvent| {
            let name = match event.kind {
                RawKind::Switch { previous: Some(_), blocking: Blocking::Runnable, .. } => "off",
                RawKind::Switch { previous: Some(_), .. } => "out",
                RawKind::Switch { next: Some(_), .. } => "in",
                RawKind::Wake { waker: RawWaker::Interrupt, .. } => "interrupt",
                RawKind::Wake { waker: RawWaker::Unknown, .. } => "unknown",
                RawKind::Wake { .. } => "wake",
                RawKind::Sample { .. } => "sample",
                RawKind::Fork { .. } => "fork",
                _ => "other",
            };
            format!("{name} {}", event.time.nanoseconds() / 1000)
        };
        self.out.drain(..).map(draw).collect::<Vec<_>>().join(", ")
    }

    fn unseen(&self) -> (u64, u64) {
        (self.arrivals.unseen_switches, self.arrivals.unseen_wakes)
    }
}

#[test]
fn what_the_tracepoints_told_is_left_alone() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    reader.wake(3_000_000);
    reader.switch_to(3_100_000, THREAD, 100_005);
    reader.sample(3_200_000, 3_100_000, 100_005);
    reader.leave(3_300_000, Blocking::Runnable, 3_100_000, 100_005);
    reader.switch_to(3_400_000, THREAD, 200_005);
    assert_eq!(reader.drawn(), "out 2000, wake 3000, in 3100, sample 3200, off 3300, in 3400");
    assert_eq!((reader.unseen(), reader.arrivals.notes()), ((0, 0), Vec::new()));
}

#[test]
fn a_thread_that_came_untold_came_when_the_kernel_s_account_says() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    reader.wake(3_000_000);
    reader.leave(4_000_000, Blocking::Interruptible, 3_100_000, 100_005);
    assert_eq!(reader.drawn(), "out 2000, wake 3000, in 3100, out 4000");
    assert_eq!(reader.unseen(), (1, 0));
}

#[test]
fn a_sample_shows_it_before_its_next_switch_does() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Runnable, 1_000_000, 5);
    reader.sample(4_000_000, 3_000_000, 1_000_005);
    reader.leave(9_000_000, Blocking::Runnable, 3_000_000, 1_000_005);
    assert_eq!(reader.drawn(), "off 2000, in 3000, sample 4000, off 9000");
    assert_eq!(reader.unseen(), (1, 0));
}

#[test]
fn an_untold_wake_was_when_the_thread_became_ready() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    reader.switch_to(3_100_000, THREAD, 100_005);
    reader.leave(4_000_000, Blocking::Interruptible, 3_100_000, 100_005);
    reader.leave(6_000_000, Blocking::Interruptible, 5_000_000, 300_005);
    let (first, second) =
        ("out 2000, interrupt 3000, in 3100", "out 4000, interrupt 4800, in 5000, out 6000");
    assert_eq!(reader.drawn(), format!("{first}, {second}"));
    assert_eq!(reader.unseen(), (1, 2));
    let notes = reader.arrivals.notes();
    assert!(notes[0].starts_with("1 switches to threads were not delivered"), "{notes:?}");
    assert!(notes[1].starts_with("2 wakes were not delivered"), "{notes:?}");
}

#[test]
fn where_records_were_lost_the_wake_may_have_been_anybody_s() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    reader.arrivals.lose();
    reader.switch_to(3_000_000, THREAD, 5);
    assert_eq!(reader.drawn(), "out 2000, unknown 3000, in 3000");
}

#[test]
fn a_wake_whose_record_overtook_the_wait_s_is_not_missing() {
    let mut reader = Reader::running();
    reader.wake(1_990_000);
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    reader.switch_to(2_100_000, THREAD, 90_000);
    assert_eq!(reader.drawn(), "wake 1990, out 2000, in 2100");
    assert_eq!(reader.unseen(), (0, 0));
}

#[test]
fn the_wake_before_a_short_run_is_not_the_one_after_it() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    reader.wake(3_000_000);
    reader.switch_to(3_010_000, THREAD, 10_005);
    reader.leave(3_020_000, Blocking::Interruptible, 3_010_000, 10_005);
    reader.switch_to(5_000_000, THREAD, 20_005);
    assert_eq!(reader.drawn(), "out 2000, wake 3000, in 3010, out 3020, interrupt 4990, in 5000");
}

#[test]
fn nothing_is_put_before_what_has_been_handed_on() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 5);
    for round in [5_000_000, 6_000_000, 7_000_000] {
        reader.arrivals.begin_round(time(round));
    }
    reader.leave(8_000_000, Blocking::Interruptible, 3_000_000, 500_000);
    assert_eq!(reader.drawn(), "out 2000, interrupt 5000, in 5000, out 8000");
}

#[test]
fn without_an_account_the_thread_came_where_it_is_seen() {
    let mut reader = Reader::running();
    reader.leave(2_000_000, Blocking::Runnable, 0, 0);
    reader.leave(4_000_000, Blocking::Runnable, 0, 0);
    assert_eq!(reader.drawn(), "off 2000, in 4000, off 4000");
}

#[test]
fn a_new_thread_s_first_switch_can_be_untold_too() {
    let mut reader = Reader::default();
    reader.fork(1_000_000, THREAD);
    reader.leave(2_000_000, Blocking::Interruptible, 1_500_000, 500_000);
    assert_eq!(reader.drawn(), "fork 1000, in 1500, out 2000");
}

#[test]
fn of_a_thread_that_was_there_before_nothing_is_missing() {
    let mut reader = Reader::default();
    reader.leave(2_000_000, Blocking::Interruptible, 1_000_000, 500_000);
    assert_eq!(reader.drawn(), "out 2000");
    reader.leave(3_000_000, Blocking::Dead, 2_500_000, 500_000);
    assert_eq!(reader.drawn(), "interrupt 2500, in 2500, out 3000");
    // Another thread with its id.
    reader.sample(4_000_000, 3_500_000, 0);
    assert_eq!(reader.drawn(), "sample 4000");
}

#[test]
fn a_thread_that_comes_again_had_left_and_the_loss_is_counted() {
    let mut reader = Reader::running();
    reader.sample(2_000_000, 1_000_000, 5);
    reader.switch_to(4_000_000, THREAD, 1_000_005);
    assert_eq!(reader.drawn(), "sample 2000, off 3000, in 4000");
    assert_eq!((reader.arrivals.take_missing(), reader.arrivals.take_missing()), (1, 0));
}
