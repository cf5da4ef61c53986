//! Runs longpole, and programs under it, one at a time.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{Answer, Nobody, Waits, build, find, go_first};

/// No run of these tests takes a tenth of this on an idle machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The binary under test, as a command. `LONGPOLE_BIN` names another one than cargo's.
pub fn longpole() -> Command {
    let binary = std::env::var_os("LONGPOLE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_longpole").into());
    let mut command = Command::new(binary);
    command.env("NO_COLOR", "1");
    command
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// How a finished command ended, and what it wrote.
#[derive(Debug)]
pub struct Run {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

/// Runs a command to its end, with its output in files; it is killed, and the test fails, when it takes
/// longer than any should.
pub fn run(command: &mut Command) -> Run {
    let (out, err) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    command.stdin(Stdio::null()).stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
    // A session, and so a group, of its own: what hangs can be ended as a whole.
    let mut child = go_first(command).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if begin.elapsed() > LIMIT {
            // SAFETY: plain system call on the session's group.
            unsafe { libc::kill(-child.id().cast_signed(), libc::SIGKILL) };
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let elapsed = begin.elapsed();
    let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let (stdout, stderr) = (text(out.path()), text(err.path()));
    let Some(status) = status else { panic!("{command:?} hangs\n{stdout}\n{stderr}") };
    Run { status, stdout, stderr, elapsed }
}

/// Where events come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// `longpole record --collector bpf`
    Bpf,
    /// `longpole record --collector perf`
    Perf,
    /// `longpole record --collector process`, with the tracepoints of futex calls
    Process,
    /// The same by the user nobody, whose waits the agent explains
    Nobody,
    /// `perf record`, then `longpole import`
    Import,
}

impl Collector {
    pub fn name(self) -> &'static str {
        match self {
            Collector::Bpf => "bpf",
            Collector::Perf => "perf",
            Collector::Process => "process",
            Collector::Nobody => "nobody",
            Collector::Import => "import",
        }
    }

    /// Whether this machine lets it.
    pub fn permitted(self) -> Result<(), String> {
        if !is_root() {
            return Err(format!("the collector {} needs root", self.name()));
        }
        match self {
            Collector::Bpf if !Path::new("/sys/kernel/btf/vmlinux").exists() => {
                Err("the kernel has no BTF".into())
            }
            Collector::Process => has_futex_tracepoints(),
            Collector::Nobody => Nobody::may_have_perf_events(),
            Collector::Import => find("perf").map(drop),
            _ => Ok(()),
        }
    }
}

fn has_futex_tracepoints() -> Result<(), String> {
    let found = longpole_record::tracefs::id("syscalls/sys_enter_futex");
    found.map(drop).map_err(|error| format!("the kernel has no tracepoint of futex calls: {error}"))
}

/// When no other test may use the machine: recordings of two tests at once would disturb each other's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alone {
    /// From the session's begin to its end
    Always,
    /// While the session runs something; its programs are built, and its answers read, beside what others build and read
    WhileItRuns,
    /// Never
    Never,
}

/// A test's hold on the machine, and its folder.
pub struct Session {
    pub folder: tempfile::TempDir,
    machine: File,
    alone: Alone,
}

impl Session {
    /// For a test that runs what takes time by [`Session::run`], or what calls that.
    pub fn start() -> Session {
        Session::new(Alone::WhileItRuns)
    }

    /// For a test that starts by itself what takes time.
    pub fn alone() -> Session {
        Session::new(Alone::Always)
    }

    /// For a test whose answers are the same however long anything takes.
    pub fn beside_others() -> Session {
        Session::new(Alone::Never)
    }

    /// Waits for the machine.
    fn new(alone: Alone) -> Session {
        let machine = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine.lock")).unwrap();
        match alone {
            Alone::Always => machine.lock(),
            Alone::WhileItRuns | Alone::Never => machine.lock_shared(),
        }
        .unwrap();
        let folder = tempfile::Builder::new().prefix("longpole-e2e-").tempdir().unwrap();
        // Some tests run programs as another user in it.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        Session { folder, machine, alone }
    }

    /// The session's folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Builds one of `programs/`.
    pub fn build(&self, source: &str, flags: &[&str]) -> Result<PathBuf, String> {
        build(self.path(), source, flags)
    }

