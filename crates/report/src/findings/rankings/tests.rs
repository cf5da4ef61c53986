//! Each rule of rankings, by a run that is drawn for it.

use super::{Guidance, RULES, Ranking, Verdict};
use crate::findings::Findings;
use crate::fixture::{BARRIER, CROWDED, DrawnRun, LOCK_HOG, SPINNER, WAITING};
use crate::input::ReportOptions;
use crate::view::View;

/// What is said of a drawn run, and what it is like.
struct Said {
    guidance: Guidance,
    facts: crate::findings::RunFacts,
}

fn of(scene: &DrawnRun) -> Said {
    scene.with_details(&View::Guidance.demand(&ReportOptions::default()), |input| {
        let findings = Findings::of(input);
        Said { guidance: findings.guidance(), facts: findings.facts().clone() }
    })
}

fn drawn(drawing: &str) -> Said {
    of(&DrawnRun::of(drawing))
}

/// Whether the rule with this condition leads.
fn is_lead(said: &Said, condition: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.condition.contains(condition)).expect(condition);
    said.guidance.lead == (rule.sentence)(&said.facts)
}

fn has_remark(said: &Said, condition: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.condition.contains(condition)).expect(condition);
    said.guidance.remarks.contains(&(rule.sentence)(&said.facts))
}

fn verdict(said: &Said, ranking: Ranking) -> Verdict {
    said.guidance.verdicts.iter().find(|(of, ..)| *of == ranking).expect("a verdict").1
}

#[test]
fn without_observations_only_threads_are_told() {
    let mut scene = DrawnRun::of("cpus 2\nmain AAAAAA");
    scene.looks = 1.0;
    let said = of(&scene);
    assert!(is_lead(&said, "fewer than 30"));
    assert_eq!(verdict(&said, Ranking::Threads), Verdict::Follow);
    assert_eq!(verdict(&said, Ranking::CriticalPath), Verdict::Silent);
}

#[test]
fn a_run_that_waits_is_ranked_by_elapsed_time() {
    let said = drawn("cpus 2\nC = compute\nmain CCCCCCzzzzzzzzzzzzzzzzzzzz");
    assert!(is_lead(&said, "waits that no thread ends lead"));
    assert_eq!(verdict(&said, Ranking::Elapsed), Verdict::Follow);
    assert_eq!(verdict(&said, Ranking::Profile), Verdict::Misleads);
    assert!(is_lead(&drawn(WAITING), "waits that no thread ends lead"));
}

#[test]
fn waits_for_devices_are_seen_by_the_elapsed_path() {
    let said = drawn("cpus 4\nmain AAAA::::::::::BBBB\nside CCCC");
    assert!(is_lead(&said, "waits for devices or pages lead"));
    assert_eq!(verdict(&said, Ranking::Elapsed), Verdict::Follow);
    assert_eq!(verdict(&said, Ranking::CriticalPath), Verdict::Misleads);
    // 2 of 20: a remark, no more.
    let said = drawn("cpus 4\nmain AAAAAAA::AAAAAAAAAAA\nside BBBBBBBBBBBBBBBBBBBB");
    assert!(!is_lead(&said, "waits for devices or pages lead"));
    assert!(has_remark(&said, "waits for devices and pages are at least 5 %"));
}

#[test]
fn where_processors_are_the_limit_cpu_time_counts() {
    let said = drawn(CROWDED);
    assert!(is_lead(&said, "useful work fills"));
    assert_eq!(verdict(&said, Ranking::Profile), Verdict::Follow);
    assert_eq!(verdict(&said, Ranking::CriticalPath), Verdict::Partly);
}

#[test]
fn in_a_serial_program_all_rankings_agree() {
    let said = drawn("cpus 4\nmain AAAAAAAAAABBBBBBBBBBCCCC");
    assert!(is_lead(&said, "one thread at a time does all the work"));
    assert!(said.guidance.verdicts.iter().all(|(_, verdict, _)| *verdict <= Verdict::Agrees));
}

/// As a shell does that starts programs for each line.
#[test]
fn many_threads_of_which_each_does_little_are_one_at_a_time_only_if_they_take_turns() {
    // 300 threads with a column each, so many of them at a time; each creates one that goes on.
    let turns = |at_a_time: usize| -> String {
        let row = |index: usize| format!("t{index} {}A\n", "_".repeat(index / at_a_time));
        let next =
            |index: usize| format!("t{index}@{} -> t{} create\n", index / at_a_time + 1, index + at_a_time);
        let created = (0..300 - at_a_time).map(next);
        "cpus 4\n".to_owned() + &(0..300).map(row).chain(created).collect::<String>()
    };
    let said = drawn(&turns(1));
    assert!(is_lead(&said, "one thread at a time does all the work"), "{}", said.guidance.lead.text());
    assert!(!is_lead(&drawn(&turns(2)), "one thread at a time does all the work"));
}

