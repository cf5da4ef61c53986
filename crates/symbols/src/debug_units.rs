//! The units of a file's debug information: what each source file was compiled to.

use gimli::{Dwarf, DwarfSections, EndianSlice, LittleEndian, Unit};

use crate::image::{Bytes, Image};

/// The bytes of a section.
pub(crate) type Bytewise<'a> = EndianSlice<'a, LittleEndian>;

/// Shows every unit of the file; none without debug information. A damaged one is left out.
pub(crate) fn each_unit(
    image: &Image,
    mut show: impl for<'a> FnMut(&'a Dwarf<Bytewise<'a>>, Unit<Bytewise<'a>>),
) {
    let load = |id: gimli::SectionId| -> Result<Bytes, ()> {
        Ok(image.section(id.name()).map(|section| section.bytes).unwrap_or_default())
    };
    let Ok(sections) = DwarfSections::load(load) else { return };
    let dwarf: Dwarf<Bytewise<'_>> = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if let Ok(unit) = dwarf.unit(header) {
            show(&dwarf, unit);
        }
    }
}