    /// Builds a Go program from its text, as its own users do; without the network.
    pub fn build_go(&self, source: &str, name: &str) -> Result<PathBuf, String> {
        let go = find("go")?;
        std::fs::write(self.path().join("main.go"), source).unwrap();
        std::fs::write(self.path().join("go.mod"), format!("module example.com/{name}\n\ngo 1.19\n"))
            .unwrap();
        let mut build = Command::new(go);
        build.args(["build", "-o", name, "."]).env("HOME", self.path());
        build.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off").env("GOTELEMETRY", "off");
        let built = run(build.current_dir(self.path()));
        assert!(built.status.success(), "{}", built.stderr);
        Ok(self.path().join(name))
    }

    /// Runs a command in the session's folder.
    pub fn run(&self, command: &mut Command) -> Run {
        self.run_elsewhere(command.current_dir(self.path()))
    }

    /// The same where the command says.
    pub fn run_elsewhere(&self, command: &mut Command) -> Run {
        if self.alone != Alone::WhileItRuns {
            return run(command);
        }
        self.machine.lock().unwrap();
        let run = run(command);
        self.machine.lock_shared().unwrap();
        run
    }

    /// Elapsed time of a program that succeeds, seconds: the least of three runs, as others only lengthen them.
    pub fn least_seconds(&self, program: &Path, arguments: &[&str]) -> f64 {
        let seconds = |_| {
            let run = self.run(Command::new(program).args(arguments));
            assert!(run.status.success(), "{}", run.stderr);
            run.elapsed.as_secs_f64()
        };
        (0..3).map(seconds).fold(f64::INFINITY, f64::min)
    }

    /// Records a program to its end. It is an error of the test if that fails; the program's own exit
    /// status is left to the caller.
    pub fn record<P: AsRef<OsStr>>(&self, collector: Collector, command: &[P]) -> Result<Recording, String> {
        let record = || self.record_once(collector, command);
        match collector {
            Collector::Perf | Collector::Import => Recording::made_whole(record),
            _ => record(),
        }
    }

    /// Records a built program with `bpf` into a folder of this name, of which there can be several; the program has to succeed.
    pub fn record_as(&self, name: &str, program: &Path) -> Result<PathBuf, String> {
        Collector::Bpf.permitted()?;
        let path = self.path().join(name);
        let mut record = longpole();
        record.args(["record", "--quiet", "--collector", "bpf", "-o"]).arg(&path);
        let run = self.run(record.arg("--").arg(program));
        assert!(run.status.success(), "{}", run.stderr);
        Ok(path)
    }

    /// Records a built program with these options; the program has to succeed.
    pub fn record_with(&self, options: &[&str], program: &Path) -> Recording {
        let path = self.path().join("options.longpole");
        let mut record = longpole();
        let run = self
            .run(record.args(["record", "--force", "-o"]).arg(&path).args(options).arg("--").arg(program));
        assert!(run.status.success(), "{}", run.stderr);
        Recording::at(&path)
    }

    fn record_once<P: AsRef<OsStr>>(&self, collector: Collector, command: &[P]) -> Result<Recording, String> {
        collector.permitted()?;
        let path = self.path().join(format!("{}.longpole", collector.name()));
        let run = match collector {
            Collector::Bpf | Collector::Perf | Collector::Process => {
                let mut record = longpole();
                record
                    .args(["record", "--force", "--collector", collector.name(), "-o"])
                    .arg(&path)
                    .arg("--")
                    .args(command);
                self.run(&mut record)
            }
            Collector::Nobody => {
                return Ok(Nobody::in_session(self)?.record(&["--collector", "process"], command));
            }
            Collector::Import => self.import(&path, command)?,
        };
        let made = path.join("recording.json").is_file();
        assert!(made, "no recording; stdout:\n{}\nstderr:\n{}", run.stdout, run.stderr);
        Ok(Recording { path, run })
    }

