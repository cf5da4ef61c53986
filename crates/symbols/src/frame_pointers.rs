//! Whether a program was compiled with frame pointers, from the first instructions of its functions.

use std::io;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::Dyn64;
use object::read::elf::Dyn;

use crate::functions::Functions;
use crate::go_functions::is_go;
use crate::image::Image;

/// Instructions of a function's beginning are looked at up to this many bytes.
const PROLOGUE: usize = 48;
/// Of a large file, about this many functions are looked at.
const LOOKED_AT: usize = 4000;

/// Which parts of a program keep frame pointers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FramePointers {
    /// Share, from 0 to 1, of the program's own functions that keep them, among those that use the stack.
    /// `None` where it has no such function.
    pub program: Option<f64>,
    /// How many of the program's own functions that were looked at use the stack and keep none. A few are the linker's; many beside others that
    /// keep them are a part of the program that was compiled without, as Rust's own crates are beside its standard library.
    pub program_without: u32,
    /// The share for each library that the program names.
    pub libraries: Vec<(PathBuf, Option<f64>)>,
}

impl FramePointers {
    /// Whether chains of frame pointers lead through the program's own functions.
    #[must_use]
    pub fn program_has(&self) -> bool {
        has(self.program)
    }

    /// The libraries in which chains of frame pointers break.
    pub fn libraries_without(&self) -> impl Iterator<Item = &Path> {
        self.libraries.iter().filter(|(_, share)| !has(*share)).map(|(path, _)| path.as_path())
    }
}

/// A chain breaks at each function without one, so most functions must have one.
fn has(share: Option<f64>) -> bool {
    share.is_some_and(|share| share >= 0.7)
}

/// Looks whether a program (or the interpreter of a script) and its libraries keep frame pointers.
///
/// # Errors
/// Those of opening the program; `InvalidData` where it is no ELF file.
pub fn has_frame_pointers(program: &Path) -> io::Result<FramePointers> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let program = interpreter(program)?.unwrap_or_else(|| program.to_owned());
    let image = Image::open(&program).map_err(invalid)?;
    let libraries = needed(&image)
        .iter()
        .filter_map(|name| library(name, &image, &program))
        .map(|path| {
            let share = Image::open(&path).ok().as_ref().and_then(|image| share(functions(image)));
            (path, share)
        })
        .collect();
    let own = functions(&image);
    Ok(FramePointers { program: share(own), program_without: own.1, libraries })
}

/// Names of the libraries that a program (or the interpreter of a script) is linked with; none where it is no ELF file.
#[must_use]
pub fn needed_libraries(program: &Path) -> Vec<String> {
    let program = interpreter(program).ok().flatten().unwrap_or_else(|| program.to_owned());
    Image::open(&program).map(|image| needed(&image)).unwrap_or_default()
}

/// The interpreter that a script's first line names.
fn interpreter(program: &Path) -> io::Result<Option<PathBuf>> {
    use std::io::Read;
    let mut head = Vec::new();
    longpole_recording::open_regular(program)?.take(256).read_to_end(&mut head)?;
    let Some(line) = head.strip_prefix(b"#!").and_then(|rest| rest.split(|&byte| byte == b'\n').next())
    else {
        return Ok(None);
    };
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let first = words.next().map(PathBuf::from);
    let is_env = first.as_deref().and_then(Path::file_name).is_some_and(|name| name == "env");
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    match (is_env, named) {
        (true, Some(name)) => Ok(in_path(name).or(first)),
        _ => Ok(first),
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Share of the functions that keep a frame pointer among those that use the stack.
fn share((with, without): (u32, u32)) -> Option<f64> {
    let all = with + without;
    (all > 0).then(|| f64::from(with) / f64::from(all))
}

/// How many functions that use the stack keep a frame pointer, and how many none.
fn functions(image: &Image) -> (u32, u32) {
    // Go keeps frame pointers in all that it compiles, and describes it in a way of its own.
    if is_go(image) {
        return (1, 0);
    }
    let functions = Functions::of(image);
    let starts: Vec<u64> = functions.all_starts();
    let every = starts.len().div_ceil(LOOKED_AT).max(1);
    let (mut with, mut without) = (0u32, 0u32);
    for start in starts.into_iter().step_by(every) {
        let end = functions.range_of(start).map_or(start, |range| range.end);
        let length = usize::try_from(end - start).unwrap_or(PROLOGUE).min(PROLOGUE);
        match prologue(image.code(start, length)) {
            Prologue::FramePointer => with += 1,
            Prologue::NoFramePointer => without += 1,
            Prologue::NoFrame => {}
        }
    }
    (with, without)
}

enum Prologue {
    /// Saves and sets the frame pointer.
    FramePointer,
    /// Uses the stack without.
    NoFramePointer,
    /// Does not use the stack at once (a leaf, a jump elsewhere).
    NoFrame,
}

fn prologue(code: &[u8]) -> Prologue {
    use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic, OpKind, Register};
    let (mut saved, mut frame) = (false, false);
    for instruction in Decoder::new(64, code, DecoderOptions::NONE) {
        let (to, from) = (instruction.op0_register(), instruction.op1_register());
        match instruction.mnemonic() {
            Mnemonic::Push => {
                frame = true;
                saved |= to == Register::RBP;
            }
            Mnemonic::Mov if saved && to == Register::RBP && from == Register::RSP => {
                return Prologue::FramePointer;
            }
            Mnemonic::Lea if saved && to == Register::RBP && instruction.memory_base() == Register::RSP => {
                return Prologue::FramePointer;
            }
            Mnemonic::Sub if to == Register::RSP && instruction.op1_kind() != OpKind::Register => {
                frame = true
            }
            Mnemonic::Ret | Mnemonic::Call | Mnemonic::Jmp => break,
            _ if instruction.code() == Code::INVALID => break,
            _ => {}
        }
    }
    if frame { Prologue::NoFramePointer } else { Prologue::NoFrame }
}

/// Names of the libraries that a file needs.
fn needed(image: &Image) -> Vec<String> {
    dynamic_texts(image, object::elf::DT_NEEDED)
}

/// The texts of a kind in the file's dynamic section.
fn dynamic_texts(image: &Image, tag: object::elf::DynamicTag) -> Vec<String> {
    let entries = || {
        let elf = image.elf()?;
        let section = image.section(".dynamic")?;
        let texts = image.section(".dynstr")?;
        let endian = elf.endian();
        let entries: &[Dyn64<Endianness>] = object::slice_from_all_bytes(&section.bytes).ok()?;
        let wanted = entries.iter().filter(|entry| entry.d_tag(endian) == tag);
        let text = |offset: u64| {
            let bytes = texts.bytes.get(usize::try_from(offset).ok()?..)?;
            let bytes = bytes.split(|&byte| byte == 0).next()?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        Some(wanted.filter_map(|entry| text(entry.d_val(endian))).collect())
    };
    entries().unwrap_or_default()
}

/// The file that the loader would take for a needed library.
fn library(name: &str, image: &Image, program: &Path) -> Option<PathBuf> {
    let origin = program.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let mut folders: Vec<PathBuf> = Vec::new();
    for tag in [object::elf::DT_RUNPATH, object::elf::DT_RPATH] {
        for path in dynamic_texts(image, tag) {
            folders.extend(path.split(':').map(|folder| PathBuf::from(folder.replace("$ORIGIN", &origin))));
        }
    }
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    for folder in ["/lib", "/usr/lib", "/usr/local/lib"] {
        folders.push(Path::new(folder).join(&machine));
        folders.push(PathBuf::from(format!("{folder}64")));
        folders.push(PathBuf::from(folder));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}
