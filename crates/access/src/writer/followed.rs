//! Which units the program's threads record, where only one in so many is followed, and the limits of all of them
//! ([`crate::unit_sample`]).
//!
//! A table has a row for each group of units: who owns it, whether it is followed, and its limit. Rows of private data are
//! written once; an access costs a look into the table. Threads that were all joined before the next one begins cannot take
//! turns with it: what they owned goes to whoever comes next (a *generation*).

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::stream;
use crate::format::{FOLLOWED_LIMITS, HIGHEST_LIMITS, LIMITS_BY_CLASS, MessageHeader, PROTOCOL, SAMPLE};
use crate::unit_sample::{LIMIT_CLASSES, UNIT_GROUPS, UnitSample, limit_class};

/// Units of a block of memory whose rows are given up when it changes its owner; the others keep theirs, so that limits are
/// only higher.
const GIVEN_UP: u64 = 4096;

/// Groups with the highest limits that are sent though they are not followed.
const HIGHEST: usize = 16;

/// Rows of a message.
const ROWS: usize = 3000;

/// A group of units.
#[repr(C)]
pub struct UnitGroup {
    /// 0: untouched; else from the top 16 bits of the owner's number + 1, 5 of the generation, 1 that says whether it is followed, 42
    /// of the number of the unit that was touched first.
    owner: AtomicU64,
    limit: AtomicU64,
}

/// Groups whose limits a thread raises before it adds that to the table: most are raised again and again, as those of variables
/// that all threads read, and rows that are not written stay in all processors' caches.
const RAISED: usize = 1024;

/// What a thread is to add to the limits.
#[repr(C)]
pub struct RaisedLimits([(u32, u32); RAISED]);

impl RaisedLimits {
    /// # Safety
    /// The table is that of [`table`], and not null.
    #[inline(always)]
    unsafe fn raise(&mut self, table: *const UnitGroup, group: usize, by: u32) {
        let (known, count) = &mut self.0[group % RAISED];
        if *known != group as u32 || *count >= 1 << 30 {
            unsafe { (*table.add(*known as usize)).limit.fetch_add((*count).into(), Relaxed) };
            (*known, *count) = (group as u32, 0);
        }
        *count += by;
    }

    /// Adds everything to the table, if there is one.
    pub fn settle(&mut self) {
        let table = table();
        for (group, count) in self.0.iter_mut().filter(|(_, count)| *count > 0 && !table.is_null()) {
            // SAFETY: the table has a row for each group.
            unsafe { (*table.add(*group as usize)).limit.fetch_add((*count).into(), Relaxed) };
            *count = 0;
        }
    }
}

/// A thread that accesses memory.
pub struct TouchingThread<'a> {
    pub number: u32,
    pub raised: &'a mut RaisedLimits,
}

const UNIT_BITS: u32 = 42;
const FOLLOWED: u64 = 1 << UNIT_BITS;
const OWNER_SHIFT: u32 = UNIT_BITS + 1;
const GENERATIONS: u64 = 1 << 5;

static TABLE: AtomicPtr<UnitGroup> = AtomicPtr::new(ptr::null_mut());
static ONE_OF: AtomicU32 = AtomicU32::new(1);
static SHIFT: AtomicU32 = AtomicU32::new(6);
static SEED: AtomicU64 = AtomicU64::new(0);
static GENERATION: AtomicU64 = AtomicU64::new(0);
static CREATED: AtomicU64 = AtomicU64::new(0);
static JOINED: AtomicU64 = AtomicU64::new(0);

fn rule() -> UnitSample {
    UnitSample { one_of: ONE_OF.load(Relaxed), shift: SHIFT.load(Relaxed), seed: SEED.load(Relaxed) }
}

/// The table; null where all units are followed.
#[inline(always)]
pub fn table() -> *const UnitGroup {
    TABLE.load(Relaxed)
}

