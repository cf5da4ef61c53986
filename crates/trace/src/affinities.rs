//! On which processors threads may run: as it was told, and before that as their creators.

use std::collections::BTreeMap;

use longpole_event::ThreadId;

use crate::program::{Affinity, Program};
use crate::stream::Axis;

/// Adds what one log tells of its threads, the first of which is `base` in the program.
pub(crate) fn add(program: &mut Program, (told, axis): (&[Affinity], &Axis), base: u32) {
    let threads = program.threads.len();
    let of_program = |told: &Affinity| Affinity {
        time: axis.place(told.time),
        thread: ThreadId(base.saturating_add(told.thread.0)),
        ..*told
    };
    let known = told.iter().map(of_program).filter(|affinity| affinity.thread.index() < threads);
    program.affinities.extend(known);
    inherit(program, base);
}

/// Threads begin where their creators may run.
fn inherit(program: &mut Program, base: u32) {
    if program.affinities.is_empty() {
        return;
    }
    let mut told: BTreeMap<ThreadId, Vec<Affinity>> = BTreeMap::new();
    for affinity in &program.affinities {
        told.entry(affinity.thread).or_default().push(*affinity);
    }
    for (index, thread) in program.threads.iter().enumerate().skip(base as usize) {
        let known = thread.creator.and_then(|creator| told.get(&creator));
        let of_creator = known.and_then(|known| known.iter().rfind(|affinity| affinity.time <= thread.start));
        if let Some(&affinity) = of_creator {
            let begun = Affinity { time: thread.start, thread: ThreadId::from_index(index), ..affinity };
            told.entry(begun.thread).or_default().insert(0, begun);
        }
    }
    program.affinities = told.into_values().flatten().collect();
    program.affinities.sort_by_key(|affinity| affinity.time);
}

#[cfg(test)]
mod tests {
    use longpole_event::{ProcessId, Time};

    use super::*;
    use crate::paths::Paths;
    use crate::program::Thread;

    #[test]
    fn threads_begin_where_their_creators_may_run() {
        let thread = |start: u64, creator: Option<u32>| Thread {
            process: ProcessId(0),
            tid: 1,
            name: String::new(),
            start: Time::from_nanoseconds(start),
            end: None,
            creator: creator.map(ThreadId),
            prefix: Paths::ROOT,
        };
        let told = |thread: u32, time: u64, first: u64| {
            let (count, time) = (first.count_ones(), Time::from_nanoseconds(time));
            Affinity { time, thread: ThreadId(thread), count, first }
        };
        // Thread 0 is pinned at 10, after it made 1 and before it made 2, which made 3; 2 is then told to be elsewhere.
        let threads = vec![thread(0, None), thread(5, Some(0)), thread(20, Some(0)), thread(25, Some(2))];
        let mut program =
            Program { threads, affinities: vec![told(0, 10, 1), told(2, 22, 2)], ..Program::default() };
        inherit(&mut program, 0);
        assert_eq!(program.affinities, [told(0, 10, 1), told(2, 20, 1), told(2, 22, 2), told(3, 25, 2)]);
    }
}
