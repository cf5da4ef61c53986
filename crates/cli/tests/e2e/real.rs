//! Programs that were not written for these tests: what must be true of each is asserted.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use longpole_trace::Cause;
use serde_json::{Map, Value};

use crate::support::{
    Answer, Collector, Recording, Session, Wait, assert_forms, assert_laws, find, first, is_root, longpole,
    or_skip,
};

/// Text of words that repeat as words do: it compresses about as English does.
fn text(bytes: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let word = |seed: u64| {
        let letter = |at: u64| {
            char::from(b'a' + ((seed.wrapping_mul(2 * at + 0x2545_f491_4f6c_dd1d) >> 40) % 26) as u8)
        };
        (0..3 + seed % 7).map(letter).collect::<String>()
    };
    let words: Vec<String> = (0..4096).map(|seed| word(seed * 2_654_435_761 + 1)).collect();
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        let number = next();
        // Small numbers are frequent, as few words are.
        let index = (number % 4096).min((number >> 20) % 4096).min((number >> 40) % 4096);
        text.push_str(&words[index as usize]);
        text.push(if number >> 60 == 0 { '\n' } else { ' ' });
    }
    text
}

fn text_file(session: &Session, megabytes: usize) -> PathBuf {
    let path = session.path().join("words.txt");
    fs::write(&path, text(megabytes << 20)).unwrap();
    path
}

/// Records a command line, which must succeed.
fn record(session: &Session, command: &[&str]) -> Result<Recording, String> {
    let program = find(command[0])?;
    let all: Vec<&str> = [&[program.to_str().unwrap()], &command[1..]].concat();
    let recording = session.record(Collector::Bpf, &all)?;
    assert!(recording.run.status.success(), "{}", recording.run.stderr);
    assert_laws(&recording);
    Ok(recording)
}

/// Percent of an answer's rows whose module's name starts with one of `modules`.
fn module_percent(answer: &Answer, modules: &[&str]) -> f64 {
    let is_meant = |module: &str| modules.iter().any(|prefix| module.starts_with(prefix));
    let rows = answer.rows().filter(|row| row["module"].as_str().is_some_and(is_meant));
    rows.filter_map(|row| row["percent"].as_f64()).sum()
}

fn assert_modules(recording: &Recording, least: f64, modules: &[&str]) {
    for view in ["critical-path", "profile"] {
        let answer = recording.report(view, "procedure");
        let percent = module_percent(&answer, modules);
        let table = answer.table("procedure");
        assert!(percent >= least, "{table}\n{modules:?} have {percent:.1} % of the {view}, not {least}");
    }
}

/// So many threads or processes have at least so many percent of the CPU time each.
fn assert_shared(recording: &Recording, by: &str, count: usize, least_percent: f64) {
    let profile = recording.report("profile", by);
    let busy = profile.rows().filter(|row| row["percent"].as_f64() > Some(least_percent)).count();
    assert_eq!(busy, count, "{}\n{by} with {least_percent} % or more", profile.table(by));
}

fn is_for_others(wait: &Wait) -> bool {
    matches!(wait.cause, Cause::Lock | Cause::Condition | Cause::Semaphore | Cause::Park | Cause::Join)
}

/// The first thread waits for its helpers most of the time; only they can end such waits.
fn assert_main_waits_for_helpers(recording: &Recording, name: &str, least_percent: f64) {
    let waits = recording.waits();
    let least = least_percent / 100.0 * waits.elapsed;
    waits.assert_seconds("waits for threads of the program", least, 10.0, |wait| {
        is_for_others(wait) && wait.is_ended_by(name)
    });
}

#[test]
fn pigz_compresses_in_its_threads_and_the_first_waits() {
    let session = Session::start();
    let file = text_file(&session, 40);
    let recording = or_skip!(record(&session, &["pigz", "-p2", "-kf", file.to_str().unwrap()]));
    assert_forms(&recording.path);
    assert_modules(&recording, 85.0, &["pigz", "libz"]);
    assert_main_waits_for_helpers(&recording, "pigz", 50.0);
    assert_shared(&recording, "thread", 2, 25.0);
}

#[test]
fn xz_encodes_in_its_threads_and_the_first_waits() {
    let session = Session::start();
    let file = text_file(&session, 20);
    let command = ["xz", "-T2", "-1", "--block-size=1MiB", "-kf", file.to_str().unwrap()];
    let recording = or_skip!(record(&session, &command));
    assert_modules(&recording, 90.0, &["liblzma", "xz"]);
    assert_main_waits_for_helpers(&recording, "xz", 50.0);
}

