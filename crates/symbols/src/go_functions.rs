//! The functions of Go programs, from the table that the Go runtime itself uses.
//!
//! Go keeps this table (`.gopclntab`) in stripped programs too. Layout since Go 1.18, offsets in bytes:
//!
//! ```text
//! 0 magic  7 pointer size  8 functions  16 files  24 text  32 names  40 …  64 index
//! index: pairs of (beginning − text, offset of a record from the index), 4 bytes each; one more at the end
//! record: beginning − text, offset of the name from the names, …, 4 bytes each
//! ```

use std::ops::Range;

use crate::image::{Bytes, Image, ImageSection};

/// First word of the table in Go 1.18 and 1.19, and since Go 1.20.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The functions of a Go program.
#[derive(Debug)]
pub(crate) struct GoFunctions {
    table: Bytes,
    count: usize,
    text: u64,
    names: usize,
    index: usize,
}

impl GoFunctions {
    /// Reads the header of the table; `None` where there is none that we know.
    pub fn of(image: &Image) -> Option<Self> {
        let table = section(image)?.bytes;
        if !MAGIC.contains(&word(&table, 0)?) || *table.get(7)? != 8 {
            return None;
        }
        let field = |offset| usize::try_from(long(&table, offset)?).ok();
        // Position-independent programs leave it to the loader to fill in where the text lies.
        let text = match long(&table, 24)? {
            0 => image.section(".text")?.addresses.start,
            text => text,
        };
        let (count, names, index) = (field(8)?, field(32)?, field(64)?);
        let fits = index.checked_add(count.checked_mul(8)?)?.checked_add(4)? <= table.len();
        fits.then_some(GoFunctions { count, text, names, index, table })
    }

    /// The ranges of all functions, in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        (0..self.count).filter_map(|number| Some(self.start(number)?..self.start(number + 1)?))
    }

    /// The name of the function that holds the address.
    pub fn name(&self, address: u64) -> Option<String> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.start(middle)? <= address { low = middle + 1 } else { high = middle }
        }
        let number = low.checked_sub(1)?;
        if address >= self.start(number + 1)? {
            return None;
        }
        let record = word(&self.table, self.index.checked_add(number * 8 + 4)?)? as usize;
        let name = word(&self.table, self.index.checked_add(record)?.checked_add(4)?)? as usize;
        let bytes = self.table.get(self.names.checked_add(name)?..)?.split(|&byte| byte == 0).next()?;
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    fn start(&self, number: usize) -> Option<u64> {
        Some(self.text.wrapping_add(word(&self.table, self.index + number * 8)?.into()))
    }
}

/// Whether a file was made by the Go compiler.
pub(crate) fn is_go(image: &Image) -> bool {
    section(image).is_some()
}

/// The table; its name tells whether the program is position-independent.
fn section(image: &Image) -> Option<ImageSection> {
    image.section(".gopclntab").or_else(|| image.section(".data.rel.ro.gopclntab"))
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

fn long(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}
