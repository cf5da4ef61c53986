//! Neighbours of a process in a communicator: who sends to it in an operation among neighbours, and to whom it sends.
//!
//! All that is asked for here an implementation answers without any other process.

use core::ffi::c_int;

use longpole_ring::{RingEventKind, event_in};

use super::Word;
use super::abi::MpiAbi;
use super::call::ToldCall;
use super::communicators::{MOST_MEMBERS, ask};
use crate::openmp::entry::EntryPoint;

const FIXED: usize = 3;

type ShiftRanks = unsafe extern "C-unwind" fn(Word, c_int, c_int, *mut c_int, *mut c_int) -> c_int;
type CountNeighbours = unsafe extern "C-unwind" fn(Word, c_int, *mut c_int) -> c_int;
type ListNeighbours = unsafe extern "C-unwind" fn(Word, c_int, c_int, *mut c_int) -> c_int;
type CountBothNeighbours = unsafe extern "C-unwind" fn(Word, *mut c_int, *mut c_int, *mut c_int) -> c_int;
type ListBothNeighbours =
    unsafe extern "C-unwind" fn(Word, c_int, *mut c_int, *mut c_int, c_int, *mut c_int, *mut c_int) -> c_int;

/// Ranks of neighbours. Of those that there is no room for none is told.
struct NeighbourRanks {
    ranks: [c_int; MOST_MEMBERS],
    /// Those that send come first; then those to whom is sent.
    counts: [usize; 2],
}

/// The function of this name and type, which is its own.
macro_rules! function {
    ($caller:expr, $name:literal, $kind:ty) => {{
        static ENTRY: EntryPoint = EntryPoint::new($name);
        ENTRY.find::<$kind>($caller).map(|(function, _)| function)
    }};
}

impl ToldCall {
    /// Tells of the neighbours that a process of this rank has in a communicator, where it has any.
    #[inline(never)]
    pub(super) fn tell_neighbours(self, handle: Word, rank: u32) {
        let mut found = NeighbourRanks { ranks: [0; MOST_MEMBERS], counts: [0; 2] };
        if self.find_neighbours(handle, rank, &mut found).is_none() {
            return;
        }
        let [from, to] = found.counts;
        let mut words = [0_u64; FIXED + MOST_MEMBERS / 2];
        words[2] = from as u64 | (to as u64) << 32;
        for (index, rank) in found.ranks[..from + to].iter().enumerate() {
            words[FIXED + index / 2] |= u64::from(rank.cast_unsigned()) << (index % 2 * 32);
        }
        let length = FIXED + (from + to).div_ceil(2);
        let me = self.thread();
        event_in(&mut words, length, RingEventKind::Neighbours, self.abi.handle(handle), me.now());
        me.with(|area| area.push(&words[..length]));
    }

    /// `None` where the communicator has no neighbours, or too many.
    fn find_neighbours(self, handle: Word, rank: u32, found: &mut NeighbourRanks) -> Option<()> {
        let caller = self.caller;
        let NeighbourRanks { ranks, counts } = found;
        // What is not a number of 32 bits is no answer.
        let kind = ask!(caller, c"PMPI_Topo_test", handle)? as c_int;
        // Cartesian, graph, distributed graph.
        let kinds: [c_int; 3] = match self.abi {
            MpiAbi::OpenMpi => [1, 2, 3],
            MpiAbi::Mpich => [2, 1, 3],
        };
        let (mut from, mut to): (c_int, c_int) = (0, 0);
        // SAFETY: the functions' own types, and as much room as they are told.
        unsafe {
            if kind == kinds[0] {
                let dimensions = ask!(caller, c"PMPI_Cartdim_get", handle)? as c_int;
                let shift = function!(caller, c"PMPI_Cart_shift", ShiftRanks)?;
                let mut count = 0;
                for dimension in 0..dimensions {
                    let (mut before, mut after) = (0, 0);
                    if shift(handle, dimension, 1, &raw mut before, &raw mut after) != 0 {
                        return None;
                    }
                    for rank in [before, after] {
                        // Others are no process.
                        if rank >= 0 {
                            *ranks.get_mut(count)? = rank;
                            count += 1;
                        }
                    }
                }
                // The same ones send and receive.
                if 2 * count > MOST_MEMBERS {
                    return None;
                }
                ranks.copy_within(..count, count);
                *counts = [count, count];
            } else if kind == kinds[1] {
                let count = function!(caller, c"PMPI_Graph_neighbors_count", CountNeighbours)?;
                if count(handle, rank.cast_signed(), &raw mut from) != 0 {
                    return None;
                }
                let count = usize::try_from(from).ok().filter(|&count| 2 * count <= MOST_MEMBERS)?;
                let neighbours = function!(caller, c"PMPI_Graph_neighbors", ListNeighbours)?;
                if neighbours(handle, rank.cast_signed(), from, ranks.as_mut_ptr()) != 0 {
                    return None;
                }
                ranks.copy_within(..count, count);
                *counts = [count, count];
            } else if kind == kinds[2] {
                let mut weighted = 0;
                let count = function!(caller, c"PMPI_Dist_graph_neighbors_count", CountBothNeighbours)?;
                if count(handle, &raw mut from, &raw mut to, &raw mut weighted) != 0 {
                    return None;
                }
                *counts = [usize::try_from(from).ok()?, usize::try_from(to).ok()?];
                if counts[0] + counts[1] > MOST_MEMBERS {
                    return None;
                }
                let mut weights = [0; MOST_MEMBERS];
                let neighbours = function!(caller, c"PMPI_Dist_graph_neighbors", ListBothNeighbours)?;
                let (first, second) = ranks.split_at_mut(counts[0]);
                let (of_first, of_second) = weights.split_at_mut(counts[0]);
                let found = neighbours(
                    handle,
                    from,
                    first.as_mut_ptr(),
                    of_first.as_mut_ptr(),
                    to,
                    second.as_mut_ptr(),
                    of_second.as_mut_ptr(),
                );
                if found != 0 {
                    return None;
                }
            } else {
                return None;
            }
        }
        Some(())
    }
}
