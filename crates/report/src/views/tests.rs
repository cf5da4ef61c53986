//! What the views say of drawn runs.

use longpole_event::Time;
use longpole_metrics::{Analysis, By, Details, Weight};
use longpole_testkit::random_timelines;
use longpole_trace::{Evidence, Objects, Paths, Program};
use proptest::prelude::*;
use serde_json::Value;

use crate::fixture::{
    BARRIER, CROWDED, DrawnRun, LOCK_HOG, PIPE, PROCESSES, SERIAL_THEN_PARALLEL, SHORT, SPINNER, WAITING,
};
use crate::input::{OutsideAnswers, ReportInput, ReportOptions};
use crate::spreadsheet::CellText;
use crate::style::Style;
use crate::view::{OutsideAnswerKind, View};

const SCENES: &[(&str, &str)] = &[
    ("serial_then_parallel", SERIAL_THEN_PARALLEL),
    ("barrier", BARRIER),
    ("lock_hog", LOCK_HOG),
    ("spinner", SPINNER),
    ("pipe", PIPE),
    ("crowded", CROWDED),
    ("waiting", WAITING),
    ("processes", PROCESSES),
    ("short", SHORT),
];

#[test]
fn the_summary_names_the_long_pole_of_every_drawn_run() {
    for (name, drawing) in SCENES {
        insta::assert_snapshot!(format!("summary_{name}"), DrawnRun::of(drawing).text(View::Summary, 80));
    }
}

#[test]
fn every_view_is_drawn_at_two_widths() {
    for &view in View::ALL {
        for width in [80, 120] {
            let text = DrawnRun::of(LOCK_HOG).text(view, width);
            insta::assert_snapshot!(format!("lock_hog_{view}_{width}"), text);
        }
    }
}

