//! A recording of one unit in so many: what is followed, and totals of all units with the interval that holds them.
//!
//! The program recorded the accesses to the followed units, and of all groups of units the limit of their transfers
//! ([`longpole_access::unit_sample`]). From both the totals are estimated ([`longpole_coherence::SampleFrame`]).

use longpole_access::format::{FOLLOWED_LIMITS, HIGHEST_LIMITS, LIMITS_BY_CLASS};
use longpole_access::unit_sample::{LIMIT_CLASSES, UnitSample};
use longpole_coherence::{
    CommunicationResult, FlowKey, FlowOrigin, FollowedCounts, SampleFrame, SampledTotal, TransferRange,
    UnitSummary,
};
use longpole_recording::{AccessSample, Manifest};

use crate::error::{Error, Result};
use crate::log::LoggedProcess;

/// Limits as they were recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoggedLimits {
    /// Group and limit.
    followed: Vec<(u32, u64)>,
    /// Unit and limit, of groups that are not followed.
    highest: Vec<(u64, u64)>,
    /// Groups and the sum of their limits, by bits; `None` where the process was killed before it could say it.
    classes: Option<Vec<(u64, u64)>>,
}

impl LoggedLimits {
    /// Takes a message.
    pub(crate) fn take(&mut self, number: u32, bytes: &[u8]) {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let rows = bytes.chunks_exact(16).map(|row| (word(&row[..8]), word(&row[8..])));
        match number {
            FOLLOWED_LIMITS => self.followed.extend(rows.map(|(group, limit)| (group as u32, limit))),
            HIGHEST_LIMITS => self.highest.extend(rows.filter(|(_, limit)| *limit > 0)),
            LIMITS_BY_CLASS => self.classes = Some(rows.take(LIMIT_CLASSES).collect()),
            _ => {}
        }
    }
}

/// What of the followed units is counted in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedRequests {
    /// Transfers by group.
    pub transfers: FollowedCounts,
    /// Requests by group behind which a write of the row is.
    pub contributions: FollowedCounts,
    /// First references by group.
    pub first: FollowedCounts,
}

impl FollowedRequests {
    /// Adds another row's.
    pub fn merge(&mut self, other: &FollowedRequests) {
        for (own, other) in [
            (&mut self.transfers, &other.transfers),
            (&mut self.contributions, &other.contributions),
            (&mut self.first, &other.first),
        ] {
            other.iter().for_each(|(&group, &count)| *own.entry(group).or_default() += count);
        }
    }

    fn add(&mut self, of: &FlowOfUnit) {
        if of.is_first {
            *self.first.entry(of.group).or_default() += of.requests;
        } else {
            *self.transfers.entry(of.group).or_default() += of.requests;
            *self.contributions.entry(of.group).or_default() += of.contributions;
        }
    }
}

/// A unit that is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfollowedUnit {
    /// First address; other units may be meant with it.
    pub address: u64,
    /// Index of the object that is there when the run ends.
    pub object: usize,
    /// No more transfers can be in it.
    pub transfers_at_most: u64,
}

/// What was followed, and what is known of all units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommunicationSample {
    /// One unit in so many.
    pub one_of: u32,
    /// Bytes of these units.
    pub unit: u64,
    /// Accesses to followed units.
    pub followed_accesses: u64,
    /// Followed units that were touched.
    pub followed_units: u64,
    /// Units that are not followed, and could have the most transfers.
    pub highest: Vec<UnfollowedUnit>,
    /// What all flows count.
    pub followed: FollowedRequests,
    frame: SampleFrame,
    /// First references of one group, at most.
    most_first: u64,
}

impl CommunicationSample {
    /// The transfers of a row.
    #[must_use]
    pub fn transfers(&self, of: &FollowedRequests) -> SampledTotal {
        self.frame.transfers(&of.transfers)
    }

    /// Requests behind which writes of a row are.
    #[must_use]
    pub fn contributions(&self, of: &FollowedRequests) -> SampledTotal {
        self.frame.transfers(&of.contributions)
    }

    /// All requests of a row.
    #[must_use]
    pub fn requests(&self, of: &FollowedRequests) -> SampledTotal {
        self.transfers(of).plus(self.frame.first_references(&of.first, self.most_first))
    }

    /// The most transfers of all units that are not followed; `None` where that is not known.
    #[must_use]
    pub fn unfollowed_at_most(&self) -> Option<f64> {
        Some(self.frame.other_limits()).filter(|limits| limits.is_finite())
    }
}

/// A flow before it is weighed.
struct FlowOfUnit {
    group: u32,
    is_first: bool,
    requests: u64,
    contributions: u64,
}

/// A sample while its answer is made.
pub(crate) struct SampleInUse {
    pub(crate) rule: UnitSample,
    pub(crate) sample: CommunicationSample,
    /// As the flows of the result.
    flows: Vec<FlowOfUnit>,
}

