//! The simulation done again, slowly: every answer is looked up in the whole event list, with sets of bytes and sets of
//! events. It shares nothing with the crate but the types of its answers; no clocks, no masks, no state of copies.

use std::collections::{BTreeMap, BTreeSet};

use longpole_coherence::{
    AccessKind, AccessPattern, CoherenceProtocol, CoherenceSettings, DataAccess, FlowKey, FlowOrigin,
    ProcessorId, SharingKind, SiteId, SyncKind, SyncObject, SyncOrigin, SyncToken,
};

use crate::programs::Event;

/// W with its own I and the writer's own request.
pub type Write = (ProcessorId, SiteId, Option<SyncOrigin>, Option<u64>);

/// Bytes read, bytes written, accesses, writes.
pub type Use = (BTreeSet<u64>, BTreeSet<u64>, u64, u64);

/// A request as the oracle sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub processor: ProcessorId,
    pub site: SiteId,
    pub time: u64,
    pub unit: u64,
    pub offset: u32,
    pub kind: AccessKind,
    /// None: cold.
    pub cause: Option<(Option<SyncOrigin>, Vec<Write>, BTreeSet<u64>)>,
    pub words: u64,
    pub sharing: SharingKind,
    pub is_migratory: bool,
}

/// The part of an access in one unit.
#[derive(Clone, Debug)]
pub struct Piece {
    pub event: usize,
    pub processor: ProcessorId,
    pub unit: u64,
    pub bytes: BTreeSet<u64>,
    pub kind: AccessKind,
    pub site: SiteId,
    time: u64,
}

/// Where a processor learned of an event: index of the synchronisation, and what it was.
type Learned = BTreeMap<(ProcessorId, usize), (usize, SyncOrigin)>;

pub struct Oracle {
    pub pieces: Vec<Piece>,
    settings: CoherenceSettings,
    /// Events that happen before each event.
    pub before: Vec<BTreeSet<usize>>,
    learned: Learned,
    /// Synchronisations that end intervals, by processor.
    ends: BTreeMap<ProcessorId, Vec<usize>>,
    /// Completed barriers: index and time.
    barriers: Vec<(usize, u64)>,
    /// Per piece: the request, if it is one.
    request_of: Vec<Option<u64>>,
    pub requests: Vec<Seen>,
    request_pieces: Vec<usize>,
    pub upgrades: u64,
}

#[derive(Default)]
struct Knowledge {
    of: BTreeMap<ProcessorId, BTreeSet<usize>>,
    tokens: BTreeMap<SyncToken, BTreeSet<usize>>,
    arrived: BTreeMap<SyncToken, Vec<(ProcessorId, SiteId)>>,
    learned: Learned,
}

impl Knowledge {
    fn get(&self, processor: ProcessorId) -> BTreeSet<usize> {
        self.of.get(&processor).cloned().unwrap_or_default()
    }

    fn learn(&mut self, processor: ProcessorId, events: &BTreeSet<usize>, at: usize, origin: SyncOrigin) {
        for &event in events {
            if self.of.entry(processor).or_default().insert(event) {
                self.learned.insert((processor, event), (at, origin));
            }
        }
    }
}

impl Oracle {
    pub fn new(events: &[Event], settings: CoherenceSettings) -> Self {
        let mut oracle = Self {
            pieces: Vec::new(),
            settings,
            before: Vec::new(),
            learned: Learned::new(),
            ends: BTreeMap::new(),
            barriers: Vec::new(),
            request_of: Vec::new(),
            requests: Vec::new(),
            request_pieces: Vec::new(),
            upgrades: 0,
        };
        oracle.order(events);
        for piece in 0..oracle.pieces.len() {
            oracle.step(piece);
        }
        for request in 0..oracle.requests.len() {
            oracle.close(request);
        }
        oracle
    }

    /// Which event happens before which.
    fn order(&mut self, events: &[Event]) {
        let mut known = Knowledge::default();
        for (index, event) in events.iter().enumerate() {
            let processor = match event {
                Event::Access(access) => access.processor,
                Event::Sync(operation) => operation.processor,
            };
            self.before.push(known.get(processor));
            known.of.entry(processor).or_default().insert(index);
            match event {
                Event::Access(access) => self.cut(index, access),
                Event::Sync(operation) => self.synchronise(&mut known, index, operation),
            }
        }
        self.learned = known.learned;
    }

