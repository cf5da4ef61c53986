//! The programs of `programs/`, whose answers are worked out in their first comments: each is recorded by
//! both collectors and imported from `perf record`.
//!
//! Shares of CPU time and of the critical path are of the program's own processor time, so they hold on a
//! busy machine too; margins are for what little the program does besides, and come on top of three
//! standard errors. On a busy machine waits grow, and threads that would run beside each other run in turn:
//! waits are bounded from below, and shares of normalised processor time by both cases.

use longpole_trace::Cause;

use crate::support::{Collector, Recording, Session, Wait, assert_forms, assert_laws, first, or_skip};

/// Percentage points by which a share of CPU time may be off.
const CLOSE: f64 = 3.0;

/// One module of tests per collector; each test calls the function of its name. Programs are listed by who else can tell
/// their answers, besides the collectors that see the whole system.
macro_rules! answers {
    (
        nobody_else: $($only:ident),*;
        process: $($process:ident),*;
        agent: $($agent:ident),*;
        both: $($both:ident),*;
        all: $($all:ident),*;
    ) => {
        mod bpf { answers![Bpf: $($only,)* $($process,)* $($agent,)* $($both,)* $($all,)*]; }
        mod perf { answers![Perf: $($only,)* $($process,)* $($agent,)* $($both,)* $($all,)*]; }
        mod process { answers![Process: $($process,)* $($both,)* $($all,)*]; }
        mod nobody { answers![Nobody: $($agent,)* $($both,)* $($all,)*]; }
        mod import {
            answers![Import: $($all,)*];
            answers![Import, seldom: $($only,)* $($process,)* $($agent,)* $($both,)*];
        }
    };
    ($collector:ident: $($test:ident,)*) => {
        $(#[test] fn $test() { super::$test(crate::support::Collector::$collector) })*
    };
    ($collector:ident, seldom: $($test:ident,)*) => {
        $(
            #[test]
            #[ignore = "together they take a minute: cargo xtask test --slow"]
            fn $test() { super::$test(crate::support::Collector::$collector) }
        )*
    };
}

answers! {
    nobody_else: lock_hog_stripped, two_processes_pipe, sleep_and_io, spin_count, spin_barrier;
    // Nothing is preloaded into a static program.
    process: lock_hog_static;
    agent: fork_exec_tree, rust_channel;
    both:
        barrier_imbalance,
        lock_hog_without_frame_pointers,
        spinner,
        pure_computation,
        more_threads_than_cpus,
        semaphore,
        rwlock,
        cpp_threads;
    // These are imported in each run of the tests, too.
    all: serial_then_parallel, lock_hog, condition_pipeline, short_lived, openmp, rust_mutex;
}

/// What a wait for `cause` may be called: chains of frame pointers, all that an import has, lose the caller
/// of a libc procedure, and then a futex is all that can be said.
fn is_cause(collector: Collector, found: Cause, cause: Cause) -> bool {
    let is_import = collector == Collector::Import;
    found == cause || (is_import && found == Cause::Futex)
}

/// Flags under which a frame-pointer chain works, for imports; the other collectors take programs as they are.
fn flags(collector: Collector) -> &'static [&'static str] {
    match collector {
        Collector::Import => &["-fno-omit-frame-pointer"],
        _ => &[],
    }
}

fn record(
    session: &Session,
    collector: Collector,
    source: &str,
    flags: &[&str],
) -> Result<Recording, String> {
    let program = session.build(source, flags)?;
    let recording = session.record(collector, &[&program])?;
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    if collector == Collector::Bpf {
        assert_laws(&recording);
    }
    Ok(recording)
}

fn assert_processes(recording: &Recording, expected: f64) {
    let threads = recording.report("threads", "thread");
    assert_eq!(threads.number("recording", "processes"), expected, "{:#}", threads.value["rows"]);
}

