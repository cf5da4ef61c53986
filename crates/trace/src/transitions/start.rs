//! The beginnings of threads.

use longpole_event::{StackId, ThreadId, Time};

use super::{Live, Transitions};
use crate::observer::Observer;
use crate::path_cache::Prefix;
use crate::paths::Paths;
use crate::stacks::Cut;
use crate::state::State;
use crate::timeline::{DependenceKind, What};

impl Transitions<'_> {
    /// The thread exists from now on; `creator` made it, where that was seen.
    pub(super) fn start(
        &mut self,
        thread: ThreadId,
        time: Time,
        (creator, stack): (Option<ThreadId>, Option<StackId>),
        observer: &mut impl Observer,
    ) {
        let known = &self.sources.known[thread.index()];
        let creator = creator.filter(|creator| creator.index() < self.threads.len());
        let Some(creator) = creator else {
            observer.begins_at(thread, Paths::ROOT);
            self.enter(thread, time, known.initial.unwrap_or(State::Ready), observer);
            return;
        };
        let processes = self.sources.processes;
        self.ends.begin(processes[thread.index()], processes[creator.index()]);
        let path = self.observe(creator, time, (stack, Cut::Stripped), observer);
        let prefix = observer.prefix(Prefix::of_thread(path));
        // A new process goes on with its creator's stack, and in what that has entered, until it becomes another program;
        // a new thread's stack begins anew.
        let Live { prefix: creators, ref entered, .. } = self.threads[creator.index()];
        let (first, entered) =
            if known.is_new_process { (creators, entered.clone()) } else { (prefix, Vec::new()) };
        let live = &mut self.threads[thread.index()];
        (live.prefix, live.entered) = (first, entered);
        live.program_prefix = prefix;
        live.path = path;
        observer.begins_at(thread, path);
        let source = self.global(creator);
        let kind = DependenceKind::Create;
        self.emit(thread, time, What::Depend { source, source_time: time, kind }, observer);
        self.enter(thread, time, State::Ready, observer);
    }
}
