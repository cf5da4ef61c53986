//! Patterns of access, decided from bytes (C §2.2 names them; the byte rules are this crate's).
//!
//! Each request gets one pattern, when its copy is lost or the run ends; a unit's or an object's patterns are shares of its
//! requests. U are the bytes that the requester used in the copy's lifetime, S the bytes that others had written since its
//! last access, M the bytes that it read and then wrote in the lifetime. The first rule that holds decides:
//!
//! 1. cold: the processor's first reference; *read-only* where the unit has no write at or after the first access of a
//!    second processor, and the requester is not the first one;
//! 2. false sharing: at least 90 % of the smaller of U and S are not in the other;
//! 3. migratory: M and the M of the holder before share at least half of the larger of the two;
//! 4. by the requests of the unit in the request's window: one or many writers behind them (P), one or many requesters (C):
//!    SPSC, SPMC, MPSC, MPMC.
//!
//! Order alone proves nothing: neighbours that take turns on a page of disjoint rows look migratory by order, and rule 2
//! comes first. A *window* goes from barrier to barrier, or lasts as long as the settings say.

use crate::access::ProcessorId;
use crate::bytes;

/// Part of the smaller set of bytes that must be apart for false sharing.
const FALSE_SHARING_PERCENT: u64 = 90;
/// Part of the larger set of bytes that successive holders must both read and then write.
const MIGRATORY_PERCENT: u64 = 50;

/// What a request was for, by its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SharingKind {
    /// The processor's first reference.
    Cold,
    /// The processor used bytes that others had written.
    True,
    /// It did not, or hardly: only the unit is shared.
    False,
}

/// The pattern of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessPattern {
    /// First reference.
    Cold,
    /// First reference of a later processor to a unit that is only read after its initialisation.
    ReadOnly,
    /// False sharing.
    FalseSharing,
    /// Successive holders read and then write the same bytes.
    Migratory,
    /// Single producer, single consumer.
    Spsc,
    /// Single producer, multiple consumers.
    Spmc,
    /// Multiple producers, single consumer.
    Mpsc,
    /// Multiple producers, multiple consumers.
    Mpmc,
}

impl AccessPattern {
    /// All patterns, in the order of their shares.
    pub const ALL: [Self; 8] = [
        Self::Cold,
        Self::ReadOnly,
        Self::FalseSharing,
        Self::Migratory,
        Self::Spsc,
        Self::Spmc,
        Self::Mpsc,
        Self::Mpmc,
    ];

    /// Whether its requests are for what others wrote, and no first references.
    #[must_use]
    pub const fn is_transfer(self) -> bool {
        !matches!(self, Self::Cold | Self::ReadOnly)
    }

    /// The name as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::ReadOnly => "read-only",
            Self::FalseSharing => "false sharing",
            Self::Migratory => "migratory",
            Self::Spsc => "SPSC",
            Self::Spmc => "SPMC",
            Self::Mpsc => "MPSC",
            Self::Mpmc => "MPMC",
        }
    }
}

/// Requests of one pattern.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PatternTally {
    /// Requests.
    pub requests: u64,
    /// Their cost in nanoseconds.
    pub cost: u64,
}

/// Requests by pattern: shares, not one label.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PatternTallies([PatternTally; 8]);

impl PatternTallies {
    /// The requests of one pattern.
    pub fn of(&self, pattern: AccessPattern) -> PatternTally {
        self.0[pattern as usize]
    }

    /// All requests.
    #[must_use]
    pub fn all(&self) -> PatternTally {
        self.sum(|_| true)
    }

    /// Requests that are no first references.
    #[must_use]
    pub fn transfers(&self) -> PatternTally {
        self.sum(AccessPattern::is_transfer)
    }

    /// The same shares of so many requests, whose cost is so many times as high.
    #[must_use]
    pub(crate) fn scaled_to(&self, requests: u64, cost: f64) -> Self {
        let all = self.all().requests.max(1) as f64;
        let mut scaled = *self;
        let (mut seen, mut given) = (0, 0);
        for tally in &mut scaled.0 {
            seen += tally.requests;
            let until = (seen as f64 * requests as f64 / all).round() as u64;
            tally.requests = until - given;
            tally.cost = (tally.cost as f64 * cost).round() as u64;
            given = until;
        }
        scaled
    }

