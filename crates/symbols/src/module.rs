//! The sources of code of one machine: each file once, however many processes map it.
//!
//! In: mappings of processes. Out: indices into a table of [`CodeModule`]s, and for each file with unwind
//! information a *code space*: a range of made-up addresses that no other file has. The unwinder works in
//! code spaces, so that what it has learnt about a file serves every process that maps it.
//!
//! ```text
//! process address ──+ shift──▶ the file's own address ──+ space──▶ code space address
//! ```

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longpole_event::ModuleKind;
use rustc_hash::FxHashMap;

use crate::Mapping;
use crate::go_functions::is_go;
use crate::image::{FileIdentity, Image, ImageError};
use crate::locate;
use crate::vdso;

/// Distance between two code spaces.
const SPACE_BITS: u32 = 40;

/// A file, or another source of code, that stack frames lie in.
#[derive(Clone, Debug)]
pub struct CodeModule {
    /// Path of the file as mapped, or a name in brackets (`[kernel]`, `[vdso]`, `[jit]`, `[missing]`).
    pub path: PathBuf,
    /// GNU build id; empty where there is none.
    pub build_id: Vec<u8>,
    /// What kind of code this is.
    pub kind: ModuleKind,
    /// The process whose code this is, for kinds that belong to one process.
    pub pid: Option<u32>,
    /// The file as it was when it was mapped.
    image: Option<Arc<Image>>,
}

impl CodeModule {
    /// A module that is known by name only.
    #[must_use]
    pub fn new(path: PathBuf, build_id: Vec<u8>, kind: ModuleKind, pid: Option<u32>) -> Self {
        CodeModule { path, build_id, kind, pid, image: None }
    }

    /// The module of a file on this machine.
    ///
    /// # Errors
    /// Those of opening it; `InvalidData` where it is no ELF file.
    pub fn of_file(path: &Path) -> std::io::Result<Self> {
        let image = Image::open(path).map_err(|error| match error {
            ImageError::Io(error) => error,
            error => std::io::Error::new(std::io::ErrorKind::InvalidData, error),
        })?;
        let build_id = image.build_id().to_vec();
        let kind = ModuleKind::File;
        Ok(CodeModule { path: path.to_owned(), build_id, kind, pid: None, image: Some(Arc::new(image)) })
    }

    /// The address in the file's own address space of its first loaded page, where the loader puts the file's beginning.
    #[must_use]
    pub fn first_address(&self) -> Option<u64> {
        const PAGE: u64 = 4096;
        self.image.as_ref().map(|image| image.addresses().start / PAGE * PAGE)
    }

    pub(crate) fn image(&self) -> Option<&Arc<Image>> {
        self.image.as_ref()
    }
}

/// Where a mapping's code comes from.
#[derive(Clone, Debug)]
pub(crate) struct CodeSource {
    /// Index of the module.
    pub module: u32,
    /// What to add to a process address to get the address in the file; 0 for absolute addresses.
    pub shift: u64,
    /// What to add to an address in the file to get one in its code space; `None` without unwind information.
    pub space: Option<u64>,
    /// The file's bytes.
    pub image: Option<Arc<Image>>,
    /// Every function keeps a frame pointer, which the unwind information does not describe: Go.
    pub is_go: bool,
}

impl CodeSource {
    /// Code of which no file is at hand.
    pub fn without_image(module: u32) -> CodeSource {
        CodeSource { module, shift: 0, space: None, image: None, is_go: false }
    }
}

#[derive(PartialEq, Eq, Hash)]
struct ModuleFileKey {
    path: PathBuf,
    build_id: Vec<u8>,
    identity: FileIdentity,
}

/// The table of modules.
pub(crate) struct Modules {
    table: Vec<CodeModule>,
    files: FxHashMap<ModuleFileKey, u32>,
    jits: FxHashMap<u32, u32>,
    unknown: FxHashMap<PathBuf, u32>,
    vdso: Option<u32>,
    /// Modules that stand for what has none, by their names.
    placeholders: FxHashMap<&'static str, u32>,
}

