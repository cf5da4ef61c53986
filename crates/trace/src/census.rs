//! The objects of one machine as the survey comes across them, and what tells one from another.
//!
//! ```text
//!   words of one object     mutex 0x1000 ─┐   wait whose kind the stack did not tell: of the known kind
//!                           futex 0x1000 ─┘
//!                          rwlock 0x2004 ─┬─  two futexes of one lock, side by side
//!                          rwlock 0x2008 ─┘
//! ```
//! Memory grows with the distinct objects and the distinct places at which each is waited for.

use longpole_event::{ProcessId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fold::is_thread_start;
use crate::library_sources::is_standard_library;
use crate::object_names::{NameSources, name};
use crate::objects::{Object, ObjectId, ObjectKind, Objects, Signals};
use crate::paths::{PathId, Paths, PlaceId, Procedure};
use crate::primitives::KnownPrimitive;
use crate::shared_words::SharedWords;
use crate::waiting_frames::hint_of;

/// What tells one object from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) kind: ObjectKind,
    pub(crate) identity: Identity,
}

/// Which one of its kind; ids of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Identity {
    /// The futex at this address of the process.
    Word(ProcessId, u64),
    /// The end of a thread.
    Thread(ThreadId),
    /// The end of a process.
    Process(ProcessId),
    /// A file of the machine.
    File(u64),
    /// A semaphore or a queue of messages of the machine.
    Queue(u64),
    /// A communicator, or a member of it by its rank in the job.
    Messages(u64, Option<u32>),
    /// The map of the process's memory.
    Memory(ProcessId),
    /// The place where threads of the process wait; `None` where that is not known either.
    Place(ProcessId, Option<PlaceId>),
}

/// A wait that begins: what for, and of whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunWait {
    pub(crate) process: ProcessId,
    pub(crate) kind: ObjectKind,
    /// What is waited for; `None` where only the place tells.
    pub(crate) identity: Option<Identity>,
    /// The thread waits until it can write.
    pub(crate) writes: bool,
    /// The program itself told the kind.
    pub(crate) is_told: bool,
}

impl BegunWait {
    /// A wait for a primitive; `None` where its use is not known.
    pub(crate) fn told(primitive: &KnownPrimitive) -> Option<BegunWait> {
        let KnownPrimitive { process, kind, address } = *primitive;
        let identity = address.map(|address| Identity::Word(process, address));
        kind.map(|kind| BegunWait { process, kind, identity, writes: false, is_told: true })
    }

    /// The key of what is waited for at this path.
    fn key(&self, path: Option<PathId>, paths: &Paths) -> ObjectKey {
        let at_place = || Identity::Place(self.process, path.and_then(|path| paths.innermost_id(path)));
        ObjectKey { kind: self.kind, identity: self.identity.unwrap_or_else(at_place) }
    }
}

/// How waits could be told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitIdentityCounts {
    /// Waits for an object that was told by more than the place.
    pub(crate) told: u64,
    /// Waits for an object that only the place tells.
    pub(crate) by_place: u64,
    /// Waits for something that could not be told at all.
    pub(crate) untold: u64,
}

/// What was found out about an object.
#[derive(Debug)]
pub(crate) struct ObjectFindings {
    pub(crate) key: ObjectKey,
    /// Waits, by the place in the program's code.
    pub(crate) sites: FxHashMap<PlaceId, u64>,
    /// Acquisitions, likewise.
    pub(crate) acquired: FxHashMap<PlaceId, u64>,
    /// Who reads from it and who writes to it, as far as waits and wakes tell.
    pub(crate) readers: FxHashSet<ProcessId>,
    pub(crate) writers: FxHashSet<ProcessId>,
    /// Of a lock for readers and writers: where it is waited for to write.
    written: FxHashSet<PlaceId>,
}

impl ObjectFindings {
    fn new(key: ObjectKey) -> Self {
        let (sites, acquired, readers, writers) = Default::default();
        ObjectFindings { key, sites, acquired, readers, writers, written: FxHashSet::default() }
    }

    /// Where it is used: waited for, if it ever is.
    pub(crate) fn uses(&self) -> &FxHashMap<PlaceId, u64> {
        if self.sites.is_empty() { &self.acquired } else { &self.sites }
    }

    fn waits(&self) -> u64 {
        self.sites.values().sum()
    }
}

/// The objects of one machine as they are come across.
#[derive(Debug, Default)]
pub(crate) struct Census {
    ids: FxHashMap<ObjectKey, ObjectId>,
    found: Vec<ObjectFindings>,
    counts: WaitIdentityCounts,
    /// What is known of conditions' signals.
    signals: FxHashMap<ObjectId, Signals>,
    shared: SharedWords,
    /// By path: the place that names a wait there, once that was asked for.
    sites: Vec<Option<Option<PlaceId>>>,
}

/// The objects of one machine by what tells them apart; of another replay of the same events.
#[derive(Debug, Default)]
pub(crate) struct ObjectIndex {
    ids: FxHashMap<ObjectKey, ObjectId>,
}