    fn synchronise(
        &mut self,
        known: &mut Knowledge,
        index: usize,
        operation: &longpole_coherence::SyncOperation,
    ) {
        let &longpole_coherence::SyncOperation { processor, token, kind, site, time } = operation;
        self.ends.entry(processor).or_default().push(index);
        let own = known.get(processor);
        match kind {
            SyncKind::Acquire => {
                let carried = known.tokens.get(&token).cloned().unwrap_or_default();
                let object = SyncObject::Token(token);
                known.learn(processor, &carried, index, SyncOrigin { object, site });
            }
            SyncKind::Release => known.tokens.entry(token).or_default().extend(own),
            SyncKind::ReleaseStore => drop(known.tokens.insert(token, own)),
            SyncKind::RelaxedStore => drop(known.tokens.remove(&token)),
            SyncKind::Barrier { expected } => {
                known.arrived.entry(token).or_default().push((processor, site));
                if known.arrived[&token].len() == expected as usize {
                    let arrived = known.arrived.remove(&token).unwrap();
                    let all: BTreeSet<usize> =
                        arrived.iter().flat_map(|(processor, _)| known.get(*processor)).collect();
                    for (processor, site) in arrived {
                        let object = SyncObject::Barrier(token);
                        known.learn(processor, &all, index, SyncOrigin { object, site });
                    }
                    self.barriers.push((index, time));
                }
            }
            SyncKind::Fork { child } => {
                self.ends.entry(child).or_default().push(index);
                let object = SyncObject::Fork(processor);
                known.learn(child, &own, index, SyncOrigin { object, site });
            }
            SyncKind::Join { child } => {
                self.ends.entry(child).or_default().push(index);
                let object = SyncObject::Join(child);
                let ended = known.get(child);
                known.learn(processor, &ended, index, SyncOrigin { object, site });
            }
        }
    }

    /// Cuts an access into its units.
    fn cut(&mut self, event: usize, access: &DataAccess) {
        let mut units: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for byte in access.address..access.address + u64::from(access.size) {
            units.entry(byte / self.settings.unit * self.settings.unit).or_default().insert(byte);
        }
        let &DataAccess { processor, kind, site, time, .. } = access;
        let piece = |(unit, bytes)| Piece { event, processor, unit, bytes, kind, site, time };
        self.pieces.extend(units.into_iter().map(piece));
    }

    fn is_lazy(&self) -> bool {
        self.settings.protocol == CoherenceProtocol::LazyRelease
    }

    fn previous(&self, piece: usize, processor: ProcessorId) -> Option<usize> {
        let unit = self.pieces[piece].unit;
        (0..piece).rev().find(|&at| self.pieces[at].unit == unit && self.pieces[at].processor == processor)
    }

    /// Writes by others that make the processor's copy, last used at `previous`, invalid before `piece`.
    fn invalidating(&self, previous: usize, piece: usize, processor: ProcessorId) -> Vec<usize> {
        let unit = self.pieces[piece].unit;
        let is_other = |at: &usize| {
            let other = &self.pieces[*at];
            other.unit == unit && other.processor != processor && other.kind.is_write()
        };
        if !self.is_lazy() {
            return (previous + 1..piece).filter(is_other).collect();
        }
        let (then, now) = (self.pieces[previous].event, self.pieces[piece].event);
        let is_news = |at: &usize| {
            let event = self.pieces[*at].event;
            self.before[now].contains(&event) && !self.before[then].contains(&event)
        };
        let mut writes: Vec<usize> = (0..piece).filter(is_other).filter(is_news).collect();
        writes.sort_by_key(|&at| {
            let write = &self.pieces[at];
            (self.learned[&(processor, write.event)].0, write.processor, at)
        });
        writes
    }

    fn step(&mut self, piece: usize) {
        let Piece { processor, kind, .. } = self.pieces[piece];
        let previous = self.previous(piece, processor);
        let writes = previous.map(|previous| self.invalidating(previous, piece, processor));
        let is_request = writes.as_ref().is_none_or(|writes| !writes.is_empty());
        if is_request {
            self.request(piece, writes);
        } else {
            self.request_of.push(None);
            if !self.is_lazy() && kind.is_write() && self.is_shared(piece) {
                self.upgrades += 1;
            }
        }
    }

    /// Whether another processor has a valid copy when the piece comes.
    fn is_shared(&self, piece: usize) -> bool {
        let others: BTreeSet<ProcessorId> =
            self.pieces[..piece].iter().map(|piece| piece.processor).collect();
        others.into_iter().filter(|&other| other != self.pieces[piece].processor).any(|other| {
            let previous = self.previous(piece, other);
            previous.is_some_and(|previous| self.invalidating(previous, piece, other).is_empty())
        })
    }