/// Begins with the rule of this text, if it is one and there is room for the table. Without, everything is recorded.
///
/// # Safety
/// The text ends with a 0.
pub unsafe fn begin(text: *const libc::c_char) {
    let mut numbers = [0_u64; 3];
    let mut at = text.cast_mut();
    for number in &mut numbers {
        if unsafe { at.is_null() || *at == 0 } {
            return;
        }
        *number = unsafe { libc::strtoull(at, &raw mut at, 10) };
        if unsafe { *at } == b',' as libc::c_char {
            at = unsafe { at.add(1) };
        }
    }
    let [one_of, shift, seed] = numbers;
    if !(2..=u64::from(u32::MAX)).contains(&one_of) || !(6..=20).contains(&shift) {
        return;
    }
    let length = UNIT_GROUPS * size_of::<UnitGroup>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let memory = unsafe { libc::mmap(ptr::null_mut(), length, protection, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        return;
    }
    ONE_OF.store(one_of as u32, Relaxed);
    SHIFT.store(shift as u32, Relaxed);
    SEED.store(seed, Relaxed);
    TABLE.store(memory.cast(), Relaxed);
}

/// A thread is about to be created.
pub fn creates() {
    // No thread but this one goes on from here: none was created, or all were joined.
    if CREATED.fetch_add(1, Relaxed) == JOINED.load(Relaxed) {
        GENERATION.store((GENERATION.load(Relaxed) + 1) % GENERATIONS, Relaxed);
    }
}

/// A thread was joined.
pub fn joins() {
    JOINED.fetch_add(1, Relaxed);
}

/// Notes an access of a thread to the unit at an address, and says whether the unit is followed.
///
/// # Safety
/// The table is that of [`table`], and not null.
#[inline(always)]
pub unsafe fn touch(
    table: *const UnitGroup,
    thread: &mut TouchingThread<'_>,
    address: u64,
    writes: bool,
) -> bool {
    let unit = (address & ((1 << 48) - 1)) >> SHIFT.load(Relaxed);
    let group = UnitSample::group(unit);
    let row = unsafe { &*table.add(group) };
    let owner = row.owner.load(Relaxed);
    let own = owner_of(thread.number) << 5 | GENERATION.load(Relaxed);
    if owner >> OWNER_SHIFT == own {
        return owner & FOLLOWED > 0;
    }
    if owner > 0 && (owner >> OWNER_SHIFT) % GENERATIONS == own % GENERATIONS {
        unsafe { thread.raised.raise(table, group, 1 + u32::from(writes)) };
        return owner & FOLLOWED > 0;
    }
    touch_first(row, owner, (own, group, unit), writes)
}

/// The number of a thread as an owner; from 65,535 threads on several have the same.
const fn owner_of(thread: u32) -> u64 {
    (thread % 0xffff) as u64 + 1
}

/// The same of a group that no thread owns yet, or that one of an earlier generation owned.
#[inline(never)]
fn touch_first(row: &UnitGroup, found: u64, (own, group, unit): (u64, usize, u64), writes: bool) -> bool {
    let followed = if found > 0 { found & FOLLOWED } else { u64::from(rule().follows(group)) * FOLLOWED };
    let wanted = own << OWNER_SHIFT | followed | unit;
    let raised = match row.owner.compare_exchange(found, wanted, Relaxed, Relaxed) {
        // What was written in an earlier generation may have to be fetched once.
        Ok(_) => u64::from(found > 0 && found >> OWNER_SHIFT >> 5 != own >> 5),
        Err(_) => 1 + u64::from(writes),
    };
    if raised > 0 {
        row.limit.fetch_add(raised, Relaxed);
    }
    followed > 0
}

/// Notes an access to so many bytes, and says whether any unit of them is followed.
///
/// # Safety
/// As of [`touch`].
pub unsafe fn touch_range(
    table: *const UnitGroup,
    thread: &mut TouchingThread<'_>,
    (address, size): (u64, u64),
    writes: bool,
) -> bool {
    let unit = 1 << SHIFT.load(Relaxed);
    let last = address.saturating_add(size - 1);
    let mut at = address;
    let mut is_followed = false;
    while at <= last {
        is_followed |= unsafe { touch(table, thread, at, writes) };
        let Some(next) = (at & !(unit - 1)).checked_add(unit) else { break };
        at = next;
    }
    is_followed
}

/// Memory gets another owner: what others had there is gone.
pub fn give_up(thread: u32, address: u64, size: u64) {
    let table = table();
    if table.is_null() {
        return;
    }
    let shift = SHIFT.load(Relaxed);
    let first = address.saturating_add((1 << shift) - 1) >> shift;
    let end = (address.saturating_add(size) >> shift).min(first + GIVEN_UP);
    for unit in first..end {
        let row = unsafe { &*table.add(UnitSample::group(unit)) };
        let owner = row.owner.load(Relaxed);
        let is_others = owner >> OWNER_SHIFT >> 5 != owner_of(thread);
        if owner > 0 && owner & (FOLLOWED - 1) == unit && is_others {
            let _ = row.owner.compare_exchange(owner, 0, Relaxed, Relaxed);
        }
    }
}

/// Memory of a stack from its highest byte on that is given up.
pub const STACK_BYTES: u64 = 256 << 10;

/// Sends the limits: of groups that are not followed their number and sum by class, and the highest; of those that are followed
/// each with its unit.
pub fn send() {
    let table = table();
    if table.is_null() || !stream::is_on() {
        return;
    }
    let mut classes = [[0_u64; 2]; LIMIT_CLASSES];
    let mut highest = [[0_u64; 2]; HIGHEST];
    let mut rows = [[0_u64; 2]; ROWS];
    let mut count = 0;
    for group in 0..UNIT_GROUPS {
        let row = unsafe { &*table.add(group) };
        let (owner, limit) = (row.owner.load(Relaxed), row.limit.load(Relaxed));
        if limit == 0 {
            continue;
        }
        let unit = owner & (FOLLOWED - 1);
        if rule().follows(group) {
            rows[count] = [group as u64, limit];
            count += 1;
            if count == ROWS {
                send_rows(FOLLOWED_LIMITS, &rows);
                count = 0;
            }
            continue;
        }
        let class = &mut classes[limit_class(limit)];
        *class = [class[0] + 1, class[1] + limit];
        let mut entry = [unit, limit];
        for known in &mut highest {
            if entry[1] > known[1] {
                core::mem::swap(known, &mut entry);
            }
        }
    }
    send_rows(FOLLOWED_LIMITS, &rows[..count]);
    send_rows(HIGHEST_LIMITS, &highest);
    send_rows(LIMITS_BY_CLASS, &classes);
}

fn send_rows(number: u32, rows: &[[u64; 2]]) {
    let bytes = size_of_val(rows);
    let header = MessageHeader {
        protocol: PROTOCOL,
        kind: SAMPLE,
        number,
        bytes: bytes as u32,
        ..MessageHeader::default()
    };
    stream::send_own(header, (rows.as_ptr().cast_mut().cast(), bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table, in which everything is followed.
    fn groups() -> Vec<UnitGroup> {
        (0..UNIT_GROUPS).map(|_| UnitGroup { owner: AtomicU64::new(0), limit: AtomicU64::new(0) }).collect()
    }

    fn limit(groups: &[UnitGroup], address: u64) -> u64 {
        groups[UnitSample::group(rule().unit(address))].limit.load(Relaxed)
    }

    fn settle(groups: &[UnitGroup], raised: &RaisedLimits) {
        raised.0.iter().for_each(|&(group, count)| {
            groups[group as usize].limit.fetch_add(count.into(), Relaxed);
        });
    }

    #[test]
    fn groups_that_share_a_row_of_a_thread_keep_what_each_was_raised_by() {
        let groups = groups();
        let mut raised = RaisedLimits([(0, 0); RAISED]);
        for round in 0..10 {
            for group in [5, 5 + RAISED, 7] {
                // SAFETY: a table of all groups.
                unsafe { raised.raise(groups.as_ptr(), group, 1 + round % 2) };
            }
        }
        settle(&groups, &raised);
        assert_eq!([5, 5 + RAISED, 7, 0].map(|group| groups[group].limit.load(Relaxed)), [15, 15, 15, 0]);
    }

    #[test]
    fn what_other_threads_than_the_owner_do_is_counted_until_all_were_joined() {
        let groups = groups();
        let touch = |number: u32, address: u64, writes: bool| {
            let mut raised = RaisedLimits([(0, 0); RAISED]);
            let mut thread = TouchingThread { number, raised: &mut raised };
            // SAFETY: a table of all groups.
            assert!(unsafe { touch(groups.as_ptr(), &mut thread, address, writes) });
            settle(&groups, &raised);
        };
        (0..5).for_each(|_| touch(3, 0x1000, true));
        assert_eq!(limit(&groups, 0x1000), 0);
        touch(4, 0x1010, false);
        touch(4, 0x1010, true);
        touch(3, 0x1000, true);
        assert_eq!((limit(&groups, 0x1000), limit(&groups, 0x1040)), (3, 0));
        // Neighbours have rows of their own.
        touch(4, 0x1040, true);
        assert_eq!(limit(&groups, 0x1040), 0);

        let mut raised = RaisedLimits([(0, 0); RAISED]);
        let mut thread = TouchingThread { number: 5, raised: &mut raised };
        // SAFETY: as above.
        assert!(unsafe { touch_range(groups.as_ptr(), &mut thread, (0x1030, 0x20), true) });
        settle(&groups, &raised);
        assert_eq!((limit(&groups, 0x1000), limit(&groups, 0x1040)), (5, 2));

        // No thread is left of those before: the next one has all for itself, and may have to fetch it once.
        creates();
        touch(7, 0x1000, true);
        touch(7, 0x1000, true);
        assert_eq!(limit(&groups, 0x1000), 6);
        // A second thread beside it ends nothing.
        creates();
        touch(8, 0x1000, false);
        assert_eq!(limit(&groups, 0x1000), 7);
        joins();
        creates();
        touch(8, 0x1000, false);
        assert_eq!(limit(&groups, 0x1000), 8);
    }
}
