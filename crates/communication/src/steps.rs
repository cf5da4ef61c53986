//! The steps of one thread, read from its blocks while the simulation asks for them.

use std::cell::RefCell;
use std::rc::Rc;

use longpole_access::format::{ENTER, MENTION, MessageHeader, Operation, READ, WRITE};
use longpole_access::unit_sample::UnitSample;
use longpole_access::{AccessRecord, StreamDecoder};
use longpole_coherence::{AccessKind, DataObjectId, ProcessorId, SiteId, StreamStep, SyncKind, SyncToken};
use longpole_recording::LogReader;
use rustc_hash::FxHashMap;

use crate::memory::{MarkedSpan, MemoryOwners};
use crate::objects::{AccessObjects, ObjectOrigin};
use crate::sites::AccessSites;

/// What the threads of a process share while they are read.
#[derive(Debug)]
pub(crate) struct SharedStreams {
    pub(crate) reader: LogReader,
    pub(crate) sites: AccessSites,
    pub(crate) objects: AccessObjects,
    pub(crate) memory: MemoryOwners,
    /// Which units are followed; `None`: all.
    pub(crate) sample: Option<UnitSample>,
    /// Accesses to units that are followed.
    pub(crate) followed: u64,
    /// Threads of the process.
    pub(crate) threads: u32,
    /// Blocks that are missing or cannot be decoded; the thread goes on behind them.
    pub(crate) lost_blocks: u64,
    /// Operations that do not fit the thread's others: a lock given back that was not taken, an unknown thread.
    pub(crate) ignored: u64,
}

/// The polling of a variable: loads that see the same version again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PolledVersion {
    token: u64,
    version: u64,
    code: u64,
}

/// What is left of an access to several units, not all of which are followed.
#[derive(Clone, Copy)]
struct CutAccess {
    site: SiteId,
    kind: AccessKind,
    has_parts: bool,
    /// The next byte, and the one behind the last.
    next: u64,
    end: u64,
    /// What the data's addresses have besides those of the program.
    mark: u64,
}

/// One thread.
pub(crate) struct ThreadSteps {
    shared: Rc<RefCell<SharedStreams>>,
    thread: u32,
    /// Where its last access was.
    span: MarkedSpan,
    blocks: std::vec::IntoIter<(u32, u64)>,
    expected: u32,
    /// From the first block on: a thread without blocks, of which a damaged log may name any number, has none.
    decoder: Option<Box<StreamDecoder>>,
    header: MessageHeader,
    message: Vec<u8>,
    /// Paths of the procedures that the thread is in, the innermost last.
    paths: Vec<u32>,
    /// How often the thread holds each lock.
    holds: FxHashMap<u64, u32>,
    polled: Option<PolledVersion>,
    skips_poll: bool,
    cut: Option<CutAccess>,
    /// Accesses of the thread.
    accesses: Rc<RefCell<Vec<u64>>>,
}

impl ThreadSteps {
    pub(crate) fn new(
        shared: Rc<RefCell<SharedStreams>>,
        thread: u32,
        blocks: Vec<(u32, u64)>,
        accesses: Rc<RefCell<Vec<u64>>>,
    ) -> Self {
        Self {
            shared,
            thread,
            span: MarkedSpan::default(),
            blocks: blocks.into_iter(),
            expected: 0,
            decoder: None,
            header: MessageHeader::default(),
            message: Vec::new(),
            paths: Vec::new(),
            holds: FxHashMap::default(),
            polled: None,
            skips_poll: false,
            cut: None,
            accesses,
        }
    }

