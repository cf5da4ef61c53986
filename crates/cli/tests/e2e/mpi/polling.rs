//! Ranks that poll on too few processors: what the run is promised to gain where they yield, and what it gains.

use super::jobs::{Job, MpiImplementation};
use crate::support::{Session, or_skip};

/// Points by which either run may be off. What else has the processors keeps them from ranks that yield, too.
const ROOM: f64 = 10.0;

#[test]
fn ranks_that_poll_on_too_few_processors_are_to_yield() {
    let session = Session::start();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    or_skip!(if cpus == 2 {
        Ok(())
    } else {
        Err(format!("it is about three ranks on two processors of {cpus}"))
    });
    let (mpi, job) = (MpiImplementation::Mpich, Job { file: "task_farm.c", ..Job::default() });
    let launcher = or_skip!(mpi.tool("mpirun"));
    let seconds = |flags: &[&str]| {
        let program = mpi.build(session.path(), job.file, flags)?;
        Ok::<f64, String>(session.least_seconds(&launcher, &["-n", "3", program.to_str().unwrap()]))
    };
    let yielding = or_skip!(seconds(&["-DYIELDS"]));
    let truth = 100.0 * (1.0 - yielding / or_skip!(seconds(&[])));
    let summary = or_skip!(mpi.record_ranks(&session, &job)).report("summary", "procedure");
    let change = summary.changes("yield while waiting, or run fewer").next().expect("it is advised");
    assert_eq!(change["text"], "3 ranks that poll");
    let [low, high] = ["gain_low_percent", "gain_high_percent"].map(|key| change[key].as_f64().unwrap());
    assert!(low > 0.0 && high > 25.0 && high + ROOM > truth, "{low}–{high} %; in truth {truth} %");
}
