//! Fortran with OpenMP, built by `longpole fortran`.

use super::{build_with, first, number, of_object, record};
use crate::support::{Session, or_skip};

#[test]
fn a_module_s_variable_is_fetched_once_a_reader_and_round() {
    let session = Session::beside_others();
    const ROUNDS: u64 = 50;
    // The description of the module is written to where the compiler is told.
    let modules = session.path().to_str().unwrap();
    let program = or_skip!(build_with(
        &session,
        "gfortran",
        "shared_rounds",
        &["-fopenmp", "-fno-inline", "-J", modules]
    ));
    for threads in [2_u64, 4, 8] {
        let recording = record(&session, &program, &[&threads.to_string(), &ROUNDS.to_string()]);
        let transfers = (threads - 1) * (ROUNDS - 1);
        let (counts, _) = of_object(&recording, "exchange::lines", "cold_percent");
        assert_eq!(counts[1..], [transfers; 3], "{threads}");
        let answer = recording.report("communication", "procedure");
        let row = answer.rows().next().unwrap();
        assert_eq!(
            (row["procedure"].as_str(), number(row, "transfers")),
            (Some("exchange::take"), transfers)
        );
        let (through, share) = first(row, "through", "object");
        assert!(through.starts_with("through barrier shared_rounds.f90:"), "{row:?}");
        assert!(share > 99.9, "{row:?}");
    }
}
