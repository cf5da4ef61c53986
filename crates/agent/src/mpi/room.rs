//! Room for what a call of MPI tells.
//!
//! A message of which one end is not told makes the order of all later ones on its channel unknown. So a call is told in whole, or not at
//! all; and a thread whose calls come faster than the recorder reads waits for it before the call, on its processor, which it
//! offers to others meanwhile. How long is told, and is no time of the program.
//!
//! ```text
//!   ring   full ───────────── the recorder reads ── room
//!   told   |MPI_Send| ~~~~~~~~ waits ~~~~~~~~~~~~ Delayed |MPI_Recv|
//! ```

use longpole_ring::{RingEventKind, event};

use crate::memory;
use crate::system;
use crate::thread::CurrentThread;
use crate::tls;

/// Words of a call that tells much: a stack and some hundred requests.
const WORDS_OF_CALL: usize = 4096;
/// A recorder that has read nothing for so long is stopped or gone: what is told is lost, until it reads again.
const MOST_WAITING_NANOSECONDS: u64 = 1_000_000_000;

/// Whether there is room for a call, maybe after a while; one that finds none is counted.
#[inline(always)]
pub(super) fn is_there(me: CurrentThread) -> bool {
    (me.area().has_room(WORDS_OF_CALL) && !me.area().losses.has_gap()) || comes(me)
}

/// Waits for room.
#[cold]
#[inline(never)]
fn comes(me: CurrentThread) -> bool {
    if me.area().has_room(WORDS_OF_CALL) {
        tell(me);
        return true;
    }
    // Who has waited in vain does not wait again, before there is room.
    let may_come = !me.area().losses.has_gap() && memory::may_call() && waits(me);
    if !may_come {
        me.area().lose_communication();
    }
    may_come
}

fn waits(me: CurrentThread) -> bool {
    let [began, began_processor] = [libc::CLOCK_MONOTONIC, libc::CLOCK_THREAD_CPUTIME_ID].map(nanoseconds);
    let mut waited = 0;
    let mut has_room = false;
    while !has_room && waited < MOST_WAITING_NANOSECONDS && me.header().is_recording() {
        system::give_way();
        has_room = me.area().has_room(WORDS_OF_CALL);
        waited = nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(began);
    }
    let slot = tls::slot();
    let processor = nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(began_processor);
    slot.room_awaited.set(slot.room_awaited.get() + waited);
    slot.room_processor.set(slot.room_processor.get() + processor);
    if has_room {
        tell(me);
    }
    has_room
}

/// Tells how long the thread has waited since it told so last.
fn tell(me: CurrentThread) {
    let slot = tls::slot();
    if slot.room_awaited.get() == 0 {
        return;
    }
    let rest = [slot.room_awaited.take(), slot.room_processor.take()];
    let now = me.now();
    me.with(|area| area.push(&event::<4>(RingEventKind::Delayed, 0, now, &rest)));
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use longpole_ring::{AgentHeader, Area, EventClock, Mode, RingEventKind, RingLength, event};

    use super::*;

    /// What waits in the ring: of each event its kind.
    fn read(area: &Area) -> Vec<RingEventKind> {
        let mut kinds = Vec::new();
        let mut take =
            |words: &longpole_ring::EventWords| kinds.extend(words.event().map(|event| event.kind));
        // SAFETY: the area's own ring.
        assert!(unsafe { area.drain(RingLength::Short, &mut take) });
        kinds
    }

    #[test]
    fn a_call_waits_for_room_once_and_is_counted_until_there_is_some() {
        let header: &'static AgentHeader = Box::leak(Box::new(AgentHeader::new()));
        header.open(Mode::default(), EventClock::Monotonic, 0);
        let area: &'static Area = Box::leak(Box::new(Area::new()));
        let me = CurrentThread::new(header, area);
        assert!(is_there(me));
        while area.push(&event::<2>(RingEventKind::Ends, 0, 7, &[])) {}
        // One event found none: so nobody waits.
        assert!(!is_there(me) && area.losses.communications() == 1);
        read(area);
        assert!(is_there(me) && area.push(&event::<2>(RingEventKind::Exits, 0, 7, &[])));
        assert_eq!(read(area), [RingEventKind::Lost, RingEventKind::Exits]);
        while area.has_room(WORDS_OF_CALL) {
            area.push(&event::<2>(RingEventKind::Ends, 0, 7, &[]));
        }
        // Nobody reads.
        let waited = tls::slot().room_awaited.get();
        assert!(!is_there(me) && !is_there(me));
        assert!(tls::slot().room_awaited.get() - waited >= MOST_WAITING_NANOSECONDS);
        assert_eq!(area.losses.communications(), 3);
        // Somebody does, maybe before this looks: then it need not wait.
        read(area);
        assert!(is_there(me));
        assert_eq!(read(area), [RingEventKind::Lost, RingEventKind::Delayed]);
        while area.has_room(WORDS_OF_CALL) {
            area.push(&event::<2>(RingEventKind::Ends, 0, 7, &[]));
        }
        let kinds = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(area));
            assert!(is_there(me), "it waits for the reader");
            reader.join().unwrap()
        });
        assert_eq!(kinds[0], RingEventKind::Ends);
        assert_eq!(area.losses.communications(), 3);
    }
}
