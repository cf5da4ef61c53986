//! Waits for timers end at a moment: less work before them makes them longer. The programs are run anew without the work.

use std::time::Instant;

use longpole_trace::Cause;

use crate::support::{Collector, Recording, Session, longpole, or_skip};

/// Points by which a gain may be off: what a busy machine delays.
const CLOSE: f64 = 6.0;
/// Where others take the processors from the program, the execution of the unchanged run is off.
const ATTEMPTS: usize = 5;

/// What the work gains, % of the run: by what-if with its error, and by the program built without it.
fn gains(session: &Session, flags: &[&str]) -> ([f64; 3], Recording) {
    const WITHOUT: [&str; 2] = ["-DSCALED=\"handle_tick\"", "-DFACTOR=0"];
    let program = session.build("paced_ticks.c", flags).unwrap();
    let path = session.path().join("ticks.longpole");
    let mut record = longpole();
    record.args(["record", "--quiet", "--force", "--collector", "bpf", "-o"]).arg(&path);
    let run = session.run(record.arg("--").arg(&program));
    assert!(run.status.success(), "{}", run.stderr);
    let recording = Recording::at(&path);
    let answer = recording.what_if(&["procedure:handle_tick=0"]);
    let row = answer.rows().find(|row| row["section"] == "change").expect("the change has a row");
    let predicted = row["elapsed_gain_percent"].as_f64().unwrap();
    let error = row.get("elapsed_error_percent").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    let seconds = |program: &std::path::Path| {
        let begin = Instant::now();
        let run = session.run(&mut std::process::Command::new(program));
        assert!(run.status.success(), "{}", run.stderr);
        begin.elapsed().as_secs_f64()
    };
    let with = seconds(&program);
    let without = seconds(&session.build("paced_ticks.c", &[flags, &WITHOUT].concat()).unwrap());
    ([predicted, error, 100.0 * (1.0 - without / with)], recording)
}

#[test]
fn work_between_the_ticks_of_a_timer_gains_nothing_and_between_sleeps_all() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for (flags, cause) in [(&[][..], Cause::Timer), (&["-DUNTIL"], Cause::Timer), (&["-DFOR"], Cause::Sleep)]
    {
        let mut told = Vec::new();
        let found = (0..ATTEMPTS).map(|_| gains(&session, flags)).find(|([predicted, error, truth], _)| {
            told.push((*predicted, *error, *truth));
            (predicted - truth).abs() < error + CLOSE
        });
        let (_, recording) = found.unwrap_or_else(|| panic!("{flags:?}: {told:?}"));
        assert!(recording.waits().seconds(|wait| wait.cause == cause) > 0.0, "{flags:?}");
    }
}
