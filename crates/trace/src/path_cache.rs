//! The logical call paths of one machine's stacks.
//!
//! ```text
//! stack       main → worker → get → pthread_mutex_lock → futex_wait          (innermost last)
//! prefix      main → start_threads                     the path at which the thread was created
//! plain       main → start_threads → main → worker → get → pthread_mutex_lock → futex_wait
//! stripped    main → start_threads → main → worker → get
//! ```
//! A thread that has entered something of the program's own (a region, a task, an instrumented procedure) has a prefix
//! that takes the place of the outer frames of its stacks:
//!
//! ```text
//! entered at  main → foo                     the region, in foo
//! prefix      main → foo → region            beneath: main → foo
//! stack       main → foo → bar               the path is main → foo → region → bar
//! stack       main → idle                    not beneath foo any more: shown as found, under the prefix before
//! ```

use longpole_event::{FrameId, StackId};
use rustc_hash::FxHashMap;

use crate::paths::{PathId, Paths, PlaceId, ProcedureId};
use crate::stacks::{PathCut, StackTable};

/// A prefix of [`PathCache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PrefixId(u32);

/// What the paths of a thread begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prefix {
    pub(crate) path: PathId,
    /// The prefix before, for stacks that are not beneath this one; `None` of a thread that has entered nothing.
    pub(crate) outer: Option<PrefixId>,
    pub(crate) beneath: OuterPart,
}

/// The outer part of stacks, in the place of which a prefix stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OuterPart {
    /// No part: whole stacks go on from the prefix.
    Nothing,
    /// Up to this frame of a stack, without so many of its innermost places.
    Stack(StackId, usize),
    /// Up to the innermost frame of this procedure; all of a stack that has none.
    Procedure(ProcedureId),
}

/// The logical paths of stacks, by prefix. Nearly every stack is seen with one prefix only: its path stands at the stack's number,
/// where no table need be searched for it.
#[derive(Debug, Default)]
struct PathsOfStacks {
    /// By stack: the prefix that it was seen with first, and its path with that.
    first: Vec<Option<(PrefixId, PathId)>>,
    /// With other prefixes.
    others: FxHashMap<(PrefixId, StackId), PathId>,
}

impl PathsOfStacks {
    fn get(&self, prefix: PrefixId, stack: StackId) -> Option<PathId> {
        match self.first.get(stack.index())? {
            &Some((first, path)) if first == prefix => Some(path),
            Some(_) => self.others.get(&(prefix, stack)).copied(),
            None => None,
        }
    }

    fn insert(&mut self, prefix: PrefixId, stack: StackId, path: PathId) {
        if self.first.len() <= stack.index() {
            self.first.resize(stack.index() + 1, None);
        }
        let first = self.first[stack.index()].get_or_insert((prefix, path));
        if first.0 != prefix {
            self.others.insert((prefix, stack), path);
        }
    }
}

/// The logical paths of one machine's stacks, for each prefix they were seen with.
#[derive(Debug)]
pub(crate) struct PathCache {
    prefixes: Vec<Prefix>,
    prefix_ids: FxHashMap<Prefix, PrefixId>,
    /// Of whole stacks, also of the callers of others; and of stacks without their waiting frames. Apart, as the former are many
    /// more and the latter are asked for at every wait and wake.
    plain: PathsOfStacks,
    stripped: PathsOfStacks,
    stackless: FxHashMap<PrefixId, PathId>,
}

impl Default for PathCache {
    fn default() -> Self {
        let root = Prefix::of_thread(Paths::ROOT);
        PathCache {
            prefixes: vec![root],
            prefix_ids: FxHashMap::from_iter([(root, PrefixId::ROOT)]),
            plain: PathsOfStacks::default(),
            stripped: PathsOfStacks::default(),
            stackless: FxHashMap::default(),
        }
    }
}

impl PrefixId {
    /// Of a thread that nobody was seen to create.
    pub(crate) const ROOT: PrefixId = PrefixId(0);
}

impl Prefix {
    /// Of a thread that was created at this path.
    pub(crate) fn of_thread(path: PathId) -> Prefix {
        Prefix { path, outer: None, beneath: OuterPart::Nothing }
    }
}

impl PathCache {
    /// The id of a prefix, new or known.
    pub(crate) fn prefix(&mut self, prefix: Prefix) -> PrefixId {
        let next = PrefixId(u32::try_from(self.prefixes.len()).expect("fewer than 2^32 prefixes"));
        let id = *self.prefix_ids.entry(prefix).or_insert(next);
        if id == next {
            self.prefixes.push(prefix);
        }
        id
    }

