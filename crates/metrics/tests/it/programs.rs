//! The law of predictions (metrics.md §10): what-if of X is the path of the program without X, executed anew.
//!
//! Programs are executed once as a collector records them (two processors, sleeps, spins) and once with a procedure
//! changed. By CPU weight the truth is an execution on as many processors as wanted, without sleeps; by elapsed weight one on as
//! many processors as wanted with the sleeps, against a recording of such a run.
//!
//! `LONGPOLE_PROGRAMS=100000` judges so many programs instead of a thousand.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::collections::BTreeSet;

use longpole_metrics::{
    Analysis, By, ChangeSubject, DetailsDemand, Gain, Gains, GainsOf, MetricOptions, Node, Order,
    PathSegment, PredictedGain, Weight, WorkChange, analyse, details, what_if,
};
use longpole_testkit::MemoryTimelines;
use longpole_testkit::script::{
    Conditions, Script, ScriptEvent, ScriptStep, random_script, random_script_with_a_mutex,
    random_script_with_calls,
};
use longpole_trace::{Fold, Folding, ObjectId, ObjectKind, ProcedureId, Timelines};

fn programs() -> u64 {
    std::env::var("LONGPOLE_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// How a collector's machine runs it.
fn recorded_on(processors: usize) -> Conditions {
    Conditions { processors, quantum: 11, ..Conditions::unlimited() }
}

/// Length of the path by CPU time: nothing but work and its order.
fn path(script: &Script, procedure: usize, factor: f64) -> u64 {
    let conditions = Conditions { sleep: 0.0, ..Conditions::unlimited() };
    script.execute(&conditions.with(procedure, factor)).elapsed
}

fn alone(timelines: &MemoryTimelines, procedure: usize, factor: f64) -> PredictedGain {
    let subject = ChangeSubject::Procedure(ProcedureId(procedure as u32));
    let changes = [WorkChange { subject, factor }];
    let folding = Folding::new(timelines.paths(), Fold::None);
    let Ok(analysis) = analyse(timelines, &MetricOptions::default());
    let Ok(what_if) = what_if(timelines, &MetricOptions::default(), &analysis, &changes, &folding);
    what_if.alone[0]
}

#[test]
fn zeroing_is_the_path_of_the_program_without_the_procedure() {
    for seed in 0..programs() {
        let script = random_script(seed, 12 + (seed % 60) as usize);
        let timelines = script.timelines(&recorded_on(2));
        let Ok(analysis) = analyse(&timelines, &MetricOptions::default());
        let whole = path(&script, 0, 1.0);
        assert_eq!(analysis.critical_cpu.length, whole, "program {seed}:\n{}", script.text());
        let procedure = seed as usize % script.procedures.len();
        for factor in [0.0, 0.5, 2.0] {
            let truth = whole as f64 - path(&script, procedure, factor) as f64;
            let found = alone(&timelines, procedure, factor).path;
            // Half a nanosecond may be rounded at each step.
            let slack =
                if factor == 0.5 { script.threads.iter().map(|t| t.steps.len()).sum::<usize>() } else { 0 };
            assert!(
                (found - truth).abs() <= slack as f64 / 2.0,
                "program {seed}: P{procedure} at {factor} gains {truth}, not {found}:\n{}",
                script.text()
            );
        }
    }
}

#[test]
fn by_elapsed_time_too_where_processors_are_no_limit() {
    for seed in 0..programs() {
        let script = random_script(seed, 12 + (seed % 60) as usize);
        let conditions = Conditions::unlimited();
        let timelines = script.timelines(&conditions);
        let whole = script.execute(&conditions).elapsed;
        let procedure = seed as usize % script.procedures.len();
        for factor in [0.0, 2.0] {
            let truth =
                whole as f64 - script.execute(&conditions.clone().with(procedure, factor)).elapsed as f64;
            let found = alone(&timelines, procedure, factor).elapsed;
            assert!(
                (found - truth).abs() < 0.5,
                "program {seed}: P{procedure} at {factor} gains {truth}, not {found}:\n{}",
                script.text()
            );
        }
    }
}

/// A works and takes a lock for moments all the while, then works alone; B takes the same lock (metrics.md §1).
fn exclusion() -> Script {
    let piece = |procedure: &str, time: u64| format!("{procedure} {time}, lock m, H 1, unlock m, ");
    let a = piece("W", 99).repeat(100);
    let b = piece("V", 99).repeat(80);
    Script::parse(&format!("main: fork A, fork B, join A, join B\nA: {a}X 5000\nB: {b}Y 1"))
}

#[test]
fn exclusion_is_not_order() {
    let script = exclusion();
    let work = script.procedure("W");
    // Both on processors of their own, and as few as make them wait for each other; B comes after A at each hand-off.
    for conditions in [Conditions::unlimited(), recorded_on(1)] {
        let timelines = script.timelines(&conditions);
        let whole = path(&script, work, 1.0);
        let truth = whole - path(&script, work, 0.0);
        // 100 pieces of 99 with holds of 1, and then 5000; of B 80 such pieces: 8001 without W, but for the holds.
        assert!((6900..=7000).contains(&truth), "{truth}");
        let found = alone(&timelines, work, 0.0).path;
        assert!((found - truth as f64).abs() <= 100.0, "{truth}, not {found}");
    }
}

#[test]
fn hand_offs_of_a_busy_lock_and_the_sum_of_its_holds_limit_predictions() {
    let held = |procedure: &str| format!("lock m, {procedure} 50, unlock m, U 10, ").repeat(20);
    let text = format!("main: fork A, fork B, join A, join B\nA: {}U 1\nB: {}U 1", held("X"), held("Y"));
    let script = Script::parse(&text);
    let timelines = script.timelines(&Conditions::unlimited());
    let x = script.procedure("X");
    let whole = path(&script, x, 1.0);
    assert!((2000..=2100).contains(&whole), "both hold the lock by turns: {whole}");
    for factor in [0.0, 0.5] {
        let truth = whole as f64 - path(&script, x, factor) as f64;
        let found = alone(&timelines, x, factor).path;
        assert!((found - truth).abs() <= 0.05 * whole as f64, "X at {factor}: {truth}, not {found}");
    }
    // U is free: the holds stay, in whatever order.
    let u = script.procedure("U");
    let found = alone(&timelines, u, 0.0).path;
    let truth = whole as f64 - path(&script, u, 0.0) as f64;
    assert!((found - truth).abs() <= 0.02 * whole as f64, "U: {truth}, not {found}");
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (self.0 >> 33) % (most - least + 1)
    }
}

/// So many repetitions of work and a step.
fn rounds(dice: &mut Dice, rounds: u64, mut round: impl FnMut(&mut Dice) -> String) -> String {
    (0..rounds).map(|_| round(dice)).collect::<Vec<_>>().join(", ")
}

/// A program of threads that fork and join, with this declaration.
fn threads(declaration: &str, bodies: &[String], end: &str) -> Script {
    let names: Vec<String> = (0..bodies.len()).map(|index| format!("T{index}")).collect();
    let all = |verb: &str| names.iter().map(|name| format!("{verb} {name}, ")).collect::<String>();
    let mut text = format!("{declaration}\nmain: {}{}{end}\n", all("fork"), all("join"));
    names.iter().zip(bodies).for_each(|(name, body)| text += &format!("{name}: {body}\n"));
    Script::parse(&text)
}

/// A queue of one producer and one consumer, or of several of each.
fn queue(dice: &mut Dice, threads_of_each: u64) -> Script {
    let items = dice.between(5, 25);
    let kind = ["queue", "lazy"][dice.between(0, 1) as usize];
    let places = [0, 1, 2, 5][dice.between(0, 3) as usize];
    let (put, get) = (dice.between(5, 60), dice.between(5, 60));
    let mut bodies = Vec::new();
    for _ in 0..threads_of_each {
        bodies.push(rounds(dice, items, |dice| format!("P0 {}, put q", dice.between(1, 2 * put))));
        bodies.push(rounds(dice, items, |dice| format!("get q, P1 {}", dice.between(1, 2 * get))));
    }
    threads(&format!("{kind} q = {places}"), &bodies, "P2 100")
}

fn latch(dice: &mut Dice) -> Script {
    let workers = dice.between(2, 5);
    let mut bodies: Vec<String> = (0..workers)
        .map(|worker| format!("P{} {}, down l, P3 20", worker % 3, dice.between(10, 200)))
        .collect();
    // One that waits, and one that comes late.
    bodies.push(format!("await l, P4 {}", dice.between(50, 200)));
    bodies.push(format!("P3 {}, await l, P4 {}", dice.between(10, 400), dice.between(50, 200)));
    threads(&format!("latch l = {workers}"), &bodies, "P3 1")
}

fn meeting(dice: &mut Dice) -> Script {
    let (members, meetings) = (dice.between(2, 5), dice.between(3, 12));
    let bodies: Vec<String> = (0..members)
        .map(|member| {
            rounds(dice, meetings, |dice| format!("P{} {}, meet m", member % 4, dice.between(5, 100)))
        })
        .collect();
    threads(&format!("meeting m = {members}"), &bodies, "P4 10")
}

fn board(dice: &mut Dice) -> Script {
    let (readers, news) = (dice.between(1, 4), dice.between(3, 12));
    let mut bodies = vec![rounds(dice, news, |dice| format!("P0 {}, publish b", dice.between(5, 80)))];
    for reader in 0..readers {
        let reads = |dice: &mut Dice| format!("follow b, P{} {}", 1 + reader % 3, dice.between(1, 80));
        bodies.push(rounds(dice, news, reads));
    }
    threads("board b = 0", &bodies, "P4 10")
}

/// Errors of what-if over the programs of a family, as parts of the programs' paths.
struct FamilyErrors {
    mean: f64,
    most: f64,
    /// The program with the largest error, and what was changed.
    worst: String,
}

fn errors_of(family: impl Fn(&mut Dice) -> Script) -> FamilyErrors {
    let (mut sum, mut judged) = (0.0, 0);
    let mut errors = FamilyErrors { mean: 0.0, most: 0.0, worst: String::new() };
    for seed in 0..programs() / 5 {
        let script = family(&mut Dice(seed));
        let timelines = script.timelines(&recorded_on(2));
        for procedure in 0..script.procedures.len() {
            let whole = path(&script, procedure, 1.0) as f64;
            for factor in [0.0, 0.5] {
                let truth = whole - path(&script, procedure, factor) as f64;
                let found = alone(&timelines, procedure, factor).path;
                let error = (found - truth).abs() / whole;
                (sum, judged) = (sum + error, judged + 1);
                if error > errors.most {
                    errors.most = error;
                    errors.worst = format!(
                        "seed {seed}, P{procedure} × {factor}: {truth} of {whole}, not {found}\n{}",
                        script.text()
                    );
                }
            }
        }
    }
    FamilyErrors { mean: sum / f64::from(judged), ..errors }
}

#[test]
fn conditions_are_numbered_as_programs_use_them() {
    type Family = fn(&mut Dice) -> Script;
    // Mean and largest error that are accepted. How many places a queue has shows only where it was full; of several consumers
    // the recorded one gets each item.
    let families: [(&str, Family, f64, f64); 5] = [
        ("one producer, one consumer", |dice| queue(dice, 1), 0.002, 0.1),
        ("several producers and consumers", |dice| queue(dice, 3), 0.02, 0.3),
        ("latch", latch, 0.001, 0.1),
        ("barrier made by hand", meeting, 0.001, 0.02),
        ("broadcast", board, 0.001, 0.02),
    ];
    let mut wrong = Vec::new();
    for (name, family, mean, most) in families {
        let found = errors_of(family);
        println!("{name}: mean error {:.4}, largest {:.4}", found.mean, found.most);
        if found.mean > mean || found.most > most {
            wrong.push(format!("{name}: {}", found.worst));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Length of the path by CPU time of a program as it is.
fn path_of(script: &Script) -> f64 {
    script.execute(&Conditions { sleep: 0.0, ..Conditions::unlimited() }).elapsed as f64
}

/// Each hand-off is an arc, so that what an object makes threads wait is what it costs.
const RECORDED: MetricOptions = MetricOptions { io_idle: false, order: Order::Recorded };

fn gains(timelines: &MemoryTimelines, options: &MetricOptions, analysis: &Analysis, by: By) -> Gains {
    let demand =
        DetailsDemand { gains: Some(GainsOf { by, weight: Weight::Cpu }), ..DetailsDemand::default() };
    let Ok(details) = details(timelines, options, &demand, analysis);
    details.gains.unwrap()
}

/// The steps that were on the critical path: all of their work ended on one of its segments.
fn steps_on_path(script: &Script, conditions: &Conditions, analysis: &Analysis) -> BTreeSet<(usize, usize)> {
    let mut done = vec![0; script.threads.len()];
    let mut on_path = BTreeSet::new();
    for occurrence in script.execute(conditions).occurrences {
        let ScriptEvent::Did(step) = occurrence.what else { continue };
        let is_on = |segment: &PathSegment| {
            segment.thread.index() == occurrence.thread
                && segment.from.nanoseconds() < occurrence.time
                && occurrence.time <= segment.to.nanoseconds()
        };
        if matches!(step, ScriptStep::Compute(..)) && analysis.critical_cpu.segments.iter().any(is_on) {
            on_path.insert((occurrence.thread, done[occurrence.thread]));
        }
        done[occurrence.thread] += 1;
    }
    on_path
}

/// A program as recorded, and what there is to compare its gains with.
struct Judged<'a> {
    script: &'a Script,
    whole: f64,
    on_path: BTreeSet<(usize, usize)>,
}

impl Judged<'_> {
    /// Zeroing, inclusive, slack, inclusive: what programs without the own or all work gain, executed anew.
    fn truth(
        &self,
        is_own: &dyn Fn(usize, usize) -> bool,
        is_part: &dyn Fn(usize, usize) -> bool,
    ) -> [f64; 4] {
        let gain = |is_left_out: &dyn Fn(usize, usize) -> bool| {
            self.whole - path_of(&self.script.without(is_left_out))
        };
        let on_path = |thread: usize, step: usize| self.on_path.contains(&(thread, step));
        [
            gain(is_own),
            gain(is_part),
            gain(&|thread, step| is_own(thread, step) && on_path(thread, step)),
            gain(&|thread, step| is_part(thread, step) && on_path(thread, step)),
        ]
    }
}

/// Zeroing and slack, of own and inclusive work, of procedures and threads: each is the path of a program written
/// without that, executed anew.
#[test]
fn zeroing_and_slack_hold_at_every_level() {
    let (mut judged, mut gained) = (0, 0);
    for seed in 0..programs() {
        let script = random_script_with_calls(seed, 12 + (seed % 60) as usize);
        let conditions = recorded_on(2);
        let timelines = script.timelines(&conditions);
        let Ok(analysis) = analyse(&timelines, &MetricOptions::default());
        let on_path = steps_on_path(&script, &conditions, &analysis);
        let program = Judged { script: &script, whole: path_of(&script), on_path };
        let steps = |thread: usize| 0..script.threads[thread].steps.len();
        let above: Vec<Vec<Vec<usize>>> = (0..script.threads.len())
            .map(|thread| steps(thread).map(|step| script.procedures_above(thread, step)).collect())
            .collect();
        for by in [By::Procedure, By::Thread] {
            for gain in gains(&timelines, &MetricOptions::default(), &analysis, by).gains {
                let truth = match gain.node {
                    Node::Procedure(procedure) => {
                        let procedure = procedure.0 as usize;
                        program.truth(
                            &|thread, step| above[thread][step].first() == Some(&procedure),
                            &|thread, step| above[thread][step].contains(&procedure),
                        )
                    }
                    Node::Thread(own) => {
                        let is_its = |thread: usize, _: usize| thread == own.index();
                        program.truth(&is_its, &is_its)
                    }
                    node => panic!("{node:?} is no row"),
                };
                let Gain { zeroing, zeroing_inclusive, slack, slack_inclusive, .. } = gain;
                let found = [zeroing, zeroing_inclusive, slack, slack_inclusive];
                let text = || format!("{:?}:\n{}\n{:?}", gain.node, script.text(), script.callers);
                assert_eq!(found, truth, "program {seed}: {}", text());
                judged += 1;
                gained += usize::from(zeroing_inclusive > zeroing && slack > 0.0);
            }
        }
    }
    assert!(gained * 20 > judged, "{gained} of {judged} have all kinds of gains");
}

/// What nobody ever waits for could as well not be in the program.
#[test]
fn zeroing_of_an_object_is_the_path_of_the_program_without_it() {
    let mut gained = 0;
    for seed in 0..programs() {
        let script = random_script_with_a_mutex(seed, 12 + (seed % 60) as usize);
        let timelines = script.timelines(&recorded_on(2));
        let Ok(analysis) = analyse(&timelines, &RECORDED);
        // The mutex is handed over in the recorded order, which a semaphore or a barrier that is taken out would change.
        let free = script.without_steps(|step| matches!(step, ScriptStep::Lock(_) | ScriptStep::Unlock(_)));
        let found = gains(&timelines, &RECORDED, &analysis, By::Object);
        for gain in &found.gains {
            if timelines.objects.get(node_object(gain.node)).kind == ObjectKind::Mutex {
                let left = found.length as f64 - gain.zeroing;
                assert_eq!(left, path_of(&free), "program {seed}:\n{}", script.text());
                gained += u64::from(gain.zeroing > 0.0);
            }
        }
        let timelines = free.timelines(&recorded_on(2));
        let Ok(analysis) = analyse(&timelines, &RECORDED);
        let found = gains(&timelines, &RECORDED, &analysis, By::Object);
        for gain in &found.gains {
            let object = timelines.objects.get(node_object(gain.node));
            let is_its = |step: ScriptStep| match step {
                ScriptStep::Barrier(barrier) => free.barriers[barrier].0 == object.name,
                ScriptStep::Take(semaphore) => free.semaphores[semaphore].0 == object.name,
                _ => false,
            };
            let left = found.length as f64 - gain.zeroing;
            assert_eq!(
                left,
                path_of(&free.without_steps(is_its)),
                "program {seed}: {object:?}:\n{}",
                free.text()
            );
        }
    }
    assert!(gained * 20 > programs(), "{gained} programs are shorter without their mutex");
}

fn node_object(node: Node) -> ObjectId {
    match node {
        Node::Object(object) => object,
        node => panic!("{node:?} is no object"),
    }
}
