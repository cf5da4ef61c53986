use super::*;

fn at(nanoseconds: u64) -> Time {
    Time::from_nanoseconds(nanoseconds)
}

fn run(least: u32, most: u32) -> BlockedRun {
    BlockedRun { thread: ThreadId(0), kind: 0, end: at(1000), least, most, pauses: (0, 0) }
}

#[test]
fn all_runs_get_one_length_as_far_as_they_may() {
    let runs = [run(0, 100), run(0, 10), run(50, 100)];
    let length = |wanted| common_length(&runs.iter().collect::<Vec<_>>(), wanted);
    assert_eq!(length(90.0), 30, "30 + 10 + 50");
    assert_eq!(length(190.0), 90, "90 + 10 + 90");
    assert_eq!(length(10.0), 0, "less than the samples say");
}

#[test]
fn what_samples_said_of_the_end_of_a_run_gives_way() {
    let tail = |begin, end, known_from| SpinTail {
        begin: at(begin),
        thread: ThreadId(0),
        end: at(end),
        known_from: at(known_from),
        flag: None,
    };
    let spins = vec![(at(10), at(20)), (at(40), at(60))];
    let all = with_tails(spins, &[tail(55, 70, 45), tail(90, 100, 80)]);
    let plain: Vec<_> = all.iter().map(|spin| (spin.0.nanoseconds(), spin.1.nanoseconds())).collect();
    assert_eq!(plain, [(10, 20), (40, 45), (55, 70), (90, 100)]);
}
