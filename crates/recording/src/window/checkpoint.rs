//! How the threads of a run are now: what a segment begins with, so that it can be read without those before it.
//!
//! ```text
//!   creator  Continue                 alive, created elsewhere
//!   worker   Continue, Exec, Name     with its creator and the place of its creation, so that its call paths begin as ever
//!            In, Enter, Await, Out    on a processor, in a region, waiting: all at the moment of the checkpoint
//! ```

use std::collections::BTreeMap;

use longpole_event::{Blocking, Event, EventKind, ThreadId, Time};
use rustc_hash::{FxHashMap, FxHashSet};

/// Marks of one thread that are kept: beyond, its innermost are missing at the next checkpoint.
const MOST_MARKS: usize = 1024;
/// Streams whose position is known; beyond, those that were not used for longest are forgotten.
const MOST_STREAMS: usize = 200_000;
/// Threads from which on those that have ended are forgotten before the next checkpoint, too.
const MANY_THREADS: usize = 2048;

/// One thread.
#[derive(Debug)]
struct ThreadNow {
    /// [`EventKind::Continue`] as it would be said now.
    begin: EventKind,
    program: Option<EventKind>,
    title: Option<EventKind>,
    name: Option<EventKind>,
    /// Its last switch, on which processor.
    switch: Option<(u16, EventKind)>,
    /// It waits no longer, though it has no processor.
    is_woken: bool,
    entered: Vec<EventKind>,
    locked: Vec<EventKind>,
    awaits: Option<EventKind>,
    arrived: Option<EventKind>,
}

/// All threads, and how far streams of bytes were written.
#[derive(Debug, Default)]
pub(super) struct ThreadsNow {
    threads: BTreeMap<ThreadId, ThreadNow>,
    /// By channel: where its last write ended, and the segment that says so.
    streams: FxHashMap<u64, (u64, u32)>,
    /// Threads after the last time that ended ones were forgotten.
    left: usize,
}

impl ThreadsNow {
    /// Follows an event.
    pub(super) fn follow(&mut self, event: &Event) {
        let kind = event.kind;
        if let EventKind::Start { creator, stack } = kind {
            let begin = EventKind::Continue { creator, stack, is_alive: true };
            self.threads.insert(event.thread, ThreadNow::new(begin));
            if self.threads.len() > MANY_THREADS.max(2 * self.left) {
                self.forget_ended();
            }
            return;
        }
        if let EventKind::Write { channel, position, bytes } = kind {
            self.streams.entry(channel).or_insert((0, u32::MAX)).0 = position.saturating_add(bytes);
            return;
        }
        let Some(thread) = self.threads.get_mut(&event.thread) else { return };
        match kind {
            EventKind::Exit => thread.end(),
            EventKind::Exec { .. } => {
                (thread.program, thread.title) = (Some(kind), None);
                thread.entered.clear();
            }
            EventKind::Title { .. } => thread.title = Some(kind),
            EventKind::Name { .. } => thread.name = Some(kind),
            EventKind::In | EventKind::Out { .. } => {
                (thread.switch, thread.is_woken) = (Some((event.cpu, kind)), false);
            }
            EventKind::Wake { .. } => thread.is_woken = true,
            EventKind::Enter { .. } => push(&mut thread.entered, kind),
            EventKind::Leave => drop(thread.entered.pop()),
            EventKind::Lock { .. } => push(&mut thread.locked, kind),
            EventKind::Unlock { mutex } => thread.unlock(mutex),
            EventKind::Await { .. } => thread.awaits = Some(kind),
            EventKind::Proceed => thread.awaits = None,
            EventKind::Arrive { .. } => thread.arrived = Some(kind),
            EventKind::Depart { .. } => thread.arrived = None,
            _ => {}
        }
    }

    /// What the segment has to say of a stream before this event of it: positions count from the stream's beginning.
    pub(super) fn stream_before(&mut self, event: &Event, segment: u32) -> Option<Event> {
        let (EventKind::Write { channel, .. } | EventKind::Read { channel, .. }) = event.kind else {
            return None;
        };
        if self.streams.len() > MOST_STREAMS {
            self.streams.retain(|_, stream| stream.1.saturating_add(1) >= segment && stream.1 != u32::MAX);
        }
        let stream = self.streams.entry(channel).or_insert((0, u32::MAX));
        let is_said = std::mem::replace(&mut stream.1, segment) == segment;
        let kind = EventKind::Write { channel, position: stream.0, bytes: 0 };
        (!is_said && stream.0 > 0).then_some(Event { kind, ..*event })
    }

