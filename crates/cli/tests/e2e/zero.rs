//! True zeroing: predictions beside versions of the program that were truly changed.

use std::path::PathBuf;

use crate::support::{Answer, Recording, Run, Session, longpole, or_skip, run};

/// A recording that needs no right to be made.
fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-7.longpole")
}

/// `longpole zero` of the kept recording, which predicts nothing of these programs: what is measured does not depend on it.
fn zero(options: &[&str], program: &[&str]) -> Run {
    run(longpole().arg("zero").arg(kept()).args(options).arg("--").args(program))
}

#[test]
fn programs_that_sleep_gain_what_they_sleep_less() {
    let options =
        ["--variant", "prepare=sleep 0.3", "--variant", "hog_table@0.5=sleep 0.15", "--format", "json"];
    let run = zero(&options, &["sleep", "0.6"]);
    assert!(run.status.success(), "{}", run.stderr);
    let answer = Answer::new("zero", &run.stdout);
    for (change, percent) in [("prepare", 50.0), ("hog_table", 75.0)] {
        let row = answer.rows().find(|row| row["change"] == change).unwrap();
        let measured = row["measured_gain_percent"].as_f64().unwrap();
        assert!((measured - percent).abs() < 3.0, "{change}: {measured} % and not {percent}");
        let [low, high] =
            ["measured_low_percent", "measured_high_percent"].map(|key| row[key].as_f64().unwrap());
        assert!(
            low <= measured && measured <= high && row["counted_pairs"].as_u64().unwrap() >= 6,
            "{row:?}"
        );
        assert_eq!(row["output"], "equal");
    }
}

