//! Parts of drawn runs.

use longpole_testkit::{MemoryTimelines, draw};

use longpole_event::{ThreadId, Time};
use longpole_trace::{PathId, Phase, Timelines, What, span_of};

fn phase(made: &MemoryTimelines, from: u64, to: Option<u64>) -> Phase<&MemoryTimelines> {
    let time = Time::from_nanoseconds;
    let Ok(phase) = Phase::new(made, time(from), to.map(time));
    phase
}

fn items(made: &MemoryTimelines, from: u64, to: Option<u64>) -> Vec<String> {
    let phase = phase(made, from, to);
    let mut told = Vec::new();
    let name = |path: PathId| {
        made.paths
            .innermost(path)
            .map_or("", |place| made.paths.procedure_named_by(place.procedure).name.as_str())
    };
    let Ok(()) = phase.for_each(&mut |item| {
        let what = match item.what {
            What::Observe(path) => format!("at {}", name(path)),
            What::State(state) => format!("{state:?}"),
            What::Await(object) => format!("awaits {}", made.objects.get(object).name),
            What::Held(hold) => format!("held {}", made.objects.get(hold.object).name),
            What::Depend { source, source_time, kind } => {
                format!(
                    "{kind:?} from {}@{}",
                    phase.program().threads[source.index()].name,
                    source_time.nanoseconds()
                )
            }
        };
        let thread = &phase.program().threads[item.thread.index()].name;
        told.push(format!("{} {thread} {what}", item.time.nanoseconds()));
    });
    told
}

#[test]
fn threads_enter_as_they_are_and_leave_where_they_are_seen_next() {
    let made = draw("1 = mutex m\nT1 AAAABBBB\nT2 C111111C\nT1@7 -> T2 unlock");
    assert_eq!(
        items(&made, 2, Some(6)),
        [
            "0 T2 at C",
            "0 T1 Running",
            "0 T2 awaits m",
            "0 T2 Blocked(Lock)",
            "2 T1 at A",
            // Seen at 7, when it releases the lock.
            "4 T1 at B",
        ]
    );
    assert_eq!(phase(&made, 2, Some(6)).program().elapsed_nanoseconds, 4);
}

#[test]
fn what_left_before_the_phase_leaves_at_its_begin() {
    let made = draw("T1 AAAAAA\nT2 mmmmBB\nT1@1 -> T2@4 message");
    assert!(items(&made, 3, None).contains(&"1 T2 Message from T1@0".to_owned()));
}

#[test]
fn threads_that_are_not_there_are_left_out() {
    let made = draw("a/T1 AA\nb/T2 BBBBBB\nc/T3 ____CC\nT2@4 -> T3 create");
    let early = phase(&made, 0, Some(3));
    let named = |phase: &Phase<&MemoryTimelines>| -> Vec<(String, String)> {
        let threads = &phase.program().threads;
        threads
            .iter()
            .map(|thread| {
                let process = &phase.program().processes[thread.process.index()];
                (process.name.clone(), thread.name.clone())
            })
            .collect()
    };
    let pair = |process: &str, thread: &str| (process.to_owned(), thread.to_owned());
    assert_eq!(named(&early), [pair("a", "T1"), pair("b", "T2")]);
    let late = phase(&made, 3, None);
    assert_eq!(named(&late), [pair("b", "T2"), pair("c", "T3")]);
    let thread = &late.program().threads[1];
    assert_eq!((thread.start.nanoseconds(), thread.creator), (1, Some(ThreadId(0))));
}

#[test]
fn the_share_of_the_cpu_time_is_known() {
    let made = draw("T1 AAAA\nT2 BB~~~~");
    assert!((phase(&made, 0, Some(2)).cpu_share() - 0.4).abs() < 1e-12);
    assert!((phase(&made, 2, None).cpu_share() - 0.6).abs() < 1e-12);
}

#[test]
fn a_procedure_s_span_is_from_its_first_to_its_last_observation_on_any_thread() {
    let made = draw("A = main > load\nB = main > step > inner\nT1 AAAABBAA\nT2 ...BB...");
    let of = |name: &str| {
        let Ok(span) = span_of(&made, made.procedure(name));
        span.map(|(first, last)| (first.nanoseconds(), last.nanoseconds()))
    };
    assert_eq!(of("step"), Some((5, 6)));
    assert_eq!(of("load"), Some((4, 8)));
}