/// Index of the kernel's module.
pub(crate) const KERNEL: u32 = 0;

impl Modules {
    pub fn new() -> Self {
        let kernel = CodeModule::new("[kernel]".into(), Vec::new(), ModuleKind::Kernel, None);
        Modules {
            table: vec![kernel],
            files: FxHashMap::default(),
            jits: FxHashMap::default(),
            unknown: FxHashMap::default(),
            vdso: None,
            placeholders: FxHashMap::default(),
        }
    }

    pub fn table(&self) -> &[CodeModule] {
        &self.table
    }

    /// The source of the code that `pid` has mapped there.
    pub fn source(&mut self, pid: u32, mapping: &Mapping) -> CodeSource {
        let name = mapping.path.as_os_str().as_encoded_bytes();
        if name == b"[vdso]" {
            self.vdso_source(mapping)
        } else if name == PROBES.as_bytes() {
            // What the kernel executes in the place of instructions that have a probe.
            CodeSource::without_image(self.placeholder(PROBES))
        } else if is_anonymous(name) {
            let module = self.jit(pid);
            CodeSource::without_image(module)
        } else {
            self.file_source(pid, mapping)
        }
    }

    /// Notes the build id of the kernel that the stacks come from.
    pub fn set_kernel_build_id(&mut self, build_id: &[u8]) {
        self.table[KERNEL as usize].build_id = build_id.to_vec();
    }

    /// The process is another program from now on, or none.
    pub fn forget_process(&mut self, pid: u32) {
        self.jits.remove(&pid);
    }

    /// The module of addresses outside of every mapping.
    pub fn nowhere(&mut self) -> u32 {
        self.placeholder("[unknown]")
    }

    /// The module of the frame that stands for frames that could not be recovered.
    pub fn missing(&mut self) -> u32 {
        self.placeholder(MISSING)
    }

    /// The module that has only this name.
    fn placeholder(&mut self, name: &'static str) -> u32 {
        if let Some(&module) = self.placeholders.get(name) {
            return module;
        }
        let module = self.push(CodeModule::new(name.into(), Vec::new(), ModuleKind::Unknown, None));
        self.placeholders.insert(name, module);
        module
    }

    fn push(&mut self, module: CodeModule) -> u32 {
        self.table.push(module);
        u32::try_from(self.table.len() - 1).expect("fewer than 2^32 modules")
    }

    fn jit(&mut self, pid: u32) -> u32 {
        if let Some(&module) = self.jits.get(&pid) {
            return module;
        }
        let module = self.push(CodeModule::new("[jit]".into(), Vec::new(), ModuleKind::Jit, Some(pid)));
        self.jits.insert(pid, module);
        module
    }

    fn vdso_source(&mut self, mapping: &Mapping) -> CodeSource {
        let module = match self.vdso {
            Some(module) => module,
            None => {
                let image = vdso::image().ok().map(Arc::new);
                let build_id = image.as_ref().map(|image| image.build_id().to_vec()).unwrap_or_default();
                let mut module = CodeModule::new("[vdso]".into(), build_id, ModuleKind::Vdso, None);
                module.image = image;
                let module = self.push(module);
                *self.vdso.insert(module)
            }
        };
        self.imaged_source(module, mapping)
    }

    fn file_source(&mut self, pid: u32, mapping: &Mapping) -> CodeSource {
        let (path, deleted) = without_deleted_mark(&mapping.path);
        if let Some(module) = self.known_file(path, &mapping.build_id, deleted) {
            return self.imaged_source(module, mapping);
        }
        let found = locate::file_of(pid, mapping, path, deleted);
        let identity = found.as_ref().map(|found| found.identity).unwrap_or_default();
        let key = ModuleFileKey { path: path.to_owned(), build_id: mapping.build_id.clone(), identity };
        if let Some(&module) = self.files.get(&key) {
            return self.imaged_source(module, mapping);
        }
        let image = found.and_then(|found| Image::open(&found.path).ok()).map(Arc::new);
        let image = image.filter(|image| mapping.build_id.is_empty() || image.build_id() == mapping.build_id);
        let Some(image) = image else {
            let module = self.unknown_file(path, &mapping.build_id);
            return CodeSource::without_image(module);
        };
        let build_id = image.build_id().to_vec();
        let mut module = CodeModule::new(path.to_owned(), build_id, ModuleKind::File, None);
        module.image = Some(image);
        let module = self.push(module);
        self.files.insert(key, module);
        self.imaged_source(module, mapping)
    }

