//! Locks that threads told that they held.

use longpole_event::{PrimitiveId, StackId, ThreadId, Time};

use super::{StackReason, Transitions};
use crate::census::{BegunWait, Identity};
use crate::objects::ObjectKind;
use crate::observer::Observer;
use crate::primitives::KnownPrimitive;
use crate::stacks::PathCut;
use crate::state::Cause;
use crate::timeline::{ItemKind, LockHold};

/// What holds came to; times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldTotals {
    pub(super) outer: Option<PrimitiveId>,
    pub(super) acquisitions: u64,
    pub(super) contended: u64,
    pub(super) nanoseconds: u64,
    pub(super) longest: u64,
}

impl Transitions<'_> {
    /// The last of the holds that the thread tells of ends now.
    pub(super) fn held(
        &mut self,
        thread: ThreadId,
        time: Time,
        (primitive, stack, told): (PrimitiveId, Option<StackId>, HoldTotals),
        observer: &mut impl Observer,
    ) {
        let Some(known) = self.sources.primitives.get(primitive) else { return };
        let held = what(known);
        let word = known.address.map(|address| (known.process, address));
        let live = &self.threads[thread.index()];
        let path = match stack {
            // Others wait for this release: they are enabled by what the thread did with the lock.
            Some(_)
                if live.state.is_on_cpu()
                    && word.is_some_and(|word| self.inferred_wakers.is_awaited(word)) =>
            {
                self.observe(thread, time, (stack, StackReason::Acting), observer)
            }
            Some(_) => observer.path(live.prefix, (stack, PathCut::Stripped)),
            None => live.path,
        };
        if let Some(word) = word.filter(|_| held.kind.cause() == Cause::Lock) {
            self.inferred_wakers.release(word, thread, time);
        }
        if let Some(object) = observer.held(held, path, told.acquisitions) {
            let HoldTotals { acquisitions, contended, nanoseconds, longest, outer } = told;
            let outer = outer.and_then(|outer| self.sources.primitives.get(outer));
            let outer = outer.and_then(|outer| observer.held(what(outer), path, 0));
            let hold = LockHold { object, path, outer, acquisitions, contended, nanoseconds, longest };
            self.emit(thread, time, ItemKind::Held(hold), observer);
        }
    }
}

/// What a thread holds that holds this primitive.
fn what(known: &KnownPrimitive) -> BegunWait {
    BegunWait::told(known).unwrap_or(BegunWait {
        process: known.process,
        kind: ObjectKind::Futex,
        identity: known.address.map(|address| Identity::Word(known.process, address)),
        writes: false,
        is_told: true,
    })
}
