//! Text timelines: a parallel run drawn with characters, one per unit of time.
//!
//! ```text
//! # M figure 2, a sixth of its size
//! unit 1000                  nanoseconds per character (default 1)
//! cpus 3                     processors of each machine (default: as many as threads)
//! C = main > C:12            the call path that a letter stands for, outermost first, with lines
//!                            (default: the procedure named by the letter alone)
//! R = main > {load}          … with the region `load`
//! 1 = mutex cache            a blocked thread so drawn waits for this object (kinds: those of `ObjectKind`)
//! T1       AAAAAABBBBBB      a thread: name, then its row
//! web/T2   CCCCCCcccccc      … of the process web (default: process "drawn")
//! h:db/T3  ____CCcccccc      … of the process db on machine h (default: machine "drawn")
//! T1@4 -> T3 create          at time 4 T1 created T3
//! T1@12 -> T2, T3 signal     at time 12 T1 enabled T2 and T3
//! T1@2 -> T2@4 message       what left T1 at 2 enabled T2 at 4
//! T1@3 look                  a timer looks at T1
//! T1@9 held 1 5/2 7 3        T1 has held the object 1 five times, found it taken two times, for 7 in all, at most 3
//! ```
//!
//! | characters | the thread is |
//! |---|---|
//! | `A`…`Z` | running in that procedure |
//! | `~` | spinning in the procedure it ran last |
//! | `%` | in the collector's code |
//! | `-` | ready |
//! | `_` | not there: not yet created, or ended (as after the end of its row) |
//! | `.` | blocked, cause unknown |
//! | `l c b j w s` | blocked for a lock, a condition, a barrier, a join, a child process, a semaphore |
//! | `m p k d t o e` | … a message, a pipe, a socket, data that was written already, a terminal, poll, a timer of a poll |
//! | `: f z` | … io, a page fault, sleep |
//! | `i q x u` | … a signal, a request, being unparked, a futex of unknown use |
//! | `0`…`9` | … the object that the digit stands for |
//! | `⁰`…`⁹` | spinning for that object, by the thread's own word |
//!
//! A thread is observed where its procedure changes, where it leaves the processor, where it enables another
//! and where a `look` says so. At one time come first the observations, then the dependences, then the states. A
//! thread that is on its processor at the end of the drawing ends there; others live on. A created thread's
//! paths begin with the path at which its creator was.

use std::collections::BTreeMap;
use std::fmt;

use longpole_trace::{Cause, DependenceKind, ObjectKind, State};

use crate::memory::MemoryTimelines;

/// A drawn run.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    pub(crate) unit: u64,
    pub(crate) cpus: Option<u32>,
    pub(crate) letters: BTreeMap<char, Vec<(String, u32)>>,
    pub(crate) objects: BTreeMap<char, (ObjectKind, String)>,
    pub(crate) threads: Vec<DrawnThread>,
    pub(crate) dependences: Vec<DrawnDependence>,
    pub(crate) looks: Vec<(usize, usize)>,
    pub(crate) holds: Vec<DrawnHold>,
}

#[derive(Clone, Debug)]
pub(crate) struct DrawnThread {
    pub machine: String,
    pub process: String,
    pub name: String,
    pub row: Vec<char>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnDependence {
    pub source: usize,
    pub source_time: usize,
    pub thread: usize,
    pub time: usize,
    pub kind: DependenceKind,
}

/// What holds of an object came to; times are in characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnHold {
    pub thread: usize,
    pub time: usize,
    pub object: char,
    pub acquisitions: u64,
    pub contended: u64,
    pub held: u64,
    pub longest: u64,
}

/// A line that is not of the drawing language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for DrawingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for DrawingError {}

/// The timelines of a drawing.
///
/// # Panics
/// When the text is not a drawing.
#[must_use]
pub fn draw(text: &str) -> MemoryTimelines {
    match Drawing::parse(text) {
        Ok(drawing) => drawing.timelines(),
        Err(error) => panic!("not a drawing: {error}"),
    }
}

