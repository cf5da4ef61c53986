//! The answer, the changes, the guidance and the cautions never contradict each other, whatever the run is like.

use longpole_testkit::random_timelines;
use proptest::prelude::*;

use crate::findings::finding::{Advice, FindingSubject, Limit};
use crate::findings::threshold::{FEWEST_OBSERVATIONS, LEAST_GAIN, SHORTEST_GAIN};
use crate::findings::{Finding, Findings, RankedWork, Ranking, Verdict};
use crate::fixture::{
    BARRIER, CROWDED, DrawnRun, LOCK_HOG, LOCK_HOG_TOLD, PIPE, PROCESSES, REGIONS, SERIAL_THEN_PARALLEL,
    SHORT, SPINNER, WAITING,
};
use crate::input::{ReportOptions, ReportTables};
use crate::report::{Cell, Row};
use crate::view::View;

fn assert_laws(scene: &DrawnRun) {
    let demand = View::Summary.demand(&ReportOptions::default());
    scene.with_details(&demand, |input| {
        let findings = Findings::of(input);
        assert_the_first_finding_is_the_first_change(&findings);
        assert_nothing_is_promised_within_noise(&findings, input);
        assert_locks_gain_no_more_than_their_waits(&findings, input);
        assert_the_ranking_is_the_one_that_ranks(&findings);
        assert_numbers_of_the_answer_are_of_the_run(&findings, input);
    });
    assert_the_summary_is_of_these(scene);
}

/// What leads the answer is the first change, and is named in the headline; or nothing is advised about it.
fn assert_the_first_finding_is_the_first_change(findings: &Findings<'_, '_>) {
    let (changes, answer) = (findings.changes(), findings.answer());
    let headline = answer.headline.text();
    assert!(headline.ends_with('.') && !headline.contains("  "), "{headline}");
    let Some(first) = findings.first() else { return assert!(changes.is_empty(), "{headline}") };
    if first.change.is_none() {
        let is_said = answer.reasons.iter().any(|reason| reason.text().contains("not in the recording"))
            || headline.contains("No procedure can be named")
            || headline.contains("no single procedure")
            || headline.contains("comes first");
        return assert!(is_said, "{headline} {:?}", answer.reasons);
    }
    assert_eq!(changes[0].subject, first.subject, "{headline}");
    let middles = |is_procedure: bool| -> Vec<u64> {
        let of_kind =
            |change: &&&Finding| matches!(change.subject, FindingSubject::Procedure(_)) == is_procedure;
        let weight = |change: &&Finding| (if is_procedure { change.free } else { change.weight }) as u64;
        changes.iter().filter(|change| !change.leads).filter(of_kind).map(weight).collect()
    };
    for middles in [middles(true), middles(false)] {
        assert!(middles.windows(2).all(|pair| pair[0] >= pair[1]), "{middles:?}");
    }
    if let (FindingSubject::Procedure(id), Limit::Work) = (&first.subject, first.limit) {
        let named: Vec<_> = answer.headline.names().collect();
        assert!(named.contains(&longpole_metrics::Node::Procedure(*id)), "{headline}");
    }
}

/// No gain below the run's own noise, none beyond the run, no procedure from a handful of observations.
fn assert_nothing_is_promised_within_noise(findings: &Findings<'_, '_>, input: &ReportTables<'_>) {
    let elapsed = input.analysis.elapsed as f64;
    let noise = (LEAST_GAIN / 100.0 * elapsed).max(SHORTEST_GAIN);
    for change in findings.changes() {
        let (advice, gain) = change.change.expect("changes have advice");
        assert!(gain.high >= noise && gain.high <= elapsed, "{advice:?} {gain:?}");
        assert!(gain.low == 0.0 || (gain.low >= noise && gain.low <= gain.high), "{advice:?} {gain:?}");
        assert!(!change.evidence.is_empty(), "{advice:?}");
        let is_of_samples =
            matches!(change.subject, FindingSubject::Procedure(_)) && change.limit == Limit::Work;
        assert!(!is_of_samples || findings.facts().has_observations(), "{advice:?}");
    }
}

