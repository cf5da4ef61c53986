//! A result of some units made one of all: each flow counts as often as there are units that its unit stands for.
//!
//! Counts stay whole numbers. What rounding leaves is carried to the next flow, so that sums are off by less than one.
//! What is of one unit, its summary and its byte map, stays as it is.

use crate::requests::{FlowKey, FlowTotals};
use crate::result::CommunicationResult;

/// Rounds numbers so that their sum is rounded, too.
#[derive(Default)]
struct CarriedRounding {
    left: f64,
}

impl CarriedRounding {
    fn round(&mut self, number: f64) -> u64 {
        let wanted = number + self.left;
        let rounded = wanted.round().max(0.0);
        self.left = wanted - rounded;
        rounded as u64
    }
}

impl CommunicationResult {
    /// Counts the flows and their transitions as often as `weight` says, 1 or more.
    pub fn weigh(&mut self, weight: impl Fn(&FlowKey) -> f64) {
        let mut rounding: [CarriedRounding; 3] = Default::default();
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let weight = weight(&flow.key);
            let before = flow.totals;
            let requests = rounding[0].round(before.requests as f64 * weight);
            let part = |part: u64| match before.requests {
                0 => 0,
                all => (part as f64 * requests as f64 / all as f64).round() as u64,
            };
            flow.totals = FlowTotals {
                requests,
                contributions: rounding[1].round(before.contributions as f64 * weight),
                cost: (before.cost as f64 * weight).round() as u64,
                false_sharing: part(before.false_sharing),
                true_sharing: part(before.true_sharing),
                migratory: part(before.migratory),
                words_used: part(before.words_used),
            };
            if let Some(patterns) = self.warm_patterns.get_mut(&index) {
                *patterns = patterns.scaled_to(requests, weight);
            }
        }
        for transition in &mut self.transitions {
            let weight = weight(&self.flows[transition.to].key);
            transition.count = rounding[2].round(transition.count as f64 * weight);
        }
        self.total_requests = self.flows.iter().map(|flow| flow.totals.requests).sum();
    }
}

#[cfg(test)]
mod tests {
    use crate::access::{AccessKind, DataAccess, ProcessorId, SiteId};
    use crate::patterns::AccessPattern;
    use crate::requests::FlowOrigin;
    use crate::settings::CoherenceSettings;
    use crate::simulation::CoherenceSimulation;

    #[test]
    fn counts_stay_whole_and_sums_are_those_of_the_weights() {
        let mut simulation = CoherenceSimulation::new(CoherenceSettings::lines()).unwrap();
        for round in 0..7_u64 {
            for processor in 0..3 {
                let address = 0x1000 + 8 * u64::from(processor) + 64 * (round % 2);
                let (processor, site) = (ProcessorId(processor), SiteId(round as u32));
                simulation.access(&DataAccess {
                    processor,
                    address,
                    size: 8,
                    kind: AccessKind::Update,
                    site,
                    time: 0,
                });
            }
        }
        let plain = simulation.finish();
        let mut weighed = plain.clone();
        weighed.weigh(|key| if key.origin == FlowOrigin::Cold { 16.0 } else { 15.3 });
        let cold = 6.0 * 16.0;
        let expected = cold + 15.3 * plain.transfers() as f64;
        assert!((weighed.total_requests as f64 - expected).abs() <= 1.0, "{}", weighed.total_requests);
        for (index, flow) in weighed.flows.iter().enumerate() {
            let patterns = weighed.patterns_of(index);
            assert_eq!(patterns.all().requests, flow.totals.requests, "{flow:?}");
            let falsely = patterns.of(AccessPattern::FalseSharing).requests;
            assert_eq!(falsely, flow.totals.false_sharing);
        }
        assert_eq!(weighed.units, plain.units);
        let mut same = plain.clone();
        same.weigh(|_| 1.0);
        assert_eq!(same, plain);
    }
}
