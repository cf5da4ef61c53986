//! What is kept of an opened recording in its folder `cache/`: the columns of its items, and beside them all that
//! [`Trace`] tells without reading its logs.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use longpole_event::{ThreadId, Time};
use longpole_recording::{
    CpuQuota, Defects, LineUser, Manifest, OutsideAccount, QuotaUse, RecordingFolder, SharedLine,
    SharedLineSamples, Trouble,
};

use crate::columns::{ColumnsWriter, IdCounts, ItemCache, ItemColumns};
use crate::error::Result;
use crate::evidence::{Evidence, SourceCounts};
use crate::log_items::LogItem;
use crate::message_traffic::{MessageFlow, MessageTraffic, NotUnderstoodCalls};
use crate::objects::Objects;
use crate::paths::{Paths, ProcedureId};
use crate::program::{Affinity, Machine, Ownership, Process, Program, Thread};
use crate::stops::PossibleStop;
use crate::stored;
use crate::stored::{Stored, restored};
use crate::trace::Trace;

stored! {
    Program { command, file, machines, processes, threads, owners, affinities, killed_at_work, possible_stops, begin_nanoseconds, elapsed_nanoseconds }
    Machine { name, cpus, online_cpus, quota, shared_lines, real_time }
    SharedLineSamples { samples, lines }
    SharedLine { process, address, variable, procedure, samples, users }
    LineUser { thread, samples, read, written }
    CpuQuota { processors, used }
    QuotaUse { periods, throttled_periods, throttled_nanoseconds }
    Process { machine, pid, name, title, parent, rank }
    Thread { process, tid, name, start, end, creator, prefix }
    Ownership { time, waiter, owner }
    Affinity { time, thread, count, first }
    PossibleStop { thread, joiner, told, woken, works }
    Evidence {
        collector, sample_hertz, events, switches, wakes, samples, lost_events, lost_samples, lost_stacks, lost_threads,
        lost_calls, lost_communications, unmatched_wakes, interrupt_wakes, outside_wakes, outside_wakers, waits_for_objects, waits_by_place,
        waits_without_object, contradictions, disordered, observations, told_observations, without_stack, may_wait, messages,
        defects, lost_definitions, overhead_nanoseconds, recorder_cpu_seconds, kernel_seconds, recorder_peak_bytes,
        recording_bytes, sources, outside, truncated, killed_by, exit_code, attached, dropped_nanoseconds, notes,
    }
    MessageTraffic { calls, matched, unmatched_sends, unmatched_receives, resized, collectives, incomplete_collectives, reversed, most_reversed_nanoseconds, accesses, not_understood, flows }
    NotUnderstoodCalls { name, calls, nanoseconds }
    MessageFlow { from, to, messages, bytes, waits, waited_nanoseconds, is_stream }
    SourceCounts { kept, missing, left_out, refused }
    Defects { torn_bytes, damaged_chunks, undecodable_chunks, orphans }
    OutsideAccount { collector, series, values, cpu_seconds, interval_seconds, troubles }
    Trouble { what, count }
}

/// What a recording has besides its items.
struct KeptTrace {
    program: Program,
    paths: Paths,
    objects: Objects,
    evidence: Evidence,
    end: Time,
}

impl KeptTrace {
    /// What these bytes tell; `None` where one of them names something that is not there.
    fn of(bytes: &[u8]) -> Option<(KeptTrace, IdCounts)> {
        let (program, (paths, objects, evidence, end)) =
            restored::<(Program, (Paths, Objects, Evidence, Time))>(bytes, IdCounts::ANY)?;
        let kept = KeptTrace { program, paths, objects, evidence, end };
        let ids = IdCounts::of(&kept.program, &kept.paths, &kept.objects);
        kept.is_sound(&ids).then_some((kept, ids))
    }