    /// The next record; `None` where the thread has no more.
    fn record(&mut self) -> Option<AccessRecord> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                match decoder.next(&self.header, &self.message) {
                    Ok(Some(record)) => return Some(record),
                    Ok(None) => {}
                    Err(_) => self.shared.borrow_mut().lost_blocks += 1,
                }
            }
            if self.next_block().is_none() {
                self.decoder = None;
                return None;
            }
        }
    }

    fn next_block(&mut self) -> Option<()> {
        loop {
            let (number, offset) = self.blocks.next()?;
            let mut shared = self.shared.borrow_mut();
            shared.lost_blocks += u64::from(number.saturating_sub(self.expected));
            self.expected = number + 1;
            if let Ok(Some(bytes)) = shared.reader.block_at(offset)
                && let Some(header) = MessageHeader::decode(bytes)
            {
                self.message.clear();
                self.message.extend_from_slice(bytes);
                self.header = header;
                self.decoder.get_or_insert_default().begin_block();
                return Some(());
            }
            shared.lost_blocks += 1;
        }
    }

    fn site(&self, code: u64) -> SiteId {
        let path = self.paths.last().copied().unwrap_or(0);
        self.shared.borrow_mut().sites.site(path, code)
    }

    fn access(&mut self, code: u64, address: u64, size: u32, kind: AccessKind) -> (SiteId, StreamStep) {
        self.accesses.borrow_mut()[self.thread as usize] += 1;
        let site = self.site(code);
        let mut shared = self.shared.borrow_mut();
        let marked = shared.memory.address_for(self.thread, address, &mut self.span);
        if let Some(rule) = shared.sample {
            let last = address.saturating_add(u64::from(size).saturating_sub(1));
            if rule.unit(address) != rule.unit(last) {
                drop(shared);
                let cut = CutAccess {
                    site,
                    kind,
                    has_parts: false,
                    next: address,
                    end: last.saturating_add(1),
                    mark: marked ^ address,
                };
                return self.next_part(cut);
            }
            if !rule.follows_address(address) {
                return (site, StreamStep::Unsimulated(1));
            }
            shared.followed += 1;
        }
        (site, StreamStep::Access { address: marked, size, kind })
    }

    /// The next part of an access in followed units; behind the last one, the access's own time.
    fn next_part(&mut self, mut cut: CutAccess) -> (SiteId, StreamStep) {
        let mut shared = self.shared.borrow_mut();
        let CutAccess { site, kind, .. } = cut;
        self.cut = None;
        let Some(rule) = shared.sample else { return (site, StreamStep::Unsimulated(1)) };
        while cut.next < cut.end {
            let address = cut.next;
            let after = ((address >> rule.shift) + 1).checked_shl(rule.shift).unwrap_or(u64::MAX);
            cut.next = after.max(address + 1).min(cut.end);
            if rule.follows_address(address) {
                shared.followed += 1;
                let (address, size) = (address | cut.mark, (cut.next - address) as u32);
                self.cut = Some(CutAccess { has_parts: true, ..cut });
                return (site, StreamStep::Part { address, size, kind });
            }
        }
        match cut.has_parts {
            true => (site, StreamStep::Access { address: cut.next | cut.mark, size: 0, kind }),
            false => (site, StreamStep::Unsimulated(1)),
        }
    }

    fn operation(&mut self, operation: Operation, words: [u64; 4]) -> Option<(SiteId, StreamStep)> {
        let [first, second, third, fourth] = words;
        let token = SyncToken(first);
        let (code, step) = match operation {
            Operation::Exit => {
                self.paths.pop();
                return None;
            }
            Operation::Lock => {
                let holds = self.holds.entry(first).or_default();
                *holds += 1;
                // A lock that the thread holds already is taken once.
                let is_first = *holds == 1;
                return is_first.then(|| (self.site(second), StreamStep::Lock(token)));
            }
            Operation::Unlock => {
                let Some(holds) = self.holds.get_mut(&first).filter(|holds| **holds > 0) else {
                    self.shared.borrow_mut().ignored += 1;
                    return None;
                };
                *holds -= 1;
                let is_last = *holds == 0;
                return is_last.then(|| (self.site(second), StreamStep::Unlock(token)));
            }
            Operation::Barrier => (third, StreamStep::Barrier(token, second as u32)),
            Operation::Post => (second, StreamStep::Post(token)),
            Operation::Await => (second, StreamStep::Await(token)),
            Operation::Fork => return self.thread_step(first, second, StreamStep::Fork),
            Operation::Join => return self.thread_step(first, second, StreamStep::Join),
            Operation::Publish => {
                let release = match second & 3 {
                    1 => Some(SyncKind::Release),
                    2 => Some(SyncKind::RelaxedStore),
                    3 => Some(SyncKind::ReleaseStore),
                    _ => None,
                };
                (third, StreamStep::Publish { token, version: second >> 3, release })
            }
            Operation::Observe => {
                let polled = PolledVersion { token: first, version: second >> 3, code: third };
                self.skips_poll = self.polled == Some(polled);
                self.polled = Some(polled);
                if self.skips_poll {
                    return None;
                }
                let step = StreamStep::Observe { token, version: polled.version, acquires: second & 1 == 1 };
                return Some((self.site(third), step));
            }
            Operation::Allocate => {
                let site = self.site(third);
                let object = self.shared.borrow_mut().objects.id(ObjectOrigin::Heap(site));
                return Some((site, self.place(first, second, object)));
            }
            Operation::Stack => {
                let mut shared = self.shared.borrow_mut();
                if self.thread == 0 {
                    shared.memory.clear();
                }
                let object = shared.objects.id(ObjectOrigin::Stack(self.thread));
                drop(shared);
                (0, self.place(first, second, object))
            }
            Operation::Range => {
                let size = u32::try_from(second).unwrap_or(u32::MAX);
                return Some(self.access(fourth, first, size, access_kind(third)));
            }
            Operation::Free => {
                self.shared.borrow_mut().memory.free(self.thread, first);
                return None;
            }
            Operation::End => return None,
        };
        Some((self.site(code), step))
    }

    /// The thread gets memory.
    fn place(&mut self, lowest: u64, size: u64, object: DataObjectId) -> StreamStep {
        let memory = &mut self.shared.borrow_mut().memory;
        memory.take(self.thread, lowest, size);
        StreamStep::Place { address: memory.address_for(self.thread, lowest, &mut self.span), size, object }
    }

    fn thread_step(
        &mut self,
        number: u64,
        code: u64,
        step: fn(ProcessorId) -> StreamStep,
    ) -> Option<(SiteId, StreamStep)> {
        let threads = u64::from(self.shared.borrow().threads);
        if number >= threads || number == u64::from(self.thread) {
            self.shared.borrow_mut().ignored += 1;
            return None;
        }
        Some((self.site(code), step(ProcessorId(number as u16))))
    }
}