    fn request(&mut self, piece: usize, writes: Option<Vec<usize>>) {
        let id = self.requests.len() as u64;
        let &Piece { processor, unit, kind, site, time, event, .. } = &self.pieces[piece];
        let cause = writes.map(|writes| {
            let mut found: Vec<Write> = Vec::new();
            for &at in &writes {
                let write = &self.pieces[at];
                if found.iter().any(|known| (known.0, known.1) == (write.processor, write.site)) {
                    continue;
                }
                let learned = self.learned.get(&(processor, write.event)).filter(|(at, _)| *at < event);
                let own = (0..=at)
                    .rev()
                    .filter(|&at| {
                        (self.pieces[at].processor, self.pieces[at].unit) == (write.processor, unit)
                    })
                    .find_map(|at| self.request_of[at]);
                found.push((write.processor, write.site, learned.map(|(_, origin)| *origin), own));
            }
            let stale = writes.iter().flat_map(|&at| self.pieces[at].bytes.iter().copied()).collect();
            (found[0].2, found, stale)
        });
        self.request_of.push(Some(id));
        self.request_pieces.push(piece);
        let offset = (self.pieces[piece].bytes.first().unwrap() - unit) as u32;
        let (sharing, words) = (SharingKind::Cold, 0);
        self.requests.push(Seen {
            processor,
            site,
            time,
            unit,
            offset,
            kind,
            cause,
            words,
            sharing,
            is_migratory: false,
        });
    }

    /// The pieces of the lifetime in which `piece` is, up to `end`.
    fn lifetime(&self, piece: usize, end: usize) -> Vec<usize> {
        let Piece { processor, unit, .. } = self.pieces[piece];
        let of = |at: &usize| (self.pieces[*at].processor, self.pieces[*at].unit) == (processor, unit);
        let first = (0..=piece).rev().filter(of).find(|&at| self.request_of[at].is_some()).unwrap();
        let is_later = |at: &usize| *at > first && self.request_of[*at].is_some();
        let last = (first..end).filter(of).find(is_later).unwrap_or(end);
        (first..last).filter(of).collect()
    }

