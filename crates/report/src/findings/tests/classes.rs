//! The headline of each class of program is the one that an engineer would give, and changes and guidance go with it.

use longpole_event::MachineId;
use longpole_metrics::By;

use crate::findings::finding::{Advice, FindingBasis};
use crate::findings::{Findings, RankedWork, Ranking, Sentence, Verdict, procedure_answer};
use crate::fixture::{BARRIER, CROWDED, DrawnRun, LOCK_HOG, SERIAL_THEN_PARALLEL, SPINNER, WAITING};
use crate::input::{IdleProcessor, ReportOptions};
use crate::view::View;

/// What is said of a run.
struct SaidOfRun {
    headline: String,
    reasons: String,
    advice: Option<Advice>,
    /// The rankings to follow.
    follow: Vec<Ranking>,
}

fn said(scene: &DrawnRun) -> SaidOfRun {
    scene.with_details(&View::Summary.demand(&ReportOptions::default()), |input| {
        let findings = Findings::of(input);
        let answer = findings.answer();
        let reasons: Vec<String> = answer.reasons.iter().map(|reason| reason.text()).collect();
        let verdicts = findings.guidance().verdicts;
        let follow = verdicts.iter().filter(|(_, verdict, _)| *verdict == Verdict::Follow);
        SaidOfRun {
            headline: answer.headline.text(),
            reasons: reasons.join(" "),
            advice: findings.changes().first().and_then(|first| first.change).map(|(advice, _)| advice),
            follow: follow.map(|(ranking, ..)| *ranking).collect(),
        }
    })
}

/// Asserts the begin of the headline, the first advice and the ranking to follow.
#[track_caller]
fn assert_said(drawing: &str, headline: &str, advice: Option<Advice>, follow: Ranking) {
    let said = said(&DrawnRun::of(drawing));
    assert!(said.headline.starts_with(headline), "{}", said.headline);
    assert_eq!(said.advice, advice, "{}", said.headline);
    assert!(said.follow.contains(&follow), "{}: {:?}", said.headline, said.follow);
}

#[test]
fn a_program_bound_by_a_disk_is_told_so() {
    let drawing = "cpus 2\nC = main > compute\nW = main > write_record\nmain CC::::::W::::::CC::::::W::::::";
    let headline = "The long pole is waiting, not work: for 240 ms of 300 ms elapsed (80 %) no thread could run; most of it waiting for a file or disk in";
    assert_said(drawing, headline, Some(Advice::OverlapIo), Ranking::Elapsed);
}

#[test]
fn a_disk_that_is_less_than_half_of_the_run_can_lead_too() {
    // 45 % of the run waits for the disk, in one place; the work is in three procedures.
    let drawing = "cpus 2\nmain AAAAAAAAAAAAAAAA:::::::::::::::::::::::::BBBBBBBBBBBBBBBBCCCCCCCCCCCCCCCC";
    let said = said(&DrawnRun::of(drawing));
    assert_eq!(said.headline, "The long pole: waiting for a file or disk in `A` — 250 ms, 34 % of the run.");
    assert_eq!(said.advice, Some(Advice::OverlapIo));
}

#[test]
fn what_runs_alone_leads_by_what_the_run_gains_without_it() {
    // Short jobs, then a long one alone: divided on two processors it gains 50 ms of 170, and without the short ones the run
    // gains 70 of them. It holds the run for 100 ms.
    let drawing = "cpus 2\nS = main > short_job\nL = main > long_job\none SSSSSSSLLLLLLLLLL\ntwo SSSSSSS";
    let headline = "The long pole: `long_job` — 59 % ± 3 of the critical path.";
    assert_said(drawing, headline, Some(Advice::Parallelise), Ranking::CriticalPath);
}

#[test]
fn a_leading_procedure_beside_the_path_is_told_by_its_cpu_time() {
    let drawing =
        "cpus 2\nP = main > publish\nN = worker > noise\none PPPPPPPPPPPPPPPPPPPP\ntwo NNNNNNNNNNNNNN";
    DrawnRun::of(drawing).with_details(&View::Summary.demand(&ReportOptions::default()), |input| {
        let name = |node| Sentence::name(input, node).text();
        let noise = input.rows(By::Procedure).iter().find(|row| name(row.node) == "`noise`").unwrap().node;
        let headline =
            procedure_answer(&FindingBasis::of(input), RankedWork::CriticalPath, noise).headline.text();
        // It is no part of what `publish` does.
        assert_eq!(headline, "The long pole: `noise` — 41 % ± 2 of the CPU time.");
    });
}