/// The rule of a recorded sample.
pub(crate) fn rule_of(sample: AccessSample) -> UnitSample {
    UnitSample { one_of: sample.one_of, shift: sample.unit.trailing_zeros(), seed: sample.seed }
}

/// Refuses what needs the accesses to all units.
pub(crate) fn whole(what: &'static str, manifest: &Manifest) -> Result<()> {
    match manifest.machines.first().and_then(|machine| machine.access_sample) {
        Some(AccessSample { one_of, .. }) => Err(Error::NeedsAllUnits { what, one_of }),
        None => Ok(()),
    }
}

impl SampleInUse {
    /// For units of so many bytes.
    ///
    /// # Errors
    /// [`Error::LargeUnit`].
    pub(crate) fn of(recorded: AccessSample, process: &LoggedProcess, unit: u64) -> Result<SampleInUse> {
        if unit > recorded.unit {
            return Err(Error::LargeUnit { unit, sample: recorded });
        }
        // An access to a followed unit may be one to each of several smaller ones.
        let parts = (recorded.unit / unit).max(1);
        let LoggedLimits { followed, classes, .. } = &process.limits;
        let followed: Vec<_> =
            followed.iter().map(|&(group, limit)| (group, limit.saturating_mul(parts))).collect();
        let others = classes.as_ref().map(|classes| {
            let mut larger = vec![(0, 0); parts.trailing_zeros() as usize];
            larger.extend(classes.iter().map(|&(groups, limits)| (groups, limits.saturating_mul(parts))));
            larger
        });
        let sample = CommunicationSample {
            one_of: recorded.one_of,
            unit: recorded.unit,
            frame: SampleFrame::new(recorded.one_of, &followed, others.as_deref()),
            ..CommunicationSample::default()
        };
        Ok(SampleInUse { rule: rule_of(recorded), sample, flows: Vec::new() })
    }

    fn group(&self, address: u64) -> u32 {
        UnitSample::group(self.rule.unit(address)) as u32
    }

    /// For how many requests one of a flow stands.
    pub(crate) fn weight(&self, key: &FlowKey) -> f64 {
        match key.origin {
            FlowOrigin::Cold => self.sample.frame.weight_of_first(),
            FlowOrigin::Written { .. } => self.sample.frame.weight(self.group(key.unit)),
        }
    }

    /// For how many units one of these stands: one with transfers, or without.
    pub(crate) fn weight_of_unit(&self, address: u64, is_moved: bool) -> f64 {
        match is_moved {
            true => self.sample.frame.weight(self.group(address)),
            false => self.sample.frame.weight_of_first(),
        }
    }

    /// Keeps what the flows count, and lets them stand for all units.
    pub(crate) fn weigh(&mut self, result: &mut CommunicationResult) {
        self.flows = result
            .flows
            .iter()
            .map(|flow| FlowOfUnit {
                group: self.group(flow.key.unit),
                is_first: flow.key.origin == FlowOrigin::Cold,
                requests: flow.totals.requests,
                contributions: flow.totals.contributions,
            })
            .collect();
        let mut all = FollowedRequests::default();
        self.flows.iter().for_each(|of| all.add(of));
        self.sample.most_first = all.first.values().copied().max().unwrap_or(1);
        self.sample.followed = all;
        let units: std::collections::BTreeSet<u64> =
            result.units.iter().map(|unit| self.rule.unit(unit.address)).collect();
        self.sample.followed_units = units.len() as u64;
        result.weigh(|key| self.weight(key));
    }

    /// Transfers of any order, and upgrades, of all units.
    pub(crate) fn range_and_upgrades(&self, result: &CommunicationResult) -> (TransferRange, u64) {
        let sum = |value: fn(&UnitSummary) -> u64| -> u64 {
            let of = |unit| self.weight_of_unit(unit, true);
            result.units.iter().map(|unit| of(unit.address) * value(unit) as f64).sum::<f64>().round() as u64
        };
        let range = TransferRange {
            necessary: sum(|unit| unit.range.necessary),
            possible: sum(|unit| unit.range.possible),
        };
        (range, sum(|unit| unit.upgrades))
    }

    /// The sample of an ended run.
    pub(crate) fn ended(self, followed_accesses: u64) -> CommunicationSample {
        CommunicationSample { followed_accesses, ..self.sample }
    }

    /// Adds what a flow of the result counts.
    pub(crate) fn add_to(&self, row: &mut FollowedRequests, flow: usize) {
        if let Some(of) = self.flows.get(flow) {
            row.add(of);
        }
    }

    /// Names the units that are not followed and could have the most transfers.
    pub(crate) fn name_highest(&mut self, process: &LoggedProcess, mut object: impl FnMut(u64) -> usize) {
        let parts = self.sample.unit;
        let named = process.limits.highest.iter().map(|&(unit, limit)| {
            let address = unit * parts;
            UnfollowedUnit { address, object: object(address), transfers_at_most: limit }
        });
        self.sample.highest = named.collect();
    }
}
