//! What a reader of an imported recording has to know: what the trace does not hold, and what could not be read.

use longpole_chrome::ChromeTrace;

use super::writer::{ChromeWriter, operations};

/// The notes of a recording.
pub(super) fn notes(trace: &ChromeTrace, writer: &ChromeWriter<'_>) -> Vec<String> {
    let (contents, damage, log) = (trace.contents(), trace.damage(), &writer.log);
    let mut notes = vec![
        format!(
            "imported: a trace in Chrome's JSON format with {} slices of threads and {} of a GPU",
            contents.slices, contents.device_slices
        ),
        "a thread counts as running in its slices and as waiting between them: what it does there is not in the trace"
            .to_owned(),
    ];
    match writer.rank() {
        None if operations(trace) > 0 => notes.push(
            "the trace does not say which rank it is of: import it with --rank RANK/SIZE to see who waits for whom in \
             collective operations"
                .to_owned(),
        ),
        Some((rank, size)) if size > 1 => notes.push(format!(
            "rank {rank} of {size}: join the recordings of all ranks (longpole join) to see who waits for whom"
        )),
        _ => {}
    }
    if damage.is_cut {
        notes.push("the file ends early or is damaged: what came before is here".to_owned());
    }
    let counts = [
        (writer.other_lanes, "threads of other processes are left out"),
        (
            writer.unknown_collectives,
            "collective operations have a root, which the trace does not name: left out",
        ),
        (damage.incomplete, "events lack their time, their thread or their kind"),
        (damage.unmatched_ends, "slices end that had not begun"),
        (damage.unended, "slices do not end: they count to the end of the trace"),
        (damage.crossing, "slices end after the one that they began in, and were cut there"),
        (damage.beyond, "slices are beyond the number that is read"),
        (damage.drawn, "slices are no activity (sums, spans of the profiler itself): left out"),
        (damage.other, "events of other kinds were left out (asynchronous slices, flows, counters, marks)"),
        (log.cut_paths(), "call paths were too many: cut"),
    ];
    notes
        .extend(counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    notes
}
