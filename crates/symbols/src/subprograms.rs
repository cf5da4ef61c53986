//! The functions of a file's debug information, one after the other.

use gimli::{Dwarf, EntriesRaw, Unit};

use crate::debug_units::{Bytewise, each_unit};
use crate::image::Image;

/// A function as its entry describes it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subprogram<'a> {
    /// The name that linkers know.
    pub linkage_name: Option<&'a [u8]>,
    /// The name in the source.
    pub name: Option<&'a [u8]>,
    /// Where its code begins, if it has code of its own.
    pub start: Option<u64>,
}

/// Shows every function of the file; none without debug information. What is damaged ends its unit.
pub(crate) fn each_subprogram(image: &Image, mut show: impl FnMut(Subprogram<'_>)) {
    each_unit(image, |dwarf, unit| {
        let Ok(mut entries) = unit.entries_raw(None) else { return };
        while !entries.is_empty() {
            match next(dwarf, &unit, &mut entries) {
                Ok(Some(subprogram)) => show(subprogram),
                Ok(None) => {}
                Err(_) => break,
            }
        }
    });
}

/// The next entry, where it is a function.
fn next<'a>(
    dwarf: &Dwarf<Bytewise<'a>>,
    unit: &Unit<Bytewise<'a>>,
    entries: &mut EntriesRaw<'_, Bytewise<'a>>,
) -> gimli::Result<Option<Subprogram<'a>>> {
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
    if abbreviation.tag() != gimli::DW_TAG_subprogram {
        entries.skip_attributes(abbreviation.attributes())?;
        return Ok(None);
    }
    let mut subprogram = Subprogram::default();
    for &specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(specification)?;
        let text = || Some(dwarf.attr_string(unit, attribute.value()).ok()?.slice());
        match attribute.name() {
            gimli::DW_AT_linkage_name => subprogram.linkage_name = text(),
            gimli::DW_AT_name => subprogram.name = text(),
            gimli::DW_AT_low_pc => subprogram.start = dwarf.attr_address(unit, attribute.value())?,
            _ => {}
        }
    }
    Ok(Some(subprogram))
}