#[test]
fn an_idle_program_waits_for_the_clock_or_for_others() {
    assert_said(WAITING, "The long pole is waiting, not work", Some(Advice::AwaitEvent), Ranking::Elapsed);
    let polls = "cpus 2\nH = main > handle\nmain HooooooooooooooHooooooooooooooH";
    let said = said(&DrawnRun::of(polls));
    assert!(said.headline.starts_with("The long pole is waiting, not work"), "{}", said.headline);
    assert!(said.reasons.contains("not in the recording"), "{}", said.reasons);
    assert_ne!(said.advice, Some(Advice::AwaitEvent));
}

/// The work is the whole critical path by CPU time, and gains for sure; the sleep is more of the run.
#[test]
fn a_start_that_sleeps_for_most_of_the_run_is_told_before_the_work() {
    let (sleep, work) = ("z".repeat(23), "S".repeat(18));
    let absent = "_".repeat(24);
    let drawing =
        format!("cpus 2\nO = main > open_service\nS = main > serve\none O{sleep}{work}\ntwo {absent}{work}");
    let headline = "The long pole is waiting, not work: for 230 ms of 420 ms elapsed (55 %)";
    assert_said(&drawing, headline, Some(Advice::AwaitEvent), Ranking::Elapsed);
}

#[test]
fn a_wait_of_a_program_without_names_is_told_by_its_process() {
    let sleep = "z".repeat(30);
    let said = |others: &str| {
        let drawing = format!("cpus 2\nS = drawn+0x40\nM = main\nnap/first S{sleep}S\n{others}");
        said(&DrawnRun::of(&drawing)).headline
    };
    let headline = said("app/second MMM");
    assert!(headline.ends_with("sleeping in process `nap` (300 ms)."), "{headline}");
    // A program of one process, and what several do.
    for others in ["nap/second MM", "app/second SSS"] {
        let headline = said(others);
        assert!(headline.ends_with("sleeping in `drawn+0x40` (300 ms)."), "{headline}");
    }
}

#[test]
fn an_idle_server_is_told_by_its_workers_and_not_by_the_thread_that_looks_after_them() {
    let (idle, busy) = ("o".repeat(300), "H".repeat(450));
    // What the master takes to start is below half a percent of all work, or above that.
    for start in [1, 3] {
        let (starts, signal) = ("M".repeat(start), "i".repeat(2 * idle.len() + busy.len() + 1 - start));
        let drawing =
            format!("cpus 2\nH = main > handle\nmaster {starts}{signal}M\nworker H{idle}{busy}{idle}_");
        let said = said(&DrawnRun::of(&drawing));
        assert!(said.headline.starts_with("The program is idle for "), "{}", said.headline);
        assert!(
            said.headline.contains("(57 %): the threads that work wait, most of that"),
            "{}",
            said.headline
        );
        assert!(said.headline.contains("poll"), "{}", said.headline);
        assert!(said.reasons.starts_with("While it works: `handle` — "), "{}", said.reasons);
        assert!(!said.reasons.contains("signal"), "{}", said.reasons);
    }
}

#[test]
fn a_crowded_program_is_bound_by_the_processors() {
    assert_said(CROWDED, "The long pole: CPU time.", Some(Advice::Shorten), Ranking::Profile);
}

/// Two of three threads could always run, and a processor was idle now and then by the kernel's account: who was woken had to wait until
/// that had woken, too.
#[test]
fn time_in_which_a_processor_is_idle_is_not_bound_by_the_processors() {
    let row = |columns: &str| columns.repeat(4);
    let (a, b, c) = (row("GGGGGGGGGG----------"), row("GGGGGG----GGGGGGGGGG"), row("----------GGGGGG----"));
    let mut scene = DrawnRun::of(&format!("cpus 2\nG = worker:3 > grind:9\na {a}\nb {b}\nc {c}"));
    let crowded = "For 100 % of the run at least as many threads could run as there are CPUs";
    assert!(said(&scene).headline.contains(crowded), "{}", said(&scene).headline);
    let idle = |(processor, seconds)| IdleProcessor { machine: MachineId(0), processor, seconds };
    let of_account = |seconds| [(0, 0.0), (1, seconds)].map(idle).to_vec();
    // Of 800 ms; 20 ms are as much as the account may be off.
    scene.outside_answers.idle_processors = of_account(0.100);
    let crowded = "For 90 % of the run at least as many threads could run as there are CPUs";
    assert!(said(&scene).headline.contains(crowded), "{}", said(&scene).headline);
    scene.outside_answers.idle_processors = of_account(0.180);
    assert!(said(&scene).headline.starts_with("The long pole: `grind`"), "{}", said(&scene).headline);
}

