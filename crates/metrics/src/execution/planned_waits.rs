//! Steps for what threads wait for.

use longpole_event::{ThreadId, Time};
use longpole_trace::{Cause, ObjectId, PathId, State};

use super::compiler::Compiler;
use super::plan::{CompactObjectId, NodeId, PlanStep, SleepTime};
use super::polls::take_row;
use crate::charging::ChargePart;

impl Compiler<'_> {
    /// What the thread waited and nothing explained passes as it did.
    pub(super) fn pass_waits(&mut self, thread: ThreadId, time: Time) {
        let planned = &mut self.threads[thread.index()];
        let path = planned.path;
        let (spun, mut away) = (std::mem::take(&mut planned.spun), std::mem::take(&mut planned.away));
        if self.has_goroutines
            && matches!(planned.state, State::Blocked(Cause::Park | Cause::Poll | Cause::PollTimeout))
        {
            // A thread without a goroutine holds up none while others run them.
            let blocked = away;
            away = away.min(self.idle - planned.idle_before);
            if matches!(planned.state, State::Blocked(Cause::Poll | Cause::PollTimeout))
                && let Some(idle) = SleepTime::new(away)
            {
                // A thread that waits for the next timer of all goroutines: whether that is at a moment or after a time is not known.
                self.plan.unexplained += blocked;
                self.push(thread, PlanStep::Sleep { time: idle, moment: time.nanoseconds() });
                away = 0;
            }
        }
        if spun > 0 {
            self.plan.unexplained += spun;
            let place = self.place(thread, ChargePart::At(path));
            self.push(thread, PlanStep::Spin { place, time: spun });
            self.threads[thread.index()].spun_until = Some(time);
        }
        if away > 0 {
            self.pass_away(thread, time, away);
        }
    }

    /// The thread was off the processors for so long up to this moment.
    fn pass_away(&mut self, thread: ThreadId, ended_at: Time, away: u64) {
        let planned = &mut self.threads[thread.index()];
        let (object, saw_end) = (planned.object.take(), std::mem::take(&mut planned.saw_end));
        let state = planned.state;
        let request =
            object.filter(|_| state == State::Blocked(Cause::Request)).and_then(CompactObjectId::new);
        let is_others_pace = self.is_others_pace(state, object);
        let (asleep, moment) = (SleepTime::new(away), ended_at.nanoseconds());
        let step = match (state, asleep) {
            // The rest of the sleep in which it was told to end, or another one ended, whenever that is.
            _ if saw_end || self.ends.is_told(thread) => {
                PlanStep::Away { time: away, io: false, request: None }
            }
            // Work before it that gets shorter makes the wait longer.
            (State::Blocked(Cause::Timer), _) => PlanStep::Until { moment },
            (
                State::Blocked(Cause::Poll | Cause::PollTimeout | Cause::Sleep | Cause::PollingSleep),
                Some(time),
            ) => PlanStep::Sleep { time, moment },
            (_, Some(time)) if is_others_pace => PlanStep::Sleep { time, moment },
            (State::Blocked(cause), Some(time)) if self.time_limits.can_end(cause) => {
                self.time_limits.end(thread, ended_at);
                self.watcher.end_wait(thread, true);
                PlanStep::Sleep { time, moment }
            }
            (State::Blocked(Cause::Io | Cause::PageFault), _) => {
                PlanStep::Away { time: away, io: true, request }
            }
            _ => PlanStep::Away { time: away, io: false, request },
        };
        if !saw_end && (is_others_pace || self.looks_again(thread)) {
            // It ended at a moment (a timer that ticks, a client that sends) or after a time (a time-out, one that answers): which is not
            // known. Nor is what a loop looks for between its sleeps.
            self.plan.unexplained += away;
        }
        self.push(thread, step);
    }

    /// Whether it waits for what another program reads or writes, in its own time: not for one that it asked, which begins then.
    fn is_others_pace(&self, state: State, object: Option<ObjectId>) -> bool {
        let was_asked = || object.is_some_and(|object| self.objects.get(object).service().is_some());
        match state {
            State::Blocked(Cause::Pipe | Cause::Terminal) => true,
            State::Blocked(Cause::Socket) => !was_asked(),
            _ => false,
        }
    }

    /// Whether the thread waits for the clock, and what it looks for after that is not known.
    fn looks_again(&self, thread: ThreadId) -> bool {
        let state = self.threads[thread.index()].state;
        matches!(state, State::Blocked(Cause::Poll | Cause::PollTimeout | Cause::PollingSleep))
    }

    /// Whether the thread waits for the clock.
    pub(super) fn sleeps(&self, thread: ThreadId) -> bool {
        matches!(self.threads[thread.index()].state, State::Blocked(cause) if cause.is_of_clock())
    }

    /// The thread sees after its present sleep, which was so long, that another one has ended, as it looked for after those before.
    pub(super) fn take_polls(&mut self, thread: ThreadId, slept: u64) {
        let taken = take_row(&mut self.plan.threads[thread.index()].steps, slept);
        if self.looks_again(thread) {
            self.plan.unexplained = self.plan.unexplained.saturating_sub(taken);
        }
        self.threads[thread.index()].saw_end = true;
    }

    /// The busy-wait that was over at this moment was at the path that was found then.
    pub(super) fn place_spin(&mut self, thread: ThreadId, time: Time, path: PathId) {
        if self.threads[thread.index()].spun_until.take() != Some(time) {
            return;
        }
        let found = self.place(thread, ChargePart::At(path));
        if let Some(PlanStep::Spin { place, .. }) = self.plan.threads[thread.index()].steps.last_mut() {
            *place = found;
        }
    }

    pub(super) fn wait(
        &mut self,
        thread: ThreadId,
        (node, releases): (NodeId, u32),
        object: Option<ObjectId>,
    ) {
        let planned = &mut self.threads[thread.index()];
        let spins = planned.state == State::Spinning && planned.away == 0;
        (planned.spun, planned.away) = (0, 0);
        let object = object.and_then(CompactObjectId::new);
        planned.arbitrated.waits(self.plan.threads[thread.index()].steps.len());
        if let State::Blocked(cause) = planned.state {
            self.time_limits.wait(thread, cause, node);
            self.watcher.end_wait(thread, false);
        }
        self.push(thread, PlanStep::Wait { node, releases, object, spins });
    }

    /// Whether the thread waits, or did until now.
    pub(super) fn waits(&self, thread: ThreadId) -> bool {
        let planned = &self.threads[thread.index()];
        matches!(planned.state, State::Absent | State::Blocked(_) | State::Spinning) || planned.spun > 0
    }
}
