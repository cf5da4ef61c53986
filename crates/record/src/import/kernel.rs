//! Whether a file's kernel addresses mean the same on this machine.

use std::fs;

use super::container::Container;
use super::container::feature;
use crate::perf::KernelAddresses;

/// A synthetic mapping of this name tells where the recorded kernel began.
const KERNEL_IMAGE: &str = "[kernel.kallsyms]";
const BUILD_ID_MISC: u16 = 1 << 15;

/// The kernel that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedKernel {
    release: Option<String>,
    build_id: Vec<u8>,
    /// A symbol of the kernel and its address.
    anchor: Option<(String, u64)>,
}

impl RecordedKernel {
    /// What the file's features tell; the anchor is in the data.
    #[must_use]
    pub fn of<R: std::io::Read + std::io::Seek>(container: &Container<R>) -> Self {
        RecordedKernel {
            release: container.feature_text(feature::OS_RELEASE),
            build_id: container.feature(feature::BUILD_ID).and_then(kernel_build_id).unwrap_or_default(),
            anchor: None,
        }
    }

    /// Takes note of the mapping of the kernel's image. Its name ends in the anchor symbol's.
    pub fn see(&mut self, path: &str, address: u64) {
        if let Some(symbol) = path.strip_prefix(KERNEL_IMAGE)
            && self.anchor.is_none()
            && !symbol.is_empty()
        {
            self.anchor = Some((symbol.to_owned(), address));
        }
    }

    /// What to do with the addresses, or why they cannot be named.
    ///
    /// # Errors
    /// The reason, for the notes.
    pub fn addresses(&self) -> Result<KernelAddresses, String> {
        let here = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let release = self.release.as_deref().unwrap_or(here.trim());
        if release != here.trim() {
            return Err(format!("it was recorded on kernel {release}, this machine runs {}", here.trim()));
        }
        if !self.build_id.is_empty() && local_build_id().is_some_and(|local| local != self.build_id) {
            return Err(format!("this machine runs another build of kernel {release}"));
        }
        let Some((symbol, recorded)) = &self.anchor else {
            return Err("the file does not say where the kernel was loaded".into());
        };
        let symbols =
            longpole_symbols::kernel_symbols().and_then(std::io::read_to_string).unwrap_or_default();
        match address_of(&symbols, symbol) {
            // The end of the file, which names the kernel, is missing: only an equal place speaks for this one.
            Some(local) if self.release.is_none() && local != *recorded => {
                Err("the file does not say on which kernel it was recorded".into())
            }
            Some(local) => Ok(KernelAddresses::Add(local.wrapping_sub(*recorded))),
            None => Err("/proc/kallsyms hides the kernel's addresses from this user".into()),
        }
    }
}

/// The kernel's build id among the file's: records of header (8), pid (4), build id (20 and padding), name.
fn kernel_build_id(mut section: &[u8]) -> Option<Vec<u8>> {
    loop {
        let (header, _) = section.split_first_chunk::<36>()?;
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let (record, rest) = section.split_at_checked(size.max(36))?;
        section = rest;
        if record[36..].starts_with(KERNEL_IMAGE.as_bytes()) {
            let misc = u16::from_le_bytes([header[4], header[5]]);
            let length = if misc & BUILD_ID_MISC != 0 { usize::from(header[32]).min(20) } else { 20 };
            return Some(header[12..12 + length].to_vec());
        }
    }
}

/// The running kernel's build id: the note of type 3 by `GNU`.
fn local_build_id() -> Option<Vec<u8>> {
    note_build_id(&fs::read("/sys/kernel/notes").ok()?)
}

fn note_build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    const BUILD_ID_NOTE: u32 = 3;
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let number =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let padded = |size: u32| (size as usize).next_multiple_of(4);
        let (name, rest) = rest.split_at_checked(padded(number(0)))?;
        let (value, rest) = rest.split_at_checked(padded(number(4)))?;
        if number(8) == BUILD_ID_NOTE && name == b"GNU\0" {
            return value.get(..number(4) as usize).map(<[u8]>::to_vec);
        }
        notes = rest;
    }
}

/// The address of a symbol in the text of `/proc/kallsyms`; addresses that are hidden are 0.
fn address_of(symbols: &str, symbol: &str) -> Option<u64> {
    let line = symbols.lines().find(|line| line.split(' ').nth(2) == Some(symbol))?;
    u64::from_str_radix(line.split(' ').next()?, 16).ok().filter(|&address| address != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_addresses_unless_hidden() {
        let symbols =
            "ffffffff81000000 T _text\nffffffff81000100 t other\t[module]\n0000000000000000 T hidden\n";
        assert_eq!(address_of(symbols, "_text"), Some(0xffff_ffff_8100_0000));
        assert_eq!(address_of(symbols, "hidden"), None);
        assert_eq!(address_of(symbols, "missing"), None);
    }

    #[test]
    fn the_build_id_is_the_gnu_note_of_type_three() {
        let mut notes = Vec::new();
        for (name, kind, value) in
            [(&b"Xen\0"[..], 3_u32, &[1_u8, 2, 3, 4][..]), (b"GNU\0", 3, &[9, 8, 7, 6, 5, 4])]
        {
            notes.extend((name.len() as u32).to_le_bytes());
            notes.extend((value.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(name);
            notes.extend(value);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(note_build_id(&notes), Some(vec![9, 8, 7, 6, 5, 4]));
        for end in 0..notes.len() - 2 {
            assert_eq!(note_build_id(&notes[..end]), None);
        }
    }

    #[test]
    fn another_release_is_named() {
        let kernel = RecordedKernel { release: Some("2.6.32".into()), ..RecordedKernel::default() };
        assert!(kernel.addresses().unwrap_err().contains("kernel 2.6.32"));
    }
}