fn serial_then_parallel(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "serial_then_parallel.c", flags(collector)));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("read_input", 50.0, CLOSE);
    critical.assert_percent("transform", 33.3, CLOSE);
    critical.assert_percent("write_output", 16.7, CLOSE);
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("read_input", 37.5, CLOSE);
    profile.assert_percent("transform", 50.0, CLOSE);
    profile.assert_percent("write_output", 12.5, CLOSE);
    let npt = recording.report("npt", "procedure");
    npt.assert_between("procedure", "read_input", (37.5, 50.0), CLOSE);
    npt.assert_between("procedure", "transform", (33.3, 50.0), CLOSE);
    npt.assert_between("procedure", "write_output", (12.5, 16.7), CLOSE);
    let waits = recording.waits();
    waits.assert_seconds("main joins", 0.3, 1.0, |wait| {
        is_cause(collector, wait.cause, Cause::Join) && wait.is_ended_by("serial_then_par")
    });
    if collector == Collector::Bpf {
        assert_forms(&recording.path);
        assert_serial_phase(&recording);
    }
}

/// read_input runs alone: in a phase of it nobody else has work, and nothing of what follows is told.
fn assert_serial_phase(recording: &Recording) {
    for phase in ["5%..20%", "read_input"] {
        let npt = recording.report_with("npt", "procedure", &["--phase", phase]);
        npt.assert_percent("read_input", 100.0, CLOSE);
        assert_eq!(npt.sum("procedure", "transform", "seconds"), 0.0, "{}", npt.table("procedure"));
        let parallelism = npt.number("recording", "effective_parallelism");
        // On a busy machine less: it is ready, and has no processor.
        assert!(parallelism > 0.1 && parallelism < 1.02, "{phase}: {parallelism} busy");
        assert!(npt.value["recording"]["phase"].is_array(), "{}", npt.value["recording"]);
    }
}

fn barrier_imbalance(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "barrier_imbalance.c", flags(collector)));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("compute_share", 100.0, CLOSE);
    recording.report("critical-path", "thread").assert_share("thread", "heavy", 100.0, CLOSE);
    let profile = recording.report("profile", "thread");
    profile.assert_share("thread", "heavy", 75.0, CLOSE);
    profile.assert_share("thread", "light", 25.0, CLOSE);
    recording.report("npt", "thread").assert_between("thread", "heavy", (75.0, 83.3), CLOSE);
    recording.waits().assert_seconds("light waits at the barrier for heavy", 0.45, 1.0, |wait| {
        wait.thread == "light" && is_cause(collector, wait.cause, Cause::Barrier) && wait.is_ended_by("heavy")
    });
}

fn lock_hog(collector: Collector) {
    lock_hog_built(collector, flags(collector), collector != Collector::Import);
}

fn lock_hog_without_frame_pointers(collector: Collector) {
    lock_hog_built(collector, &["-fomit-frame-pointer"], collector != Collector::Import);
}

fn lock_hog_static(collector: Collector) {
    lock_hog_built(collector, &["-static", "-O2"], collector != Collector::Import);
}

/// The same program however it is built; `has_callers`: stacks can be followed to the caller of the lock.
fn lock_hog_built(collector: Collector, flags: &[&str], has_callers: bool) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "lock_hog.c", flags));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("hog_table", 92.3, CLOSE + 2.0);
    critical.assert_percent("prepare", 7.7, CLOSE);
    recording.report("critical-path", "thread").assert_share("thread", "hog", 98.0, CLOSE);
    let waits = recording.waits();
    let is_lock = |wait: &Wait| wait.thread == "polite" && is_cause(collector, wait.cause, Cause::Lock);
    waits.assert_seconds("the polite threads wait for the lock", 0.9, 2.0, is_lock);
    // On a busy machine they also wait for each other.
    waits
        .assert_seconds("the hog lets them wait", 0.45, 2.0, |wait| is_lock(wait) && wait.is_ended_by("hog"));
    if collector == Collector::Bpf && flags.is_empty() {
        assert_forms(&recording.path);
        assert_hog_is_first(&recording);
        assert_hog_halved(&recording);
    }
    if has_callers {
        waits.assert_seconds("they wait in take_and_update", 0.9, 2.0, |wait| {
            wait.thread == "polite" && wait.is_in("take_and_update")
        });
    }
}

