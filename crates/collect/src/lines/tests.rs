use proptest::prelude::*;

use super::*;

const NOW: u64 = 5_000_000_000_000;
const MOMENT: ReadTime =
    ReadTime { now: Time::from_nanoseconds(NOW), unix_nanoseconds: 1_790_000_000_500_000_000 };

fn later(seconds: u64) -> ReadTime {
    let later = seconds * 1_000_000_000;
    ReadTime { now: Time::from_nanoseconds(NOW + later), unix_nanoseconds: MOMENT.unix_nanoseconds + later }
}

/// What was found, a line each: `metric unit samples node label value time-now`, or `! trouble`.
fn told(taken: ParsedItem<'_>) -> String {
    match taken {
        ParsedItem::Trouble(what) => format!("! {what}"),
        ParsedItem::Value { key, time, value } => {
            let SeriesKey { metric, unit, samples, node, label } = key;
            let since = time.nanoseconds() as i64 - NOW as i64;
            format!("{metric} {unit} {} {node:?} {label} {value} {since}", samples.name())
        }
    }
}

fn read_pieces(pieces: &[&[u8]]) -> Vec<String> {
    let mut lines = LineReader::new(MOMENT.now);
    let mut found = Vec::new();
    let mut take = |taken: ParsedItem<'_>| found.push(told(taken));
    pieces.iter().for_each(|piece| lines.take(piece, MOMENT, &mut take));
    lines.end(MOMENT, &mut take);
    found
}

fn read(text: &str) -> Vec<String> {
    read_pieces(&[text.as_bytes()])
}

#[test]
fn a_line_is_a_value_at_a_node_and_a_time() {
    let text = "\
commits program 12
depth machine/queue0 -3.5 4999.5
faults process:17 1e3 1790000000.25
faults thread:18/major 2 5000.5
";
    let expected = [
        "commits  gauge Program  12 0",
        "depth  gauge Machine queue0 -3.5 -500000000",
        "faults  gauge Process { pid: 17 }  1000 -250000000",
        "faults  gauge Thread { tid: 18 } major 2 500000000",
    ];
    assert_eq!(read(text), expected);
}

#[test]
fn a_description_says_how_the_numbers_of_a_metric_are_read() {
    let text = "\
# commits samples=counter: a comment
#! commits unit=transactions samples=counter
commits program 12
#! aborts samples=amount
aborts program 1
";
    let expected = ["commits transactions counter Program  12 0", "aborts  amount Program  1 0"];
    assert_eq!(read(text), expected);
}

#[test]
fn a_description_after_the_first_value_is_refused_unless_it_says_the_same() {
    let text = "#! a samples=counter\na program 1\n#! a samples=counter\n#! a samples=gauge\na program 2\n";
    let expected = [
        "a  counter Program  1 0",
        "! a description that came after the metric's first value, first `#! a samples=gauge`",
        "a  counter Program  2 0",
    ];
    assert_eq!(read(text), expected);
}

#[test]
fn what_is_no_value_is_refused_by_kind() {
    let refused = |line: &str, words: &str| {
        let found = read(line);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("! ") && found[0].contains(words), "{line}: {found:?}");
        assert!(found[0].contains("first `"), "{found:?}");
    };
    refused("hello", "metric node value [time]");
    refused("a program", "metric node value [time]");
    refused("a program 1 2 3", "metric node value [time]");
    refused("1a program 1", "name");
    refused("a.b program 1", "name");
    refused("a job:3 1", "unknown node");
    refused("a process:0 1", "unknown node");
    refused("a process: 1", "unknown node");
    refused("a thread:99999999999 1", "unknown node");
    refused("a program one", "no number");
    refused("a program NaN", "no number");
    refused("a program inf", "no number");
    refused("a program 1 soon", "no number of seconds");
    refused("a program 1 -1", "no number of seconds");
    refused("a program 1 1e300", "no number of seconds");
    refused("a program 1 5002", "still to come");
    refused("a program 1 1790000100", "still to come");
    refused("a program 1 0.5", "before the recording");
    refused("a program 1 1000000000", "before the recording");
    refused("#!/bin/sh", "description");
    refused("#! a unit", "description");
    refused("#! a samples=ratio", "description");
}

#[test]
fn faults_of_a_kind_have_the_words_of_the_first() {
    let found = read("a x 1\na y 2\n");
    assert_eq!(found[0], found[1]);
    assert!(found[0].contains("`a x 1`"), "{found:?}");
}

#[test]
fn a_line_that_is_too_long_costs_only_itself() {
    let mut text = vec![b'x'; 100_000];
    text.extend_from_slice(b" y z\na program 1\n");
    let expected = "a  gauge Program  1 0";
    for piece in [100, 4095, 4096, 4097, 10_000, 200_000] {
        let pieces: Vec<&[u8]> = text.chunks(piece).collect();
        let found = read_pieces(&pieces);
        assert_eq!(found.len(), 2, "{piece}: {found:?}");
        assert!(found[0].contains("4 KiB"), "{found:?}");
        assert_eq!(found[1], expected);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_and_the_next_line_is_read() {
    let found = read_pieces(&[b"\x00\xff\x7fELF\x01\x02\na program 1\n"]);
    assert!(found[0].contains("no text"), "{found:?}");
    assert_eq!(found[1], "a  gauge Program  1 0");
}

#[test]
fn a_flood_is_kept_up_to_a_rate_and_the_rest_is_counted() {
    let mut lines = LineReader::new(MOMENT.now);
    let flood = "a program 1\n".repeat(25_000);
    let mut count = |moment: ReadTime| {
        let (mut kept, mut refused) = (0, 0);
        lines.take(flood.as_bytes(), moment, &mut |taken| match taken {
            ParsedItem::Value { .. } => kept += 1,
            ParsedItem::Trouble(what) => {
                assert!(what.contains("10,000 a second"), "{what}");
                refused += 1;
            }
        });
        (kept, refused)
    };
    assert_eq!(count(MOMENT), (10_000, 15_000));
    assert_eq!(count(MOMENT), (0, 25_000));
    assert_eq!(count(later(1)), (10_000, 15_000));
    assert_eq!(count(later(9)), (10_000, 15_000));
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..8)) {
        let mut lines = LineReader::new(MOMENT.now);
        for piece in &pieces {
            lines.take(piece, MOMENT, &mut |_| ());
        }
        lines.end(MOMENT, &mut |_| ());
    }

    #[test]
    fn lines_of_words_mean_the_same_in_any_pieces(
        text in "(([a#! ]{0,3}[a-z]{1,5} (program|machine/x|process:[0-9]{0,3}|[a-z]{3}) [-0-9.e]{1,4}( [0-9.]{1,6})?)?\n){0,20}",
        cut in 1_usize..50,
    ) {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(cut).collect();
        prop_assert_eq!(read(&text), read_pieces(&pieces));
    }

    #[test]
    fn a_printed_value_is_read_back(value in any::<f64>().prop_filter("finite", |value| value.is_finite()), pid in 1_u32.., seconds in 4_945.0..5_001.0) {
        let found = read(&format!("a process:{pid}/x {value} {seconds}"));
        let since = (seconds * 1e9) as i64 - NOW as i64;
        prop_assert_eq!(found, vec![format!("a  gauge Process {{ pid: {pid} }} x {value} {since}")]);
    }
}
