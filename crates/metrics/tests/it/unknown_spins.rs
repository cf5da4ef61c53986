//! Ranges where nobody sees who ends busy-waits (metrics.md §5): they hold what the program gains that is executed anew without its procedure.
//!
//! A thread that finds a flag set does not wait, and no collector sees that it looked. In the changed run it may have to wait there. So
//! ranges are judged strictly only of programs in which no thread finds a flag set; of the others a few gains are less than promised.
//!
//! `LONGPOLE_PROGRAMS=100000` judges so many programs instead of a thousand.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use longpole_event::Time;
use longpole_metrics::{
    Analysis, ChangeSubject, DetailsDemand, MetricOptions, Node, ReplayDemand, WorkChange, analyse, details,
};
use longpole_testkit::MemoryTimelines;
use longpole_testkit::script::{Conditions, Script, ScriptStep};
use longpole_trace::{
    Acquisition, Cause, DependenceKind, Fold, Folding, Item, ItemKind, ProcedureId, State, TokenId,
};

/// Busy-waits of a smaller part of the run leave ranges as they are.
const LITTLE: f64 = 0.01;

fn programs() -> u64 {
    std::env::var("LONGPOLE_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// The program's timelines as a collector has them that does not see who sets flags.
fn with_unknown_spins(script: &Script, recorded: &Conditions) -> MemoryTimelines {
    let mut timelines = script.timelines(recorded);
    let flag = |item: &Item| match item.what {
        ItemKind::Acquire(Acquisition { token, kind: DependenceKind::Signal, object: None, .. }) => {
            Some(token)
        }
        _ => None,
    };
    let flags: Vec<TokenId> = timelines.items.iter().filter_map(flag).collect();
    timelines.items.retain(|item| match item.what {
        ItemKind::Acquire(Acquisition { token, .. }) | ItemKind::Release(token) => !flags.contains(&token),
        ItemKind::Depend { kind, .. } => kind != DependenceKind::Signal,
        _ => true,
    });
    timelines
}

/// Threads that compute and then spin for flags that others set, in rounds.
fn script_with_flags(seed: u64) -> Script {
    let mut state = seed;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let (threads, rounds) = (2 + below(3), 1 + below(6));
    let list =
        |verb: &str| (0..threads).map(|thread| format!("{verb} T{thread}")).collect::<Vec<_>>().join(", ");
    let mut text = format!("main: {}, {}", list("fork"), list("join"));
    for thread in 0..threads {
        let mut steps = Vec::new();
        for round in 0..=rounds {
            steps.push(format!("{} {}", ["A", "B", "C"][below(3) as usize], 1 + below(90_000)));
            if round < rounds {
                steps.push(format!("set f{round}{thread}"));
                let others = (0..threads).filter(|&other| other != thread && below(2) == 0);
                steps.extend(others.map(|other| format!("spin f{round}{other}")));
            }
        }
        text += &format!("\nT{thread}: {}", steps.join(", "));
    }
    Script::parse(&text)
}

/// Whether all busy-waits are seen, and are more than a little: no step finds its flag set, of which nothing tells.
fn shows_its_spins(timelines: &MemoryTimelines, script: &Script) -> bool {
    let steps = script.threads.iter().flat_map(|thread| &thread.steps);
    let (mut spun, mut seen) = (0, 0);
    let mut since = vec![None; script.threads.len()];
    for item in &timelines.items {
        if let ItemKind::State(state) = item.what {
            let began = since[item.thread.index()].take();
            spun += began.map_or(0, |began: Time| item.time.since(began));
            if state == State::Spinning {
                seen += 1;
                since[item.thread.index()] = Some(item.time);
            }
        }
    }
    let all = steps.filter(|step| matches!(step, ScriptStep::Spin(_))).count();
    seen == all && spun as f64 > LITTLE * timelines.program.elapsed_nanoseconds as f64
}

/// Ranges of gains by whether a program shows its busy-waits, and those that do not hold the truth.
#[derive(Default)]
struct JudgedRanges {
    judged: [usize; 2],
    missed: [Vec<String>; 2],
}

impl JudgedRanges {
    fn judge(&mut self, shows: bool, (low, high): (f64, f64), truth: f64, what: impl Fn() -> String) {
        let kind = usize::from(!shows);
        self.judged[kind] += 1;
        if truth < low - 1.0 || truth > high + 1.0 {
            self.missed[kind].push(format!("{}: {low:.0} to {high:.0} for {truth:.0}", what()));
        }
    }

    fn check(&self) {
        let JudgedRanges { judged, missed: [shown, hidden] } = self;
        assert!(shown.is_empty(), "{} of {judged:?}: {:?}", shown.len(), &shown[..shown.len().min(10)]);
        assert!(hidden.len() * 20 < judged[1], "{} of {judged:?}: {:?}", hidden.len(), &hidden[..10]);
        assert!(judged[0] * 40 > judged[1], "{judged:?}");
    }
}

/// What the program gains without part of a procedure's work.
fn truth(script: &Script, procedure: usize, factor: f64) -> f64 {
    let recorded = Conditions::unlimited();
    let after = script.execute(&recorded.clone().with(procedure, factor)).elapsed;
    script.execute(&recorded).elapsed as f64 - after as f64
}

/// A program as it was recorded, with its analysis.
struct RecordedScript {
    seed: u64,
    script: Script,
    timelines: MemoryTimelines,
    analysis: Analysis,
    shows: bool,
}

/// Random programs whose busy-waits nobody is seen to end.
fn recorded_scripts() -> impl Iterator<Item = RecordedScript> {
    (0..programs()).map(|seed| {
        let script = script_with_flags(seed);
        let timelines = with_unknown_spins(&script, &Conditions::unlimited());
        let shows = shows_its_spins(&timelines, &script);
        let analysis = analyse(&timelines, &MetricOptions::default()).unwrap();
        RecordedScript { seed, script, timelines, analysis, shows }
    })
}

#[test]
fn replay() {
    let (mut ranges, options) = (JudgedRanges::default(), MetricOptions::default());
    for RecordedScript { seed, script, timelines, analysis, shows } in recorded_scripts() {
        let folding = Folding::new(&timelines.paths, Fold::None);
        let index = seed as usize % script.procedures.len();
        for factor in [0.0, 0.5] {
            let subject = ChangeSubject::Procedure(ProcedureId(index as u32));
            let changes = vec![WorkChange { subject, factor }];
            let demand = ReplayDemand { changes, ..ReplayDemand::default() };
            if let Ok(found) =
                longpole_metrics::replay(&timelines, &options, &analysis, &demand, &folding).unwrap()
            {
                let range = (found.alone[0].low, found.alone[0].high);
                ranges.judge(shows, range, truth(&script, index, factor), || format!("{seed} {factor}"));
            }
        }
    }
    ranges.check();
}

/// The least of what the list of changes says.
#[test]
fn executions() {
    let (mut ranges, options) = (JudgedRanges::default(), MetricOptions::default());
    let demand = DetailsDemand { prospects: true, ..DetailsDemand::default() };
    for RecordedScript { seed, script, timelines, analysis, shows } in recorded_scripts() {
        let executions = details(&timelines, &options, &demand, &analysis).unwrap().executions.unwrap();
        for index in 0..script.procedures.len() {
            let node = Node::Procedure(ProcedureId(index as u32));
            let Some(gain) = executions.gains.get(&node) else { continue };
            // Its high end is other metrics' word.
            let range = (gain.least.free, f64::INFINITY);
            ranges.judge(shows, range, truth(&script, index, 0.0), || format!("{seed} {index}"));
        }
    }
    ranges.check();
}

/// Looks of a thread that polls, of each of its waits.
const LOOKS: u64 = 8;
/// How long a look takes, nanoseconds.
const LOOK: u64 = 20;

/// The same run of a program whose threads do not spin for flags, but sleep, look, and sleep again; and whether each does so in all its
/// waits. A wait of one sleep cannot be told from a sleep.
fn polling(mut timelines: MemoryTimelines) -> (MemoryTimelines, bool) {
    let mut all_look = true;
    let mut since = std::collections::BTreeMap::new();
    let mut slept = Vec::new();
    for item in &mut timelines.items {
        let ItemKind::State(state) = item.what else { continue };
        if let Some(began) = since.remove(&item.thread) {
            let period = item.time.since(began) / LOOKS;
            all_look &= period > 20 * LOOK;
            let looks =
                (1..LOOKS).filter(|_| period > 20 * LOOK).map(|look| began.nanoseconds() + look * period);
            let state = |time: u64, state: State| Item {
                time: Time::from_nanoseconds(time),
                thread: item.thread,
                what: ItemKind::State(state),
            };
            for look in looks {
                slept.push(state(look, State::Running));
                slept.push(state(look + LOOK, State::Blocked(Cause::Sleep)));
            }
        }
        if state == State::Spinning {
            item.what = ItemKind::State(State::Blocked(Cause::Sleep));
            since.insert(item.thread, item.time);
        }
    }
    timelines.items.extend(slept);
    timelines.items.sort_by_key(|item| item.time);
    (timelines, all_look)
}

/// What-if and replay of programs whose threads poll by sleeping: what they look for is nowhere in the recording.
#[test]
fn polls() {
    let (mut executed, mut replayed, options) =
        (JudgedRanges::default(), JudgedRanges::default(), MetricOptions::default());
    for RecordedScript { seed, script, timelines, shows, .. } in recorded_scripts() {
        let (timelines, all_look) = polling(timelines);
        let shows = shows && all_look;
        let analysis = analyse(&timelines, &options).unwrap();
        let folding = Folding::new(&timelines.paths, Fold::None);
        let index = seed as usize % script.procedures.len();
        for factor in [0.0, 0.5] {
            let subject = ChangeSubject::Procedure(ProcedureId(index as u32));
            let changes = vec![WorkChange { subject, factor }];
            let found =
                longpole_metrics::what_if(&timelines, &options, &analysis, &changes, &folding).unwrap();
            let truth = truth(&script, index, factor);
            // Looks are work of the run.
            let error = (LOOK * LOOKS) as f64
                * script.threads.iter().map(|thread| thread.steps.len()).sum::<usize>() as f64;
            let range = (found.together.elapsed_least - error, found.together.elapsed_most + error);
            executed.judge(shows, range, truth, || format!("{seed} {factor}"));
            let demand = ReplayDemand { changes, ..ReplayDemand::default() };
            if let Ok(found) =
                longpole_metrics::replay(&timelines, &options, &analysis, &demand, &folding).unwrap()
            {
                let range = (found.alone[0].low - error, found.alone[0].high + error);
                replayed.judge(shows, range, truth, || format!("{seed} {factor} replayed"));
            }
        }
    }
    println!("{:?} {:?}", executed.judged, replayed.judged);
    executed.check();
    replayed.check();
}