impl Census {
    /// The id, within this machine, of what a thread begins to wait for at this path.
    pub(crate) fn come_across(&mut self, wait: BegunWait, path: Option<PathId>, paths: &Paths) -> ObjectId {
        let (id, place) = self.find(wait, path, paths);
        let found = &mut self.found[id.index()];
        if let Some(place) = place {
            *found.sites.entry(place).or_default() += 1;
            found.written.extend((wait.writes && found.key.kind == ObjectKind::RwLock).then_some(place));
        }
        if has_ends(found.key.kind) {
            let waiters = if wait.writes { &mut found.writers } else { &mut found.readers };
            waiters.insert(wait.process);
        }
        match found.key.identity {
            Identity::Place(..) => self.counts.by_place += 1,
            _ => self.counts.told += 1,
        }
        id
    }

    /// The id, within this machine, of what a thread held that it acquired at this path so often.
    pub(crate) fn held(
        &mut self,
        held: BegunWait,
        (path, acquisitions): (PathId, u64),
        paths: &Paths,
    ) -> ObjectId {
        let (id, place) = self.find(held, Some(path), paths);
        if let Some(place) = place {
            *self.found[id.index()].acquired.entry(place).or_default() += acquisitions;
        }
        id
    }

    /// The object, new or known, and the place that names an access to it there.
    fn find(&mut self, wait: BegunWait, path: Option<PathId>, paths: &Paths) -> (ObjectId, Option<PlaceId>) {
        let key = wait.key(path, paths);
        let next = ObjectId(u32::try_from(self.found.len()).expect("fewer than 2^32 objects"));
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.found.push(ObjectFindings::new(key));
        }
        (id, path.and_then(|path| self.site(path, paths)))
    }

    fn site(&mut self, path: PathId, paths: &Paths) -> Option<PlaceId> {
        if self.sites.len() <= path.0 as usize {
            self.sites.resize(paths.len(), None);
        }
        *self.sites[path.0 as usize].get_or_insert_with(|| site(path, paths))
    }

    /// A wait for the object, of which the path was not known at first, is at this one.
    pub(crate) fn located(&mut self, id: ObjectId, path: PathId, paths: &Paths) {
        if let Some(place) = self.site(path, paths) {
            *self.found[id.index()].sites.entry(place).or_default() += 1;
        }
    }

    /// Notes what is known of a condition's signals.
    pub(crate) fn signals_seen(&mut self, condition: BegunWait, signals: Signals, paths: &Paths) {
        let (id, _) = self.find(condition, None, paths);
        self.signals.insert(id, signals);
    }

    /// A process has a futex at this place that has this number in all that share it.
    pub(crate) fn shared(&mut self, place: (ProcessId, u64), number: u64) {
        self.shared.see(place, number);
    }

    /// Counts a wait for something that could not be told.
    pub(crate) fn untold(&mut self) {
        self.counts.untold += 1;
    }

    /// A thread of `process` ended a wait for the object, in which the waiter wanted to write or to read.
    pub(crate) fn ended(&mut self, id: ObjectId, writes: bool, process: ProcessId) {
        let found = &mut self.found[id.index()];
        if has_ends(found.key.kind) {
            let wakers = if writes { &mut found.readers } else { &mut found.writers };
            wakers.insert(process);
        }
    }

    /// How the waits could be told apart.
    pub(crate) fn counts(&self) -> WaitIdentityCounts {
        self.counts
    }

    /// Finds out which words belong to one object, names the objects and adds them to all others.
    /// `share` says for what part of the run an object, of this kind, excluded threads.
    pub(crate) fn settle(
        mut self,
        names: &NameSources<'_>,
        share: impl Fn(ObjectId, ObjectKind) -> f64,
        objects: &mut Objects,
    ) -> ObjectIndex {
        let chosen = self.merge();
        let mut settled: Vec<Option<ObjectId>> = vec![None; self.found.len()];
        for (index, found) in self.found.iter().enumerate() {
            if chosen[index] == index {
                let object = Object { kind: found.key.kind, name: name(found, names) };
                let id = objects.add(object);
                settled[index] = Some(id);
                objects.set_written(id, found.written.iter().copied());
            }
        }
        let of = |id: ObjectId| settled[chosen[id.index()]].expect("what others are merged into stays");
        for (index, &chosen) in chosen.iter().enumerate() {
            let id = ObjectId(index as u32);
            objects.add_exclusion(of(id), share(id, self.found[chosen].key.kind));
            if let Some(&signals) = self.signals.get(&id) {
                objects.set_signals(of(id), signals);
            }
        }
        ObjectIndex { ids: self.ids.iter().map(|(&key, &id)| (key, of(id))).collect() }
    }

    /// For each object the one that it belongs to, which has taken in its sites.
    fn merge(&mut self) -> Vec<usize> {
        let mut chosen: Vec<usize> = (0..self.found.len()).collect();
        let mut words: Vec<(ProcessId, u64, usize)> = Vec::new();
        for (index, found) in self.found.iter().enumerate() {
            if let Identity::Word(process, address) = found.key.identity {
                let (process, address) = self.shared.first_of((process, address));
                words.push((process, address, index));
            }
        }
        words.sort_unstable();
        for same in words.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            // Of each kind one: processes may share it.
            for (place, word) in same.iter().enumerate() {
                let kind = |word: &(ProcessId, u64, usize)| self.found[word.2].key.kind;
                let first = same[..place].iter().find(|before| kind(before) == kind(word));
                chosen[word.2] = first.unwrap_or(word).2;
            }
            self.merge_untold_kinds(same, &mut chosen);
        }
        for &kind in &[ObjectKind::RwLock, ObjectKind::Barrier] {
            let mut of_kind = words.iter().filter(|word| self.found[word.2].key.kind == kind);
            let Some(mut first) = of_kind.next() else { continue };
            for word in of_kind {
                if word.0 == first.0 && word.1 - first.1 <= reach(kind) {
                    chosen[word.2] = first.2;
                } else {
                    first = word;
                }
            }
        }
        for index in 0..chosen.len() {
            if chosen[index] != index {
                let ObjectFindings { sites, acquired, written, .. } = &mut self.found[index];
                let (sites, acquired) = (std::mem::take(sites), std::mem::take(acquired));
                let written = std::mem::take(written);
                // What an untold wait was merged into may belong to another object itself.
                chosen[index] = chosen[chosen[index]];
                let into = &mut self.found[chosen[index]];
                into.written.extend(written);
                sites.into_iter().for_each(|(place, count)| *into.sites.entry(place).or_default() += count);
                let into = &mut into.acquired;
                acquired.into_iter().for_each(|(place, count)| *into.entry(place).or_default() += count);
            }
        }
        chosen
    }

    /// Waits for a word whose kind the stack did not tell are for what the others wait for there.
    fn merge_untold_kinds(&self, same: &[(ProcessId, u64, usize)], chosen: &mut [usize]) {
        let is_told =
            |index: usize| !matches!(self.found[index].key.kind, ObjectKind::Futex | ObjectKind::Lock);
        let indices = same.iter().map(|word| word.2);
        let told = indices.clone().filter(|&index| is_told(index));
        let best = told.max_by_key(|&index| (self.found[index].waits(), self.found[index].key.kind));
        if let Some(best) = best {
            let best = chosen[best];
            indices.filter(|&index| !is_told(index)).for_each(|index| chosen[index] = best);
        }
    }
}

