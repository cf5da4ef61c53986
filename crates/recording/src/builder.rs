//! Interning on top of a log: each text, module, frame, stack and call is written once.

use longpole_event::{
    Call, CallId, Callee, Event, File, Frame, FrameId, Module, ModuleId, Primitive, PrimitiveId, Process,
    ProcessId, Record, Series, SeriesId, Stack, StackId, Symbol, TextId, Thread, ThreadId, Variable, Word,
};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::log::LogWriter;

/// Writes a log whose definitions are interned.
///
/// Memory grows with the distinct definitions, not with the events.
#[derive(Debug)]
pub struct LogBuilder {
    log: LogWriter,
    texts: FxHashMap<String, TextId>,
    modules: FxHashMap<Module, ModuleId>,
    frames: FxHashMap<Frame, FrameId>,
    stacks: FxHashMap<Stack, StackId>,
    calls: FxHashMap<Call, CallId>,
    primitives: FxHashMap<Primitive, PrimitiveId>,
    frame_list: Vec<Frame>,
    word_list: Vec<Word>,
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
            let id = $id::from_index(self.$table.len());
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
        module, Module, ModuleId, modules, Record::Module
    }
    intern! {
        /// The id of a stack.
        stack, Stack, StackId, stacks, Record::Stack
    }
    intern! {
        /// The id of a system call.
        call, Call, CallId, calls, Record::Call
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
        let id = TextId::from_index(self.texts.len());
        self.log.push(&Record::Text(text.to_owned()))?;
        self.texts.insert(text.to_owned(), id);
        Ok(id)
    }

    /// The id of a frame.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn frame(&mut self, frame: Frame) -> Result<FrameId> {
        if let Some(&id) = self.frames.get(&frame) {
            return Ok(id);
        }
        let id = FrameId::from_index(self.frames.len());
        self.log.push(&Record::Frame(frame))?;
        self.frames.insert(frame, id);
        self.frame_list.push(frame);
        Ok(id)
    }

    /// Every frame so far, by id.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frame_list
    }

    /// Distinct stacks so far.
    #[must_use]
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// Defines a process.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn process(&mut self, process: Process) -> Result<ProcessId> {
        let id = ProcessId(self.log.counts().processes);
        self.log.push(&Record::Process(process))?;
        Ok(id)
    }

    /// Defines a thread.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn thread(&mut self, thread: Thread) -> Result<ThreadId> {
        let id = ThreadId(self.log.counts().threads);
        self.log.push(&Record::Thread(thread))?;
        Ok(id)
    }

    /// Defines a series.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn series(&mut self, series: Series) -> Result<SeriesId> {
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
    pub fn word(&mut self, word: Word) -> Result<()> {
        self.word_list.push(word);
        self.log.push(&Record::Word(word))
    }

    /// Every word so far.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.word_list
    }

    /// Writes a variable.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn variable(&mut self, variable: Variable) -> Result<()> {
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
    pub fn file(&mut self, file: File) -> Result<()> {
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
        self.log.flush()
    }

    /// Bytes in the file.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.log.written_bytes()
    }
}