    fn is_sound(&self, ids: &IdCounts) -> bool {
        let Program {
            machines, processes, threads, owners, affinities, killed_at_work, possible_stops, ..
        } = &self.program;
        let has_thread = |thread: ThreadId| thread.index() < ids.threads;
        let procedures = self.paths.procedures().len();
        processes.iter().all(|process| {
            process.machine.index() < machines.len()
                && process.parent.is_none_or(|parent| parent.index() < processes.len())
        }) && threads.iter().all(|thread| {
            thread.process.index() < processes.len()
                && thread.creator.is_none_or(has_thread)
                && (thread.prefix.0 as usize) < ids.paths
        }) && owners.iter().all(|owned| has_thread(owned.waiter) && has_thread(owned.owner))
            && affinities.iter().all(|affinity| has_thread(affinity.thread))
            && killed_at_work.iter().all(|&thread| has_thread(thread))
            && possible_stops.iter().all(|stop| has_thread(stop.thread) && has_thread(stop.joiner))
            && self
                .evidence
                .messages
                .flows
                .iter()
                .all(|flow| [flow.from, flow.to].iter().all(|process| process.index() < processes.len()))
            && self.evidence.may_wait.iter().all(|&(ProcedureId(id), _)| (id as usize) < procedures)
    }
}

/// The columns of a recording's items, made when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct LazyColumns(Mutex<ColumnsState>);

#[derive(Debug, Default)]
enum ColumnsState {
    #[default]
    NotMade,
    /// Kept from an earlier question; perhaps damaged since.
    Kept(ItemColumns),
    /// Made, or on their way.
    Begun(Arc<ItemColumns>),
}

impl LazyColumns {
    fn of(columns: ItemColumns) -> LazyColumns {
        LazyColumns(Mutex::new(ColumnsState::Kept(columns)))
    }

    /// The columns; for the first who asks with the writer that makes them.
    fn get_or(&self, begin: impl FnOnce() -> ColumnsWriter) -> (Arc<ItemColumns>, Option<ColumnsWriter>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (columns, writer) = match std::mem::take(&mut *state) {
            ColumnsState::Begun(columns) => (columns, None),
            ColumnsState::Kept(columns) if columns.are_whole() => (Arc::new(columns), None),
            ColumnsState::Kept(_) | ColumnsState::NotMade => {
                let writer = begin();
                (writer.columns(), Some(writer))
            }
        };
        *state = ColumnsState::Begun(Arc::clone(&columns));
        (columns, writer)
    }
}

impl Trace {
    /// The recording as it is kept in the cache.
    pub(crate) fn kept(folder: RecordingFolder, manifest: Manifest, cache: &ItemCache) -> Option<Trace> {
        let (kept, columns) = cache.open(KeptTrace::of)?;
        let KeptTrace { program, paths, objects, mut evidence, end } = kept;
        // What can change without a change of what was recorded.
        evidence.recording_bytes = folder.size_bytes();
        Some(Trace {
            folder,
            manifest,
            program,
            paths,
            objects,
            evidence,
            machines: Vec::new(),
            sent: Default::default(),
            calls_planned: Default::default(),
            end,
            is_kept: true,
            cache: Some(cache.clone()),
            columns: LazyColumns::of(columns),
        })
    }

    /// How many ids of each kind there are.
    #[must_use]
    pub fn ids(&self) -> IdCounts {
        IdCounts::of(&self.program, &self.paths, &self.objects)
    }

    /// Reads the columns. The first who asks has them made meanwhile; who asks then reads what is there so far, and on.
    pub(crate) fn with_columns<R>(&self, read: impl FnOnce(&ItemColumns) -> Result<R>) -> Result<R> {
        let cache = self.cache.as_ref().filter(|cache| cache.is_for(self.evidence.events));
        let (columns, writer) = self.columns.get_or(|| ColumnsWriter::new(self.ids(), cache));
        let Some(writer) = writer else { return read(&columns) };
        thread::scope(|scope| {
            let made = scope.spawn(|| self.fill(writer));
            let read = read(&columns);
            made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            read
        })
    }

    fn fill(&self, mut writer: ColumnsWriter) -> Result<()> {
        self.decode(&mut |found| match found {
            LogItem::Item(item) => writer.item(item),
            LogItem::Placed(placement) => writer.placement(placement),
        })?;
        writer.finish(&self.kept_bytes());
        Ok(())
    }

    /// All but the items, as [`KeptTrace`] reads it.
    fn kept_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.program.store(&mut bytes);
        self.paths.store(&mut bytes);
        self.objects.store(&mut bytes);
        self.evidence.store(&mut bytes);
        self.end.store(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests;
