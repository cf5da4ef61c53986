//! What every collector offers to the thread that looks.

use std::io;
use std::time::Duration;

use longpole_event::Time;

use crate::sink::Sink;

/// A collector of series.
///
/// It is made before the program starts. Its calls come from one thread and never wait: what has to be waited for
/// (a socket, a command's output) is waited for elsewhere and handed over here.
pub trait SeriesSource: Send {
    /// The program has been started (or attached to): its first process.
    fn program(&mut self, pid: u32) {
        let _ = pid;
    }

    /// Looks, and puts what it sees into `sink`. What cannot be had now is a trouble ([`Sink::trouble`]), not an error.
    ///
    /// # Errors
    /// When it can never see anything again: it is not called any more, and the error is told.
    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()>;

    /// How often it wants to look; `None`: as often as the collection does. The collection looks less often where the
    /// looks cost too much.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// How often it looked, where it keeps a pace of its own.
    fn used_interval(&self) -> Option<Duration> {
        None
    }

    /// CPU time that it used elsewhere (other threads, a command).
    fn cpu_elsewhere(&self) -> Duration {
        Duration::ZERO
    }

    /// The program has ended: tells what was started to end, and does not wait for it.
    fn ending(&mut self) {}

    /// All sources were told of the end, and there is one look more: what was started has ended within a second.
    fn stop(&mut self) {}
}
