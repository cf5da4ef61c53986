//! Threads that take items from one queue (metrics.md §5): predictions are what the program gains that is executed anew without a procedure, in
//! which items go to whoever comes first then.
//!
//! A program is a list of items, each with the time at which it is put and what is done for it. Who takes which item follows from that: the
//! thread that is free first takes the next one. So the program is written down anew for the recorded run and for the changed one.
//!
//! `LONGPOLE_PROGRAMS=100000` judges so many programs instead of 150.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use longpole_metrics::{
    ChangeSubject, DetailsDemand, MetricOptions, Node, ReplayDemand, WorkChange, analyse, details, replay,
};
use longpole_testkit::script::{Conditions, Script};
use longpole_trace::{Fold, Folding, ProcedureId};

/// What is done for an item: a procedure and its time; `None`: the thread that takes it ends.
type QueuedItem = Option<(usize, u64)>;

const PROCEDURES: [&str; 3] = ["A", "B", "C"];

struct QueueProgram {
    threads: usize,
    /// Time before each item is put, and the item.
    items: Vec<(u64, QueuedItem)>,
}

impl QueueProgram {
    fn random(seed: u64) -> QueueProgram {
        let mut state = seed;
        let mut below = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let (threads, items) = (2 + below(3) as usize, 3 + below(25));
        let pause = [1, 2_000, 20_000][below(3) as usize];
        let large = [1, 10][below(2) as usize];
        let mut all: Vec<(u64, QueuedItem)> = (0..items)
            .map(|_| {
                let procedure = below(3) as usize;
                let time = 1_000 + below(20_000) * if procedure == 0 { large } else { 1 };
                (1 + below(pause), Some((procedure, time)))
            })
            .collect();
        all.extend((0..threads).map(|_| (1, None)));
        QueueProgram { threads, items: all }
    }

    /// The program with this procedure's times multiplied.
    fn script(&self, changed: Option<(usize, u64)>) -> Script {
        let work = |(procedure, time): (usize, u64)| match changed {
            Some((of, factor)) if of == procedure => time * factor / 100,
            _ => time,
        };
        let mut main = String::from("main: ");
        let mut steps = vec![String::new(); self.threads];
        let mut free = vec![0; self.threads];
        let mut now = 0;
        (0..self.threads).for_each(|thread| main += &format!("fork T{thread}, "));
        for &(pause, item) in &self.items {
            now += pause;
            main += &format!("M {pause}, put q, ");
            // The thread that came to the queue first.
            let first = (0..self.threads).min_by_key(|&thread| (free[thread], thread)).unwrap();
            steps[first] += "get q, ";
            let Some((procedure, time)) = item else {
                free[first] = u64::MAX;
                continue;
            };
            let time = work((procedure, time));
            free[first] = free[first].max(now) + time;
            if time > 0 {
                steps[first] += &format!("{} {time}, ", PROCEDURES[procedure]);
            }
        }
        (0..self.threads).for_each(|thread| main += &format!("join T{thread}, "));
        let threads = steps.iter().enumerate().map(|(thread, steps)| format!("T{thread}: {steps}"));
        let text = format!("queue q = 0\n{main}\n{}", threads.collect::<Vec<_>>().join("\n"));
        Script { shares_items: true, ..Script::parse(&text) }
    }
}

fn programs() -> u64 {
    std::env::var("LONGPOLE_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

#[test]
fn items_go_to_whoever_comes_first_in_the_changed_run() {
    let (mut judged, mut moved, mut missed) = (0, 0, Vec::new());
    for seed in 0..programs() {
        let program = QueueProgram::random(seed);
        let recorded = program.script(None);
        let conditions = Conditions::unlimited();
        let before = recorded.execute(&conditions).elapsed as f64;
        let timelines = recorded.timelines(&conditions);
        let options = MetricOptions::default();
        let analysis = analyse(&timelines, &options).unwrap();
        let folding = Folding::new(&timelines.paths, Fold::None);
        let demand = DetailsDemand { prospects: true, ..DetailsDemand::default() };
        let executions = details(&timelines, &options, &demand, &analysis).unwrap().executions.unwrap();
        for (number, name) in PROCEDURES.iter().enumerate() {
            let Some(procedure) = recorded.procedures.iter().position(|known| known == name) else {
                continue;
            };
            for factor in [0, 50] {
                let truth =
                    before - program.script(Some((number, factor))).execute(&conditions).elapsed as f64;
                // The same threads with the same items.
                let kept = before
                    - recorded.execute(&conditions.clone().with(procedure, factor as f64 / 100.0)).elapsed
                        as f64;
                let change = WorkChange {
                    subject: ChangeSubject::Procedure(ProcedureId(procedure as u32)),
                    factor: factor as f64 / 100.0,
                };
                let demand = ReplayDemand { changes: vec![change], ..ReplayDemand::default() };
                let found = replay(&timelines, &options, &analysis, &demand, &folding).unwrap();
                let gain = found.unwrap_or_else(|refusal| panic!("program {seed}: {refusal:?}")).alone[0];
                let off = (gain.middle - truth).abs() / before;
                missed.extend((off > 0.02 || gain.low > truth + 1.0 || truth > gain.high + 1.0).then(|| {
                    format!("program {seed}: {name} at {factor} % gains {truth}, not {gain:?}, of {before}")
                }));
                // Only what is worth it is executed.
                if factor == 0
                    && let Some(executed) =
                        executions.gains.get(&Node::Procedure(ProcedureId(procedure as u32)))
                {
                    missed.extend(((executed.free - truth).abs() > 0.02 * before).then(|| {
                        format!("program {seed}: without {name} {truth}, not {} of {before}", executed.free)
                    }));
                }
                judged += 1;
                moved += usize::from((kept - truth).abs() > 0.02 * before);
            }
        }
    }
    // Where two orders are nearly equal, a little changes the run much; a queue from which one thread takes nearly all is none.
    assert!(missed.len() * 500 <= judged, "{} of {judged}: {missed:#?}", missed.len());
    assert!(
        judged > 3 * programs() as usize && moved * 10 > judged,
        "{moved} of {judged} depend on who takes which item"
    );
}
