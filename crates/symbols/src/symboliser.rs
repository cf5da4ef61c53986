//! From addresses to procedures, files and lines.

use std::path::PathBuf;

use longpole_event::{BusyWaiting, ModuleKind};
use rustc_hash::FxHashMap;

use crate::elf_names::ElfNames;
use crate::image::FileIdentity;
use crate::module::{CodeModule, MISSING, PROBES};
use crate::{kernel_names, perf_map};

/// What is known of one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedAddress {
    /// The procedures at the address, innermost inlined one first; empty where no name was found.
    pub places: Vec<NamedPlace>,
    /// Whether a thread that is found there waits.
    pub waiting: BusyWaiting,
}

/// One procedure at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlace {
    /// Demangled name.
    pub procedure: String,
    /// Source file; `None` without line information.
    pub file: Option<String>,
    /// Line in that file; 0 where it is not known.
    pub line: u32,
}

impl NamedAddress {
    /// A name without a source line.
    pub(crate) fn procedure(procedure: String) -> Self {
        NamedAddress {
            places: vec![NamedPlace { procedure, file: None, line: 0 }],
            waiting: BusyWaiting::Work,
        }
    }
}

/// What was in a file is large; this many are kept open at once.
const MOST_FILES: usize = 8;

type SymbolFileKey = (PathBuf, Vec<u8>, Option<FileIdentity>);

/// Names addresses. Keeps a few files open: quickest when asked for all addresses of a module at once.
#[derive(Default)]
pub struct Symboliser {
    files: FxHashMap<SymbolFileKey, Option<ElfNames>>,
}

impl Symboliser {
    /// A symboliser that has opened nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names addresses of one module: one answer for each address, in their order.
    pub fn symbolise(&mut self, module: &CodeModule, addresses: &[u64]) -> Vec<NamedAddress> {
        match module.kind {
            ModuleKind::File | ModuleKind::Vdso => self.name_in_file(module, addresses),
            ModuleKind::Kernel => kernel_names::name(&module.build_id, addresses),
            ModuleKind::Jit => match module.pid {
                Some(pid) => perf_map::name(pid, addresses),
                None => vec![NamedAddress::default(); addresses.len()],
            },
            ModuleKind::Region => {
                vec![NamedAddress::procedure(module.path.to_string_lossy().into_owned()); addresses.len()]
            }
            // Its name stands in the module itself.
            ModuleKind::Python => vec![NamedAddress::default(); addresses.len()],
            ModuleKind::Unknown if module.path.as_os_str() == MISSING => {
                vec![NamedAddress::procedure("[missing frames]".to_owned()); addresses.len()]
            }
            ModuleKind::Unknown if module.path.as_os_str() == PROBES => {
                vec![NamedAddress::procedure(PROBES.to_owned()); addresses.len()]
            }
            ModuleKind::Unknown => vec![NamedAddress::default(); addresses.len()],
        }
    }

    fn name_in_file(&mut self, module: &CodeModule, addresses: &[u64]) -> Vec<NamedAddress> {
        let identity = module.image().map(|image| image.identity());
        let key = (module.path.clone(), module.build_id.clone(), identity);
        if self.files.len() >= MOST_FILES && !self.files.contains_key(&key) {
            self.files.clear();
        }
        let names = self.files.entry(key).or_insert_with(|| ElfNames::open(module));
        match names {
            Some(names) => names.names(addresses),
            None => vec![NamedAddress::default(); addresses.len()],
        }
    }
}
