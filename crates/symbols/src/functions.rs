//! Where the functions of a file begin and end, from its unwind information and symbols.
//!
//! Stripped files keep their unwind information, so that functions without names still have bounds.

use std::ops::Range;

use gimli::{BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use object::{Object, ObjectSymbol, SymbolKind};

use crate::go_functions::GoFunctions;
use crate::image::Image;

/// The functions of a file, sorted by their beginnings.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// Ranges from unwind information.
    described: Vec<Range<u64>>,
    /// Ranges of sized function symbols.
    named: Vec<Range<u64>>,
}

impl Functions {
    /// Reads the functions of a file; what is damaged is absent.
    pub fn of(image: &Image) -> Self {
        let mut described = Vec::new();
        if let Some(section) = image.section(".eh_frame") {
            let bases = bases(image, section.addresses.start);
            let mut frames = EhFrame::new(&section.bytes, LittleEndian);
            frames.set_address_size(8);
            collect(&frames, &bases, &mut described);
        }
        if let Some(section) = image.section(".debug_frame") {
            let mut frames = DebugFrame::new(&section.bytes, LittleEndian);
            frames.set_address_size(8);
            collect(&frames, &BaseAddresses::default(), &mut described);
        }
        described.extend(GoFunctions::of(image).iter().flat_map(GoFunctions::ranges));
        Functions { described: sorted(described), named: sorted(named(image)) }
    }

    /// The function that holds the address.
    pub fn range_of(&self, address: u64) -> Option<Range<u64>> {
        find(&self.named, address).or_else(|| find(&self.described, address))
    }

    /// The beginning of the function that holds the address, by unwind information.
    pub fn start_of(&self, address: u64) -> Option<u64> {
        find(&self.described, address).map(|range| range.start)
    }

    /// The beginnings of all functions.
    pub fn all_starts(&self) -> Vec<u64> {
        let mut starts: Vec<u64> =
            self.described.iter().chain(&self.named).map(|range| range.start).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }
}

fn bases(image: &Image, frames: u64) -> BaseAddresses {
    let text = image.section(".text").map_or(0, |section| section.addresses.start);
    let got = image.section(".got").map_or(0, |section| section.addresses.start);
    BaseAddresses::default().set_eh_frame(frames).set_text(text).set_got(got)
}

fn collect<'a, S>(section: &S, bases: &BaseAddresses, functions: &mut Vec<Range<u64>>)
where
    S: UnwindSection<EndianSlice<'a, LittleEndian>>,
{
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        if let Ok(description) = partial.parse(S::cie_from_offset) {
            let start = description.initial_address();
            functions.push(start..start.saturating_add(description.len()));
        }
    }
}

fn named(image: &Image) -> Vec<Range<u64>> {
    let Some(elf) = image.elf() else { return Vec::new() };
    (elf.symbols().chain(elf.dynamic_symbols()))
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .map(|symbol| symbol.address()..symbol.address().saturating_add(symbol.size()))
        .collect()
}

fn sorted(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start != 0 && !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup();
    ranges
}

fn find(ranges: &[Range<u64>], address: u64) -> Option<Range<u64>> {
    /// Symbols may nest; this many are looked at before giving up.
    const NESTED: usize = 8;
    let after = ranges.partition_point(|range| range.start <= address);
    ranges[..after].iter().rev().take(NESTED).find(|range| range.contains(&address)).cloned()
}
