//! A program with a phase of page faults and a counter of its own: both are found in the tree, the table, the curve and the
//! formula, and are what the program printed of itself.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Recording, Run, Session, is_root, longpole, or_skip, run};

/// Seconds that a collector's look may come late by.
const LATE: f64 = 0.02;

/// Records with these options.
fn record(session: &Session, options: &[&str], program: &[&str]) -> Result<Recording, String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    let path = session.path().join("series.longpole");
    let mut command = longpole();
    command.args(["record", "-q", "--force", "-o"]).arg(&path).args(options);
    let run = session.run(command.arg("--").args(program));
    assert!(run.status.success(), "{run:?}");
    Ok(Recording { path, run })
}

/// The program with the phase of page faults, recorded.
fn recorded(session: &Session) -> Result<Recording, String> {
    let program = session.build("page_faults.c", &[])?;
    record(session, &[], &[program.to_str().unwrap()])
}

/// What `longpole report` says when asked so.
fn report(recording: &Path, options: &[&str]) -> Run {
    run(longpole().arg("report").arg(recording).args(options))
}

/// The JSON of an answer.
fn answer(recording: &Path, options: &[&str]) -> Value {
    let run = report(recording, &[options, &["--format", "json"]].concat());
    assert!(run.status.success(), "{options:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

/// What a question that cannot be answered is told.
fn refusal(recording: &Path, options: &[&str]) -> String {
    let run = report(recording, options);
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(1), ""), "{run:?}");
    run.stderr
}

/// Values by metric and node.
fn figures(answer: &Value) -> HashMap<(String, String), f64> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = answer["rows"].as_array().unwrap().iter();
    let valued = rows.filter_map(|row| Some((row, row["value"].as_f64()?)));
    valued.map(|(row, value)| ((text(row, "metric"), text(row, "node")), value)).collect()
}

/// The value of a metric of the program.
fn figure(answer: &Value, metric: &str) -> f64 {
    let key = (metric.to_owned(), "program".to_owned());
    *figures(answer).get(&key).unwrap_or_else(|| panic!("no {metric} in {answer}"))
}

/// All that is said beside the numbers.
fn notes(answer: &Value) -> String {
    let notes = if answer["notes"].is_array() { &answer["notes"] } else { &answer["evidence"]["notes"] };
    notes.as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn is_close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 0.01
}

