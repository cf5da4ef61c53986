use super::*;

/// The program with work of fixed amounts; `None` without a compiler.
fn build(folder: &Path, options: &[&str]) -> Option<PathBuf> {
    build_program(folder, "fixed_work", options)
}

fn build_program(folder: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let program = folder.join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-pthread"]).args(options).arg("-I").arg(&programs);
    let built = compiler.arg("-o").arg(&program).arg(programs.join(name).with_extension("c")).status();
    let Ok(built) = built else {
        println!("skipped: no compiler");
        return None;
    };
    assert!(built.success());
    Some(program)
}

/// What a delay did, and the CPU seconds that the program itself tells of its procedures.
fn measured(
    program: &Path,
    name: &str,
    scope: DelayScope,
    factor: f64,
) -> Option<(DelayCounts, impl Fn(&str) -> f64 + use<>)> {
    let target = match scope {
        DelayScope::Holding => DelayTarget::lock(program.as_os_str(), name),
        _ => DelayTarget::procedure(program.as_os_str(), name),
    };
    let target = target.unwrap();
    let library = DelayLibrary::create().unwrap();
    let delay = ProcedureDelay { library, target, scope, mode: DelayMode::SlowDown, factor };
    let mut command = Command::new(program);
    let memory = delay.prepare(command.args(["8", "times"])).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stdout == b"done\n", "{output:?}");
    let counts = memory.counts();
    if counts.refusal.is_some() {
        println!("skipped: the system refuses to sample: {counts:?}");
        return None;
    }
    let told = String::from_utf8(output.stderr).unwrap();
    let seconds = move |name: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse::<f64>().unwrap() * 1e-9
    };
    Some((counts, seconds))
}

/// By CPU time, which other programs on the machine do not change.
#[test]
fn a_procedure_takes_longer_by_the_factor_of_its_cpu_time() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build(folder.path(), &[]) else { return };
    use DelayScope::{Exact, Folded, Holding, Inclusive};
    type Told = fn(&dyn Fn(&str) -> f64) -> f64;
    let cases: [(&str, DelayScope, Told); 10] = [
        ("prepare", Inclusive, |told| told("prepare")),
        // step_through is two units of work in prepare, two in hold_lock.
        ("prepare", Folded, |told| told("prepare") - 0.5 * told("step_through")),
        ("both_sides", Exact, |told| told("both_sides")),
        ("long_side", Inclusive, |told| told("long_side")),
        ("short_side", Inclusive, |told| told("short_side")),
        ("hold_lock", Inclusive, |told| told("hold_lock")),
        // A variable: step_through is in it half of its time.
        ("lock", Holding, |told| told("hold_lock")),
        ("step_through", Exact, |told| told("step_through")),
        ("worker", Inclusive, |told| {
            ["both_sides", "long_side", "short_side", "hold_lock"].map(told).iter().sum()
        }),
        // With the threads that it starts.
        ("main", Inclusive, |told| {
            ["prepare", "both_sides", "long_side", "short_side", "hold_lock"].map(told).iter().sum()
        }),
    ];
    for (name, scope, told) in cases {
        let mut runs = 0;
        let (counts, told) = loop {
            let Some((counts, seconds)) = measured(&program, name, scope, 0.4) else { return };
            runs += 1;
            // A host that takes the processor away makes a piece longer. The next ones make up for it; after the last there is none.
            let is_factor = (counts.added_seconds / counts.hit_seconds - 0.4).abs() < 0.02;
            if is_factor {
                break (counts, told(&seconds));
            }
            assert!(runs < 3, "{name}: {counts:?}");
        };
        let found = counts.hit_seconds + counts.added_seconds;
        assert!((found / told - 1.0).abs() < 0.1, "{name} {scope:?}: {found} s of {told} s, {counts:?}");
        assert_eq!((counts.processes, counts.sampled_processes, counts.replaced), (1, 1, 0));
    }
}

/// What a virtual speed-up did.
fn speed_up(program: &Path, name: &str, factor: f64) -> Option<DelayCounts> {
    let target = DelayTarget::procedure(program.as_os_str(), name).unwrap();
    let (library, scope, mode) =
        (DelayLibrary::create().unwrap(), DelayScope::Inclusive, DelayMode::VirtualSpeedUp);
    let delay = ProcedureDelay { library, target, scope, mode, factor };
    let mut command = Command::new(program);
    let memory = delay.prepare(&mut command).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let counts = memory.counts();
    counts.refusal.is_none().then_some(counts)
}

