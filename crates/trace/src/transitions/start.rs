//! The beginnings of threads.

use longpole_event::{StackId, ThreadId, Time};

use super::{LiveThread, StackReason, Transitions};
use crate::observer::Observer;
use crate::path_cache::Prefix;
use crate::paths::{PathId, Paths};
use crate::pools::makes_pool_thread;
use crate::stacks::PathCut;
use crate::state::State;
use crate::timeline::{DependenceKind, ItemKind};

impl Transitions<'_> {
    /// The thread existed before the log begins. Its call paths begin as they would if its creation had been read, but
    /// nothing depends on that, and its creator is not there now.
    pub(super) fn go_on(
        &mut self,
        thread: ThreadId,
        time: Time,
        (creator, stack, is_alive): (Option<ThreadId>, Option<StackId>, bool),
        observer: &mut impl Observer,
    ) {
        let path = match creator.filter(|creator| creator.index() < self.threads.len()) {
            Some(creator) => {
                let processes = self.sources.processes;
                self.ends.begin(processes[thread.index()], processes[creator.index()]);
                let creators = self.threads[creator.index()].prefix;
                let created_at = observer.path(creators, (stack, PathCut::Stripped));
                self.begin_paths(thread, creator, created_at, observer)
            }
            None => Paths::ROOT,
        };
        observer.begins_at(thread, path);
        if is_alive {
            let initial = self.sources.known[thread.index()].initial;
            self.enter(thread, time, initial.unwrap_or(State::Ready), observer);
        }
    }

    /// What the paths of a thread begin with that was created at this path.
    fn begin_paths(
        &mut self,
        thread: ThreadId,
        creator: ThreadId,
        created_at: PathId,
        observer: &mut impl Observer,
    ) -> PathId {
        let known = &self.sources.known[thread.index()];
        let creators_begin = observer.prefix_path(self.threads[creator.index()].program_prefix);
        let is_of_pool =
            !known.is_new_process && makes_pool_thread(observer.paths(), created_at, creators_begin);
        let path = if is_of_pool { creators_begin } else { created_at };
        let prefix = observer.prefix(Prefix::of_thread(path));
        // A new process goes on with its creator's stack, and in what that has entered, until it becomes another program;
        // a new thread's stack begins anew.
        let LiveThread { prefix: creators, ref entered, .. } = self.threads[creator.index()];
        let (first, entered) =
            if known.is_new_process { (creators, entered.clone()) } else { (prefix, Vec::new()) };
        let live = &mut self.threads[thread.index()];
        (live.prefix, live.entered) = (first, entered);
        live.program_prefix = prefix;
        live.path = path;
        path
    }

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
        let created_at = self.observe(creator, time, (stack, StackReason::Acting), observer);
        let path = self.begin_paths(thread, creator, created_at, observer);
        observer.begins_at(thread, path);
        let source = self.global(creator);
        let kind = DependenceKind::Create;
        self.emit(thread, time, ItemKind::Depend { source, source_time: time, kind }, observer);
        self.enter(thread, time, State::Ready, observer);
    }
}
