//! Children that a process starts as others end, so many at a time: the jobs of `make -j2`, of `xargs -P2`.
//!
//! ```text
//!   recorded    AAAAAAAAAAAAAA                 A half as long    AAAAAAA
//!               BBBBBBBB CCCCCC DDDD                             BBBBBBBB
//!                       ^ any child has ended: the next job              CCCCCC   where A was, not behind B
//! ```
//! What the process waits for is that one more child has ended, whichever that is: the n-th wait is for n ends. So it is where as many
//! children were alive as ever, and it starts the next one then. Other waits are for their child, as what `make` links needs what it
//! compiled.
//!
//! Shells, too, ask for the end of any child when they want that of a certain one; but then they start nothing when another one ends.

use std::collections::BTreeMap;

use longpole_event::{ProcessId, ThreadId};
use longpole_trace::{Cause, ObjectId, ObjectKind, Objects, Program, State};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ends::ENDING;
use super::plan::{ExecutionPlan, NodeId, PlanStep};

/// What happens to the children of one process.
#[derive(Clone, Copy, Debug)]
enum ChildEvent {
    Begin(ProcessId),
    End(ProcessId),
    /// The parent depends on the end of one, as the node is released; `of_any`: that of any would have done.
    Wait {
        child: ProcessId,
        node: NodeId,
        of_any: bool,
    },
    /// The parent goes on when the node is released, by the end of whichever child does that.
    Reap(NodeId),
}

/// A wait for what a child does, which may be its end.
#[derive(Clone, Copy, Debug)]
struct ChildWait {
    /// Position among the events of the parent's children.
    place: usize,
    node: NodeId,
    of_any: bool,
    /// CPU time of the child then.
    used: u64,
}

/// What the parent waits for at a node.
#[derive(Clone, Copy, Debug)]
struct AwaitedEnds {
    /// The node that all children of the parent release.
    of_any: NodeId,
    /// Ends of how many of them.
    count: u32,
    /// Whether it waits for this one, too.
    of_child: bool,
}

/// Processes and the ends of their children.
#[derive(Debug)]
pub(super) struct JobSlots<'a> {
    program: &'a Program,
    objects: &'a Objects,
    /// In the order of time.
    of_parent: BTreeMap<ProcessId, Vec<ChildEvent>>,
    /// By child.
    latest: FxHashMap<ProcessId, ChildWait>,
}

