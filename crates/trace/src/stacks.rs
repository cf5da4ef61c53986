//! The stacks of one machine's log, without the frames of waits where those are known.
//!
//! ```text
//! stack       main → worker → get → pthread_mutex_lock → futex_wait          (innermost last)
//! stripped    main → worker → get                                            (hints: lock)
//! ```

use longpole_event::{BusyWaiting, FrameId, StackId};
use longpole_recording::DefinitionTables;
use longpole_symbols::is_openmp;

use crate::cause::StackHints;
use crate::kernel_procedures::{by_kernel_procedure, is_kernel_write};
use crate::naming::FrameNames;
use crate::paths::{CodePlace, PathId, Paths, PlaceId, Procedure, ProcedureId};
use crate::state::Cause;
use crate::waiting_frames::{
    Hint, hint_of, is_message_library, is_runtime_module, openmp_hint, own_hint, writes_lock,
};

/// How much of a stack is part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PathCut {
    /// All of it: a timer found the thread there.
    Plain,
    /// Without the frames of the wait or wake (metrics.md §1).
    Stripped,
}

/// A stack without its waiting frames: the places of `node` without the `dropped` innermost ones.
#[derive(Clone, Copy, Debug)]
struct Stripped {
    node: Option<StackId>,
    dropped: usize,
    hints: StackHints,
}

/// The stacks of one machine.
#[derive(Debug)]
pub(crate) struct StackTable {
    nodes: Vec<(Option<StackId>, FrameId)>,
    names: FrameNames,
    stripped: Vec<Stripped>,
    waiting: Vec<BusyWaiting>,
    /// The place of an observation without a stack.
    unknown: PlaceId,
}

impl StackTable {
    pub(crate) fn new(tables: &DefinitionTables, names: FrameNames, paths: &mut Paths) -> Self {
        let unknown = paths.procedure(Procedure {
            name: "[no stack]".into(),
            module: "[unknown]".into(),
            file: String::new(),
        });
        let mut stacks = StackTable {
            nodes: tables.stacks.iter().map(|stack| (stack.caller, stack.frame)).collect(),
            names,
            stripped: Vec::new(),
            waiting: Vec::new(),
            unknown: paths.place(CodePlace { procedure: unknown, line: 0 }),
        };
        if tables.frames.is_empty() {
            // Only a damaged log has stacks without frames.
            stacks.nodes.clear();
        }
        let hints = HintTable::new(paths);
        for index in 0..stacks.nodes.len() {
            let id = StackId::from_index(index);
            stacks.stripped.push(stacks.strip(id, &hints));
            let waiting = stacks.find_waiting(id, &hints);
            stacks.waiting.push(waiting);
        }
        // Imported traces have the library's own procedures in place of hooks. Behind a hook the library calls others of its own.
        if !stacks.tell_message_calls(paths, false) {
            stacks.tell_message_calls(paths, true);
        }
        stacks
    }

    /// Tells which functions of the message library are called where: by their hooks, or by themselves. Whether there are any.
    fn tell_message_calls(&self, paths: &mut Paths, by_themselves: bool) -> bool {
        let calls = (0..self.nodes.len()).map(StackId::from_index);
        let calls: Vec<_> =
            calls.filter_map(|stack| self.message_call(stack, paths, by_themselves)).collect();
        calls.iter().for_each(|&(place, function)| paths.calls_for_messages(place, function));
        !calls.is_empty()
    }

    /// The place at which the stack calls a function of the message library, and its hook or itself, in which the stack ends.
    fn message_call(
        &self,
        stack: StackId,
        paths: &Paths,
        by_themselves: bool,
    ) -> Option<(PlaceId, ProcedureId)> {
        let frame = self.nodes[stack.index()].1;
        let is_hook = self.names.is_agent(frame);
        (is_hook != by_themselves).then_some(())?;
        let function = paths.all_places()[self.names.outermost(frame)?.0 as usize].procedure;
        (is_hook || is_message_library(&paths.procedure_named_by(function).module)).then_some(())?;
        // Others of the agent's hooks are called from everywhere.
        paths.is_message_function(function).then_some(())?;
        let Stripped { node, dropped, .. } = self.stripped[stack.index()];
        let place = *self.names.places(self.nodes[node?.index()].1).get(dropped)?;
        Some((place, function))
    }

    /// The stack, if the log defines it.
    pub(crate) fn checked(&self, stack: Option<StackId>) -> Option<StackId> {
        stack.filter(|stack| stack.index() < self.nodes.len())
    }

    /// What the stack's waiting frames tell.
    pub(crate) fn hints(&self, stack: Option<StackId>) -> StackHints {
        self.checked(stack).map_or_else(StackHints::default, |stack| self.stripped[stack.index()].hints)
    }

    /// The stack's innermost frame with the frame's caller.
    pub(crate) fn node(&self, stack: StackId) -> (Option<StackId>, FrameId) {
        self.nodes[stack.index()]
    }

