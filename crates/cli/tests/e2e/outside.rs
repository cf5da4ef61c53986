//! Numbers from outside: what commands print and exporters show is in the recording of a program, and nothing that
//! they do changes its run.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Outside, Run, Session, find, go_first, is_root, longpole, or_skip};

/// Ticks of `/proc/stat` in a second.
const TICKS: f64 = 100.0;

/// Records a script of the shell, with these collectors.
fn record(session: &Session, collect: &[&str], script: &str) -> Result<(Run, Outside), String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    let path = session.path().join("outside.longpole");
    let _ = fs::remove_dir_all(&path);
    let mut command = longpole();
    command.args(["record", "-o"]).arg(&path);
    command.args(collect.iter().flat_map(|collector| ["--collect", collector]));
    let run = session.run(command.args(["--", "/bin/sh", "-c", script]));
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    let outside = Outside::of(&path);
    Ok((run, outside))
}

/// How often a trouble with these words was counted.
fn troubles(outside: &Outside, collector: &str, words: &str) -> u64 {
    let found = outside.account(collector).troubles.iter().filter(|trouble| trouble.what.contains(words));
    found.map(|trouble| trouble.count).sum()
}

/// An exporter of Debian's, on a port of its own.
struct Exporter {
    child: Child,
    address: String,
}

