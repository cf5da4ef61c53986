//! `longpole demo`: a first answer on every machine, whatever it permits.

use crate::support::{Nobody, Recording, Session, deny_perf_events, or_skip};

/// The long poles, and the shares that the demo works out, in percent of the critical path. On a busy machine the threads
/// work in turn anyway, and what one computes between two updates is on the path in the place of another's update.
const POLES: [(&[&str], f64); 3] = [
    (&["parse_orders"], 35.0),
    (&["update_shared_table", "compute_entry"], 34.0),
    (&["simulate_region"], 31.0),
];
/// By the agent alone a thread's time without a processor is known in part only.
const CLOSE: f64 = 8.0;

#[test]
fn nobody_whom_every_perf_event_is_denied_is_told_the_long_pole() {
    let session = Session::start();
    let nobody = or_skip!(Nobody::in_session(&session));
    for error in [libc::EACCES, libc::EPERM, libc::ENOSYS] {
        let path = nobody.home().join(format!("demo-{error}.longpole"));
        let mut demo = nobody.longpole();
        demo.args(["demo", "-o"]).arg(&path);
        deny_perf_events(&mut demo, error);
        let run = nobody.run(&mut demo);
        assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
        let answer = run.stderr.split("The long pole: ").nth(1).unwrap_or_default();
        let pole = answer.split("Gain").next().unwrap_or_default();
        let is_named = POLES.iter().any(|(names, _)| names.iter().any(|name| pole.contains(name)));
        assert!(is_named, "{}{}", run.stdout, run.stderr);
        let recording = Recording { path, run };
        let critical = recording.report("critical-path", "procedure");
        for (names, percent) in POLES {
            let found: f64 =
                names.iter().map(|name| critical.sum("procedure", name, "inclusive_percent")).sum();
            let table = critical.table("procedure");
            assert!((found - percent).abs() < CLOSE, "{table}\n{names:?}: {found} %, not {percent}");
        }
        let objects = recording.report("objects", "object");
        let is_known = objects.rows().any(|row| row["object"] == "the shared table");
        assert!(is_known, "{:#}", objects.value["rows"]);
    }
}