    /// The part of the stack that is not waiting frames: where it ends, and how many places of its innermost frame are
    /// not part of it. A stack of nothing else is its own part, without the kernel's frames.
    pub(crate) fn own_part(&self, stack: StackId) -> (StackId, usize) {
        let Stripped { node, dropped, .. } = self.stripped[stack.index()];
        node.map_or_else(|| (self.user_part(stack), 0), |node| (node, dropped))
    }

    /// The place of an observation without a stack.
    pub(crate) fn unknown(&self) -> PlaceId {
        self.unknown
    }

    /// Whether all of the stack is waiting frames.
    pub(crate) fn is_only_waiting(&self, stack: StackId) -> bool {
        self.stripped[stack.index()].node.is_none()
    }

    /// What the frames mean.
    pub(crate) fn names(&self) -> &FrameNames {
        &self.names
    }

    /// Whether any of the stacks is in a loop that only waits.
    pub(crate) fn has_spins(&self) -> bool {
        self.waiting.contains(&BusyWaiting::Spins)
    }

    /// Whether a thread found there waits.
    pub(crate) fn waiting(&self, stack: Option<StackId>) -> BusyWaiting {
        self.checked(stack).map_or(BusyWaiting::Work, |stack| self.waiting[stack.index()])
    }

    /// The procedure whose loop may wait, where a thread was found there.
    pub(crate) fn place_that_may_wait(&self, stack: StackId) -> Option<PlaceId> {
        let outwards = std::iter::successors(Some(stack), |&node| self.nodes[node.index()].0);
        let mut frames = outwards.map(|node| self.nodes[node.index()].1);
        let frame = frames.find(|&frame| self.names.waiting(frame) == BusyWaiting::MayWait)?;
        self.names.outermost(frame)
    }

    /// The path that goes on into the places of `frame`, without the `dropped` innermost ones. The collector's own frames
    /// are no place of the program.
    pub(crate) fn enter(&self, paths: &mut Paths, path: PathId, frame: FrameId, dropped: usize) -> PathId {
        if self.names.is_agent(frame) {
            return path;
        }
        self.names.procedures(frame, dropped).rev().fold(path, |path, place| paths.path(path, place))
    }

    fn strip(&self, stack: StackId, table: &HintTable) -> Stripped {
        let mut hints = StackHints::default();
        let mut node = Some(stack);
        // The outermost procedure so far that only keeps a thread for later.
        let mut pool = None;
        // The innermost procedure of Python's interpreter that a wait for one of its locks goes through.
        let mut interpreter = None;
        while let Some(current) = node {
            let (caller, frame) = self.nodes[current.index()];
            if self.names.is_kernel(frame) {
                let seen = self.names.places(frame).iter().find_map(|&place| table.at(place).kernel);
                hints.kernel_writes |=
                    self.names.places(frame).iter().any(|&place| table.at(place).kernel_writes);
                seen.into_iter().for_each(|cause| hints.add_kernel(cause));
                node = caller;
                continue;
            }
            let places = self.names.places(frame);
            for (dropped, &place) in places.iter().enumerate() {
                match table.at(place).hint {
                    // The C library's outermost frames start the program; they are no wait.
                    Some(_) if caller.is_none() && table.at(place).starts_thread => {
                        let (node, dropped) = pool.or(interpreter).unwrap_or((current, dropped));
                        return Stripped { node: Some(node), dropped, hints };
                    }
                    Some(hint) => {
                        hints.add(hint);
                        hints.writes_lock |= table.at(place).writes_lock;
                        interpreter = interpreter
                            .or_else(|| table.at(place).is_of_python.then_some((current, dropped)));
                        pool = if table.at(place).keeps_threads { Some((current, dropped)) } else { pool };
                    }
                    None if interpreter.is_some() && table.at(place).is_of_python => {}
                    // Part of the procedure that it is inlined into, and so of the wait if that one is.
                    None if self.names.is_inlined_library(place) && dropped + 1 < places.len() => {}
                    None => {
                        // The innermost procedure's call is what was waited in.
                        let callee = self.names.callee(frame).filter(|_| dropped == 0 && current != stack);
                        callee.and_then(openmp_hint).into_iter().for_each(|hint| hints.add(hint));
                        hints.in_python = table.at(place).is_of_python;
                        table.at(place).own_hint.into_iter().for_each(|hint| hints.add(hint));
                        hints.polls = self.names.waiting(frame) == BusyWaiting::Spins;
                        return Stripped { node: Some(current), dropped, hints };
                    }
                }
            }
            node = caller;
        }
        match interpreter {
            // No function of Python is known there.
            Some((node, dropped)) => Stripped { node: Some(node), dropped, hints },
            None => Stripped { node: None, dropped: 0, hints },
        }
    }

    /// The stack without the innermost frames that are the kernel's or the collector's; a stack of nothing else stays as it is.
    pub(crate) fn user_part(&self, stack: StackId) -> StackId {
        let mut node = stack;
        loop {
            let (caller, frame) = self.nodes[node.index()];
            match caller {
                _ if !self.names.is_kernel(frame) && !self.names.is_agent(frame) => return node,
                Some(caller) => node = caller,
                None => return stack,
            }
        }
    }

