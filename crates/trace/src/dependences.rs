//! What the first reading finds of dependences for which nobody need have waited.

use longpole_event::{EventKind, PrimitiveId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::conditions::{ConditionRules, ConditionSites, MonitorStep};
use crate::objects::{ObjectId, ObjectKind, Objects, Signals};
use crate::transitions::{KnownCount, KnownStream};

/// What follows from dependences that no collector shows, for the objects that threads waited for.
pub(crate) fn unseen(objects: &Objects, has_counts: bool) -> Vec<String> {
    let has = |kind| objects.all().iter().any(|object| object.kind == kind);
    let mut unseen = Vec::new();
    if has(ObjectKind::Semaphore) && !has_counts {
        unseen.push("posts of semaphores for which no thread waited were not seen (--locks shows them)");
    }
    let of_conditions = |signals| {
        let all = objects.all().iter().enumerate();
        let mut of = all.filter(|(_, object)| object.kind == ObjectKind::Condition);
        of.find(|&(index, _)| objects.signals(ObjectId(index as u32)) == signals)
    };
    if of_conditions(Signals::Ending).is_some() {
        unseen.push(
            "signals of conditions for which no thread waited, as in queues that hold items, were not seen",
        );
    }
    let so = |what: &str| format!("{what}: gains of what comes before them can be predicted too large");
    let mut notes: Vec<String> = unseen.into_iter().map(so).collect();
    if let Some((_, condition)) = of_conditions(Signals::Irregular) {
        notes.push(format!(
            "waits for condition `{}` follow no count of signals, as in batches or attempts that may fail: gains that reach \
             other threads through it can be wrong in either direction",
            condition.name
        ));
    }
    notes
}

/// The whole run's operations on what threads depend on each other by, for one log.
#[derive(Debug, Default)]
pub(crate) struct LogDependences {
    /// Streams by channel.
    pub(crate) streams: FxHashMap<u64, KnownStream>,
    /// Semaphores, from one initialisation to the next.
    counts: FxHashMap<PrimitiveId, Vec<KnownCount>>,
    /// Threads whose end another thread waited for, and by whom.
    pub(crate) joined: FxHashSet<(ThreadId, ThreadId)>,
    /// Where threads wait for conditions and signal them.
    pub(crate) sites: ConditionSites,
    /// What follows from that.
    pub(crate) conditions: ConditionRules,
}

/// What an event says of a mutex or a condition.
pub(crate) fn monitor_step(kind: EventKind) -> Option<MonitorStep> {
    Some(match kind {
        EventKind::Lock { mutex, stack } => {
            let mutex = mutex.0;
            stack
                .map_or(MonitorStep::Unfollowed { mutex }, |stack| MonitorStep::Lock { mutex, site: stack.0 })
        }
        EventKind::Unlock { mutex } => MonitorStep::Unlock { mutex: mutex.0 },
        EventKind::Waited { condition, mutex, granted, .. } => {
            MonitorStep::Waited { condition: condition.0, mutex: mutex.0, granted }
        }
        EventKind::Signal { condition, broadcast, .. } => {
            MonitorStep::Signal { condition: condition.0, broadcast }
        }
        _ => return None,
    })
}

impl LogDependences {
    /// Takes the next event of the log.
    pub(crate) fn take(&mut self, thread: ThreadId, kind: EventKind) {
        match kind {
            EventKind::Joined { ended } => _ = self.joined.insert((ended, thread)),
            EventKind::Write { channel, position, bytes } => {
                self.streams.entry(channel).or_default().write(position, bytes);
            }
            EventKind::Read { channel, position, bytes } => {
                self.streams.entry(channel).or_default().read(position.saturating_add(bytes));
            }
            EventKind::Initialise { primitive, count } => {
                let epochs = self.epochs(primitive);
                epochs.push(KnownCount::of_initial(count));
            }
            EventKind::Post { primitive, count } => self.count_now(primitive).post(thread, count),
            EventKind::Take { primitive } => self.count_now(primitive).take(thread),
            kind => {
                if let Some(step) = monitor_step(kind) {
                    self.sites.take(thread, step);
                }
            }
        }
    }

    /// Whether threads told of posts and takes of semaphores.
    pub(crate) fn has_counts(&self) -> bool {
        !self.counts.is_empty()
    }

    /// What is known of a semaphore after so many initialisations.
    pub(crate) fn count(&self, semaphore: PrimitiveId, epoch: usize) -> Option<&KnownCount> {
        self.counts.get(&semaphore)?.get(epoch)
    }

    fn epochs(&mut self, semaphore: PrimitiveId) -> &mut Vec<KnownCount> {
        self.counts.entry(semaphore).or_insert_with(|| vec![KnownCount::default()])
    }

    fn count_now(&mut self, semaphore: PrimitiveId) -> &mut KnownCount {
        self.epochs(semaphore).last_mut().expect("there is one before any initialisation")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Object;

    #[test]
    fn only_what_threads_waited_for_can_hide_dependences() {
        let mut objects = Objects::default();
        let add = |objects: &mut Objects, kind| objects.add(Object { kind, name: String::new() });
        add(&mut objects, ObjectKind::Mutex);
        assert_eq!(unseen(&objects, false), Vec::<String>::new());
        add(&mut objects, ObjectKind::Semaphore);
        assert!(unseen(&objects, false)[0].starts_with("posts of semaphores"));
        assert_eq!(unseen(&objects, true), Vec::<String>::new());
        add(&mut objects, ObjectKind::Condition);
        assert!(unseen(&objects, true)[0].starts_with("signals of conditions"));
    }
}
