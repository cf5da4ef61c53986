//! Reads a log whole and writes its definitions again, for tests that change what a recording holds.

use longpole_event::{Event, MachineId};
use longpole_recording::{DefinitionTables, LogBuilder, LogName, RecordingFolder};
use longpole_trace::LogStream;

/// The definitions and the events of a log.
///
/// # Panics
/// If there is no such log, or it cannot be read.
#[must_use]
pub fn read_log(
    folder: &RecordingFolder,
    machine: MachineId,
    log: LogName,
) -> (DefinitionTables, Vec<Event>) {
    let (mut tables, mut events) = (DefinitionTables::default(), Vec::new());
    let mut stream = LogStream::open(folder, machine, log).expect("a log").expect("a log that is there");
    stream.read_all(&mut tables, &mut |event| events.push(*event)).expect("a log that can be read");
    (tables, events)
}

/// Writes all definitions, under the same ids; series, variables and callees are left out.
///
/// # Panics
/// If the log cannot be written.
pub fn define_again(tables: &DefinitionTables, log: &mut LogBuilder) {
    const WRITTEN: &str = "a log that can be written";
    tables.texts.iter().for_each(|text| _ = log.text(text).expect(WRITTEN));
    tables.processes.iter().for_each(|process| _ = log.process(*process).expect(WRITTEN));
    tables.threads.iter().for_each(|thread| _ = log.thread(*thread).expect(WRITTEN));
    tables.modules.iter().for_each(|module| _ = log.module(module.clone()).expect(WRITTEN));
    tables.frames.iter().for_each(|frame| _ = log.frame(*frame).expect(WRITTEN));
    tables.stacks.iter().for_each(|stack| _ = log.stack(*stack).expect(WRITTEN));
    tables.calls.iter().for_each(|call| _ = log.call(*call).expect(WRITTEN));
    tables.primitives.iter().for_each(|primitive| _ = log.primitive(*primitive).expect(WRITTEN));
    tables.symbols.iter().for_each(|symbol| log.symbol(symbol.clone()).expect(WRITTEN));
    tables.words.iter().for_each(|word| log.word(*word).expect(WRITTEN));
    tables.files.iter().for_each(|file| log.file(*file).expect(WRITTEN));
}
