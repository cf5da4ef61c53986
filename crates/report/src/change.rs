//! What a user wants changed: `procedure:update=0.5`, `object:cache_lock=0` (metrics.md §5).
//!
//! ```text
//!   procedure:update=0.5     the procedure takes half its time, with all that it calls and all threads that it starts
//!   self:update=50%          its own work alone does
//!   line:server.c:88=0       the line takes no time
//!   object:cache_lock=0      nobody waits for it
//!   hold:cache_lock=0.5      what is done while it is held takes half its time (a replay)
//!   thread:worker=2          all threads of that name work twice as long
//!   process:cc1=0.8
//! ```
//! Names are found as everywhere (`RecordingNames`).

use longpole_metrics::{ChangeSubject, WorkChange};

use crate::error::{Error, Result};
use crate::find::{FoundNodes, NameKind, RecordingNames};
use crate::name;
use crate::quantity::count_of;

/// A change with its name for people.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedChange {
    /// What is changed: `update`, `thread worker (4 threads)`.
    pub name: String,
    /// The change.
    pub change: WorkChange,
}

/// Kind of a procedure's own work.
const SELF: &str = "self";
/// Kind of what is done while a lock is held.
const HOLD: &str = "hold";

impl NamedChange {
    /// The change that the text means.
    ///
    /// # Errors
    /// [`Error::BadChange`] when it has no factor, and what [`RecordingNames::find`] says.
    pub fn parse(text: &str, names: &RecordingNames<'_>) -> Result<NamedChange> {
        let bad = |reason: &str| Error::BadChange { text: text.to_owned(), reason: reason.to_owned() };
        let (wanted, factor) = text
            .rsplit_once('=')
            .ok_or_else(|| bad("it needs `=` and a factor, as in `procedure:NAME=0.5`"))?;
        let factor = factor_of(factor).ok_or_else(|| {
            bad("its factor is no number from 0 on: 0 leaves the work out, 0.5 or 50% halves it")
        })?;
        let wanted = wanted.trim();
        if let Some(lock) = of_kind(wanted, HOLD) {
            return match names.find(lock, &[NameKind::Object])? {
                FoundNodes::Objects(objects) => Ok(NamedChange::of_holds(objects, factor, names)),
                _ => Err(bad("only locks are held")),
            };
        }
        let (name, subject) = match of_kind(wanted, SELF) {
            Some(wanted) => match names.find(wanted, &[NameKind::Procedure, NameKind::Region])? {
                FoundNodes::Procedure(id) => {
                    let name = name::procedure(names.paths, names.program, id);
                    (format!("{name} itself"), ChangeSubject::Procedure(id))
                }
                _ => return Err(bad("only procedures have work of their own")),
            },
            None => named(names.find(wanted, NameKind::ALL)?, names),
        };
        Ok(NamedChange { name, change: WorkChange { subject, factor } })
    }

    fn of_holds(
        locks: Vec<longpole_trace::ObjectId>,
        factor: f64,
        names: &RecordingNames<'_>,
    ) -> NamedChange {
        let first = locks.first().map_or("a lock", |&lock| names.objects.get(lock).name.as_str());
        let name = match locks.len() {
            0 | 1 => format!("holds of {first}"),
            count => format!("holds of {first} ({})", count_of(count as u64, "object")),
        };
        NamedChange { name, change: WorkChange { subject: ChangeSubject::Holds(locks), factor } }
    }

    /// The change as `update × 0.5`.
    pub(crate) fn label(&self) -> String {
        format!("{} × {}", self.name, self.change.factor)
    }

    /// Whether the work that it meets is known from samples; times of threads and processes, and waits, are exact.
    pub(crate) fn is_estimated(&self) -> bool {
        matches!(
            self.change.subject,
            ChangeSubject::Procedure(_) | ChangeSubject::Inclusive(_) | ChangeSubject::Lines(_)
        )
    }
}

/// The name behind the kind and its colon; a name in a namespace of that name (`hold::push`) has no kind.
fn of_kind<'a>(wanted: &'a str, kind: &str) -> Option<&'a str> {
    wanted.strip_prefix(kind)?.strip_prefix(':').filter(|name| !name.starts_with(':'))
}

fn factor_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let factor = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (factor.is_finite() && factor >= 0.0).then_some(factor)
}