#[test]
fn zstd_compresses_in_its_threads() {
    let session = Session::start();
    let file = text_file(&session, 40);
    let recording = or_skip!(record(&session, &["zstd", "-T2", "-7", "-qkf", file.to_str().unwrap()]));
    assert_modules(&recording, 85.0, &["zstd", "libzstd"]);
    assert_main_waits_for_helpers(&recording, "zstd", 30.0);
}

#[test]
fn pbzip2_compresses_in_its_threads() {
    let session = Session::start();
    let file = text_file(&session, 12);
    let recording = or_skip!(record(&session, &["pbzip2", "-p2", "-kf", file.to_str().unwrap()]));
    assert_modules(&recording, 85.0, &["libbz2", "pbzip2"]);
    assert_main_waits_for_helpers(&recording, "pbzip2", 50.0);
}

#[test]
fn sort_has_a_serial_part_and_a_helper() {
    let session = Session::start();
    let file = text_file(&session, 60);
    let command = ["sort", "--parallel=2", "-S", "400M", "-o", "sorted", file.to_str().unwrap()];
    let recording = or_skip!(record(&session, &command));
    let critical = recording.report("critical-path", "procedure");
    let percent = module_percent(&critical, &["sort", "libc", "[kernel]"]);
    assert!(percent > 95.0, "{}\n{percent} %", critical.table("procedure"));
    let threads = recording.report("profile", "thread");
    assert!(threads.number("recording", "threads") >= 2.0);
    // Reading and the last merge are the first thread's work, sorting is both's.
    let shares: Vec<f64> = threads.rows().filter_map(|row| row["percent"].as_f64()).collect();
    let first = shares.iter().copied().fold(0.0, f64::max);
    assert!((50.0..97.0).contains(&first), "{}\nthe first thread has {first} %", threads.table("thread"));
}

/// The slow program of a pipeline, whose code has no names: what the run gains without its loop.
#[test]
fn the_slow_program_of_a_pipeline_has_a_row_of_its_own() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    let of_loop = |rounds: u32| {
        let slow = format!("{{ s = 0; for (i = 0; i < {rounds}; i++) s += $1 % (i + 1); print s }}");
        format!("seq 300000 | awk '{slow}' | sort -n | uniq -c > /dev/null")
    };
    let shell = or_skip!(find("sh"));
    let recording = or_skip!(record(&session, &["sh", "-c", &of_loop(40)]));
    let answer = recording.report("summary", "procedure");
    let changes: Vec<_> = answer.all_changes().collect();
    let row = changes.iter().find(|row| row["text"] == "process `awk`");
    let of = |key: &str| row.and_then(|row| row[key].as_f64()).unwrap_or(f64::NAN);
    let (whole, rest) = (of_loop(40), of_loop(0));
    let with = session.least_seconds(&shell, &["-c", &whole]);
    let truth = 100.0 * (1.0 - session.least_seconds(&shell, &["-c", &rest]) / with);
    // The program does more than its loop.
    let (least, most) = (of("gain_low_percent") - 15.0, of("gain_high_percent") + 5.0);
    assert!((least..most).contains(&truth), "{truth} %; {changes:?}");
}

/// A project of `count` C files of some functions each.
fn c_project(folder: &Path, count: usize) {
    let mut names = String::new();
    for file in 0..count {
        let mut source = String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
        for function in 0..30 {
            writeln!(
                source,
                "int f{file}_{function}(int *a, int n) {{ int s = {function}; for (int i = 0; i < n; i++) \
                 {{ switch (a[i] % 7) {{ case 0: s += a[i] * {file}; break; case 1: s ^= i; break; case 2: \
                 s -= a[(i * 7) % n]; break; default: for (int j = 0; j < i % 13; j++) s += a[j] / (i + 1); }} }} \
                 char t[64]; snprintf(t, sizeof t, \"%d\", s); return s + (int)strlen(t); }}"
            )
            .unwrap();
        }
        fs::write(folder.join(format!("part{file}.c")), source).unwrap();
        write!(names, " part{file}.o").unwrap();
    }
    fs::write(folder.join("main.c"), "int main(void) { return 0; }\n").unwrap();
    fs::write(
        folder.join("Makefile"),
        format!("all: main.o{names}\n\tgcc -o all main.o{names}\n%.o: %.c\n\tgcc -O2 -c $<\n"),
    )
    .unwrap();
}