#[test]
fn a_crowd_at_the_begin_of_a_serial_run_is_not_bound_by_the_processors() {
    // The lack of processors is the largest change: each procedure has one column.
    let drawing = "cpus 2\nmain ------ABCDEFGHIJKL\nx MNOPQR____________\ny STUVWX____________";
    let said = said(&DrawnRun::of(drawing));
    assert_eq!(said.advice, Some(Advice::MoreProcessors), "{}", said.headline);
    assert!(!said.headline.contains("CPU-bound"), "{}", said.headline);
    assert!(said.headline.contains("of the critical path"), "{}", said.headline);
}

#[test]
fn a_program_whose_processors_others_use_waits_for_them() {
    let drawing = "cpus 2\nC = compute\nD = drain\nmain CC------CC------DD------DD------CC------";
    let start =
        "The long pole: waiting for a CPU — 75 % of the run, though the program used only 12 % of the CPUs";
    assert_said(drawing, start, Some(Advice::FreeProcessors), Ranking::Profile);
    let reasons = said(&DrawnRun::of(drawing)).reasons;
    assert!(!reasons.contains("the program had none for"), "{reasons}");
}

#[test]
fn a_program_that_others_keep_from_the_processors_waits_for_them_though_one_procedure_works() {
    let drawing = "cpus 2\nC = compute\nmain CC------------CC------------CC------------CC------------";
    let start = "The long pole: waiting for a CPU — 86 % of the run";
    assert_said(drawing, start, Some(Advice::FreeProcessors), Ranking::Profile);
}

#[test]
fn a_crowd_that_others_leave_little_waits_for_them_and_not_for_more_processors() {
    let drawing = "\
cpus 2
C = compute
D = drain
E = encode
a CC------DD------CC------EE------
b --DD------EE------CC------DD----
c ----EE------CC------DD------EE--
d ------CC------EE------DD------CC";
    // Always three or four of them could run on two processors, of which they had one.
    let start = "The long pole: waiting for a CPU — ";
    assert_said(drawing, start, Some(Advice::FreeProcessors), Ranking::Profile);
}

#[test]
fn threads_that_crowd_each_other_for_a_while_blame_nobody_else() {
    // 63 % of the processors' time is used, and yet nobody else took any: b and c stand in each other's way.
    let drawing = "\
cpus 2
A = compute
B = read
C = write
a AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
b BB--BB--
c --CC--CC";
    let reasons = said(&DrawnRun::of(drawing)).reasons;
    assert!(
        reasons.contains("80.0 ms in all for a CPU: more of them could run than there are CPUs"),
        "{reasons}"
    );
}

#[test]
fn an_execution_that_misses_the_run_does_not_decide() {
    // It sleeps to the end, which an execution does not see: without `compute` it would be over at once.
    let said = said(&DrawnRun::of("cpus 2\nC = compute\nmain CCCCCCzzzzzzzzzzzzzzzzzzzz"));
    assert!(said.headline.starts_with("The long pole is waiting, not work: for 200 ms"), "{}", said.headline);
}

#[test]
fn a_program_that_spins_has_to_block() {
    let drawing = "\
cpus 2
C = compute:10
W = await_round:20
a C--C--C--C--C--C--C--C--C--C--
b W~~~~-~~~~~-~~~~~-~~~~~-~~~~~-
c W~-~~~~~-~~~~~-~~~~~-~~~~~-~~~";
    assert_said(drawing, "The long pole is spinning, not work", Some(Advice::Block), Ranking::Threads);
    // A spin with processors to spare is not what the run waits for.
    assert_said(SPINNER, "The long pole: `compute_result`", Some(Advice::Parallelise), Ranking::CriticalPath);
}

#[test]
fn a_serial_program_is_told_what_runs_alone() {
    let drawing = "cpus 4\nA = main > prepare\nB = main > share\nmain AAAAAAAAAABAAAAAAAAAAB\none __________B__________B";
    assert_said(drawing, "The long pole: `prepare` — 91 %", Some(Advice::Parallelise), Ranking::CriticalPath);
    let one = said(&DrawnRun::of("cpus 4\nmain AAAAAAAAAAAAAAAAAABB"));
    assert!(one.headline.starts_with("The long pole: `A` — 90 %"), "{}", one.headline);
    assert!(one.reasons.contains("One thread does all the work"), "{}", one.reasons);
    let said = said(&DrawnRun::of(SERIAL_THEN_PARALLEL));
    assert_eq!(said.advice, Some(Advice::Shorten), "{}", said.headline);
}

#[test]
fn a_lock_and_a_barrier_are_named() {
    assert_said(LOCK_HOG, "The long pole: `update`", Some(Advice::Parallelise), Ranking::CriticalPath);
    assert_said(BARRIER, "The long pole: uneven work.", Some(Advice::Balance), Ranking::CriticalPath);
}