    fn sum(&self, is_meant: impl Fn(AccessPattern) -> bool) -> PatternTally {
        let mut sum = PatternTally::default();
        for pattern in AccessPattern::ALL.into_iter().filter(|&pattern| is_meant(pattern)) {
            sum.requests += self.of(pattern).requests;
            sum.cost += self.of(pattern).cost;
        }
        sum
    }

    /// Share of the pattern in the requests that are not cold, 0 to 1; `None` where there are none.
    pub fn share(&self, pattern: AccessPattern) -> Option<f64> {
        let all = self.transfers().requests;
        (all > 0).then(|| self.of(pattern).requests as f64 / all as f64)
    }

    /// Adds requests of a pattern.
    pub fn add(&mut self, pattern: AccessPattern, tally: PatternTally) {
        self.0[pattern as usize].requests += tally.requests;
        self.0[pattern as usize].cost += tally.cost;
    }

    /// Gives requests another pattern.
    pub(crate) fn recast(&mut self, from: AccessPattern, to: AccessPattern, tally: PatternTally) {
        self.0[from as usize].requests -= tally.requests;
        self.0[from as usize].cost -= tally.cost;
        self.add(to, tally);
    }

    /// Adds another's requests.
    pub fn merge(&mut self, other: &Self) {
        for pattern in AccessPattern::ALL {
            self.add(pattern, other.of(pattern));
        }
    }
}

/// None, one or many processors.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Multiplicity {
    #[default]
    Empty,
    One(ProcessorId),
    Many,
}

impl Multiplicity {
    fn add(&mut self, processor: ProcessorId) {
        *self = match *self {
            Self::Empty => Self::One(processor),
            Self::One(only) if only == processor => Self::One(only),
            _ => Self::Many,
        };
    }
}

/// A unit's requests in the present window.
#[derive(Clone, Default, Debug)]
pub(crate) struct UnitWindow {
    pub(crate) number: u32,
    producers: Multiplicity,
    consumers: Multiplicity,
    /// Requests of this window that are known to be neither false sharing nor migratory, by flow; flows ascend.
    plain: Vec<(u32, PatternTally)>,
}

impl UnitWindow {
    /// A window without requests.
    pub(crate) fn new(number: u32) -> Self {
        Self { number, ..Self::default() }
    }

    /// A request for what the producers wrote.
    pub(crate) fn note(&mut self, consumer: ProcessorId, producers: impl Iterator<Item = ProcessorId>) {
        self.consumers.add(consumer);
        producers.for_each(|producer| self.producers.add(producer));
    }

    /// A request that the window's shape decides.
    pub(crate) fn add_plain(&mut self, flow: u32, cost: u64) {
        let at = match self.plain.binary_search_by_key(&flow, |(known, _)| *known) {
            Ok(at) => at,
            Err(at) => {
                self.plain.insert(at, (flow, PatternTally::default()));
                at
            }
        };
        self.plain[at].1.requests += 1;
        self.plain[at].1.cost += cost;
    }

    /// The shape of the window's requests.
    pub(crate) fn shape(&self) -> AccessPattern {
        match (self.producers == Multiplicity::Many, self.consumers == Multiplicity::Many) {
            (false, false) => AccessPattern::Spsc,
            (false, true) => AccessPattern::Spmc,
            (true, false) => AccessPattern::Mpsc,
            (true, true) => AccessPattern::Mpmc,
        }
    }

    /// The requests that the shape decides, by flow.
    pub(crate) fn into_plain(self) -> Vec<(u32, PatternTally)> {
        self.plain
    }
}

/// Rule 2.
pub(crate) fn is_false_sharing(used: &[u64], stale: &[u64]) -> bool {
    let smaller = bytes::count(used).min(bytes::count(stale));
    let apart = smaller - bytes::count_common(used, stale);
    apart * 100 >= smaller * FALSE_SHARING_PERCENT
}

/// Rule 3.
pub(crate) fn is_migratory(own: &[u64], before: &[u64]) -> bool {
    let larger = bytes::count(own).max(bytes::count(before));
    larger > 0 && bytes::count_common(own, before) * 100 >= larger * MIGRATORY_PERCENT
}