    /// The module of a file whose build id the kernel told, if it is still the one we saw at that path.
    fn known_file(&self, path: &Path, build_id: &[u8], deleted: bool) -> Option<u32> {
        if deleted || build_id.is_empty() {
            return None;
        }
        let identity = FileIdentity::of(path).ok()?;
        self.files
            .get(&ModuleFileKey { path: path.to_owned(), build_id: build_id.to_vec(), identity })
            .copied()
    }

    fn unknown_file(&mut self, path: &Path, build_id: &[u8]) -> u32 {
        if let Some(&module) = self.unknown.get(path) {
            return module;
        }
        let module = CodeModule::new(path.to_owned(), build_id.to_vec(), ModuleKind::Unknown, None);
        let module = self.push(module);
        self.unknown.insert(path.to_owned(), module);
        module
    }

    fn imaged_source(&self, module: u32, mapping: &Mapping) -> CodeSource {
        let image = self.table[module as usize].image.clone();
        let address = image.as_ref().and_then(|image| image.address_of(mapping.file_offset));
        match address {
            Some(address) => CodeSource {
                module,
                shift: address.wrapping_sub(mapping.start),
                space: Some(space_of(module)),
                is_go: image.as_deref().is_some_and(is_go),
                image,
            },
            None => CodeSource::without_image(module),
        }
    }
}

/// The name that the kernel gives the memory in which it executes what a probe stands in the place of.
pub const PROBES: &str = "[uprobes]";

/// The name of the module whose only frame stands for frames that could not be recovered.
pub(crate) const MISSING: &str = "[missing]";

/// What to add to an address in the module's file to get one in its code space.
pub(crate) fn space_of(module: u32) -> u64 {
    u64::from(module) << SPACE_BITS
}

/// The part of a file's addresses that fits its code space.
pub(crate) fn space_limits(addresses: Range<u64>) -> Option<Range<u64>> {
    let limit = 1 << SPACE_BITS;
    (addresses.end <= limit && addresses.end - addresses.start <= u64::from(u32::MAX)).then_some(addresses)
}

/// Whether a mapping's name tells that no file holds its code.
fn is_anonymous(name: &[u8]) -> bool {
    const PREFIXES: [&[u8]; 7] =
        [b"//anon", b"[", b"/memfd:", b"anon_inode:", b"/anon_hugepage", b"/SYSV", b"/dev/zero"];
    name.is_empty() || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The path without the mark that the kernel adds when the file is gone, and whether it was there.
pub(crate) fn without_deleted_mark(path: &Path) -> (&Path, bool) {
    use std::os::unix::ffi::OsStrExt;
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(bytes) => (Path::new(std::ffi::OsStr::from_bytes(bytes)), true),
        None => (path, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_made_at_run_time_is_told_from_files() {
        for name in ["//anon", "", "[heap]", "/memfd:doublemapper (deleted)", "[anon:v8]"] {
            assert!(is_anonymous(name.as_bytes()), "{name}");
        }
        for name in ["/usr/bin/ls", "./[x]"] {
            assert!(!is_anonymous(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn the_mark_of_deleted_files_is_no_part_of_their_path() {
        assert_eq!(without_deleted_mark(Path::new("/tmp/a (deleted)")), (Path::new("/tmp/a"), true));
        assert_eq!(without_deleted_mark(Path::new("/tmp/a")), (Path::new("/tmp/a"), false));
    }

    #[test]
    fn a_process_that_becomes_another_program_has_other_jit_code() {
        let mut modules = Modules::new();
        let first = modules.jit(7);
        assert_eq!(modules.jit(7), first);
        modules.forget_process(7);
        assert_ne!(modules.jit(7), first);
    }
}
