use longpole_testkit::MemoryTimelines;
use longpole_testkit::script::{Conditions, Script, ScriptStep, random_script, random_script_with_a_mutex};
use longpole_trace::{Fold, ProcedureId};

use super::*;
use crate::analyse;

/// How many random programs are judged; `LONGPOLE_PROGRAMS` says another number.
fn programs() -> u64 {
    std::env::var("LONGPOLE_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

fn conditions(processors: usize) -> Conditions {
    Conditions { processors, quantum: QUANTUM, ..Conditions::unlimited() }
}

/// Of scripts whose times are at odds.
const QUANTUM: u64 = 11_003;

/// The script with times at odds, so that no two threads come to one lock or processor at the same moment by chance: where they do,
/// nothing determines who is first.
fn at_odds(mut script: Script, seed: u64) -> Script {
    let mut state = seed;
    let mut odd = |time: &mut u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *time = *time * 1009 + (state >> 40) % 1009;
    };
    for step in script.threads.iter_mut().flat_map(|thread| &mut thread.steps) {
        match step {
            ScriptStep::Compute(_, time) | ScriptStep::Sleep(time) => odd(time),
            _ => {}
        }
    }
    script
}

/// A script's run as a plan, in which all locks are arbitrated.
struct ReplayedScript {
    plan: ExecutionPlan,
    scheduler: SchedulerModel,
    mutexes: Vec<ObjectId>,
}

impl ReplayedScript {
    fn of(script: &Script, recorded: &Conditions) -> ReplayedScript {
        let timelines = script.timelines(recorded);
        let Ok(uses) = LockUses::of(&timelines);
        let Ok(foresight) = LaneLookahead::with(&timelines, crate::Order::default(), &uses);
        let Ok(analysis) = analyse(&timelines, &MetricOptions::default());
        let Ok(plan) = ExecutionPlan::arbitrated(&timelines, &analysis, &foresight, &uses);
        let mutexes = uses.orders().into_iter().map(|(lock, _)| lock).collect();
        let scheduler = schedulers(&timelines.program)[0];
        ReplayedScript { plan: plan.expect("few steps"), scheduler, mutexes }
    }

    /// What the run takes on so many processors with this procedure at this factor, without the mutexes where `is_free`.
    fn elapsed(&self, changed: (usize, f64), processors: usize, is_free: bool) -> u64 {
        let conditions = ReplayConditions {
            processors: Some(processors.min(1 << 20) as u32),
            quantum: QUANTUM,
            scheduler: self.scheduler,
            policy: LockPolicy::HandOver,
            latency: self.plan.latency(),
            io: 1.0,
            seed: 0,
            draws: None,
        };
        self.elapsed_under(changed, conditions, is_free)
    }

    fn elapsed_under(
        &self,
        (procedure, factor): (usize, f64),
        conditions: ReplayConditions,
        is_free: bool,
    ) -> u64 {
        // Each procedure of a script has the path after its own number; 0 is the root.
        let work =
            move |_: ThreadId, path: PathId| if path.0 as usize == procedure + 1 { factor } else { 1.0 };
        let changed = PlaceFactors::of_work(work);
        let run = self.plan.replay(&changed, |object| is_free && self.mutexes.contains(&object), conditions);
        assert_eq!(run.stuck, 0);
        run.elapsed
    }
}

fn without_flags(script: Script) -> Script {
    script.without_steps(|step| matches!(step, ScriptStep::Set(_) | ScriptStep::Spin(_)))
}

/// Replay is the program executed anew: with any procedure at any factor, on any number of processors.
#[test]
fn replay_is_the_program_executed_anew() {
    let mut wrong = Vec::new();
    for seed in 0..programs() {
        let script = at_odds(random_script_with_a_mutex(seed, 12 + (seed % 60) as usize), seed);
        // Whether a thread would spin or sleep is known of waits that happened alone.
        let recorded = [usize::MAX, 1, 2, 3][seed as usize % 4];
        let script = if recorded == usize::MAX { script } else { without_flags(script) };
        let replayed = ReplayedScript::of(&script, &conditions(recorded));
        let procedure = seed as usize % script.procedures.len();
        for processors in [recorded, 1, 2, 4] {
            if recorded == usize::MAX && processors != recorded {
                continue;
            }
            for factor in [1.0, 0.0, 3.0] {
                let truth = script.execute(&conditions(processors).with(procedure, factor)).elapsed;
                let found = replayed.elapsed((procedure, factor), processors, false);
                if found != truth {
                    wrong.push((seed, recorded, processors, procedure, factor, truth, found));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

/// The same where each processor has a queue of its own, as under real-time policies.
#[test]
fn replay_has_the_queues_of_processors_that_a_real_time_policy_has() {
    let mut wrong = Vec::new();
    for seed in 0..programs() {
        let script = at_odds(random_script_with_a_mutex(seed, 12 + (seed % 60) as usize), seed);
        let script = without_flags(script);
        let recorded = [2, 3][seed as usize % 2];
        let own = |processors| Conditions { has_own_queues: true, ..conditions(processors) };
        let replayed = ReplayedScript::of(&script, &own(recorded));
        let procedure = seed as usize % script.procedures.len();
        for (processors, factor) in [(recorded, 1.0), (recorded, 0.0), (recorded, 3.0), (2, 2.0), (4, 0.0)] {
            let truth = script.execute(&own(processors).with(procedure, factor)).elapsed;
            let found = replayed.elapsed((procedure, factor), processors, false);
            if found != truth {
                wrong.push((seed, recorded, processors, procedure, factor, truth, found));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

/// `programs/fork_join.c` on two processors: without half of P1 it takes as long where P1 has a processor for itself, and less where all
/// share both.
#[test]
fn a_range_holds_both_placements_where_the_policy_does_not_determine_one() {
    const TURN: u64 = 1_103;
    let script = Script::parse(
        "main: fork F, fork G, fork H, join F, join G, join H, D 100000\nF: A 120000\nG: B 90000\nH: C 30000",
    );
    let demand = ReplayDemand {
        changes: vec![procedure(&script, "A", 0.5)],
        quantum: Some(TURN),
        ..ReplayDemand::default()
    };
    let shared_by_two = Conditions { quantum: TURN, ..conditions(2) };
    let fair = demanded(&script, &shared_by_two, &demand).expect("it is reproduced");
    let own = Conditions { has_own_queues: true, ..shared_by_two.clone() };
    let real_time = demanded(&script, &own, &demand).expect("it is reproduced");
    let half = |conditions: &Conditions| {
        let after = script.execute(&conditions.clone().with(script.procedure("A"), 0.5)).elapsed;
        script.execute(conditions).elapsed as f64 - after as f64
    };
    let (shared, kept) = (half(&shared_by_two), half(&own));
    assert!(shared > 15_000.0 && kept < 5_000.0, "{shared} {kept}");
    assert!(fair.is_placement_open && fair.alone[0].low < kept && shared < fair.alone[0].high, "{fair:?}");
    assert_eq!((real_time.scheduler, real_time.is_placement_open), (SchedulerModel::RealTime, false));
    assert!(real_time.alone[0].high < 0.25 * shared, "{real_time:?}");
}

#[test]
fn a_lock_removed_is_the_program_without_it() {
    let mut wrong = Vec::new();
    for seed in 0..programs() {
        let script =
            without_flags(at_odds(random_script_with_a_mutex(seed, 12 + (seed % 60) as usize), seed));
        let free = script.without_steps(|step| matches!(step, ScriptStep::Lock(_) | ScriptStep::Unlock(_)));
        let recorded = [usize::MAX, 1, 2, 3][seed as usize % 4];
        let replayed = ReplayedScript::of(&script, &conditions(recorded));
        let truth = free.execute(&conditions(recorded)).elapsed;
        let found = replayed.elapsed((0, 1.0), recorded, true);
        if found != truth {
            wrong.push((seed, recorded, truth, found));
        }
    }
    assert!(wrong.is_empty(), "{} differ: {:?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}

/// The thread that gives a lock back and comes again at once has it before the other one is awake (`programs/busy_lock.c`).
#[test]
fn a_lock_that_is_taken_again_at_once_is_not_handed_over() {
    let holder = |held: &str, between: &str| format!("lock m, {held}, unlock m, {between}, ").repeat(20);
    let text = format!(
        "main: fork L, fork R, join L, join R\nL: {}X 1\nR: Y 1, {}X 1",
        holder("A 1000", "U 200"),
        holder("B 900", "V 300")
    );
    let script = Script::parse(&text);
    let replayed = ReplayedScript::of(&script, &Conditions::unlimited());
    let conditions = ReplayConditions {
        processors: None,
        quantum: QUANTUM,
        scheduler: SchedulerModel::Even,
        policy: LockPolicy::Barging,
        latency: 5,
        io: 1.0,
        seed: 0,
        draws: None,
    };
    let elapsed = |name: &str| {
        let factor = if name.is_empty() { 1.0 } else { 0.0 };
        let procedure = script.procedures.iter().position(|own| own == name).unwrap_or_default();
        replayed.elapsed_under((procedure, factor), conditions, false)
    };
    // L begins after its latency. By turns: 20 holds of each, at each hand-off 5 until the other one is awake, and the last V.
    assert_eq!(elapsed(""), 5 + 20 * (1000 + 900) + 39 * 5 + 300 + 1);
    // L has it 20 times in a row; then R is awake, which has waited since 6, and goes on alone.
    assert_eq!(elapsed("U"), 5 + 20 * 1000 + 5 + 20 * (900 + 300) + 1);
    // After L's first hold R has it 20 times in a row; then L is awake.
    assert_eq!(elapsed("V"), 5 + 1000 + 5 + 20 * 900 + 5 + 19 * (1000 + 200) + 1);
}

fn demanded(script: &Script, recorded: &Conditions, demand: &ReplayDemand) -> Result<Replay, ReplayRefusal> {
    demanded_of(&script.timelines(recorded), demand)
}

fn demanded_of(timelines: &MemoryTimelines, demand: &ReplayDemand) -> Result<Replay, ReplayRefusal> {
    let options = MetricOptions::default();
    let Ok(analysis) = analyse(timelines, &options);
    let folding = Folding::new(&timelines.paths, Fold::None);
    let Ok(found) = replay(timelines, &options, &analysis, demand, &folding);
    found
}

/// Two threads that wait for a lock, of whose holds nobody tells.
fn without_holds() -> MemoryTimelines {
    let script = Script::parse("main: fork W, lock m, X 9, unlock m, join W\nW: A 1, lock m, Y 5, unlock m");
    let mut timelines = script.timelines(&Conditions::unlimited());
    timelines.items.retain(|item| !matches!(item.what, longpole_trace::ItemKind::Held(_)));
    timelines
}

fn procedure(script: &Script, name: &str, factor: f64) -> WorkChange {
    let id = ProcedureId(script.procedure(name) as u32);
    WorkChange { subject: ChangeSubject::Procedure(id), factor }
}

#[test]
fn a_convoy_dissolves_where_what_its_threads_do_between_becomes_shorter() {
    // Both take m in turn; without A the first one has it nearly always, and the second one waits, for which holds add up.
    let text = "main: fork L, fork R, join L, join R\n".to_owned()
        + "L: "
        + &"A 30, lock m, H 10, unlock m, ".repeat(20)
        + "A 1\n"
        + "R: "
        + &"B 26, lock m, G 12, unlock m, ".repeat(20)
        + "B 1";
    let script = at_odds(Script::parse(&text), 7);
    let demand = ReplayDemand {
        changes: vec![procedure(&script, "A", 0.0), procedure(&script, "B", 0.5)],
        quantum: Some(QUANTUM),
        policy: Some(LockPolicy::HandOver),
        ..ReplayDemand::default()
    };
    let found = demanded(&script, &Conditions::unlimited(), &demand).expect("it is reproduced");
    let whole = script.execute(&Conditions::unlimited()).elapsed;
    let truth = |changed: Conditions| whole as f64 - script.execute(&changed).elapsed as f64;
    let (a, b) = (script.procedure("A"), script.procedure("B"));
    let truths = [
        (found.alone[0], truth(Conditions::unlimited().with(a, 0.0))),
        (found.alone[1], truth(Conditions::unlimited().with(b, 0.5))),
        (found.together, truth(Conditions::unlimited().with(a, 0.0).with(b, 0.5))),
    ];
    for (range, truth) in truths {
        assert!((range.middle - truth).abs() < 40.0 && range.low <= range.middle, "{range:?} {truth}");
        assert!(range.high - range.low < 0.25 * range.middle.abs() + 0.05 * whole as f64, "{range:?}");
    }
    assert!(found.error.abs() < 0.001, "{}", found.error);
    assert_eq!(found.locks.iter().map(|own| own.1).collect::<Vec<_>>(), [ReplayedOrder::Arbitrated]);
}

#[test]
fn more_processors_help_until_a_lock_is_always_held() {
    let worker = |name: &str| format!("{name}: ") + &"W 30, lock m, H 10, unlock m, ".repeat(20) + "W 1\n";
    let names = ["A", "B", "C", "D", "E", "F", "G", "I"];
    let all = |verb: &str| names.map(|name| format!("{verb} {name}, ")).concat();
    let text = format!("main: {}{}W 1\n", all("fork"), all("join")) + &names.map(worker).concat();
    let script = Script::parse(&text);
    let demand = ReplayDemand {
        processors: vec![1, 2, 4, 8],
        quantum: Some(11),
        policy: Some(LockPolicy::HandOver),
        ..ReplayDemand::default()
    };
    let found = demanded(&script, &conditions(2), &demand).expect("it is reproduced");
    for (point, processors) in found.curve.iter().zip([1, 2, 4, 8]) {
        let truth = found.elapsed as f64 - script.execute(&conditions(processors)).elapsed as f64;
        let slack = 0.03 * found.elapsed as f64;
        let (low, high) = (point.gain.low - slack, point.gain.high + slack);
        assert!(low <= truth && truth <= high, "{point:?} {truth}");
    }
    let [one, .., eight] = found.curve.as_slice() else { panic!("four points") };
    assert!(one.busy > 0.99 && eight.busy < 0.6, "{:?}", found.curve);
    assert!(eight.lock.is_some_and(|(_, held)| held > 0.95), "{eight:?}");
}

#[test]
fn what_has_no_holds_keeps_its_recorded_order_and_says_so() {
    let timelines = without_holds();
    let found = demanded_of(&timelines, &ReplayDemand::default());
    assert_eq!(found.expect("it is reproduced").locks, [(timelines.object("m"), ReplayedOrder::Untold)]);
}

#[test]
fn a_run_that_is_not_reproduced_is_refused_with_how_far_it_is_off() {
    let script = random_script(3, 40);
    let mut timelines = script.timelines(&Conditions::unlimited());
    timelines.program.elapsed_nanoseconds *= 2;
    let options = MetricOptions::default();
    let Ok(analysis) = analyse(&timelines, &options);
    let folding = Folding::new(&timelines.paths, Fold::None);
    let Ok(found) = replay(&timelines, &options, &analysis, &ReplayDemand::default(), &folding);
    let Err(ReplayRefusal::Missed(missed)) = found else { panic!("{found:?}") };
    assert!((missed + 0.5).abs() < 0.01, "{missed}");
}

/// T1 holds a lock when it comes to wait for what T2 does behind the same lock: as recorded T2 was first, without A it is not.
#[test]
fn a_changed_run_in_which_threads_wait_for_ever_is_no_gain() {
    use crate::charging::ChargePart;
    use crate::execution::{CompactObjectId, NodeId, PlanStep, ThreadPlan};
    let script = Script::parse("main: fork T, A 1000, lock m, unlock m, join T\nT: B 500, lock m, unlock m");
    let timelines = script.timelines(&Conditions::unlimited());
    let lock = CompactObjectId::new(timelines.object("m")).expect("an object");
    let path = |name: &str| ChargePart::At(PathId(script.procedure(name) as u32 + 1));
    let (node, releases, object, spins) = (NodeId(0), 1, None, false);
    let waits = PlanStep::Wait { node, releases, object, spins };
    let thread = |steps: Vec<PlanStep>| ThreadPlan { steps, machine: 0, is_killed: false };
    let plan = ExecutionPlan {
        threads: vec![
            thread(vec![
                PlanStep::Work { place: 0, time: 1000 },
                PlanStep::Lock(lock),
                waits,
                PlanStep::Unlock(lock),
            ]),
            thread(vec![
                PlanStep::Work { place: 1, time: 500 },
                PlanStep::Lock(lock),
                PlanStep::Release(node),
                PlanStep::Unlock(lock),
            ]),
        ],
        places: vec![(ThreadId(0), path("A")), (ThreadId(1), path("B"))],
        nodes: 1,
        objects: timelines.objects().all().len(),
        processors: vec![2],
        elapsed: 1000,
        ..ExecutionPlan::default()
    };
    let Ok(uses) = LockUses::of(&timelines);
    let replayable = ReplayablePlan {
        plan,
        uses,
        quantum: QUANTUM,
        latency: 0,
        policy: LockPolicy::Barging,
        scheduler: SchedulerModel::Even,
        other_schedulers: Vec::new(),
        unchanged: 1000,
        queued: 0,
        nearest: None,
        unordered: None,
    };
    let folding = Folding::new(&timelines.paths, Fold::None);
    let changed = |name: &str| {
        let demand = ReplayDemand { changes: vec![procedure(&script, name, 0.0)], ..ReplayDemand::default() };
        let rules = ChangeRules::new(&timelines, &demand.changes, &folding);
        replayable.changed(&rules, &demand).map(|found| found.alone[0].middle.round())
    };
    assert_eq!(changed("B"), Ok(0.0));
    assert_eq!(changed("A"), Err(ReplayRefusal::ChangedStuck(2)));
}

/// A thread works in and outside of its holds by the same procedure: holds alone become shorter.
#[test]
fn holds_of_a_lock_become_shorter_without_the_work_beside_them() {
    let text = |hold: u32| {
        let worker = |name: &str, out: u32| {
            format!("{name}: ")
                + &format!("W {out}, lock m, W {hold}, H {hold}, unlock m, ").repeat(30)
                + "W 1\n"
        };
        "main: fork L, fork R, fork S, join L, join R, join S\n".to_owned()
            + &worker("L", 30)
            + &worker("R", 26)
            + &worker("S", 33)
    };
    let script = at_odds(Script::parse(&text(20)), 3);
    let change = |factor| WorkChange { subject: ChangeSubject::Holds(vec![ObjectId(0)]), factor };
    let demand = ReplayDemand {
        changes: vec![change(0.5), change(0.0), procedure(&script, "H", 0.5)],
        quantum: Some(QUANTUM),
        policy: Some(LockPolicy::HandOver),
        ..ReplayDemand::default()
    };
    let found = demanded(&script, &Conditions::unlimited(), &demand).expect("it is reproduced");
    let elapsed = |hold| at_odds(Script::parse(&text(hold)), 3).execute(&Conditions::unlimited()).elapsed;
    let gain = |hold| elapsed(20) as f64 - elapsed(hold) as f64;
    assert!(gain(10) > 0.4 * elapsed(20) as f64, "the lock binds");
    for (range, truth) in [(found.alone[0], gain(10)), (found.alone[1], gain(0))] {
        assert!((range.middle - truth).abs() < 0.02 * elapsed(20) as f64, "{range:?} {truth}");
    }
    assert!(found.alone[2].middle < 0.7 * found.alone[0].middle, "half of the hold is W");
}

#[test]
fn holds_that_are_not_known_become_no_shorter() {
    let timelines = without_holds();
    let subject = ChangeSubject::Holds(vec![timelines.object("m")]);
    let demand =
        ReplayDemand { changes: vec![WorkChange { subject, factor: 0.5 }], ..ReplayDemand::default() };
    let found = demanded_of(&timelines, &demand);
    assert_eq!(found, Err(ReplayRefusal::UnknownHolds(Some(ReplayedOrder::Untold))));
}