#[test]
fn make_waits_for_its_compilers() {
    let session = Session::start();
    c_project(session.path(), 8);
    let recording = or_skip!(record(&session, &["make", "-s", "-j2"]));
    let critical = recording.report("critical-path", "process");
    let percent = critical.sum("process", "cc1", "percent");
    assert!(percent > 60.0, "{}\ncc1 has {percent} % of the path", critical.table("process"));
    assert!(critical.number("recording", "processes") >= 20.0, "gcc, cc1, as for nine files");
    let waits = recording.waits();
    waits.assert_seconds("make waits for children", 0.6 * waits.elapsed, 1.0, |wait| {
        wait.process == "make" && matches!(wait.cause, Cause::Child | Cause::Pipe | Cause::Poll)
    });
    waits.assert_seconds("gcc waits for cc1", 0.5 * waits.elapsed, 2.0, |wait| {
        wait.process.contains("gcc") && wait.cause == Cause::Child
    });
}

/// Work of a Python program.
const CRUNCH: &str = "
def crunch(rounds):
    total = 0
    for number in range(rounds * 100000):
        total += number * number % 7
    return total
";

const POOL: &str = "
from multiprocessing import Pool

if __name__ == '__main__':
    with Pool(2) as pool:
        pool.map(crunch, [12] * 8, chunksize=1)
";

#[test]
fn python_works_in_the_children_of_its_pool() {
    let session = Session::start();
    fs::write(session.path().join("pool.py"), [CRUNCH, POOL].concat()).unwrap();
    let recording = or_skip!(record(&session, &["python3", "pool.py"]));
    let profile = recording.report("profile", "process");
    assert!(profile.number("recording", "processes") >= 3.0);
    let root = recording.report("critical-path", "process");
    let largest = root.rows().filter_map(|row| row["percent"].as_f64()).fold(0.0, f64::max);
    assert!(largest > 40.0, "{}\none of the pool's two processes leads the path", root.table("process"));
    let procedures = recording.report("critical-path", "procedure");
    let python = module_percent(&procedures, &["python", "libpython", "[python]"]);
    assert!(python > 70.0, "{}\n{python} %", procedures.table("procedure"));
    let crunch = procedures.sum("procedure", "crunch pool.py", "percent");
    assert!(crunch > 40.0, "{}\n{crunch} % in the function that works", procedures.table("procedure"));
    assert_shared(&recording, "process", 2, 25.0);
}

const TURNS: &str = "
from threading import Thread

