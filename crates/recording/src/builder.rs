//! Interning on top of a log: each text, module, frame, stack and call is written once.

use longpole_event::{
    CallDefinition, CallId, Callee, Event, FileDefinition, FrameDefinition, FrameId, IdKind,
    ModuleDefinition, ModuleId, Primitive, PrimitiveId, ProcessDefinition, ProcessId, Record,
    SeriesDefinition, SeriesId, StackDefinition, StackId, Symbol, TextId, ThreadDefinition, ThreadId,
    VariableDefinition, WordDefinition,
};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::log::{DefinitionCounts, LogWriter};
use crate::window::WindowWriter;

/// Where records go.
#[derive(Debug)]
enum LogSink {
    /// One file, from the beginning of the run to its end.
    Whole(LogWriter),
    /// Segments, of which the last are kept.
    Window(Box<WindowWriter>),
}

impl LogSink {
    fn push(&mut self, record: &Record) -> Result<()> {
        match self {
            LogSink::Whole(log) => log.push(record),
            LogSink::Window(window) => window.push(record),
        }
    }

    fn counts(&self) -> DefinitionCounts {
        match self {
            LogSink::Whole(log) => log.counts(),
            LogSink::Window(window) => window.counts(),
        }
    }
}

/// Writes a log whose definitions are interned.
///
/// Memory grows with the distinct definitions, not with the events.
#[derive(Debug)]
pub struct LogBuilder {
    log: LogSink,
    texts: FxHashMap<String, TextId>,
    modules: FxHashMap<ModuleDefinition, ModuleId>,
    frames: FxHashMap<FrameDefinition, FrameId>,
    stacks: FxHashMap<StackDefinition, StackId>,
    calls: FxHashMap<CallDefinition, CallId>,
    primitives: FxHashMap<Primitive, PrimitiveId>,
    frame_list: Vec<FrameDefinition>,
    word_list: Vec<WordDefinition>,
}