/// A curve: when each bin begins, and its value.
struct Curve {
    width: f64,
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn of(recording: &Path, metric: &str, bins: usize) -> Curve {
        let bins = bins.to_string();
        let answer = answer(recording, &["--curve", metric, "--node", "program", "--bins", &bins]);
        assert_eq!((answer["class"].as_str(), notes(&answer)), (Some("external"), String::new()));
        let width = answer["width_seconds"].as_f64().unwrap();
        // Before the program made its metric there is no value.
        let values = answer["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap_or(0.0));
        Curve { width, points: values.enumerate().map(|(bin, value)| (bin as f64 * width, value)).collect() }
    }

    fn elapsed(&self) -> f64 {
        self.width * self.points.len() as f64
    }

    fn integral(&self) -> f64 {
        self.points.iter().map(|(_, value)| value * self.width).sum()
    }

    /// The mean value of the bins that lie wholly in one of these spans of time.
    fn mean_in(&self, spans: &[(f64, f64)]) -> f64 {
        let lies = |begin: f64| spans.iter().any(|span| span.0 <= begin && begin + self.width <= span.1);
        let inside: Vec<f64> =
            self.points.iter().filter(|point| lies(point.0)).map(|point| point.1).collect();
        assert!(!inside.is_empty(), "no bin of {} s in {spans:?}", self.width);
        inside.iter().sum::<f64>() / inside.len() as f64
    }
}

/// Page faults and seconds of the program's three phases, as it printed them.
fn phases(run: &Run) -> [(f64, f64); 3] {
    let phase = |line: &str| {
        let mut numbers = line.split(' ').skip(1).map(|number| number.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    run.stdout.lines().map(phase).collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{run:?}"))
}

#[test]
fn in_the_tree_every_level_has_what_those_below_it_have_together() {
    let session = Session::start();
    let program = or_skip!(session.build("page_faults.c", &[]));
    let both = format!("{0} & {0}; wait", program.display());
    let recording = or_skip!(record(&session, &[], &["sh", "-c", &both]));
    let metrics = ["--metric", "page_faults", "--metric", "pieces"];
    let answer = answer(&recording.path, &[&["--view", "metrics", "--by", "thread"], &metrics[..]].concat());
    let figures = figures(&answer);
    let of = |metric: &str, level: &str| -> Vec<f64> {
        let those = figures.iter().filter(|((name, node), _)| name == metric && node.starts_with(level));
        those.map(|(_, &value)| value).collect()
    };
    let sum = |metric, level| of(metric, level).iter().sum::<f64>();
    for metric in ["page_faults", "pieces"] {
        let all = figure(&answer, metric);
        assert!(is_close(sum(metric, "machine:"), all), "{metric}: {figures:?}");
        assert!(is_close(sum(metric, "process:"), all), "{metric}: {figures:?}");
    }
    // Two programs of five threads, and the shell; the pieces are those of processes.
    assert_eq!((of("page_faults", "process:").len(), of("page_faults", "thread:").len()), (3, 11));
    assert!(is_close(sum("page_faults", "thread:"), sum("page_faults", "process:")), "{figures:?}");
    assert_eq!((of("pieces", "process:"), of("pieces", "thread:")), (vec![300.0, 300.0], vec![]));
    assert_eq!(figure(&answer, "pieces"), 600.0);
}

#[test]
fn table_and_curve_are_what_the_program_printed() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session));
    let printed = phases(&recording.run);
    let table = answer(&recording.path, &["--view", "metrics"]);
    let (faults, pieces) = (figure(&table, "page_faults"), figure(&table, "pieces"));
    let expected: f64 = printed.iter().map(|phase| phase.0).sum();
    assert!(is_close(faults, expected), "{faults} faults, {expected} by the program");
    assert_eq!(pieces, 300.0);
    let (fault_curve, piece_curve) =
        (Curve::of(&recording.path, "page_faults", 400), Curve::of(&recording.path, "pieces", 400));
    for (curve, total) in [(&fault_curve, faults), (&piece_curve, pieces)] {
        assert!((curve.integral() / total - 1.0).abs() < 1e-6, "{} of {total}", curve.integral());
    }
    // Between the program's begin and its first phase lies what is left of the run, or less.
    let [before, loading, after] = printed.map(|phase| phase.1);
    let (elapsed, left) = (fault_curve.elapsed(), fault_curve.elapsed() - before - loading - after);
    assert!((0.0..loading / 2.0).contains(&left), "{left} s of {elapsed} s beside {printed:?}");
    let within = [(before + left + LATE, before + loading - LATE)];
    // The first looks have what the start of a program takes.
    let without = [(LATE, before - LATE), (elapsed - after + LATE, elapsed)];
    for curve in [fault_curve, piece_curve] {
        let (within, without) = (curve.mean_in(&within), curve.mean_in(&without));
        // Looks come late on a machine that others use, and have what was before.
        assert!(within > 4.0 * without, "{within} a second in the phase, {without} outside");
    }
}

#[test]
fn formulas_compute_with_both() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session));
    let path = &recording.path;
    let each = "faults_per_piece = sum(page_faults) / sum(pieces)";
    let table = answer(path, &["--view", "metrics", "--define", each]);
    let (value, expected) =
        (figure(&table, "faults_per_piece"), figure(&table, "page_faults") / figure(&table, "pieces"));
    assert!((value / expected - 1.0).abs() < 1e-6 && is_close(value, 256.0), "{value}, not {expected}");
    let rate = ["--define", "each = page_faults / pieces", "--curve", "each", "--bins", "200"];
    let curve = answer(path, &rate);
    let values: Vec<Option<f64>> = curve["values"].as_array().unwrap().iter().map(Value::as_f64).collect();
    assert_eq!(curve["unit"], "faults/pieces");
    // No pieces, no value: said, and in how many bins; before its first number there is none of `pieces` either.
    let empty = values.iter().filter(|value| value.is_none()).count();
    assert!(empty > 20 && values.len() - empty > 20, "{values:?}");
    let told = notes(&curve);
    let divided = told.strip_prefix("`each` of program has no value in ").expect(&told);
    let divided: usize =
        divided.strip_suffix(" of 200 bins: division by zero").expect(&told).parse().unwrap();
    assert!((1..=empty).contains(&divided), "{told}, {empty} are empty");
    assert!(values.iter().flatten().any(|&value| is_close(value, 256.0)), "{values:?}");
    // What is computed of metrics of two levels says where it has them from.
    let mixed =
        ["--define", "each = page_faults / sum(pieces)", "--curve", "each", "--node", "thread:worker"];
    let curve = answer(path, &mixed);
    assert!(notes(&curve).contains("`pieces` is not known of thread:worker: taken of process:"), "{curve}");
}

