use std::convert::Infallible;

use longpole_event::{SeriesKind, Time};
use proptest::prelude::*;

use super::*;
use crate::description::tests::{FIGURE_2, FIGURE_3};
use crate::{Aggregation, TableCalculation, TreeLevel};

fn built_in() -> Vec<BuiltIn> {
    let time = |name: &str| BuiltIn {
        name: name.to_owned(),
        title: name.to_owned(),
        unit: "threads".to_owned(),
        calculation: TableCalculation::Total,
    };
    vec![time("cpu_seconds"), time("running_seconds"), time("spin_seconds")]
}

fn series(metric: &str, unit: &str, samples: SeriesKind, level: TreeLevel) -> SeriesAnnouncement {
    let (metric, unit) = (metric.to_owned(), unit.to_owned());
    SeriesAnnouncement { metric, unit, samples, level, aggregation: None, title: None }
}

fn outside() -> Vec<SeriesAnnouncement> {
    vec![
        series("sys_user_time", "s", SeriesKind::Counter, TreeLevel::Machine),
        series("page_faults", "faults", SeriesKind::Counter, TreeLevel::Process),
        series("page_faults", "faults", SeriesKind::Counter, TreeLevel::Thread),
        series("resident", "bytes", SeriesKind::Gauge, TreeLevel::Process),
        series("idle", "%", SeriesKind::Gauge, TreeLevel::Machine),
    ]
}

fn file(text: &str) -> Descriptions {
    Descriptions::parse(text, "f.metrics").unwrap_or_else(|error| panic!("{error}"))
}

/// The catalogue of a file and definitions, and what was said.
fn made(text: &str, defines: &[&str]) -> (Catalogue, Vec<String>) {
    let defines: Vec<_> = defines.iter().map(|&define| define.to_owned()).collect();
    let (catalogue, notes) = Catalogue::new(&built_in(), &outside(), vec![file(text)], &defines);
    (catalogue, notes.iter().map(Note::to_string).collect())
}

fn window(bins: usize) -> Window {
    let end = Time::from_nanoseconds(bins as u64 * 500_000_000);
    Window { from: Time::from_nanoseconds(0), to: end, bins }
}

#[test]
fn figures_2_and_3_load_and_share_is_computed() {
    let (catalogue, notes) = made(&format!("{FIGURE_2}\n{FIGURE_3}"), &[]);
    assert_eq!(
        notes,
        [
            "tablettitle is read as tabletitle (f.metrics, line 20)",
            "share is a plain number labelled percent_cpu: it is not multiplied by 100"
        ]
    );
    let bus = catalogue.metric("prod_bus_util").unwrap();
    assert_eq!(
        (bus.class, bus.level, bus.unit_label.as_str()),
        (MetricClass::External, TreeLevel::Machine, "percent_bus")
    );
    assert_eq!((bus.calculation, bus.aggregation), (TableCalculation::Average, Aggregation::Sum));
    let share = catalogue.metric("share").unwrap();
    assert_eq!(
        (share.class, share.level, share.calculation),
        (MetricClass::Derived, TreeLevel::Machine, TableCalculation::Average)
    );
    assert_eq!((share.title.as_str(), share.table_title.as_str()), ("Share of User Time", "Average Share"));
    assert_eq!((share.unit_label.as_str(), share.table_unit_label.as_str()), ("percent_cpu", "percent_cpu"));

    // Threads that compute, threads that spin, processors in user mode:
    //   (1.5 + 0.5) / 2 = 1     (1 + 0) / 4 = 0.25     (0 + 0) / 0 = no value     (3 + 1) / 3.2 = 1.25
    let mut asked = Vec::new();
    let mut course = |metric: &CatalogueMetric| {
        asked.push(metric.name.clone());
        Ok::<_, Infallible>(match metric.name.as_str() {
            "running_seconds" => vec![1.5, 1.0, 0.0, 3.0],
            "spin_seconds" => vec![0.5, 0.0, 0.0, 1.0],
            "sys_user_time" => vec![2.0, 4.0, 0.0, 3.2],
            other => panic!("{other} is not needed"),
        })
    };
    let evaluated = catalogue.evaluate("share", &window(4), &mut course).unwrap().unwrap();
    assert_eq!((evaluated.values[0], evaluated.values[1], evaluated.values[3]), (1.0, 0.25, 1.25));
    assert!(evaluated.values[2].is_nan());
    assert_eq!(evaluated.divided_by_zero, 1);
    assert_eq!(asked, ["running_seconds", "spin_seconds", "sys_user_time"]);
}

