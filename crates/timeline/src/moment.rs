//! What one thread does at one time.

use longpole_event::{ThreadId, Time};
use longpole_metrics::Weight;
use longpole_report::RecordingNames;
use longpole_trace::{PathId, State};
use serde::Serialize;

use crate::bins::seconds;
use crate::code::state_name;
use crate::dependences::kind_name;
use crate::index::Index;
use crate::lane::StateInterval;

/// What a thread does at a time; `docs/page.md` has its shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadMoment {
    /// The thread.
    pub thread: u32,
    /// The name of its state.
    pub state: String,
    /// The state's title.
    pub title: String,
    /// Since when it has been in the state.
    pub from_seconds: f64,
    /// How long it stays in it.
    pub to_seconds: f64,
    /// What it waits for, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Where this is charged, innermost first; empty where the thread is not there.
    pub path: Vec<PathPlace>,
    /// Whether the thread is on the critical path by CPU time then.
    pub on_critical_path: bool,
    /// Who lets it go on, if it waits and somebody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
}

/// A place of a call path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathPlace {
    /// The procedure's name.
    pub procedure: String,
    /// Its module.
    pub module: String,
    /// Its source file; empty where that is not known.
    pub file: String,
    /// The line; 0 where it is not known.
    pub line: u32,
}

/// Who ended a wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndedBy {
    /// The thread.
    pub thread: u32,
    /// When it did.
    pub seconds: f64,
    /// How.
    pub kind: &'static str,
}

impl Index {
    /// What the thread does at the time; `None` if there is no such thread, or the run is over by then.
    #[must_use]
    pub fn moment(&self, names: &RecordingNames<'_>, thread: ThreadId, time: Time) -> Option<ThreadMoment> {
        let known = names.program.threads.get(thread.index())?;
        let lane = self.lanes.get(thread.index())?;
        let time = Some(time.nanoseconds()).filter(|&time| time <= self.elapsed())?;
        let stay = lane.walk(time).stay();
        let named = state_name(stay.state);
        let path = match stay.state {
            State::Absent => Vec::new(),
            state => places(names, lane.path_at(known.prefix, time, state.is_on_cpu())),
        };
        Some(ThreadMoment {
            thread: thread.0,
            state: named.name,
            title: named.title,
            from_seconds: seconds(stay.from),
            to_seconds: seconds(stay.to.unwrap_or(self.elapsed())),
            object: stay.object.map(|object| names.objects.get(object).name.clone()),
            path,
            on_critical_path: self.route(Weight::Cpu).walk(thread, time).has(time),
            ended_by: self.ended_by(thread, &stay),
        })
    }

    /// Who ended the wait, if the thread waits: what arrives just when it is over.
    fn ended_by(&self, thread: ThreadId, stay: &StateInterval) -> Option<EndedBy> {
        let waits = matches!(stay.state, State::Blocked(_)) || stay.object.is_some();
        let link = self.dependences.enabling(thread, stay.to.filter(|_| waits)?)?;
        Some(EndedBy {
            thread: link.source.0,
            seconds: seconds(link.source_time),
            kind: kind_name(link.kind),
        })
    }
}

fn places(names: &RecordingNames<'_>, path: PathId) -> Vec<PathPlace> {
    let place = |place: longpole_trace::CodePlace| {
        let procedure = names.paths.procedure_named_by(place.procedure);
        PathPlace {
            procedure: procedure.name.clone(),
            module: procedure.module.clone(),
            file: procedure.file.clone(),
            line: place.line,
        }
    };
    names.paths.places_of(path).map(place).collect()
}

#[cfg(test)]
mod tests {
    use longpole_metrics::{MetricOptions, analyse};
    use longpole_testkit::draw;

    use super::*;

    fn moment(text: &str, thread: &str, time: u64) -> Option<ThreadMoment> {
        let made = draw(text);
        let Ok(analysis) = analyse(&made, &MetricOptions::default());
        let Ok(index) = Index::of(&made, &MetricOptions::default(), &analysis);
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        index.moment(&names, made.thread(thread), Time::from_nanoseconds(time))
    }

    const HANDOVER: &str = "\
unit 1000000000
1 = mutex cache
A = main:3 > update:9
T1 CCCCCC--
T2 AA1111AA
T1@6 -> T2 unlock";

    #[test]
    fn a_wait_tells_what_for_where_and_who_ends_it() {
        let shown = moment(HANDOVER, "T2", 3_500_000_000).unwrap();
        let json = serde_json::to_value(&shown).unwrap();
        let place = |procedure, line| serde_json::json!({"procedure": procedure, "module": "drawn", "file": "drawn.c", "line": line});
        let expected = serde_json::json!({
            "thread": 1, "state": "blocked_lock", "title": "blocked: lock", "from_seconds": 2.0, "to_seconds": 6.0,
            "object": "cache", "path": [place("update", 9), place("main", 3)], "on_critical_path": false,
            "ended_by": {"thread": 0, "seconds": 6.0, "kind": "unlock"},
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn work_has_no_object_and_nobody_who_ends_it() {
        let shown = moment(HANDOVER, "T2", 6_000_000_000).unwrap();
        assert_eq!((shown.state.as_str(), shown.on_critical_path), ("running", true));
        let json = serde_json::to_value(&shown).unwrap();
        assert!(json.get("object").is_none() && json.get("ended_by").is_none());
    }

    #[test]
    fn who_ends_a_told_spin_is_told_too() {
        let shown = moment("1 = mutex m\nT1 AAAABB\nT2 C¹¹¹DDDD\nT1@4 -> T2 unlock", "T2", 2).unwrap();
        assert_eq!((shown.state.as_str(), shown.object.as_deref()), ("spinning", Some("m")));
        assert_eq!(shown.ended_by.map(|ended| ended.thread), Some(0));
    }

    #[test]
    fn a_message_that_was_under_way_ends_a_wait_when_it_was_sent() {
        let shown = moment("T1 AAAAmmmm\nT2 BmmmmmBB\nT1@2 -> T2@6 message", "T2", 4).unwrap();
        let ended = shown.ended_by.unwrap();
        assert_eq!((ended.thread, (ended.seconds * 1e9).round(), ended.kind), (0, 2.0, "message"));
    }

    #[test]
    fn a_thread_that_is_not_there_is_nowhere() {
        let shown = moment("T1 AAAA\nT2 __BB", "T2", 1).unwrap();
        assert_eq!((shown.state.as_str(), shown.path.len()), ("absent", 0));
        assert_eq!(moment("T1 AAAA", "T1", 5), None, "the run is over");
    }
}