macro_rules! intern {
    ($(#[$doc:meta])* $function:ident, $value:ty, $id:ident, $table:ident, $record:expr) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// [`crate::Error::Io`].
        pub fn $function(&mut self, value: $value) -> Result<$id> {
            if let Some(&id) = self.$table.get(&value) {
                return Ok(id);
            }
            let id = $id(self.log.counts().$table);
            self.log.push(&$record(value.clone()))?;
            self.$table.insert(value, id);
            Ok(id)
        }
    };
}

impl LogBuilder {
    /// A builder at the start of an empty log.
    #[must_use]
    pub fn new(log: LogWriter) -> Self {
        LogBuilder::to(LogSink::Whole(log))
    }

    /// A builder of a log of which only the last part is kept.
    pub(crate) fn of_window(window: WindowWriter) -> Self {
        LogBuilder::to(LogSink::Window(Box::new(window)))
    }

    fn to(log: LogSink) -> Self {
        LogBuilder {
            log,
            texts: FxHashMap::default(),
            modules: FxHashMap::default(),
            frames: FxHashMap::default(),
            stacks: FxHashMap::default(),
            calls: FxHashMap::default(),
            primitives: FxHashMap::default(),
            frame_list: Vec::new(),
            word_list: Vec::new(),
        }
    }

    intern! {
        /// The id of a module.
        module, ModuleDefinition, ModuleId, modules, Record::Module
    }
    intern! {
        /// The id of a stack.
        stack, StackDefinition, StackId, stacks, Record::Stack
    }
    intern! {
        /// The id of a system call.
        call, CallDefinition, CallId, calls, Record::Call
    }
    intern! {
        /// The id of a synchronisation primitive.
        primitive, Primitive, PrimitiveId, primitives, Record::Primitive
    }

    /// The id of a text.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn text(&mut self, text: &str) -> Result<TextId> {
        if let Some(&id) = self.texts.get(text) {
            return Ok(id);
        }
        let id = TextId(self.log.counts().texts);
        self.log.push(&Record::Text(text.to_owned()))?;
        self.texts.insert(text.to_owned(), id);
        Ok(id)
    }

    /// The id of a frame.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn frame(&mut self, frame: FrameDefinition) -> Result<FrameId> {
        if let Some(&id) = self.frames.get(&frame) {
            return Ok(id);
        }
        let id = FrameId(self.log.counts().frames);
        self.log.push(&Record::Frame(frame))?;
        self.frames.insert(frame, id);
        if self.is_whole() {
            self.frame_list.push(frame);
        }
        Ok(id)
    }

    /// Whether the log is kept from its beginning.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.log, LogSink::Whole(_))
    }

    /// Every frame so far, by id; none of a log of which only the last part is kept.
    #[must_use]
    pub fn frames(&self) -> &[FrameDefinition] {
        &self.frame_list
    }

    /// Distinct stacks that memory is taken for.
    #[must_use]
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// Distinct synchronisation primitives that memory is taken for.
    #[must_use]
    pub fn primitive_count(&self) -> usize {
        self.primitives.len()
    }

    /// Whether definitions that nothing needs take much memory: only where the last part alone is kept.
    #[must_use]
    pub fn should_forget(&self) -> bool {
        matches!(&self.log, LogSink::Window(window) if window.should_forget())
    }

    /// Forgets definitions that what is kept does not need, but for those that are pinned. Ids of others mean nothing
    /// from now on: [`knows`](Self::knows) tells.
    pub fn forget(&mut self, pinned: impl IntoIterator<Item = (IdKind, u32)>) {
        let LogSink::Window(window) = &mut self.log else { return };
        window.forget(pinned);
        self.texts.retain(|_, id| window.knows(IdKind::Text, id.0));
        self.modules.retain(|_, id| window.knows(IdKind::Module, id.0));
        self.frames.retain(|_, id| window.knows(IdKind::Frame, id.0));
        self.stacks.retain(|_, id| window.knows(IdKind::Stack, id.0));
        self.calls.retain(|_, id| window.knows(IdKind::Call, id.0));
        self.primitives.retain(|_, id| window.knows(IdKind::Primitive, id.0));
    }

    /// Whether an id was not forgotten.
    #[must_use]
    pub fn knows(&self, kind: IdKind, number: u32) -> bool {
        match &self.log {
            LogSink::Whole(_) => true,
            LogSink::Window(window) => window.knows(kind, number),
        }
    }

    /// Writes what was pushed and begins a new segment, after which those before change no more. Only where the last part
    /// alone is kept.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn next_segment(&mut self) -> Result<()> {
        match &mut self.log {
            LogSink::Whole(_) => Ok(()),
            LogSink::Window(window) => window.next_segment(),
        }
    }

    /// Defines a process.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn process(&mut self, process: ProcessDefinition) -> Result<ProcessId> {
        let id = ProcessId(self.log.counts().processes);
        self.log.push(&Record::Process(process))?;
        Ok(id)
    }

    /// Defines a thread.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn thread(&mut self, thread: ThreadDefinition) -> Result<ThreadId> {
        let id = ThreadId(self.log.counts().threads);
        self.log.push(&Record::Thread(thread))?;
        Ok(id)
    }

    /// Defines a series.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn series(&mut self, series: SeriesDefinition) -> Result<SeriesId> {
        let id = SeriesId(self.log.counts().series);
        self.log.push(&Record::Series(series))?;
        Ok(id)
    }

    /// Writes a symbol.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn symbol(&mut self, symbol: Symbol) -> Result<()> {
        self.log.push(&Record::Symbol(symbol))
    }

    /// Writes a word that a thread waits on.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn word(&mut self, word: WordDefinition) -> Result<()> {
        if self.is_whole() {
            self.word_list.push(word);
        }
        self.log.push(&Record::Word(word))
    }

    /// Every word so far.
    #[must_use]
    pub fn words(&self) -> &[WordDefinition] {
        &self.word_list
    }

    /// Writes a variable.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn variable(&mut self, variable: VariableDefinition) -> Result<()> {
        self.log.push(&Record::Variable(variable))
    }

    /// Writes which procedure is called at a frame.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn callee(&mut self, callee: Callee) -> Result<()> {
        self.log.push(&Record::Callee(callee))
    }

    /// Writes the name of a file.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn file(&mut self, file: FileDefinition) -> Result<()> {
        self.log.push(&Record::File(file))
    }

    /// Writes an event.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn event(&mut self, event: Event) -> Result<()> {
        self.log.push(&Record::Event(event))
    }

    /// Writes all that was pushed as a whole chunk.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        match &mut self.log {
            LogSink::Whole(log) => log.flush(),
            LogSink::Window(window) => window.flush(),
        }
    }

    /// Bytes in the file, or in the segments that are kept.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        match &self.log {
            LogSink::Whole(log) => log.written_bytes(),
            LogSink::Window(window) => window.bytes(),
        }
    }
}
