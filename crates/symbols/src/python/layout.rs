//! Where CPython keeps what a thread executes, by version.
//!
//! The offsets are what C compilers make of each version's headers; `crates/symbols/tests/python_layouts.rs` compiles them where the
//! headers of a version are at hand. Python 3.13 says its offsets itself, in a table at the beginning of its runtime.

use crate::image::Image;

use super::word;

/// Which frames of Python's functions the interpreter's loop is entered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopFrames {
    /// Each: a call of a function enters the loop again.
    Each,
    /// Those in which a byte is not 0.
    Marked,
    /// Those that were called by a frame of the loop's own.
    BehindOwn,
}

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonLayout {
    /// The runtime is the thread that has the interpreter's lock; else it holds all interpreters.
    pub is_current_thread: bool,
    /// In the runtime: the first interpreter.
    pub interpreters: u64,
    /// In an interpreter: the next one.
    pub next_interpreter: u64,
    /// In an interpreter: its first thread.
    pub threads: u64,
    /// In a thread: the next one.
    pub next_thread: u64,
    /// In a thread: its interpreter.
    pub interpreter: u64,
    /// In a thread: its handle in the C library.
    pub handle: u64,
    /// In a thread: its innermost frame, or what leads to that.
    pub frame: u64,
    /// In what a thread leads to: its innermost frame.
    pub indirect: Option<u64>,
    /// In a frame: that of the caller.
    pub previous: u64,
    /// In a frame: the code object.
    pub code: u64,
    /// With which frames the loop is entered.
    pub loop_frames: LoopFrames,
    /// In a frame: the byte that says so.
    pub begins_loop: u64,
    /// In a code object: the path of its source file.
    pub file: u64,
    /// In a code object: its name, with that of its class where the version knows it.
    pub name: u64,
    /// In a code object: its first line.
    pub line: u64,
    /// In a text: how many characters it has.
    pub length: u64,
    /// In a text: the flags that say how its characters are stored; 0 where each is a byte.
    pub state: u64,
    /// Where the characters of a text begin that has only ASCII.
    pub ascii_text: u64,
    /// Where they begin otherwise.
    pub text: u64,
    /// The name says in which class a function is.
    pub has_qualified_names: bool,
}

/// 3.8 to 3.10.
pub(super) const BEFORE_3_11: PythonLayout = PythonLayout {
    is_current_thread: false,
    interpreters: 32,
    next_interpreter: 0,
    threads: 8,
    next_thread: 8,
    interpreter: 16,
    handle: 176,
    frame: 24,
    indirect: None,
    previous: 24,
    code: 32,
    loop_frames: LoopFrames::Each,
    begins_loop: 0,
    file: 104,
    name: 112,
    line: 40,
    length: 16,
    state: 32,
    ascii_text: 48,
    text: 72,
    has_qualified_names: false,
};

/// 3.7.
pub(super) const BEFORE_3_8: PythonLayout =
    PythonLayout { interpreters: 24, file: 96, name: 104, line: 36, ..BEFORE_3_11 };

/// 3.6.
pub(super) const BEFORE_3_7: PythonLayout =
    PythonLayout { is_current_thread: true, interpreters: 0, handle: 152, ..BEFORE_3_8 };

/// 2.7.
pub(super) const PYTHON_2: PythonLayout = PythonLayout {
    next_thread: 0,
    interpreter: 8,
    handle: 144,
    frame: 16,
    file: 80,
    name: 88,
    line: 96,
    state: 0,
    ascii_text: 36,
    text: 36,
    ..BEFORE_3_7
};

/// 3.11.
pub(super) const OF_3_11: PythonLayout = PythonLayout {
    interpreters: 40,
    threads: 16,
    handle: 152,
    frame: 56,
    indirect: Some(8),
    previous: 48,
    code: 32,
    loop_frames: LoopFrames::Marked,
    begins_loop: 68,
    file: 112,
    name: 128,
    line: 72,
    has_qualified_names: true,
    ..BEFORE_3_11
};

/// 3.12.
pub(super) const OF_3_12: PythonLayout = PythonLayout {
    threads: 72,
    handle: 136,
    indirect: Some(0),
    previous: 8,
    code: 0,
    loop_frames: LoopFrames::BehindOwn,
    begins_loop: 70,
    line: 68,
    ascii_text: 40,
    text: 56,
    ..OF_3_11
};

impl PythonLayout {
    /// Of a version from 3.11 on, as `Py_Version` has it; the runtime's variable is at this address of the file.
    pub(super) fn of_version(version: u64, image: &Image, runtime: u64) -> Result<PythonLayout, String> {
        let (major, minor) = (version >> 24, version >> 16 & 0xff);
        match (major, minor) {
            (3, 11) => Ok(OF_3_11),
            (3, 12) => Ok(OF_3_12),
            (3, 13) => PythonLayout::described(image, runtime)
                .ok_or_else(|| "its description of itself is not understood".to_owned()),
            _ => Err(format!("nothing is known of Python {major}.{minor}")),
        }
    }

    /// As the table at the beginning of the runtime's variable has it (`_Py_DebugOffsets` of Python 3.13).
    fn described(image: &Image, runtime: u64) -> Option<PythonLayout> {
        const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
        /// A structure is smaller than this.
        const MOST: u64 = 1 << 20;
        let entry = |index: u64| word(image, runtime + 8 * index, 8);
        let offset = |index: u64| Some(entry(index)).filter(|&offset| offset < MOST);
        if entry(0) != COOKIE || entry(1) >> 16 != 0x030d {
            return None;
        }
        let ascii_text = offset(70)?;
        Some(PythonLayout {
            interpreters: offset(5)?,
            next_interpreter: offset(8)?,
            threads: offset(9)?,
            next_thread: offset(21)?,
            interpreter: offset(22)?,
            frame: offset(23)?,
            indirect: None,
            handle: offset(24)?,
            previous: offset(29)?,
            code: offset(30)?,
            begins_loop: offset(33)?,
            file: offset(35)?,
            name: offset(37)?,
            line: offset(39)?,
            state: offset(68)?,
            length: offset(69)?,
            ascii_text,
            // A text that has other characters keeps its UTF-8 too: a length and a pointer.
            text: ascii_text + 16,
            ..OF_3_12
        })
    }
}
