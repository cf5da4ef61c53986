//! The third reading of the logs: the items of the timelines, now that the survey knows every path and object.

use longpole_event::{Event, EventKind, MachineId, StackId, ThreadId, Time};
use longpole_recording::Manifest;

use crate::bursts::{Burst, TailTurns};
use crate::census::BegunWait;
use crate::error::Result;
use crate::objects::ObjectId;
use crate::observer::Observer;
use crate::path_cache::{Prefix, PrefixId};
use crate::paths::{PathId, Paths, PlaceId};
use crate::stacks::PathCut;
use crate::timeline::{Item, Placement};
use crate::trace::{Surveyed, Trace, transitions_of};
use crate::transitions::Transitions;

/// What the logs tell.
pub(crate) enum LogItem<'a> {
    /// An item of the timelines.
    Item(&'a Item),
    /// A thread is on another processor than before.
    Placed(Placement),
}

impl Trace {
    /// Decodes the logs: items in time order, and placements.
    pub(crate) fn decode(&self, show: &mut dyn FnMut(LogItem<'_>)) -> Result<()> {
        if self.is_kept {
            return Trace::read(self.folder.clone(), self.manifest.clone(), None)?.decode(show);
        }
        let mut replays = transitions_of(&self.machines, (&self.sent, &self.calls_planned));
        let mut turns: Vec<_> = self.machines.iter().map(|machine| machine.tails.turns()).collect();
        let mut merge = self.merge()?;
        let mut finder = PlacementFinder::new(&self.manifest, self.program.threads.len());
        // Events can come after the end that the manifest states, from descendants that live on or by damage.
        let mut end = self.end;
        while let Some((machine, event)) = merge.next()? {
            end = end.max(event.time);
            self.advance(&mut replays, &mut turns, event.time, show);
            let (replayed, turns) = (&self.machines[machine.index()], &mut turns[machine.index()]);
            if let Some(placement) = finder.found(machine, replayed.base, event) {
                show(LogItem::Placed(placement));
            }
            replays[machine.index()]
                .apply(event, &mut Replayer { replayed, paths: &self.paths, turns, show });
        }
        self.advance(&mut replays, &mut turns, end, show);
        for ((transitions, replayed), turns) in replays.iter_mut().zip(&self.machines).zip(&mut turns) {
            transitions.finish(end, &mut Replayer { replayed, paths: &self.paths, turns, show });
        }
        Ok(())
    }

    /// Tells what happens on any machine before `time` without an event of its own.
    fn advance(
        &self,
        replays: &mut [Transitions<'_>],
        turns: &mut [TailTurns],
        time: Time,
        show: &mut dyn FnMut(LogItem<'_>),
    ) {
        let next = |replay: &Transitions<'_>| {
            let next = [replay.next_overhead(), replay.next_release(), replay.next_spin_tail()];
            next.into_iter().flatten().min().filter(|&from| from < time)
        };
        while let Some((from, index)) =
            (0..replays.len()).filter_map(|index| Some((next(&replays[index])?, index))).min()
        {
            let (replayed, turns) = (&self.machines[index], &mut turns[index]);
            let observer = &mut Replayer { replayed, paths: &self.paths, turns, show };
            let replay = &mut replays[index];
            if replay.next_overhead() == Some(from) {
                replay.begin_overhead(observer);
            } else if replay.next_spin_tail() == Some(from) {
                replay.begin_spin_tail(observer);
            } else {
                replay.release_next(observer);
            }
        }
    }
}

/// Finds where threads are put.
struct PlacementFinder {
    last: Vec<Option<u16>>,
    /// By machine. What an agent alone tells says nothing of processors.
    knows_processors: Vec<bool>,
}

impl PlacementFinder {
    fn new(manifest: &Manifest, threads: usize) -> PlacementFinder {
        let machines = manifest.machines.iter();
        PlacementFinder {
            last: vec![None; threads],
            knows_processors: machines.map(|machine| machine.collector.name != "agent").collect(),
        }
    }

    /// Where the event puts its thread, if that is somewhere else than before; `base` is added to the log's ids.
    fn found(&mut self, machine: MachineId, base: u32, event: &Event) -> Option<Placement> {
        if event.kind != EventKind::In || !self.knows_processors[machine.index()] {
            return None;
        }
        let thread = ThreadId(base + event.thread.0);
        let last = self.last.get_mut(thread.index()).filter(|last| **last != Some(event.cpu))?;
        *last = Some(event.cpu);
        Some(Placement { time: event.time, thread, processor: event.cpu })
    }
}

/// The observer of a replay after the survey.
struct Replayer<'a> {
    replayed: &'a Surveyed,
    paths: &'a Paths,
    turns: &'a mut TailTurns,
    show: &'a mut dyn FnMut(LogItem<'_>),
}

impl Observer for Replayer<'_> {
    fn prefix(&mut self, prefix: Prefix) -> PrefixId {
        self.replayed.cache.find_prefix(prefix).unwrap_or(PrefixId::ROOT)
    }

    fn prefix_path(&self, prefix: PrefixId) -> PathId {
        self.replayed.cache.get(prefix).path
    }

    fn call(&mut self, caller: PathId, place: PlaceId) -> PathId {
        self.paths.find(caller, place).unwrap_or(caller)
    }

    fn paths(&self) -> &Paths {
        self.paths
    }

    fn path(&mut self, prefix: PrefixId, stack: (Option<StackId>, PathCut)) -> PathId {
        let cache = &self.replayed.cache;
        cache.find(&self.replayed.stacks, prefix, stack).unwrap_or_else(|| cache.get(prefix).path)
    }

    fn worked(&mut self, thread: ThreadId, burst: Burst) -> PathId {
        self.replayed.tails.charged(thread, burst, self.turns)
    }

    fn awaited(&mut self, wait: Option<BegunWait>, path: Option<PathId>) -> Option<ObjectId> {
        self.replayed.objects.find(wait?, path, self.paths)
    }

    fn held(&mut self, held: BegunWait, path: PathId, _acquisitions: u64) -> Option<ObjectId> {
        self.replayed.objects.find(held, Some(path), self.paths)
    }

    fn item(&mut self, item: Item) {
        (self.show)(LogItem::Item(&item));
    }
}
