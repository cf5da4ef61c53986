//! `cargo xtask collectors`: the same programs by every collector, beside their known answers, as the table of
//! docs/collectors.md.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::built::{self, BuildProfile};
use crate::programs;
use crate::steps::root;

/// What a program's first comment says of a name, percent.
struct KnownAnswer {
    program: &'static str,
    view: &'static str,
    by: &'static str,
    name: &'static str,
    percent: f64,
}

const fn truth(
    program: &'static str,
    view: &'static str,
    by: &'static str,
    name: &'static str,
    percent: f64,
) -> KnownAnswer {
    KnownAnswer { program, view, by, name, percent }
}

const TRUTHS: [KnownAnswer; 23] = [
    truth("serial_then_parallel", "critical-path", "procedure", "read_input", 50.0),
    truth("serial_then_parallel", "profile", "procedure", "transform", 50.0),
    truth("barrier_imbalance", "critical-path", "thread", "heavy", 100.0),
    truth("barrier_imbalance", "profile", "thread", "light", 25.0),
    truth("lock_hog", "critical-path", "procedure", "hog_table", 92.3),
    truth("lock_hog", "critical-path", "thread", "hog", 98.0),
    truth("condition_pipeline", "critical-path", "procedure", "transform_stage", 97.6),
    truth("condition_pipeline", "profile", "procedure", "write_stage", 23.1),
    truth("semaphore", "critical-path", "procedure", "fill_slot", 98.8),
    truth("semaphore", "profile", "procedure", "drain_slot", 20.0),
    truth("rwlock", "critical-path", "procedure", "rewrite_table", 83.3),
    truth("nested_wait", "critical-path", "procedure", "root_work", 66.7),
    truth("nested_wait", "critical-path", "procedure", "finish_work", 22.2),
    truth("spinner", "npt", "procedure", "compute_result", 80.0),
    truth("two_processes_pipe", "critical-path", "procedure", "produce_block", 98.5),
    truth("fork_exec_tree", "profile", "procedure", "leaf_work", 98.0),
    truth("pure_computation", "profile", "procedure", "scan_memory", 50.0),
    truth("instrumented", "critical-path", "procedure", "often", 20.0),
    truth("instrumented", "critical-path", "procedure", "even", 15.0),
    truth("instrumented", "critical-path", "procedure", "deep", 10.0),
    truth("instrumented", "critical-path", "procedure", "jump", 15.0),
    truth("instrumented", "critical-path", "procedure", "left", 30.0),
    truth("instrumented", "profile", "procedure", "right", 9.1),
];

/// One way to record.
struct RecordingMethod {
    title: &'static str,
    options: &'static [&'static str],
    flags: &'static [&'static str],
}

const INSTRUMENTED: &[&str] = &["-finstrument-functions", "-finstrument-functions-exclude-file-list=work.h"];

const WAYS: [RecordingMethod; 8] = [
    RecordingMethod { title: "`bpf`", options: &["--collector", "bpf"], flags: &[] },
    RecordingMethod { title: "`bpf --locks`", options: &["--collector", "bpf", "--locks"], flags: &[] },
    RecordingMethod { title: "`perf`", options: &["--collector", "perf"], flags: &[] },
    RecordingMethod { title: "`process`", options: &["--collector", "process"], flags: &[] },
    RecordingMethod { title: "`agent`", options: &["--collector", "agent"], flags: &[] },
    RecordingMethod {
        title: "`agent`, instrumented",
        options: &["--collector", "agent"],
        flags: INSTRUMENTED,
    },
    RecordingMethod {
        title: "`agent --calls`",
        options: &["--collector", "agent", "--calls"],
        flags: INSTRUMENTED,
    },
    RecordingMethod {
        title: "`bpf --calls`",
        options: &["--collector", "bpf", "--calls"],
        flags: INSTRUMENTED,
    },
];

/// Percentage points by which a share may be off, beside three standard errors: what programs do besides.
const MARGIN: f64 = 5.0;
const PAGE: &str = "docs/collectors.md";
const BEGIN: &str = "<!-- table of the collectors: written by `cargo xtask collectors` -->\n";
const END: &str = "<!-- end of the table -->\n";

/// What a report says.
struct Answer {
    percent: f64,
    error: f64,
}

impl Answer {
    fn agrees(&self, truth: &KnownAnswer) -> bool {
        (self.percent - truth.percent).abs() <= MARGIN + 3.0 * self.error
    }
}