#[test]
fn metrics_without_description_are_what_their_series_say() {
    let (catalogue, notes) = made("", &[]);
    let faults = catalogue.metric("page_faults").unwrap();
    assert_eq!(
        (faults.level, faults.aggregation, faults.calculation),
        (TreeLevel::Thread, Aggregation::Sum, TableCalculation::Total)
    );
    assert_eq!((faults.unit_label.as_str(), faults.table_unit_label.as_str()), ("faults/s", "faults"));
    let resident = catalogue.metric("resident").unwrap();
    assert_eq!(
        (resident.aggregation, resident.calculation),
        (Aggregation::Average, TableCalculation::Average)
    );
    assert_eq!((resident.unit_label.as_str(), resident.table_unit_label.as_str()), ("bytes", "bytes"));
    assert_eq!(catalogue.metric("sys_user_time").unwrap().unit_label, "s/s");
    assert_eq!(catalogue.metric("cpu_time").unwrap().name, "running_seconds");
    assert_eq!(catalogue.metric("running_seconds").unwrap().table_unit_label, "s");
    assert_eq!(notes, [] as [&str; 0]);
}

#[test]
fn descriptions_win_over_what_series_say() {
    let (catalogue, notes) = made(
        "metric resident { aggregation sum; units kB; tablecalc total; title \"Memory\"; level machine; }
         metric page_faults { samples gauge; units faults; }",
        &[],
    );
    let resident = catalogue.metric("resident").unwrap();
    assert_eq!((resident.title.as_str(), resident.axis_title.as_str()), ("Memory", "Memory"));
    assert_eq!((resident.aggregation, resident.level), (Aggregation::Sum, TreeLevel::Machine));
    assert_eq!((resident.unit_label.as_str(), resident.table_unit_label.as_str()), ("kB", "kB*s"));
    assert_eq!(catalogue.metric("page_faults").unwrap().unit_label, "faults");
    assert_eq!(notes, ["resident is described in kB, its series are in bytes: nothing is converted"]);
}

#[test]
fn derived_metrics_stand_after_their_operands_whatever_the_order_of_the_file() {
    let (catalogue, notes) = made(
        "metric c { formula b * 2; } metric b { formula a + a; } metric a { formula page_faults / cpu_time; }",
        &["e = d - c", "d = a"],
    );
    assert_eq!(notes, [] as [&str; 0]);
    let place = |name| catalogue.metrics().iter().position(|metric| metric.name == name).unwrap();
    assert!(
        place("a") < place("b")
            && place("b") < place("c")
            && place("d") < place("e")
            && place("c") < place("e")
    );
    let e = catalogue.metric("e").unwrap();
    assert_eq!((e.unit_label.as_str(), e.level), ("faults/s", TreeLevel::Procedure));
    let sources: Vec<_> = catalogue.sources("e").iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(sources, ["running_seconds", "page_faults"]);
    // a = 12 / 4 = 3, b = 6, c = 12, d = 3, e = 3 − 12.
    let mut course =
        |metric: &CatalogueMetric| Ok::<_, ()>(vec![if metric.name == "page_faults" { 12.0 } else { 4.0 }]);
    assert_eq!(catalogue.evaluate("e", &window(1), &mut course).unwrap().unwrap().values, [-9.0]);
    assert_eq!(catalogue.evaluate("no", &window(1), &mut course), Ok(None));
    assert_eq!(catalogue.evaluate("e", &window(1), &mut |_| Err("gone")), Err("gone"));
}

#[test]
fn cycles_are_refused_and_shown_and_so_is_what_needs_them() {
    let (catalogue, notes) = made(
        "metric a { formula b + 1; }\nmetric b { formula 2 * c; }\nmetric c { formula a; }\n\
         metric d { formula c; }\nmetric e { formula e; }\nmetric fine { formula cpu_time; }",
        &[],
    );
    let told = |name: &str, line: usize, column: usize, why: &str| {
        format!("{name} is left out: f.metrics, line {line}, column {column}: {why}")
    };
    assert_eq!(
        notes,
        [
            told("c", 3, 20, "a metric cannot be computed of itself: c → a → b → c"),
            told("b", 2, 24, "a metric cannot be computed of itself: b → c → a → b"),
            told("a", 1, 20, "a metric cannot be computed of itself: a → b → c → a"),
            told("d", 4, 20, "the metric c was left out itself"),
            told("e", 5, 20, "a metric cannot be computed of itself: e → e"),
        ]
    );
    assert!(catalogue.metric("fine").is_some() && catalogue.metric("d").is_none());
}

