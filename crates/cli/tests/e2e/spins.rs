//! Spins before waits last as long as the program itself says, though few samples find them.

use crate::support::{Collector, Session, longpole, or_skip, run};

/// Timer samples a second, as recorded by default.
const HERTZ: f64 = 499.0;

#[test]
fn spins_shorter_than_the_time_between_samples_have_their_length() {
    let session = Session::start();
    for length in ["20", "100", "500", "5000"] {
        let define = format!("-DSPIN_US={length}");
        let program = or_skip!(session.build("spin_before_wait.c", &["-O2", &define]));
        let recording = or_skip!(session.record(Collector::Bpf, &[&program]));
        let spun: f64 = recording.run.stdout.trim().parse().unwrap();
        let profile = recording.report("profile", "procedure");
        let told = profile.sum("procedure", "look_for_answer", "spin_seconds");
        // Binomial: four standard errors of the part of so many samples, and what the clock's own calls take of the spins.
        let cpu = profile.number("recording", "cpu_seconds");
        let part = spun / cpu;
        let error = cpu * (4.0 * (part * (1.0 - part) / (cpu * HERTZ)).sqrt() + 0.01) + 0.05 * spun;
        assert!((told - spun).abs() <= error, "{length} us: {told} s told, {spun} s true ± {error}");
    }
    // What the answer rests on is the same every time.
    let path = session.path().join("bpf.longpole");
    let asked = || run(longpole().arg("report").arg(&path).args(["--no-cache", "--format", "json"])).stdout;
    assert_eq!(asked(), asked());
}