#[test]
fn a_balanced_program_on_full_processors_needs_less_work() {
    let drawing = "cpus 2\none AAAAAAAAAAAAAAAABBBB\ntwo AAAAAAAAAAAAAAAABBBB";
    let headline = "The long pole: CPU time. The program is CPU-bound (it used 100 % of both CPUs); its CPU time goes to `A` — 80 %";
    assert_said(drawing, headline, Some(Advice::Shorten), Ranking::Profile);
}

#[test]
fn a_handful_of_observations_names_no_procedure() {
    let mut scene = DrawnRun::of("cpus 2\nmain AABA");
    scene.looks = 5.0;
    let said = said(&scene);
    assert_eq!(
        said.headline,
        "No procedure can be named: 20 observations of 40.0 ms of CPU time are too few."
    );
    assert!(said.reasons.contains("record -F 10000"), "{}", said.reasons);
    assert_eq!((said.advice, said.follow), (None, vec![Ranking::Threads]));
}

#[test]
fn what_the_program_itself_reports_counts() {
    let mut scene = DrawnRun::of("cpus 2\nmain AABA");
    scene.looks = 1.0;
    scene.evidence.told_observations = 26;
    let said = said(&scene);
    assert!(said.headline.starts_with("The long pole: `A` — 75 %"), "{}", said.headline);
    assert!(said.advice.is_some());
}

#[test]
fn a_run_without_anything_says_so() {
    let said = said(&DrawnRun::of("cpus 2\nmain ________"));
    assert!(said.headline.starts_with("Nothing was recorded"), "{}", said.headline);
    assert_eq!(said.advice, None);
}

/// Two ranks of three wait in each round for rank 2, which computes longest: by 60 and by 40 ms.
const LATE_RANK: &str = "cpus 4\nC = main > compute > step\nS = main > meet\n1 = communicator MPI_COMM_WORLD\n\
    P0/R0 CC111111CC111111S\nP1/R1 CCCC1111CCCC1111S\nP2/R2 CCCCCCCCCCCCCCCCS\n\
    R2@8 -> R0, R1 barrier\nR2@16 -> R0, R1 barrier";

#[test]
fn the_rank_that_others_wait_for_is_told_with_what_it_does_longer() {
    let said = said(&ranks(LATE_RANK));
    // (2 × 60 + 2 × 40) / 3 = 66.7 ms, give or take a tenth.
    let headline = "The long pole: `rank 2` comes late to the collective operation in";
    assert!(said.headline.starts_with(headline), "{}", said.headline);
    assert!(said.headline.contains("`step` runs 120 ms longer there"), "{}", said.headline);
    assert!(said.headline.contains("would save 60.0–73.3 ms of 170 ms"), "{}", said.headline);
    assert_eq!(said.advice, Some(Advice::Balance));
}

/// The same on two processors, one of which rank 2 lacks for a while, since the others poll.
const POLLED: &str = "cpus 2\nC = main > compute > step\nS = main > meet\n1 = communicator MPI_COMM_WORLD\n\
    P0/R0 C¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹S\nP1/R1 C¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹S\nP2/R2 CCCC-------CCCCCS\n\
    R2@16 -> R0, R1 barrier";

#[test]
fn ranks_that_poll_for_what_one_without_a_processor_does_are_to_yield() {
    let said = said(&ranks(POLLED));
    // For 70 ms nobody works: surely gained is half of it, at most 170 ms less the path of 110.
    let headline = "The long pole: 3 ranks that poll for messages on 2 CPUs: 300 ms";
    assert!(said.headline.starts_with(headline), "{}", said.headline);
    assert!(said.headline.contains("for 70.0 ms all work waited for a CPU"), "{}", said.headline);
    assert_eq!(said.advice, Some(Advice::Yield));
}

/// The run in which each process is a rank.
fn ranks(drawing: &str) -> DrawnRun {
    let mut scene = DrawnRun::of(drawing);
    for (rank, process) in scene.timelines.program.processes.iter_mut().enumerate() {
        process.rank = Some(rank as u32);
    }
    scene
}

#[test]
fn even_shares_may_also_save_what_polls_keep_from_others() {
    let gain = ranks(POLLED).with_details(&View::Summary.demand(&ReportOptions::default()), |input| {
        let findings = Findings::of(input);
        let changes = findings.changes().into_iter().filter_map(|finding| finding.change);
        let gains = changes.filter(|&(advice, _)| advice == Advice::Balance).map(|(_, gain)| gain);
        gains.map(|gain| [gain.low, gain.high].map(|nanoseconds| (nanoseconds / 1e6).round())).next()
    });
    // At least 100 ms in rank 2 less 140 ms on two processors, at most 170 ms less these 70; the work alone gains 53 ms.
    assert_eq!(gain, Some([30.0, 100.0]));
}
