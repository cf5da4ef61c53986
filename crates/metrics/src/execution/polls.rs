//! Threads that poll by sleeping: they look whether there is something to do, sleep, and look again.
//!
//! ```text
//!   polls     work ▉▉▉▉ sleep ──── ▏ sleep ──── ▏ sleep ──── work ▉▉▉▉
//!   does not  work ▉▉▉▉ sleep ──── work ▉▉▉ sleep ──── work ▉▉▉
//! ```
//! What such a thread looks for comes from another thread, which nothing shows: its sleeps would be fewer or more in a changed run. Two
//! sleeps in a row are polls where the thread works between them for less than a tenth of the shorter one. A thread that does
//! nothing else, such as one that only watches the run, holds up no work.

use super::plan::{ExecutionPlan, PlanStep};

/// The part of the shorter of two sleeps below which work between them is a look.
const LOOK: f64 = 0.1;
/// The part of the run that a thread works, beside its looks, from which on its polls are for work.
const WORKS: f64 = 0.01;

/// For how long the threads of the plan poll by sleeping, all together, nanoseconds.
pub(super) fn polled(plan: &ExecutionPlan) -> u64 {
    plan.threads.iter().map(|thread| polled_by(&thread.steps, plan.elapsed)).sum()
}

fn polled_by(steps: &[PlanStep], elapsed: u64) -> u64 {
    // The last sleep, the work since then, and whether the sleep is counted.
    let (mut last, mut work, mut is_counted) = (0, 0, false);
    let (mut polled, mut all_work, mut looks) = (0, 0, 0);
    for step in steps {
        match *step {
            PlanStep::Work { time, .. } | PlanStep::Spin { time, .. } | PlanStep::Busy(time) => {
                work += time;
                all_work += time;
            }
            PlanStep::Sleep { time, .. } => {
                let time = time.nanoseconds();
                let is_poll = last > 0 && (work as f64) < LOOK * last.min(time) as f64;
                if is_poll {
                    polled += time + if is_counted { 0 } else { last };
                    looks += work;
                }
                (last, work, is_counted) = (time, 0, is_poll);
            }
            PlanStep::Away { .. } | PlanStep::Until { .. } => (last, work, is_counted) = (0, 0, false),
            _ => {}
        }
    }
    let works = (all_work - looks) as f64 > WORKS * elapsed as f64;
    if works { polled } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::plan::SleepTime;
    use super::*;

    fn sleep(time: u64) -> PlanStep {
        PlanStep::Sleep { time: SleepTime::new(time).unwrap(), moment: 0 }
    }

    fn work(time: u64) -> PlanStep {
        PlanStep::Work { place: 0, time }
    }

    #[test]
    fn sleeps_with_hardly_any_work_between_them_are_polls() {
        let steps = [work(300), sleep(100), work(2), sleep(100), work(2), sleep(100), work(300)];
        assert_eq!(polled_by(&steps, 1_000), 300);
    }

    #[test]
    fn a_thread_that_works_between_its_sleeps_does_not_poll() {
        let steps = [work(50), sleep(100), work(50), sleep(100), work(50), sleep(100), work(10), sleep(100)];
        assert_eq!(polled_by(&steps, 1_000), 0);
    }

    #[test]
    fn a_thread_that_only_watches_does_not_poll() {
        let steps = [work(1), sleep(100), work(1), sleep(100), work(1), sleep(100)];
        assert_eq!(polled_by(&steps, 1_000), 0);
    }

    #[test]
    fn waits_for_others_between_sleeps_are_no_polls() {
        let other = PlanStep::Away { time: 5, io: true, request: None };
        assert_eq!(polled_by(&[work(300), sleep(100), other, sleep(100), work(300)], 1_000), 0);
    }
}
