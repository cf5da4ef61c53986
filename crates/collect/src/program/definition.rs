//! What a slot says that it is.

use std::io;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use longpole_event::{SeriesKind, SeriesNode};
use longpole_runtime::interface::series::SeriesSlot;

use crate::sink::SeriesKey;

/// What a series is, as it was when it was first seen: whoever changes it later is not heard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProgramSeriesDefinition {
    pub(super) metric: String,
    unit: String,
    label: String,
    pub(super) samples: SeriesKind,
    node: SeriesNode,
}

impl ProgramSeriesDefinition {
    /// Reads a slot, or says what is wrong with it.
    pub(super) fn read(slot: &SeriesSlot) -> Result<ProgramSeriesDefinition, String> {
        let metric = text(&slot.name);
        if !is_name(&metric) {
            return Err(format!("`{}` is no name of a metric", metric.escape_debug()));
        }
        let wrong = |what: &str| format!("`{metric}` has no {what}");
        let samples = match slot.samples.load(Relaxed) {
            0 => SeriesKind::Gauge,
            1 => SeriesKind::Counter,
            2 => SeriesKind::Amount,
            _ => return Err(wrong("known way to read its numbers")),
        };
        let node = match (slot.node.load(Relaxed), slot.id.load(Relaxed)) {
            (0, _) => SeriesNode::Program,
            (1, _) => SeriesNode::Machine,
            (2, pid) if pid != 0 => SeriesNode::Process { pid },
            (3, tid) if tid != 0 => SeriesNode::Thread { tid },
            _ => return Err(wrong("known node")),
        };
        Ok(ProgramSeriesDefinition {
            unit: printable(&slot.unit),
            label: printable(&slot.label),
            metric,
            samples,
            node,
        })
    }

    pub(super) fn key(&self) -> SeriesKey<'_> {
        let ProgramSeriesDefinition { metric, unit, label, samples, node } = self;
        SeriesKey { metric, unit, samples: *samples, node: *node, label }
    }

    /// Whether the process or thread is gone.
    pub(super) fn has_ended(&self) -> bool {
        let (SeriesNode::Process { pid: number } | SeriesNode::Thread { tid: number }) = self.node else {
            return false;
        };
        let Ok(number) = libc::pid_t::try_from(number) else { return true };
        // SAFETY: signal 0 is sent to nobody.
        let failed = unsafe { libc::kill(number, 0) } != 0;
        failed && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
    }

    /// Whether the numbers of both would be one series.
    pub(super) fn is_same_series(&self, other: &ProgramSeriesDefinition) -> bool {
        (&self.metric, self.node, &self.label) == (&other.metric, other.node, &other.label)
    }
}

/// Formulas have to be able to name it.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    text.bytes().next().is_some_and(is_letter)
        && text.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

fn text(bytes: &[AtomicU8]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0).collect();
    // One that was cut off may end within a character.
    String::from_utf8_lossy(&bytes).trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()
}

fn printable(bytes: &[AtomicU8]) -> String {
    text(bytes).chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
