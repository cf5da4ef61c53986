//! Names of kernel addresses, from `/proc/kallsyms`.
//!
//! The kernel lists some 200,000 symbols. They are read in one pass and compared with the addresses that
//! are asked for; nothing else is kept.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::OnceLock;

use crate::name::without_clone_suffix;
use crate::symboliser::NamedAddress;

/// An address further than this from the symbol before it belongs to no symbol.
const LARGEST_FUNCTION: u64 = 1 << 20;

/// Names kernel addresses. A build id that is not that of the running kernel gives no names.
pub(crate) fn name(build_id: &[u8], addresses: &[u64]) -> Vec<NamedAddress> {
    let unnamed = || vec![NamedAddress::default(); addresses.len()];
    if !build_id.is_empty() && running_build_id().is_some_and(|running| running != build_id) {
        return unnamed();
    }
    match kernel_symbols() {
        Ok(file) => name_from(file, addresses),
        Err(_) => unnamed(),
    }
}

/// Where another process may open the list, which hides the addresses from this one.
static OPEN_ELSEWHERE: OnceLock<fn() -> Option<File>> = OnceLock::new();

/// Sets who is asked for the list of the kernel's symbols before this process opens it itself.
pub fn set_kernel_symbols(open: fn() -> Option<File>) {
    let _ = OPEN_ELSEWHERE.set(open);
}

/// The list of the kernel's symbols (`/proc/kallsyms`).
///
/// # Errors
/// What the system said.
pub fn kernel_symbols() -> io::Result<File> {
    let elsewhere = OPEN_ELSEWHERE.get().and_then(|open| open());
    elsewhere.map_or_else(|| File::open("/proc/kallsyms"), Ok)
}

/// Names addresses by a list of symbols in the form of `/proc/kallsyms`.
fn name_from(symbols: impl Read, addresses: &[u64]) -> Vec<NamedAddress> {
    let mut sorted: Vec<u64> = addresses.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    // For each address the nearest symbol that lies before it and after the address before.
    let mut nearest: Vec<(u64, Option<String>)> = vec![(0, None); sorted.len()];
    let mut lines = BufReader::with_capacity(1 << 16, symbols);
    let mut line = Vec::new();
    while {
        line.clear();
        lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0)
    } {
        let Some((address, name)) = parse(&line) else { continue };
        let index = sorted.partition_point(|&asked| asked < address);
        let Some(best) = nearest.get_mut(index) else { continue };
        if best.1.is_none() || address > best.0 {
            *best = (address, Some(shown(name)));
        }
    }
    let mut last: Option<(u64, String)> = None;
    let mut names = Vec::with_capacity(sorted.len());
    for (&address, (start, name)) in sorted.iter().zip(nearest) {
        if let Some(name) = name {
            last = Some((start, name));
        }
        let near = last.as_ref().filter(|(start, _)| address - start < LARGEST_FUNCTION);
        names.push(near.map(|(_, name)| NamedAddress::procedure(name.clone())).unwrap_or_default());
    }
    let find = |address| sorted.binary_search(address).expect("every address was sorted in");
    addresses.iter().map(|address| names[find(address)].clone()).collect()
}

/// A function as a row is named: with its module, without the marks of compilers.
fn shown(name: &str) -> String {
    match name.split_once('\t') {
        Some((name, module)) => format!("{} {module}", without_clone_suffix(name)),
        None => without_clone_suffix(name).to_owned(),
    }
}

/// A line's address and name, if it is a function and its address is shown to us.
fn parse(line: &[u8]) -> Option<(u64, &str)> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (address, rest) = line.split_once(' ')?;
    let (kind, name) = rest.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    (address != 0 && matches!(kind, "t" | "T" | "w" | "W")).then_some((address, name))
}

/// The build id of the kernel that runs here.
fn running_build_id() -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let notes = std::fs::read("/sys/kernel/notes").ok()?;
    let mut rest = notes.as_slice();
    loop {
        let number = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let (name_size, size, kind) = (number(0)? as usize, number(4)? as usize, number(8)?);
        let name = rest.get(12..12usize.checked_add(name_size)?)?;
        let start = 12 + name_size.next_multiple_of(4);
        let value = rest.get(start..start.checked_add(size)?)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Some(value.to_vec());
        }
        rest = rest.get(start + size.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "ffffffff81000000 T _stext\nffffffff81000100 t do_futex\nffffffff81000180 D data\n\
        ffffffff81000200 T schedule.isra.0\nffffffffc0000000 t nft_do_chain\t[nf_tables]\nbroken\n0 T hidden\n";

    #[test]
    fn addresses_are_named_by_the_function_before_them() {
        let addresses =
            [0xffff_ffff_8100_0210, 0xffff_ffff_8100_0190, 0xffff_ffff_8100_0100, 0xffff_ffff_c000_0007];
        let names = name_from(SYMBOLS.as_bytes(), &addresses);
        let names: Vec<&str> = names.iter().map(|named| named.places[0].procedure.as_str()).collect();
        assert_eq!(names, ["schedule", "do_futex", "do_futex", "nft_do_chain [nf_tables]"]);
    }

    #[test]
    fn addresses_before_or_far_behind_every_function_have_no_name() {
        let names = name_from(SYMBOLS.as_bytes(), &[0x1000, 0xffff_ffff_9000_0000]);
        assert!(names.iter().all(|named| named.places.is_empty()));
    }

    #[test]
    fn another_kernel_than_the_running_one_has_no_names_here() {
        if running_build_id().is_some() {
            assert_eq!(name(&[1, 2, 3], &[0xffff_ffff_8100_0210]), [NamedAddress::default()]);
        }
    }
}
