//! The frame: what every thread does in each bin of a window.
//!
//! Time: per thread and bin, the states in it, or the search of a sum. Out: numbers of mixes, run by run.

use longpole_event::{ThreadId, Time};
use longpole_metrics::Weight;
use longpole_trace::Program;
use serde::Serialize;

use crate::bins::{TimeBins, seconds};
use crate::code::{StateName, state_names};
use crate::index::Index;
use crate::mix::{Mix, Mixes, StateTally, full};
use crate::workers::share;

/// Hand-offs that a frame shows at most.
const MOST_HANDOFFS: usize = 2000;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct FrameWindow {
    /// Begin.
    pub from: Time,
    /// End; cut at the end of the run.
    pub to: Time,
    /// Bins: at least one, at most 20,000.
    pub bins: u32,
    /// The first thread, in the frame's order.
    pub first: usize,
    /// How many threads; `None`: all from the first on.
    pub count: Option<usize>,
    /// Which critical path.
    pub weight: Weight,
}

/// What every thread does in each bin of a window; `docs/page.md` has its shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineFrame {
    /// Begin of the window.
    pub from_seconds: f64,
    /// Its end.
    pub to_seconds: f64,
    /// Length of the run.
    pub elapsed_seconds: f64,
    /// Bins.
    pub bins: u32,
    /// The states, by the numbers that mixes have.
    pub states: Vec<StateName>,
    /// Mixes, by the numbers that runs have.
    pub mixes: Vec<Mix>,
    /// Threads of the run.
    pub thread_count: usize,
    /// The place of the first thread that follows.
    pub first: usize,
    /// Threads, by machine, process, then start.
    pub threads: Vec<FrameThread>,
    /// Hand-offs of the critical path in the window.
    pub handoffs_total: usize,
    /// When, from which thread, to which; of more than 2,000 every so manieth.
    pub handoffs: Vec<(f64, u32, u32)>,
}

/// A thread of a frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameThread {
    /// Its number in the recording.
    pub id: u32,
    /// Its machine's name.
    pub machine: String,
    /// Its process's name.
    pub process: String,
    /// That process's pid.
    pub pid: u32,
    /// Its name.
    pub thread: String,
    /// Its tid.
    pub tid: u32,
    /// When it began.
    pub start_seconds: f64,
    /// When it ended; if it did not, the end of the run.
    pub end_seconds: f64,
    /// So many bins, their mix, so many bins, their mix, …
    pub runs: Vec<u32>,
    /// So many bins, the eighths of each in which the thread is on the critical path, …; at least one where it is at
    /// all.
    pub path: Vec<u32>,
}

impl Index {
    /// What the threads do in the window.
    #[must_use]
    pub fn frame(&self, program: &Program, window: &FrameWindow) -> TimelineFrame {
        let bins = TimeBins::new(window.from, window.to, window.bins, self.elapsed());
        let order = rows(program);
        let first = window.first.min(order.len());
        let count = window.count.unwrap_or(order.len()).min(order.len() - first);
        let (threads, mixes) = self.rows(program, &order[first..first + count], &bins, window.weight);
        let (handoffs_total, handoffs) = self.handoffs(&bins, window.weight);
        TimelineFrame {
            from_seconds: seconds(bins.from()),
            to_seconds: seconds(bins.to()),
            elapsed_seconds: seconds(self.elapsed()),
            bins: bins.count() as u32,
            states: state_names(),
            mixes: mixes.into_mixes(),
            thread_count: order.len(),
            first,
            threads,
            handoffs_total,
            handoffs,
        }
    }

