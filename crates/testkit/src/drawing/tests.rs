use longpole_event::Time;
use longpole_trace::{Item, ItemKind, Timelines};

use super::*;

fn shown(made: &MemoryTimelines) -> Vec<String> {
    let show = |item: &Item| {
        let thread = &made.program.threads[item.thread.index()].name;
        let what = match item.what {
            ItemKind::State(state) => format!("{state:?}"),
            ItemKind::Await(object) => format!("awaits {}", made.objects.get(object).name),
            ItemKind::Release(token) => format!("releases {}", token.0),
            ItemKind::Acquire(acquisition) => format!("acquires {}", acquisition.token.0),
            ItemKind::Written { writer, .. } => format!("written by {}", writer.0),
            ItemKind::Held(hold) => format!("held {}", made.objects.get(hold.object).name),
            ItemKind::Observe { path, .. } => {
                let mut names: Vec<_> = made
                    .paths
                    .places_of(path)
                    .map(|place| made.paths.procedure_named_by(place.procedure).name.as_str())
                    .collect();
                names.reverse();
                format!("at {}", names.join(">"))
            }
            ItemKind::Depend { source, source_time, kind } => format!(
                "{kind:?} from {}@{}",
                made.program.threads[source.index()].name,
                source_time.nanoseconds()
            ),
        };
        format!("{} {thread} {what}", item.time.nanoseconds())
    };
    made.items.iter().map(show).collect()
}

#[test]
fn a_row_becomes_states_and_observations() {
    let made = draw("T1 AAB~~Bl-B");
    assert_eq!(
        shown(&made),
        [
            "0 T1 Running",
            "2 T1 at A",
            "3 T1 at B",
            "3 T1 Spinning",
            "5 T1 at B",
            "5 T1 Running",
            "6 T1 at B",
            "6 T1 Blocked(Lock)",
            "7 T1 Ready",
            "8 T1 Running",
            "9 T1 at B",
            "9 T1 Absent",
        ]
    );
    assert_eq!(made.program().elapsed_nanoseconds, 9);
}

#[test]
fn at_one_time_observations_come_before_dependences_before_states() {
    let made = draw("T1 AAAA\nT2 BBcB\nT1@3 -> T2 signal");
    assert_eq!(
        shown(&made)[2..],
        [
            "2 T2 at B",
            "2 T2 Blocked(Condition)",
            "3 T1 at A",
            "3 T2 Signal from T1@3",
            "3 T2 Running",
            "4 T1 at A",
            "4 T2 at B",
            "4 T1 Absent",
            "4 T2 Absent",
        ]
    );
}

#[test]
fn a_created_thread_begins_where_it_was_created() {
    let made = draw("A = main > work\nT1 AAAA\nT2 __BB\nT1@2 -> T2 create");
    assert!(shown(&made).contains(&"4 T2 at main>work>B".to_owned()), "{:?}", shown(&made));
    assert_eq!(made.program.threads[1].creator, Some(made.thread("T1")));
    assert_eq!(made.program.threads[1].start, Time::from_nanoseconds(2));
}

#[test]
fn a_message_is_under_way_for_a_while() {
    let made = draw("unit 10\nT1 AAAA\nT2 mmmB\nT1@1 -> T2@3 message");
    assert!(shown(&made).contains(&"30 T2 Message from T1@10".to_owned()));
    assert!(shown(&made).contains(&"10 T1 at A".to_owned()), "a sender is observed when it sends");
}

#[test]
fn a_raised_digit_is_a_spin_for_its_object() {
    let made = draw("1 = spin lock table\nT1 A¹¹1A");
    assert_eq!(
        shown(&made)[1..6],
        ["1 T1 at A", "1 T1 awaits table", "1 T1 Spinning", "3 T1 at A", "3 T1 Blocked(Lock)",],
    );
}

#[test]
fn a_digit_is_a_wait_for_its_object() {
    let made = draw("1 = rwlock table\nT1 A1A");
    assert_eq!(shown(&made)[1..4], ["1 T1 at A", "1 T1 awaits table", "1 T1 Blocked(Lock)"],);
    assert_eq!(made.objects.get(made.object("table")).kind, ObjectKind::RwLock);
}

#[test]
fn a_look_is_an_observation() {
    let made = draw("T1 AAAA\nT1@1 look");
    assert!(shown(&made).contains(&"1 T1 at A".to_owned()));
}

#[test]
fn threads_belong_to_processes_and_machines() {
    let made = draw("one:web/T1 A\none:web/T2 A\none:db/T3 A\ntwo:web/T4 A\nT5 A");
    let process = |name| made.program.threads[made.thread(name).index()].process;
    assert_eq!(process("T1"), process("T2"));
    assert_ne!(process("T1"), process("T4"));
    assert_eq!(made.program.machines.len(), 3);
    assert_eq!(made.program.machine_of(made.thread("T3")), made.program.machine_of(made.thread("T1")));
    assert_eq!(made.program.threads[1].tid, 101);
}

#[test]
fn a_thread_that_waits_at_the_end_lives_on() {
    let made = draw("T1 AAAA\nT2 BBcc\nT3 B");
    let end = |name| made.program.threads[made.thread(name).index()].end;
    assert_eq!(end("T1"), Some(Time::from_nanoseconds(4)));
    assert_eq!(end("T2"), None);
    assert_eq!(end("T3"), Some(Time::from_nanoseconds(1)));
}

#[test]
fn what_is_no_drawing_is_refused_with_its_line() {
    let error = |text: &str| Drawing::parse(text).map(|_| ()).expect_err(text);
    assert_eq!(error("T1 AA?").line, 1);
    assert_eq!(error("T1 AA\nT1 BB").line, 2);
    assert_eq!(error("T1 AA\nT1@1 -> T9 signal").reason, "no thread is named T9");
    assert_eq!(error("T1 AA\nT2 BB\nT1@1 -> T2 push").reason, "push is no kind of dependence");
    assert_eq!(error("T1 AA\nT2 BB\nT1@2 -> T2@1 message").line, 3);
    assert_eq!(error("# nothing\nAB = c").line, 2);
    assert_eq!(error("1 = drum m\nT1 A1").reason, "drum is no kind of object");
    assert_eq!(error("T1 A2").reason, "'2' is no state of a thread");
}
