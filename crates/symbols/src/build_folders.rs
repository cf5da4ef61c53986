//! The folders in which a program was built, as its debug information names them (`DW_AT_comp_dir`).
//!
//! They are what a compiler, or an attacker, wrote into the file: a reader decides what they open.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::debug_units::each_unit;
use crate::elf_names::{debug_files, reopened};
use crate::image::Image;
use crate::module::CodeModule;

/// The folders in which the units of a module were compiled; none where it has no debug information.
#[must_use]
pub fn build_folders(module: &CodeModule) -> BTreeSet<PathBuf> {
    let own = module.image().cloned().or_else(|| reopened(module).map(Arc::new));
    let separate = debug_files(&module.build_id).into_iter().filter_map(|path| Image::open(&path).ok());
    own.into_iter().chain(separate.map(Arc::new)).flat_map(|image| folders_of(&image)).collect()
}

fn folders_of(image: &Image) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    each_unit(image, |_, unit| {
        let folder = unit.comp_dir.map(|folder| PathBuf::from(OsStr::from_bytes(folder.slice())));
        folders.extend(folder);
    });
    folders
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn this_test_was_built_in_the_workspace() {
        let module = CodeModule::of_file(&std::env::current_exe().unwrap()).unwrap();
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        assert!(build_folders(&module).contains(workspace), "{:?}", build_folders(&module));
    }
}
