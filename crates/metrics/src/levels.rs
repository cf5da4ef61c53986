//! How long the run has been at each level of parallelism, and how much of that each thread has been told.
//!
//! ```text
//!   run       |2|1|  3  |1|2|          a thread that looked at a and again at b is told:
//!   thread      a         b            level 1 for 2, level 3 for 5
//! ```
//! Time: per look, the number of levels that occurred since the look before. Memory: levels per one who looks.

use longpole_event::Time;

/// How long the run has been at each level so far.
#[derive(Debug, Default)]
pub(crate) struct LevelTimes {
    times: Vec<u64>,
    /// When the run was at the level last.
    left: Vec<Time>,
    /// Levels that occurred, the last one first.
    recent: Vec<u32>,
}

impl LevelTimes {
    /// The run was at this level.
    pub fn pass(&mut self, from: Time, to: Time, level: u32) {
        let index = level as usize;
        if self.times.len() <= index {
            self.times.resize(index + 1, 0);
            self.left.resize(index + 1, Time::ZERO);
        }
        self.times[index] += to.since(from);
        self.left[index] = to;
        let place = self.recent.iter().position(|&recent| recent == level);
        let place = place.unwrap_or_else(|| {
            self.recent.push(level);
            self.recent.len() - 1
        });
        self.recent[..=place].rotate_right(1);
    }
}

/// The levels as a thread saw them last.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenLevels {
    at: Time,
    times: Vec<u64>,
}

impl SeenLevels {
    /// Nothing yet.
    pub const NOTHING: SeenLevels = SeenLevels { at: Time::ZERO, times: Vec::new() };

    /// Calls `found` with the time at each level since the last call.
    pub fn catch_up(&mut self, levels: &LevelTimes, now: Time, mut found: impl FnMut(u32, u64)) {
        for &level in &levels.recent {
            let index = level as usize;
            if levels.left[index] <= self.at {
                break;
            }
            if self.times.len() <= index {
                self.times.resize(index + 1, 0);
            }
            found(level, levels.times[index] - self.times[index]);
            self.times[index] = levels.times[index];
        }
        self.at = now;
    }
}
