use proptest::prelude::*;

use super::*;

const MOMENT: ReadTime =
    ReadTime { now: Time::from_nanoseconds(5_000_000_000_000), unix_nanoseconds: 1_790_000_000_500_000_000 };

/// What was found, a line each: `metric [unit] samples {label} value time-now`, or `! trouble`.
fn read_as(is_openmetrics: bool, page: &[u8]) -> Vec<String> {
    let mut faults = Faults::default();
    let mut exposition = Exposition::new(is_openmetrics, &mut faults);
    let mut found = Vec::new();
    let mut take = |taken: ParsedItem<'_>| {
        found.push(match taken {
            ParsedItem::Trouble(what) => format!("! {what}"),
            ParsedItem::Value { key, time, value } => {
                assert_eq!(key.node, SeriesNode::Machine);
                let since = time.nanoseconds() as i64 - MOMENT.now.nanoseconds() as i64;
                format!(
                    "{} [{}] {} {{{}}} {value} {since}",
                    key.metric,
                    key.unit,
                    key.samples.name(),
                    key.label
                )
            }
        });
    };
    for piece in page.chunks(7) {
        if !exposition.take(piece, MOMENT, &mut take) {
            break;
        }
    }
    exposition.end(MOMENT, &mut take);
    found
}

fn read(page: &str) -> Vec<String> {
    read_as(false, page.as_bytes())
}

#[test]
fn a_page_is_read_by_its_types() {
    let page = r#"
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1.5e+06
node_cpu_seconds_total{ cpu = "1" , mode="user", } 7
# TYPE node_load1 gauge
node_load1 0.25
untold 3 1790000000250
# TYPE latency_seconds histogram
latency_seconds_bucket{le="0.1"} 4
latency_seconds_bucket{le="+Inf"} 5
latency_seconds_sum 0.5
latency_seconds_count 5
# TYPE gc_seconds summary
gc_seconds{quantile="0.5"} 0.01
gc_seconds_sum 3
# TYPE memory_bytes gauge
memory_bytes 1024
# TYPE fetched_bytes_total counter
fetched_bytes_total 2048
"#;
    let expected = [
        r#"node_cpu_seconds_total [s] counter {cpu="0",mode="idle"} 1500000 0"#,
        r#"node_cpu_seconds_total [s] counter {cpu="1",mode="user"} 7 0"#,
        "node_load1 [] gauge {} 0.25 0",
        "untold [] gauge {} 3 -250000000",
        r#"latency_seconds_bucket [] counter {le="0.1"} 4 0"#,
        r#"latency_seconds_bucket [] counter {le="+Inf"} 5 0"#,
        "latency_seconds_sum [s] counter {} 0.5 0",
        "latency_seconds_count [] counter {} 5 0",
        r#"gc_seconds [s] gauge {quantile="0.5"} 0.01 0"#,
        "gc_seconds_sum [s] counter {} 3 0",
        "memory_bytes [B] gauge {} 1024 0",
        "fetched_bytes_total [B] counter {} 2048 0",
    ];
    assert_eq!(read(page), expected);
}

#[test]
fn openmetrics_names_families_without_the_end_and_counts_time_in_seconds() {
    let page = r#"# TYPE jobs counter
# UNIT jobs_time seconds
# TYPE jobs_time counter
jobs_total{a="}"} 3 1790000000.25 # {trace="x y"} 0.5 1790000000
jobs_created 1790000000
jobs_time_total 2
# EOF
after 1
"#;
    let expected = [
        r#"jobs_total [] counter {a="}"} 3 -250000000"#,
        "jobs_created [] gauge {} 1790000000 0",
        "jobs_time_total [s] counter {} 2 0",
    ];
    assert_eq!(read_as(true, page.as_bytes()), expected);
}

