use longpole_symbols::Registers;

use super::*;
use crate::raw::TakenStack;

const WORD: WatchedMemory = WatchedMemory { address: 0x4010, bytes: 4 };
/// Where the loop is.
const LOOP: u64 = 0x1100;

fn at(nanoseconds: u64) -> Time {
    Time::from_nanoseconds(nanoseconds)
}

fn task(tid: u32) -> KernelTask {
    KernelTask { pid: 1, tid }
}

struct Drawn {
    waits: BusyWaits,
    told: Vec<RawEvent>,
}

impl Drawn {
    fn new() -> Drawn {
        // It watches no processor; the tests tell its stores.
        let watch = WordWatch { access: None, left: Vec::new(), word: None };
        Drawn { waits: BusyWaits::with(vec![watch], Vec::new(), 1000), told: Vec::new() }
    }

    /// A sample finds the thread in the loop.
    fn spins(&mut self, tid: u32, time: u64) {
        self.spins_for(WORD, tid, time);
    }

    fn spins_for(&mut self, word: WatchedMemory, tid: u32, time: u64) {
        let mut general = [0; 16];
        general[STACK_POINTER] = 0x7000 + u64::from(tid);
        let of = ThreadRegisters { time: at(time), task: task(tid), ip: LOOP, general };
        let kind = RawKind::Sample { task: task(tid), kernel: false, stack: RawStack::None, gap: 0 };
        let event = RawEvent { time: at(time), cpu: 0, kind };
        self.waits.spins(&event, &of, vec![word]);
    }

    fn works(&mut self, tid: u32, time: u64) {
        self.waits.goes_on(task(tid), at(time), &mut self.told);
    }

    /// The thread writes the word, at this place in the code.
    fn stores(&mut self, tid: u32, time: u64, ip: u64) {
        let registers = Some(Registers { ip, sp: 0x7000 + u64::from(tid), bp: 0 });
        let stack = Box::new(TakenStack { registers, ..TakenStack::default() });
        let store = WatchedStore { time: at(time), cpu: 1, task: task(tid), address: WORD.address, stack };
        self.waits.store(store, &mut self.told);
    }

    /// What was told: the thread, the time, and what.
    fn told(&self) -> Vec<String> {
        let text = |event: &RawEvent| {
            let RawKind::Inside { task, mark } = &event.kind else { panic!("{event:?}") };
            let what = match mark {
                RawMark::Freed { by, .. } => format!("freed by {}", by.tid),
                RawMark::Arrive(_) => "arrives".to_owned(),
                RawMark::Depart(_) => "departs".to_owned(),
                other => panic!("{other:?}"),
            };
            format!("{} at {}: {what}", task.tid, event.time.nanoseconds())
        };
        self.told.iter().map(text).collect()
    }
}

#[test]
fn the_last_store_before_the_thread_is_seen_elsewhere_freed_it() {
    let mut drawn = Drawn::new();
    drawn.spins(2, 1000);
    drawn.stores(3, 1500, 0x9000);
    drawn.spins(2, 2000);
    drawn.stores(3, 2200, 0x9000);
    drawn.stores(4, 2300, 0x9000);
    drawn.works(2, 3000);
    drawn.works(2, 4000);
    assert_eq!(drawn.told(), ["2 at 2300: freed by 4"]);
}

#[test]
fn without_a_store_nothing_is_known() {
    let mut drawn = Drawn::new();
    drawn.spins(2, 1000);
    drawn.works(2, 3000);
    // This one came after the thread was seen elsewhere.
    drawn.stores(3, 3500, 0x9000);
    drawn.works(2, 4000);
    assert!(drawn.told().is_empty());
}

#[test]
fn a_thread_that_writes_the_word_itself_has_left_its_loop() {
    let mut drawn = Drawn::new();
    drawn.spins(2, 1000);
    drawn.stores(3, 1500, 0x9000);
    drawn.stores(2, 1600, LOOP + 32);
    drawn.stores(4, 1700, 0x9000);
    drawn.works(2, 2000);
    assert_eq!(drawn.told(), ["2 at 1500: freed by 3"]);
}

#[test]
fn who_comes_to_the_loop_by_a_store_waits_for_all_others_and_they_for_it() {
    let mut drawn = Drawn::new();
    for tid in [2, 3] {
        drawn.stores(tid, 900, LOOP - 8);
        drawn.spins(tid, 1000);
    }
    drawn.stores(4, 1500, LOOP - 8);
    drawn.works(3, 2000);
    drawn.works(2, 2100);
    let expected = [
        "3 at 1500: arrives",
        "2 at 1500: arrives",
        "4 at 1500: arrives",
        "3 at 1500: freed by 4",
        "4 at 1500: departs",
        "2 at 1500: freed by 4",
        "4 at 1500: departs",
    ];
    assert_eq!(drawn.told(), expected);
}

#[test]
fn a_lock_that_is_let_go_behind_its_loop_is_no_meeting() {
    let mut drawn = Drawn::new();
    drawn.stores(2, 900, LOOP + 32);
    drawn.spins(2, 1000);
    drawn.stores(3, 1500, LOOP + 32);
    drawn.works(2, 2000);
    assert_eq!(drawn.told(), ["2 at 1500: freed by 3"]);
}

#[test]
fn what_is_kept_back_is_let_go_after_a_while() {
    let mut drawn = Drawn::new();
    drawn.spins(2, 1000);
    assert_eq!(drawn.waits.kept_back(), Some(at(1000)));
    drawn.waits.end_round(at(1000 + LONGEST_WAIT * 1_000_000));
    assert_eq!(drawn.waits.kept_back(), Some(at(1000)));
    drawn.waits.end_round(at(1001 + LONGEST_WAIT * 1_100_000));
    assert_eq!(drawn.waits.kept_back(), None);
}

#[test]
fn nothing_is_kept_back_for_a_word_that_is_not_watched() {
    let mut drawn = Drawn::new();
    drawn.spins(2, 1000);
    drawn.spins_for(WatchedMemory { address: 0x8010, bytes: 4 }, 3, 900);
    assert_eq!(drawn.waits.kept_back(), Some(at(1000)));
}
