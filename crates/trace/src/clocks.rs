//! How the clocks of several machines map onto one, from what is known to have come before what.
//!
//! ```text
//!   offset                      u: a message to the other machine was sent at s and received at r, so offset(s) ≤ r − s
//!     │ u    u  u      ___high
//!     │──────────┐u___/         between the bounds the offset changes by what clocks drift at most: the corridor
//!     │  l  l     └──────────   ours: one line where one fits, else as few pieces as fit, without steps
//!     │          l   l    ‾‾‾low
//!     └────────────────────► t  l: a message from there was sent at s and received at r, so offset(r) ≥ s − r
//! ```
//! The truth is in the corridor, so a piece is off by its distance to the corridor's farther side at most: that is the error that is
//! said. Oscillators keep their speed much better than clocks that are slewed, so offsets are those between oscillators where
//! recorders read them (`oscillator`). What is still received before it was sent is mended by a logical clock (`logical`).

mod corridor;
mod curve;
mod fit;
mod line;
pub(crate) mod logical;
mod oscillator;

pub use curve::{ClockCurve, ClockKnot};
pub use fit::{ClockFit, DriftLimits, OffsetBound, OffsetBounds};
pub(crate) use oscillator::oscillator;