impl<'a> JobSlots<'a> {
    pub fn new(program: &'a Program, objects: &'a Objects) -> JobSlots<'a> {
        JobSlots { program, objects, of_parent: BTreeMap::new(), latest: FxHashMap::default() }
    }

    /// The thread begins.
    pub fn begin(&mut self, thread: ThreadId) {
        if let Some((child, parent)) = self.first_of_child(thread) {
            self.of_parent.entry(parent).or_default().push(ChildEvent::Begin(child));
        }
    }

    /// The thread ends, after so much CPU time.
    pub fn end(&mut self, thread: ThreadId, used: u64) {
        let Some((child, parent)) = self.first_of_child(thread) else { return };
        let events = self.of_parent.entry(parent).or_default();
        if let Some(ChildWait { place, node, of_any, used: then }) = self.latest.remove(&child)
            && used - then <= ENDING
        {
            events.insert(place, ChildEvent::Wait { child, node, of_any });
            let siblings = self.latest.iter_mut().filter(|(other, wait)| {
                wait.place >= place && self.program.processes[other.index()].parent == Some(parent)
            });
            siblings.for_each(|(_, wait)| wait.place += 1);
        }
        events.push(ChildEvent::End(child));
    }

    /// The thread, in this state, waits for what the other does, which used so much CPU time, until the node is released.
    pub fn wait(
        &mut self,
        (thread, state, object): (ThreadId, State, Option<ObjectId>),
        (source, used): (ThreadId, u64),
        node: NodeId,
    ) {
        let Some((child, parent)) = self.first_of_child(source) else { return };
        let State::Blocked(cause) = state else { return };
        if self.program.threads[thread.index()].process != parent {
            return;
        }
        let of_any = match (cause, object.map(|object| self.objects.get(object).kind)) {
            // For what becomes of a child that was made by vfork.
            (Cause::Child, None) => return,
            (Cause::Child, kind) => kind == Some(ObjectKind::AnyProcessEnd),
            (Cause::Poll | Cause::PollTimeout | Cause::Sleep | Cause::PollingSleep | Cause::Signal, _) => {
                true
            }
            _ => false,
        };
        let place = self.of_parent.get(&parent).map_or(0, Vec::len);
        self.latest.insert(child, ChildWait { place, node, of_any, used });
    }

    /// The thread saw the end of another one, or of a process, by this node.
    pub fn reap(&mut self, thread: ThreadId, node: NodeId) {
        if let Some(events) = self.of_parent.get_mut(&self.program.threads[thread.index()].process) {
            events.push(ChildEvent::Reap(node));
        }
    }

    /// Lets parents that keep so many jobs alive wait for the end of any.
    pub fn into_plan(self, plan: &mut ExecutionPlan) {
        let families = self.of_parent.values().filter_map(|events| Some((events, slot_waits(events)?)));
        let families: Vec<(&Vec<ChildEvent>, Vec<bool>)> = families.collect();
        if families.is_empty() {
            return;
        }
        let reaped = self.reaped(families.iter().flat_map(|(events, _)| *events), plan);
        let mut changes = SlotChanges::default();
        for (events, slots) in families {
            let of_any = NodeId(plan.nodes as u32);
            plan.nodes += 1;
            changes.add(events, &slots, (of_any, &reaped));
        }
        changes.apply(plan);
    }

    /// Nodes by which parents saw ends: whose.
    fn reaped<'e>(
        &self,
        events: impl Iterator<Item = &'e ChildEvent>,
        plan: &ExecutionPlan,
    ) -> FxHashMap<NodeId, ProcessId> {
        let node = |event: &ChildEvent| if let ChildEvent::Reap(node) = *event { Some(node) } else { None };
        let nodes: FxHashSet<NodeId> = events.filter_map(node).collect();
        let mut reaped = FxHashMap::default();
        if nodes.is_empty() {
            return reaped;
        }
        for (index, thread) in plan.threads.iter().enumerate().take(self.program.threads.len()) {
            let Some((child, _)) = self.first_of_child(ThreadId::from_index(index)) else { continue };
            let released = thread.steps.iter().rev().find_map(|step| match *step {
                PlanStep::Release(node) if nodes.contains(&node) => Some(node),
                _ => None,
            });
            reaped.extend(released.map(|node| (node, child)));
        }
        reaped
    }

    /// The child of which this is the first thread, and its parent.
    fn first_of_child(&self, thread: ThreadId) -> Option<(ProcessId, ProcessId)> {
        let thread = &self.program.threads[thread.index()];
        let process = &self.program.processes[thread.process.index()];
        let parent = process.parent.filter(|_| process.pid == thread.tid)?;
        Some((thread.process, parent))
    }
}

/// By event: whether it is a wait for a place among those that are alive, which the parent fills then; `None` where the parent waits for
/// certain children.
fn slot_waits(events: &[ChildEvent]) -> Option<Vec<bool>> {
    let full = most_alive(events);
    if full < 2 {
        return None;
    }
    let last_begin = events.iter().rposition(|event| matches!(event, ChildEvent::Begin(_)))?;
    let mut slots = vec![false; events.len()];
    let mut alive: Vec<ProcessId> = Vec::new();
    let (mut filled, mut left_empty, mut passes_youngest) = (0, 0, false);
    for (index, event) in events[..last_begin].iter().enumerate() {
        if let ChildEvent::Wait { child, of_any: true, .. } = *event
            && alive.len() == full
        {
            let mut next = events[index + 1..].iter();
            slots[index] = next
                .find(|event| matches!(event, ChildEvent::Begin(_) | ChildEvent::Wait { .. }))
                .is_some_and(|event| matches!(event, ChildEvent::Begin(_)));
            *if slots[index] { &mut filled } else { &mut left_empty } += 1;
            passes_youngest |= slots[index] && alive.last() != Some(&child);
        }
        change_alive(&mut alive, event);
    }
    (passes_youngest && filled >= left_empty).then_some(slots)
}

