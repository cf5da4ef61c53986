//! The agent alone: a user for whom every perf event is denied.

use crate::support::{Nobody, Recording, Session, deny_perf_events, or_skip};

/// Percentage points by which a share may be off, besides three standard errors: what the kernel's accounts of ready
/// threads leave open on a busy machine.
const CLOSE: f64 = 6.0;

#[test]
fn the_demo_names_its_long_poles_where_every_perf_event_is_denied() {
    let session = Session::start();
    let nobody = or_skip!(Nobody::in_session(&session));
    for error in [libc::EPERM, libc::ENOSYS] {
        let mut demo = nobody.longpole();
        demo.args(["demo", "-o", "demo.longpole"]);
        deny_perf_events(&mut demo, error);
        let run = nobody.run(&mut demo);
        assert!(run.status.success(), "{}{}", run.stdout, run.stderr);
        let recording = Recording::at(&nobody.home().join("demo.longpole"));
        let path = recording.report("critical-path", "procedure");
        assert_eq!(path.value["evidence"]["collector"], "agent");
        // Of 1430 ms, as the comment at the demo's program works out.
        for (region, percent) in [("parse_orders", 35.0), ("simulate_region", 31.0)] {
            path.assert_percent(region, percent, CLOSE);
        }
        let headline =
            run.stdout.lines().chain(run.stderr.lines()).find(|line| line.starts_with("The long pole"));
        let named = ["parse_orders", "simulate_region", "update_shared_table"];
        assert!(headline.is_some_and(|line| named.iter().any(|name| line.contains(name))), "{headline:?}");
        let objects = recording.report("objects", "object");
        let lock = objects.rows().find(|row| row["kind"] == "mutex");
        assert!(lock.is_some(), "the table's lock is known: {:#}", objects.value["rows"]);
        let barrier = objects.rows().find(|row| row["kind"] == "barrier");
        assert!(barrier.is_some(), "the barrier is known: {:#}", objects.value["rows"]);
    }
}