#[test]
fn another_output_and_another_program_are_said() {
    let options = ["--variant", "prepare=echo two | tail -n 1", "--budget", "1s", "--width", "80"];
    let run = zero(&options, &["echo", "one"]);
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.stdout.contains("different"), "{}", run.stdout);
    assert!(run.stdout.contains("The recorded command was"), "{}", run.stdout);
    let run = zero(&["--variant", "prepare=sh -c 'echo $$'", "--budget", "1s"], &["sh", "-c", "echo $$"]);
    assert!(run.stdout.contains("varies"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_version_that_ends_otherwise_is_refused() {
    let run = zero(&["--variant", "prepare=false"], &["true"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        run.stderr.contains("it ends with status 1, the unchanged program with status 0"),
        "{}",
        run.stderr
    );
    let run = zero(&["--variant", "prepare=kill -9 $$"], &["true"]);
    assert!(run.stderr.contains("it ends with signal 9"), "{}", run.stderr);
    let run = zero(&["--variant", "prepare=./no-such-program"], &["true"]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("start ./no-such-program"), "{}", run.stderr);
    let run = zero(&["--variant", "perpare=true"], &["true"]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("prepare"), "{}", run.stderr);
    assert_eq!(zero(&["--variant", "prepare"], &["true"]).status.code(), Some(2));
    let run = zero(&["--skip", "prepare"], &["true"]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("find `prepare`"), "{}", run.stderr);
}

/// 600 ms of reading, 400 ms on two threads, 200 ms of writing.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_rebuilt_program_gains_what_was_predicted() {
    let session = Session::start();
    let program = or_skip!(session.build("serial_then_parallel.c", &[]));
    let recording = or_skip!(session.record_as("recording", &program));
    let without = |name: &str| {
        let flag = format!("-DSCALED=\"{name}\"");
        let built = session.build("serial_then_parallel.c", &[&flag, "-DFACTOR=0"]).unwrap();
        // The next build has the same name.
        let own = session.path().join(name);
        std::fs::rename(built, &own).unwrap();
        format!("{name}={}", own.display())
    };
    let variants = [without("write_output")];
    let unchanged = session.build("serial_then_parallel.c", &[]).unwrap();
    let mut command = longpole();
    command.arg("zero").arg(&recording).args(["--budget", "25s", "--within", "3", "--format", "json"]);
    // The one is rebuilt without its work, the other one returns at once.
    command.args(["--skip", "read_input"]);
    command.args(variants.iter().flat_map(|variant| ["--variant", variant])).arg("--").arg(&unchanged);
    let run = session.run(&mut command);
    assert!(run.status.success(), "{}", run.stderr);
    let answer = Answer::new("zero", &run.stdout);
    for (change, percent) in [("read_input", 50.0), ("write_output", 100.0 / 6.0)] {
        let row = answer.rows().find(|row| row["change"] == change).unwrap();
        let measured = row["measured_gain_percent"].as_f64().unwrap();
        let predicted = row["elapsed_gain_percent"].as_f64().unwrap();
        // Other programs lengthen single runs.
        assert!((measured - percent).abs() < 12.0, "{change}: measured {measured} %\n{}", run.stdout);
        assert!((predicted - percent).abs() < 12.0, "{change}: predicted {predicted} %\n{}", run.stdout);
    }
}

#[test]
fn measured_gains_stand_beside_the_rankings() {
    let session = Session::start();
    let program = or_skip!(session.build("judged_join.c", &[]));
    let path = session.path().join("join.longpole");
    let recorded =
        session.run(longpole().args(["record", "--quiet", "-o"]).arg(&path).arg("--").arg(&program));
    assert!(recorded.status.success(), "{}", recorded.stderr);
    let unchanged = session.path().join("unchanged");
    std::fs::rename(&program, &unchanged).unwrap();
    let scaled = ["-DSCALED=\"create_pool\"", "-DFACTOR=0"];
    let without = session.path().join("without");
    std::fs::rename(session.build("judged_join.c", &scaled).unwrap(), &without).unwrap();
    std::fs::rename(&unchanged, &program).unwrap();
    let variant = format!("self:create_pool={}", without.display());
    let mut zero = longpole();
    zero.args(["zero", "--format", "json", "--budget", "3s", "--variant", &variant]).arg(&path);
    let zero = session.run(zero.arg("--").arg(&program));
    assert!(zero.status.success(), "{}", zero.stderr);
    let zero = Answer::new("zero", &zero.stdout);
    let measured = zero.rows().next().unwrap().get("measured_gain_percent").cloned();
    let recording = Recording::at(&path);
    let rankings = recording.report("rankings", "procedure");
    let row = rankings.rows().find(|row| row["procedure"] == "create_pool").unwrap();
    // Of a few runs on a busy machine none may be undisturbed.
    assert_eq!(row.get("measured_gain_percent").cloned(), measured);
    if measured.is_none() {
        return;
    }
    assert!(
        rankings
            .rows()
            .all(|row| row["procedure"] == "create_pool" || !row.contains_key("measured_gain_percent"))
    );
    let text = session.run(longpole().args(["report", "--view", "rankings"]).arg(&path)).stdout;
    assert!(text.contains("Measured by `longpole zero`"), "{text}");
}

/// What `zero` says of these experiments with `fixed_work`; nothing where the kernel lets no program be sampled.
fn experiments_on_fixed_work(experiments: &[&str]) -> Result<Option<Answer>, String> {
    let session = Session::start();
    let program = session.build("fixed_work.c", &[])?;
    let recording = session.record_as("recording", &program)?;
    let mut command = longpole();
    command.arg("zero").arg(&recording).args(["--budget", "25s", "--within", "4", "--format", "json"]);
    let run = session.run(command.args(experiments).arg("--").arg(&program));
    if run.stderr.contains("does not let the program be sampled") {
        return Ok(None);
    }
    assert!(run.status.success(), "{}", run.stderr);
    Ok(Some(Answer::new("zero", &run.stdout)))
}

/// `prepare` is a part of the path, `short_side` is not. What is asserted of CPU time does not depend on what else the machine does.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_procedure_on_the_path_lengthens_the_run_and_one_beside_it_does_not() {
    let Some(answer) =
        or_skip!(experiments_on_fixed_work(&["--slow", "prepare@1", "--slow", "short_side@100%"]))
    else {
        return println!("skipped: the program cannot be sampled");
    };
    let row = |change: &str| answer.rows().find(|row| row["change"] == change).unwrap();
    let (prepare, short) = (row("prepare"), row("short_side"));
    for (row, percent) in [(prepare, 20.0), (short, 10.0)] {
        let number = |column: &str| row[column].as_f64().unwrap();
        let [sampled, recorded, added] = ["sampled_percent", "recorded_percent", "added_seconds"].map(number);
        // Two threads that share a core take longer for the same work: a unit alone is less of the CPU time.
        assert!((sampled - percent).abs() < 7.0, "{row:?}");
        assert!((sampled - recorded).abs() < 6.0 && row["output"] == "equal", "{row:?}");
        let longer = number("variant_cpu_seconds") - number("unchanged_cpu_seconds");
        // The other work takes more time of its own where the thread that works longer keeps its neighbour's core busy.
        let unchanged = number("unchanged_cpu_seconds");
        assert!(
            (longer - added).abs() < 0.12 * unchanged,
            "{longer} s of CPU time more, {added} s added: {row:?}"
        );
        let expected = sampled / 100.0 * unchanged;
        assert!((added / expected - 1.0).abs() < 0.25, "{added} s added instead of {expected} s: {row:?}");
    }
    let predicted =
        |row: &serde_json::Map<String, serde_json::Value>| row["elapsed_gain_percent"].as_f64().unwrap();
    assert!(predicted(prepare) < -10.0 && predicted(short).abs() < 5.0, "{prepare:?} {short:?}");
    // Elapsed times are of a machine that does other things too.
    if prepare["counted_pairs"].as_u64() >= Some(8) {
        let measured =
            |row: &serde_json::Map<String, serde_json::Value>| row["measured_gain_percent"].as_f64().unwrap();
        assert!(measured(prepare) < measured(short) - 5.0, "{prepare:?} {short:?}");
    }
}

/// As above, with all others delayed in place of a faster procedure: what is on the path gains, what is beside it does not.
#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn a_virtual_speed_up_gains_on_the_path_and_nothing_beside_it() {
    let Some(answer) =
        or_skip!(experiments_on_fixed_work(&["--virtual", "prepare@1", "--virtual", "short_side"]))
    else {
        return println!("skipped: the program cannot be sampled");
    };
    let row = |change: &str| answer.rows().find(|row| row["change"] == change).unwrap();
    let (prepare, short) = (row("prepare"), row("short_side"));
    for (row, percent, factor) in [(prepare, 20.0, 1.0), (short, 10.0, 0.25)] {
        let number = |column: &str| row[column].as_f64().unwrap();
        let [sampled, inserted, taken] = ["sampled_percent", "inserted_seconds", "added_seconds"].map(number);
        assert!((sampled - percent).abs() < 7.0 && row["output"] == "equal", "{row:?}");
        assert_eq!(number("factor"), 1.0 - factor, "{row:?}");
        // Each is executed by one thread at a time.
        assert!((inserted / -taken - 1.0).abs() < 0.05, "{row:?}");
        let expected = factor * sampled / 100.0 * number("variant_cpu_seconds");
        assert!((inserted / expected - 1.0).abs() < 0.25, "{inserted} s and not {expected} s: {row:?}");
        // Others pause: they do not work longer.
        let (before, after) = (number("unchanged_cpu_seconds"), number("variant_cpu_seconds"));
        assert!((after / before - 1.0).abs() < 0.15, "{row:?}");
    }
    let predicted =
        |row: &serde_json::Map<String, serde_json::Value>| row["elapsed_gain_percent"].as_f64().unwrap();
    assert!(predicted(prepare) > 10.0 && predicted(short).abs() < 5.0, "{prepare:?} {short:?}");
    // Elapsed times are of a machine that does other things too.
    if prepare["counted_pairs"].as_u64() >= Some(8) {
        let measured =
            |row: &serde_json::Map<String, serde_json::Value>| row["measured_gain_percent"].as_f64().unwrap();
        assert!(measured(prepare) > measured(short) + 5.0, "{prepare:?} {short:?}");
    }
}

