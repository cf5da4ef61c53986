//! A program that we started and that goes on when its recording has ended.
//!
//! The recorder stays its parent, as a shell would: it gets the signals that are sent to the recorder, and its exit
//! status is the recorder's.

use std::io;
use std::time::Duration;

use crate::launch::{ExitStatus, Running};
use crate::signals::HeldSignals;
use crate::wait::Waiter;

/// Time between two looks, should the kernel not tell of the end.
const ROUND: Duration = Duration::from_secs(1);

/// The program, and the signals that are held back for it.
#[derive(Debug)]
pub struct GoingOn {
    pub(crate) child: Running,
    pub(crate) signals: HeldSignals,
    pub(crate) waiter: Waiter,
}

impl GoingOn {
    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Waits for its end and passes signals on to it meanwhile.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        loop {
            let woken = self.waiter.wait(ROUND)?;
            if woken.signalled {
                self.signals.pass_on(&self.child);
            }
            if woken.program_ended {
                return self.child.wait();
            }
        }
    }
}