#[test]
fn no_line_of_any_view_is_wider_than_the_terminal() {
    for (name, drawing) in SCENES {
        for &view in View::ALL {
            for width in [80, 120] {
                let text = DrawnRun::of(drawing).text(view, width);
                assert!(
                    text.lines().all(|line| line.chars().count() <= width),
                    "{name} {view} {width}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn the_summary_leaves_a_line_of_the_screen_for_the_prompt() {
    for (name, drawing) in SCENES {
        let mut scene = DrawnRun::of(drawing);
        scene.evidence.lost_events = 700;
        scene.evidence.truncated = true;
        scene.evidence.attached = true;
        let text = scene.text(View::Summary, 80);
        assert!(text.lines().count() <= 23, "{name}:\n{text}");
    }
}

#[test]
fn views_of_accesses_have_as_many_rows_as_are_wanted() {
    let run = DrawnRun::of(LOCK_HOG);
    for (view, by) in [
        (View::Communication, By::Thread),
        (View::Communication, By::Object),
        (View::Sharing, By::Procedure),
        (View::Patterns, By::Procedure),
        (View::Causality, By::Procedure),
    ] {
        let rows = |top| run.report(view, &ReportOptions { by, top, ..ReportOptions::default() }).rows.len();
        assert!(rows(None) > 0, "{view}");
        assert_eq!((rows(Some(0)), rows(Some(1))), (0, 1), "{view}");
    }
}

#[test]
fn json_is_the_object_that_was_promised() {
    for &view in View::ALL {
        let report = DrawnRun::of(LOCK_HOG).report(view, &ReportOptions::default());
        let json: Value = serde_json::from_str(&report.json()).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let simulated = view.outside().contains(&OutsideAnswerKind::Communication).then_some("simulation");
        let mut promised = vec!["columns", "evidence", "longpole", "recording", "rows"];
        promised.extend(simulated);
        promised.push("view");
        assert_eq!(keys, promised);
        assert_eq!(json["view"], view.name());
        for key in ["command", "machines", "processes", "threads", "cpus", "elapsed_seconds", "cpu_seconds"] {
            assert!(!json["recording"][key].is_null(), "{key}");
        }
        for key in ["spin_seconds", "effective_parallelism", "phase"] {
            assert!(json["recording"].get(key).is_some(), "{key}");
        }
        for key in ["collector", "events", "samples", "lost_events", "unsymbolised_percent"] {
            assert!(!json["evidence"][key].is_null(), "{key}");
        }
        for key in ["unexplained_wait_percent", "overhead_percent", "notes"] {
            assert!(json["evidence"].get(key).is_some(), "{key}");
        }
        let columns: Vec<&str> = json["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        let rows = json["rows"].as_array().unwrap();
        // A drawn run passes no messages.
        assert_eq!(rows.is_empty(), view == View::Messages, "{view}");
        for row in rows {
            assert!(
                row.as_object().unwrap().keys().all(|key| columns.contains(&key.as_str())),
                "{view}: {row}"
            );
        }
    }
}

#[test]
fn json_and_csv_of_a_view_stay_as_they_are() {
    let report = DrawnRun::of(LOCK_HOG).report(View::CriticalPath, &ReportOptions::default());
    insta::assert_snapshot!("lock_hog_critical-path.json", report.json());
    insta::assert_snapshot!("lock_hog_critical-path.csv", report.csv(CellText::Plain));
}

#[test]
fn csv_has_a_line_per_row_and_a_cell_per_column() {
    for &view in View::ALL {
        let report = DrawnRun::of(PROCESSES).report(view, &ReportOptions::default());
        let text = report.csv(CellText::Plain);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), report.columns.len());
        assert_eq!(reader.records().map(Result::unwrap).count(), report.rows.len());
    }
}

#[test]
fn shares_add_up_to_the_whole_at_every_level() {
    for by in [By::Procedure, By::Line, By::Thread, By::Process, By::Machine] {
        for view in [View::CriticalPath, View::Npt, View::Profile] {
            let report =
                DrawnRun::of(PROCESSES).report(view, &ReportOptions { by, ..ReportOptions::default() });
            let sum: f64 = report.rows.iter().filter_map(|row| row.value("percent")).sum();
            assert!((sum - 100.0).abs() < 0.01, "{view} {by:?}: {sum}");
        }
    }
}

#[test]
fn shares_of_threads_have_no_error_and_those_of_procedures_do() {
    let error = |by| {
        let report =
            DrawnRun::of(PIPE).report(View::CriticalPath, &ReportOptions { by, ..ReportOptions::default() });
        report.rows[0].value("error_percent")
    };
    assert_eq!(error(By::Thread), None);
    assert_eq!(error(By::Process), None);
    assert!(error(By::Procedure).is_some());
}

#[test]
fn the_path_by_elapsed_time_is_as_long_as_the_run() {
    let options = ReportOptions { weight: Weight::Elapsed, ..ReportOptions::default() };
    let report = DrawnRun::of(WAITING).report(View::CriticalPath, &options);
    let sum: f64 = report.rows.iter().filter_map(|row| row.value("seconds")).sum();
    assert!((sum - report.recording.elapsed_seconds).abs() < 1e-6, "{sum}");
}

#[test]
fn the_tree_adds_up_from_its_leaves() {
    let report = DrawnRun::of(PROCESSES).report(View::Tree, &ReportOptions::default());
    let of = |kind: &str| -> f64 {
        let rows = report.rows.iter().filter(|row| row.words("kind") == kind);
        rows.filter_map(|row| row.value("cpu_seconds")).sum()
    };
    for kind in ["machine", "process", "thread", "procedure"] {
        assert!((of(kind) - of("program")).abs() < 1e-6, "{kind}");
    }
    // Each row is below the nearest one before it of less depth.
    let number = |row: &crate::Row, column| row.value(column).map(|number| number as usize);
    for (at, row) in report.rows.iter().enumerate() {
        assert_eq!(number(row, "id"), Some(at));
        let above = report.rows[..at].iter().rev().find(|above| above.value("depth") < row.value("depth"));
        assert_eq!(number(row, "parent"), above.and_then(|above| number(above, "id")));
    }
    assert_eq!(report.rows[0].get("parent"), None);
}

/// `light` waits 70 ms while `heavy` computes for 100 and it itself checks for 30.
#[test]
fn causes_above_all_of_the_waiting_say_what_is_to_be_taken_off() {
    let other = BARRIER.replace("AAAbbbbbbb", "CCCbbbbbbb").replace("heavy A", "C = check\nheavy A");
    let text = DrawnRun::of(&other).text(View::Waits, 80);
    assert!(text.contains("143 % compute in heavy\n"), "{text}");
    assert!(text.contains(" less 43 % check\n"), "{text}");
    assert!(!DrawnRun::of(BARRIER).text(View::Waits, 80).contains(" less 43"));
}

#[test]
fn explanations_of_a_wait_add_up_to_it_and_each_to_its_causes() {
    let list = |row: &crate::Row, column| match row.get(column) {
        Some(crate::Cell::List(rows)) => rows.clone(),
        _ => Vec::new(),
    };
    for drawing in [LOCK_HOG, BARRIER, PIPE, PROCESSES] {
        let report = DrawnRun::of(drawing)
            .report(View::Waits, &ReportOptions { explain: Some(1), ..ReportOptions::default() });
        let row = &report.rows[0];
        let explanations = list(row, "explanations");
        let sum =
            |rows: &[crate::Row], column| -> f64 { rows.iter().filter_map(|row| row.value(column)).sum() };
        for column in ["seconds", "count"] {
            assert!((sum(&explanations, column) - row.value(column).unwrap()).abs() < 1e-9, "{column}");
        }
        assert!((sum(&explanations, "percent") - 100.0).abs() < 0.01);
        for explanation in &explanations {
            for column in ["causes", "root_causes"] {
                let (positive, negative): (Vec<_>, Vec<_>) = list(explanation, column)
                    .into_iter()
                    .partition(|cause| cause.words("side") == "positive");
                let amount = sum(&positive, "seconds") - sum(&negative, "seconds");
                assert!((amount - explanation.value("seconds").unwrap()).abs() < 1e-8, "{explanation:?}");
            }
        }
        let classes = ["load_imbalance", "insufficient_parallelism", "contention", "unexplained"];
        let shares: f64 = classes.iter().filter_map(|class| row.value(&format!("{class}_percent"))).sum();
        assert!((shares - 100.0).abs() < 0.01, "{shares}");
    }
}

#[test]
fn a_limit_keeps_the_largest_rows() {
    let report =
        |top| DrawnRun::of(LOCK_HOG).report(View::Npt, &ReportOptions { top, ..ReportOptions::default() });
    let (all, two) = (report(None), report(Some(2)));
    assert_eq!(two.rows, all.rows[..2]);
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let report = DrawnRun::of(LOCK_HOG).report(View::Summary, &ReportOptions::default());
    assert!(!report.text(&Style::plain(80)).contains('\x1b'));
    let coloured = report.text(&Style { colour: true, ..Style::plain(80) });
    assert!(coloured.starts_with("\x1b[1mThe long pole"));
}

#[test]
fn an_empty_recording_says_why_it_is_empty() {
    let evidence = Evidence { lost_events: 12, ..Evidence::default() };
    let (program, paths, analysis) = (Program::default(), Paths::default(), Analysis::default());
    let (objects, details) = (Objects::default(), Details::default());
    let folding = longpole_trace::Folding::default();
    let input = ReportInput {
        program: &program,
        paths: &paths,
        folding: &folding,
        objects: &objects,
        analysis: &analysis,
        details: &details,
        evidence: &evidence,
        outside_answers: &OutsideAnswers::default(),
    };
    let text = crate::build(View::Summary, &input, &ReportOptions::default()).text(&Style::plain(80));
    assert!(text.contains("12 events were lost, and none arrived"), "{text}");
    for &view in View::ALL {
        assert!(!crate::build(view, &input, &ReportOptions::default()).text(&Style::plain(80)).is_empty());
    }
}

#[test]
fn a_run_of_which_most_was_lost_was_not_too_short() {
    let mut scene = DrawnRun::of(LOCK_HOG);
    scene.evidence.lost_events = 70_000;
    let text = scene.text(View::Summary, 200);
    assert!(text.contains("Too many events were lost to say what holds the program back"), "{text}");
    assert!(!text.contains("Too short") && !text.contains("No change would gain"), "{text}");
}

#[test]
fn losses_are_told_in_every_view() {
    let mut scene = DrawnRun::of(LOCK_HOG);
    scene.evidence.lost_events = 700;
    for &view in View::ALL {
        let text = scene.text(view, 200);
        // The evidence is the ledger itself.
        let leads = text.starts_with("Caution: 12 % of the events were lost (700 events)");
        assert!(leads || view == View::Evidence, "{view}:\n{text}");
        assert_eq!(text.matches("Caution: 12 %").count(), 1, "{view}:\n{text}");
    }
}

#[test]
fn small_losses_are_told_before_what_is_never_seen() {
    let mut scene = DrawnRun::of(LOCK_HOG);
    scene.evidence.lost_events = 200;
    for &view in View::ALL {
        let text = scene.text(view, 200);
        assert!(text.contains("Caution: 200 events lost (3.8 %)"), "{view}:\n{text}");
        assert!(!text.starts_with("Caution"), "{view}:\n{text}");
    }
}

#[test]
fn no_share_of_losses_is_above_all() {
    let mut scene = DrawnRun::of(LOCK_HOG);
    (scene.evidence.lost_stacks, scene.evidence.lost_events) = (37_903_000, 5_000_000);
    let text = scene.text(View::Evidence, 200);
    let shares = text.split(" %").filter_map(|before| before.rsplit(['(', ' ']).next()?.parse::<f64>().ok());
    assert!(shares.clone().count() > 2 && shares.clone().all(|share| share <= 100.0), "{text}");
}

#[test]
fn a_thread_has_its_span_and_its_creator() {
    let scene = DrawnRun::of(SERIAL_THEN_PARALLEL);
    let report = scene.report(View::Threads, &ReportOptions::default());
    let worker = report.rows.iter().find(|row| row.words("thread") == "worker2").unwrap();
    assert_eq!(worker.value("start_seconds"), Some(0.2));
    assert!(worker.words("created_by").starts_with("main #"));
    let start = scene.timelines.program.threads[0].start;
    assert_eq!(start, Time::ZERO);
}

#[test]
fn machines_stand_in_the_tree_and_can_be_rows() {
    let drawing = "A = main > send\nB = main > receive\nleft:a/one AAAAAAAA\nright:b/two mmmmmmmmBBBB\none@8 -> two message";
    let scene = DrawnRun::of(drawing);
    let tree = scene.text(View::Tree, 100);
    assert!(tree.contains("    left\n") && tree.contains("    right\n"), "{tree}");
    let options = ReportOptions { by: By::Machine, ..ReportOptions::default() };
    let report = scene.report(View::CriticalPath, &options);
    let rows: Vec<(&str, Option<f64>)> =
        report.rows.iter().map(|row| (row.words("machine"), row.value("seconds"))).collect();
    assert_eq!(rows, [("left", Some(0.08)), ("right", Some(0.04))]);
    assert!(scene.text(View::Summary, 100).contains("on 2 machines"));
}

#[test]
fn the_collector_s_own_time_is_shown_apart_and_in_no_other_number() {
    // 4 of 40 columns on the CPU are the collector's.
    let mut scene = DrawnRun::of("cpus 2\nA = work:1\none AAAAAAAAAAAAAAAA%%%%\ntwo AAAAAAAAAAAAAAAAAAAA");
    scene.evidence.overhead_nanoseconds = 40_000_000;
    let text = scene.text(View::Evidence, 100);
    let line = text.lines().find(|line| line.starts_with("overhead removed")).unwrap();
    assert!(line.contains(" 10 %"), "{line}");
    assert!(text.contains("10 % of the threads' CPU time was the collector's"), "{text}");
    let report = scene.report(View::Threads, &ReportOptions::default());
    let of = |column| -> f64 { report.rows.iter().filter_map(|row| row.value(column)).sum() };
    assert!((of("overhead_seconds") - 0.04).abs() < 1e-9 && (of("seconds") - 0.36).abs() < 1e-9);
    assert!((of("npt_seconds") - 0.20).abs() < 1e-9, "the other thread was busy alone meanwhile");
    let other = DrawnRun::of("cpus 1\nA = work:1\none AAAA");
    assert!(!other.text(View::Evidence, 100).contains("overhead removed"));
    assert!(
        other.report(View::Threads, &ReportOptions::default()).rows[0].value("overhead_seconds").is_none()
    );
}

#[test]
fn a_library_procedure_is_named_behind_the_procedure_that_called_it() {
    let drawing =
        "cpus 2\nR = main > parse > core::intrinsics::rotate:7\nM = main > merge\nmain RRRRRRRRRMRRRRRRRRR";
    let text = DrawnRun::of(drawing).text(View::Summary, 200);
    assert!(text.starts_with("The long pole: `parse`, in the standard library — 95 %"), "{text}");
    assert!(text.contains("100 % of it is in `core::intrinsics::rotate`."), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_run_has_every_view_and_shares_that_add_up(timelines in random_timelines(5, 60)) {
        let scene = DrawnRun::with(timelines);
        for &view in View::ALL {
            let report = scene.report(view, &ReportOptions::default());
            let text = report.text(&Style::plain(80));
            prop_assert!(text.lines().all(|line| line.chars().count() <= 80), "{view}:\n{text}");
            serde_json::from_str::<Value>(&report.json()).unwrap();
            if matches!(view, View::CriticalPath | View::Npt | View::Profile) {
                let sum: f64 = report.rows.iter().filter_map(|row| row.value("percent")).sum();
                // What has no call path is in no row.
                prop_assert!(sum <= 100.01, "{view}: {sum}");
            }
        }
    }
}

#[test]
fn a_run_on_an_unknown_number_of_processors_is_not_called_bound_by_them() {
    let drawing = "cpus 1\nA = work:1\nB = wait_long:2\none AAAAAAAAAAAAAAAAAAAA\ntwo B------------------B";
    let mut scene = DrawnRun::of(drawing);
    let headline = |scene: &DrawnRun| scene.text(View::Summary, 200).lines().next().unwrap().to_owned();
    assert!(headline(&scene).contains("CPU time"), "{}", headline(&scene));
    scene.timelines.program.machines[0].cpus = 0;
    assert!(!headline(&scene).contains("CPU time"), "{}", headline(&scene));
    assert!(headline(&scene).contains("`work`"), "{}", headline(&scene));
}

#[test]
fn every_view_of_a_phase_says_so_and_is_of_it_alone() {
    let scene = DrawnRun::of(SERIAL_THEN_PARALLEL);
    let of = scene.timelines.program.elapsed_nanoseconds;
    // The second half, in which only the workers run.
    let span = crate::Span::new("50%..97%", of / 2, of * 97 / 100, of).unwrap();
    let options = ReportOptions { phase: Some(span), ..ReportOptions::default() };
    for &view in View::ALL {
        let report = scene.report(view, &options);
        assert_eq!(report.recording.phase, Some([span.from as f64 / 1e9, span.to as f64 / 1e9]), "{view}");
        assert!(
            report.text(&Style::plain(100)).contains("Phase 205 ms to 398 ms of 410 ms (47 %)"),
            "{view}"
        );
    }
    let report = scene.report(View::CriticalPath, &options);
    assert!(
        report.rows.iter().all(|row| row.words("procedure") != "load" || row.value("percent") == Some(0.0))
    );
}
