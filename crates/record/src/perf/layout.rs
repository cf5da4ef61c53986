//! Perf event records as the kernel lays them out, in a ring buffer and in a `perf.data` file alike.
//!
//! What a record holds depends on the attributes of the event that made it ([`Layout`]). Decoding
//! never panics: a record that ends early is `None`, and its reader counts it.

use std::path::PathBuf;

use longpole_symbols::{Mapping, Registers};

use super::switches::SwitchRecord;

/// Bits of `perf_event_attr.sample_type`.
pub mod sample {
    #![allow(missing_docs)]
    pub const IP: u64 = 1 << 0;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const IDENTIFIER: u64 = 1 << 16;
}

/// Record types.
pub mod kind {
    #![allow(missing_docs)]
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const SWITCH_CPU_WIDE: u32 = 15;
}

const READ_TIME_ENABLED: u64 = 1 << 0;
const READ_TIME_RUNNING: u64 = 1 << 1;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;
const BRANCH_HARDWARE_INDEX: u64 = 1 << 17;

const MISC_CPU_MODE: u16 = 7;
const MISC_KERNEL: u16 = 1;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
const PROTECTION_EXECUTE: u32 = 4;

/// Chain entries from here on are marks (`PERF_CONTEXT_…`), not addresses.
const LOWEST_MARK: u64 = -4095_i64 as u64;
const MARK_KERNEL: u64 = -128_i64 as u64;
const MARK_USER: u64 = -512_i64 as u64;

/// Bits of the user registers that are recorded: x86-64's numbering in `sample_regs_user`.
const REGISTER_BP: u32 = 6;
const REGISTER_SP: u32 = 7;
const REGISTER_IP: u32 = 8;

/// The attributes of an event that decide what its records hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// `sample_type`.
    pub sample_type: u64,
    /// `read_format`.
    pub read_format: u64,
    /// `branch_sample_type`.
    pub branch_type: u64,
    /// `sample_regs_user`.
    pub user_registers: u64,
    /// `sample_id_all`: records other than samples carry time and ids too.
    pub identifies_all: bool,
    /// `context_switch`: switches have records of their own.
    pub has_switches: bool,
    /// `build_id`: mappings carry build ids. The record's own flag is not enough: kernels let it stand from
    /// an event of another reader with build ids to the next event without.
    pub has_build_ids: bool,
}

/// Where and when a record was made, where its layout says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordOrigin {
    /// Process; 0 where not recorded.
    pub pid: u32,
    /// Thread; 0 where not recorded.
    pub tid: u32,
    /// Nanoseconds on the event's clock; 0 where not recorded or made up by the recorder.
    pub time: u64,
    /// Processor.
    pub cpu: Option<u32>,
    /// Id of the event.
    pub id: Option<u64>,
    /// Of a clock of a processor, how long before this the clock had looked there: for so long its sample stands. The clock is late
    /// where something else kept the processor, and what ran there meanwhile is what it then finds. Nanoseconds; 0 where not known.
    pub interval: u64,
}

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub enum PerfRecord<'a> {
    /// An event happened.
    Sample(PerfSample<'a>),
    /// Memory was mapped executable.
    Map {
        /// The process; `u32::MAX` for the kernel's own image.
        pid: u32,
        /// The mapping.
        mapping: Mapping,
    },
    /// A thread got a name, or its process another program.
    Name {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
        /// The name.
        name: String,
        /// By `execve`.
        is_exec: bool,
    },
    /// A thread was created.
    Fork {
        /// The new thread's process and thread.
        child: (u32, u32),
        /// The creator's.
        parent: (u32, u32),
    },
    /// A thread ended.
    Exit {
        /// Process.
        pid: u32,
        /// Thread.
        tid: u32,
    },
    /// Records of any kind did not fit the ring.
    Lost {
        /// How many.
        count: u64,
    },
    /// Samples did not fit.
    LostSamples {
        /// How many.
        count: u64,
    },
    /// The thread that the record is of got its processor or left it.
    Switch(SwitchRecord),
    /// A record of no interest here.
    Other,
}

/// What a sample holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerfSample<'a> {
    /// It was in the kernel.
    pub is_kernel: bool,
    /// The tracepoint's fields.
    pub raw: &'a [u8],
    /// Kernel and user addresses with marks between them.
    pub chain: UnalignedWords<'a>,
    /// User registers.
    pub registers: Option<Registers>,
    /// User memory from the stack pointer upwards, as much as could be read.
    pub memory: &'a [u8],
}

