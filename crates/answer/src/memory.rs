//! What was computed, kept for the next question.
//!
//! A [`LazyValue`] holds one value: who asks for it first computes it, who asks meanwhile waits for that. A [`ValueCache`] has a
//! slot for each of the last few keys; slots do not wait for each other. What failed is not kept: the next one tries again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value that is computed when it is first asked for.
#[derive(Debug)]
pub(crate) struct LazyValue<V>(Mutex<Option<V>>);

impl<V> Default for LazyValue<V> {
    fn default() -> Self {
        LazyValue(Mutex::new(None))
    }
}

impl<V: Clone> LazyValue<V> {
    /// The value; made if there is none yet.
    pub(crate) fn get_or<E>(&self, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let mut value = locked(&self.0);
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        let made = make()?;
        *value = Some(made.clone());
        Ok(made)
    }

    /// The value, if it is there at once: nobody waits for one that is being made.
    fn known(&self) -> Option<V> {
        self.0.try_lock().ok().and_then(|value| value.clone())
    }
}

/// Values of the last few keys.
#[derive(Debug)]
pub struct ValueCache<K, V> {
    /// The one asked for last comes last.
    entries: Mutex<Vec<(K, Arc<LazyValue<V>>)>>,
    most: usize,
}

impl<K: PartialEq, V: Clone> ValueCache<K, V> {
    /// Keeps at most so many values.
    #[must_use]
    pub fn of(most: usize) -> Self {
        ValueCache { entries: Mutex::new(Vec::new()), most }
    }

    /// The key's value; made if there is none yet.
    ///
    /// # Errors
    /// What keeps it from being made.
    pub fn get_or<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let slot = self.slot(key);
        slot.get_or(make)
    }

    /// The key's value, if it is there.
    pub(crate) fn known(&self, key: &K) -> Option<V> {
        let entries = locked(&self.entries);
        let (_, slot) = entries.iter().find(|(known, _)| known == key)?;
        slot.known()
    }

    fn slot(&self, key: K) -> Arc<LazyValue<V>> {
        let mut entries = locked(&self.entries);
        let entry = match entries.iter().position(|(known, _)| *known == key) {
            Some(at) => entries.remove(at),
            None => (key, Arc::default()),
        };
        let slot = Arc::clone(&entry.1);
        entries.push(entry);
        let surplus = entries.len().saturating_sub(self.most);
        entries.drain(..surplus);
        slot
    }
}

/// The guard; a computation that panicked left no value behind, so there is nothing broken to see.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    fn ask(memory: &ValueCache<u32, u32>, key: u32, made: &AtomicUsize) -> u32 {
        let value = memory.get_or(key, || {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(key * 10)
        });
        value.unwrap()
    }

    #[test]
    fn a_value_is_made_once_while_it_is_among_the_last_few() {
        let (memory, made) = (ValueCache::of(2), AtomicUsize::new(0));
        for key in [1, 2, 1, 2, 1] {
            assert_eq!(ask(&memory, key, &made), key * 10);
        }
        assert_eq!(made.load(Ordering::Relaxed), 2);
        ask(&memory, 3, &made);
        ask(&memory, 1, &made);
        assert_eq!(made.load(Ordering::Relaxed), 3, "2 was asked for longest ago");
        ask(&memory, 2, &made);
        assert_eq!(made.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn a_value_is_known_once_it_is_made_and_nobody_waits_for_it() {
        let memory = ValueCache::of(2);
        assert_eq!(memory.known(&1), None);
        let while_made = memory.get_or(1, || Ok::<_, ()>(memory.known(&1).unwrap_or(7)));
        assert_eq!((while_made, memory.known(&1)), (Ok(7), Some(7)));
    }

    #[test]
    fn two_who_ask_the_same_at_once_share_one_computation() {
        let (memory, made) = (ValueCache::of(2), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(ask(&memory, 7, &made), 70));
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn another_question_does_not_wait() {
        let (memory, made) = (ValueCache::of(2), AtomicUsize::new(0));
        let (finish, may_finish) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let memory = &memory;
            let slow = scope.spawn(move || {
                memory.get_or(1, || {
                    begun.send(()).unwrap();
                    may_finish.recv().map(|()| 10)
                })
            });
            has_begun.recv().unwrap();
            assert_eq!(ask(memory, 2, &made), 20, "while 1 is being made");
            finish.send(()).unwrap();
            assert_eq!(slow.join().unwrap(), Ok(10));
        });
    }

    #[test]
    fn what_failed_is_tried_again() {
        let memory: ValueCache<u32, u32> = ValueCache::of(2);
        assert_eq!(memory.get_or(1, || Err("no")), Err("no"));
        assert_eq!(memory.get_or(1, || Ok::<_, &str>(5)), Ok(5));
    }
}
