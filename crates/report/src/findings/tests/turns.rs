//! Threads that wait for each other's turn.

use crate::findings::Findings;
use crate::findings::finding::Advice;
use crate::fixture::DrawnRun;
use crate::input::ReportOptions;
use crate::view::View;

/// A reader and a writer with one buffer: in three rounds each works while the other one waits.
const ONE_BUFFER: &str = "\
cpus 2
1 = condition filled
2 = condition emptied
R = main:3 > read_block:9
P = writer:5 > pack_block:12
reader RRRRRRRR2222222RRRRRRRR2222222RRRRRRRR2222222
writer 11111111PPPPPPP11111111PPPPPPP11111111PPPPPPP
reader@8 -> writer signal
writer@15 -> reader signal
reader@23 -> writer signal
writer@30 -> reader signal
reader@38 -> writer signal
writer@45 -> reader signal";

/// Of each change to work ahead: what it is about, the gain in milliseconds, and the evidence.
fn work_ahead(drawing: &str) -> Vec<(String, [f64; 2], Vec<String>)> {
    let demand = View::Summary.demand(&ReportOptions::default());
    DrawnRun::of(drawing).with_details(&demand, |input| {
        let findings = Findings::of(input);
        let ahead = findings.changes().into_iter().filter_map(|finding| match finding.change {
            Some((Advice::WorkAhead, gain)) => {
                let evidence = finding.evidence.iter().map(|line| line.text()).collect();
                Some((finding.subject.text(input).text(), [gain.low / 1e6, gain.high / 1e6], evidence))
            }
            _ => None,
        });
        ahead.collect()
    })
}

#[test]
fn threads_with_one_buffer_have_one_entry_for_both_waits() {
    let found = work_ahead(ONE_BUFFER);
    let [(what, [low, high], evidence)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(what, "condition `filled`");
    // 450 ms; with room for all the reader needs 240, and the writer packs the last block after that: 140 less. Without the other waits
    // it is 450 / 2: which of both are those for room is not known.
    assert!(*low == 0.0 && (140.0..=230.0).contains(high), "{low} {high}");
    assert!(evidence[1].contains("and, for `emptied`,"), "{evidence:?}");
}

/// The reader never waits: it works, and the writer waits for it. Nothing could be ahead.
#[test]
fn who_waits_for_what_takes_longer_is_not_to_work_ahead() {
    let told = "\
cpus 2
1 = condition filled
R = main:3 > read_block:9
P = writer:5 > pack_block:12
reader RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR
writer 11111111PPPPPPP11111111PPPPPPP11111111PPPPPPP
reader@8 -> writer signal
reader@23 -> writer signal
reader@38 -> writer signal";
    assert_eq!(work_ahead(told), []);
}

/// Three items each; who is early waits until the results before its own are written.
#[test]
fn results_in_order_gain_what_even_shares_of_the_waits_do() {
    let in_order = "\
cpus 2
1 = condition turn
L = worker:3 > compute:9
one LLLLLLLLLLLLLLLL1111LLLLLLLLLLLLLLLL1111
two LLLL111111111111LLLLLLLL111111111111LLLL
one@16 -> two signal
two@20 -> one signal
one@36 -> two signal
two@40 -> one signal";
    // The same where the longest items all come to one thread, so that only the other one waits.
    let by_one = "\
cpus 2
1 = condition turn
L = worker:3 > compute:9
one LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL
two LLLL1111111111111111LLLL1111111111111111
one@20 -> two signal
one@40 -> two signal";
    assert_eq!(work_ahead(by_one).len(), 1);
    let found = work_ahead(in_order);
    let [(what, [low, high], _)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(what, "condition `turn`");
    // The threads waited 320 ms in all of 2 · 400: with even shares 160 less.
    assert!(*low == 0.0 && (150.0..=180.0).contains(high), "{low} {high}");
}