impl PerfSample<'_> {
    /// The chain's kernel and user addresses, each innermost first.
    #[must_use]
    pub fn split_chain(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut kernel, mut user) = (Vec::new(), Vec::new());
        let mut mode = if self.is_kernel { MARK_KERNEL } else { MARK_USER };
        for address in self.chain.iter() {
            match (address, mode) {
                (LOWEST_MARK.., _) => mode = address,
                (0, _) => {}
                (_, MARK_KERNEL) => kernel.push(address),
                (_, MARK_USER) => user.push(address),
                // A guest's or a hypervisor's frames are not the program's.
                _ => {}
            }
        }
        (kernel, user)
    }
}

/// 64-bit words in the byte order of this machine, unaligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnalignedWords<'a>(&'a [u8]);

impl UnalignedWords<'_> {
    /// The words.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word))
    }
}

/// Reads forward through a record's body; every read past the end is `None`.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = tail;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(u32::from_ne_bytes(*head))
    }

    fn u64(&mut self) -> Option<u64> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(u64::from_ne_bytes(*head))
    }

    fn words(&mut self, count: u64) -> Option<UnalignedWords<'a>> {
        self.bytes(count.checked_mul(8)?).map(UnalignedWords)
    }

    /// A string that ends at a zero byte, or with the record.
    fn string(&mut self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

impl Layout {
    /// Takes the layout out of a `perf_event_attr` as it lies in memory or in a file.
    #[must_use]
    pub fn from_attribute_bytes(bytes: &[u8]) -> Option<Layout> {
        let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Layout {
            sample_type: word(24)?,
            read_format: word(32)?,
            identifies_all: word(40)? & (1 << 18) != 0,
            has_switches: word(40)? & (1 << 26) != 0,
            has_build_ids: word(40)? & (1 << 34) != 0,
            // Absent in the attributes of older kernels.
            branch_type: word(72).unwrap_or(0),
            user_registers: word(80).unwrap_or(0),
        })
    }

    /// The id in a record, as far as it can be found without knowing more than this layout: all events
    /// of one stream agree on where it is.
    #[must_use]
    pub fn identifier(&self, record_kind: u32, body: &[u8]) -> Option<u64> {
        let word = |at: usize| Some(u64::from_ne_bytes(*body.get(at..)?.first_chunk()?));
        if self.sample_type & sample::IDENTIFIER != 0 {
            return if record_kind == kind::SAMPLE { word(0) } else { word(body.len().checked_sub(8)?) };
        }
        if record_kind == kind::SAMPLE {
            self.sample_origin(&mut Cursor(body))?.id
        } else {
            self.trailer(body)?.id
        }
    }

    /// Decodes one record; `None` when its body is shorter than its layout demands.
    #[must_use]
    pub fn decode<'a>(
        &self,
        record_kind: u32,
        misc: u16,
        body: &'a [u8],
    ) -> Option<(RecordOrigin, PerfRecord<'a>)> {
        if record_kind == kind::SAMPLE {
            return self.sample(misc, body);
        }
        let origin = self.trailer(body)?;
        let mut cursor = Cursor(body);
        let record = match record_kind {
            kind::MMAP => mmap(&mut cursor, misc)?,
            kind::MMAP2 => mmap2(&mut cursor, self.has_build_ids && misc & MISC_MMAP_BUILD_ID != 0)?,
            kind::COMM => {
                let (pid, tid) = (cursor.u32()?, cursor.u32()?);
                PerfRecord::Name { pid, tid, name: cursor.string(), is_exec: misc & MISC_COMM_EXEC != 0 }
            }
            kind::FORK => {
                let (pid, parent_pid, tid, parent_tid) =
                    (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
                let time = cursor.u64()?;
                let origin =
                    RecordOrigin { time: if origin.time == 0 { time } else { origin.time }, ..origin };
                return Some((
                    origin,
                    PerfRecord::Fork { child: (pid, tid), parent: (parent_pid, parent_tid) },
                ));
            }
            kind::EXIT => {
                let (pid, _, tid, _) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
                let time = cursor.u64()?;
                let origin =
                    RecordOrigin { time: if origin.time == 0 { time } else { origin.time }, ..origin };
                return Some((origin, PerfRecord::Exit { pid, tid }));
            }
            kind::LOST => {
                cursor.u64()?;
                PerfRecord::Lost { count: cursor.u64()? }
            }
            kind::LOST_SAMPLES => PerfRecord::LostSamples { count: cursor.u64()? },
            kind::SWITCH | kind::SWITCH_CPU_WIDE => PerfRecord::Switch(switch(misc)),
            _ => PerfRecord::Other,
        };
        Some((origin, record))
    }

    /// The fields that a sample begins with, up to the processor.
    fn sample_origin(&self, cursor: &mut Cursor<'_>) -> Option<RecordOrigin> {
        let has = |bit: u64| self.sample_type & bit != 0;
        let mut origin = RecordOrigin::default();
        if has(sample::IDENTIFIER) {
            origin.id = Some(cursor.u64()?);
        }
        if has(sample::IP) {
            cursor.u64()?;
        }
        if has(sample::TID) {
            (origin.pid, origin.tid) = (cursor.u32()?, cursor.u32()?);
        }
        if has(sample::TIME) {
            origin.time = cursor.u64()?;
        }
        if has(sample::ADDR) {
            cursor.u64()?;
        }
        if has(sample::ID) {
            let id = cursor.u64()?;
            origin.id = origin.id.or(Some(id));
        }
        if has(sample::STREAM_ID) {
            cursor.u64()?;
        }
        if has(sample::CPU) {
            origin.cpu = Some(cursor.u32()?);
            cursor.u32()?;
        }
        if has(sample::PERIOD) {
            cursor.u64()?;
        }
        Some(origin)
    }

    fn sample<'a>(&self, misc: u16, body: &'a [u8]) -> Option<(RecordOrigin, PerfRecord<'a>)> {
        let has = |bit: u64| self.sample_type & bit != 0;
        let mut cursor = Cursor(body);
        let origin = self.sample_origin(&mut cursor)?;
        let mut sample =
            PerfSample { is_kernel: misc & MISC_CPU_MODE == MISC_KERNEL, ..PerfSample::default() };
        if has(sample::READ) {
            self.skip_read(&mut cursor)?;
        }
        if has(sample::CALLCHAIN) {
            let count = cursor.u64()?;
            sample.chain = cursor.words(count)?;
        }
        if has(sample::RAW) {
            let size = cursor.u32()?;
            sample.raw = cursor.bytes(size.into())?;
        }
        if has(sample::BRANCH_STACK) {
            let count = cursor.u64()?;
            if self.branch_type & BRANCH_HARDWARE_INDEX != 0 {
                cursor.u64()?;
            }
            cursor.words(count.checked_mul(3)?)?;
        }
        // A thread without user memory (of the kernel, or ending) has neither registers nor stack.
        if has(sample::REGS_USER) && cursor.u64()? != 0 {
            let values = cursor.words(self.user_registers.count_ones().into())?;
            sample.registers = self.registers(values);
        }
        if has(sample::STACK_USER) {
            let size = cursor.u64()?;
            let memory = cursor.bytes(size)?;
            let filled = if size == 0 { 0 } else { cursor.u64()? };
            sample.memory = &memory[..usize::try_from(filled).ok()?.min(memory.len())];
        }
        Some((origin, PerfRecord::Sample(sample)))
    }

    fn skip_read(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        let has = |bit: u64| u64::from(self.read_format & bit != 0);
        let times = has(READ_TIME_ENABLED) + has(READ_TIME_RUNNING);
        let each = 1 + has(READ_ID) + has(READ_LOST);
        let words = if has(READ_GROUP) == 1 {
            let members = cursor.u64()?;
            times.checked_add(members.checked_mul(each)?)?
        } else {
            times + each
        };
        cursor.words(words).map(|_| ())
    }

    fn registers(&self, values: UnalignedWords<'_>) -> Option<Registers> {
        let value = |register: u32| {
            let position = (self.user_registers & ((1 << register) - 1)).count_ones() as usize;
            (self.user_registers & (1 << register) != 0).then(|| values.iter().nth(position)).flatten()
        };
        Some(Registers { ip: value(REGISTER_IP)?, sp: value(REGISTER_SP)?, bp: value(REGISTER_BP)? })
    }

    /// The fields that end each record that is not a sample.
    fn trailer(&self, body: &[u8]) -> Option<RecordOrigin> {
        let mut origin = RecordOrigin::default();
        if !self.identifies_all {
            return Some(origin);
        }
        let has = |bit: u64| self.sample_type & bit != 0;
        let fields =
            sample::TID | sample::TIME | sample::ID | sample::STREAM_ID | sample::CPU | sample::IDENTIFIER;
        let size = (self.sample_type & fields).count_ones() as usize * 8;
        let mut cursor = Cursor(&body[body.len().checked_sub(size)?..]);
        if has(sample::TID) {
            (origin.pid, origin.tid) = (cursor.u32()?, cursor.u32()?);
        }
        if has(sample::TIME) {
            origin.time = cursor.u64()?;
        }
        if has(sample::ID) {
            origin.id = Some(cursor.u64()?);
        }
        if has(sample::STREAM_ID) {
            cursor.u64()?;
        }
        if has(sample::CPU) {
            origin.cpu = Some(cursor.u32()?);
            cursor.u32()?;
        }
        if has(sample::IDENTIFIER) {
            origin.id = Some(cursor.u64()?);
        }
        Some(origin)
    }
}