/// Records every program in every way and writes the table. Fails where an answer of the kernel's collectors is off.
pub fn run() -> Result<ExitCode> {
    let folder = built::target().join("collectors");
    fs::create_dir_all(&folder).context("create the folder of the recordings")?;
    let longpole = built::longpole(BuildProfile::Release)?;
    let mut answers: Vec<Vec<Option<Answer>>> = TRUTHS.iter().map(|_| Vec::new()).collect();
    let mut recorded: Option<(&str, PathBuf)>;
    for way in &WAYS {
        recorded = None;
        for (truth, row) in TRUTHS.iter().zip(&mut answers) {
            if recorded.as_ref().is_none_or(|(program, _)| *program != truth.program) {
                eprintln!("{} by {}", truth.program, way.title);
                let program = programs::build(&folder, truth.program, way.flags)?;
                recorded = Some((truth.program, record(&longpole, &folder, &program, way)?));
            }
            let (_, recording) = recorded.as_ref().expect("just recorded");
            row.push(ask(&longpole, recording, truth)?);
        }
    }
    let table = table(&answers);
    print!("{table}");
    write(&table)?;
    let wrong = TRUTHS.iter().zip(&answers).flat_map(|(truth, row)| {
        let kernel = WAYS.iter().zip(row).filter(|(way, _)| !way.options.contains(&"agent"));
        kernel.filter(move |(_, answer)| !answer.as_ref().is_some_and(|answer| answer.agrees(truth)))
    });
    Ok(if wrong.count() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn record(longpole: &Path, folder: &Path, program: &Path, way: &RecordingMethod) -> Result<PathBuf> {
    let recording = folder.join("recording.longpole");
    let mut command = Command::new(longpole);
    command
        .args(["record", "--quiet", "--force", "--output"])
        .arg(&recording)
        .args(way.options)
        .arg("--")
        .arg(program);
    let output = command.stdout(Stdio::null()).output().context("start longpole")?;
    ensure!(output.status.success(), "record: {}", String::from_utf8_lossy(&output.stderr));
    Ok(recording)
}

/// The report's share of the truth's name; `None` where the report has no such name.
fn ask(longpole: &Path, recording: &Path, truth: &KnownAnswer) -> Result<Option<Answer>> {
    let mut command = Command::new(longpole);
    command.arg("report").arg(recording).args(["--view", truth.view, "--by", truth.by, "--format", "json"]);
    let output = command.output().context("start longpole")?;
    if !output.status.success() {
        bail!("report {}: {}", truth.view, String::from_utf8_lossy(&output.stderr));
    }
    let report: Value = serde_json::from_slice(&output.stdout).context("read the report")?;
    let rows = report["rows"].as_array().context("find the report's rows")?;
    // The programs' procedures call nothing of their own; what the kernel does meanwhile is theirs.
    let share = if truth.by == "procedure" { "inclusive_percent" } else { "percent" };
    let mut found: Option<Answer> = None;
    for row in rows.iter().filter(|row| row[truth.by].as_str() == Some(truth.name)) {
        let answer = found.get_or_insert(Answer { percent: 0.0, error: 0.0 });
        answer.percent += row[share].as_f64().unwrap_or(0.0);
        answer.error += row["error_percent"].as_f64().unwrap_or(0.0);
    }
    Ok(found)
}

fn table(answers: &[Vec<Option<Answer>>]) -> String {
    let mut table = String::from("| program | share of | known |");
    WAYS.iter().for_each(|way| write!(table, " {} |", way.title).expect("a string takes all"));
    table.push_str("\n|---|---|---:|");
    WAYS.iter().for_each(|_| table.push_str("---:|"));
    table.push('\n');
    for (truth, row) in TRUTHS.iter().zip(answers) {
        let KnownAnswer { program, view, name, percent, .. } = truth;
        write!(table, "| `{program}` | `{name}` in `{view}` | {percent} |").expect("a string takes all");
        for answer in row {
            let cell = match answer {
                Some(answer) => {
                    let sign = if answer.agrees(truth) { "" } else { " ✗" };
                    format!("{:.1} ± {:.1}{sign}", answer.percent, answer.error)
                }
                None => "not seen".to_owned(),
            };
            write!(table, " {cell} |").expect("a string takes all");
        }
        table.push('\n');
    }
    table
}

/// Puts the table between its marks in the page.
fn write(table: &str) -> Result<()> {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("read {PAGE}"))?;
    let begin = page.find(BEGIN).with_context(|| format!("find the table's mark in {PAGE}"))? + BEGIN.len();
    let end = page[begin..].find(END).with_context(|| format!("find the table's end in {PAGE}"))? + begin;
    fs::write(&path, format!("{}\n{table}\n{}", &page[..begin], &page[end..]))
        .with_context(|| format!("write {PAGE}"))
}