/// However badly the run executed anew matches the recorded one, as it does where other programs have the processors.
fn assert_locks_gain_no_more_than_their_waits(findings: &Findings<'_, '_>, input: &ReportTables<'_>) {
    let details = &input.input().details;
    let (Some(contention), objects) = (&details.contention, input.input().objects.all()) else { return };
    for change in findings.changes() {
        let (Some((advice, gain)), FindingSubject::Object(id)) = (change.change, &change.subject) else {
            continue;
        };
        if !matches!(advice, Advice::HoldShorter | Advice::SplitLock | Advice::AdmitMore) {
            continue;
        }
        let named = objects[id.index()].clone();
        let is_it =
            |index: &usize| (objects[*index].kind, &objects[*index].name) == (named.kind, &named.name);
        let its = (0..objects.len()).filter(is_it);
        let waited: u64 = its.map(|index| contention.objects[index].waited()).sum();
        let in_calls = details.synchronisation.iter().filter(|cost| cost.objects.contains(id));
        let in_calls: f64 = in_calls.map(|cost| cost.running + cost.spinning).sum();
        assert!(gain.high <= waited as f64 + in_calls + 1.0, "{} {gain:?}: {waited} {in_calls}", named.name);
    }
}

/// The guidance follows what the answer ranks by.
fn assert_the_ranking_is_the_one_that_ranks(findings: &Findings<'_, '_>) {
    let guidance = findings.guidance();
    let is = |ranking: Ranking, verdict: Verdict| {
        guidance.verdicts.iter().any(|&(of, said, _)| of == ranking && said == verdict)
    };
    let Some(first) = findings.first().filter(|first| first.limit == Limit::Work) else { return };
    let answer = findings.answer();
    let by = match answer.ranked_by {
        Some(RankedWork::CriticalPath) => Ranking::CriticalPath,
        Some(RankedWork::Npt) => Ranking::Npt,
        Some(RankedWork::Cpu) => Ranking::Profile,
        None => return,
    };
    let has_samples = findings.facts().samples >= FEWEST_OBSERVATIONS;
    let lead = guidance.lead.text();
    assert!(!is(by, Verdict::Misleads) || findings.facts().spinning > 0, "{by:?} {lead}");
    let is_followed = is(by, Verdict::Follow) || is(by, Verdict::Agrees) || findings.facts().lost > 0.0;
    let is_followed = is_followed || findings.facts().spinning > 0;
    assert!(is_followed || !has_samples, "{:?} {by:?} {lead} {:?}", first.subject, guidance.verdicts);
}

/// Shares are of wholes.
fn assert_numbers_of_the_answer_are_of_the_run(findings: &Findings<'_, '_>, input: &ReportTables<'_>) {
    let answer = findings.answer();
    for row in std::iter::once(&answer.headline).chain(&answer.reasons).flat_map(|said| said.rows(input)) {
        let is_share = |percent: f64| (0.0..=100.01).contains(&percent);
        assert!(row.value("percent").is_none_or(is_share), "{}", answer.headline.text());
    }
}

/// The view's rows are these selections, and its spans are its texts.
fn assert_the_summary_is_of_these(scene: &DrawnRun) {
    let report = scene.report(View::Summary, &ReportOptions::default());
    let spans = |row: &Row, column: &str| match row.get(column) {
        Some(Cell::List(spans)) => spans.iter().map(|span| span.words("text")).collect::<String>(),
        _ => String::new(),
    };
    for row in report.rows.iter().filter(|row| row.get("spans").is_some()) {
        assert_eq!(row.words("text").replace('`', ""), spans(row, "spans"));
    }
    for row in report.rows.iter().filter(|row| row.words("section") == "change") {
        assert_eq!(row.words("about").replace('`', ""), spans(row, "about_spans"));
    }
}

#[test]
fn the_drawn_runs_keep_the_laws() {
    let drawings = [
        BARRIER,
        CROWDED,
        LOCK_HOG,
        LOCK_HOG_TOLD,
        PIPE,
        PROCESSES,
        REGIONS,
        SERIAL_THEN_PARALLEL,
        SHORT,
        SPINNER,
        WAITING,
    ];
    for drawing in drawings {
        for lost in [0, 200, 5000] {
            for looks in [0.5, 5.0, 40.0] {
                let mut scene = DrawnRun::of(drawing);
                (scene.evidence.lost_events, scene.looks) = (lost, looks);
                assert_laws(&scene);
                (scene.evidence.unmatched_wakes, scene.evidence.wakes) = (scene.evidence.wakes, 0);
                assert_laws(&scene);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn random_runs_keep_the_laws(made in random_timelines(5, 60), looks in 1u32..60, lost in 0u64..900) {
        let mut scene = DrawnRun::with(made);
        scene.evidence.lost_events = if lost < 600 { 0 } else { lost };
        scene.looks = f64::from(looks);
        assert_laws(&scene);
    }
}
