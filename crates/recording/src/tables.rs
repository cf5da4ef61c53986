//! The definitions of one log as tables.

use longpole_event::{
    CallDefinition, Callee, FileDefinition, FrameDefinition, FrameId, ModuleDefinition, ModuleId, ModuleKind,
    Primitive, PrimitiveKind, ProcessDefinition, Record, SeriesDefinition, SeriesKind, SeriesNode,
    StackDefinition, Symbol, SymbolPlace, TextId, ThreadDefinition, VariableDefinition, WordDefinition,
};

use crate::log::DefinitionCounts;

/// Every definition of a log, indexed by its id.
#[derive(Clone, Debug, Default)]
pub struct DefinitionTables {
    /// Texts.
    pub texts: Vec<String>,
    /// Modules.
    pub modules: Vec<ModuleDefinition>,
    /// Frames.
    pub frames: Vec<FrameDefinition>,
    /// Stacks.
    pub stacks: Vec<StackDefinition>,
    /// System calls.
    pub calls: Vec<CallDefinition>,
    /// Processes.
    pub processes: Vec<ProcessDefinition>,
    /// Threads.
    pub threads: Vec<ThreadDefinition>,
    /// Series.
    pub series: Vec<SeriesDefinition>,
    /// Synchronisation primitives.
    pub primitives: Vec<Primitive>,
    /// Symbols, in the order of the log (only in a symbol log).
    pub symbols: Vec<Symbol>,
    /// Words that threads waited on, in the order of the log.
    pub words: Vec<WordDefinition>,
    /// Variables, in the order of the log (only in a symbol log).
    pub variables: Vec<VariableDefinition>,
    /// Called procedures, in the order of the log (only in a symbol log).
    pub callees: Vec<Callee>,
    /// Files that threads waited for, in the order of the log.
    pub files: Vec<FileDefinition>,
    /// Definitions that were lost with damaged chunks and stand as placeholders.
    pub placeholders: u64,
    /// Definitions that name an id the log has not defined; they stand with id 0 or as outermost frame.
    pub dangling: u64,
}

impl DefinitionTables {
    /// Adds the record's definition; an event changes nothing.
    ///
    /// Ids within a definition are checked here, so that every id in the tables is in range. Ids in
    /// events are the reader's to check.
    pub fn define(&mut self, record: Record) {
        match record {
            Record::Text(text) => self.texts.push(text),
            Record::Module(mut module) => {
                module.path = TextId(self.checked(module.path.0, self.texts.len()));
                self.modules.push(module);
            }
            Record::Frame(mut frame) => {
                frame.module = ModuleId(self.checked(frame.module.0, self.modules.len()));
                self.frames.push(frame);
            }
            Record::Stack(mut stack) => {
                stack.frame = FrameId(self.checked(stack.frame.0, self.frames.len()));
                if stack.caller.is_some_and(|caller| caller.index() >= self.stacks.len()) {
                    self.dangling += 1;
                    stack.caller = None;
                }
                self.stacks.push(stack);
            }
            Record::Call(call) => self.calls.push(call),
            Record::Process(mut process) => {
                if process.parent.is_some_and(|parent| parent.index() >= self.processes.len()) {
                    self.dangling += 1;
                    process.parent = None;
                }
                self.processes.push(process);
            }
            Record::Thread(mut thread) => {
                thread.process.0 = self.checked(thread.process.0, self.processes.len());
                self.threads.push(thread);
            }
            Record::Series(mut series) => {
                series.name = TextId(self.checked(series.name.0, self.texts.len()));
                series.unit = TextId(self.checked(series.unit.0, self.texts.len()));
                series.label = TextId(self.checked(series.label.0, self.texts.len()));
                series.collector = TextId(self.checked(series.collector.0, self.texts.len()));
                self.series.push(series);
            }
            Record::Primitive(mut primitive) => {
                primitive.process.0 = self.checked(primitive.process.0, self.processes.len());
                if primitive.name.is_some_and(|name| name.index() >= self.texts.len()) {
                    self.dangling += 1;
                    primitive.name = None;
                }
                self.primitives.push(primitive);
            }
            Record::Symbol(mut symbol) => {
                for place in &mut symbol.places {
                    place.procedure = TextId(self.checked(place.procedure.0, self.texts.len()));
                    if place.file.is_some_and(|file| file.index() >= self.texts.len()) {
                        self.dangling += 1;
                        place.file = None;
                    }
                }
                self.symbols.push(symbol);
            }
            // What these name may be lost with its chunk; they go with it.
            Record::Word(word) => {
                let is_known =
                    word.process.index() < self.processes.len() && word.module.index() < self.modules.len();
                keep(&mut self.words, word, is_known, &mut self.dangling);
            }
            Record::Variable(variable) => {
                let is_known = variable.name.index() < self.texts.len();
                keep(&mut self.variables, variable, is_known, &mut self.dangling);
            }
            Record::Callee(callee) => {
                let is_known = callee.procedure.index() < self.texts.len();
                keep(&mut self.callees, callee, is_known, &mut self.dangling);
            }
            Record::File(file) => {
                let is_known = file.name.index() < self.texts.len();
                keep(&mut self.files, file, is_known, &mut self.dangling);
            }
            Record::Number(_) | Record::Event(_) => {}
        }
    }

