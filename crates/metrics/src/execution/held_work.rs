//! Work that is done while a lock is held: at places of its own, so that it can take another time than what is done there without the lock
//! (metrics.md §5, hold times).
//!
//! ```text
//!   steps     A 4, lock m, A 2, B 1, unlock m, A 1
//!   places    A            A under m, B under m  A
//! ```
//! It needs a plan with locks that go to whoever comes first: only there threads ask for locks and give them back. What a thread waits with a
//! lock in its hands is no work.

use longpole_trace::ObjectId;
use rustc_hash::FxHashMap;

use super::plan::{CompactObjectId, ExecutionPlan, NO_PLACE, PlanStep};

/// A place and which of the sets of locks a thread holds one of.
type HeldPlace = (u32, Vec<bool>);

/// Which sets of locks a thread holds one of, step by step.
struct HeldSets<'a> {
    sets: &'a [Vec<ObjectId>],
    depths: Vec<u32>,
}

impl HeldSets<'_> {
    /// The thread gets a lock, or gives one back.
    fn change(&mut self, lock: CompactObjectId, by: i32) {
        for (depth, set) in self.depths.iter_mut().zip(self.sets) {
            if set.contains(&lock.object()) {
                *depth = depth.saturating_add_signed(by);
            }
        }
    }

    fn held(&self) -> Option<Vec<bool>> {
        let is_any = self.depths.iter().any(|&depth| depth > 0);
        is_any.then(|| self.depths.iter().map(|&depth| depth > 0).collect())
    }
}

impl ExecutionPlan {
    /// Tells work apart that is done under a lock of each of these sets: [`super::PlaceFactors::holding`] has a factor for each.
    pub fn tell_held_work(&mut self, sets: &[Vec<ObjectId>]) {
        if sets.is_empty() {
            return;
        }
        self.held = vec![Vec::new(); self.places.len()];
        let mut known: FxHashMap<HeldPlace, u32> = FxHashMap::default();
        for thread in &mut self.threads {
            let mut held = HeldSets { sets, depths: vec![0; sets.len()] };
            for step in &mut thread.steps {
                match step {
                    PlanStep::Lock(lock) => held.change(*lock, 1),
                    PlanStep::Unlock(lock) => held.change(*lock, -1),
                    PlanStep::Work { place, .. } | PlanStep::Displaced { place, .. }
                        if *place != NO_PLACE =>
                    {
                        let Some(under) = held.held() else { continue };
                        let (places, all_held) = (&mut self.places, &mut self.held);
                        *place = *known.entry((*place, under)).or_insert_with_key(|(place, under)| {
                            places.push(places[*place as usize]);
                            all_held.push(under.clone());
                            places.len() as u32 - 1
                        });
                    }
                    _ => {}
                }
            }
        }
    }

    /// The factor of work at the place by the locks that it is done under.
    pub(super) fn held_factor(&self, place: usize, holding: &[f64]) -> f64 {
        let held = self.held.get(place).map_or(&[][..], Vec::as_slice);
        held.iter().zip(holding).filter(|(is_held, _)| **is_held).map(|(_, factor)| factor).product()
    }
}