impl Iterator for ThreadSteps {
    type Item = (SiteId, StreamStep);

    #[inline]
    fn next(&mut self) -> Option<(SiteId, StreamStep)> {
        if let Some(cut) = self.cut {
            return Some(self.next_part(cut));
        }
        loop {
            let step = match self.record()? {
                AccessRecord::Skipped(count) => {
                    self.accesses.borrow_mut()[self.thread as usize] += u64::from(count);
                    self.polled = None;
                    self.skips_poll = false;
                    Some((self.site(0), StreamStep::Unsimulated(count.into())))
                }
                AccessRecord::Place { code, kind, .. } if u64::from(kind) == ENTER => {
                    let path = self.paths.last().copied().unwrap_or(0);
                    let path = self.shared.borrow_mut().sites.enter(path, code);
                    self.paths.push(path);
                    None
                }
                AccessRecord::Place { kind, .. } if u64::from(kind) == MENTION => None,
                AccessRecord::Place { code, kind, size, address } => {
                    let is_polled =
                        self.polled.is_some_and(|polled| (polled.token, polled.code) == (address, code));
                    if std::mem::take(&mut self.skips_poll) && is_polled {
                        continue;
                    }
                    if !is_polled {
                        self.polled = None;
                    }
                    Some(self.access(code, address, size, access_kind(kind.into())))
                }
                AccessRecord::Operation { operation, words } => {
                    if !matches!(operation, Operation::Observe | Operation::Exit) {
                        self.polled = None;
                    }
                    self.operation(operation, words)
                }
            };
            if step.is_some() {
                return step;
            }
        }
    }
}

fn access_kind(kind: u64) -> AccessKind {
    match kind {
        READ => AccessKind::Read,
        WRITE => AccessKind::Write,
        _ => AccessKind::Update,
    }
}
