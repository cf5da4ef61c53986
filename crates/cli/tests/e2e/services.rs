//! Waits for services that are not in the recording: the answer names the other end, and what the program can do.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Collector, Session, go_first, or_skip};

/// The service, which ends with its standard input.
struct Service(Child);

impl Service {
    fn start(program: &Path, address: &str) -> Service {
        let mut command = Command::new(program);
        command.args(["serve", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = go_first(&mut command).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Service(child)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What is said of a client whose service has this address; the run gains what it takes less that asks for all at once.
fn asked(session: &Session, program: &Path, address: &str) {
    let _service = Service::start(program, address);
    let path = program.to_str().unwrap();
    let recording = session.record(Collector::Bpf, &[path, "ask", address]).unwrap();
    let summary = recording.report("summary", "procedure");
    let change = summary.changes("ask earlier, or several at once").next();
    let change = change.unwrap_or_else(|| panic!("no row in {}", summary.value));
    assert!(change["text"].as_str().unwrap().ends_with("in `fetch_price`"), "{change:?}");
    assert!(summary.value.to_string().contains(address), "{}", summary.value);
    let least = |how: &str| session.least_seconds(program, &[how, address]);
    let truth = least("ask") - least("together");
    let most = change["gain_high_seconds"].as_f64().unwrap();
    // Nine of the ten times that the service sleeps need not be waited for, however busy the machine is.
    assert!(most > 0.9 * truth && most > 0.9 * 9.0 * 0.015, "at most {most} s; in truth {truth}");
}

#[test]
fn a_service_that_is_not_recorded_is_to_be_asked_earlier() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    // A port of its own: those above are given to who asks for a connection.
    let port = 20_000 + std::process::id() % 10_000;
    for flags in [&["-pthread"][..], &["-pthread", "-DPOLLS"]] {
        let program = or_skip!(session.build("outside_service.c", flags));
        asked(&session, &program, &port.to_string());
    }
}

#[test]
fn a_service_behind_a_local_socket_has_its_path() {
    let session = Session::alone();
    or_skip!(Collector::Bpf.permitted());
    let program = or_skip!(session.build("outside_service.c", &["-pthread"]));
    let path = session.path().join("prices");
    asked(&session, &program, path.to_str().unwrap());
}
