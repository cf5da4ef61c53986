//! What views of communication say of a recording without accesses to memory.

use crate::findings::shared_memory;
use crate::input::ReportTables;
use crate::quantity::count_of;
use crate::text::TextSection;

/// Names of shared memory that are told.
const MOST_NAMED: usize = 3;

/// What to do where a recording has no accesses.
const ABSENT: &str = "No accesses to memory were recorded. Build the program with `longpole cc` (or `longpole c++`) \
                      in place of the compiler, and record it with `longpole record --access`; a program as it is runs under QEMU with \
                      `longpole record --access=emulate`.";

/// The view's text; with the memory that samples found threads to share, of which the short answer tells more.
pub(super) fn no_accesses(input: &ReportTables<'_>) -> Vec<TextSection> {
    let memory: Vec<String> = shared_memory(input).iter().map(|memory| memory.name().text()).collect();
    let mut sections = vec![TextSection::Paragraph(ABSENT.to_owned())];
    if !memory.is_empty() {
        let named = memory[..memory.len().min(MOST_NAMED)].join(", ");
        let others = memory.len().saturating_sub(MOST_NAMED) as u64;
        let others =
            if others > 0 { format!(" and {} more", count_of(others, "variable")) } else { String::new() };
        sections.push(TextSection::Paragraph(format!(
            "Samples found that threads share cache lines of {named}{others}: `longpole report` says how, and what that may cost."
        )));
    }
    sections
}