    /// The rows of these threads, made on all processors, and the mixes that they name.
    fn rows(
        &self,
        program: &Program,
        threads: &[ThreadId],
        bins: &TimeBins,
        weight: Weight,
    ) -> (Vec<FrameThread>, Mixes) {
        let new = || (Vec::new(), Mixes::default());
        let parts = share(threads, new, |place, &thread, (rows, mixes)| {
            let runs = self.runs(thread, bins, mixes);
            let path = self.path_runs(thread, bins, weight);
            rows.push((place, FrameThread { runs, path, ..self.named(program, thread) }));
        });
        let (mut rows, mut mixes) = (Vec::new(), Mixes::default());
        for (part, own) in parts {
            let numbers: Vec<u32> = own.keys().iter().map(|&key| mixes.number(key)).collect();
            rows.extend(part.into_iter().map(|(place, mut row): (usize, FrameThread)| {
                row.runs.chunks_mut(2).for_each(|run| run[1] = numbers[run[1] as usize]);
                (place, row)
            }));
        }
        rows.sort_by_key(|&(place, _)| place);
        (rows.into_iter().map(|(_, row)| row).collect(), mixes)
    }

    fn named(&self, program: &Program, id: ThreadId) -> FrameThread {
        let (thread, process) = (&program.threads[id.index()], program.process_of(id));
        FrameThread {
            id: id.0,
            machine: program.machines[process.machine.index()].name.clone(),
            process: process.name.clone(),
            pid: process.pid,
            thread: thread.name.clone(),
            tid: thread.tid,
            start_seconds: seconds(thread.start.nanoseconds()),
            end_seconds: seconds(thread.end.map_or(self.elapsed(), Time::nanoseconds)),
            runs: Vec::new(),
            path: Vec::new(),
        }
    }

    fn runs(&self, thread: ThreadId, bins: &TimeBins, mixes: &mut Mixes) -> Vec<u32> {
        let mut walk = self.lanes[thread.index()].walk(bins.from());
        let (mut runs, mut tally) = (Runs::default(), StateTally::default());
        let mut last: Option<(u64, u32)> = None;
        let mut bin = 0;
        while bin < bins.count() {
            // Bins that lie within the state that the thread is in.
            let within = walk.end().map_or(bins.count(), |end| bins.not_before(bin, end));
            let key = if within > bin {
                full(walk.code())
            } else {
                let (from, to) = bins.span(bin);
                walk.go(from, to, |code, time| tally.add(code, time));
                tally.take()
            };
            let next = within.max(bin + 1);
            if within > bin {
                walk.seek(bins.edges()[next]);
            }
            let number = last.filter(|last| last.0 == key).map_or_else(|| mixes.number(key), |last| last.1);
            last = Some((key, number));
            runs.push(next - bin, number);
            bin = next;
        }
        runs.0
    }

    fn path_runs(&self, thread: ThreadId, bins: &TimeBins, weight: Weight) -> Vec<u32> {
        let mut walk = self.route(weight).walk(thread, bins.from());
        let mut runs = Runs::default();
        let mut bin = 0;
        while bin < bins.count() {
            // Bins before the path comes to the thread again.
            let before = walk.next().map_or(bins.count(), |next| bins.not_before(bin, next));
            if before > bin {
                runs.push(before - bin, 0);
                bin = before;
                continue;
            }
            let (from, to) = bins.span(bin);
            let mut time = 0;
            walk.go(from, to, |begin, end| time += end - begin);
            let eighths = (time as f64 * 8.0 / (to - from).max(1) as f64).round() as u32;
            runs.push(1, eighths.max(u32::from(time > 0)));
            bin += 1;
        }
        runs.0
    }

    fn handoffs(&self, bins: &TimeBins, weight: Weight) -> (usize, Vec<(f64, u32, u32)>) {
        let route = self.route(weight);
        let arrivals = || route.arrivals(bins.from(), bins.to()).filter_map(|piece| route.arrival(piece));
        let total = arrivals().count();
        let every = total.div_ceil(MOST_HANDOFFS).max(1);
        let shown = arrivals().step_by(every);
        (total, shown.map(|(time, source, thread)| (seconds(time), source.0, thread.0)).collect())
    }
}

/// The threads by machine, process, then start.
pub(crate) fn rows(program: &Program) -> Vec<ThreadId> {
    let mut rows: Vec<ThreadId> = (0..program.threads.len()).map(ThreadId::from_index).collect();
    rows.sort_by_key(|&id| {
        let thread = &program.threads[id.index()];
        (program.machine_of(id), thread.process, thread.start, id)
    });
    rows
}

