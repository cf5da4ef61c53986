//! Shares of CPU time where switches are far more frequent than samples, held to what the program measures of itself.

use crate::support::{Answer, Collector, Recording, Session, longpole, or_skip};

/// By how much the share may be off beside three errors: reading the clock is part of what the program measures.
const CLOSE: f64 = 0.02;

/// The part of `hash` in the CPU time of `hash` and `look_up`, as the program measured it. What interrupts take (those of the
/// timer above all) is in both alike.
fn measured(output: &str) -> f64 {
    let line = output.lines().next().unwrap_or_default();
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [hash, look_up, _] = numbers[..] else { panic!("the program prints three numbers, not {output:?}") };
    hash / (hash + look_up)
}

fn assert_part(profile: &Answer, expected: f64) {
    let of = |column: &str| ["hash", "look_up"].map(|procedure| profile.sum("procedure", procedure, column));
    let ([hash, look_up], errors) = (of("percent"), of("error_percent"));
    let both = hash + look_up;
    let error = (errors[0] * look_up).hypot(errors[1] * hash) / (both * both);
    let part = hash / both;
    assert!(
        (part - expected).abs() <= 3.0 * error + CLOSE,
        "{}\nhash is {part:.3} ± {error:.3} of both, measured {expected:.3}",
        profile.table("procedure")
    );
}

fn record(session: &Session, collector: Collector, hertz: u32) -> Result<Recording, String> {
    collector.permitted()?;
    let program = session.build("short_bursts.c", &[])?;
    let path = session.path().join(format!("{hertz}.longpole"));
    let mut command = longpole();
    command.args(["record", "--collector", collector.name(), "-F", &hertz.to_string(), "-o"]).arg(&path);
    let run = session.run(command.arg("--").arg(program));
    assert!(run.status.success(), "{}", run.stderr);
    Ok(Recording { path, run })
}

fn shares_are_as_measured(collector: Collector) {
    let session = Session::start();
    for hertz in [99, 499, 4999] {
        let recording = or_skip!(record(&session, collector, hertz));
        let profile = recording.report("profile", "procedure");
        assert_part(&profile, measured(&recording.run.stdout));
    }
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn bpf_divides_short_bursts_as_measured() {
    shares_are_as_measured(Collector::Bpf);
}

#[test]
#[ignore = "it takes ten seconds: cargo xtask test --slow"]
fn perf_divides_short_bursts_as_measured() {
    shares_are_as_measured(Collector::Perf);
}