fn switch(misc: u16) -> SwitchRecord {
    let has = |bit: u16| misc & bit != 0;
    SwitchRecord { is_out: has(MISC_SWITCH_OUT), is_preempted: has(MISC_SWITCH_OUT_PREEMPT) }
}

fn mmap<'a>(cursor: &mut Cursor<'_>, misc: u16) -> Option<PerfRecord<'a>> {
    let (pid, _tid) = (cursor.u32()?, cursor.u32()?);
    let (start, length, file_offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    if misc & MISC_MMAP_DATA != 0 {
        return Some(PerfRecord::Other);
    }
    let end = start.saturating_add(length);
    let path = PathBuf::from(cursor.string());
    Some(PerfRecord::Map { pid, mapping: Mapping { start, end, file_offset, path, build_id: Vec::new() } })
}

fn mmap2<'a>(cursor: &mut Cursor<'_>, has_build_id: bool) -> Option<PerfRecord<'a>> {
    let (pid, _tid) = (cursor.u32()?, cursor.u32()?);
    let (start, length, file_offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let identity = cursor.bytes(24)?;
    let (protection, _flags) = (cursor.u32()?, cursor.u32()?);
    if protection & PROTECTION_EXECUTE == 0 {
        return Some(PerfRecord::Other);
    }
    // One byte of length, three of padding, then up to twenty of the build id.
    let build_id =
        if has_build_id { identity[4..4 + usize::from(identity[0]).min(20)].to_vec() } else { Vec::new() };
    let end = start.saturating_add(length);
    let path = PathBuf::from(cursor.string());
    Some(PerfRecord::Map { pid, mapping: Mapping { start, end, file_offset, path, build_id } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    const LAYOUT: Layout = Layout {
        sample_type: sample::IDENTIFIER
            | sample::IP
            | sample::TID
            | sample::TIME
            | sample::CPU
            | sample::CALLCHAIN
            | sample::REGS_USER
            | sample::STACK_USER,
        read_format: 0,
        branch_type: 0,
        // bp, sp, ip
        user_registers: 0b1_1100_0000,
        identifies_all: true,
        has_switches: true,
        has_build_ids: true,
    };

    fn sample_body() -> Vec<u8> {
        let mut body = words(&[7, 0x400, pair(10, 11), 99, pair(1, 0)]);
        body.extend(words(&[6, MARK_KERNEL, 0xffff_ffff_8100_0000, MARK_USER, 0x40_1000, 0x40_2000, 0]));
        body.extend(words(&[1, 0xb, 0x5, 0x1]));
        body.extend(words(&[16, 0xaa, 0xbb, 8]));
        body
    }

    #[test]
    fn a_sample_is_taken_apart() {
        let body = sample_body();
        let (origin, record) = LAYOUT.decode(kind::SAMPLE, 1, &body).unwrap();
        assert_eq!(
            origin,
            RecordOrigin { pid: 10, tid: 11, time: 99, cpu: Some(1), id: Some(7), interval: 0 }
        );
        let PerfRecord::Sample(sample) = record else { panic!("a sample") };
        assert!(sample.is_kernel);
        assert_eq!(sample.split_chain(), (vec![0xffff_ffff_8100_0000], vec![0x40_1000, 0x40_2000]));
        assert_eq!(sample.registers, Some(Registers { ip: 1, sp: 5, bp: 0xb }));
        assert_eq!(sample.memory, words(&[0xaa]));
        assert_eq!(LAYOUT.identifier(kind::SAMPLE, &body), Some(7));
    }

    #[test]
    fn a_sample_cut_anywhere_is_refused() {
        let body = sample_body();
        for end in 0..body.len() {
            assert_eq!(LAYOUT.decode(kind::SAMPLE, 0, &body[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn a_chain_longer_than_memory_is_refused() {
        let mut body = words(&[7, 0x400, pair(10, 11), 99, pair(1, 0)]);
        body.extend(words(&[u64::MAX / 4]));
        assert_eq!(LAYOUT.decode(kind::SAMPLE, 0, &body), None);
    }

    #[test]
    fn a_read_group_is_skipped_by_its_number_of_members() {
        let layout =
            Layout { sample_type: sample::READ | sample::RAW, read_format: 0b1100, ..Layout::default() };
        let mut body = words(&[2, 100, 1, 200, 2]);
        body.extend(4_u32.to_ne_bytes());
        body.extend(b"abcd");
        let (_, record) = layout.decode(kind::SAMPLE, 0, &body).unwrap();
        assert!(matches!(record, PerfRecord::Sample(PerfSample { raw: b"abcd", .. })));
    }

    #[test]
    fn an_executable_mapping_carries_its_build_id_and_no_more_than_twenty_bytes_of_it() {
        let mut body = words(&[pair(5, 5), 0x1000, 0x2000, 0x3000]);
        let mut identity = [0xcc; 24];
        identity[0] = 255;
        body.extend(identity);
        body.extend(words(&[pair(5, 0)]));
        body.extend(b"/bin/x\0\0");
        let layout = Layout { identifies_all: false, ..LAYOUT };
        let (_, record) = layout.decode(kind::MMAP2, MISC_MMAP_BUILD_ID, &body).unwrap();
        let PerfRecord::Map { pid: 5, mapping } = record else { panic!("a mapping") };
        assert_eq!((mapping.start, mapping.end, mapping.file_offset), (0x1000, 0x3000, 0x3000));
        assert_eq!(mapping.build_id, [0xcc; 20]);
        assert_eq!(mapping.path, PathBuf::from("/bin/x"));
        let layout = Layout { has_build_ids: false, ..layout };
        let (_, record) = layout.decode(kind::MMAP2, MISC_MMAP_BUILD_ID, &body).unwrap();
        assert!(matches!(record, PerfRecord::Map { mapping, .. } if mapping.build_id.is_empty()));
    }

    #[test]
    fn a_switch_tells_who_left_and_whether_it_could_have_run_on() {
        let mut body = words(&[pair(8, 9)]);
        body.extend(words(&[pair(5, 6), 77, pair(1, 0), 12]));
        let read = |misc| match LAYOUT.decode(kind::SWITCH_CPU_WIDE, misc, &body) {
            Some((origin, PerfRecord::Switch(record))) => (origin.tid, origin.cpu, record),
            other => panic!("{other:?}"),
        };
        let record = |is_out, is_preempted| SwitchRecord { is_out, is_preempted };
        assert_eq!(read(0), (6, Some(1), record(false, false)));
        assert_eq!(read(1 << 13), (6, Some(1), record(true, false)));
        assert_eq!(read(3 << 13), (6, Some(1), record(true, true)));
        assert_eq!(LAYOUT.decode(kind::SWITCH_CPU_WIDE, 0, &body[..31]), None);
    }

    #[test]
    fn a_name_is_read_with_its_time_and_event() {
        let mut body = words(&[pair(5, 6)]);
        body.extend(b"worker\0\0");
        body.extend(words(&[pair(5, 6), 77, pair(1, 0), 12]));
        let (origin, record) = LAYOUT.decode(kind::COMM, 0, &body).unwrap();
        assert_eq!(
            origin,
            RecordOrigin { pid: 5, tid: 6, time: 77, cpu: Some(1), id: Some(12), interval: 0 }
        );
        assert_eq!(record, PerfRecord::Name { pid: 5, tid: 6, name: "worker".into(), is_exec: false });
        assert_eq!(LAYOUT.identifier(kind::COMM, &body), Some(12));
    }
}
