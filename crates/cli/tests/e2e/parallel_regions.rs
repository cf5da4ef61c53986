//! What parallel regions that do not pay are promised to save is what the program without them saves.
//!
//! All runs are real-time, so that other programs have only the processors that these leave idle. How long the regions take differs by as
//! much as half, as processors that are idle wake at once or late, and a recorder beside them keeps them awake: so the truth is of the
//! recorded run.

use serde_json::{Map, Value};

use crate::support::{
    Recording, Session, first_that_holds, least_real_time, may_be_real_time, or_skip, record_in_real_time,
};

/// Recordings of which one has a range that holds.
const ATTEMPTS: usize = 5;

/// The change that is about parallel regions.
fn change(recording: &Recording) -> Option<Map<String, Value>> {
    recording.report("summary", "procedure").changes("execute on one thread").next().cloned()
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn regions_that_do_not_pay_cost_what_the_program_without_them_saves() {
    let session = Session::alone();
    or_skip!(may_be_real_time());
    let serial = session.path().join("serial");
    let flags = ["-fopenmp", "-DSERIAL", "-o", serial.to_str().unwrap()];
    or_skip!(session.build("short_regions.c", &flags));
    let program = or_skip!(session.build("short_regions.c", &["-fopenmp"]));
    let without = least_real_time(&[&serial]);
    // Of the two regions one pays: it is no part of the entry.
    for options in [&["--collector", "bpf"][..], &["--collector", "bpf", "--locks"]] {
        first_that_holds(ATTEMPTS, || {
            let recording = record_in_real_time(&session, options, &[&program]);
            let row = change(&recording).unwrap_or_else(|| panic!("no change: {options:?}"));
            let [low, high] =
                ["gain_low_percent", "gain_high_percent"].map(|column| row[column].as_f64().unwrap());
            let elapsed = recording.report("summary", "procedure").number("recording", "elapsed_seconds");
            let truth = 100.0 * (1.0 - without / elapsed);
            assert_eq!(row["procedure"], "smooth", "{row:#?}");
            assert_eq!(row["text"], "parallel region in smooth", "{row:#?}");
            let about = row["about"].as_str().unwrap();
            assert!(about.contains("begins at `smooth short_regions.c:23`"), "{row:#?}");
            // A timer in step with the regions does not divide their time: little is promised then. Data that moves between processors is
            // in no range, nor what starting the recorded program takes longer.
            let holds = low > 10.0 && low <= truth && high + 5.0 >= truth;
            let told = || format!("{options:?}: {low:.0}–{high:.0} %, in truth {truth:.0}");
            if holds { Ok(()) } else { Err(told()) }
        });
    }
    // The loop on one thread is fast, and `integrate` pays.
    let recording = record_in_real_time(&session, &["--collector", "bpf"], &[&serial]);
    assert_eq!(change(&recording), None);
}