    /// The stack up to the procedure of the program that the agent was called from, where a timer found a thread in the agent.
    pub(crate) fn without_agent(&self, stack: StackId) -> StackId {
        let outwards = |from: StackId| std::iter::successors(Some(from), |&node| self.nodes[node.index()].0);
        let is_kernel = |&node: &StackId| self.names.is_kernel(self.nodes[node.index()].1);
        let is_agent = |&node: &StackId| self.names.is_agent(self.nodes[node.index()].1);
        let Some(own) = outwards(stack).find(|node| !is_kernel(node)) else { return stack };
        if is_agent(&own) { outwards(own).find(|node| !is_agent(node)).unwrap_or(stack) } else { stack }
    }

    /// Whether a thread that is found there on a processor waits: in a busy-waiting loop, in what such a loop calls,
    /// or in the yielding that such loops do.
    ///
    /// ```text
    /// main → wait_until [loop that waits] → clock_gettime → __vdso_clock_gettime       spins
    /// main → progress [may wait]          → poll_queue [polls]                         may wait
    /// main → progress [may wait]          → handle_message                             works
    /// ```
    fn find_waiting(&self, stack: StackId, table: &HintTable) -> BusyWaiting {
        /// What a waiting loop calls is at most this deep.
        const DEEPEST: usize = 8;
        let outwards = std::iter::successors(Some(stack), |&node| self.nodes[node.index()].0);
        let frames = outwards.map(|node| self.nodes[node.index()].1);
        let mut own = frames.skip_while(|&frame| self.names.is_kernel(frame)).take(DEEPEST).peekable();
        let is_any = |frame: FrameId, is: fn(&FrameFacts) -> bool| {
            self.names.places(frame).iter().any(|&place| is(table.at(place)))
        };
        let in_kernel = self.names.is_kernel(self.nodes[stack.index()].1);
        match own.peek() {
            Some(&frame) if is_any(frame, |facts| facts.yields) => return BusyWaiting::Spins,
            // An interrupt is no wait, wherever it comes.
            Some(&frame) if in_kernel && !is_any(frame, |facts| facts.asks) => return BusyWaiting::Work,
            _ => {}
        }
        let mut only_polls = true;
        for frame in own {
            match self.names.waiting(frame) {
                BusyWaiting::Spins => return BusyWaiting::Spins,
                BusyWaiting::MayWait if only_polls => return BusyWaiting::MayWait,
                waiting => only_polls &= waiting == BusyWaiting::Polls,
            }
        }
        BusyWaiting::Work
    }
}

/// Procedures by which waiting loops ask the kernel.
const ASKS: &[&str] = &[
    "clock_gettime",
    "vdso_clock_gettime",
    "gettimeofday",
    "vdso_gettimeofday",
    "nanosleep",
    "clock_nanosleep",
    "usleep",
];

/// What a procedure tells of stacks that it is in.
struct FrameFacts {
    hint: Option<Hint>,
    /// What a wait is for that is begun there.
    own_hint: Option<Hint>,
    /// It is code of Python's interpreter, or of a module in C that comes with it.
    is_of_python: bool,
    kernel: Option<Cause>,
    kernel_writes: bool,
    writes_lock: bool,
    starts_thread: bool,
    keeps_threads: bool,
    yields: bool,
    asks: bool,
}

/// The facts of all procedures, found once.
struct HintTable {
    of_procedure: Vec<FrameFacts>,
    procedures: Vec<ProcedureId>,
}

impl FrameFacts {
    fn of(procedure: &Procedure) -> FrameFacts {
        let Procedure { name, module, .. } = procedure;
        let plain = name.trim_start_matches('_');
        let starts = plain == "start_thread" || plain.starts_with("clone") || plain.starts_with("libc_start");
        FrameFacts {
            hint: hint_of(procedure),
            own_hint: own_hint(procedure),
            is_of_python: procedure.comes_with_python() && !procedure.is_function_of_python(),
            kernel: by_kernel_procedure(name),
            kernel_writes: is_kernel_write(name),
            writes_lock: writes_lock(name),
            starts_thread: starts && is_runtime_module(module),
            keeps_threads: is_openmp(module),
            yields: plain == "sched_yield" || plain == "pthread_yield",
            asks: ASKS.contains(&plain),
        }
    }
}

impl HintTable {
    fn new(paths: &Paths) -> Self {
        HintTable {
            of_procedure: paths.procedures().iter().map(FrameFacts::of).collect(),
            procedures: paths.all_places().iter().map(|place| place.procedure).collect(),
        }
    }

    /// Those of the procedure at this place.
    fn at(&self, place: PlaceId) -> &FrameFacts {
        &self.of_procedure[self.procedures[place.0 as usize].0 as usize]
    }
}
