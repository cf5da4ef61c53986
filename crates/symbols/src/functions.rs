//! Where the functions of a file begin and end, from its unwind information and symbols.
//!
//! Stripped files keep their unwind information, so that functions without names still have bounds.

use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EhFrameHdr, EhFrameOffset, EndianSlice,
    FrameDescriptionEntry, LittleEndian, Register, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSymbol, SymbolKind};

use crate::go_functions::GoFunctions;
use crate::image::{Image, ImageSection};

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
        if let Some((section, bases)) = self::described(image) {
            collect(&frames(&section), &bases, &mut described);
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

/// A function as its unwind information describes it.
#[derive(Clone, Debug)]
pub(crate) struct DescribedFunction {
    pub range: Range<u64>,
    /// At its first address the return address is on top of the stack: it is no part of another function.
    pub is_entered_by_calls: bool,
}

/// Finds functions in the unwind information of a file without reading all of it, where the file has an index of that.
#[derive(Debug, Default)]
pub(crate) struct FunctionIndex {
    /// The beginnings of all functions and where they are described, for files without an index: static programs.
    read: Option<Vec<(u64, EhFrameOffset)>>,
}

impl FunctionIndex {
    pub fn of(image: &Image) -> FunctionIndex {
        if image.section(".eh_frame_hdr").is_some() {
            return FunctionIndex::default();
        }
        let Some((section, bases)) = described(image) else { return FunctionIndex::default() };
        let frames = frames(&section);
        let mut starts = Vec::new();
        each_description(&frames, &bases, |description| {
            starts.push((description.initial_address(), EhFrameOffset(description.offset())));
        });
        starts.sort_unstable_by_key(|(start, _)| *start);
        FunctionIndex { read: Some(starts) }
    }

    /// The function that holds the address; the index is that of the image.
    pub fn function_at(&self, image: &Image, address: u64) -> Option<DescribedFunction> {
        const STACK_POINTER: Register = Register(7);
        const RETURN_ADDRESS: i64 = 8;
        let (section, mut bases) = described(image)?;
        let frames = frames(&section);
        let at = match &self.read {
            Some(starts) => {
                let after = starts.partition_point(|(start, _)| *start <= address);
                starts[..after].last()?.1
            }
            None => {
                let index = image.section(".eh_frame_hdr")?;
                bases = bases.set_eh_frame_hdr(index.addresses.start);
                let index = EhFrameHdr::new(&index.bytes, LittleEndian).parse(&bases, 8).ok()?;
                let table = index.table()?;
                table.pointer_to_offset(table.lookup(address, &bases).ok()?).ok()?
            }
        };
        let description = frames.fde_from_offset(&bases, at, EhFrame::cie_from_offset).ok()?;
        let range = description.initial_address()..description.end_address();
        let mut context = UnwindContext::new();
        let at_start =
            description.unwind_info_for_address(&frames, &bases, &mut context, range.start).ok()?;
        let is_entered_by_calls = matches!(
            at_start.cfa(),
            CfaRule::RegisterAndOffset { register: STACK_POINTER, offset: RETURN_ADDRESS }
        );
        range.contains(&address).then_some(DescribedFunction { range, is_entered_by_calls })
    }
}

fn described(image: &Image) -> Option<(ImageSection, BaseAddresses)> {
    let section = image.section(".eh_frame")?;
    let bases = bases(image, section.addresses.start);
    Some((section, bases))
}

fn frames(section: &ImageSection) -> EhFrame<EndianSlice<'_, LittleEndian>> {
    let mut frames = EhFrame::new(&section.bytes, LittleEndian);
    frames.set_address_size(8);
    frames
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
    each_description(section, bases, |description| {
        let start = description.initial_address();
        functions.push(start..start.saturating_add(description.len()));
    });
}

fn each_description<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    mut take: impl FnMut(FrameDescriptionEntry<EndianSlice<'a, LittleEndian>>),
) where
    S: UnwindSection<EndianSlice<'a, LittleEndian>>,
{
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        if let Ok(description) = partial.parse(S::cie_from_offset) {
            take(description);
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