/// A virtual speed-up gains what it inserts, less what the thread on the critical path pauses. By CPU time and pauses, which other
/// programs on the machine hardly change: program, procedure, factor, inserted for each second of the procedure, paused for each inserted.
#[test]
fn others_pause_for_a_virtual_speed_up_unless_they_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        // No other thread is there.
        ("fixed_work", "prepare", 0.5, 0.49..0.51, 0.0..0.01),
        // The longer of two threads pauses for the shorter one: nothing is gained.
        ("fixed_work", "short_side", 0.8, 0.79..0.81, 0.5..1.5),
        // The shorter one pauses for a part of what the longer one works, and waits for it then.
        ("fixed_work", "long_side", 0.5, 0.49..0.51, 0.0..1.4),
        // Two threads, one of which waits for the lock meanwhile.
        ("fixed_work", "hold_lock", 0.5, 0.47..0.51, 0.0..1.0),
        // What two threads do side by side is inserted once, for the thread that does more at a time.
        ("fixed_work", "both_sides", 0.5, 0.24..0.51, 0.0..1.0),
        // Each of two others would pause for all of it if their waits for the lock were not credited.
        ("lock_hog", "hog_table", 0.5, 0.49..0.51, 0.0..1.5),
        // Reader and writer work for 25 of 40 ms, and wait for the rest.
        ("condition_pipeline", "transform_stage", 0.5, 0.49..0.51, 0.0..2.2),
        // Another process, which waits for the pipe for 40 of 50 ms.
        ("two_processes_pipe", "produce_block", 0.5, 0.49..0.51, 0.0..0.85),
        // The transformer has no time to wait, so it pauses for all of it.
        ("condition_pipeline", "read_stage", 0.8, 0.79..0.81, 0.7..2.5),
    ];
    for (source, procedure, factor, inserted, paused) in cases {
        let Some(program) = build_program(folder.path(), source, &[]) else { return };
        let Some(counts) = speed_up(&program, procedure, factor) else { return };
        let ratios =
            [counts.inserted_seconds / counts.hit_seconds, counts.paused_seconds / counts.inserted_seconds];
        assert!(inserted.contains(&ratios[0]), "{source}, {procedure}: {ratios:?}, {counts:?}");
        assert!(paused.contains(&ratios[1]), "{source}, {procedure}: {ratios:?}, {counts:?}");
        assert_eq!((counts.processes, counts.added_seconds), (1, 0.0));
    }
}

/// Rust's locks wait by futexes, without the C library's.
#[test]
fn waits_for_a_rust_mutex_are_credited() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rust_mutex.rs");
    let program = folder.path().join("rust_mutex");
    let Ok(built) = Command::new("rustc").arg("-O").arg("-o").arg(&program).arg(&source).status() else {
        println!("skipped: no compiler");
        return;
    };
    assert!(built.success());
    // Two clients wait for it nearly all the time: without credit they would pause for all of it each.
    let Some(counts) = speed_up(&program, "rebuild_index", 0.5) else { return };
    let paused = counts.paused_seconds / counts.inserted_seconds;
    assert!(counts.inserted_seconds > 0.3 && paused < 2.0, "{paused}: {counts:?}");
}

#[test]
fn nothing_is_inserted_without_a_factor() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build(folder.path(), &[]) else { return };
    let Some(counts) = speed_up(&program, "worker", 0.0) else { return };
    assert!(counts.hits > 0, "{counts:?}");
    assert_eq!((counts.inserted_seconds, counts.paused_seconds), (0.0, 0.0));
}

#[test]
fn a_program_that_is_only_sampled_gets_no_work() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build(folder.path(), &[]) else { return };
    let Some((counts, _)) = measured(&program, "prepare", DelayScope::Inclusive, 0.0) else { return };
    assert!(counts.hits > 0 && counts.hit_seconds > 0.0 && counts.added_seconds < 1e-3, "{counts:?}");
}

#[test]
fn what_cannot_be_delayed_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let error = |program: &Path, name: &str| {
        DelayTarget::procedure(program.as_os_str(), name).unwrap_err().to_string()
    };
    let Some(program) = build(folder.path(), &["-static"]) else { return };
    assert!(error(&program, "prepare").contains("linked statically"));
    let program = build(folder.path(), &[]).unwrap();
    assert!(error(&program, "prepair").contains("inlined everywhere"));
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    assert!(error(&script, "prepare").contains("such as a script"));
    assert!(error(&folder.path().join("absent"), "prepare").contains("read "));
    // A procedure of a library that the program is linked with.
    let found = DelayTarget::procedure(program.as_os_str(), "pthread_create").unwrap();
    assert!(found.module.to_string_lossy().contains("libc.so"), "{found:?}");
}

#[test]
fn ranges_of_code_that_meet_are_one() {
    assert_eq!(joined(&[(10, 5), (12, 2), (15, 5), (30, 0), (40, 1)]), [[10, 20], [40, 41]]);
}