    /// The id of a prefix that [`prefix`](Self::prefix) made before.
    pub(crate) fn find_prefix(&self, prefix: Prefix) -> Option<PrefixId> {
        self.prefix_ids.get(&prefix).copied()
    }

    /// What a prefix is.
    pub(crate) fn get(&self, prefix: PrefixId) -> Prefix {
        self.prefixes[prefix.0 as usize]
    }

    /// The logical path of a stack of a thread with this prefix, made if it is new.
    pub(crate) fn intern(
        &mut self,
        table: &StackTable,
        paths: &mut Paths,
        prefix: PrefixId,
        (stack, cut): (Option<StackId>, PathCut),
    ) -> PathId {
        let path = match table.checked(stack) {
            Some(stack) => self.path(table, paths, prefix, (stack, cut)),
            None => self.get(prefix).path,
        };
        if self.tells(prefix, path) {
            return path;
        }
        *self.stackless.entry(prefix).or_insert_with(|| {
            let stackless = paths.path(path, table.unknown());
            paths.begin_thread(stackless);
            stackless
        })
    }

    /// The logical path that [`intern`](Self::intern) made before.
    pub(crate) fn find(
        &self,
        table: &StackTable,
        prefix: PrefixId,
        (stack, cut): (Option<StackId>, PathCut),
    ) -> Option<PathId> {
        let path = match table.checked(stack) {
            Some(stack) => self.known((prefix, stack), cut)?,
            None => self.get(prefix).path,
        };
        if self.tells(prefix, path) { Some(path) } else { self.stackless.get(&prefix).copied() }
    }

    /// Whether the path says where the thread is: beyond what it began with, or in what it has entered. One without a
    /// stack says nothing, and neither does one of the collector's own frames alone, which are no place.
    fn tells(&self, prefix: PrefixId, path: PathId) -> bool {
        let begin = self.get(prefix);
        path != begin.path || begin.outer.is_some()
    }

    /// The path of a stack; the prefix's own where the stack has no place in it.
    fn path(
        &mut self,
        table: &StackTable,
        paths: &mut Paths,
        prefix: PrefixId,
        (stack, cut): (StackId, PathCut),
    ) -> PathId {
        if let Some(path) = self.known((prefix, stack), cut) {
            return path;
        }
        let begin = self.get(prefix);
        let path = match (begin.beneath, cut) {
            (OuterPart::Nothing, PathCut::Plain) => self.plain(table, paths, prefix, stack),
            (OuterPart::Nothing, PathCut::Stripped) => {
                // Of nothing but waiting frames, as in a thread that only the C library knows, these are the path,
                // without the kernel's, which say how the wait is done and how it was recorded.
                let (node, dropped) = table.own_part(stack);
                let (caller, frame) = table.node(node);
                let path = caller
                    .map_or(begin.path, |caller| self.path(table, paths, prefix, (caller, PathCut::Plain)));
                let entered = table.enter(paths, path, frame, dropped);
                if caller.is_none() {
                    begin_thread(paths, path, entered);
                }
                entered
            }
            (beneath, _) => match inner_part(table, paths, (stack, cut), beneath) {
                Some(places) => places.into_iter().fold(begin.path, |path, place| paths.path(path, place)),
                None => {
                    let outer = begin.outer.unwrap_or(PrefixId::ROOT);
                    self.intern(table, paths, outer, (Some(stack), cut))
                }
            },
        };
        let known = match cut {
            PathCut::Plain => &mut self.plain,
            PathCut::Stripped => &mut self.stripped,
        };
        known.insert(prefix, stack, path);
        path
    }

    fn known(&self, (prefix, stack): (PrefixId, StackId), cut: PathCut) -> Option<PathId> {
        let known = match cut {
            PathCut::Plain => &self.plain,
            PathCut::Stripped => &self.stripped,
        };
        known.get(prefix, stack)
    }

    /// The path of a whole stack, and of its callers.
    fn plain(&mut self, table: &StackTable, paths: &mut Paths, prefix: PrefixId, stack: StackId) -> PathId {
        // Callers up to the first one whose path is known: a loop, since stacks can be deep.
        let mut missing = vec![stack];
        let mut path = loop {
            let innermost = *missing.last().expect("at least the stack itself");
            let Some(caller) = table.node(innermost).0 else { break self.get(prefix).path };
            if let Some(path) = self.plain.get(prefix, caller) {
                break path;
            }
            missing.push(caller);
        };
        for stack in missing.into_iter().rev() {
            let caller = path;
            path = table.enter(paths, caller, table.node(stack).1, 0);
            if table.node(stack).0.is_none() {
                begin_thread(paths, caller, path);
            }
            self.plain.insert(prefix, stack, path);
        }
        path
    }
}