threads = [Thread(target=crunch, args=(40,)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
";

/// Two threads take turns: each waits for the lock of the interpreter while the other has it, in pieces of 5 ms. Most are
/// explained by what the other does; who has the lock at first is not known.
#[test]
fn python_s_threads_wait_for_its_interpreter() {
    let session = Session::start();
    fs::write(session.path().join("turns.py"), [CRUNCH, TURNS].concat()).unwrap();
    let recording = or_skip!(record(&session, &["python3", "turns.py"]));
    let objects = recording.report("objects", "object");
    let is_lock = |row: &&Map<String, Value>| row["object"] == "GIL (global interpreter lock)";
    let lock = objects.rows().find(is_lock).expect("the lock is an object");
    let waited = lock["seconds"].as_f64().unwrap();
    let cpu = objects.number("recording", "cpu_seconds");
    assert!(waited > 0.5 * cpu, "{waited} s of {cpu} s of CPU time\n{:#}", objects.value["rows"]);
    let waits = recording.report("waits", "procedure");
    let explained = waits.rows().find(is_lock).expect("the waits for it are explained");
    assert!(explained["unexplained_percent"].as_f64().unwrap() < 40.0, "{explained:#?}");
    let summary = recording.report("summary", "procedure");
    let mut changes = summary.rows().filter(|row| row["section"] == "change");
    assert!(changes.any(|row| row["remedy"] == "use several processes"), "{:#}", summary.value["rows"]);
}

const JAVA: &str = "
public class Hog {
    static final Object table = new Object();
    static volatile boolean ended;
    static long sink;

    static long hogTable(int steps) {
        long value = 1;
        for (int i = 0; i < steps; i++) value = value * 6364136223846793005L + 1442695040888963407L;
        return value;
    }

    static long politeWork(int steps) {
        long value = 3;
        for (int i = 0; i < steps; i++) value = value * 2862933555777941757L + 3037000493L;
        return value;
    }

    public static void main(String[] arguments) throws Exception {
        Thread hog = new Thread(() -> {
            long end = System.nanoTime() + 1_500_000_000L;
            while (System.nanoTime() < end) {
                long stop = System.nanoTime() + 40_000_000L;
                synchronized (table) { while (System.nanoTime() < stop) sink += hogTable(200_000); }
                sink += politeWork(500_000);
            }
            ended = true;
        }, \"hog\");
        Thread polite = new Thread(() -> {
            while (!ended) {
                sink += politeWork(2_000_000);
                synchronized (table) { sink++; }
            }
        }, \"polite\");
        hog.start();
        polite.start();
        hog.join();
        polite.join();
    }
}
";

fn java(session: &Session, options: &[&str]) -> Result<Recording, String> {
    fs::write(session.path().join("Hog.java"), JAVA).unwrap();
    let compiled = session.run(Command::new(find("javac")?).arg("Hog.java"));
    assert!(compiled.status.success(), "{}", compiled.stderr);
    record(session, &[&["java"], options, &["Hog"]].concat())
}

/// The threads of the program stand out from the virtual machine's own, and wait for each other.
fn assert_java_threads(recording: &Recording) {
    let critical = recording.report("critical-path", "thread");
    let hog = critical.sum("thread", "hog", "percent");
    assert!(hog > 60.0, "{}\nhog has {hog} % of the path", critical.table("thread"));
    recording.waits().assert_seconds("polite waits for the monitor", 0.7, 1.0, |wait| {
        wait.thread == "polite" && is_for_others(wait) && wait.is_ended_by("hog")
    });
}

#[test]
fn java_threads_are_told_apart_without_a_perf_map() {
    let session = Session::start();
    let recording = or_skip!(java(&session, &[]));
    assert_java_threads(&recording);
}

#[test]
fn java_methods_have_names_with_a_perf_map() {
    let session = Session::start();
    let recording = or_skip!(java(
        &session,
        &["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
    ));
    assert_java_threads(&recording);
    // The virtual machine's compiler waits nearly all the time for work; nobody wants that explained.
    let waits = recording.report("waits", "thread");
    let compiles = |row: &&serde_json::Map<String, serde_json::Value>| {
        row["wanted"] == true && row["thread"].as_str().is_some_and(|name| name.contains(" CompilerThre"))
    };
    let seconds: f64 = waits.rows().filter(compiles).filter_map(|row| row["seconds"].as_f64()).sum();
    assert!(seconds < 0.2, "{:#}", waits.value["rows"]);
    let critical = recording.report("critical-path", "procedure");
    let is_hog = |name: &str| name.contains("hogTable") || name.contains("Hog");
    let rows = critical.rows().filter(|row| row["procedure"].as_str().is_some_and(is_hog));
    let percent: f64 = rows.filter_map(|row| row["percent"].as_f64()).sum();
    assert!(percent > 50.0, "{}\nmethods of Hog have {percent} %", critical.table("procedure"));
}

#[test]
fn ripgrep_searches_in_its_threads() {
    let session = Session::start();
    let folder = session.path().join("tree");
    fs::create_dir(&folder).unwrap();
    let words = text(4 << 20);
    for number in 0..24 {
        fs::write(folder.join(format!("{number}.txt")), &words).unwrap();
    }
    // No literal to look for, so that the regular expression does the work; three times for its length.
    let folder = folder.to_str().unwrap();
    let pattern = "[a-y]{4,9}\\W[b-z]{5}\\W(\\w+)\\W[aeiou]\\w+[xyz]$";
    let command = ["rg", "-j2", "-c", pattern, folder, folder, folder];
    let recording = or_skip!(record(&session, &command));
    assert_modules(&recording, 75.0, &["rg"]);
    assert_shared(&recording, "thread", 2, 20.0);
}

const GO: &str = r#"
package main

import (
	"sync"
	"sync/atomic"
	"time"
)

var sink uint64

//go:noinline
func hogTable(end time.Time) {
	for time.Now().Before(end) {
		for i := 0; i < 100000; i++ {
			sink = sink*6364136223846793005 + 1442695040888963407
		}
	}
}

//go:noinline
func politeWork(steps int) uint64 {
	value := uint64(3)
	for i := 0; i < steps; i++ {
		value = value*2862933555777941757 + 3037000493
	}
	return value
}

func main() {
	var lock sync.Mutex
	var ended atomic.Bool
	var all sync.WaitGroup
	all.Add(2)
	go func() {
		defer all.Done()
		for i := 0; i < 30; i++ {
			lock.Lock()
			hogTable(time.Now().Add(40 * time.Millisecond))
			lock.Unlock()
			politeWork(500000)
		}
		ended.Store(true)
	}()
	go func() {
		defer all.Done()
		for !ended.Load() {
			politeWork(5000000)
			lock.Lock()
			lock.Unlock()
		}
	}()
	all.Wait()
}
"#;

#[test]
fn go_procedures_have_names() {
    let session = Session::start();
    let program = or_skip!(session.build_go(GO, "hog"));
    let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
    assert_laws(&recording);
    assert_forms(&recording.path);
    let zeroing = recording.report("zeroing", "procedure");
    assert_eq!(first(&zeroing, "procedure"), "main.hogTable", "{}", zeroing.table("procedure"));
    let critical = recording.report("critical-path", "procedure");
    let percent = critical.percent("main.hogTable")
        + critical.percent("time.Now")
        + critical.percent("main.politeWork");
    assert!(percent > 85.0, "{}\n{percent} %", critical.table("procedure"));
    assert!(critical.percent("main.hogTable") > 60.0, "{}", critical.table("procedure"));
    // The runtime's thread that sleeps and looks ends with the program: however long it slept, no changed run waits for it.
    let elapsed = critical.number("recording", "elapsed_seconds");
    let what_if = recording.what_if(&["main.hogTable=0"]);
    let change = what_if.rows().find(|row| row["section"] == "change").expect("the change has a row");
    let gain = change["elapsed_gain_seconds"].as_f64().expect("a number");
    assert!(gain > 0.15 * elapsed, "without main.hogTable {gain:.2} of {elapsed:.2} s less");
}

/// What leaving a procedure of a Go program out gains, by what-if's range and by the program run anew.
#[test]
fn a_go_program_that_collects_garbage_is_predicted() {
    /// Points by which the truth may be outside: garbage collection is other work in each run.
    const CLOSE: f64 = 12.0;
    const ATTEMPTS: usize = 5;
    let session = Session::start();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/go/trees.go");
    let program = or_skip!(session.build_go(&fs::read_to_string(source).unwrap(), "trees"));
    let seconds = |left_out: &str| {
        let run = session.run(Command::new(&program).env("LEAVE_OUT", left_out));
        assert!(run.status.success(), "{}", run.stderr);
        run.elapsed.as_secs_f64()
    };
    let mut told = Vec::new();
    for _ in 0..ATTEMPTS {
        let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
        let (gain, range) = recording.gain_without("main.score", CLOSE);
        let truth = 100.0 * (1.0 - seconds("score") / seconds(""));
        // A run that ends with the thread that sleeps and looks gains next to nothing.
        if range.contains(&truth) && gain > 20.0 {
            return;
        }
        told.push(format!("{range:.0?}, {gain:.0}; in truth {truth:.0} %"));
    }
    panic!("{told:?}");
}

/// What leaving a method of a Java program out gains, by what-if's range and by the program run anew; its lock has the method's name.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_java_program_with_a_lock_is_predicted() {
    /// Points by which the truth may be outside: what is compiled when differs from run to run.
    const CLOSE: f64 = 12.0;
    const MAP: [&str; 2] = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"];
    let session = Session::start();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/java/Ledger.java");
    fs::copy(source, session.path().join("Ledger.java")).unwrap();
    let compiled = session.run(Command::new(or_skip!(find("javac"))).arg("Ledger.java"));
    assert!(compiled.status.success(), "{}", compiled.stderr);
    let java = or_skip!(find("java"));
    let without = session.least_seconds(&java, &["-Dleave.out=weigh", "Ledger"]);
    let truth = 100.0 * (1.0 - without / session.least_seconds(&java, &["Ledger"]));
    let recording = or_skip!(record(&session, &[&["java"], &MAP[..], &["Ledger"]].concat()));
    let (gain, range) = recording.gain_without("double Ledger.weigh(double)", CLOSE);
    assert!(gain > 40.0 && range.contains(&truth), "{range:.0?}, {gain:.0}; in truth {truth:.0} %");
    let objects = recording.report("objects", "object");
    let is_lock = |row: &serde_json::Map<String, serde_json::Value>| {
        row["kind"] == "mutex" && row["object"].as_str().is_some_and(|name| name.contains("Ledger.enter"))
    };
    assert!(objects.rows().any(is_lock), "{:#}", objects.value["rows"]);
}

/// A PostgreSQL server of its own, run by nobody, stopped at the end.
struct Server {
    folder: PathBuf,
    programs: PathBuf,
}

const NOBODY: u32 = 65534;

impl Server {
    fn start(session: &Session) -> Result<Server, String> {
        if !is_root() {
            return Err("starting a server as another user needs root".into());
        }
        // Debian's wrappers look for Debian's clusters; the real programs lie beside the real initdb.
        let initdb = find("initdb")?.canonicalize().unwrap();
        let server =
            Server { folder: session.path().join("server"), programs: initdb.parent().unwrap().to_owned() };
        fs::create_dir(&server.folder).unwrap();
        std::os::unix::fs::chown(&server.folder, Some(NOBODY), Some(NOBODY)).unwrap();
        server.succeed("initdb", &["-D", "data", "-U", "test", "-A", "trust", "--no-sync", "-E", "UTF8"]);
        let options = format!("-k {} -h '' -c shared_buffers=64MB", server.folder.display());
        server.succeed("pg_ctl", &["-D", "data", "-w", "-l", "log", "-o", &options, "start"]);
        Ok(server)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.args(arguments).current_dir(&self.folder).uid(NOBODY).gid(NOBODY);
        command.env("PGHOST", &self.folder).env("PGUSER", "test").env("LC_ALL", "C");
        command
    }

    fn succeed(&self, program: &str, arguments: &[&str]) {
        let run = crate::support::run(&mut self.command(program, arguments));
        assert!(run.status.success(), "{program}: {}{}", run.stdout, run.stderr);
    }

    /// Waits until so many clients are served, beside the server's five helpers.
    fn await_backends(&self, clients: usize) {
        let children = format!("/proc/{0}/task/{0}/children", self.pid());
        let begin = Instant::now();
        while fs::read_to_string(&children).unwrap().split_whitespace().count() < 5 + clients {
            assert!(begin.elapsed() < Duration::from_secs(20), "pgbench does not connect");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn pid(&self) -> String {
        let text = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        text.lines().next().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ =
            self.command("pg_ctl", &["-D", "data", "-m", "immediate", "stop"]).stdout(Stdio::null()).status();
    }
}

/// A load that is ended with the test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn postgres_is_attached_to_while_pgbench_loads_it() {
    let session = Session::alone();
    let server = or_skip!(Server::start(&session));
    server.succeed("pgbench", &["-i", "-q", "-s", "2", "postgres"]);
    let mut pgbench = server.command("pgbench", &["-c", "2", "-j", "1", "-T", "30", "postgres"]);
    let _load = Load(pgbench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    server.await_backends(2);
    let path = session.path().join("attached.longpole");
    let mut record = longpole();
    record.args(["record", "--pid", &server.pid(), "--duration", "3", "-o"]).arg(&path);
    let run = session.run(&mut record);
    assert!(run.status.success(), "{}", run.stderr);
    let recording = Recording::at(&path);
    let profile = recording.report("profile", "process");
    let seconds = profile.number("recording", "elapsed_seconds");
    assert!((2.5..4.5).contains(&seconds), "{seconds} s of 3 recorded");
    assert!(profile.number("recording", "processes") >= 7.0, "postmaster, its five helpers, two backends");
    profile.assert_share("process", "postgres", 100.0, 3.0);
    // A transaction is executed below PostgresMain, and ends with a flush of the log.
    let procedures = recording.report("profile", "procedure");
    let inclusive = procedures.sum("procedure", "PostgresMain", "inclusive_percent");
    assert!(inclusive > 60.0, "{}\nPostgresMain has {inclusive} %", procedures.table("procedure"));
    let waits = recording.waits();
    let to_client = waits.seconds(|wait| matches!(wait.cause, Cause::Socket | Cause::Poll));
    assert!(to_client > 0.5, "backends wait for their client: {to_client} s");
}
