//! What a reader of an imported recording has to know: what the trace does not hold, and what could not be read.

use std::io::{Read, Seek};

use longpole_perfetto::PerfettoTrace;

use super::writer::PerfettoWriter;

/// The notes of a recording.
pub(super) fn notes<R: Read + Seek>(trace: &PerfettoTrace<R>, writer: &PerfettoWriter) -> Vec<String> {
    let (contents, damage) = (trace.contents(), trace.damage());
    let mut notes = vec![format!(
        "imported: a Perfetto trace with {} switches, {} wakes, {} samples and {} slices",
        contents.switches,
        if contents.wakings > 0 { contents.wakings } else { contents.wakeups },
        contents.samples,
        contents.slices
    )];
    let mut note = |is_so: bool, text: &str| {
        if is_so {
            notes.push(text.to_owned());
        }
    };
    let has_switches = contents.switches > 0;
    note(
        !has_switches,
        "without sched_switch: a thread counts as running in its slices and as waiting between them",
    );
    note(
        has_switches && contents.samples == 0 && contents.slices == 0,
        "without samples and slices: threads and states are known, procedures are not",
    );
    note(contents.samples > contents.stacks, "some samples have no call stack");
    note(
        has_switches && contents.wakings + contents.wakeups == 0,
        "without sched_waking: who ended a wait is not known",
    );
    note(
        has_switches && contents.wakings == 0 && contents.wakeups > 0,
        "without sched_waking: wakes are those of sched_wakeup, which can come from the wakee's processor",
    );
    note(
        !contents.has_tree,
        "without a process tree: a thread whose process is not known counts as a process",
    );
    note(
        has_switches,
        "system calls are not in the trace: what a wait is for is known by the call path alone",
    );
    note(damage.is_cut, "the file ends within a packet or is damaged: what came before is here");
    let log = &writer.log;
    let counts = [
        (writer.kernel_threads, "threads of the kernel are left out, except as wakers"),
        (writer.other_threads, "threads of other processes are left out, except as wakers"),
        (damage.compressed, "compressed packets could not be read: record without compression"),
        (damage.losses, "times the tracer lost events"),
        (damage.lost_samples, "samples were lost when the trace was recorded"),
        (damage.damaged, "packets or events could not be read whole"),
        (damage.passed_over, "packets were too long to be read"),
        (damage.beyond, "packets are beyond the number that is read"),
        (damage.untimed, "events were left out: their clock cannot be compared with others"),
        (damage.unresolved, "names refer to interned data that is not in the trace"),
        (damage.other_tracks, "slices on tracks that are no threads were left out"),
        (damage.flows, "slices have flows, which were left out"),
        (writer.unknown_switches, "switches do not say which thread left the processor"),
        (
            writer.missing_switches,
            "switches are missing in the trace: a thread left a processor that it had not got",
        ),
        (log.late, "events came too late and were taken when they came"),
        (log.unmatched_ends, "slices end that had not begun"),
        (log.cut_paths(), "call paths were too many: cut"),
    ];
    for (count, what) in counts.into_iter().filter(|&(count, _)| count > 0) {
        notes.push(format!("{count} {what}"));
    }
    notes
}