#[test]
fn what_cannot_be_slowed_down_is_refused() {
    let session = Session::start();
    let program = or_skip!(session.build("fixed_work.c", &[]));
    let recording = or_skip!(session.record_as("recording", &program));
    let zero = |options: &[&str], program: &[&str]| {
        let mut command = longpole();
        session.run(command.arg("zero").arg(&recording).args(options).arg("--").args(program))
    };
    let own = program.to_str().unwrap();
    let run = zero(&["--slow", "prepair"], &[own]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("`prepair`"), "{}", run.stderr);
    let run = zero(&["--slow", "prepare"], &["sh", "-c", own]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("find `prepare`"), "{}", run.stderr);
    let run = zero(&["--slow", "prepare@9"], &[own]);
    assert!(run.status.code() == Some(2) && run.stderr.contains("from 0.01 to 1"), "{}", run.stderr);
    let run = zero(&["--virtual", "prepair"], &[own]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("`prepair`"), "{}", run.stderr);
    let run = zero(&["--virtual", "prepare", "--variant", "prepare=true | true"], &[own]);
    assert!(run.status.code() == Some(1) && run.stderr.contains("needs a shell"), "{}", run.stderr);
}

#[test]
fn without_a_change_the_first_procedures_of_the_list_are_slowed_down() {
    let session = Session::start();
    let program = or_skip!(session.build("fixed_work.c", &[]));
    let recording = or_skip!(session.record_as("recording", &program));
    let mut command = longpole();
    let picture = session.path().join("gains.svg");
    command.arg("zero").arg(&recording).args(["--budget", "1s", "--format", "json", "--plot"]).arg(&picture);
    let run = session.run(command.arg("--").arg(&program));
    if run.stderr.contains("does not let the program be sampled") {
        println!("skipped: {}", run.stderr);
        return;
    }
    assert!(run.status.success(), "{}", run.stderr);
    let answer = Answer::new("zero", &run.stdout);
    let changes: Vec<String> = answer.rows().map(|row| row["change"].as_str().unwrap().to_owned()).collect();
    assert!(changes.iter().any(|change| change == "long_side"), "{changes:?}");
    assert!(answer.rows().all(|row| row["factor"] == 1.25), "{}", run.stdout);
    let picture = std::fs::read_to_string(picture).unwrap();
    let is_drawn = |change: &String| picture.contains(&format!(">{change} × 1.25</text>"));
    assert!(picture.ends_with("</svg>\n") && changes.iter().all(is_drawn), "{changes:?}: {picture}");
}
