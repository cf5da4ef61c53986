//! Reads the text of a [`Script`].

use super::monitor::{Monitor, MonitorVerb};
use super::{NameTable, Script, ScriptStep, ScriptThread};

/// The program, or what is wrong with the text.
pub(super) fn parse(text: &str) -> Result<Script, String> {
    let mut parser = Parser::default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for line in &lines {
        if let Some((name, _)) = line.split_once(':') {
            parser.threads.index(name.trim());
        } else {
            parser.declare(line)?;
        }
    }
    let mut threads = Vec::new();
    for line in &lines {
        let Some((name, steps)) = line.split_once(':') else { continue };
        let steps = steps.split(',').map(str::trim).filter(|step| !step.is_empty());
        let steps = steps.map(|step| parser.step(step)).collect::<Result<_, _>>()?;
        threads.push(ScriptThread { name: name.trim().to_owned(), steps });
    }
    Ok(Script {
        procedures: parser.procedures.into_names(),
        threads,
        semaphores: parser.semaphores,
        barriers: parser.barriers,
        monitors: parser.monitors,
        mutexes: parser.mutexes.into_names(),
        flags: parser.flags.into_names(),
        shares_items: false,
        callers: Vec::new(),
    })
}

#[derive(Default)]
struct Parser {
    threads: NameTable,
    procedures: NameTable,
    mutexes: NameTable,
    flags: NameTable,
    semaphores: Vec<(String, u64)>,
    barriers: Vec<(String, usize)>,
    monitors: Vec<Monitor>,
}

impl Parser {
    fn declare(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{line}` declares nothing");
        let (kind, rest) = line.split_once(' ').ok_or_else(wrong)?;
        let (name, value) = rest.split_once('=').ok_or_else(wrong)?;
        let name = name.trim().to_owned();
        let value: u64 = value.trim().parse().map_err(|_| wrong())?;
        match kind {
            "semaphore" => self.semaphores.push((name, value)),
            "barrier" => self.barriers.push((name, value as usize)),
            _ => self.monitors.push(Monitor::declared(kind, &name, value).ok_or_else(wrong)?),
        }
        Ok(())
    }

    fn step(&mut self, text: &str) -> Result<ScriptStep, String> {
        let (verb, of) = text.split_once(' ').ok_or_else(|| format!("`{text}` lacks its object"))?;
        let number = || of.parse::<u64>().map_err(|_| format!("`{of}` is no number"));
        let declared = |found: Option<usize>| found.ok_or_else(|| format!("`{of}` is not declared"));
        Ok(match verb {
            "sleep" => ScriptStep::Sleep(number()?),
            "fork" => ScriptStep::Fork(declared(self.threads.0.get(of).copied())?),
            "join" => ScriptStep::Join(declared(self.threads.0.get(of).copied())?),
            "lock" => ScriptStep::Lock(self.mutexes.index(of)),
            "unlock" => ScriptStep::Unlock(self.mutexes.index(of)),
            "barrier" => ScriptStep::Barrier(declared(self.barriers.iter().position(|known| known.0 == of))?),
            "post" => ScriptStep::Post(declared(self.semaphores.iter().position(|known| known.0 == of))?),
            "take" => ScriptStep::Take(declared(self.semaphores.iter().position(|known| known.0 == of))?),
            "set" => ScriptStep::Set(self.flags.index(of)),
            "spin" => ScriptStep::Spin(self.flags.index(of)),
            word => match MonitorVerb::named(word) {
                Some(verb) => {
                    let monitor = self.monitors.iter().position(|known| known.name == of);
                    ScriptStep::Monitor(verb, declared(monitor)?)
                }
                None => ScriptStep::Compute(self.procedures.index(word), number()?),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_text_that_it_prints() {
        let text = "semaphore s = 1\nbarrier b = 2\n\
                    main: fork W, A 30, post s, lock m, B 2, unlock m, barrier b, set f, join W\n\
                    W: take s, spin f, sleep 5, barrier b";
        let script = Script::parse(text);
        assert_eq!(script.text(), text);
        assert_eq!(script.procedures, ["A", "B"]);
    }

    #[test]
    fn what_is_not_declared_is_refused() {
        assert_eq!(parse("main: take s"), Err("`s` is not declared".to_owned()));
        assert_eq!(parse("main: A"), Err("`A` lacks its object".to_owned()));
    }
}