/// The innermost place of a path that neither is in the standard library of the program's language nor waits for
/// others; else the innermost.
fn site(path: PathId, paths: &Paths) -> Option<PlaceId> {
    let innermost = |is_own: fn(&Procedure) -> bool| {
        let outwards = std::iter::successors(Some(path), |&path| paths.caller(path));
        outwards.take_while(|&path| path != Paths::ROOT).find(|&path| {
            let procedure = paths.innermost(path).map(|place| paths.procedure_named_by(place.procedure));
            procedure.is_some_and(|procedure| {
                let waits = || hint_of(procedure).is_some();
                is_own(procedure) && !is_standard_library(&procedure.file) && !waits()
            })
        })
    };
    let own = in_sync(path, paths)
        .or_else(|| innermost(|procedure| !procedure.comes_with_python()))
        .filter(|&path| !is_start(path, paths));
    paths.innermost_id(own.or_else(|| innermost(|_| true)).unwrap_or(path))
}

/// Where a program of Go called its package sync, on this path.
fn in_sync(path: PathId, paths: &Paths) -> Option<PathId> {
    let begins = |path: PathId, with: &[&str]| {
        let place = paths.innermost(path);
        place.is_some_and(|place| {
            let name = &paths.procedure_named_by(place.procedure).name;
            with.iter().any(|begin| name.starts_with(begin))
        })
    };
    let mut outwards = std::iter::successors(Some(path), |&path| paths.caller(path))
        .take_while(|&path| path != Paths::ROOT)
        .skip_while(|&path| begins(path, &["runtime."]));
    let is_sync = |path: PathId| begins(path, &["sync.", "internal/sync."]);
    outwards.next().filter(|&path| is_sync(path))?;
    outwards.find(|&path| !is_sync(path))
}

/// Whether the path is at what only starts a program or a thread.
fn is_start(path: PathId, paths: &Paths) -> bool {
    let place = paths.innermost(path);
    place.is_some_and(|place| is_thread_start(paths.procedure_named_by(place.procedure)))
}

/// How far apart the futexes of one object lie at most, bytes. Less than two of them in an array can lie apart.
fn reach(kind: ObjectKind) -> u64 {
    match kind {
        // Rust's has two words; glibc's are told together already.
        ObjectKind::RwLock => 4,
        // glibc's words are 12 bytes apart in 32, those of Rust's mutex and condition 16 in 40.
        ObjectKind::Barrier => 16,
        _ => 0,
    }
}

/// Whether it is something that one writes to and another reads from.
fn has_ends(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Pipe | ObjectKind::Socket)
}

impl ObjectIndex {
    /// The object's id in the recording.
    pub(crate) fn find(&self, wait: BegunWait, path: Option<PathId>, paths: &Paths) -> Option<ObjectId> {
        self.ids.get(&wait.key(path, paths)).copied()
    }
}

#[cfg(test)]
mod tests;
