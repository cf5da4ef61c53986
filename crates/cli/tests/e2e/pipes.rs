//! Data that pass through pipes, in programs that are run anew without a procedure.

use std::process::Command;

use crate::support::{Collector, Recording, Session, held, longpole, or_skip};

/// How far ahead the writer could get, and whether a read found what had been written, only some kernels show: the others leave both open.
#[test]
fn who_passes_data_on_gets_no_further_ahead_than_the_pipe_has_room() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for (flags, procedure) in
        [(&[][..], "parse_record"), (&["-DSMALL"], "parse_record"), (&["-DREPORTS"], "store_record")]
    {
        held(&session, ("work_ahead.c", flags), procedure);
    }
}

/// One of the two ends of a pipe between two modes of the program, where the other one is not recorded.
fn one_end(session: &Session, (writer, reader): (&str, &str), recorded: &str) -> Recording {
    let program = session.build("outside_pipe.c", &[]).unwrap();
    let path = session.path().join("one_end.longpole");
    let record = longpole();
    let end = |mode: &str| match mode == recorded {
        true => format!(
            "{:?} record --quiet --force --collector bpf -o {} -- {} {mode}",
            record.get_program(),
            path.display(),
            program.display()
        ),
        false => format!("{} {mode}", program.display()),
    };
    let run = session.run(Command::new("sh").args(["-c", &format!("{} | {}", end(writer), end(reader))]));
    assert!(run.status.success(), "{}", run.stderr);
    Recording::at(&path)
}

/// The other end has a pace of its own: it is no faster where this one works less.
#[test]
fn who_waits_for_a_program_that_is_not_recorded_may_gain_nothing_by_less_work() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for (ends, procedure) in [(("write", "digest"), "digest"), (("make", "drain"), "make")] {
        let recording = one_end(&session, ends, procedure);
        let (_, range) = recording.gain_without(&format!("procedure:{procedure}"), 0.0);
        assert!(*range.start() < 5.0, "{procedure}: {range:?}");
        let summary = recording.report("summary", "procedure");
        let change = summary.changes("speed up its other end").next().expect("it waits for that");
        assert!(change["gain_high_percent"].as_f64().unwrap() > 30.0, "{change:?}");
    }
}
