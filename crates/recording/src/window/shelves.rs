//! The definitions of a whole run, in memory, each with the last segment in which it was written.
//!
//! Memory: those that the kept segments need, and those that are pinned by whoever may name them again. Of threads and processes those of
//! the present segment: all that live are in it.

use longpole_event::{FileDefinition, IdKind, ProcessId, Record, WordDefinition};
use rustc_hash::{FxHashMap, FxHashSet};

/// No segment has this number.
const NEVER: u32 = u32::MAX;

#[derive(Debug)]
struct Shelved {
    record: Record,
    /// The last segment that holds it.
    segment: u32,
}

/// What a segment needs to hold of a definition.
pub(super) enum ShelfLookup {
    /// It is in the segment.
    Written,
    /// It is not yet.
    Unwritten(Record),
    /// It is not known (any more).
    Unknown,
}

/// Definitions by kind and number.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    kinds: [FxHashMap<u32, Shelved>; IdKind::COUNT],
    words: FxHashMap<u32, Vec<WordDefinition>>,
    files: FxHashMap<u64, (FileDefinition, u32)>,
    segment: u32,
}

impl Shelves {
    /// A segment begins that holds none of them yet.
    pub(super) fn begin_segment(&mut self, segment: u32) {
        self.segment = segment;
    }

    pub(super) fn add(&mut self, kind: IdKind, number: u32, record: Record) {
        self.kinds[kind as usize].insert(number, Shelved { record, segment: NEVER });
    }

    /// What the present segment needs of a definition; it counts as written from now on.
    pub(super) fn look_up(&mut self, kind: IdKind, number: u32) -> ShelfLookup {
        match self.kinds[kind as usize].get_mut(&number) {
            None => ShelfLookup::Unknown,
            Some(shelved) if shelved.segment == self.segment => ShelfLookup::Written,
            Some(shelved) => {
                shelved.segment = self.segment;
                ShelfLookup::Unwritten(shelved.record.clone())
            }
        }
    }

    /// Whether the present segment holds it.
    pub(super) fn is_written(&self, kind: IdKind, number: u32) -> bool {
        self.kinds[kind as usize].get(&number).is_some_and(|shelved| shelved.segment == self.segment)
    }

    pub(super) fn add_word(&mut self, word: WordDefinition) {
        self.words.entry(word.process.0).or_default().push(word);
    }

    pub(super) fn words_of(&self, process: ProcessId) -> Vec<WordDefinition> {
        self.words.get(&process.0).cloned().unwrap_or_default()
    }

    pub(super) fn add_file(&mut self, file: FileDefinition) {
        self.files.insert(file.number, (file, NEVER));
    }

    /// The name of a file, where the present segment does not hold it yet.
    pub(super) fn unwritten_file(&mut self, number: u64) -> Option<FileDefinition> {
        let (file, segment) = self.files.get_mut(&number)?;
        let is_written = std::mem::replace(segment, self.segment) == self.segment;
        (!is_written).then_some(*file)
    }

    /// Whether a definition is known.
    pub(super) fn has(&self, kind: IdKind, number: u32) -> bool {
        self.kinds[kind as usize].contains_key(&number)
    }

    /// Definitions of all kinds.
    pub(super) fn len(&self) -> usize {
        self.kinds.iter().map(FxHashMap::len).sum()
    }

    /// Forgets what no segment from `oldest` on holds, and threads and processes that the present one does not hold, but for what is pinned
    /// and what all that needs.
    pub(super) fn forget(&mut self, oldest: u32, pinned: impl IntoIterator<Item = (IdKind, u32)>) {
        let kept = self.with_needs(pinned.into_iter().chain(self.present_threads()));
        let present = self.segment;
        for (kind, shelf) in self.kinds.iter_mut().enumerate() {
            let is_short_lived = kind == IdKind::Thread as usize || kind == IdKind::Process as usize;
            let oldest = if is_short_lived { present } else { oldest };
            shelf.retain(|number, shelved| {
                let is_held = shelved.segment != NEVER && shelved.segment >= oldest;
                is_held || kept.contains(&(kind, *number))
            });
        }
        let processes = &self.kinds[IdKind::Process as usize];
        self.words.retain(|process, _| processes.contains_key(process));
    }

    /// Threads and processes that the present segment holds.
    fn present_threads(&self) -> Vec<(IdKind, u32)> {
        let of = |kind: IdKind| {
            let present =
                self.kinds[kind as usize].iter().filter(|(_, shelved)| shelved.segment == self.segment);
            present.map(move |(&number, _)| (kind, number))
        };
        of(IdKind::Thread).chain(of(IdKind::Process)).collect()
    }

    /// The definitions and all that they name.
    fn with_needs(&self, of: impl IntoIterator<Item = (IdKind, u32)>) -> FxHashSet<(usize, u32)> {
        let mut kept = FxHashSet::default();
        let mut open: Vec<(IdKind, u32)> = of.into_iter().collect();
        open.extend(self.files.values().map(|(file, _)| (IdKind::Text, file.name.0)));
        while let Some((kind, number)) = open.pop() {
            let Some(shelved) = self.kinds[kind as usize].get(&number) else { continue };
            if kept.insert((kind as usize, number)) {
                shelved.record.clone().renumber(&mut |kind, number| {
                    open.push((kind, number));
                    Some(number)
                });
            }
        }
        kept
    }
}
