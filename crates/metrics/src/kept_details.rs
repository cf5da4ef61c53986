//! Details of a recording as bytes, part by part, so that each sweep is made once, whatever is asked of it afterwards.

use longpole_trace::{Cause, IdCounts, Stored, restored, stored};

use crate::analysis::{By, Node, Weight};
use crate::contention::{ContendedObject, Contention, Handover, WaiterPair};
use crate::curve::{Bin, ParallelismCurve};
use crate::details::{Details, DetailsDemand};
use crate::execution::{ExecutedGain, Executions, LeastGain, ReplayedChange, ReplayedChanges};
use crate::gains::{Gain, Gains};
use crate::holds::{LockHoldSums, LockHolds};
use crate::lock_uses::ReplayedOrder;
use crate::phases::{Phases, ProposedPhase};
use crate::processors::ProcessorTime;
use crate::regions::MarkedRegion;
use crate::replay::{ReplayRefusal, ReplayedGain};
use crate::row_replays::{NoRowReplays, RowReplays};
use crate::states::{Condition, Spreads, StateRow, StateTable};
use crate::synchronisation::{CallPart, SynchronisationCost};
use crate::waits::{
    Category, Split, StepAction, StepShare, ThreadGroup, Unwanted, WaitClass, WaitClassKind, WaitClassSource,
    WaitStep, Waits,
};

stored! {
    Details {
        contention, holds, synchronisation, calls, phases, states, gains, replays, prospects, executions,
        processors, waits,
    }
    Contention { objects, handovers, sites, wanted, places, threads }
    ContendedObject { lengths, queue, handed, handed_by_waiters, woken_in_vain, vain_work, waiters, in_lockstep, lockstep_with }
    Handover { count, held, cpu, npt }
    WaiterPair { count, waited }
    LockHolds { objects, places, orders }
    LockHoldSums { acquisitions, contended, held, longest }
    SynchronisationCost { kind, objects, site, running, spinning, waited, parts, gain, gain_with_sections }
    CallPart { running, spinning }
    Phases { curve, phases, regions }
    ParallelismCurve { width, elapsed, bins }
    Bin { length, effective, nominal }
    ProposedPhase { from, to, effective, nominal, npt, most }
    MarkedRegion { region, entries, from, to, time }
    StateTable { rows }
    StateRow { own, inclusive }
    Spreads { nominal, effective }
    Gains { by, weight, length, gains, left_out, smallest }
    Gain { node, zeroing, zeroing_inclusive, slack, slack_inclusive }
    RowReplays { error, gains }
    ReplayedGain { low, middle, high }
    Executions { error, unexplained, may_be_stopped, keeps_order, keeps_step, gains, replayed }
    ReplayedChanges { refusal, gains }
    ReplayedChange { free, spread }
    ExecutedGain { free, spread, evened, present, least }
    LeastGain { free, spread }
    ProcessorTime { machine, processor, useful, spinning, overhead, ready, waiting, serial, unexplained }
    Waits { classes, steps, lines, cut, merged }
    WaitClass { source, kind, unwanted, count, time, split, direct, roots, difference }
    WaitClassSource { thread, place, object }
    Split { imbalance, insufficient, contention, unexplained }
    StepShare { step, positive, negative, count }
    WaitStep { group, deed }
    StepAction { category, scope }
    ThreadGroup { threads, start }
}
stored!(enum By {
    0: Procedure, 1: Line, 2: Thread, 3: Process, 4: Machine, 5: Object, 6: ProcessProcedure,
});
stored!(enum Weight { 0: Cpu, 1: Elapsed });
stored!(enum Node {
    0: Procedure(id), 1: Line(id, line), 2: Thread(id), 3: Process(id), 4: Machine(id), 5: Object(id),
    6: ProcessProcedure(process, id),
});
stored!(enum Condition {
    0: Running, 1: Spinning, 2: Overhead, 3: Ready, 4: Blocked(cause), 5: Wanted,
});
stored!(enum NoRowReplays { 0: Refused(refusal), 1: Part, 2: Long(events), 3: Kind });
stored!(enum ReplayRefusal {
    0: TooLong, 1: Missed(part), 2: Stuck(threads), 3: ChangedStuck(threads), 4: UnknownHolds(order),
});
stored!(enum ReplayedOrder { 0: Arbitrated, 1: Untold, 2: Summed, 3: Shared, 4: AtFault });
stored!(enum WaitClassKind { 0: Blocked(cause), 1: Spinning, 2: EndedEarly });
stored!(enum Unwanted { 0: Join, 1: Outside, 2: Spare, 3: End, 4: Runtime });
stored!(enum Category {
    0: Running, 1: Spinning, 2: Overhead, 3: Ready, 4: Blocked(cause), 5: UnderWay, 6: Released, 7: Absent, 8: Rest, 9: Written,
});

impl Details {
    /// These details as bytes.
    #[must_use]
    pub fn kept_bytes(&self) -> Vec<u8> {
        self.stored_bytes()
    }

    /// The details of these bytes; `None` where they are none, or of another recording than one with these ids.
    #[must_use]
    pub fn of_kept_bytes(bytes: &[u8], ids: IdCounts) -> Option<Details> {
        restored::<Details>(bytes, ids).filter(|details| details.is_sound(ids))
    }