#[test]
fn escapes_in_labels_stay_as_they_are_written() {
    let page = r#"a{x="\"}\\",y="ü,{ \n"} 1"#;
    assert_eq!(read(page), [r#"a [] gauge {x="\"}\\",y="ü,{ \n"} 1 0"#]);
}

#[test]
fn long_labels_are_cut_and_still_told_apart() {
    let long = "x".repeat(300);
    let mut faults = Faults::default();
    let mut labels = Vec::new();
    let page = format!("a{{x=\"{long}1\"}} 1\na{{x=\"{long}2\"}} 1\n");
    let mut exposition = Exposition::new(false, &mut faults);
    let went_on = exposition.take(page.as_bytes(), MOMENT, &mut |taken| {
        let ParsedItem::Value { key, .. } = taken else { panic!("{taken:?}") };
        labels.push(key.label.to_owned());
    });
    assert!(went_on && labels[0] != labels[1], "{labels:?}");
    assert!(labels.iter().all(|label| label.len() <= 200), "{labels:?}");
}

#[test]
fn what_is_no_sample_is_refused_by_kind() {
    let refused = |line: &str, words: &str| {
        let found = read(line);
        assert!(found.len() == 1 && found[0].contains(words), "{line}: {found:?}");
    };
    refused("<html>", "name{labels} value");
    refused("a", "name{labels} value");
    refused("a 1 2 3", "name{labels} value");
    refused("a{b=\"c\"}", "name{labels} value");
    refused("a:b 1", "letters, digits");
    refused("a{b=\"c} 1", "labels");
    refused("a{b=c} 1", "labels");
    refused("a{b=\"c\" d=\"e\"} 1", "labels");
    refused("a{\"b\"} 1", "labels");
    refused("a one", "no number");
    refused("a NaN", "NaN, Inf");
    refused("a +Inf", "NaN, Inf");
    refused("a 1 now", "a time that is none");
    refused("a 1 1790000100000", "still to come");
    refused("a 1 1780000000000", "an hour ago");
}

#[test]
fn a_page_that_is_none_is_left_soon() {
    let found = read_as(false, "<p>not a page of numbers\n".repeat(100_000).as_bytes());
    assert_eq!(found.len(), MOST_FAULTS + 1);
    assert!(found[MOST_FAULTS].contains("the rest was left out"));
}

#[test]
fn a_page_of_a_million_values_is_kept_up_to_a_bound() {
    let mut faults = Faults::default();
    let mut exposition = Exposition::new(false, &mut faults);
    let (mut values, mut troubles) = (0, Vec::new());
    for index in 0..1_000_000 {
        let line = format!("a{{i=\"{index}\"}} 1\n");
        let goes_on = exposition.take(line.as_bytes(), MOMENT, &mut |taken| match taken {
            ParsedItem::Value { .. } => values += 1,
            ParsedItem::Trouble(what) => troubles.push(what.to_owned()),
        });
        if !goes_on {
            break;
        }
    }
    assert_eq!(values, MOST_VALUES);
    assert_eq!(troubles, ["a page of more than 20,000 values: the rest was left out"]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read(page in prop::collection::vec(any::<u8>(), 0..3000), openmetrics: bool) {
        read_as(openmetrics, &page);
    }

    #[test]
    fn lines_of_the_formats_own_signs_are_read(page in "([a-z{}\"=,\\\\# 0-9.]{0,20}(TYPE|UNIT|EOF|_total)?\n?){0,30}", openmetrics: bool) {
        read_as(openmetrics, page.as_bytes());
    }

    #[test]
    fn a_written_sample_is_read_back(
        name in "[a-zA-Z_][a-zA-Z0-9_]{0,20}",
        labels in prop::collection::vec(("[a-z_]{1,8}", "[ -!#-\\[\\]-~äß]{0,8}"), 0..4),
        value in any::<f64>().prop_filter("finite", |value| value.is_finite()),
    ) {
        let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let label = labels.join(",");
        let found = read(&format!("{name}{{{label}}} {value}"));
        prop_assert_eq!(found.len(), 1);
        prop_assert!(found[0].ends_with(&format!(" gauge {{{label}}} {value} 0")), "{:?}", found);
    }
}
