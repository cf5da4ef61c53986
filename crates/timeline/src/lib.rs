//! Threads' states, observations and dependences of a run, kept in memory so that any window of it is drawn in
//! milliseconds.
//!
//! In: the timelines of a whole run, read once, and their [`Analysis`](longpole_metrics::Analysis) for the critical
//! paths. Out: what the page shows of a window, in the shapes of `docs/page.md`: the [`TimelineFrame`] (every thread's states
//! by bins), the [`Wakes`] (who let whom go on), a [`ThreadMoment`] (what one thread does at one time) and a curve (a
//! metric of a [`CurveNode`] by bins).
//!
//! ```
//! use longpole_metrics::{MetricOptions, Weight};
//! use longpole_timeline::{Index, FrameWindow};
//! use longpole_event::Time;
//!
//! let run = longpole_testkit::draw("T1 AAAAllBB");
//! let Ok(analysis) = longpole_metrics::analyse(&run, &MetricOptions::default());
//! let Ok(index) = Index::of(&run, &MetricOptions::default(), &analysis);
//! let (from, to) = (Time::ZERO, Time::from_nanoseconds(8));
//! let window = FrameWindow { from, to, bins: 2, first: 0, count: None, weight: Weight::Cpu };
//! let frame = index.frame(&run.program, &window);
//! // Running all the time; then half blocked for a lock, half running.
//! assert_eq!(frame.threads[0].runs, [1, 0, 1, 1]);
//! assert_eq!(frame.mixes[0], [(0, 8)]);
//! assert_eq!(frame.mixes[1].len(), 2);
//! ```

mod bins;
mod code;
mod curve;
mod dependences;
mod error;
mod frame;
mod index;
mod lane;
mod levels;
mod mix;
mod moment;
mod node;
mod pieces;
mod quantity;
mod route;
mod search;
mod wakes;
mod workers;

pub use code::{StateKind, StateName, state_names};
pub use curve::{CurveQuestion, ProgramCurves, program_curves};
pub use dependences::kind_name;
pub use error::{Error, Result};
pub use frame::{FrameThread, FrameWindow, TimelineFrame};
pub use index::Index;
pub use mix::Mix;
pub use moment::{EndedBy, PathPlace, ThreadMoment};
pub use node::{CurveNode, SelectedNodes};
pub use quantity::curve_metrics;
pub use wakes::{TimelineWake, Wakes};
