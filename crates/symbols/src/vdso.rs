//! The kernel's code that is mapped into each process, read from our own.

use crate::image::{Image, ImageError};
use crate::maps;

/// The vdso of this process, which is that of every 64-bit process of the machine.
pub(crate) fn image() -> Result<Image, ImageError> {
    let mapping = maps::read("self")?.into_iter().find(|mapping| mapping.path.as_os_str() == "[vdso]");
    let mapping = mapping.ok_or(ImageError::NoSegment)?;
    let length = (mapping.end - mapping.start) as usize;
    // SAFETY: the kernel mapped these bytes readable for the life of the process and nobody writes them.
    let bytes = unsafe { std::slice::from_raw_parts(mapping.start as *const u8, length) };
    Image::from_bytes(bytes.to_vec())
}
