//! Charges work to the lanes that leave it out.

use longpole_event::ThreadId;
use longpole_trace::Paths;

use super::buffers::Buffers;
use crate::analysis::Weight;
use crate::charging::ChargePart;
use crate::marks::{Marks, Rules};
use crate::on_path::{ByMembership, Membership};

/// Charges work of a thread to its lanes.
pub(super) struct LaneCharges<'l, 'a, R> {
    pub marks: &'l mut Marks<'a, R>,
    pub buffers: &'l mut Buffers,
    pub weight: Weight,
    pub thread: ThreadId,
}

impl<R: Rules> LaneCharges<'_, '_, R> {
    pub fn charge(
        &mut self,
        lanes: &mut Option<Box<[f64]>>,
        (part, on): (ChargePart, Membership),
        time: f64,
    ) {
        let on_path = on.has(self.weight);
        match part {
            ChargePart::Of(group) => {
                let shares = self.marks.of_group(self.thread, group, on_path);
                if shares.is_empty() {
                    return;
                }
                let lanes = lanes.get_or_insert_with(|| self.buffers.zeros());
                shares.leave_out(lanes, time);
            }
            ChargePart::At(path) => {
                let marks = self.marks.of(self.thread, path);
                if marks.is_empty() {
                    return;
                }
                let lanes = lanes.get_or_insert_with(|| self.buffers.zeros());
                for mark in marks.iter().filter(|mark| on_path || !mark.on_path) {
                    lanes[mark.lane as usize] -= mark.left_out * time;
                }
            }
        }
    }

    /// Work of a thread whose lanes do not ask for paths.
    pub fn charge_all(&mut self, lanes: &mut Option<Box<[f64]>>, work: &ByMembership) {
        for (index, &time) in work.iter().enumerate().filter(|&(_, &time)| time > 0) {
            self.charge(lanes, (ChargePart::At(Paths::ROOT), Membership::of_index(index)), time as f64);
        }
    }
}
