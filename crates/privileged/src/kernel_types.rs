//! What the collector needs to know from the kernel's type information (`/sys/kernel/btf/vmlinux`).
//!
//! **Per-CPU variables.** Programs cannot name the variable that tells interrupts from tasks, and `/proc/kallsyms` often hides
//! it. But the type information lists all per-CPU variables with their offsets in one section, so the
//! distance between two of them is known, and each task leads to its processor's run queue.
//!
//! **Accounts.** When a task got its processor and how long it waited for one the kernel notes for itself, where it is built so.
//!
//! **Tracepoints and functions.** A program is attached to the type of its tracepoint or function, by number. The loader takes numbers
//! from a parsed copy of the type information, which costs tens of milliseconds and megabytes; it is
//! handed one that holds nothing but these types, under their numbers.

/// Distances from the run queue of a processor to other variables of the same processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Distances {
    /// To the preemption count.
    pub(crate) preempt_count: i64,
    /// To the processor's number.
    pub(crate) cpu_number: i64,
}

/// Finds the distances in the kernel's type information (`/sys/kernel/btf/vmlinux`).
pub(crate) fn find(btf: &[u8]) -> Option<Distances> {
    let types = Types::parse(btf)?;
    let runqueues = types.per_cpu("runqueues")?;
    let distance = |offset: u32| i64::from(offset) - i64::from(runqueues);
    let of = |name: &str, member: &str| {
        // Kernels 6.2 to 6.14 keep them in one structure.
        types
            .per_cpu(name)
            .or_else(|| Some(types.per_cpu("pcpu_hot")? + types.member_of("pcpu_hot", member)?))
    };
    Some(Distances {
        preempt_count: distance(of("__preempt_count", "preempt_count")?),
        cpu_number: distance(of("cpu_number", "cpu_number")?),
    })
}

/// What the programs read of the kernel's accounts of its tasks: structure and member.
const ACCOUNTS: [(&str, &str); 7] = [
    ("task_struct", "sched_info"),
    ("sched_info", "run_delay"),
    ("sched_info", "last_arrival"),
    ("sched_info", "last_queued"),
    ("sched_entity", "cfs_rq"),
    ("cfs_rq", "rq"),
    ("rq", "clock"),
];

/// Whether the kernel keeps an account of each task: when it got its processor last, how long it was ready in all.
pub(crate) fn has_accounts(btf: &[u8]) -> bool {
    let has_all = |types: Types<'_>| {
        ACCOUNTS.iter().all(|(structure, member)| types.member_of(structure, member).is_some())
    };
    Types::parse(btf).is_some_and(has_all)
}

/// Type information in which the typedefs of the `required` tracepoints, and those `optional` tracepoints and functions that the
/// kernel has, have the numbers that they have in `btf`, and everything before and between is empty. `None` where a required
/// tracepoint is missing.
pub(crate) fn attachable_only(
    btf: &[u8],
    required: &[&str],
    (optional, functions): (&[&str], &[&str]),
) -> Option<Vec<u8>> {
    let types = Types::parse(btf)?;
    let typedefs = required.iter().chain(optional).map(|name| (TYPEDEF, format!("btf_trace_{name}")));
    let names: Vec<_> = typedefs.chain(functions.iter().map(|name| (FUNCTION, (*name).to_owned()))).collect();
    let mut found: Vec<(usize, &(u32, String))> = Vec::new();
    for (id, &at) in types.starts.iter().enumerate().skip(1) {
        let kind = types.kind_at(at)?;
        if matches!(kind, TYPEDEF | FUNCTION)
            && let Some(named) = names.iter().find(|(of, name)| *of == kind && types.is_named(at, name))
        {
            found.push((id, named));
        }
    }
    let has = |named: &(u32, String)| found.iter().any(|(_, other)| *other == named);
    let last = found.last().filter(|_| names[..required.len()].iter().all(has))?.0;
    let mut strings = vec![0];
    let mut words = [0, FORWARD << 24, 0].repeat(last);
    for (id, (kind, name)) in found {
        words[3 * (id - 1)..][..3].copy_from_slice(&[u32::try_from(strings.len()).ok()?, kind << 24, 0]);
        strings.extend(name.bytes().chain([0]));
    }
    let types_length = u32::try_from(words.len() * 4).ok()?;
    let header = [0x0001_eb9f, 24, 0, types_length, types_length, u32::try_from(strings.len()).ok()?];
    let mut bytes: Vec<u8> = header.iter().chain(&words).flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(strings);
    Some(bytes)
}

