//! Parts of drawn runs.

use std::cell::Cell;
use std::convert::Infallible;

use longpole_event::{ThreadId, Time};
use longpole_testkit::{MemoryTimelines, draw, random_timelines};
use longpole_trace::{Item, ItemKind, Objects, PathId, Paths, Phase, Program, Timelines, span_of};
use proptest::prelude::*;

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
            ItemKind::Observe { path, .. } => format!("at {}", name(path)),
            ItemKind::State(state) => format!("{state:?}"),
            ItemKind::Await(object) => format!("awaits {}", made.objects.get(object).name),
            ItemKind::Release(token) => format!("releases {}", token.0),
            ItemKind::Acquire(acquisition) => format!("acquires {}", acquisition.token.0),
            ItemKind::Written { path, .. } => format!("written at {}", name(path)),
            ItemKind::Held(hold) => format!("held {}", made.objects.get(hold.object).name),
            ItemKind::Depend { source, source_time, kind } => {
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

/// Timelines that count how often they are read.
struct Counted<'a>(&'a MemoryTimelines, Cell<usize>);

impl Timelines for Counted<'_> {
    type Error = Infallible;

    fn program(&self) -> &Program {
        self.0.program()
    }

    fn paths(&self) -> &Paths {
        self.0.paths()
    }

    fn objects(&self) -> &Objects {
        self.0.objects()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Item)) -> Result<(), Infallible> {
        self.1.set(self.1.get() + 1);
        self.0.for_each(visit)
    }
}

proptest! {
    #[test]
    fn a_phase_says_the_same_whether_its_items_are_kept_or_read_again(
        made in random_timelines(6, 120),
        from in 0_u64..100,
        length in 1_u64..100,
    ) {
        let elapsed = made.program.elapsed_nanoseconds;
        let (from, to) = (elapsed * from / 100, (elapsed * (from + length) / 100).max(elapsed * from / 100 + 1));
        let counted = Counted(&made, Cell::new(0));
        // Three readings of each: the first one is that of `keeping`.
        let read = |most: usize| {
            let Ok(phase) = Phase::keeping(most, &counted, Time::from_nanoseconds(from), Some(Time::from_nanoseconds(to)));
            let once = || {
                let mut items = Vec::new();
                let Ok(()) = phase.for_each(&mut |item| items.push(*item));
                items
            };
            let (first, second) = (once(), once());
            prop_assert_eq!(&first, &second);
            Ok((first, counted.1.replace(0)))
        };
        let (kept, readings) = read(usize::MAX)?;
        prop_assert_eq!(readings, 1);
        let (again, readings) = read(0)?;
        prop_assert_eq!(&kept, &again);
        // A phase in which nothing happens has nothing to be read again.
        prop_assert!(readings == 3 || readings == 1);
    }
}
