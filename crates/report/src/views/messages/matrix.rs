//! The communication matrix: what went from one process to another, or from one machine to another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use longpole_event::{MachineId, ProcessId};
use longpole_trace::{MessageFlow, Program};

use crate::quantity::percent;
use crate::report::Row;

/// What a pair of the matrix is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatrixEnd {
    Process(ProcessId),
    Machine(MachineId),
}

impl MatrixEnd {
    /// The process, or where it ran.
    fn of(process: ProcessId, program: &Program, by_machine: bool) -> MatrixEnd {
        if by_machine {
            MatrixEnd::Machine(program.processes[process.index()].machine)
        } else {
            MatrixEnd::Process(process)
        }
    }

    fn label(self, program: &Program) -> &str {
        match self {
            MatrixEnd::Process(process) => program.processes[process.index()].label(),
            MatrixEnd::Machine(_) => self.machine(program),
        }
    }

    fn machine(self, program: &Program) -> &str {
        let machine = match self {
            MatrixEnd::Process(process) => program.processes[process.index()].machine,
            MatrixEnd::Machine(machine) => machine,
        };
        &program.machines[machine.index()].name
    }

    /// The label, with the machine where there are several.
    fn placed(self, program: &Program) -> String {
        match self {
            MatrixEnd::Process(_) if program.machines.len() > 1 => {
                format!("{} on {}", self.label(program), self.machine(program))
            }
            _ => self.label(program).to_owned(),
        }
    }
}

/// What one end sent to another, and how long the other waited for it.
#[derive(Clone, Debug)]
pub(super) struct MatrixPair {
    from: MatrixEnd,
    to: MatrixEnd,
    is_stream: bool,
    messages: u64,
    bytes: u64,
    waits: u64,
    waited_nanoseconds: u64,
}

/// Pairs of processes or of machines, those first of which the one waited longest for the other. A machine has a pair with itself, of what
/// its processes sent to each other.
pub(super) fn pairs(flows: &[MessageFlow], program: &Program, by_machine: bool) -> Vec<MatrixPair> {
    let mut found: BTreeMap<(bool, MatrixEnd, MatrixEnd), MatrixPair> = BTreeMap::new();
    for flow in flows {
        let [from, to] = [flow.from, flow.to].map(|process| MatrixEnd::of(process, program, by_machine));
        let is_stream = flow.is_stream;
        let none = MatrixPair { from, to, is_stream, messages: 0, bytes: 0, waits: 0, waited_nanoseconds: 0 };
        let pair = found.entry((is_stream, from, to)).or_insert(none);
        pair.messages += flow.messages;
        pair.bytes += flow.bytes;
        pair.waits += flow.waits;
        pair.waited_nanoseconds += flow.waited_nanoseconds;
    }
    let mut pairs: Vec<MatrixPair> = found.into_values().collect();
    pairs.sort_by_key(|pair| (Reverse((pair.waited_nanoseconds, pair.bytes)), pair.from, pair.to));
    pairs
}

impl MatrixPair {
    /// Its row, of a matrix with so much waiting in all.
    pub(super) fn row(&self, program: &Program, whole: u64) -> Row {
        let row = Row::default()
            .text("by", if self.is_stream { "stream" } else { "MPI" })
            .text("from", self.from.label(program))
            .text("to", self.to.label(program))
            .count("messages", self.messages)
            .count("bytes", self.bytes)
            .count("waits", self.waits)
            .time("seconds", self.waited_nanoseconds)
            .percent("percent", percent(self.waited_nanoseconds as f64, whole as f64));
        if program.machines.len() < 2 {
            return row;
        }
        row.text("from_machine", self.from.machine(program)).text("to_machine", self.to.machine(program))
    }

    /// What it is called in text.
    pub(super) fn title(&self, program: &Program) -> String {
        format!("{} ← {}", self.to.placed(program), self.from.placed(program))
    }

    /// How long the one waited for the other.
    pub(super) fn waited(&self) -> u64 {
        self.waited_nanoseconds
    }
}