/// The same answer from every side: the table's lock is the object, the hog's work its cause and the largest gain.
fn assert_hog_is_first(recording: &Recording) {
    let objects = recording.report("objects", "object");
    assert_eq!((first(&objects, "object"), first(&objects, "kind")), ("table_lock", "mutex"));
    let waits = recording.report("waits", "procedure");
    assert_eq!(first(&waits, "procedure"), "take_and_update", "{:#}", waits.value["rows"]);
    assert_eq!(first(&waits, "object"), "table_lock");
    assert_eq!(first(&waits, "class"), "communication and contention");
    let zeroing = recording.report("zeroing", "procedure");
    assert_eq!(first(&zeroing, "procedure"), "hog_table", "{}", zeroing.table("procedure"));
    // Without hog_table the hog has 15 x 5 = 75 ms; each polite thread 11 ms per round, 15 rounds if they take turns,
    // up to 900 ms / 11 if they ran free. At most all of its work is gained, and what is left is a polite thread's work.
    let gained = zeroing.sum("procedure", "hog_table", "seconds");
    let polite = recording.report("profile", "thread");
    let others =
        polite.rows().filter(|row| row["thread"] == "polite").filter_map(|row| row["seconds"].as_f64());
    let longest = others.fold(0.0, f64::max);
    let length = 0.975;
    assert!(
        gained <= 0.93 && gained >= length - 0.075 - 2.0 * longest - 0.1,
        "{gained} s, polite {longest} s"
    );
}

/// Half of hog_table is 15 x 30 = 450 ms of the path's 975 (46 %), whatever else the path holds. The hog does not wait
/// for its lock, or briefly: that nobody has to gains next to nothing. Changes together gain at least what each does.
fn assert_hog_halved(recording: &Recording) {
    let answer = recording.what_if(&["procedure:hog_table=0.5", "object:table_lock=0"]);
    let gain = |row: &serde_json::Map<String, serde_json::Value>| row["path_gain_seconds"].as_f64().unwrap();
    let of = |section: &str| -> Vec<f64> {
        answer.rows().filter(|row| row["section"] == section).map(gain).collect()
    };
    let (changes, together) = (of("change"), of("together"));
    assert!((changes[0] - 0.45).abs() < 0.045, "{:#}", answer.value["rows"]);
    assert!(changes[1] < 0.1, "{:#}", answer.value["rows"]);
    assert!(together[0] >= changes[0].max(changes[1]) - 1e-6, "{:#}", answer.value["rows"]);
    let nothing = recording.what_if(&["procedure:hog_table=1"]);
    let none = nothing.rows().find(|row| row["section"] == "change").map(gain);
    assert_eq!(none, Some(0.0), "{:#}", nothing.value["rows"]);
}

fn lock_hog_stripped(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "lock_hog.c", &["-s"]));
    // No names, so the answer is by thread and module.
    recording.report("critical-path", "thread").assert_share("thread", "hog", 98.0, CLOSE);
    let profile = recording.report("profile", "procedure");
    let ours: f64 = profile
        .rows()
        .filter(|row| row["module"].as_str() == Some("lock_hog"))
        .filter_map(|row| row["percent"].as_f64())
        .sum();
    assert!(ours > 95.0, "{}\n{ours} % in the stripped module", profile.table("procedure"));
}

fn spinner(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "spinner.c", flags(collector)));
    let npt = recording.report("npt", "procedure");
    npt.assert_percent("wait_for_flag", 0.0, CLOSE);
    npt.assert_percent("compute_result", 80.0, CLOSE);
    npt.assert_percent("use_result", 20.0, CLOSE);
    recording.report("critical-path", "procedure").assert_percent("wait_for_flag", 0.0, CLOSE);
    // All that main runs in wait_for_flag it spins: 0.8 s if the machine lets it.
    let spinning = npt.number("recording", "spin_seconds");
    let waiting = recording.report("profile", "procedure").sum("procedure", "wait_for_flag", "seconds");
    assert!(waiting > 0.2, "wait_for_flag runs {waiting} s");
    assert!((spinning / waiting - 1.0).abs() < 0.05, "of {waiting} s in wait_for_flag {spinning} s are spun");
}

/// Of the CPU time of procedures, the share that spins.
fn spun(recording: &Recording, procedures: &[&str]) -> f64 {
    let profile = recording.report("profile", "procedure");
    let sum = |column| procedures.iter().map(|name| profile.sum("procedure", name, column)).sum::<f64>();
    let seconds = sum("seconds");
    assert!(seconds > 0.05, "{procedures:?} run {seconds} s\n{}", profile.table("procedure"));
    sum("spin_seconds") / seconds
}

