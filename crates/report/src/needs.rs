//! What a view needs of a recording, and what to say where that is not there: one place for all views.

use longpole_metrics::By;
use longpole_trace::Cause;

use crate::input::{ReportOptions, ReportTables};
use crate::view::View;

/// Something that a recording can be without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordingNeed {
    /// Switches: when threads had a processor and when not.
    Switches,
    /// Wakes: who let whom go on.
    Wakes,
    /// Looks at running threads: what they ran.
    Samples,
    /// The same where only the program itself could tell.
    Marks,
    /// What threads waited for.
    Objects,
}

impl RecordingNeed {
    /// Every need, the weightiest first.
    const ALL: [RecordingNeed; 5] = [
        RecordingNeed::Switches,
        RecordingNeed::Wakes,
        RecordingNeed::Samples,
        RecordingNeed::Marks,
        RecordingNeed::Objects,
    ];

    /// Whether the recording lacks it, though there was something to be seen.
    fn is_lacking(self, input: &ReportTables<'_>) -> bool {
        let evidence = input.evidence;
        let threads = &input.analysis.threads;
        let waits_for_others = || {
            let is_synchronisation = |cause: &Cause| cause.is_synchronisation();
            let waited = |states: &longpole_metrics::ThreadStates| {
                states
                    .blocked
                    .iter()
                    .zip(Cause::ALL)
                    .any(|(&time, cause)| time > 0 && is_synchronisation(cause))
            };
            threads.iter().any(waited)
        };
        let looks = evidence.samples + evidence.told_observations;
        let has_no_samples = looks == 0 && threads.iter().any(|states| states.running > 0);
        let is_agent = evidence.collector == "agent";
        match self {
            RecordingNeed::Switches => evidence.switches == 0 && threads.len() > 1,
            RecordingNeed::Wakes => evidence.wakes == 0 && evidence.unmatched_wakes > 0 && waits_for_others(),
            RecordingNeed::Samples => !is_agent && has_no_samples,
            RecordingNeed::Marks => is_agent && has_no_samples,
            RecordingNeed::Objects => input.input().objects.all().is_empty() && waits_for_others(),
        }
    }

    /// What is missing, what that means, and how to record it.
    fn text(self) -> &'static str {
        match self {
            RecordingNeed::Switches => {
                "no switches were recorded, so that waits and the times without a CPU are not known; `longpole record` has them (perf: -e sched:sched_switch)"
            }
            RecordingNeed::Wakes => {
                "no wakes were recorded, so that nobody knows who waited for whom, and chains of work end at each wait; `longpole record` by bpf or perf has them (`longpole doctor`; perf record: -e sched:sched_waking)"
            }
            RecordingNeed::Samples => {
                "no timer samples were recorded, so that work is only charged where threads stopped or woke others; record longer or more often (`longpole record -F 2000`; perf: -e cpu-clock -g)"
            }
            RecordingNeed::Marks => {
                "the agent alone sees threads only where they wait or let others go on, and charges their work there; `longpole record` by another collector (`longpole doctor`), -finstrument-functions, or regions marked by longpole.h tell more"
            }
            RecordingNeed::Objects => {
                "no waiting thread's lock or other object is known: the calls at its waits were not recorded; `longpole record` has them (the bpf collector sees them all; `longpole doctor` says whether it can run)"
            }
        }
    }
}

/// What a view of procedures' work needs.
pub(crate) const WORK_NEEDS: &[RecordingNeed] =
    &[RecordingNeed::Switches, RecordingNeed::Samples, RecordingNeed::Marks];

/// What a view of work that waits for other work needs.
pub(crate) const CHAIN_NEEDS: &[RecordingNeed] =
    &[RecordingNeed::Switches, RecordingNeed::Wakes, RecordingNeed::Samples, RecordingNeed::Marks];

/// The same by rows: objects take the place of samples.
pub(crate) fn chain_needs(by: By) -> &'static [RecordingNeed] {
    match by {
        By::Object => &[RecordingNeed::Switches, RecordingNeed::Wakes, RecordingNeed::Objects],
        _ => CHAIN_NEEDS,
    }
}

/// What the view lacks in this recording, a sentence each.
pub(crate) fn lacks(view: View, input: &ReportTables<'_>, options: &ReportOptions) -> Vec<&'static str> {
    let needs = (view.definition().needs)(options.by);
    let lacking =
        RecordingNeed::ALL.into_iter().filter(|need| needs.contains(need) && need.is_lacking(input));
    lacking.map(RecordingNeed::text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{DrawnRun, LOCK_HOG};
    use crate::style::Style;

    /// The text of a view of a recording that lacks something, without line breaks.
    fn text(view: View, lack: fn(&mut DrawnRun)) -> String {
        let mut scene = DrawnRun::of(LOCK_HOG);
        lack(&mut scene);
        let text = scene.report(view, &ReportOptions::default()).text(&Style::plain(80));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn without(need: RecordingNeed) -> fn(&mut DrawnRun) {
        match need {
            RecordingNeed::Switches => |scene| scene.evidence.switches = 0,
            RecordingNeed::Wakes => {
                |scene| (scene.evidence.unmatched_wakes, scene.evidence.wakes) = (scene.evidence.wakes, 0)
            }
            RecordingNeed::Samples => |scene| scene.evidence.samples = 0,
            RecordingNeed::Marks => |scene| {
                scene.evidence.samples = 0;
                scene.evidence.collector = "agent".into();
            },
            RecordingNeed::Objects => DrawnRun::forget_objects,
        }
    }

    #[test]
    fn every_view_says_what_it_lacks_and_how_to_record_it() {
        for &view in View::ALL {
            for need in RecordingNeed::ALL {
                let text = text(view, without(need));
                let is_needed = (view.definition().needs)(By::default()).contains(&need);
                assert_eq!(text.contains(need.text()), is_needed, "{view} {need:?}: {text}");
                assert!(need.text().contains("`longpole record"), "{need:?}");
            }
        }
    }

    #[test]
    fn nothing_is_missed_where_there_was_nothing_to_see() {
        let mut scene = DrawnRun::of("cpus 2\none AAAA");
        scene.evidence.wakes = 0;
        for &view in View::ALL {
            let report = scene.report(view, &ReportOptions::default());
            assert!(!report.text(&Style::plain(80)).contains("no wakes"), "{view}");
        }
    }

    #[test]
    fn the_summary_still_fits_on_a_screen() {
        for need in RecordingNeed::ALL {
            let mut scene = DrawnRun::of(LOCK_HOG);
            without(need)(&mut scene);
            let text = scene.text(View::Summary, 80);
            assert!(text.lines().count() <= 23, "{need:?}:\n{text}");
        }
    }

    #[test]
    fn json_says_it_too() {
        let mut scene = DrawnRun::of(LOCK_HOG);
        (scene.evidence.unmatched_wakes, scene.evidence.wakes) = (scene.evidence.wakes, 0);
        let report = scene.report(View::Waits, &ReportOptions::default());
        assert!(report.evidence.notes.iter().any(|note| note.starts_with("no wakes were recorded")));
    }
}
