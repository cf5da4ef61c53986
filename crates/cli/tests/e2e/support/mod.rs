//! What every end-to-end test needs: the machine for itself, programs built, longpole run, answers read.

mod answer;
mod attempts;
mod build;
mod forms;
mod gains;
mod interrupts;
mod laws;
mod nobody;
mod outside;
mod page;
mod priority;
mod real_time;
mod series;
mod session;
mod waits;

pub use answer::Answer;
pub use attempts::first_that_holds;
pub use build::{build, find, programs};
pub use forms::assert_forms;
pub use gains::{held, held_at};
pub use interrupts::heed_interrupts;
pub use laws::{assert_laws, first};
pub use longpole_testkit::skipped;
pub use nobody::{Nobody, deny_perf_events};
pub use outside::Outside;
pub use page::Page;
pub use priority::go_first;
pub use real_time::{least_real_time, may_be_real_time, record_in_real_time, saved_percents};
pub use series::{Series, series};
pub use session::{Collector, Recording, Run, Session, is_root, longpole, run};
pub use waits::{Wait, Waits};

/// The value of a `Result<_, String>`; an error is the reason why the test cannot be done here, and ends it.
macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(reason) => return $crate::support::skipped(&reason),
        }
    };
}
pub(crate) use or_skip;