    fn is_sound(&self, ids: IdCounts) -> bool {
        let has_objects = |contention: &Contention| contention.objects.len() == ids.objects;
        let has_causes = |time: &ProcessorTime| time.waiting.len() == Cause::ALL.len();
        self.contention.as_ref().is_none_or(has_objects)
            && self.processors.iter().flatten().all(has_causes)
            && self.waits.as_ref().is_none_or(Waits::is_sound)
    }

    /// Takes what a part of a demand asks for. What synchronising takes is kept with the prospects, which know its gains; without
    /// them [`costs`](crate::costs) makes it of the contention.
    #[must_use]
    pub fn take(&mut self, part: &DetailsDemand) -> Details {
        fn take<V: Default>(value: &mut V, is_wanted: bool) -> V {
            if is_wanted { std::mem::take(value) } else { V::default() }
        }
        Details {
            contention: take(&mut self.contention, part.contention),
            holds: take(&mut self.holds, part.contention),
            synchronisation: take(&mut self.synchronisation, part.prospects),
            calls: take(&mut self.calls, part.calls),
            phases: take(&mut self.phases, part.phases),
            states: take(&mut self.states, part.states.is_some()),
            gains: take(&mut self.gains, part.gains.is_some()),
            replays: take(&mut self.replays, part.replays.is_some()),
            prospects: take(&mut self.prospects, part.prospects),
            executions: take(&mut self.executions, part.prospects),
            processors: take(&mut self.processors, part.processors),
            waits: take(&mut self.waits, part.waits.is_some()),
        }
    }

    /// Adds another part.
    pub fn add(&mut self, part: Details) {
        let Details { contention, holds, synchronisation, calls, phases, states, gains, .. } = part;
        let Details { replays, prospects, executions, processors, waits, .. } = part;
        fn add<V>(value: &mut Option<V>, part: Option<V>) {
            if part.is_some() {
                *value = part;
            }
        }
        add(&mut self.contention, contention);
        add(&mut self.holds, holds);
        self.synchronisation.extend(synchronisation);
        add(&mut self.calls, calls);
        add(&mut self.phases, phases);
        add(&mut self.states, states);
        add(&mut self.gains, gains);
        add(&mut self.replays, replays);
        add(&mut self.prospects, prospects);
        add(&mut self.executions, executions);
        add(&mut self.processors, processors);
        add(&mut self.waits, waits);
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, Mutations, random_timelines};
    use longpole_trace::Timelines;
    use proptest::prelude::*;

    use super::*;
    use crate::{Analysis, GainsOf, MetricOptions, analyse, details};

    fn ids(made: &MemoryTimelines) -> IdCounts {
        IdCounts::of(&made.program, &made.paths, &made.objects)
    }

    fn all(by: By) -> DetailsDemand {
        DetailsDemand {
            contention: true,
            calls: true,
            phases: true,
            contended: Vec::new(),
            states: Some(by),
            gains: Some(GainsOf { by, weight: Weight::Elapsed }),
            replays: None,
            replays_all: false,
            prospects: true,
            processors: true,
            waits: Some(by),
            barriers: true,
        }
    }

    fn found(made: &MemoryTimelines, demand: &DetailsDemand) -> (Analysis, Details) {
        let Ok(analysis) = analyse(made, &MetricOptions::default());
        let Ok(details) = details(made, &MetricOptions::default(), demand, &analysis);
        (analysis, details)
    }

    proptest! {
        #[test]
        fn parts_come_back_and_are_the_whole_together(
            made in random_timelines(5, 80),
            by in prop::sample::select(vec![By::Procedure, By::Line, By::Thread, By::Process, By::Object]),
        ) {
            let demand = all(by);
            let (analysis, mut details) = found(&made, &demand);
            let whole = details.kept_bytes();
            let mut again = Details::default();
            for part in demand.parts(made.program(), &analysis) {
                let (_, mut alone) = found(&made, &part);
                let bytes = details.take(&part).kept_bytes();
                prop_assert_eq!(&alone.take(&part).kept_bytes(), &bytes, "{:?}", part);
                again.add(Details::of_kept_bytes(&bytes, ids(&made)).expect("its own bytes"));
            }
            prop_assert_eq!(details.kept_bytes(), Details::default().kept_bytes(), "every part is one's");
            prop_assert_eq!(again.kept_bytes(), whole);
        }
    }

    #[test]
    fn details_of_any_bytes_are_refused_or_sound() {
        let made = longpole_testkit::draw("T1 AAAABB--AA\nT2 B..BBB.AAA\nT1@4 -> T2 unlock");
        let (_, details) = found(&made, &all(By::Procedure));
        let bytes = details.kept_bytes();
        let runs = Mutations::new(vec![bytes], 11).run_for(std::time::Duration::from_secs(2), |bytes| {
            if let Some(Waits { classes, steps, .. }) =
                Details::of_kept_bytes(bytes, ids(&made)).and_then(|details| details.waits)
            {
                for share in classes.iter().flat_map(|class| &class.roots) {
                    let _ = steps.step(share.step).group.map(|group| steps.group(group));
                }
            }
        });
        assert!(runs > 100, "{runs} inputs");
    }
}
