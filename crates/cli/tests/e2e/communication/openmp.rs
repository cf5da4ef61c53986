//! Programs of OpenMP, by gcc's runtime and by LLVM's: what their threads hand each other through its constructs.

use super::{build_with, first, number, record, teams};
use crate::support::{Session, or_skip};

/// Transfers of an object in pages of 8 KiB and in lines.
#[test]
fn a_relaxation_s_layouts_ask_for_the_pages_that_can_be_counted() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 3;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build_with(&session, compiler, "red_black", &["-fopenmp"]));
        for &threads in teams(compiler) {
            let down = if threads == 2 { 1 } else { 2 };
            let across = threads / down;
            let borders = 2 * (down - 1) * across;
            for (mode, pages) in [
                ("strips", 2 * (threads - 1)),
                ("tiles", threads * 16 / down + borders),
                ("blocks", 2 * down * (across - 1) * 16 / threads + borders),
            ] {
                let what = format!("{compiler} {mode} {threads}");
                let recording =
                    record(&session, &program, &[mode, &threads.to_string(), &ROUNDS.to_string()]);
                let options = ["--unit", "8192", "--protocol", "lrc"];
                let answer = recording.report_with("communication", "object", &options);
                let row = answer.rows().find(|row| row["object"] == "grid").expect("requests for the grid");
                assert_eq!(number(row, "transfers"), (2 * ROUNDS - 1) * pages, "{what}");
                assert!(
                    first(row, "through", "object").0.starts_with("through barrier red_black.c:"),
                    "{row:?}"
                );
                // Nothing of it is unordered: the rest is the other barrier.
                assert_eq!(row["through"].as_array().unwrap().len(), 2, "{row:?}");
                if mode == "strips" {
                    let answer = recording.report("communication", "object");
                    let row = answer.rows().find(|row| row["object"] == "grid").unwrap();
                    let lines = 16 * (2 * (threads - 1) * (2 * ROUNDS - 1) + 1);
                    assert_eq!(number(row, "transfers"), lines, "{what}");
                    assert!(number(row, "requests_low") <= lines && lines <= number(row, "requests_high"));
                }
            }
        }
    }
}

#[test]
fn every_construct_that_excludes_hands_a_datum_on() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 20;
    for compiler in ["gcc", "clang"] {
        let program = or_skip!(build_with(&session, compiler, "shared_sections", &["-fopenmp"]));
        for (threads, mode, through) in [
            (
                2,
                "critical",
                if compiler == "gcc" { "critical section turns" } else { "critical section shared_" },
            ),
            (4, "unnamed", "critical section shared_sections.c:"),
            (8, "lock", "lock"),
            (4, "ordered", "ordered section shared_sections.c:"),
            (4, "copied", "barrier shared_sections.c:"),
            (4, "regions", "begin of the parallel region shared_sections.c:"),
        ] {
            let what = format!("{compiler} {mode} {threads}");
            let recording = record(&session, &program, &[mode, &threads.to_string(), &ROUNDS.to_string()]);
            let answer = recording.report("communication", "object");
            let row = answer.rows().find(|row| row["object"] == "datum").expect("requests for the datum");
            let transfers = match mode {
                "copied" | "regions" => (threads - 1) * (ROUNDS - 1),
                _ => threads * ROUNDS - threads,
            };
            let counts = ["transfers", "requests_low", "requests_high"].map(|column| number(row, column));
            assert_eq!(counts, [transfers; 3], "{what}");
            let (found, share) = first(row, "through", "object");
            assert!(found.starts_with(&format!("through {through}")), "{what}: {row:?}");
            assert!(share > 99.9, "{what}: {row:?}");
        }
    }
}