#[test]
fn names_mean_one_thing_and_the_rest_is_said() {
    let text = "metric cpu_seconds { formula 1; }\nmetric cpu_time { class external; }\n\
                metric idle { formula 1; }\nmetric idle { formula 2; }\nmetric page_faults { }\n\
                metric page_faults { formula 1; }";
    let mut outside = outside();
    outside.push(series("spin_seconds", "s", SeriesKind::Counter, TreeLevel::Machine));
    outside.push(series("spin_seconds_external", "s", SeriesKind::Gauge, TreeLevel::Machine));
    let defines = ["resident = 1".to_owned(), "x = ".to_owned()];
    let (catalogue, notes) = Catalogue::new(&built_in(), &outside, vec![file(text)], &defines);
    let notes: Vec<_> = notes.iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "cpu_seconds is left out: f.metrics, line 1, column 8: a built-in metric has the name cpu_seconds already",
            "cpu_time is left out: f.metrics, line 2, column 8: a built-in metric, running_seconds, has the name cpu_time already",
            "idle is left out: f.metrics, line 4, column 8: a derived metric has the name idle already",
            "page_faults is left out: f.metrics, line 6, column 8: an external metric has the name page_faults already",
            "the series idle is shown as idle_external: a derived metric has its name",
            "the series spin_seconds is shown as spin_seconds_external_external: a built-in metric has its name",
            "resident is left out: --define, line 1, column 1: an external metric has the name resident already",
            "x is left out: --define, line 1, column 5: expected a number, a metric, a function or (, found the end",
        ]
    );
    let renamed = catalogue.metric("idle_external").unwrap();
    assert_eq!((renamed.series.as_deref(), renamed.unit_label.as_str()), (Some("idle"), "%"));
    assert_eq!(catalogue.metric("idle").unwrap().class, MetricClass::Derived);
    assert_eq!(catalogue.metric("spin_seconds_external").unwrap().samples, Some(SeriesKind::Gauge));
}

#[test]
fn definitions_at_any_time_say_what_is_wrong_and_where() {
    let (mut catalogue, _) = made("", &[]);
    let before = catalogue.metrics().len();
    let mut wrong = |text: &str| {
        let error = catalogue.define(text).unwrap_err();
        (error.column, error.message)
    };
    assert_eq!(
        wrong("x = page_falts * 2"),
        (5, "no metric is named page_falts; did you mean page_faults?".into())
    );
    assert_eq!(wrong("x = 1 + x"), (9, "a metric cannot be computed of itself: x → x".into()));
    assert_eq!(
        wrong("x = page_faults + resident"),
        (5, "+ needs one unit, but `page_faults` is in faults/s and `resident` is in B".into())
    );
    assert_eq!(wrong("idle = 1").0, 1);
    assert_eq!(wrong("x = (1").1, "expected an operator or ), found the end");
    assert_eq!(catalogue.metrics().len(), before);
    let metric = catalogue.define("busy = 1 - idle / 100%").unwrap();
    assert_eq!((metric.level, metric.unit_label.as_str()), (TreeLevel::Machine, ""));
    assert_eq!(catalogue.define("twice = busy * 2").unwrap().name, "twice");
    assert!(catalogue.define("busy = 2").is_err());
}

#[test]
fn stated_units_of_derived_metrics_are_checked() {
    let (catalogue, notes) = made(
        "metric a { formula page_faults; units bytes/s; }\nmetric b { formula page_faults; units faults/seconds; }\n\
         metric c { formula cpu_time; units %; }\nmetric d { formula 100% * cpu_time; units percent; }\n\
         metric e { formula cpu_time / spin_time; units turns; }\nmetric f { formula 3; units bytes; }",
        &[],
    );
    assert_eq!(
        notes,
        [
            "a is left out: f.metrics, line 1, column 39: the formula is in faults/s, and not in B/s",
            "c is left out: f.metrics, line 3, column 36: the formula is a plain number, and not in %; 100% * (…) makes per cent of it",
        ]
    );
    let label = |name| catalogue.metric(name).unwrap().unit_label.clone();
    assert_eq!(
        [label("b"), label("d"), label("e"), label("f")],
        ["faults/seconds", "percent", "turns", "bytes"]
    );
    assert!(catalogue.metric("e").unwrap().unit.as_ref().unwrap().is_none());
}

#[test]
fn series_that_disagree_are_said() {
    let outside = [
        series("m", "kB", SeriesKind::Gauge, TreeLevel::Machine),
        series("m", "bytes", SeriesKind::Counter, TreeLevel::Process),
        series("odd", "per cent of it", SeriesKind::Gauge, TreeLevel::Machine),
    ];
    let (catalogue, notes) = Catalogue::new(&[], &outside, vec![], &["twice = odd * 2".to_owned()]);
    let notes: Vec<_> = notes.iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "series of m have different units, \"kB\" and \"bytes\": taken as \"kB\", nothing is converted",
            "series of m are read in different ways, as gauge and as counter",
            "odd: its unit \"per cent of it\" is shown, but no formula can check it",
        ]
    );
    assert_eq!(catalogue.metric("m").unwrap().level, TreeLevel::Process);
    assert_eq!(catalogue.metric("odd").unwrap().unit_label, "per cent of it");
    assert_eq!(catalogue.metric("twice").unwrap().unit, None);
    // Without the built-in metrics there are no aliases for them either.
    assert!(catalogue.metric("cpu_time").is_none());
}