const STRUCT: u32 = 4;
const UNION: u32 = 5;
const FORWARD: u32 = 7;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;

/// The types of a kernel, by id.
struct Types<'a> {
    /// Where each type begins in `types`; ids count from 1.
    starts: Vec<usize>,
    types: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Types<'a> {
    fn parse(btf: &'a [u8]) -> Option<Types<'a>> {
        if read16(btf, 0)? != 0xeb9f {
            return None;
        }
        let header = size(read32(btf, 4)?);
        let part = |offset: usize| {
            let start = header.checked_add(size(read32(btf, offset)?))?;
            btf.get(start..start.checked_add(size(read32(btf, offset + 4)?))?)
        };
        let (types, strings) = (part(8)?, part(16)?);
        let mut starts = vec![0];
        let mut at = 0;
        while at + 12 <= types.len() {
            starts.push(at);
            let info = read32(types, at + 4)?;
            let members = size(info & 0xffff);
            at += 12
                + match info >> 24 & 0x1f {
                    1 | VARIABLE | 17 => 4,
                    3 => 12,
                    STRUCT | UNION | SECTION | 19 => members * 12,
                    6 | 13 => members * 8,
                    2 | 7..=12 | 16 | 18 => 0,
                    _ => return None,
                };
        }
        Some(Types { starts, types, strings })
    }

    /// Kind, number of members and the start of what follows the fixed part.
    fn look(&self, id: u32) -> Option<(u32, usize, usize)> {
        let at = *self.starts.get(size(id)).filter(|_| id != 0)?;
        let info = read32(self.types, at + 4)?;
        Some((info >> 24 & 0x1f, size(info & 0xffff), at + 12))
    }

    fn kind_at(&self, at: usize) -> Option<u32> {
        Some(read32(self.types, at + 4)? >> 24 & 0x1f)
    }

    fn is_named(&self, at: usize, name: &str) -> bool {
        let text = read32(self.types, at).and_then(|offset| self.strings.get(size(offset)..));
        text.is_some_and(|text| text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0))
    }

    /// Offset of a variable in the per-CPU section.
    fn per_cpu(&self, name: &str) -> Option<u32> {
        let is_section =
            |&&at: &&usize| self.kind_at(at) == Some(SECTION) && self.is_named(at, ".data..percpu");
        let &at = self.starts[1..].iter().rfind(is_section)?;
        let members = size(read32(self.types, at + 4)? & 0xffff);
        (0..members).map(|index| at + 12 + index * 12).find_map(|entry| {
            let variable = *self.starts.get(size(read32(self.types, entry)?))?;
            self.is_named(variable, name).then(|| read32(self.types, entry + 4))?
        })
    }

    /// Byte offset of a member, at any depth of unnamed structures, of the structure `name`.
    fn member_of(&self, name: &str, member: &str) -> Option<u32> {
        let ids = 1..u32::try_from(self.starts.len()).ok()?;
        let mut found = ids.filter(|&id| {
            matches!(self.look(id), Some((STRUCT, ..))) && self.is_named(self.starts[size(id)], name)
        });
        self.member(found.next()?, member, 0)
    }

    fn member(&self, id: u32, name: &str, depth: u32) -> Option<u32> {
        let (kind, members, at) = self.look(id)?;
        if !matches!(kind, STRUCT | UNION) || depth > 8 {
            return None;
        }
        (0..members).map(|index| at + index * 12).find_map(|entry| {
            let offset = (read32(self.types, entry + 8)? & 0x00ff_ffff) / 8;
            if self.is_named(entry, name) {
                return Some(offset);
            }
            let is_unnamed = read32(self.types, entry)? == 0;
            let inner = read32(self.types, entry + 4)?;
            is_unnamed.then(|| self.member(inner, name, depth + 1))?.map(|inner| inner + offset)
        })
    }
}

