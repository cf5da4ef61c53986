//! Records a command and prints the events with their stacks: `record OUTPUT COMMAND ARGUMENTS…`.
//! With `RECORD_QUIET` set, prints the cost only; `RECORD_COLLECTOR=perf` takes the other collector.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::collections::BTreeMap;

use longpole_event::{Decoder, EventKind, FrameId, MachineId, Record, StackId};
use longpole_record::{Choice, Options, Target, record};
use longpole_recording::{Folder, LogName, LogReader};

fn records(mut reader: LogReader) -> Vec<Record> {
    let mut records = Vec::new();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        records.extend(Decoder::new(chunk.bytes).map(|record| record.unwrap()));
    }
    records
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let output = arguments.next().unwrap();
    let command: Vec<_> = arguments.collect();
    let pid = command.first().and_then(|word| word.to_str()?.strip_prefix("pid=")?.parse().ok());
    let options = Options {
        output: output.into(),
        target: pid.map_or(Target::Command(command), Target::Process),
        collector: match std::env::var("RECORD_COLLECTOR").as_deref() {
            Ok("perf") => Choice::Perf,
            _ => Choice::Auto,
        },
        hertz: None,
        stack_bytes: std::env::var("STACK_BYTES").ok().map(|text| text.parse().unwrap()),
        duration: None,
    };
    let finished = match record(&options, &mut |_| {}) {
        Ok(finished) => finished,
        Err(error) => {
            eprintln!("failed to {error}");
            std::process::exit(1);
        }
    };
    eprintln!("{:?}\n{:#?}", finished.assembled, finished.manifest);
    let (folder, _) = Folder::open(&finished.path).unwrap();
    eprintln!("{} bytes", folder.size_bytes());
    if std::env::var_os("RECORD_QUIET").is_none() {
        print(&folder);
    }
}

fn print(folder: &Folder) {
    let log = records(folder.open_log(MachineId(0), LogName::Events).unwrap().unwrap());
    let symbol_log = records(folder.open_log(MachineId(0), LogName::Symbols).unwrap().unwrap());
    let texts = |log: &[Record]| -> Vec<String> {
        log.iter()
            .filter_map(|r| if let Record::Text(text) = r { Some(text.clone()) } else { None })
            .collect()
    };
    let (names, words) = (texts(&symbol_log), texts(&log));
    let mut meaning: BTreeMap<FrameId, String> = BTreeMap::new();
    for record in &symbol_log {
        if let Record::Symbol(symbol) = record {
            let places: Vec<_> = symbol
                .places
                .iter()
                .map(|place| format!("{}:{}", names[place.procedure.index()], place.line))
                .collect();
            meaning.insert(symbol.frame, places.join("/"));
        }
    }
    let frames: Vec<_> =
        log.iter().filter_map(|r| if let Record::Frame(f) = r { Some(*f) } else { None }).collect();
    let modules: Vec<_> =
        log.iter().filter_map(|r| if let Record::Module(m) = r { Some(m.clone()) } else { None }).collect();
    let stacks: Vec<_> =
        log.iter().filter_map(|r| if let Record::Stack(s) = r { Some(*s) } else { None }).collect();
    let calls: Vec<_> =
        log.iter().filter_map(|r| if let Record::Call(c) = r { Some(*c) } else { None }).collect();
    let path = |stack: Option<StackId>| {
        let mut text = String::new();
        let mut next = stack;
        while let Some(id) = next {
            let frame = stacks[id.index()].frame;
            let name = meaning.get(&frame).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| {
                let frame = frames[frame.index()];
                format!("{}+{:#x}", words[modules[frame.module.index()].path.index()], frame.address)
            });
            text = format!("{text} < {name}");
            next = stacks[id.index()].caller;
        }
        text
    };
    for record in &log {
        match record {
            Record::Process(process) => println!("{process:?}"),
            Record::Thread(thread) => println!("{thread:?}"),
            Record::Event(event) => {
                let (stack, call) = match event.kind {
                    EventKind::Start { stack, .. } | EventKind::Sample { stack, .. } => (stack, None),
                    EventKind::Out { stack, call, .. } | EventKind::Wake { stack, call, .. } => (stack, call),
                    _ => (None, None),
                };
                let text = match event.kind {
                    EventKind::Name { name } => words[name.index()].clone(),
                    EventKind::Exec { program } => words[program.index()].clone(),
                    _ => call.map_or(String::new(), |call| format!("{:?}", calls[call.index()])),
                };
                println!(
                    "{} cpu{} T{} {:?} {text}{}",
                    event.time,
                    event.cpu,
                    event.thread.0,
                    event.kind,
                    path(stack)
                );
            }
            _ => {}
        }
    }
}