    /// Fills the tables up to what the log held before a chunk, after damage. The reader of the log bounds the counts.
    pub fn pad_to(&mut self, counts: DefinitionCounts) {
        fn pad<T: Clone>(table: &mut Vec<T>, count: u32, value: T) -> u64 {
            let missing = (count as usize).saturating_sub(table.len());
            table.resize(table.len() + missing, value);
            missing as u64
        }
        let nothing = TextId(0);
        let module = ModuleDefinition {
            path: nothing,
            build_id: Vec::new(),
            kind: ModuleKind::Unknown,
            process: None,
        };
        let mut added = pad(&mut self.texts, counts.texts, "[lost]".to_owned());
        added += pad(&mut self.modules, counts.modules, module);
        added += pad(&mut self.frames, counts.frames, FrameDefinition { module: ModuleId(0), address: 0 });
        added += pad(&mut self.stacks, counts.stacks, StackDefinition { caller: None, frame: FrameId(0) });
        added += pad(
            &mut self.calls,
            counts.calls,
            CallDefinition { number: -1, arguments: [0; 3], file: longpole_event::FileKind::None },
        );
        added += pad(&mut self.processes, counts.processes, ProcessDefinition { pid: 0, parent: None });
        added += pad(
            &mut self.threads,
            counts.threads,
            ThreadDefinition { process: longpole_event::ProcessId(0), tid: 0 },
        );
        added += pad(
            &mut self.series,
            counts.series,
            SeriesDefinition {
                name: nothing,
                unit: nothing,
                samples: SeriesKind::Gauge,
                node: SeriesNode::Machine,
                label: nothing,
                collector: nothing,
            },
        );
        let process = longpole_event::ProcessId(0);
        let primitive = Primitive { process, kind: PrimitiveKind::Futex, address: 0, name: None };
        added += pad(&mut self.primitives, counts.primitives, primitive);
        self.placeholders += added;
    }

    /// Definitions that memory was taken for.
    #[must_use]
    pub fn len(&self) -> u64 {
        let indexed =
            [self.texts.len(), self.modules.len(), self.frames.len(), self.stacks.len(), self.calls.len()];
        let others = [self.processes.len(), self.threads.len(), self.series.len(), self.primitives.len()];
        let listed = [
            self.symbols.len(),
            self.words.len(),
            self.variables.len(),
            self.callees.len(),
            self.files.len(),
        ];
        indexed.into_iter().chain(others).chain(listed).sum::<usize>() as u64
    }

    /// Whether nothing was defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of an id; `"[lost]"` where it is not defined.
    #[must_use]
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id.index()).map_or("[lost]", String::as_str)
    }

    /// The places of a symbol as (procedure, file, line).
    #[must_use]
    pub fn place(&self, place: &SymbolPlace) -> (&str, Option<&str>, u32) {
        (self.text(place.procedure), place.file.map(|file| self.text(file)), place.line)
    }

    fn checked(&mut self, id: u32, length: usize) -> u32 {
        if (id as usize) < length {
            return id;
        }
        self.dangling += 1;
        0
    }
}

fn keep<T>(table: &mut Vec<T>, value: T, is_known: bool, dangling: &mut u64) {
    if is_known {
        table.push(value);
    } else {
        *dangling += 1;
    }
}
