//! The functions that a program or library takes from others.

use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::image::Image;

/// Whether a program or library names one of these functions as one that another file has; no, where it is no ELF file.
#[must_use]
pub fn imports_any(file: &Path, functions: &[&str]) -> bool {
    let Ok(image) = Image::open(file) else { return false };
    let Some(elf) = image.elf() else { return false };
    let mut imported = elf.dynamic_symbols().filter(ObjectSymbol::is_undefined);
    imported.any(|symbol| symbol.name().is_ok_and(|name| functions.contains(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_takes_from_others_is_told_from_what_it_has() {
        let maps = crate::maps_of(std::process::id()).unwrap();
        let c_library = maps
            .iter()
            .find(|mapping| mapping.path.file_name().is_some_and(|name| name == "libc.so.6"))
            .unwrap();
        let own = std::env::current_exe().unwrap();
        assert!(imports_any(&own, &["no_such_function", "pthread_join"]));
        assert!(!imports_any(&own, &["no_such_function"]));
        assert!(!imports_any(&c_library.path, &["pthread_join"]), "it has this function itself");
        assert!(!imports_any(Path::new("/etc/passwd"), &["pthread_join"]));
    }
}