impl Exporter {
    fn start() -> Result<Exporter, String> {
        let program = find("prometheus-node-exporter")?;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let mut command = Command::new(program);
        command.arg(format!("--web.listen-address={address}")).args([
            "--collector.disable-defaults",
            "--collector.cpu",
            "--collector.meminfo",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let exporter = Exporter { child: command.spawn().unwrap(), address };
        let begin = Instant::now();
        while std::net::TcpStream::connect(&exporter.address).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the exporter does not come up");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(exporter)
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// User time of the machine, seconds.
fn user_seconds(stat: &Path) -> f64 {
    let text = fs::read_to_string(stat).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse::<f64>().unwrap() / TICKS
}

#[test]
fn an_exporter_of_debian_is_scraped() {
    let session = Session::alone();
    let exporter = or_skip!(Exporter::start());
    let target = format!("prometheus=http://{}/metrics", exporter.address);
    // The program reads the same counts at its begin and its end, and computes for two seconds between.
    let script = "cat /proc/stat >before; timeout 2.2 sh -c 'while :; do :; done'; cat /proc/stat >after";
    let (_, outside) = or_skip!(record(&session, &[&target], script));
    let account = outside.account("prometheus=");
    assert_eq!(account.troubles, [], "{account:?}");
    let grown: f64 = outside
        .named("node_cpu_seconds_total")
        .filter(|series| series.label.contains("mode=\"user\""))
        .inspect(|series| assert_eq!((series.unit.as_str(), series.samples), ("s", "counter"), "{series:?}"))
        .map(|series| series.values[series.values.len() - 1].1 - series.values[0].1)
        .sum();
    let stat = |name: &str| user_seconds(&session.path().join(name));
    let expected = stat("after") - stat("before");
    // The scrapes are a little earlier and later than the program's looks.
    assert!(expected > 1.0 && (grown - expected).abs() < 0.2 * expected + 0.3, "{grown} s for {expected} s");
    let memory = outside.named("node_memory_MemTotal_bytes").next().unwrap();
    assert_eq!((memory.unit.as_str(), memory.samples), ("B", "gauge"));
    // One at the begin, one a second, one at the end, each in its place of the run.
    let (begin, end) = outside.run;
    let times: Vec<f64> = memory.values.iter().map(|&(time, _)| time).collect();
    assert!((3..=5).contains(&times.len()), "{times:?} in {begin}..{end}");
    assert!(times[0] < begin + 0.5 && times[times.len() - 1] > end - 0.5, "{times:?} in {begin}..{end}");
}

#[test]
fn what_a_command_prints_is_in_the_recording_of_the_program() {
    let session = Session::alone();
    let command = "cmd:echo '#! steps unit=steps samples=counter'; i=0; while :; do i=$((i+1)); echo steps program $i; sleep 0.05; done";
    let (run, outside) = or_skip!(record(&session, &["kernel", command], "sleep 1; exit 7"));
    assert_eq!(run.status.code(), Some(7), "{}", run.stderr);
    let steps = outside.named("steps").next().unwrap();
    assert_eq!((steps.unit.as_str(), steps.samples, steps.collector.as_str()), ("steps", "counter", command));
    // Every step that was printed, none twice.
    let values: Vec<f64> = steps.values.iter().map(|&(_, value)| value).collect();
    let expected: Vec<f64> = (1..=values.len()).map(|step| step as f64).collect();
    assert_eq!(values, expected);
    assert!((8..=25).contains(&values.len()), "{values:?}");
    let account = outside.account("cmd:");
    assert_eq!(account.troubles, []);
    assert!(account.cpu_seconds > 0.0 && account.cpu_seconds < 0.5, "{account:?}");
    assert!(outside.account("kernel").values > 10);
}

#[test]
fn bad_collectors_leave_the_run_and_the_other_collectors_unharmed() {
    let session = Session::alone();
    let hangs = "cmd:trap '' TERM; while :; do sleep 4721; done";
    let (dies, floods) = ("cmd:echo good program 1; exit 3", "cmd:yes 'noise program 1'");
    let (rubbish, missing) =
        ("cmd:cat /bin/true; echo; echo kept program 2; sleep 60", "cmd:no-such-collector");
    let down = "prometheus=http://127.0.0.1:1/metrics";
    let all = ["kernel", hangs, dies, floods, rubbish, missing, down];
    let (run, outside) = or_skip!(record(&session, &all, "sleep 0.7; echo done; exit 9"));
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(9), "done\n"), "{}", run.stderr);
    assert_eq!(troubles(&outside, hangs, "was killed"), 1, "{:?}", outside.accounts);
    assert_eq!(troubles(&outside, dies, "before the program did: status 3"), 1, "{:?}", outside.accounts);
    assert!(troubles(&outside, floods, "10,000 a second") > 100, "{:?}", outside.accounts);
    assert!(troubles(&outside, rubbish, "no text") > 0, "{:?}", outside.accounts);
    assert_eq!(troubles(&outside, missing, "status 127"), 1, "{:?}", outside.accounts);
    assert!(troubles(&outside, down, "could not be read") >= 2, "{:?}", outside.accounts);
    for (metric, value) in [("good", 1.0), ("kept", 2.0)] {
        assert_eq!(outside.named(metric).next().unwrap().values[0].1, value);
    }
    assert!(outside.account("kernel").values > 10, "{:?}", outside.accounts);
    assert!(!runs("sleep 4721"));
}

#[test]
fn a_recorder_that_is_killed_takes_its_commands_with_it() {
    let session = Session::alone();
    if !is_root() {
        return crate::support::skipped("recording needs root");
    }
    let began = session.path().join("began");
    let mut record = longpole();
    record.current_dir(session.path()).args(["record", "-o", "x.longpole", "--collect"]);
    record.args(["cmd:touch began; exec sleep 4722", "--", "sleep", "3"]);
    record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut record = go_first(&mut record).spawn().unwrap();
    wait_until("the command's begin", || began.exists() && runs("sleep 4722"));
    record.kill().unwrap();
    record.wait().unwrap();
    wait_until("the command's end", || !runs("sleep 4722"));
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process runs whose command line is this.
fn runs(line: &str) -> bool {
    let folders = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let line_of = |folder: PathBuf| fs::read(folder.join("cmdline")).unwrap_or_default();
    folders.map(line_of).any(|found| String::from_utf8_lossy(&found).replace('\0', " ").trim() == line)
}
