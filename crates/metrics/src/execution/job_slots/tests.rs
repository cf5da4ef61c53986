use crate::execution::tests::milliseconds_without;

/// Two jobs at a time: the next one begins where any has ended, not behind the one that ended in the recorded run.
#[test]
fn a_place_among_the_jobs_is_filled_when_any_has_ended() {
    let jobs = |kind: &str, asked: &str| {
        format!(
            "unit 1000000
             1 = {kind} make
             make/M  M{asked}M111M11M1M
             a/A     _AAAAAAAA______
             b/B     _BBBB__________
             c/C     ______CCCCCC___
             d/D     __________DDDD_
             M@1 -> A, B create
             B@5 -> M join
             M@6 -> C create
             A@9 -> M join
             M@10 -> D create
             C@12 -> M join
             D@14 -> M join"
        )
    };
    // Without A: C at 2 to 8, D behind B, at 6 to 10.
    assert_eq!(milliseconds_without(&jobs("end of any child", "1111"), "A"), (15.0, 11.0));
    assert_eq!(milliseconds_without(&jobs("process end", "1111"), "A"), (15.0, 14.0), "it asks for B");
    // A signal ends it.
    assert_eq!(milliseconds_without(&jobs("end of any child", "eeee"), "A"), (15.0, 11.0));
}

/// A shell asks for any child, and goes on when that which it wants has ended.
#[test]
fn a_shell_that_waits_for_one_of_its_children_waits_for_that() {
    let script = "unit 1000000
        1 = end of any child sh
        sh/M  M1111M111111M1M
        a/A   _AAAAAAAAAAA___
        b/B   _BBBB__________
        c/C   _____________C_
        M@1 -> A, B create
        B@5 -> M join
        A@12 -> M join
        M@13 -> C create
        C@14 -> M join";
    assert_eq!(milliseconds_without(script, "B"), (15.0, 15.0));
}

/// What is linked needs all that was compiled, though a job more could run beside it.
#[test]
fn what_waits_for_all_jobs_still_does() {
    let link = "unit 1000000
        1 = end of any child make
        make/M  M1111M1111M1M111M
        a/A     _AAAA____________
        b/B     _BBBBBBBBB_______
        c/C     ______CCCCCC_____
        d/D     _____________DDD_
        M@1 -> A, B create
        A@5 -> M join
        M@6 -> C create
        B@10 -> M join
        C@12 -> M join
        M@13 -> D create
        D@16 -> M join";
    assert_eq!(milliseconds_without(link, "C"), (17.0, 16.0), "it still waits for B");
    assert_eq!(milliseconds_without(link, "B"), (17.0, 13.0), "C begins at 2, and A has ended at 5");
    assert_eq!(milliseconds_without(link, "A"), (17.0, 16.0), "C begins at 2");
}