/// What a character of a row says.
pub(crate) fn state_of(character: char) -> Option<State> {
    Some(match character {
        'A'..='Z' => State::Running,
        '~' => State::Spinning,
        '%' => State::Overhead,
        '-' => State::Ready,
        '_' => State::Absent,
        '.' => State::Blocked(Cause::Other),
        'l' => State::Blocked(Cause::Lock),
        'c' => State::Blocked(Cause::Condition),
        'b' => State::Blocked(Cause::Barrier),
        'j' => State::Blocked(Cause::Join),
        'w' => State::Blocked(Cause::Child),
        's' => State::Blocked(Cause::Semaphore),
        'm' => State::Blocked(Cause::Message),
        'p' => State::Blocked(Cause::Pipe),
        'k' => State::Blocked(Cause::Socket),
        'd' => State::Blocked(Cause::Delivery),
        't' => State::Blocked(Cause::Terminal),
        'o' => State::Blocked(Cause::Poll),
        'e' => State::Blocked(Cause::PollTimeout),
        ':' => State::Blocked(Cause::Io),
        'f' => State::Blocked(Cause::PageFault),
        'z' => State::Blocked(Cause::Sleep),
        'i' => State::Blocked(Cause::Signal),
        'a' => State::Blocked(Cause::Timer),
        'q' => State::Blocked(Cause::Request),
        'x' => State::Blocked(Cause::Park),
        'u' => State::Blocked(Cause::Futex),
        _ => return None,
    })
}

/// The digit that is raised.
fn raised(character: char) -> Option<char> {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let digit = RAISED.chars().position(|raised| raised == character)?;
    char::from_digit(u32::try_from(digit).ok()?, 10)
}

fn kind_of(word: &str) -> Option<DependenceKind> {
    Some(match word {
        "create" => DependenceKind::Create,
        "join" => DependenceKind::Join,
        "unlock" => DependenceKind::Unlock,
        "signal" => DependenceKind::Signal,
        "barrier" => DependenceKind::Barrier,
        "post" => DependenceKind::Post,
        "message" => DependenceKind::Message,
        "stop" => DependenceKind::Stop,
        "wake" => DependenceKind::Wake,
        _ => return None,
    })
}

/// Two threads that create, wait for, unlock and join each other.
const EXAMPLE: &str = "C = main > C:12\n\
    1 = mutex m\n\
    T1 AAAAll¹¹1AjjjjAA\n\
    T2 __CC%CmmCC--CC__\n\
    T1@2 -> T2 create\n\
    T2@6 -> T1 unlock\n\
    T2@14 -> T1 join\n\
    T1@3 look\n\
    T2@8 held 1 3/1 4 2\n";

impl Drawing {
    /// A small run with most of the language in it, for readers to be tested with.
    #[must_use]
    pub fn example() -> Drawing {
        Drawing::parse(EXAMPLE).expect("the example is of the language")
    }

    /// Reads a drawing. `#` begins a comment.
    ///
    /// # Errors
    /// The first line that is not of the language, and why.
    pub fn parse(text: &str) -> Result<Drawing, DrawingError> {
        let mut drawing = Drawing { unit: 1, ..Drawing::default() };
        let lines = || {
            text.lines().enumerate().filter_map(|(index, line)| {
                let line = line.split('#').next().unwrap_or_default().trim();
                (!line.is_empty()).then_some((index + 1, line))
            })
        };
        let at = |line: usize| move |reason| DrawingError { line, reason };
        // What is named first: a line may be written above those that it needs.
        for (number, line) in lines().filter(|(_, line)| line.contains('=')) {
            drawing.meaning(line).map_err(at(number))?;
        }
        let is_row = |line: &str| !line.contains('@') && !line.contains('=');
        for (number, line) in lines().filter(|(_, line)| is_row(line)) {
            drawing.row(line).map_err(at(number))?;
        }
        for (number, line) in lines().filter(|(_, line)| line.contains('@') && !line.contains('=')) {
            drawing.event(line).map_err(at(number))?;
        }
        Ok(drawing)
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        let (name, row) = line.split_once(char::is_whitespace).ok_or("a name and a row are needed")?;
        let row = row.trim();
        match name {
            "unit" => {
                self.unit = row.parse().map_err(|_| format!("{row} is no number of nanoseconds"))?;
                return Ok(());
            }
            "cpus" => {
                self.cpus = Some(row.parse().map_err(|_| format!("{row} is no number of processors"))?);
                return Ok(());
            }
            _ => {}
        }
        if let Some(unknown) = row.chars().find(|&character| self.state_of(character).is_none()) {
            return Err(format!("{unknown:?} is no state of a thread"));
        }
        let (machine, rest) = name.split_once(':').unwrap_or(("drawn", name));
        let (process, name) = rest.split_once('/').unwrap_or(("drawn", rest));
        if self.threads.iter().any(|thread| thread.name == name) {
            return Err(format!("there is a thread {name} already"));
        }
        self.threads.push(DrawnThread {
            machine: machine.to_owned(),
            process: process.to_owned(),
            name: name.to_owned(),
            row: row.chars().collect(),
        });
        Ok(())
    }