/// How many children are alive at most.
fn most_alive(events: &[ChildEvent]) -> usize {
    let mut alive = Vec::new();
    let count = |event| {
        change_alive(&mut alive, event);
        alive.len()
    };
    events.iter().map(count).max().unwrap_or(0)
}

/// Those that are alive after the event, the youngest last.
fn change_alive(alive: &mut Vec<ProcessId>, event: &ChildEvent) {
    match *event {
        ChildEvent::Begin(child) => alive.push(child),
        ChildEvent::End(child) | ChildEvent::Wait { child, .. } => alive.retain(|&other| other != child),
        ChildEvent::Reap(_) => {}
    }
}

/// How the steps of a plan change.
#[derive(Debug, Default)]
struct SlotChanges {
    /// By node that a parent waits for.
    waits: FxHashMap<NodeId, AwaitedEnds>,
    /// By the node that a child's end releases: what it also releases.
    releases: FxHashMap<NodeId, NodeId>,
}

impl SlotChanges {
    fn add(
        &mut self,
        events: &[ChildEvent],
        slots: &[bool],
        (of_any, reaped): (NodeId, &FxHashMap<NodeId, ProcessId>),
    ) {
        // Of each child the node by which its end is seen first.
        let mut seen: FxHashMap<ProcessId, NodeId> = FxHashMap::default();
        for event in events {
            match *event {
                ChildEvent::Wait { child, node, .. } => _ = seen.insert(child, node),
                ChildEvent::Reap(node) => {
                    reaped.get(&node).map(|&child| *seen.entry(child).or_insert(node));
                }
                ChildEvent::Begin(_) | ChildEvent::End(_) => {}
            }
        }
        self.releases.extend(seen.values().map(|&node| (node, of_any)));
        let mut ended: FxHashSet<ProcessId> = FxHashSet::default();
        let mut awaited: FxHashMap<ProcessId, AwaitedEnds> = FxHashMap::default();
        for (event, &is_slot) in events.iter().zip(slots) {
            let (child, node, of_child) = match *event {
                ChildEvent::Wait { child, node, .. } => (child, Some(node), !is_slot),
                ChildEvent::Reap(node) => match reaped.get(&node) {
                    Some(&child) => (child, Some(node), false),
                    None => continue,
                },
                ChildEvent::End(child) => (child, None, false),
                ChildEvent::Begin(_) => continue,
            };
            if seen.contains_key(&child) {
                ended.insert(child);
            }
            let count = ended.len() as u32;
            let Some(node) = node else { continue };
            let ends = *awaited.entry(child).or_insert(AwaitedEnds { of_any, count, of_child });
            self.waits.insert(node, ends);
        }
    }

    fn apply(&self, plan: &mut ExecutionPlan) {
        if self.waits.is_empty() {
            return;
        }
        let changes = |step: &PlanStep| match step {
            PlanStep::Release(node) => self.releases.contains_key(node),
            PlanStep::Wait { node, .. } => self.waits.contains_key(node),
            _ => false,
        };
        for thread in plan.threads.iter_mut().filter(|thread| thread.steps.iter().any(changes)) {
            let steps = std::mem::take(&mut thread.steps);
            thread.steps = steps.into_iter().flat_map(|step| self.changed(step)).flatten().collect();
        }
    }

    /// The step, and another one.
    fn changed(&self, step: PlanStep) -> [Option<PlanStep>; 2] {
        match step {
            PlanStep::Release(node) => {
                [Some(step), self.releases.get(&node).map(|&any| PlanStep::Release(any))]
            }
            PlanStep::Wait { node, object, spins, .. } => match self.waits.get(&node) {
                Some(&AwaitedEnds { of_any, count, of_child }) => {
                    let of_any = PlanStep::Wait { node: of_any, releases: count, object, spins };
                    [Some(step).filter(|_| of_child), Some(of_any)]
                }
                None => [Some(step), None],
            },
            _ => [Some(step), None],
        }
    }
}

#[cfg(test)]
mod tests;
