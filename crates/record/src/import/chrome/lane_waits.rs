//! Who ends a wait of a lane: the thread that launched what a stream does next, and the stream for which a thread waits.
//!
//! ```text
//!   thread   ┌launch┐          ┌──── synchronise ───┐
//!   stream      waits └─▶┌kernel┐ waits   ┌kernel┐──┘▶     a stream waits from the end of a kernel until the next is launched;
//!                                                          a thread waits until the last kernel ends that ends within its call
//! ```

use longpole_chrome::{ChromeLane, ChromeTrace};

/// A wait of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaneWait {
    /// When the lane stops: at the begin of a slice, or between slices.
    pub(super) begin: u64,
    /// When it is woken.
    pub(super) end: u64,
    /// The lane that wakes it.
    pub(super) by: usize,
}

/// Calls that wait for a GPU, as the runtimes name them.
fn is_synchronisation(name: &str) -> bool {
    let is_runtime = name.starts_with("cu") || name.starts_with("hip");
    is_runtime && (name.ends_with("Synchronize") || name == "cudaMemcpy" || name == "hipMemcpy")
}

/// The waits of each lane, in the order of time.
pub(super) fn lane_waits(trace: &ChromeTrace) -> Vec<Vec<LaneWait>> {
    let (ends, launches) = (device_ends(trace), trace.launches());
    let of_device = |lane: &ChromeLane| {
        let mut previous = 0;
        let mut waits = Vec::new();
        for slice in &lane.slices {
            let launch = trace.correlation(slice).and_then(|number| launches.get(&number));
            if let Some(&(by, place)) = launch {
                let launched = trace.lanes()[by].slices[place].end.min(slice.begin);
                if launched > previous {
                    waits.push(LaneWait { begin: previous, end: launched, by });
                }
            }
            previous = previous.max(slice.end);
        }
        waits
    };
    let of_host = |lane: &ChromeLane| {
        let calls = lane.slices.iter().filter(|slice| is_synchronisation(trace.name(slice)));
        let mut reached = 0;
        let mut waits = Vec::new();
        for call in calls.filter(|_| !ends.is_empty()) {
            let last = ends[..ends.partition_point(|&(end, _)| end <= call.end)].last();
            if let Some(&(end, by)) = last.filter(|&&(end, _)| end > call.begin && call.begin >= reached) {
                waits.push(LaneWait { begin: call.begin, end, by });
                reached = end;
            }
        }
        waits
    };
    trace.lanes().iter().map(|lane| if lane.is_device { of_device(lane) } else { of_host(lane) }).collect()
}

/// When slices of a GPU end, with their lanes.
fn device_ends(trace: &ChromeTrace) -> Vec<(u64, usize)> {
    let lanes = trace.lanes().iter().enumerate().filter(|(_, lane)| lane.is_device);
    let mut ends: Vec<(u64, usize)> =
        lanes.flat_map(|(number, lane)| lane.slices.iter().map(move |slice| (slice.end, number))).collect();
    ends.sort_unstable();
    ends
}