#[test]
fn formulas_that_cannot_be_are_refused_with_their_reason() {
    let session = Session::start();
    let recording = or_skip!(recorded(&session));
    let path = &recording.path;
    let refused = |curve: &str, define: &[&str]| {
        let define: Vec<&str> = define.iter().flat_map(|formula| ["--define", formula]).collect();
        refusal(path, &[&["--curve", curve], define.as_slice()].concat())
    };
    for (define, reason) in [
        (&["x = page_faults + pieces"][..], "`page_faults` is in faults/s and `pieces` is in pieces/s"),
        (&["x = y + 1", "y = x * 2"], "computed of itself: "),
        (&["x = (pieces"], "line 1, column "),
        (&["x = no_such / pieces"], "no metric is named no_such"),
        (&["pieces = page_faults", "x = 1"], "an external metric has the name pieces already"),
        (&["cpu_seconds = 1", "x = 1"], "a built-in metric has the name cpu_seconds already"),
    ] {
        let told = refused("x", define);
        assert!(told.contains(reason), "{define:?}: {told}");
    }
    let cycle = refused("x", &["x = y + 1", "y = x * 2"]);
    assert!(cycle.contains("x → y → x") || cycle.contains("y → x → y"), "{cycle}");
    let unknown = refusal(path, &["--curve", "page_fault"]);
    assert!(unknown.contains("`page_fault`; did you mean page_faults"), "{unknown}");
    let nobody = refusal(path, &["--curve", "pieces", "--node", "process:nobody"]);
    assert!(nobody.contains("failed to find a process named `nobody`"), "{nobody}");
    let below = refusal(path, &["--curve", "pieces", "--node", "thread:worker"]);
    assert!(below.contains("it is known of program, machine:"), "{below}");
    // Nothing of it harms the recording.
    assert_eq!(figure(&answer(path, &["--view", "metrics"]), "pieces"), 300.0);
}

/// Figure 3 of the paper, as it is printed there.
const FIGURE_3: &str = include_str!("../../../series/src/description/figure-3.metrics");

#[test]
fn figure_3_of_the_paper_computes_on_a_recording() {
    let session = Session::start();
    // It computes in user mode, which is what the figure's share is of.
    let program = or_skip!(session.build("pure_computation.c", &[]));
    let recording = or_skip!(record(&session, &[], &[program.to_str().unwrap()]));
    let file = session.path().join("share.metrics");
    fs::write(&file, FIGURE_3).unwrap();
    let table = answer(&recording.path, &["--metrics", file.to_str().unwrap(), "--view", "metrics"]);
    assert!(notes(&table).contains("tablettitle is read as tabletitle"), "{table}");
    let whole = ["--metrics", file.to_str().unwrap(), "--curve", "share", "--bins", "1"];
    let curve = answer(&recording.path, &whole);
    assert_eq!((&curve["title"], &curve["class"]), (&"Share of User Time".into(), &"derived".into()));
    let share = curve["values"][0].as_f64().unwrap();
    let of = |metric| figures(&table).get(&(String::from(metric), "program".into())).copied().unwrap_or(0.0);
    let expected = (of("running_seconds") + of("spin_seconds")) / of("sys_user_time");
    assert!(is_close(share, expected), "{share}, not {expected}");
    // Of the time that the machine computes. The kernel counts that in ticks: give or take some.
    assert!(share > 0.0 && share < 1.1, "{share}");
}

#[test]
fn a_metric_of_two_meanings_or_of_nobody_harms_no_other() {
    let session = Session::start();
    let program = or_skip!(session.build("page_faults.c", &[]));
    let says = "cmd:echo 'cpu_seconds program 1'; echo 'strange nowhere 1'; echo 'foreign process:1 3'; \
                echo 'good program 4'; sleep 60";
    let kept = session.path().join("kept.metrics");
    fs::write(&kept, "metric half { formula cpu_time / 2; }\nmetric half { formula cpu_time / 3; }\n")
        .unwrap();
    let options = ["--collect", "process", "--collect", says, "--metrics", kept.to_str().unwrap()];
    let recording = or_skip!(record(&session, &options, &[program.to_str().unwrap()]));
    let table = answer(&recording.path, &["--view", "metrics"]);
    let told = notes(&table);
    for note in [
        "the series cpu_seconds is shown as cpu_seconds_external: a built-in metric has its name",
        "`foreign`: 1 value left out",
        "half is left out: ",
        "a derived metric has the name half already",
    ] {
        assert!(told.contains(note), "{note}: {told}");
    }
    let evidence = answer(&recording.path, &["--view", "evidence"]).to_string();
    assert!(evidence.contains("unknown node") && evidence.contains("strange nowhere 1"), "{evidence}");
    assert_eq!((figure(&table, "good"), figure(&table, "cpu_seconds_external")), (4.0, 1.0));
    assert_eq!(figure(&table, "pieces"), 300.0);
    let (half, busy) = (figure(&table, "half"), figure(&table, "effective_parallelism"));
    assert!(is_close(half, busy / 2.0), "{half} of {busy}");
    let expected: f64 = phases(&recording.run).iter().map(|phase| phase.0).sum();
    assert!(is_close(figure(&table, "page_faults"), expected), "{table}");
}
