//! Whether a command starts processes that use MPI, from looking at its file.

use std::path::Path;

use longpole_symbols::needed_libraries;

/// Programs that start jobs, by the beginning of their file's name: links lead from `mpirun` to some of them.
const LAUNCHERS: &[&str] =
    &["mpirun", "mpiexec", "orterun", "prterun", "prun", "oshrun", "srun", "aprun", "jsrun", "ibrun"];

/// Whether the program is such a launcher, or is linked with MPI itself.
pub(crate) fn is_used_by(program: &Path) -> bool {
    let is_launcher = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        LAUNCHERS.iter().any(|launcher| name.starts_with(launcher))
    };
    let target = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    is_launcher(program)
        || is_launcher(&target)
        || needed_libraries(&target).iter().any(|library| is_mpi(library))
}

/// Whether a library is an implementation of MPI.
fn is_mpi(library: &str) -> bool {
    ["libmpi", "libmpich", "libmpicxx"].iter().any(|name| library.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_names_and_by_those_of_what_links_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let (launcher, link) = (folder.path().join("orterun"), folder.path().join("start"));
        std::fs::write(&launcher, "").unwrap();
        std::os::unix::fs::symlink(&launcher, &link).unwrap();
        assert!(is_used_by(&launcher) && is_used_by(&link));
        assert!(!is_used_by(&std::env::current_exe().unwrap()));
    }

    #[test]
    fn libraries_of_mpi_are_known_by_the_beginnings_of_their_names() {
        let found =
            ["libmpi.so.40", "libmpich.so.12", "libmpi_mpifh.so.40", "libm.so.6", "libmpfr.so.6"].map(is_mpi);
        assert_eq!(found, [true, true, true, false, false]);
    }
}
