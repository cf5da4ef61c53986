use super::*;
use crate::timeline::TokenId;

const MUTEX: u32 = 0;

/// Steps as text, `thread:step`: `l7` acquires the mutex at site 7, `u` releases it, `w1` waited for condition 1, `t1` in vain,
/// `s1` signals it, `b1` to all; `g` the mutex's sections are told no longer.
fn steps(text: &str) -> Vec<(ThreadId, MonitorStep)> {
    let step = |word: &str| {
        let (thread, step) = word.split_once(':').expect("thread:step");
        let number = step[1..].parse().unwrap_or(0);
        let step = match &step[..1] {
            "l" => MonitorStep::Lock { mutex: MUTEX, site: number },
            "g" => MonitorStep::Unfollowed { mutex: MUTEX },
            "u" => MonitorStep::Unlock { mutex: MUTEX },
            "w" => MonitorStep::Waited { condition: number, mutex: MUTEX, granted: true },
            "t" => MonitorStep::Waited { condition: number, mutex: MUTEX, granted: false },
            "s" => MonitorStep::Signal { condition: number, broadcast: false },
            "b" => MonitorStep::Signal { condition: number, broadcast: true },
            other => panic!("no step begins with {other}"),
        };
        (ThreadId(thread.parse().expect("a number")), step)
    };
    text.split_whitespace().map(step).collect()
}

fn rules(text: &str) -> ConditionRules {
    let mut sites = ConditionSites::default();
    steps(text).into_iter().for_each(|(thread, step)| sites.take(thread, step));
    let mut counter = sites.into_counter();
    steps(text).into_iter().for_each(|(thread, step)| counter.take(thread, step));
    counter.into_rules()
}

/// What threads do with tokens, by the position of the step.
fn tokens(text: &str) -> Vec<String> {
    let rules = rules(text);
    let mut monitors = Monitors::new(&rules);
    let (mut next, mut lines) = (0, Vec::new());
    for (index, (thread, step)) in steps(text).into_iter().enumerate() {
        let mut out = Vec::new();
        let mut make = || {
            next += 1;
            TokenId(next)
        };
        monitors.take(thread, step, &mut make, &mut out);
        lines.extend(out.into_iter().map(|token| match token {
            MonitorToken::Release(TokenId(token)) => format!("{index}: {} releases {token}", thread.0),
            MonitorToken::Acquire(TokenId(token), _) => format!("{index}: {} acquires {token}", thread.0),
            MonitorToken::Item(TokenId(token), queue) => {
                format!("{index}: {} takes {token} of {queue}", thread.0)
            }
        }));
    }
    lines
}

fn rule(text: &str) -> ConditionRule {
    rules(text).passages[0].rule.clone()
}

#[test]
fn items_of_a_queue_are_taken_in_the_order_in_which_they_were_put() {
    // Thread 1 waits for the first item only; the second and the third are there.
    let text = "1:l7 2:l8 2:s1 2:u 1:w1 1:u 2:l8 2:s1 2:u 2:l8 2:s1 2:u 1:l7 1:u 1:l7 1:u";
    assert_eq!(rule(text), ConditionRule::Tokens { ahead: 0, has_items: false });
    let expected = [
        "3: 2 releases 1",
        "4: 1 acquires 1",
        "8: 2 releases 2",
        "11: 2 releases 3",
        "12: 1 acquires 2",
        "14: 1 acquires 3",
    ];
    assert_eq!(tokens(text), expected);
}

#[test]
fn workers_take_whatever_item_is_there_until_the_queue_is_closed() {
    // Threads 1 and 2 wait; thread 3 puts five items, the first three at once, and closes the queue.
    let (put, close) = ("3:l8 3:s1 3:u ", "3:l9 3:b1 3:u ");
    let text = format!(
        "1:l7 2:l7 {put}{put}{put}1:w1 1:u 2:w1 2:u 1:l7 1:u 1:l7 {put}1:w1 1:u 1:l7 {put}1:w1 1:u \
         1:l7 2:l7 {close}1:w1 1:u 2:w1 2:u"
    );
    assert_eq!(rule(&text), ConditionRule::Tokens { ahead: 0, has_items: true });
    let lines = tokens(&text);
    let takes: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|line| line.1)
        .filter(|line| line.contains("takes"))
        .collect();
    // The last token is of the thread that finds the queue closed after the other one, which has the close itself.
    let expected =
        ["1 takes 1", "2 takes 2", "1 takes 3", "1 takes 4", "1 takes 5", "1 takes 6", "2 takes 7"];
    assert_eq!(takes, expected.map(|take| format!("{take} of 0")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("releases 7")), "{lines:?}");
}

