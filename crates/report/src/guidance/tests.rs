//! Each rule, by a run that is drawn for it.

use super::rules::RULES;
use super::{Guidance, Ranking, Verdict, guidance};
use crate::fixture::{BARRIER, CROWDED, LOCK_HOG, SPINNER, Scene, WAITING};

const DEFINITIONS: &str = include_str!("../definitions.md");

fn of(scene: &Scene) -> Guidance {
    scene.with_source(guidance)
}

fn drawn(drawing: &str) -> Guidance {
    of(&Scene::of(drawing))
}

/// Whether the rule with this condition leads.
fn is_lead(guidance: &Guidance, condition: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.condition.contains(condition)).expect(condition);
    guidance.lead == (rule.sentence)(&guidance.character)
}

fn has_remark(guidance: &Guidance, condition: &str) -> bool {
    let rule = RULES.iter().find(|rule| rule.condition.contains(condition)).expect(condition);
    guidance.remarks.contains(&(rule.sentence)(&guidance.character))
}

fn verdict(guidance: &Guidance, ranking: Ranking) -> Verdict {
    guidance.verdicts.iter().find(|(of, ..)| *of == ranking).expect("a verdict").1
}

#[test]
fn the_definitions_have_every_rule_in_these_words() {
    for rule in RULES {
        assert!(DEFINITIONS.contains(&format!("| {} |", rule.condition)), "{}", rule.condition);
    }
}

#[test]
fn without_observations_only_threads_are_told() {
    let guidance = drawn("cpus 2\nmain zzzzzz");
    assert!(is_lead(&guidance, "fewer than 10"));
    assert_eq!(verdict(&guidance, Ranking::Threads), Verdict::Follow);
    assert_eq!(verdict(&guidance, Ranking::CriticalPath), Verdict::Silent);
}

#[test]
fn a_run_that_waits_is_ranked_by_elapsed_time() {
    let guidance = drawn("cpus 2\nC = compute\nmain CCCCCCzzzzzzzzzzzzzzzzzzzz");
    assert!(is_lead(&guidance, "no thread could run"));
    assert_eq!(verdict(&guidance, Ranking::Elapsed), Verdict::Follow);
    assert_eq!(verdict(&guidance, Ranking::Profile), Verdict::Misleads);
    assert!(is_lead(&drawn(WAITING), "no thread could run"));
}

#[test]
fn waits_for_devices_are_seen_by_npt_and_the_elapsed_path() {
    let guidance = drawn("cpus 4\nmain AAAAAA:::::AAAAA\nside BBBBBBBBBBB_____");
    assert!(is_lead(&guidance, "at least 20 % of the elapsed-weighted"));
    assert_eq!(verdict(&guidance, Ranking::Npt), Verdict::Follow);
    assert_eq!(verdict(&guidance, Ranking::CriticalPath), Verdict::Misleads);
    // 2 of 20: a remark, no more.
    let guidance = drawn("cpus 4\nmain AAAAAAA::AAAAAAAAAAA\nside BBBBBBBBBBBBBBBBBBBB");
    assert!(!is_lead(&guidance, "at least 20 % of the elapsed-weighted"));
    assert!(has_remark(&guidance, "5 to 20 %"));
}

#[test]
fn where_processors_are_the_limit_cpu_time_counts() {
    let guidance = drawn(CROWDED);
    assert!(is_lead(&guidance, "useful work fills"));
    assert_eq!(verdict(&guidance, Ranking::Profile), Verdict::Follow);
    assert_eq!(verdict(&guidance, Ranking::CriticalPath), Verdict::Partly);
}

#[test]
fn in_a_serial_program_all_rankings_agree() {
    let guidance = drawn("cpus 4\nmain AAAAAAAAAABBBBBBBBBBCCCC");
    assert!(is_lead(&guidance, "one thread does all the work"));
    assert!(guidance.verdicts.iter().all(|(_, verdict, _)| *verdict <= Verdict::Agrees));
}