    /// Bytes used, and bytes that were read and then written.
    fn uses(&self, lifetime: &[usize]) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let (mut read, mut written, mut rewritten) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for piece in lifetime.iter().map(|&at| &self.pieces[at]) {
            for &byte in &piece.bytes {
                if piece.kind.is_read() && !written.contains(&byte) {
                    read.insert(byte);
                }
                if piece.kind.is_write() {
                    if read.contains(&byte) {
                        rewritten.insert(byte);
                    }
                    written.insert(byte);
                }
            }
        }
        (read.union(&written).copied().collect(), rewritten)
    }

    /// Intervals of the processor that ended before an event.
    fn interval(&self, processor: ProcessorId, event: usize) -> usize {
        self.ends.get(&processor).map_or(0, |ends| ends.iter().filter(|&&end| end < event).count())
    }

    /// What the holder before the request had read and then written.
    fn holder(&self, piece: usize) -> BTreeSet<u64> {
        let processor = self.pieces[piece].processor;
        let previous = self.previous(piece, processor).unwrap();
        let writes = self.invalidating(previous, piece, processor);
        if !self.is_lazy() {
            return self.uses(&self.lifetime(*writes.last().unwrap(), piece)).1;
        }
        let interval = |at: usize| {
            (self.pieces[at].processor, self.interval(self.pieces[at].processor, self.pieces[at].event))
        };
        let is_last = |&&at: &&usize| {
            writes.iter().all(|&other| {
                interval(other) == interval(at)
                    || self.before[self.pieces[at].event].contains(&self.pieces[other].event)
            })
        };
        let Some(&last) = writes.iter().find(is_last) else { return BTreeSet::new() };
        // The holder as it was at the end of its interval.
        let within = |other: &usize| interval(*other) <= interval(last);
        let lifetime: Vec<usize> = self.lifetime(last, piece).into_iter().filter(within).collect();
        self.uses(&lifetime).1
    }

    fn close(&mut self, request: usize) {
        let piece = self.request_pieces[request];
        let (used, rewritten) = self.uses(&self.lifetime(piece, self.pieces.len()));
        let words: BTreeSet<u64> = used.iter().map(|byte| byte / 8).collect();
        self.requests[request].words = words.len() as u64;
        let Some((_, _, stale)) = &self.requests[request].cause else { return };
        let common = used.intersection(stale).count() as f64;
        let smaller = used.len().min(stale.len()) as f64;
        // 90 % of the smaller set are apart, that is 10 % or less in common.
        let is_false = common * 10.0 <= smaller;
        let before = self.holder(piece);
        let both = rewritten.intersection(&before).count();
        let larger = rewritten.len().max(before.len());
        self.requests[request].is_migratory = larger > 0 && 2 * both >= larger;
        self.requests[request].sharing = if is_false { SharingKind::False } else { SharingKind::True };
    }

    /// The window of each request.
    fn windows(&self) -> Vec<usize> {
        let (mut window, mut start, mut passed) = (0, 0, 0);
        let mut windows = Vec::new();
        for (request, &piece) in self.requests.iter().zip(&self.request_pieces) {
            while passed < self.barriers.len() && self.barriers[passed].0 < self.pieces[piece].event {
                (window, start) = (window + 1, self.barriers[passed].1);
                passed += 1;
            }
            if self.settings.window.is_some_and(|length| request.time >= start + length) {
                (window, start) = (window + 1, request.time);
            }
            windows.push(window);
        }
        windows
    }

    /// Requests by unit and pattern.
    pub fn patterns(&self) -> BTreeMap<(u64, AccessPattern), u64> {
        let mut found = BTreeMap::new();
        for (request, pattern) in self.requests.iter().zip(self.request_patterns()) {
            *found.entry((request.unit, pattern)).or_default() += 1;
        }
        found
    }

    /// Patterns of the requests by the flow that counts them.
    pub fn flow_patterns(&self) -> BTreeMap<(FlowKey, AccessPattern), u64> {
        let mut found = BTreeMap::new();
        for (request, pattern) in self.requests.iter().zip(self.request_patterns()) {
            *found.entry((keys_of(request)[0], pattern)).or_default() += 1;
        }
        found
    }

    fn request_patterns(&self) -> Vec<AccessPattern> {
        let windows = self.windows();
        let mut found = Vec::new();
        for (request, window) in self.requests.iter().zip(&windows) {
            let mut producers = BTreeSet::new();
            let mut consumers = BTreeSet::new();
            for (other, other_window) in self.requests.iter().zip(&windows) {
                if let (Some((_, writes, _)), true) =
                    (&other.cause, (other.unit, other_window) == (request.unit, window))
                {
                    consumers.insert(other.processor);
                    producers.extend(writes.iter().map(|write| write.0));
                }
            }
            found.push(match request.sharing {
                SharingKind::Cold if self.is_read_only(request) => AccessPattern::ReadOnly,
                SharingKind::Cold => AccessPattern::Cold,
                SharingKind::False => AccessPattern::FalseSharing,
                SharingKind::True if request.is_migratory => AccessPattern::Migratory,
                SharingKind::True => match (producers.len(), consumers.len()) {
                    (1, 1) => AccessPattern::Spsc,
                    (1, _) => AccessPattern::Spmc,
                    (_, 1) => AccessPattern::Mpsc,
                    _ => AccessPattern::Mpmc,
                },
            });
        }
        found
    }

    fn is_read_only(&self, request: &Seen) -> bool {
        let pieces: Vec<&Piece> = self.pieces.iter().filter(|piece| piece.unit == request.unit).collect();
        let first = pieces[0].processor;
        let shared = pieces.iter().position(|piece| piece.processor != first);
        let is_read = |from: usize| pieces[from..].iter().all(|piece| !piece.kind.is_write());
        request.processor != first && shared.is_some_and(is_read)
    }

    /// Rows of requests: requests, contributions, cost, false, true, words.
    pub fn flows(&self) -> BTreeMap<FlowKey, [u64; 6]> {
        let mut rows: BTreeMap<FlowKey, [u64; 6]> = BTreeMap::new();
        for request in &self.requests {
            let keys = keys_of(request);
            let count = keys.len() as u64;
            for (index, key) in (0..).zip(&keys) {
                let row = rows.entry(*key).or_default();
                let cost = self.settings.costs.request;
                row[1] += 1;
                row[2] += cost * (index + 1) / count - cost * index / count;
            }
            let row = rows.get_mut(&keys[0]).unwrap();
            row[0] += 1;
            row[3] += u64::from(request.sharing == SharingKind::False);
            row[4] += u64::from(request.sharing == SharingKind::True);
            row[5] += request.words;
        }
        rows
    }

    /// How often a request of one row led to a request of another.
    pub fn transitions(&self) -> BTreeMap<(FlowKey, FlowKey), u64> {
        let mut found = BTreeMap::new();
        for request in &self.requests {
            let Some((_, writes, _)) = &request.cause else { continue };
            for (write, to) in writes.iter().zip(keys_of(request)) {
                let source = &self.requests[write.3.unwrap() as usize];
                *found.entry((keys_of(source)[0], to)).or_default() += 1;
            }
        }
        found
    }

    /// Bytes read, bytes written, accesses and writes by unit and processor.
    pub fn byte_map(&self) -> BTreeMap<(u64, ProcessorId), Use> {
        let mut map: BTreeMap<_, Use> = BTreeMap::new();
        for piece in &self.pieces {
            let row = map.entry((piece.unit, piece.processor)).or_default();
            if piece.kind.is_read() {
                row.0.extend(&piece.bytes);
            }
            if piece.kind.is_write() {
                row.1.extend(&piece.bytes);
                row.3 += 1;
            }
            row.2 += 1;
        }
        map
    }

    /// Necessary and possible requests of a unit, by every access and write.
    pub fn range(&self, unit: u64) -> (u64, u64) {
        let of_unit: Vec<&Piece> = self.pieces.iter().filter(|piece| piece.unit == unit).collect();
        let processors: BTreeSet<u16> = of_unit.iter().map(|piece| piece.processor.0).collect();
        let ranges = processors.into_iter().map(|processor| self.range_of(unit, processor));
        ranges.fold((0, 0), |sum, range| (sum.0 + range.0, sum.1 + range.1))
    }

    /// The same of one processor.
    pub fn range_of(&self, unit: u64, processor: u16) -> (u64, u64) {
        let of_unit = || self.pieces.iter().filter(|piece| piece.unit == unit);
        let own: Vec<usize> =
            of_unit().filter(|piece| piece.processor.0 == processor).map(|piece| piece.event).collect();
        let writes = of_unit().filter(|piece| piece.processor.0 != processor && piece.kind.is_write());
        let interval = |write: &Piece| {
            let first = own.iter().filter(|at| self.before[write.event].contains(at)).count();
            let after = own.iter().position(|&at| self.before[at].contains(&write.event));
            (first, after.unwrap_or(own.len()))
        };
        let intervals: Vec<(usize, usize)> = writes.map(interval).collect();
        (stabs(&intervals, own.len()), matching(&intervals, own.len()))
    }
}