#[test]
fn a_long_chain_costs_no_depth() {
    let defines: Vec<_> = (0..5_000)
        .rev()
        .map(
            |link| {
                if link == 0 { "m0 = cpu_time".to_owned() } else { format!("m{link} = m{} + 1", link - 1) }
            },
        )
        .collect();
    let (catalogue, notes) = Catalogue::new(&built_in(), &[], vec![], &defines);
    assert_eq!(notes, []);
    let mut course = |_: &CatalogueMetric| Ok::<_, Infallible>(vec![1.0]);
    assert_eq!(catalogue.evaluate("m4999", &window(1), &mut course).unwrap().unwrap().values, [5_000.0]);
}

/// The code blocks of the users' page that are marked with this word.
fn documented(mark: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/metrics-files.md");
    let blocks: Vec<_> = page.split("```").skip(1).step_by(2).collect();
    let marked: Vec<_> =
        blocks.iter().filter_map(|block| block.strip_prefix(mark)?.strip_prefix('\n')).collect();
    assert!(!marked.is_empty(), "no example of {mark}");
    marked
}

#[test]
fn the_examples_of_the_documentation_load() {
    let (toml, _) = made(documented("toml")[0], &[]);
    let (ips2, notes) = made(documented("metrics")[0], &[]);
    assert_eq!(notes, [] as [&str; 0]);
    assert_eq!(toml.metrics(), ips2.metrics());
    assert_eq!(toml.metric("requests_per_thread").unwrap().unit_label, "requests");
    assert_eq!(toml.metric("queue_depth").unwrap().calculation, TableCalculation::Maximum);
}

#[test]
fn the_formulas_of_the_documentation_can_be_defined() {
    let mut built_in = built_in();
    built_in.push(BuiltIn { name: "wait_seconds".to_owned(), ..built_in[0].clone() });
    let mut outside = outside();
    outside.push(series("resident_memory", "B", SeriesKind::Gauge, TreeLevel::Process));
    outside.push(series("queue_fill", "%", SeriesKind::Gauge, TreeLevel::Process));
    let (mut catalogue, _) = Catalogue::new(&built_in, &outside, vec![], &[]);
    let units: Vec<_> = documented("formulas")[0]
        .lines()
        .map(|line| catalogue.define(line).unwrap_or_else(|error| panic!("{error}")).unit_label.clone())
        .collect();
    assert_eq!(units, ["", "faults/s", "", "", "faults/s", "", "B/s", "faults", "B"]);
}

#[test]
fn the_error_of_the_documentation_is_the_one_that_is_shown() {
    let error = Descriptions::parse(documented("wrong")[0], "share.metrics").unwrap_err().to_string();
    let page = include_str!("../../../../docs/metrics-files.md");
    let shown = format!("longpole: failed to {error}").replace('\n', "\n    ");
    assert!(page.contains(&format!("\n    {shown}\n")), "{shown}");
}

proptest! {
    /// Metrics that name each other at random: those are left out that reach a cycle, and no others.
    #[test]
    fn what_reaches_a_cycle_is_left_out(edges in proptest::collection::vec((0_usize..8, 0_usize..8), 0..14)) {
        let mut reaches = [[false; 8]; 8];
        for &(from, to) in &edges {
            reaches[from][to] = true;
        }
        let defines: Vec<_> = (0..8)
            .map(|from| {
                let operands = (0..8).filter(|&to| reaches[from][to]).map(|to| format!(" + m{to}"));
                format!("m{from} = 1{}", operands.collect::<String>())
            })
            .collect();
        for middle in 0..8 {
            for from in 0..8 {
                for to in 0..8 {
                    reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
                }
            }
        }
        let (catalogue, notes) = Catalogue::new(&[], &[], vec![], &defines);
        let mut left_out = 0;
        for from in 0..8 {
            let on_cycle = |one: usize| reaches[one][one];
            let wanted = !on_cycle(from) && !(0..8).any(|to| reaches[from][to] && on_cycle(to));
            prop_assert_eq!(catalogue.metric(&format!("m{from}")).is_some(), wanted);
            left_out += usize::from(!wanted);
        }
        prop_assert_eq!(notes.len(), left_out);
    }
}
