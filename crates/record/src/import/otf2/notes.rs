//! What a reader of an imported recording has to know: where it comes from, and what is not in it.

use longpole_otf2::{LocalDefinitions, LocationDamage, TraceAnchor, TraceDefinitions};

use super::layout::TraceLayout;
use super::stream::EventStream;
use super::writer::TraceCounts;

/// What could not be read of the files of a trace.
#[derive(Debug, Default)]
pub(super) struct TraceNotes {
    /// Threads without a file of events.
    pub(super) missing: u64,
    unmeasured_clocks: u64,
    local: u64,
    damage: LocationDamage,
    cut: u64,
}

impl TraceNotes {
    pub(super) fn take_local(&mut self, local: &LocalDefinitions) {
        self.local += local.damaged;
        self.unmeasured_clocks += u64::from(!local.clock.is_measured());
    }

    pub(super) fn take_damage(&mut self, streams: &[EventStream]) {
        for damage in streams.iter().filter_map(EventStream::events).map(|events| events.damage()) {
            self.damage.records += damage.records;
            self.damage.chunks += damage.chunks;
            self.damage.reversed += damage.reversed;
            self.cut += u64::from(damage.is_cut);
        }
    }

    /// Whether the end of the run is missing somewhere.
    pub(super) fn is_cut(&self) -> bool {
        self.cut > 0
    }

    pub(super) fn texts(
        &self,
        (anchor, definitions, layout): (&TraceAnchor, &TraceDefinitions, &TraceLayout),
        counts: &TraceCounts,
    ) -> Vec<String> {
        let creator = if anchor.creator.is_empty() { "an unnamed tool" } else { &anchor.creator };
        let mut notes = vec![format!(
            "imported: an OTF2 trace of {} threads in {} processes, written by {creator}",
            layout.threads.len(),
            layout.processes.len()
        )];
        notes.push("the trace does not say how many processors there were: each thread has one".to_owned());
        if layout.machines.len() > 1 && self.unmeasured_clocks > 0 {
            let text =
                "clocks of threads are not compared with others in the trace: times of machines may differ";
            notes.push(format!("{} {text}", self.unmeasured_clocks));
        }
        let damaged = definitions.damaged + self.local;
        let unread = [
            (self.missing, "threads have no file of events"),
            (self.cut, "files of events end without their mark: what came before is here"),
            (damaged, "definitions, or parts of their files, could not be read"),
            (self.damage.chunks, "chunks of events could not be read to their end"),
            (self.damage.records, "events could not be read"),
            (self.damage.reversed, "times were before the one before, and taken for that"),
        ];
        let left_out = [
            (layout.others, "locations are no threads (accelerators, sources of numbers): left out"),
            (counts.metrics, "values of metrics were left out"),
            (counts.one_sided, "events of one-sided communication were left out: its waits are not known"),
            (counts.tasks, "events of tasks were left out"),
            (counts.others, "events of other kinds (files, parameters and the like) were left out"),
            (
                counts.unmeasured,
                "times the measurement was switched off: what was done meanwhile is not known",
            ),
            (counts.unknown_ends, "messages have an end that the definitions do not name: left out"),
            (counts.unknown_collectives, "collective operations have members that are not known: left out"),
            (counts.mismatched, "regions were left that had not been entered, or not left"),
            (counts.too_deep, "entries were too deep for a path of their own"),
        ];
        let texts = unread.iter().chain(&left_out).filter(|(count, _)| *count > 0);
        notes.extend(texts.map(|(count, what)| format!("{count} {what}")));
        notes
    }
}
