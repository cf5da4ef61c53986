//! What the fuzzer calls: the reader of the agents' memory, after a program wrote into it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use longpole_ring::{HEADER_BYTES, Mode, stride};

use super::interpreter::{AgentScope, Interpreter};
use super::reader::AgentReader;
use crate::clock::now;

/// Areas that threads have taken.
const AREAS: usize = 3;
/// Bits of a place that choose an area, or the header.
const REGION_SHIFT: u32 = 14;

/// Writes words into the header and the first areas, a round at a time; after each round everything is read and
/// interpreted. A place is a region (two bits: the header or one of three areas) and a word in it.
pub fn read_scribbled(rounds: &[Vec<(u16, u64)>]) {
    let mode = Mode { waits: true, calls: false, messages: true, frame_pointers: true, stack_bytes: 1024 };
    let mut reader = AgentReader::new(mode).expect("memory to share");
    let mut interpreter = Interpreter::new(AgentScope::All);
    let (header, area) = (HEADER_BYTES / 8, stride(mode) / 8);
    for (number, round) in rounds.iter().enumerate() {
        let memory = Arc::clone(reader.memory());
        let pool = &memory.header().pool;
        (0..AREAS).for_each(|_| _ = pool.claim());
        for &(place, value) in round {
            let (region, word) = (usize::from(place >> REGION_SHIFT), usize::from(place) & 0x3fff);
            let at = if region == 0 { word % header } else { header + (region - 1) * area + word % area };
            memory.words()[at].store(value, Ordering::Relaxed);
        }
        let mut events = Vec::new();
        reader.drain(number + 1 == rounds.len(), &mut events);
        events.sort_by_key(|event| event.time);
        events.into_iter().for_each(|event| interpreter.take(event, &mut |_| ()));
    }
    interpreter.finish(now(), &mut |_| ());
    reader.findings();
}
