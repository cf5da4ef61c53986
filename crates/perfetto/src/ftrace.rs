//! What the kernel's tracer wrote on one CPU: whole events, and switches and wakes in columns.
//!
//! ```text
//!   event          time, task on the CPU, then the event's own fields
//!   compact_sched  columns: times as differences, next tasks, states of the ones before; wakes likewise
//! ```

use crate::wire::{WireFields, WireValue, repeated};

/// One event of a bundle, in the clock of the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FtraceEntry<'a> {
    pub(crate) time: u64,
    /// The task on the CPU; `None` in columns.
    pub(crate) task: Option<u32>,
    pub(crate) kind: FtraceKind<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FtraceKind<'a> {
    Switch {
        previous: Option<(u32, &'a [u8])>,
        state: u64,
        next: (u32, &'a [u8]),
    },
    /// `flags`: bits of the kernel's context, where the trace has them.
    Waking {
        wakee: (u32, &'a [u8]),
        flags: Option<u64>,
    },
    Wakeup {
        wakee: (u32, &'a [u8]),
    },
    Fork {
        parent: u32,
        child: (u32, &'a [u8]),
    },
    NewTask {
        child: (u32, &'a [u8]),
        is_thread: bool,
    },
    Rename {
        tid: u32,
        name: &'a [u8],
    },
    Exec {
        tid: u32,
        program: &'a [u8],
    },
    Exit {
        tid: u32,
        pid: u32,
    },
    /// An interrupt begins or ends: whether it is a soft one, whether it begins.
    Interrupt {
        is_soft: bool,
        begins: bool,
    },
    SliceBegin {
        name: &'a [u8],
    },
    SliceEnd,
}

/// A bundle.
#[derive(Clone, Debug, Default)]
pub(crate) struct FtraceBundle<'a> {
    pub(crate) cpu: u32,
    pub(crate) entries: Vec<FtraceEntry<'a>>,
    /// Events before it were lost.
    pub(crate) has_losses: bool,
    /// 0: since the machine's start; 4: the raw clock; else one of which `offset` says the difference.
    pub(crate) clock: u64,
    pub(crate) offset: Option<i64>,
    /// Fields that could not be read.
    pub(crate) damaged: u64,
}

/// `CLONE_THREAD` of the kernel.
const CLONE_THREAD: u64 = 0x1_0000;
/// Bits of the context of an event: in a hard interrupt, in a soft one.
pub(crate) const HARD_INTERRUPT: u64 = 0x08;
pub(crate) const SOFT_INTERRUPT: u64 = 0x10;

impl<'a> FtraceBundle<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> FtraceBundle<'a> {
        let mut bundle = FtraceBundle::default();
        let (mut ftrace, mut boot) = (None, None);
        let mut fields = WireFields::of(bytes);
        for (number, value) in fields.by_ref() {
            match number {
                1 => bundle.cpu = value.id(),
                2 => bundle.take_event(value.bytes()),
                3 => bundle.has_losses = value.number() != 0,
                4 => bundle.take_columns(value.bytes()),
                5 => bundle.clock = value.number(),
                6 => ftrace = Some(value.number()),
                7 => boot = Some(value.number()),
                _ => {}
            }
        }
        bundle.damaged += u64::from(fields.is_damaged());
        bundle.offset = ftrace.zip(boot).map(|(ftrace, boot)| boot.wrapping_sub(ftrace) as i64);
        bundle
    }

    fn take_event(&mut self, bytes: &'a [u8]) {
        let (mut time, mut task, mut flags, mut kind) = (0, None, None, None);
        let mut fields = WireFields::of(bytes);
        for (number, value) in fields.by_ref() {
            match number {
                1 => time = value.number(),
                2 => task = Some(value.id()),
                5 => flags = Some(value.number()),
                _ => kind = kind.or_else(|| event_kind(number, EventFields { bytes: value.bytes() })),
            }
        }
        if fields.is_damaged() {
            self.damaged += 1;
            return;
        }
        let Some(mut kind) = kind else { return };
        if let FtraceKind::Waking { flags: said, .. } = &mut kind {
            *said = flags;
        }
        self.entries.push(FtraceEntry { time, task, kind });
    }

    fn take_columns(&mut self, bytes: &'a [u8]) {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut columns: [Vec<u64>; 13] = Default::default();
        for (number, value) in WireFields::of(bytes) {
            match number {
                5 => names.push(value.bytes()),
                1..=12 => repeated(value, &mut columns[number as usize]),
                _ => {}
            }
        }
        let cell = |column: usize, row: usize| columns[column].get(row).copied();
        let name = |column, row| {
            cell(column, row).and_then(|at| names.get(at as usize)).copied().unwrap_or_default()
        };
        let mut time = 0_u64;
        for (row, step) in columns[1].iter().enumerate() {
            time = time.wrapping_add(*step);
            let (Some(state), Some(next)) = (cell(2, row), cell(3, row)) else {
                self.damaged += 1;
                break;
            };
            let kind = FtraceKind::Switch { previous: None, state, next: (next as u32, name(6, row)) };
            self.entries.push(FtraceEntry { time, task: None, kind });
        }
        let mut time = 0_u64;
        for (row, step) in columns[7].iter().enumerate() {
            time = time.wrapping_add(*step);
            let Some(wakee) = cell(8, row) else {
                self.damaged += 1;
                break;
            };
            let kind = FtraceKind::Waking { wakee: (wakee as u32, name(11, row)), flags: cell(12, row) };
            self.entries.push(FtraceEntry { time, task: None, kind });
        }
    }
}

/// The fields of one event.
#[derive(Clone, Copy, Debug)]
struct EventFields<'a> {
    bytes: &'a [u8],
}

impl<'a> EventFields<'a> {
    fn value(self, wanted: u32) -> Option<WireValue<'a>> {
        WireFields::of(self.bytes).find(|&(number, _)| number == wanted).map(|(_, value)| value)
    }

    fn number(self, wanted: u32) -> u64 {
        self.value(wanted).map_or(0, WireValue::number)
    }

    fn id(self, wanted: u32) -> u32 {
        self.number(wanted) as u32
    }

    fn text(self, wanted: u32) -> &'a [u8] {
        self.value(wanted).map(WireValue::bytes).unwrap_or_default()
    }
}