/// Marks the first place of a thread's own stack: the first of those that lead from its creator's path to this one.
fn begin_thread(paths: &mut Paths, creators: PathId, path: PathId) {
    let outwards = std::iter::successors(Some(path), |&path| paths.caller(path));
    let first = outwards.take_while(|&path| path != creators).last();
    if let Some(first) = first {
        paths.begin_thread(first);
    }
}

/// The places of a stack that are inside of what a prefix stands for, outermost first; `None` where the stack is not
/// beneath it.
fn inner_part(
    table: &StackTable,
    paths: &Paths,
    (stack, cut): (StackId, PathCut),
    beneath: OuterPart,
) -> Option<Vec<PlaceId>> {
    let (innermost, dropped) = match cut {
        PathCut::Plain => (stack, 0),
        PathCut::Stripped => table.own_part(stack),
    };
    let outwards = || std::iter::successors(Some(innermost), |&node| table.node(node).0);
    let mut beneath = beneath;
    let border = match beneath {
        OuterPart::Nothing => return None,
        OuterPart::Stack(at, dropped) => {
            let (border, like) = border(table, paths, at, outwards)?;
            beneath = OuterPart::Stack(like, if like == at { dropped } else { 0 });
            border
        }
        OuterPart::Procedure(procedure) => {
            let is_its = |&node: &StackId| skipped_by(table, paths, table.node(node).1, procedure) > 0;
            match outwards().find(is_its) {
                Some(node) => node,
                // Its frames have no names that tell, or the stack was cut off: the thread is in the procedure.
                None => return Some(Vec::new()),
            }
        }
    };
    let mut places = Vec::new();
    let inner: Vec<StackId> = outwards().take_while(|&node| node != border).chain([border]).collect();
    for &node in inner.iter().rev() {
        let frame = table.node(node).1;
        let dropped = if node == innermost { dropped } else { 0 };
        let skipped = match beneath {
            _ if node != border => 0,
            OuterPart::Stack(at, at_dropped) => common(table, paths, frame, (table.node(at).1, at_dropped)),
            OuterPart::Procedure(procedure) => skipped_by(table, paths, frame, procedure),
            OuterPart::Nothing => 0,
        };
        places.extend(table.names().procedures(frame, dropped).rev().skip(skipped));
    }
    Some(places)
}

/// The frame of a stack that is the call which `at` is too: of the same procedure, with the same callers. Stacks taken in
/// different ways can have different callers; then the outermost frame of the procedure. Of a stack of waiting frames
/// only (one that was cut off inside a runtime, or has nothing outside of it) the inner ones need not be there. Gives the
/// frame of `at`'s own stack too.
fn border<I: Iterator<Item = StackId>>(
    table: &StackTable,
    paths: &Paths,
    at: StackId,
    outwards: impl Fn() -> I,
) -> Option<(StackId, StackId)> {
    let of = |frame: FrameId| table.names().places(frame).last().map(|&place| procedure(paths, place));
    let find = |at: StackId| {
        let (caller, frame) = table.node(at);
        let wanted = of(frame);
        let is_like = |node: &StackId| of(table.node(*node).1) == wanted;
        let same = outwards().find(|node| table.node(*node).0 == caller && is_like(node));
        same.or_else(|| outwards().filter(is_like).last())
    };
    let is_only_waiting = table.is_only_waiting(at);
    let mut like = std::iter::successors(Some(at), |&at| table.node(at).0);
    like.find_map(|like| (like == at || is_only_waiting).then(|| Some((find(like)?, like))).flatten())
}

/// How many of the frame's outermost places are those of the other frame, without so many of its innermost ones.
fn common(table: &StackTable, paths: &Paths, frame: FrameId, (other, dropped): (FrameId, usize)) -> usize {
    let of =
        |frame, dropped| table.names().procedures(frame, dropped).rev().map(|place| procedure(paths, place));
    of(frame, 0).zip(of(other, dropped)).take_while(|(one, other)| one == other).count()
}

/// How many of the frame's outermost places lead into the procedure, itself included; 0 where it is not there.
fn skipped_by(table: &StackTable, paths: &Paths, frame: FrameId, wanted: ProcedureId) -> usize {
    let outermost_first = table.names().procedures(frame, 0).rev();
    let at = outermost_first.enumerate().filter(|&(_, place)| procedure(paths, place) == wanted).last();
    at.map_or(0, |(at, _)| at + 1)
}

fn procedure(paths: &Paths, place: PlaceId) -> ProcedureId {
    paths.all_places()[place.0 as usize].procedure
}