    /// What a character of a row says in this drawing.
    pub(crate) fn state_of(&self, character: char) -> Option<State> {
        match (self.objects.get(&character), raised(character)) {
            (Some((kind, _)), _) => Some(State::Blocked(kind.cause())),
            (None, Some(digit)) => self.objects.get(&digit).map(|_| State::Spinning),
            (None, None) => state_of(character),
        }
    }

    /// The object that a character says is waited for.
    pub(crate) fn object_of(&self, character: char) -> Option<&(ObjectKind, String)> {
        self.objects.get(&raised(character).unwrap_or(character))
    }

    /// What a letter or a digit stands for.
    fn meaning(&mut self, line: &str) -> Result<(), String> {
        let (letter, path) = line.split_once('=').ok_or("a letter needs a path")?;
        let mut characters = letter.trim().chars();
        if let (Some(digit @ '0'..='9'), None) = (characters.next(), characters.next()) {
            let (kind, name) = path.trim().rsplit_once(' ').ok_or("an object needs a kind and a name")?;
            let known = ObjectKind::ALL.iter().find(|known| known.name() == kind.trim());
            let &kind = known.ok_or_else(|| format!("{kind} is no kind of object"))?;
            self.objects.insert(digit, (kind, name.to_owned()));
            return Ok(());
        }
        let mut characters = letter.trim().chars();
        let (Some(letter @ 'A'..='Z'), None) = (characters.next(), characters.next()) else {
            return Err(format!("{} is not one of A to Z", letter.trim()));
        };
        let place = |part: &str| match part.trim().rsplit_once(':') {
            Some((name, line)) => match line.parse() {
                Ok(line) => Ok((name.to_owned(), line)),
                Err(_) => Err(format!("{line} is no line number")),
            },
            None => Ok((part.trim().to_owned(), 0)),
        };
        self.letters.insert(letter, path.split('>').map(place).collect::<Result<_, _>>()?);
        Ok(())
    }

    fn event(&mut self, line: &str) -> Result<(), String> {
        let Some((source, rest)) = line.split_once("->") else {
            if let Some((at, hold)) = line.split_once("held") {
                return self.hold(at, hold);
            }
            let at = line.strip_suffix("look").ok_or("neither `->` nor `look`")?;
            let (thread, time) = self.place_in_time(at)?;
            self.looks.push((thread, time.ok_or("a look needs a time")?));
            return Ok(());
        };
        let (source, source_time) = self.place_in_time(source)?;
        let source_time = source_time.ok_or("a dependence needs a time")?;
        let (targets, kind) = rest.trim().rsplit_once(char::is_whitespace).ok_or("a kind is needed")?;
        let kind = kind_of(kind).ok_or_else(|| format!("{kind} is no kind of dependence"))?;
        for target in targets.split(',') {
            let (thread, time) = self.place_in_time(target)?;
            let time = time.unwrap_or(source_time);
            if time < source_time {
                return Err("a dependence cannot arrive before it leaves".to_owned());
            }
            self.dependences.push(DrawnDependence { source, source_time, thread, time, kind });
        }
        Ok(())
    }

    /// `1 5/2 7 3`; the longest hold is left out where it is all of it.
    fn hold(&mut self, at: &str, hold: &str) -> Result<(), String> {
        let (thread, time) = self.place_in_time(at)?;
        let time = time.ok_or("a hold needs a time")?;
        let words: Vec<&str> = hold.split_whitespace().collect();
        let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text} is no number"));
        let (object, counts, held, longest) = match words[..] {
            [object, counts, held] => (object, counts, held, held),
            [object, counts, held, longest] => (object, counts, held, longest),
            _ => return Err("a hold needs an object, numbers and a time".to_owned()),
        };
        let object = object.chars().next().filter(|digit| self.objects.contains_key(digit));
        let object = object.ok_or("a hold needs an object")?;
        let (acquisitions, contended) = counts.split_once('/').ok_or("`5/2` is needed")?;
        let (acquisitions, contended) = (number(acquisitions)?, number(contended)?);
        let (held, longest) = (number(held)?, number(longest)?);
        self.holds.push(DrawnHold { thread, time, object, acquisitions, contended, held, longest });
        Ok(())
    }

    /// `NAME@TIME` or `NAME`.
    fn place_in_time(&self, text: &str) -> Result<(usize, Option<usize>), String> {
        let text = text.trim();
        let (name, time) = match text.split_once('@') {
            Some((name, time)) => {
                (name, Some(time.trim().parse().map_err(|_| format!("{time} is no time"))?))
            }
            None => (text, None),
        };
        let thread = self.threads.iter().position(|thread| thread.name == name.trim());
        Ok((thread.ok_or_else(|| format!("no thread is named {name}"))?, time))
    }
}

#[cfg(test)]
mod tests;