fn spin_count(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "spin_count.c", flags(collector)));
    let critical = recording.report("critical-path", "procedure");
    // An import takes the polling of `pending_of` for work: the path may be that of the thread which polls.
    if collector != Collector::Import || critical.share("procedure", "pending_of") < 50.0 {
        critical.assert_percent("produce", 80.0, CLOSE);
        critical.assert_percent("use_product", 20.0, CLOSE);
    }
    for waits in [&["await_count"][..], &["await_calls", "pending_of"]] {
        // A chain of frame pointers has no caller of a function that puts no frame up.
        if collector == Collector::Import && waits.len() > 1 {
            continue;
        }
        let share = spun(&recording, waits);
        assert!(share > 0.95, "{waits:?}: {share}");
    }
    let share = spun(&recording, &["produce", "use_product"]);
    assert!(share < 0.02, "work: {share}");
}

fn spin_barrier(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "spin_barrier.c", flags(collector)));
    let share = spun(&recording, &["wait_for_round", "lock_barrier", "pthread_mutex_trylock"]);
    assert!(share > 0.9, "the barrier: {share}");
    let share = spun(&recording, &["compute"]);
    assert!(share < 0.02, "work: {share}");
    let profile = recording.report("profile", "procedure");
    if profile.number("recording", "spin_seconds") < 0.5 * profile.number("recording", "cpu_seconds") {
        eprintln!("the machine let the workers run one after the other: the answer need not blame spinning");
        return;
    }
    let summary = recording.report("summary", "procedure");
    let remedies: Vec<&str> = summary.rows().filter_map(|row| row.get("remedy")?.as_str()).collect();
    assert!(remedies.contains(&"block instead of spinning, or balance"), "{remedies:?}");
    assert!(!remedies.contains(&"more CPUs"), "{remedies:?}");
}

fn pure_computation(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "pure_computation.c", flags(collector)));
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("register_loop", 50.0, CLOSE);
    profile.assert_percent("scan_memory", 50.0, CLOSE);
    let spinning = profile.number("recording", "spin_seconds");
    assert!(spinning < 0.01, "nothing spins, found {spinning}");
}

fn two_processes_pipe(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "two_processes_pipe.c", flags(collector)));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("produce_block", 98.5, CLOSE);
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("produce_block", 83.3, CLOSE);
    profile.assert_percent("consume_block", 16.7, CLOSE);
    // perf may write a child's first samples before its fork; they then stand as a process of their own.
    if collector != Collector::Import {
        assert_processes(&recording, 2.0);
    }
    recording.waits().assert_seconds("the parent reads from the pipe", 0.7, 1.0, |wait| {
        let is_placed = wait.is_in("receive_block") || collector == Collector::Import;
        wait.cause == Cause::Pipe && is_placed && wait.is_ended_by("two_processes_p")
    });
    if collector == Collector::Bpf {
        assert_forms(&recording.path);
        let objects = recording.report("objects", "object");
        assert_eq!(first(&objects, "kind"), "pipe", "{:#}", objects.value["rows"]);
    }
}

fn more_threads_than_cpus(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "more_threads_than_cpus.c", flags(collector)));
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("grind", 100.0, CLOSE);
    let cpus = std::thread::available_parallelism().unwrap().get() as f64;
    let seconds = profile.number("recording", "cpu_seconds");
    assert!((seconds - 4.0 * cpus * 0.2).abs() < 0.1 * seconds, "{seconds} s of CPU time");
    let threads = profile.number("recording", "threads");
    assert_eq!(threads, 4.0 * cpus + 1.0, "threads");
    let parallelism = profile.number("recording", "effective_parallelism");
    assert!(parallelism <= cpus, "{parallelism} of {cpus} processors");
    // Three quarters of its life each thread waits for a processor; longer on a busy machine.
    let ready: f64 = recording.report("threads", "thread").sum_of("ready_seconds");
    assert!(ready > 2.0 * seconds, "ready for {ready} s, running for {seconds} s");
}

