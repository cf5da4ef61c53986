//! Conditions: critical sections that let others go on which come to their condition later.

use longpole_event::{EventKind, PrimitiveId, ThreadId, Time};

use super::Transitions;
use crate::census::BegunWait;
use crate::conditions::MonitorStep;
use crate::dependences::monitor_step;
use crate::objects::ObjectKind;
use crate::observer::Observer;

impl Transitions<'_> {
    /// The thread acquires or releases a mutex with which threads wait for conditions, has waited, or signals.
    pub(super) fn monitor(
        &mut self,
        thread: ThreadId,
        time: Time,
        kind: EventKind,
        observer: &mut impl Observer,
    ) {
        let rules = &self.sources.dependences.conditions;
        if let EventKind::Waited { condition, .. } = kind
            && let Some(known) = self.sources.primitives.get(condition).and_then(BegunWait::told)
        {
            observer.signals_seen(known, rules.signals(condition.0));
        }
        let Some(step) = monitor_step(kind) else { return };
        if self.is_of_interpreter_lock(step) {
            return;
        }
        let mut done = Vec::new();
        let (monitors, tokens) = (&mut self.monitors, &mut self.tokens);
        monitors.take(thread, step, &mut || tokens.make(), &mut done);
        for token in done {
            let what = token.item_kind(|queue| Some(self.tokens.queue(2 * queue)));
            self.emit(thread, time, what, observer);
        }
    }

    /// Whether the step is a part of how an interpreter makes its lock: who has it next is no dependence.
    fn is_of_interpreter_lock(&self, step: MonitorStep) -> bool {
        let (MonitorStep::Waited { condition, .. } | MonitorStep::Signal { condition, .. }) = step else {
            return false;
        };
        let known = self.sources.primitives.get(PrimitiveId(condition));
        known.is_some_and(|known| known.kind == Some(ObjectKind::InterpreterLock))
    }
}