fn keys_of(request: &Seen) -> Vec<FlowKey> {
    let &Seen { unit, processor: reader, site: reader_site, kind, .. } = request;
    let key = |origin| FlowKey { unit, object: None, reader, reader_site, kind, origin };
    match &request.cause {
        None => vec![key(FlowOrigin::Cold)],
        Some((_, writes, _)) => {
            let origin = |&(writer, writer_site, ordered_by, _): &Write| FlowOrigin::Written {
                ordered_by,
                writer,
                writer_site,
            };
            writes.iter().map(|write| key(origin(write))).collect()
        }
    }
}

/// The fewest gaps that all intervals without a free gap can share, by trying the last used gap.
fn stabs(intervals: &[(usize, usize)], accesses: usize) -> u64 {
    let forced: Vec<_> = intervals.iter().filter(|(first, last)| *first > 0 && *last < accesses).collect();
    // fewest[gap]: fewest gaps with `gap` as the last one, such that no interval lies wholly before it unstabbed.
    let mut fewest = vec![u64::MAX; accesses + 1];
    fewest[0] = 0;
    for gap in 1..=accesses {
        for before in 0..gap {
            let is_missed = forced.iter().any(|(first, last)| *first > before && *last < gap);
            if fewest[before] != u64::MAX && !is_missed {
                let cost = fewest[before] + u64::from(gap < accesses);
                fewest[gap] = fewest[gap].min(cost);
            }
        }
    }
    if accesses == 0 { 0 } else { fewest[accesses] }
}

/// The most gaps with a write of their own, by augmenting paths (Kuhn).
fn matching(intervals: &[(usize, usize)], accesses: usize) -> u64 {
    fn place(
        write: usize,
        intervals: &[(usize, usize)],
        taken: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        let (first, last) = intervals[write];
        for gap in first.max(1)..(last + 1).min(taken.len()) {
            if std::mem::replace(&mut tried[gap], true) {
                continue;
            }
            if taken[gap].is_none_or(|other| place(other, intervals, taken, tried)) {
                taken[gap] = Some(write);
                return true;
            }
        }
        false
    }
    let mut taken = vec![None; accesses];
    let placed = |write: &usize| place(*write, intervals, &mut taken, &mut vec![false; accesses]);
    (0..intervals.len()).filter(placed).count() as u64
}