#[test]
fn a_queue_can_be_closed_before_anybody_takes_of_it() {
    let put = "3:l8 3:s1 3:u ".repeat(4);
    let text =
        format!("1:l7 2:l7 {put}3:l9 3:b1 3:u 1:w1 1:u 2:w1 2:u {}", "1:l7 1:u ".repeat(3) + "2:l7 2:u");
    assert_eq!(rule(&text), ConditionRule::Tokens { ahead: 0, has_items: true });
}

#[test]
fn threads_that_wait_for_their_turn_take_no_items() {
    // Two threads by turns, who share the procedure that waits: a thread that comes too early waits though the other's turn is there.
    let turn =
        "1:l7 1:u 1:l8 1:b1 1:u 1:l7 2:l7 2:u 2:l8 2:b1 2:u 1:w1 1:u 1:l8 1:b1 1:u 2:l7 2:u 2:l8 2:b1 2:u ";
    assert!(!matches!(rule(&turn.repeat(4)), ConditionRule::Tokens { has_items: true, .. }));
}

#[test]
fn sections_that_are_told_in_part_are_not_counted() {
    let text = "1:l7 2:l8 2:s1 2:u 1:w1 1:u 2:l8 2:s1 2:u 1:l7 1:u 2:g 1:w1";
    assert!(tokens(text).is_empty());
    assert_eq!(rules(text).signals(1), Signals::default());
}

#[test]
fn signals_count_where_no_thread_was_told() {
    // "Signal only if somebody waits": the second put tells nobody.
    let text = "1:l7 2:l8 2:s1 2:u 1:w1 1:u 2:l8 2:u 1:l7 1:u";
    assert_eq!(tokens(text), ["3: 2 releases 1", "4: 1 acquires 1", "7: 2 releases 2", "8: 1 acquires 2"]);
}

#[test]
fn a_signal_after_the_section_belongs_to_it() {
    let text = "1:l7 2:l8 2:u 2:s1 1:w1 1:u 2:l8 2:u 2:s1 1:l7 1:u";
    assert_eq!(tokens(text), ["2: 2 releases 1", "4: 1 acquires 1", "7: 2 releases 2", "9: 1 acquires 2"]);
}

#[test]
fn the_free_places_of_a_bounded_buffer_need_no_signal() {
    // Two places: condition 1 is "not empty", 2 is "not full". The third put waits for the first get.
    let text = "1:l7 1:s1 1:u 1:l7 1:s1 1:u 1:l7 2:l8 2:s2 2:u 1:w2 1:s1 1:u \
                2:l8 2:s2 2:u 2:l8 2:s2 2:u 2:l8 1:l7 1:s1 1:u 2:w1 2:s2 2:u";
    let found = rules(text);
    let rule_of = |condition| {
        found
            .passages
            .iter()
            .find(|known| known.passage.condition == condition)
            .map(|known| known.rule.clone())
    };
    assert_eq!(rule_of(2), Some(ConditionRule::Tokens { ahead: 2, has_items: false }), "two were free");
    assert_eq!(rule_of(1), Some(ConditionRule::Tokens { ahead: 0, has_items: false }));
    assert!([1, 2].iter().all(|&of| found.signals(of) == Signals::Numbered));
}

#[test]
fn a_barrier_made_by_hand_lets_all_go_by_all() {
    // Three threads, two rounds; the last one tells the others. Each is a pass and a signal at one site.
    let round = "1:l7 2:l7 3:l7 3:b1 3:u 1:w1 1:u 2:w1 2:u ";
    let text = round.repeat(4);
    assert_eq!(rule(&text), ConditionRule::Latest { is_regular: true });
    let lines = tokens(&text);
    let acquired_by = |thread: u32| {
        let of = format!(" {thread} acquires ");
        lines.iter().filter(|line| line.contains(&of) && line.starts_with(['5', '7'])).count()
    };
    assert_eq!((acquired_by(1), acquired_by(2)), (3, 3), "{lines:?}");
}