fn condition_pipeline(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "condition_pipeline.c", flags(collector)));
    recording.report("critical-path", "procedure").assert_percent("transform_stage", 97.6, CLOSE + 1.0);
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("transform_stage", 61.5, CLOSE);
    profile.assert_percent("write_stage", 23.1, CLOSE);
    profile.assert_percent("read_stage", 15.4, CLOSE);
    if collector == Collector::Bpf {
        assert_forms(&recording.path);
        let zeroing = recording.report("zeroing", "procedure");
        assert_eq!(first(&zeroing, "procedure"), "transform_stage", "{}", zeroing.table("procedure"));
    }
    let waits = recording.waits();
    for (thread, procedure, least) in [("reader", "put_item", 0.4), ("writer", "take_item", 0.4)] {
        waits.assert_seconds(thread, least, 1.0, |wait| {
            let is_cause = is_cause(collector, wait.cause, Cause::Condition);
            let is_placed = wait.is_in(procedure) || collector == Collector::Import;
            wait.thread == thread && is_cause && is_placed && wait.is_ended_by("transformer")
        });
    }
}

/// This is what threads waited for longest, ends of threads aside.
fn assert_object(recording: &Recording, kind: &str, name: &str) {
    let objects = recording.report("objects", "object");
    let row = objects.rows().find(|row| row["kind"] != "thread end").expect("an object");
    let found = (row["kind"].as_str().unwrap(), row["object"].as_str().unwrap());
    assert_eq!(found, (kind, name), "{:#}", objects.value["rows"]);
}

fn semaphore(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "semaphore.c", flags(collector)));
    recording.report("critical-path", "procedure").assert_percent("fill_slot", 98.8, CLOSE);
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("fill_slot", 80.0, CLOSE);
    profile.assert_percent("drain_slot", 20.0, CLOSE);
    if collector == Collector::Bpf {
        assert_object(&recording, "semaphore", "filled");
    }
    recording.waits().assert_seconds("main waits for the producer", 0.5, 1.0, |wait| {
        is_cause(collector, wait.cause, Cause::Semaphore) && wait.is_ended_by("producer")
    });
}

fn rwlock(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "rwlock.c", flags(collector)));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("rewrite_table", 83.3, CLOSE + 2.0);
    critical.assert_percent("plan_rewrite", 16.7, CLOSE + 1.0);
    if collector == Collector::Bpf {
        assert_object(&recording, "rwlock", "table_lock");
    }
    recording.waits().assert_seconds("the readers wait for the writer's lock", 0.6, 2.0, |wait| {
        wait.thread == "reader" && is_cause(collector, wait.cause, Cause::Lock) && wait.is_ended_by("writer")
    });
}

fn sleep_and_io(collector: Collector) {
    let session = Session::start();
    let program = or_skip!(session.build("sleep_and_io.c", flags(collector)));
    let journal = session.path().join("journal");
    let recording = or_skip!(session.record(collector, &[program.as_os_str(), journal.as_os_str()]));
    recording.report("critical-path", "procedure").assert_percent("checksum", 94.0, 6.0);
    let waits = recording.waits();
    waits.assert_seconds("main sleeps", 0.48, 1.0, |wait| {
        wait.cause == Cause::Sleep && (wait.is_in("pause_between") || collector == Collector::Import)
    });
    // The program knows how long its disk took; what of that was no wait was work, or waiting for a CPU.
    if collector == Collector::Import {
        return;
    }
    let line = recording.run.stdout.lines().find(|line| line.starts_with("journal_seconds"));
    let measured: f64 = line.unwrap().split(' ').next_back().unwrap().parse().unwrap();
    let waited = waits.seconds(|wait| wait.cause == Cause::Io && wait.is_in("write_journal"));
    assert!(waited <= measured + 0.001, "the disk took {measured} s, the waits for it {waited} s");
    let elsewhere = waits.seconds(|wait| wait.cause == Cause::Io && !wait.is_in("write_journal"));
    assert!(elsewhere < 0.02, "{elsewhere} s of io outside write_journal");
    // Where the kernel keeps wakes from perf (it may, in an idle processor), ends of waits are guesses.
    if measured > 0.2 && collector == Collector::Bpf {
        assert!(waited > 0.1 * measured, "the disk took {measured} s, the waits for it {waited} s");
    }
}

fn fork_exec_tree(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "fork_exec_tree.c", flags(collector)));
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("leaf_work", 98.0, CLOSE);
    assert_processes(&recording, 7.0);
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("leaf_work", 97.0, 3.5);
    let length = critical.sum("procedure", "leaf_work", "seconds");
    assert!((0.55..0.70).contains(&length), "two leaves of 300 ms on the path, found {length} s");
    recording
        .waits()
        .assert_seconds("root and the branches wait", 1.5, 3.0, |wait| wait.cause == Cause::Child);
}

