//! Slices of lanes: those that nobody uses, and the larger of two lengths in each lane.

/// Lanes that no thread uses.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) lanes: usize,
    pub(super) free: Vec<Box<[f64]>>,
}

impl Buffers {
    pub(super) fn zeros(&mut self) -> Box<[f64]> {
        match self.free.pop() {
            Some(mut buffer) => {
                buffer.fill(0.0);
                buffer
            }
            None => vec![0.0; self.lanes].into_boxed_slice(),
        }
    }

    pub(super) fn copy(&mut self, of: Option<&[f64]>) -> Option<Box<[f64]>> {
        let lanes = of?;
        Some(match self.free.pop() {
            Some(mut buffer) => {
                buffer.copy_from_slice(lanes);
                buffer
            }
            None => lanes.into(),
        })
    }

    pub(super) fn take_back(&mut self, lanes: Option<Box<[f64]>>) {
        self.free.extend(lanes);
    }
}

/// `own + own_shift` or `other + other_shift`, whichever is larger, lane by lane.
pub(super) fn raise(own: &mut [f64], own_shift: f64, other: &[f64], other_shift: f64) {
    for (own, other) in own.iter_mut().zip(other) {
        let (mine, theirs) = (*own + own_shift, *other + other_shift);
        *own = if mine > theirs { mine } else { theirs };
    }
}

/// The same against lanes that are all as their base.
pub(super) fn raise_to(own: &mut [f64], own_shift: f64, least: f64) {
    for own in own {
        let mine = *own + own_shift;
        *own = if mine > least { mine } else { least };
    }
}
