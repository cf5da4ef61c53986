//! States as small numbers, by which they are kept and sent, with their names.
//!
//! ```text
//!   0 running   1 spinning   2 overhead   3 ready   4… blocked, by cause   last: absent
//! ```

use longpole_trace::{Cause, State};
use serde::Serialize;

/// Number of states.
pub(crate) const STATES: usize = ABSENT + 1;

/// Bits of a state's number; a set of states has a bit for each of them.
pub(crate) const CODE_BITS: u32 = 6;
const _: () = assert!(STATES <= 1 << CODE_BITS);

const FIRST_CAUSE: usize = 4;
const LAST_ON_CPU: usize = 2;
/// Absent.
pub(crate) const ABSENT: usize = FIRST_CAUSE + Cause::ALL.len();

/// The state's number.
pub(crate) fn code(state: State) -> usize {
    match state {
        State::Running => 0,
        State::Spinning => 1,
        State::Overhead => 2,
        State::Ready => 3,
        State::Blocked(cause) => FIRST_CAUSE + cause.index(),
        State::Absent => ABSENT,
    }
}

/// The state of this number.
pub(crate) fn state(code: usize) -> State {
    match code {
        0 => State::Running,
        1 => State::Spinning,
        2 => State::Overhead,
        3 => State::Ready,
        _ => Cause::ALL.get(code - FIRST_CAUSE).map_or(State::Absent, |&cause| State::Blocked(cause)),
    }
}

/// Whether the state of this number is on a processor.
pub(crate) fn is_on_cpu(code: usize) -> bool {
    code <= LAST_ON_CPU
}

/// A set of states, a bit for each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateSet(u64);

impl StateSet {
    /// Those for which `is` holds.
    pub fn those(is: impl Fn(State) -> bool) -> StateSet {
        StateSet((0..STATES).filter(|&code| is(state(code))).map(|code| 1 << code).sum())
    }

    /// Whether the state of this number is one of them.
    pub fn has(self, code: usize) -> bool {
        self.0 >> code & 1 == 1
    }
}

/// What kind of state it is, which is how it is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StateKind {
    /// Not there.
    Absent,
    /// Useful work.
    Busy,
    /// Busy-waiting.
    Spin,
    /// The collector's own work.
    Overhead,
    /// Without a processor.
    Ready,
    /// Waiting for other threads.
    Synchronisation,
    /// Waiting for a device or a page.
    Device,
    /// Waiting for what the program or its user chose: a time, a signal, a terminal, a debugger.
    Chosen,
}

/// A state's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateName {
    /// Key.
    pub name: String,
    /// For people.
    pub title: String,
    /// Its kind.
    pub kind: StateKind,
}

/// The state's name, title and kind.
pub(crate) fn state_name(state: State) -> StateName {
    let (name, title, kind) = match state {
        State::Absent => ("absent", "not there", StateKind::Absent),
        State::Running => ("running", "running", StateKind::Busy),
        State::Spinning => ("spinning", "spinning", StateKind::Spin),
        State::Overhead => ("overhead", "in the collector", StateKind::Overhead),
        State::Ready => ("ready", "ready", StateKind::Ready),
        State::Blocked(cause) => {
            let name = format!("blocked_{}", cause.name().replace(' ', "_"));
            return StateName { name, title: format!("blocked: {cause}"), kind: kind_of(cause) };
        }
    };
    StateName { name: name.to_owned(), title: title.to_owned(), kind }
}

fn kind_of(cause: Cause) -> StateKind {
    match cause {
        Cause::Io | Cause::Delivery | Cause::PageFault | Cause::Request => StateKind::Device,
        cause if cause.is_synchronisation() => StateKind::Synchronisation,
        _ => StateKind::Chosen,
    }
}

/// Every state, by its number.
#[must_use]
pub fn state_names() -> Vec<StateName> {
    (0..STATES).map(|code| state_name(state(code))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_one_state() {
        for number in 0..STATES {
            assert_eq!(code(state(number)), number);
            assert_eq!(is_on_cpu(number), state(number).is_on_cpu());
        }
        assert_eq!(state(ABSENT), State::Absent);
    }

    #[test]
    fn states_are_named_and_coloured_by_what_is_waited_for() {
        let names = state_names();
        let of = |name: &str| names.iter().find(|state| state.name == name).map(|state| state.kind);
        assert_eq!(of("running"), Some(StateKind::Busy));
        assert_eq!(of("blocked_lock"), Some(StateKind::Synchronisation));
        assert_eq!(of("blocked_page_fault"), Some(StateKind::Device));
        assert_eq!(of("blocked_delivery"), Some(StateKind::Device));
        let all_chosen = [
            "blocked_sleep",
            "blocked_timer",
            "blocked_poll_timeout",
            "blocked_polling_sleep",
            "blocked_signal",
            "blocked_terminal",
            "blocked_stopped",
        ];
        for chosen in all_chosen {
            assert_eq!(of(chosen), Some(StateKind::Chosen), "{chosen}");
        }
        let chosen = names.iter().filter(|state| state.kind == StateKind::Chosen);
        assert_eq!(chosen.count(), all_chosen.len());
    }

    #[test]
    fn a_set_has_what_it_was_made_of() {
        let set = StateSet::those(|state| state.is_on_cpu());
        assert!(set.has(0) && set.has(1) && set.has(2) && !set.has(3) && !set.has(ABSENT));
    }
}
