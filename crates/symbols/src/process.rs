//! The executable mappings of one process.
//!
//! ```text
//! before   |----- libc -----|     |-- a.out --|
//! map            |-- new --|
//! after    |-lib-|-- new --|-libc-|     (what is left of libc keeps its shift)
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::module::CodeSource;

/// A mapping and where its code comes from.
#[derive(Clone, Debug)]
pub(crate) struct MappedCode {
    pub range: Range<u64>,
    pub source: CodeSource,
}

/// The executable mappings of a process, sorted and without overlaps; a fork shares them until one changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessMappings {
    areas: Arc<Vec<MappedCode>>,
}

impl ProcessMappings {
    /// Maps code; what was mapped there before is gone.
    pub fn map(&mut self, range: Range<u64>, source: CodeSource) {
        if range.is_empty() {
            return;
        }
        let areas = Arc::make_mut(&mut self.areas);
        let first = areas.partition_point(|area| area.range.end <= range.start);
        let after = first + areas[first..].partition_point(|area| area.range.start < range.end);
        let rest = |area: &MappedCode, range: Range<u64>| {
            (!range.is_empty()).then(|| MappedCode { range, source: area.source.clone() })
        };
        let before = areas[first..after].first().and_then(|area| rest(area, area.range.start..range.start));
        let behind = areas[first..after].last().and_then(|area| rest(area, range.end..area.range.end));
        let new = MappedCode { range, source };
        areas.splice(first..after, before.into_iter().chain([new]).chain(behind));
    }

    /// Forgets every mapping.
    pub fn clear(&mut self) {
        self.areas = Arc::default();
    }

    /// All mappings, by their addresses.
    pub fn areas(&self) -> &[MappedCode] {
        &self.areas
    }

    /// The mapping that holds the address.
    pub fn area(&self, address: u64) -> Option<&MappedCode> {
        let index = self.areas.partition_point(|area| area.range.end <= address);
        self.areas.get(index).filter(|area| area.range.start <= address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(module: u32) -> CodeSource {
        CodeSource::without_image(module)
    }

    fn layout(process: &ProcessMappings) -> Vec<(u64, u64, u32)> {
        process.areas.iter().map(|area| (area.range.start, area.range.end, area.source.module)).collect()
    }

    #[test]
    fn a_mapping_replaces_what_it_covers_and_leaves_the_rest() {
        let mut process = ProcessMappings::default();
        process.map(10..40, source(1));
        process.map(50..60, source(2));
        process.map(20..30, source(3));
        assert_eq!(layout(&process), [(10, 20, 1), (20, 30, 3), (30, 40, 1), (50, 60, 2)]);
        process.map(15..55, source(4));
        assert_eq!(layout(&process), [(10, 15, 1), (15, 55, 4), (55, 60, 2)]);
        process.map(0..100, source(5));
        assert_eq!(layout(&process), [(0, 100, 5)]);
    }

    #[test]
    fn addresses_between_mappings_belong_to_none() {
        let mut process = ProcessMappings::default();
        process.map(10..20, source(1));
        process.map(30..40, source(2));
        let module = |address| process.area(address).map(|area| area.source.module);
        assert_eq!([9, 10, 19, 20, 30, 40].map(module), [None, Some(1), Some(1), None, Some(2), None]);
    }

    #[test]
    fn a_copy_changes_on_its_own() {
        let mut parent = ProcessMappings::default();
        parent.map(10..20, source(1));
        let mut child = parent.clone();
        child.map(10..20, source(2));
        assert_eq!(layout(&parent), [(10, 20, 1)]);
        assert_eq!(layout(&child), [(10, 20, 2)]);
    }
}