/// Equal numbers one after the other, counted.
#[derive(Debug, Default)]
struct Runs(Vec<u32>);

impl Runs {
    fn push(&mut self, times: usize, number: u32) {
        let times = times as u32;
        match self.0.as_mut_slice() {
            [.., count, last] if *last == number => *count += times,
            _ => self.0.extend([times, number]),
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_metrics::{MetricOptions, analyse};
    use longpole_testkit::draw;

    use super::*;

    fn frame(text: &str, bins: u32, weight: Weight) -> TimelineFrame {
        let made = draw(text);
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let Ok(index) = Index::of(&made, &MetricOptions::default(), &analysis);
        let to = Time::from_nanoseconds(made.program.elapsed_nanoseconds);
        index.frame(&made.program, &FrameWindow { from: Time::ZERO, to, bins, first: 0, count: None, weight })
    }

    const HANDOVER: &str = "T1 AAAABBBB\nT2 CCCcccccDD\nT1@8 -> T2 signal";

    #[test]
    fn the_critical_path_is_drawn_with_its_hand_offs() {
        let shown = frame(HANDOVER, 5, Weight::Cpu);
        assert_eq!(shown.threads[0].path, [4, 8, 1, 0]);
        assert_eq!(shown.threads[1].path, [4, 0, 1, 8]);
        assert_eq!(shown.handoffs_total, 1);
        assert_eq!(shown.handoffs, [(8e-9, 0, 1)]);
    }

    #[test]
    fn a_frame_has_the_shape_of_the_interface() {
        let shown = serde_json::to_value(frame("unit 1000000\nhost:web/T1 AAll", 2, Weight::Cpu)).unwrap();
        let mut state = shown["states"][0].clone();
        assert_eq!(state, serde_json::json!({"name": "running", "title": "running", "kind": "busy"}));
        state = shown["states"][4].clone();
        assert_eq!(state["name"], "blocked_lock");
        assert_eq!(state["kind"], "synchronisation");
        assert_eq!(shown["mixes"], serde_json::json!([[[0, 8]], [[4, 8]]]));
        let thread = serde_json::json!({
            "id": 0, "machine": "host", "process": "web", "pid": 100, "thread": "T1", "tid": 100,
            "start_seconds": 0.0, "end_seconds": 0.004, "runs": [1, 0, 1, 1], "path": [1, 8, 1, 0],
        });
        assert_eq!(shown["threads"], serde_json::json!([thread]));
        assert_eq!((&shown["thread_count"], &shown["bins"]), (&1.into(), &2.into()));
    }

    #[test]
    fn threads_come_by_machine_process_and_start() {
        let shown = frame("a:p/T1 __AA\nb:q/T2 BBBB\na:r/T3 CCCC\na:p/T4 DDDD", 1, Weight::Cpu);
        let names: Vec<&str> = shown.threads.iter().map(|thread| thread.thread.as_str()).collect();
        assert_eq!(names, ["T4", "T1", "T3", "T2"]);
    }

    #[test]
    fn of_many_hand_offs_every_so_manieth_is_given() {
        let mut rows = [String::from("unit 10\nT1 "), String::from("T2 ")];
        let mut links = String::new();
        for turn in 0..2500 {
            let (runs, waits) = if turn % 2 == 0 { (0, 1) } else { (1, 0) };
            rows[runs].push('A');
            rows[waits].push('c');
            links += &format!("T{}@{} -> T{} signal\n", runs + 1, turn + 1, waits + 1);
        }
        let text = format!("{}\n{}\n{}", rows[0], rows[1], links);
        let shown = frame(&text, 10, Weight::Cpu);
        assert!(shown.handoffs_total > 2400, "{}", shown.handoffs_total);
        assert_eq!(shown.handoffs.len(), shown.handoffs_total.div_ceil(2));
        assert!(shown.handoffs.is_sorted_by(|one, other| one.0 < other.0));
    }
}