#[test]
fn a_latch_depends_on_all_that_count_down() {
    // The third one tells thread 9, which waited; thread 8 comes later.
    let text = "9:l5 1:l7 1:u 2:l7 2:u 3:l7 3:b1 3:u 9:w1 9:u 8:l5 8:u";
    let lines = tokens(text);
    let acquired = |at: &str| lines.iter().filter(|line| line.starts_with(at)).count();
    assert_eq!((acquired("8: 9 acquires"), acquired("10: 8 acquires")), (3, 3), "{lines:?}");
}

#[test]
fn a_latch_of_two_is_no_queue() {
    // Threads 8 and 9 wait for both; by numbers alone they could be consumers of two items.
    let text = "9:l5 8:l5 1:l7 1:u 2:l7 2:b1 2:u 9:w1 9:u 8:w1 8:u";
    assert_eq!(rule(text), ConditionRule::Latest { is_regular: true });
}

#[test]
fn a_latch_that_a_thread_comes_to_between_two_steps_is_no_queue() {
    // By numbers, thread 9 could take the first item and 8 the second; but 9 would not wait for an item that is there.
    let text = "1:l7 1:u 9:l5 2:l7 2:b1 2:u 9:w1 9:u 8:l5 8:u";
    assert_eq!(rule(text), ConditionRule::Latest { is_regular: true });
}

#[test]
fn a_broadcast_is_known_by_what_was_not_there_when_its_reader_came() {
    // Thread 1 waits for the third one, and gets its processor only after the fourth.
    let news = "3:l8 3:b1 3:u ";
    let text = format!("1:l7 2:l7 {news}1:w1 1:u 2:w1 2:u {news}1:l7 1:u 1:l7 {news}{news}1:w1 1:u 2:l7 2:u");
    assert!(matches!(rule(&text), ConditionRule::Broadcasts(_)), "{:?}", rule(&text));
}

#[test]
fn broadcasts_are_numbered_by_thread() {
    // Thread 3 publishes; 1 waits for each, 2 comes later.
    let round = "1:l7 3:l8 3:b1 3:u 1:w1 1:u 2:l7 2:u ";
    let text = format!("2:l7 3:l8 3:b1 3:u 2:w1 2:u 1:l7 1:u {}", round.repeat(5));
    assert!(matches!(rule(&text), ConditionRule::Broadcasts(_)), "{:?}", rule(&text));
}

#[test]
fn batches_are_named() {
    // One get takes whatever is there: one, three, two, five items.
    let put = "2:l8 2:s1 2:u ";
    let get = |items: usize| format!("1:l7 {}1:w1 1:u ", put.repeat(items));
    let text: String = [1, 3, 2, 5, 4, 1, 7].iter().map(|&items| get(items)).collect();
    let found = rules(&text);
    assert_eq!(found.signals(1), Signals::Irregular);
}

#[test]
fn a_wait_from_before_the_recording_makes_no_tokens() {
    let text = "2:l8 2:s1 2:u 1:w1 1:u 2:l8 2:s1 2:u 2:l8 2:s1 2:u";
    assert_eq!(rules(text).signals(1), Signals::Ending);
    assert_eq!(tokens(text), Vec::<String>::new());
}

#[test]
fn a_wait_whose_time_is_over_is_no_pass() {
    let text = "1:l7 1:t1 1:u 1:l7 2:l8 2:s1 2:u 1:w1 1:u";
    assert_eq!(rule(text), ConditionRule::Tokens { ahead: 0, has_items: false });
    assert_eq!(tokens(text), ["6: 2 releases 1", "7: 1 acquires 1"]);
}

#[test]
fn who_is_woken_by_a_broadcast_for_another_takes_its_own() {
    // Columns go round three threads; each broadcast wakes the wrong thread first, which waits again.
    let begin = "1:l7 1:u 3:l7 2:l7 1:l8 1:b1 1:u 3:w1 2:w1 2:u";
    let round =
        " 1:l7 2:l8 2:b1 2:u 1:w1 3:w1 3:u 2:l7 3:l8 3:b1 3:u 2:w1 1:w1 1:u 3:l7 1:l8 1:b1 1:u 3:w1 2:w1 2:u";
    let text = begin.to_owned() + &round.repeat(2);
    assert_eq!(rule(&text), ConditionRule::Tokens { ahead: 1, has_items: false });
    let taken: Vec<String> = tokens(&text).into_iter().filter(|line| line.contains("acquires")).collect();
    let expected = ["8: 2 acquires 1", "15: 3 acquires 2", "22: 1 acquires 3", "29: 2 acquires 4"];
    assert_eq!(taken[..4], expected);
    assert_eq!(taken.len(), 7);
}