/// What was found, with its name.
fn named(found: FoundNodes, names: &RecordingNames<'_>) -> (String, ChangeSubject) {
    let several = |first: String, count: usize, noun: &str| match count {
        0 | 1 => first,
        count => format!("{first} ({})", count_of(count as u64, noun)),
    };
    match found {
        FoundNodes::Procedure(id) => {
            (name::procedure(names.paths, names.program, id), ChangeSubject::Inclusive(id))
        }
        FoundNodes::Lines(lines) => {
            let name = lines.first().map_or_else(String::new, |&(procedure, line)| {
                let file = &names.paths.procedure_named_by(procedure).file;
                format!("line {}:{line}", file.rsplit('/').next().unwrap_or(file))
            });
            (name, ChangeSubject::Lines(lines))
        }
        FoundNodes::File(file) => {
            let of_file = |place: &&longpole_trace::CodePlace| {
                names.paths.procedure_named_by(place.procedure).file == file
            };
            let places = names.paths.all_places().iter().filter(of_file);
            let lines = places.map(|place| (place.procedure, place.line)).collect();
            (format!("file {}", file.rsplit('/').next().unwrap_or(&file)), ChangeSubject::Lines(lines))
        }
        FoundNodes::Objects(objects) => {
            let first = objects.first().map_or_else(String::new, |&id| {
                let object = names.objects.get(id);
                format!("waiting for {}", object.name)
            });
            (several(first, objects.len(), "object"), ChangeSubject::Objects(objects))
        }
        FoundNodes::Threads(threads) => {
            let name = match threads.as_slice() {
                [one] => name::thread(names.program, *one),
                all => {
                    all.first().map_or_else(String::new, |id| names.program.threads[id.index()].name.clone())
                }
            };
            (several(format!("thread {name}"), threads.len(), "thread"), ChangeSubject::Threads(threads))
        }
        FoundNodes::Processes(processes) => {
            let name = match processes.as_slice() {
                [one] => name::process(names.program, *one),
                all => all
                    .first()
                    .map_or_else(String::new, |id| names.program.processes[id.index()].name.clone()),
            };
            (
                several(format!("process {name}"), processes.len(), "process"),
                ChangeSubject::Processes(processes),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use longpole_testkit::{MemoryTimelines, draw};

    use super::*;

    fn parse(made: &MemoryTimelines, text: &str) -> Result<NamedChange> {
        let names = RecordingNames { program: &made.program, paths: &made.paths, objects: &made.objects };
        NamedChange::parse(text, &names)
    }

    #[test]
    fn a_change_is_a_name_and_a_factor() {
        let made = draw("1 = mutex cache\nA = main > update\nT1 A1A");
        let update = made.procedure("update");
        for (text, subject, factor) in [
            ("procedure:update=0.5", ChangeSubject::Inclusive(update), 0.5),
            ("update = 50%", ChangeSubject::Inclusive(update), 0.5),
            ("self:main=0", ChangeSubject::Procedure(made.procedure("main")), 0.0),
            ("hold:cache=0.5", ChangeSubject::Holds(vec![made.object("cache")]), 0.5),
            ("object:cache=0", ChangeSubject::Objects(vec![made.object("cache")]), 0.0),
            ("thread:T1=2", ChangeSubject::Threads(vec![made.thread("T1")]), 2.0),
        ] {
            assert_eq!(parse(&made, text).unwrap().change, WorkChange { subject, factor }, "{text}");
        }
        assert_eq!(parse(&made, "cache=0").unwrap().label(), "waiting for cache × 0");
    }

    #[test]
    fn a_namespace_called_as_a_kind_is_none() {
        let mut made = draw("A = main > update\nT1 A");
        for name in ["hold::push", "self::run"] {
            let procedure =
                longpole_trace::Procedure { name: name.into(), module: "app".into(), file: String::new() };
            let subject = ChangeSubject::Inclusive(made.paths.procedure(procedure));
            assert_eq!(parse(&made, &format!("{name}=0.5")).unwrap().change.subject, subject, "{name}");
        }
    }

    #[test]
    fn a_file_is_all_its_lines() {
        let mut made = draw("A = main > update\nT1 AA");
        let procedure = longpole_trace::Procedure {
            name: "serve".into(),
            module: "app".into(),
            file: "/src/server.c".into(),
        };
        let procedure = made.paths.procedure(procedure);
        for line in [5, 7] {
            made.paths.place(longpole_trace::CodePlace { procedure, line });
        }
        let change = parse(&made, "file:server.c=0.5").unwrap();
        assert_eq!(change.change.subject, ChangeSubject::Lines(vec![(procedure, 5), (procedure, 7)]));
        assert_eq!(change.label(), "file server.c × 0.5");
    }

    #[test]
    fn what_is_no_change_is_told_why() {
        let made = draw("A = main > update\nT1 AA");
        let error = |text: &str| parse(&made, text).unwrap_err().to_string();
        assert!(error("update").contains("needs `=`"), "{}", error("update"));
        for factor in ["x", "-1", "NaN", "inf", ""] {
            assert!(error(&format!("update={factor}")).contains("no number"), "{factor}");
        }
        assert!(error("updte=0").contains("did you mean"), "{}", error("updte=0"));
        assert!(error("self:nobody=0").contains("procedure"));
    }
}