fn size(value: u32) -> usize {
    value as usize
}

fn read16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn read32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type information with the variables of `section`, and a structure `pcpu_hot` whose members stand
    /// in an unnamed union, as kernels 6.2 to 6.14 have it.
    fn btf(section: &[(&str, u32)]) -> Vec<u8> {
        let mut strings = vec![0];
        let mut name = |text: &str| {
            let at = strings.len() as u32;
            strings.extend(text.bytes().chain([0]));
            at
        };
        let words: Vec<u32> = {
            let mut words = vec![name("int"), 1 << 24, 4, 32]; // 1
            words.extend([0, 4 << 24 | 2, 16]); // 2: the unnamed structure
            words.extend([name("preempt_count"), 1, 64, name("cpu_number"), 1, 96]);
            words.extend([0, 5 << 24 | 1, 64, 0, 2, 0]); // 3: the unnamed union
            words.extend([name("pcpu_hot"), 4 << 24 | 1, 64, 0, 3, 0]); // 4
            for (variable, _) in section {
                words.extend([name(variable), 14 << 24, 1, 1]); // 5…
            }
            words.extend([name(".data..percpu"), 15 << 24 | section.len() as u32, 0]);
            for (index, (_, offset)) in section.iter().enumerate() {
                words.extend([5 + index as u32, *offset, 4]);
            }
            words
        };
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let types_length = words.len() as u32 * 4;
        for word in [24, 0, types_length, types_length, strings.len() as u32] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn variables_of_their_own_are_found() {
        let bytes = btf(&[("runqueues", 5000), ("__preempt_count", 800), ("cpu_number", 804)]);
        assert_eq!(find(&bytes), Some(Distances { preempt_count: -4200, cpu_number: -4196 }));
    }

    #[test]
    fn members_of_the_hot_structure_are_found() {
        let bytes = btf(&[("pcpu_hot", 64), ("runqueues", 1064)]);
        assert_eq!(find(&bytes), Some(Distances { preempt_count: 8 - 1000, cpu_number: 12 - 1000 }));
    }

    #[test]
    fn damaged_type_information_gives_nothing_and_does_no_harm() {
        let bytes = btf(&[("runqueues", 5000), ("__preempt_count", 800), ("cpu_number", 804)]);
        for end in 0..bytes.len() {
            let _ = find(&bytes[..end]);
            let mut damaged = bytes.clone();
            damaged[end] ^= 0xff;
            let _ = find(&damaged);
        }
        assert_eq!(find(&btf(&[("runqueues", 1)])), None);
    }

    #[test]
    fn tracepoints_keep_their_numbers() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return longpole_testkit::skipped("this kernel has no type information");
        };
        let names = ["sched_switch", "sched_waking"];
        let thin = attachable_only(&bytes, &names, (&["no_such_tracepoint"], &["eventfd_read"])).unwrap();
        let (whole, thin) = (Types::parse(&bytes).unwrap(), Types::parse(&thin).unwrap());
        let id = |types: &Types<'_>, name: &str| {
            let is_kind = |at| matches!(types.kind_at(at), Some(TYPEDEF | FUNCTION));
            types.starts[1..].iter().position(|&at| is_kind(at) && types.is_named(at, name))
        };
        for name in ["btf_trace_sched_switch", "btf_trace_sched_waking", "eventfd_read"] {
            assert_eq!(id(&whole, name), id(&thin, name));
            assert!(id(&thin, name).is_some());
        }
        assert_eq!(attachable_only(&bytes, &["no_such_tracepoint"], (&[], &[])), None);
    }

    #[test]
    fn this_kernel_has_them() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return longpole_testkit::skipped("this kernel has no type information");
        };
        assert!(find(&bytes).is_some());
        assert!(has_accounts(&bytes));
    }

    #[test]
    fn a_kernel_without_accounts_is_known_by_its_types() {
        let bytes = btf(&[("runqueues", 5000), ("__preempt_count", 800), ("cpu_number", 804)]);
        assert!(!has_accounts(&bytes));
    }
}