    /// How everything is at this time. Forgets threads that have ended and created none that lives.
    pub(super) fn checkpoint(&mut self, time: Time) -> Vec<Event> {
        self.forget_ended();
        let mut events = Vec::new();
        for (&thread, now) in &self.threads {
            now.tell(&mut |cpu, kind| events.push(Event { time, cpu, thread, kind }));
        }
        events
    }

    fn forget_ended(&mut self) {
        let mut needed = FxHashSet::default();
        // Creators have smaller ids than whom they create.
        for (&thread, now) in self.threads.iter().rev() {
            if now.is_alive() || needed.contains(&thread) {
                needed.insert(thread);
                needed.extend(now.creator());
            }
        }
        self.threads.retain(|thread, _| needed.contains(thread));
        self.left = self.threads.len();
    }
}

impl ThreadNow {
    fn new(begin: EventKind) -> ThreadNow {
        ThreadNow {
            begin,
            program: None,
            title: None,
            name: None,
            switch: None,
            is_woken: false,
            entered: Vec::new(),
            locked: Vec::new(),
            awaits: None,
            arrived: None,
        }
    }

    fn creator(&self) -> Option<ThreadId> {
        let EventKind::Continue { creator, .. } = self.begin else { return None };
        creator
    }

    fn is_alive(&self) -> bool {
        matches!(self.begin, EventKind::Continue { is_alive: true, .. })
    }

    fn end(&mut self) {
        if let EventKind::Continue { is_alive, .. } = &mut self.begin {
            *is_alive = false;
        }
        (self.switch, self.awaits, self.arrived) = (None, None, None);
        (self.entered, self.locked) = (Vec::new(), Vec::new());
    }

    fn unlock(&mut self, mutex: longpole_event::PrimitiveId) {
        let is_its =
            |kind: &EventKind| matches!(kind, EventKind::Lock { mutex: locked, .. } if *locked == mutex);
        if let Some(at) = self.locked.iter().rposition(is_its) {
            self.locked.remove(at);
        }
    }

    /// Says what it is, where it is and what it does.
    fn tell(&self, say: &mut dyn FnMut(u16, EventKind)) {
        let is_blocked = matches!(self.switch, Some((_, EventKind::Out { blocking, .. }))
            if blocking != Blocking::Runnable && !self.is_woken);
        let (cpu, switch) = self.switch.unwrap_or((0, EventKind::In));
        say(cpu, self.begin);
        for kind in [self.program, self.title, self.name].into_iter().flatten() {
            say(cpu, kind);
        }
        // A thread that was never seen on a processor is ready, as one that has just begun; so is one that is woken.
        let has_marks = !self.entered.is_empty() || !self.locked.is_empty() || self.awaits.is_some();
        let is_on_processor = matches!(self.switch, Some((_, EventKind::In)));
        if is_on_processor || is_blocked || has_marks {
            say(cpu, EventKind::In);
        }
        let marks = self.entered.iter().chain(&self.locked).chain(&self.arrived).chain(&self.awaits);
        marks.for_each(|&kind| say(cpu, kind));
        if is_blocked {
            say(cpu, switch);
        } else if has_marks && !is_on_processor && self.switch.is_some() {
            say(cpu, EventKind::Out { blocking: Blocking::Runnable, call: None, stack: None });
        }
    }
}

fn push(kinds: &mut Vec<EventKind>, kind: EventKind) {
    if kinds.len() < MOST_MARKS {
        kinds.push(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_take_no_memory_for_long() {
        let mut now = ThreadsNow::default();
        let mut tell = |thread: u32, kind| {
            now.follow(&Event { time: Time::ZERO, cpu: 0, thread: ThreadId(thread), kind });
            now.threads.len()
        };
        let mut most = tell(0, EventKind::Start { creator: None, stack: None });
        for thread in 1..20_000 {
            most = most.max(tell(thread, EventKind::Start { creator: Some(ThreadId(0)), stack: None }));
            tell(thread, EventKind::Exit);
        }
        assert!(most <= MANY_THREADS + 1, "{most}");
        now.forget_ended();
        assert_eq!(now.threads.len(), 1);
    }
}