fn short_lived(collector: Collector) {
    let session = Session::start();
    let program = or_skip!(session.build("short_lived.c", &[]));
    let recording = or_skip!(session.record(collector, &[&program]));
    if collector != Collector::Import {
        assert_eq!(recording.run.status.code(), Some(7), "the exit status is passed on");
    }
    if collector == Collector::Bpf {
        assert_forms(&recording.path);
    }
    let threads = recording.report("threads", "thread");
    assert_eq!(threads.number("recording", "processes"), 1.0);
    assert_eq!(threads.number("recording", "threads"), 1.0);
    let seconds = threads.number("recording", "cpu_seconds");
    assert!(seconds > 0.0 && seconds < 0.1, "{seconds} s of CPU time");
}

fn cpp_threads(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "cpp_threads.cpp", flags(collector)));
    recording.report("critical-path", "procedure").assert_percent("kitchen::Stove::cook", 97.8, CLOSE);
    let profile = recording.report("profile", "procedure");
    profile.assert_percent("kitchen::Stove::cook", 75.0, CLOSE);
    profile.assert_percent("dining::eat", 25.0, CLOSE);
    // Debug information has no better name for the bodies of both threads.
    assert!(profile.rows().all(|row| row["procedure"] != "_M_run"), "{:#}", profile.value["rows"]);
    recording.waits().assert_seconds("the guest waits for the cook", 0.5, 1.0, |wait| {
        wait.thread == "guest"
            && is_cause(collector, wait.cause, Cause::Condition)
            && wait.is_ended_by("cook")
    });
}

fn openmp(collector: Collector) {
    let session = Session::start();
    let all = [&["-fopenmp"], flags(collector)].concat();
    let recording = or_skip!(record(&session, collector, "openmp.c", &all));
    recording.report("critical-path", "procedure").assert_percent("long_iteration", 98.0, CLOSE);
    let npt = recording.report("npt", "procedure");
    npt.assert_between("procedure", "long_iteration", (75.0, 83.3), CLOSE);
    npt.assert_between("procedure", "short_iteration", (16.7, 25.0), CLOSE);
    if collector == Collector::Bpf {
        assert_forms(&recording.path);
    }
    // libgomp spins for some milliseconds before it blocks: neither may count as work.
    let waited = recording.waits().seconds(|wait| wait.thread == "openmp" && wait.cause != Cause::Join);
    let spun = npt.number("recording", "spin_seconds");
    assert!(waited + spun > 0.45, "0.6 s at the barrier; blocked {waited}, spinning {spun}");
}

fn rust_mutex(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "rust_mutex.rs", rust_flags(collector)));
    let critical = recording.report("critical-path", "procedure");
    critical.assert_percent("rebuild_index", 90.9, CLOSE + 2.0);
    critical.assert_percent("log_progress", 9.1, CLOSE);
    let waits = recording.waits();
    let is_lock = |wait: &Wait| {
        let is_cause = is_cause(collector, wait.cause, Cause::Lock);
        wait.thread == "client" && is_cause && wait.is_in("answer_query")
    };
    waits.assert_seconds("the clients wait for the lock", 0.8, 2.0, is_lock);
    waits.assert_seconds("the holder lets them wait", 0.4, 2.0, |wait| {
        is_lock(wait) && wait.is_ended_by("holder")
    });
}

fn rust_channel(collector: Collector) {
    let session = Session::start();
    let recording = or_skip!(record(&session, collector, "rust_channel.rs", rust_flags(collector)));
    recording.report("critical-path", "procedure").assert_percent("load_chunk", 98.4, CLOSE);
    if collector == Collector::Bpf {
        assert_forms(&recording.path);
        let row = recording.report("objects", "object");
        assert_eq!(first(&row, "kind"), "channel", "{:#}", row.value["rows"]);
    }
    recording.waits().assert_seconds("main waits for the sender", 0.5, 1.0, |wait| {
        let is_message = is_cause(collector, wait.cause, Cause::Message);
        is_message && wait.is_in("next_chunk") && wait.is_ended_by("sender")
    });
}

fn rust_flags(collector: Collector) -> &'static [&'static str] {
    match collector {
        Collector::Import => &["-C", "force-frame-pointers=yes"],
        _ => &[],
    }
}