#[test]
fn where_threads_wait_for_each_other_the_critical_path_leads() {
    for drawing in [LOCK_HOG, BARRIER] {
        let said = drawn(drawing);
        // The hog computes on 1.75 of 4 processors, the barrier's threads on 2.
        let told = is_lead(&said, "wait for each other") || is_lead(&said, "useful work fills");
        assert!(told, "{}", said.guidance.lead.text());
    }
    let said = drawn(LOCK_HOG);
    assert!(is_lead(&said, "wait for each other"));
    assert_eq!(verdict(&said, Ranking::Npt), Verdict::Partly);
    assert!(said.guidance.lead.text().contains("waits a second"), "{}", said.guidance.lead.text());
}

#[test]
fn in_a_balanced_program_rankings_agree_and_slack_says_nothing() {
    let said = drawn("cpus 4\none AAAAAAAAAAAABBBBBBBB\ntwo AAAAAAAAAAAABBBBBBBB");
    assert!(is_lead(&said, "imbalance below 10 %"));
    assert!(said.guidance.lead.text().contains("not from slack"));
    // On as many processors as threads they are the limit; slack still says nothing.
    let said = drawn("cpus 2\none AAAAAAAAAAAABBBBBBBB\ntwo AAAAAAAAAAAABBBBBBBB");
    assert!(is_lead(&said, "useful work fills"));
    assert!(has_remark(&said, "balanced (imbalance below 10 %)"));
}

#[test]
fn uneven_work_without_waits_is_for_the_critical_path_and_slack() {
    let said = drawn("cpus 4\none AAAAAAAAAAAAAAAAAAAA\ntwo BBBBBBBBBB");
    assert!(is_lead(&said, "otherwise"));
    assert_eq!(verdict(&said, Ranking::Profile), Verdict::Misleads);
}

#[test]
fn spinning_makes_gprof_mislead() {
    let said = drawn(SPINNER);
    assert!(has_remark(&said, "at least 5 % of the CPU time spins"));
    assert_eq!(verdict(&said, Ranking::Profile), Verdict::Misleads);
    assert!(!has_remark(&drawn(LOCK_HOG), "at least 5 % of the CPU time spins"));
}

#[test]
fn waits_for_processors_part_the_two_critical_paths() {
    // Two of the threads lack a processor for a while, on a machine that was not full.
    let said = drawn(&format!(
        "cpus 4\none {}----{}\ntwo {}----{}",
        "A".repeat(10),
        "A".repeat(46),
        "B".repeat(6),
        "B".repeat(50)
    ));
    assert!(has_remark(&said, "threads wait for a processor"));
    assert!(!has_remark(&drawn(CROWDED), "threads wait for a processor"), "there they are the limit");
}

#[test]
fn kernel_time_is_told() {
    let mut scene = DrawnRun::of("cpus 4\none AAAAAAAAAAAAKKKKKKKK\ntwo AAAAAAAAAAAAKKKKKKKK");
    assert!(!has_remark(&of(&scene), "in the kernel"));
    scene.move_to_module("K", "[kernel]");
    assert!(has_remark(&of(&scene), "in the kernel"));
}

#[test]
fn ties_are_told() {
    let even = "cpus 4\none AAAAAAAAAABBBBBBBBBB\ntwo AAAAAAAAAABBBBBBBBBB";
    assert!(has_remark(&drawn(even), "tied"));
    // 19 and 1 of 20, of 400 observations.
    let clear = "cpus 4\none AAAAAAAAAAAAAAAAAAAB\ntwo AAAAAAAAAAAAAAAAAAAB";
    assert!(!has_remark(&drawn(clear), "tied"));
}

#[test]
fn losses_and_overhead_are_told() {
    let mut scene = DrawnRun::of(LOCK_HOG);
    assert!(!has_remark(&of(&scene), "were lost") && !has_remark(&of(&scene), "collecting cost"));
    scene.evidence.lost_events = 500;
    scene.evidence.kernel_seconds = Some(0.2);
    let said = of(&scene);
    assert!(has_remark(&said, "were lost") && has_remark(&said, "collecting cost"));
    assert_eq!(verdict(&said, Ranking::CriticalPath), Verdict::Partly);
}

#[test]
fn where_nobody_knows_who_ends_the_waits_the_path_is_not_followed() {
    let mut scene = DrawnRun::of(LOCK_HOG);
    (scene.evidence.unmatched_wakes, scene.evidence.wakes) = (scene.evidence.wakes, 0);
    let said = of(&scene);
    assert!(is_lead(&said, "who ended the wait is unknown"));
    assert_eq!(verdict(&said, Ranking::Npt), Verdict::Follow);
    assert_eq!(verdict(&said, Ranking::CriticalPath), Verdict::Partly);
    assert_eq!(verdict(&said, Ranking::Waits), Verdict::Silent);
}
