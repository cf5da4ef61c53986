//! Data that pass through pipes, in programs that are run anew without a procedure.

use crate::support::{Collector, Session, held, or_skip};

/// How far ahead the writer could get, and whether a read found what had been written, only some kernels show: the others leave both open.
#[test]
fn who_passes_data_on_gets_no_further_ahead_than_the_pipe_has_room() {
    let session = Session::start();
    or_skip!(Collector::Bpf.permitted());
    for (flags, procedure) in
        [(&[][..], "parse_record"), (&["-DSMALL"], "parse_record"), (&["-DREPORTS"], "store_record")]
    {
        held(&session, ("work_ahead.c", flags), procedure);
    }
}