fn event_kind(number: u32, fields: EventFields<'_>) -> Option<FtraceKind<'_>> {
    let task = |id, name| (fields.id(id), fields.text(name));
    Some(match number {
        3 => return slice(fields.text(2)),
        4 => FtraceKind::Switch { previous: Some(task(2, 1)), state: fields.number(4), next: task(6, 5) },
        17 => FtraceKind::Wakeup { wakee: task(2, 1) },
        20 => FtraceKind::Waking { wakee: task(2, 1), flags: None },
        24 => FtraceKind::Interrupt { is_soft: true, begins: true },
        25 => FtraceKind::Interrupt { is_soft: true, begins: false },
        36 => FtraceKind::Interrupt { is_soft: false, begins: true },
        37 => FtraceKind::Interrupt { is_soft: false, begins: false },
        235 => FtraceKind::NewTask { child: task(1, 2), is_thread: fields.number(3) & CLONE_THREAD != 0 },
        236 => FtraceKind::Rename { tid: fields.id(1), name: fields.text(3) },
        237 => FtraceKind::Exec { tid: fields.id(2), program: fields.text(1) },
        238 => FtraceKind::Exit { tid: fields.id(2), pid: fields.id(3) },
        239 => FtraceKind::Fork { parent: fields.id(2), child: task(4, 3) },
        _ => return None,
    })
}

/// A slice that a program wrote into the kernel's trace: `B|pid|name`, `E|pid`.
fn slice(text: &[u8]) -> Option<FtraceKind<'_>> {
    let text = text.trim_ascii_end();
    let mut parts = text.splitn(3, |&byte| byte == b'|');
    match (parts.next()?, parts.next(), parts.next()) {
        (b"B", Some(_), Some(name)) => Some(FtraceKind::SliceBegin { name }),
        (b"E", _, _) => Some(FtraceKind::SliceEnd),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    #[test]
    fn switches_and_wakes_in_columns_are_those_of_whole_events() {
        let columns = [
            field(5, b"swapper/0"),
            field(5, b"app"),
            field(1, &[100, 7]),
            field(2, &[0, 1]),
            field(3, &[9, 0]),
            field(6, &[1, 0]),
            field(7, &[104]),
            field(8, &[12]),
            field(11, &[1]),
        ]
        .concat();
        let bytes = [&[8, 3][..], &field(4, &columns)].concat();
        let bundle = FtraceBundle::parse(&bytes);
        let entry = |time, kind| FtraceEntry { time, task: None, kind };
        let switch = |state, next| FtraceKind::Switch { previous: None, state, next };
        let expected = [
            entry(100, switch(0, (9, &b"app"[..]))),
            entry(107, switch(1, (0, &b"swapper/0"[..]))),
            entry(104, FtraceKind::Waking { wakee: (12, b"app"), flags: None }),
        ];
        assert_eq!((bundle.cpu, &bundle.entries[..], bundle.damaged), (3, &expected[..], 0));
    }

    #[test]
    fn a_column_that_is_shorter_than_the_times_is_damage() {
        let columns = [field(1, &[100, 7]), field(2, &[0]), field(3, &[9, 0])].concat();
        let bytes = field(4, &columns);
        let bundle = FtraceBundle::parse(&bytes);
        assert_eq!((bundle.entries.len(), bundle.damaged), (1, 1));
    }

    #[test]
    fn slices_of_programs_are_read_from_the_kernels_trace() {
        assert_eq!(slice(b"B|12|load|file\n"), Some(FtraceKind::SliceBegin { name: b"load|file" }));
        assert_eq!(slice(b"E|12\n"), Some(FtraceKind::SliceEnd));
        assert_eq!(slice(b"C|12|count|3"), None);
    }
}
