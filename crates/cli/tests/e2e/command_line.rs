//! The command line itself: programs without `--`, misspelt words, where a recording is and which one is read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::{Run, Session, find, is_root, longpole, or_skip, run};

/// A recording of a drawn run in a folder of its own.
fn drawn() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    longpole_testkit::Drawing::example().write(&place.path().join("x.longpole")).unwrap();
    place
}

fn in_folder(folder: &Path, arguments: &[&str]) -> Run {
    run(longpole().current_dir(folder).args(arguments))
}

/// A session with the script `prog`, which prints its arguments and ends with status 5.
fn session() -> Result<Session, String> {
    if !is_root() {
        return Err("recording needs root".into());
    }
    let session = Session::beside_others();
    for name in ["prog", "report"] {
        let script = session.path().join(name);
        fs::write(&script, "#!/bin/sh\necho \"got $*\"\nexit 5\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    Ok(session)
}

#[test]
fn a_program_and_its_arguments_follow_the_options_with_or_without_dashes() {
    let session = or_skip!(session());
    for (arguments, got) in [
        (&["record", "./prog", "-o", "a", "--", "b"][..], "got -o a -- b"),
        (&["record", "--", "./prog", "--", "b"], "got -- b"),
        (&["./prog", "--help"], "got --help"),
        (&["-q", "./prog", "-q"], "got -q"),
        (&["./report", "x"], "got x"),
        (&["--", "./report", "x"], "got x"),
    ] {
        let run = session.run(longpole().args(arguments));
        assert_eq!(run.status.code(), Some(5), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout.trim_end(), got, "{arguments:?}: {}", run.stderr);
    }
    let found = |name: &str| session.path().join(name).join("recording.json").is_file();
    assert!(
        ["prog.longpole", "prog-2.longpole", "prog-3.longpole", "report-2.longpole"].into_iter().all(found)
    );
}

#[test]
fn record_says_where_the_recording_is_and_report_which_one_it_read() {
    let session = or_skip!(session());
    for name in ["prog.longpole", "prog-2.longpole"] {
        let run = session.run(longpole().arg("./prog"));
        let last = run.stderr.lines().last().unwrap_or_default();
        assert_eq!(last, format!("longpole: the recording is {name}"), "{}", run.stderr);
        // Standard error is a file here, and Ctrl-C reaches nothing from there.
        assert!(!run.stderr.contains("Ctrl-C"), "{}", run.stderr);
    }
    let quiet = session.run(longpole().args(["record", "-q", "./prog"]));
    assert_eq!(quiet.stderr, "");
    for (arguments, name) in [
        (&["report"][..], "./prog-3.longpole"),
        (&["report", "prog.longpole", "--view", "tree"], "prog.longpole"),
    ] {
        let run = session.run(longpole().args(arguments));
        assert!(run.stdout.starts_with(&format!("Recording: {name}\n\n")), "{}{}", run.stdout, run.stderr);
    }
}

#[test]
fn a_terminal_is_told_that_an_interrupt_ends_the_recording() {
    let session = or_skip!(session());
    or_skip!(find("script"));
    let binary = longpole().get_program().to_owned();
    let line = format!("{} ./prog", binary.to_str().unwrap());
    let mut script = Command::new("script");
    let run = session.run(script.args(["--quiet", "--return", "--command", &line, "/dev/null"]));
    assert_eq!(run.status.code(), Some(5), "{}{}", run.stdout, run.stderr);
    let places =
        ["longpole: recording; Ctrl-C ends the program and the recording", "got", "the recording is prog"]
            .map(|words| run.stdout.find(words));
    assert!(places[0].is_some() && places.is_sorted(), "{places:?} {}", run.stdout);
}

#[test]
fn misspelt_words_are_answered_with_the_nearest() {
    let place = drawn();
    for (arguments, status, words) in [
        (&["report", "--view", "criticl-path"][..], 2, "did you mean critical-path"),
        (&["report", "--formt", "json"], 2, "'--format'"),
        (&["report", "--by", "procdure"], 2, "'procedure'"),
        (&["record", "--collektor", "bpf", "true"], 2, "'--collector'"),
        (&["reprot"], 127, "did you mean `longpole report`"),
        (&["explain", "critical-pth"], 1, "did you mean critical-path"),
        (&["report", "--view", "metrics", "--metric", "cpu_tme"], 1, "did you mean cpu_time"),
    ] {
        let run = in_folder(place.path(), arguments);
        assert_eq!(run.status.code(), Some(status), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(words) && run.stdout.is_empty(), "{arguments:?}: {}", run.stderr);
    }
    let unlike = in_folder(place.path(), &["no-such-program-at-all"]);
    assert_eq!(unlike.status.code(), Some(127), "{}", unlike.stderr);
    assert!(!unlike.stderr.contains("did you mean"), "{}", unlike.stderr);
}

#[test]
fn json_and_csv_hold_data_only() {
    let place = drawn();
    for view in ["summary", "all"] {
        let run = in_folder(place.path(), &["report", "--view", view, "--format", "json"]);
        assert!(serde_json::from_str::<serde_json::Value>(&run.stdout).is_ok(), "{}", run.stdout);
        assert_eq!(run.stderr, "");
    }
    let run = in_folder(place.path(), &["report", "--view", "profile", "--format", "csv"]);
    assert!(!run.stdout.contains("Recording:"), "{}", run.stdout);
}