#[test]
fn where_threads_wait_for_each_other_the_critical_path_leads() {
    for drawing in [LOCK_HOG, BARRIER] {
        let guidance = drawn(drawing);
        // The hog computes on 1.75 of 4 processors, the barrier's threads on 2.
        let told = is_lead(&guidance, "wait for each other") || is_lead(&guidance, "useful work fills");
        assert!(told, "{}", guidance.lead);
    }
    let guidance = drawn(LOCK_HOG);
    assert!(is_lead(&guidance, "wait for each other"));
    assert_eq!(verdict(&guidance, Ranking::Npt), Verdict::Partly);
    assert!(guidance.lead.contains("waits a second"), "{}", guidance.lead);
}

#[test]
fn in_a_balanced_program_rankings_agree_and_slack_says_nothing() {
    let guidance = drawn("cpus 4\none AAAAAAAAAAAABBBBBBBB\ntwo AAAAAAAAAAAABBBBBBBB");
    assert!(is_lead(&guidance, "imbalance below 10 %"));
    assert!(guidance.lead.contains("not from slack"));
    // On as many processors as threads they are the limit; slack still says nothing.
    let guidance = drawn("cpus 2\none AAAAAAAAAAAABBBBBBBB\ntwo AAAAAAAAAAAABBBBBBBB");
    assert!(is_lead(&guidance, "useful work fills"));
    assert!(has_remark(&guidance, "balanced (imbalance below 10 %)"));
}

#[test]
fn uneven_work_without_waits_is_for_the_critical_path_and_slack() {
    let guidance = drawn("cpus 4\none AAAAAAAAAAAAAAAAAAAA\ntwo BBBBBBBBBB");
    assert!(is_lead(&guidance, "otherwise"));
    assert_eq!(verdict(&guidance, Ranking::Profile), Verdict::Misleads);
}

#[test]
fn spinning_makes_gprof_mislead() {
    let guidance = drawn(SPINNER);
    assert!(has_remark(&guidance, "at least 5 % of the CPU time spins"));
    assert_eq!(verdict(&guidance, Ranking::Profile), Verdict::Misleads);
    assert!(!has_remark(&drawn(LOCK_HOG), "at least 5 % of the CPU time spins"));
}

#[test]
fn waits_for_processors_part_the_two_critical_paths() {
    // Two of the threads lack a processor for a while, on a machine that was not full.
    let guidance = drawn("cpus 4\none AAAAAAAAAA----AAAAAA\ntwo BBBBBB----BBBBBBBBBB");
    assert!(has_remark(&guidance, "threads wait for a processor"));
    assert!(!has_remark(&drawn(CROWDED), "threads wait for a processor"), "there they are the limit");
}

#[test]
fn kernel_time_is_told() {
    let mut scene = Scene::of("cpus 4\none AAAAAAAAAAAAKKKKKKKK\ntwo AAAAAAAAAAAAKKKKKKKK");
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
    let mut scene = Scene::of(LOCK_HOG);
    assert!(!has_remark(&of(&scene), "were lost") && !has_remark(&of(&scene), "collecting cost"));
    scene.evidence.lost_events = 500;
    scene.evidence.kernel_seconds = Some(0.2);
    let guidance = of(&scene);
    assert!(has_remark(&guidance, "were lost") && has_remark(&guidance, "collecting cost"));
    assert_eq!(verdict(&guidance, Ranking::CriticalPath), Verdict::Partly);
}

#[test]
fn where_nobody_knows_who_ends_the_waits_the_path_is_not_followed() {
    let mut scene = Scene::of(LOCK_HOG);
    (scene.evidence.unmatched_wakes, scene.evidence.wakes) = (scene.evidence.wakes, 0);
    let guidance = of(&scene);
    assert!(is_lead(&guidance, "who ended the wait is unknown"));
    assert_eq!(verdict(&guidance, Ranking::Npt), Verdict::Follow);
    assert_eq!(verdict(&guidance, Ranking::CriticalPath), Verdict::Partly);
    assert_eq!(verdict(&guidance, Ranking::Waits), Verdict::Silent);
}
