//! One step up the stack by the unwind information of files.
//!
//! framehop works here in code spaces (see [`crate::module`]): one unwinder knows the files of every
//! process, and its rules, once found, hold for all of them.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};

use crate::go_functions::is_go;
use crate::image::{Bytes, Image, ImageSection};
use crate::module::{space_limits, space_of};

/// Rule caches side by side; a cache of framehop holds 509 rules.
const CACHES: u64 = 16;

/// Where a thread is: what one step of unwinding turns into that of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnwindPosition {
    pub ip: u64,
    pub sp: u64,
    pub bp: u64,
    /// What the thread does at `ip`.
    pub at: CodeProgress,
}

impl UnwindPosition {
    /// The address that the thread is at: where it comes back from a call, the call's last byte. What lies behind
    /// the call may be another line, another inlined function, or the next function.
    pub fn code_address(&self) -> u64 {
        self.ip.wrapping_sub(u64::from(self.at != CodeProgress::Before))
    }
}

/// Whether an instruction pointer is that of the instruction that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeProgress {
    /// It will do that instruction next.
    Before,
    /// It is in the system call before that instruction.
    InSystemCall,
    /// It is in the call before that instruction: a return address.
    InCall,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnwindStep {
    /// The caller.
    Caller(UnwindPosition),
    /// There is no caller: the thread began here.
    Root,
    /// The memory at this address is needed and was not recorded.
    Unread(u64),
    /// The registers contradict the unwind information.
    Nonsense,
}

/// Unwind information of every file of a machine.
pub(crate) struct FrameInformation {
    unwinder: UnwinderX86_64<Bytes>,
    caches: Vec<CacheX86_64>,
}

impl FrameInformation {
    pub fn new() -> Self {
        let caches = (0..CACHES).map(|_| CacheX86_64::new()).collect();
        FrameInformation { unwinder: UnwinderX86_64::new(), caches }
    }

    /// Adds the file of a module in its code space.
    pub fn add(&mut self, module: u32, image: &Image) {
        let Some(addresses) = space_limits(image.addresses()) else { return };
        let space = space_of(module);
        let base = addresses.start;
        let range = addresses.start + space..addresses.end + space;
        self.unwinder.add_module(Module::new(String::new(), range, base + space, sections(image, base)));
    }

    /// Goes from a place to its caller; `code` is the place's address in its code space.
    pub fn step(
        &mut self,
        place: UnwindPosition,
        code: u64,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> UnwindStep {
        // Below the first page there is no stack; framehop's arithmetic relies on it.
        if place.sp < 4096 || place.sp > u64::MAX - (1 << 20) {
            return UnwindStep::Nonsense;
        }
        // Compiled code keeps numbers in it, small negative ones too; as an address that is as good as none.
        let bp = if place.bp > u64::MAX - 4096 { 0 } else { place.bp };
        let address = match place.at {
            CodeProgress::Before => Some(FrameAddress::from_instruction_pointer(code)),
            CodeProgress::InSystemCall | CodeProgress::InCall => FrameAddress::from_return_address(code),
        };
        let Some(address) = address else { return UnwindStep::Nonsense };
        let mut registers = UnwindRegsX86_64::new(place.ip, place.sp, bp);
        let cache = &mut self.caches[((code >> 3) % CACHES) as usize];
        match self.unwinder.unwind_frame(address, &mut registers, cache, read) {
            Ok(Some(ip)) => UnwindStep::Caller(UnwindPosition {
                ip,
                sp: registers.sp(),
                bp: registers.bp(),
                at: CodeProgress::InCall,
            }),
            Ok(None) => UnwindStep::Root,
            Err(Error::CouldNotReadStack(address)) => UnwindStep::Unread(address),
            Err(_) => UnwindStep::Nonsense,
        }
    }
}

/// The sections that framehop needs of a file; `base` is the lowest address of the file.
fn sections(image: &Image, base: u64) -> ExplicitModuleSectionInfo<Bytes> {
    let mut sections = ExplicitModuleSectionInfo { base_svma: base, ..Default::default() };
    sections.text_svma = image.section(".text").map(|section| section.addresses);
    sections.got_svma = image.section(".got").map(|section| section.addresses);
    // Go describes its own functions in .debug_frame only; what .eh_frame it has is that of C parts.
    let is_go = is_go(image);
    let frames = if is_go { None } else { image.section(".eh_frame") };
    if let Some(frames) = frames {
        sections.eh_frame_svma = Some(frames.addresses);
        sections.eh_frame = Some(frames.bytes);
        if let Some(index) = image.section(".eh_frame_hdr") {
            sections.eh_frame_hdr_svma = Some(index.addresses);
            sections.eh_frame_hdr = Some(index.bytes);
        }
    } else if let Some(frames) = image.section(".debug_frame") {
        sections.debug_frame = Some(frames.bytes);
    } else if let Some((index, frames)) = unsectioned(image).filter(|_| !is_go) {
        sections.eh_frame_svma = Some(frames.addresses);
        sections.eh_frame = Some(frames.bytes);
        sections.eh_frame_hdr_svma = Some(index.addresses);
        sections.eh_frame_hdr = Some(index.bytes);
    }
    sections
}

/// The unwind sections of a file without section headers, found as the C++ runtime finds them.
fn unsectioned(image: &Image) -> Option<(ImageSection, ImageSection)> {
    /// Encoding of the pointer to `.eh_frame` that every linker writes: relative to itself, 4 bytes, signed.
    const RELATIVE_SIGNED_4: u8 = 0x1b;
    let index = image.unwind_index_segment()?;
    let header = index.bytes.get(..8)?;
    if header[0] != 1 || header[1] != RELATIVE_SIGNED_4 {
        return None;
    }
    let distance = i32::from_le_bytes(header[4..8].try_into().expect("four bytes"));
    let address = index.addresses.start.checked_add(4)?.checked_add_signed(distance.into())?;
    let frames = image.loaded_from(address)?;
    Some((index, frames))
}