    fn import<P: AsRef<OsStr>>(&self, path: &Path, command: &[P]) -> Result<Run, String> {
        let data = self.path().join("perf.data");
        let mut perf = Command::new(find("perf")?);
        // No build ids: some versions of perf fail on a program that they saw in another folder before.
        perf.args(["record", "-q", "--no-buildid", "--no-buildid-cache", "-g", "-e"]);
        perf.args(["sched:sched_switch,sched:sched_waking,cpu-clock", "-o"]);
        let run = self.run(perf.arg(&data).arg("--").args(command));
        assert!(data.is_file(), "perf made nothing: {}", run.stderr);
        let imported = super::run(longpole().args(["import", "--force"]).arg(&data).arg("-o").arg(path));
        assert!(imported.status.success(), "import failed: {}", imported.stderr);
        Ok(Run { stderr: run.stderr + &imported.stderr, ..run })
    }
}

/// A recording that was made.
pub struct Recording {
    pub path: PathBuf,
    /// The run that made it.
    pub run: Run,
}

impl Recording {
    /// The recording in a folder.
    pub fn at(path: &Path) -> Recording {
        let run = Run {
            status: ExitStatus::default(),
            stdout: String::new(),
            stderr: String::new(),
            elapsed: Duration::ZERO,
        };
        Recording { path: path.to_owned(), run }
    }

    /// Seconds that threads were ready without a processor, all together, as a part of the run.
    pub fn lacked_processors(&self) -> f64 {
        let threads = self.report("threads", "thread");
        threads.sum_of("ready_seconds") / threads.number("recording", "elapsed_seconds")
    }

    /// Made anew, a few times, while it says of itself that it lost much: the rings of perf hold the switches of the whole machine,
    /// and others may switch faster than anybody reads.
    pub fn made_whole(make: impl Fn() -> Result<Recording, String>) -> Result<Recording, String> {
        const ATTEMPTS: u32 = 4;
        for _ in 1..ATTEMPTS {
            let recording = make()?;
            if !recording.lost_much() {
                return Ok(recording);
            }
            std::fs::remove_dir_all(&recording.path).unwrap();
        }
        make()
    }

    /// Whether more than one event in a hundred is lost, by its own evidence.
    fn lost_much(&self) -> bool {
        let evidence = self.report("evidence", "procedure");
        let (lost, kept) =
            (evidence.number("evidence", "lost_events"), evidence.number("evidence", "events"));
        100.0 * lost > kept
    }

    /// What `longpole report --view VIEW --by BY` answers.
    pub fn report(&self, view: &str, by: &str) -> Answer {
        self.report_with(view, by, &[])
    }

    /// The same with further options.
    pub fn report_with(&self, view: &str, by: &str, options: &[&str]) -> Answer {
        let mut command = longpole();
        command.arg("report").arg(&self.path).args(["--view", view, "--by", by, "--format", "json"]);
        let run = run(command.args(options));
        assert!(run.status.success(), "{command:?}: {}", run.stderr);
        Answer::new(view, &run.stdout)
    }

    /// What `longpole what-if --set CHANGE` answers.
    pub fn what_if(&self, changes: &[&str]) -> Answer {
        let mut command = longpole();
        command.arg("what-if").arg(&self.path).args(["--format", "json"]);
        let run = run(command.args(changes.iter().flat_map(|change| ["--set", change])));
        assert!(run.status.success(), "{command:?}: {}", run.stderr);
        Answer::new("what-if", &run.stdout)
    }

    /// What leaving a procedure out gains, percent of the elapsed time: by one execution, and the range, with its error and so many points
    /// more.
    pub fn gain_without(&self, procedure: &str, more: f64) -> (f64, RangeInclusive<f64>) {
        let what_if = self.what_if(&[&format!("{procedure}=0")]);
        let row = what_if.rows().find(|row| row["section"] == "change").expect("the change has a row");
        let of = |key: &str| row.get(key).and_then(serde_json::Value::as_f64);
        let gain = of("elapsed_gain_percent").expect("a number");
        let error = of("elapsed_error_percent").unwrap_or(0.0) + more;
        let low = of("gain_low_percent").unwrap_or(gain).min(gain - error);
        let high = of("gain_high_percent").unwrap_or(gain).max(gain + error);
        (gain, low..=high)
    }

    /// Every wait of the run.
    pub fn waits(&self) -> Waits {
        Waits::of(&self.path)
    }
}
