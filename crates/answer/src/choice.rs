//! The choices that a question has, each with its words: the command line, the page and keys take them from here.

use longpole_communication::UnitProtocol;
use longpole_metrics::{By, Order, Weight};
use longpole_report::Sort;
use longpole_trace::Fold;

/// Something that is chosen by a word.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// Everything that can be chosen, with its word and what it means.
    const CHOICES: &'static [(Self, &'static str, &'static str)];

    /// What the word stands for.
    #[must_use]
    fn of_word(word: &str) -> Option<Self> {
        Self::CHOICES.iter().find(|(_, known, _)| *known == word).map(|&(choice, ..)| choice)
    }

    /// The word for it.
    #[must_use]
    fn word(self) -> &'static str {
        let found = Self::CHOICES.iter().find(|(choice, ..)| *choice == self);
        found.map(|&(_, word, _)| word).expect("every choice has a word")
    }
}

/// What waiting for devices and pages is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceWaits {
    /// Work of the device on the thread's behalf.
    #[default]
    Busy,
    /// Idleness.
    Idle,
}

impl DeviceWaits {
    /// Whether threads that wait for them are idle.
    #[must_use]
    pub fn is_idle(self) -> bool {
        self == DeviceWaits::Idle
    }
}

impl Choice for DeviceWaits {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (DeviceWaits::Busy, "busy", "Work of the device on the thread's behalf"),
        (DeviceWaits::Idle, "idle", "Idleness"),
    ];
}

impl Choice for By {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (By::Procedure, "procedure", "Procedures"),
        (By::Line, "line", "Lines of procedures"),
        (By::Thread, "thread", "Threads"),
        (By::Process, "process", "Processes"),
        (By::Machine, "machine", "Machines"),
        (By::Object, "object", "Locks and other objects that threads wait for"),
        (By::ProcessProcedure, "process,procedure", "Procedures in each process apart, in the view rankings"),
    ];
}

impl Choice for Sort {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Sort::Own, "self", "Their own share"),
        (Sort::Inclusive, "inclusive", "With all that was done on their behalf"),
    ];
}

impl Choice for Fold {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Fold::None, "none", "Nothing"),
        (Fold::Kernel, "kernel", "Procedures of the kernel"),
        (
            Fold::Libraries,
            "libraries",
            "Procedures of the kernel, the C library, allocators and runtimes of languages, and small inlined helpers",
        ),
    ];
}

impl Choice for Weight {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Weight::Cpu, "cpu", "Useful CPU time"),
        (Weight::Elapsed, "elapsed", "Elapsed time: also io, sleep, waiting for a CPU, messages"),
    ];
}

impl Choice for Order {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (Order::Busy, "busy", "Those of locks that were held for more than a third of the run"),
        (Order::Recorded, "recorded", "All that were recorded"),
    ];
}

impl Choice for UnitProtocol {
    const CHOICES: &'static [(Self, &'static str, &'static str)] = &[
        (UnitProtocol::Lines, "lines", "Cache lines: a write takes all other copies"),
        (UnitProtocol::LazyRelease, "lrc", "Pages of a software DSM with lazy release consistency"),
        (UnitProtocol::Sequential, "sc", "Pages of a software DSM with sequential consistency"),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_told_apart<C: Choice + std::fmt::Debug>() {
        for &(choice, word, meaning) in C::CHOICES {
            assert_eq!((C::of_word(word), choice.word()), (Some(choice), word));
            assert!(!meaning.is_empty() && !meaning.ends_with('.'), "{meaning}");
        }
        assert_eq!(C::of_word(""), None);
    }

    #[test]
    fn a_word_stands_for_one_choice() {
        is_told_apart::<DeviceWaits>();
        is_told_apart::<By>();
        is_told_apart::<Sort>();
        is_told_apart::<Fold>();
        is_told_apart::<Weight>();
        is_told_apart::<Order>();
        is_told_apart::<UnitProtocol>();
    }

    #[test]
    fn protocols_are_named_as_their_recordings_are() {
        assert!(UnitProtocol::ALL.iter().all(|&(protocol, name)| protocol.word() == name));
    }
}
