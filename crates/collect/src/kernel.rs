//! What the machine does: `/proc/stat`.

use std::fs;
use std::io;

use longpole_event::{Samples, SeriesNode, Time};

use crate::sink::{Key, Sink};
use crate::source::Source;

/// Ticks of `/proc/stat` in a second: `USER_HZ`, which is the same on every machine that this runs on.
const TICKS: f64 = 100.0;

/// Reads the kernel's counts of the machine.
#[derive(Debug, Default)]
pub(crate) struct Kernel {}

impl Source for Kernel {
    fn look(&mut self, now: Time, sink: &mut Sink<'_>) -> io::Result<()> {
        let text = fs::read_to_string("/proc/stat")?;
        let Some(all) = text.lines().find_map(|line| line.strip_prefix("cpu ")) else { return Ok(()) };
        let Some(user) = all.split_ascii_whitespace().next().and_then(|word| word.parse::<f64>().ok()) else {
            sink.trouble("/proc/stat has no user time");
            return Ok(());
        };
        let key = Key {
            metric: "sys_user_time",
            unit: "s",
            samples: Samples::Counter,
            node: SeriesNode::Machine,
            label: "",
        };
        sink.put(&key, now, user / TICKS);
        Ok(())
    }
}
