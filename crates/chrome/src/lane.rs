//! A lane: a thread, or a stream of a GPU.

/// A slice of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChromeSlice {
    /// Nanoseconds since the first event of the trace.
    pub begin: u64,
    /// Nanoseconds; after `begin`.
    pub end: u64,
    /// Its name, by its number.
    pub name: u32,
    /// What ties a launch to what it launches; 0 for nothing.
    pub(crate) correlation: u32,
    /// Which collective operation it is, by its number plus one; 0 for none.
    pub(crate) collective: u32,
}

/// A thread, or a stream of a GPU, with its slices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChromeLane {
    /// Its process, by its number in the trace.
    pub process: u32,
    /// Number of the thread, where it has one.
    pub tid: u32,
    /// Its name; may be empty.
    pub name: String,
    /// Whether it is a stream of a GPU.
    pub is_device: bool,
    /// In the order of their begins, those that contain others before these; none crosses the end of one that it began in.
    pub slices: Vec<ChromeSlice>,
    /// Slices that have begun and not ended.
    pub(crate) open: Vec<ChromeSlice>,
}

/// By how much a slice may end after the one that it is in, as times are rounded, nanoseconds.
const ROUNDED: u64 = 1_000;

impl ChromeLane {
    /// Puts the slices in order, and has those that begin within others end with them; returns how many those were.
    pub(crate) fn arrange(&mut self) -> u64 {
        self.slices.sort_by_key(|slice| (slice.begin, u64::MAX - slice.end));
        let (mut crossing, mut around) = (0, Vec::new());
        for slice in &mut self.slices {
            while around.last().is_some_and(|&end| end <= slice.begin) {
                around.pop();
            }
            if let Some(&end) = around.last()
                && slice.end > end
            {
                crossing += u64::from(slice.end - end > ROUNDED);
                slice.end = end;
            }
            around.push(slice.end);
        }
        crossing
    }
}
