//! Every function of MPI that an implementation exports is one that longpole follows, or names where it takes time, or one that
//! waits for no other process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::jobs::MpiImplementation;
use crate::support::{Session, longpole, or_skip};

/// Functions that are not looked at, by their names in C (at most one `*`), and why.
const LOCAL: &[(&str, &str)] = &[
    ("MPI_T_*", "of tools: answers from tables"),
    ("MPI_Type_*", "datatypes are the process's own"),
    ("MPI_Info_*", "hints are the process's own"),
    ("MPI_Group_*", "groups are the process's own"),
    ("MPI_Op_*", "operations are the process's own"),
    ("MPI_Add_error_*", "errors are the process's own"),
    ("MPI_Error_*", "errors are the process's own"),
    ("MPI_Errhandler_*", "handlers are the process's own"),
    ("MPI_*_errhandler", "handlers are the process's own"),
    ("MPI_Attr_*", "attributes are the process's own"),
    ("MPI_*_attr", "attributes are the process's own"),
    ("MPI_Keyval_*", "keys are the process's own"),
    ("MPI_*_keyval", "keys are the process's own"),
    ("MPI_*_c2f", "answers from a table"),
    ("MPI_*_f2c", "answers from a table"),
    ("MPI_*_get_name", "answers from a table"),
    ("MPI_*_set_name", "names are the process's own"),
    ("MPI_*_get_info", "answers from a table"),
    ("MPI_Get_address", "adds numbers"),
    ("MPI_Get_count*", "reads a status"),
    ("MPI_Get_elements*", "reads a status"),
    ("MPI_Get_library_version", "answers a text"),
    ("MPI_Get_version", "answers a number"),
    ("MPI_Get_processor_name", "answers a text"),
    ("MPI_Status_*", "statuses are the process's own"),
    ("MPI_Test_cancelled", "reads a status"),
    ("MPI_Address", "adds numbers"),
    ("MPI_Aint_*", "adds numbers"),
    ("MPI_Wtime", "reads a clock"),
    ("MPI_Wtick", "answers a number"),
    ("MPI_Abort", "ends the job"),
    ("MPI_Initialized", "answers a number"),
    ("MPI_Finalized", "answers a number"),
    ("MPI_Query_thread", "answers a number"),
    ("MPI_Is_thread_main", "answers a number"),
    ("MPI_Pcontrol", "of tools: does nothing"),
    ("MPI_Register_datarep*", "conversions are the process's own"),
    ("MPI_Alloc_mem", "memory is the process's own"),
    ("MPI_Free_mem", "memory is the process's own"),
    ("MPI_Buffer_attach*", "memory is the process's own"),
    ("MPI_Pack*", "copies"),
    ("MPI_Unpack*", "copies"),
    ("MPI_Reduce_local*", "computes"),
    ("MPI_Dims_create", "computes"),
    ("MPI_Topo_test", "answers from a table"),
    ("MPI_Cart_get", "answers from a table"),
    ("MPI_Cart_rank", "answers from a table"),
    ("MPI_Cart_coords", "answers from a table"),
    ("MPI_Cart_shift", "answers from a table"),
    ("MPI_Cart_map", "computes"),
    ("MPI_Cartdim_get", "answers from a table"),
    ("MPI_Graph_get", "answers from a table"),
    ("MPI_Graph_map", "computes"),
    ("MPI_Graph_neighbors*", "answers from a table"),
    ("MPI_Graphdims_get", "answers from a table"),
    ("MPI_Dist_graph_neighbors*", "answers from a table"),
    ("MPI_Comm_rank", "answers a number"),
    ("MPI_Comm_size", "answers a number"),
    ("MPI_Comm_remote_*", "answers from a table"),
    ("MPI_Comm_group", "answers from a table"),
    ("MPI_Comm_compare", "compares tables"),
    ("MPI_Comm_test_inter", "answers a number"),
    ("MPI_Comm_get_parent", "answers a handle"),
    ("MPI_Comm_free", "gives a handle up: what is under way goes on"),
    ("MPI_Close_port", "gives a name up"),
    ("MPI_Cancel", "asks to cancel: the request completes in a call that is followed"),
    ("MPI_Grequest_complete", "completes the program's own request"),
    ("MPI_Session_get_*", "answers from a table"),
    ("MPI_Win_get_group", "answers from a table"),
    ("MPI_Win_shared_query*", "answers from a table"),
    ("MPI_Win_attach", "memory is the process's own"),
    ("MPI_Win_detach", "memory is the process's own"),
    ("MPI_Win_sync", "orders the process's own accesses"),
    ("MPI_File_get_*", "answers from a table, or asks the kernel"),
    ("MPI_File_delete", "waits in the kernel alone, which is seen"),
    ("MPI_File_seek", "sets a number"),
    ("MPI_File_read", "waits in the kernel alone, which is seen"),
    ("MPI_File_read_c", "as MPI_File_read"),
    ("MPI_File_read_at", "as MPI_File_read"),
    ("MPI_File_read_at_c", "as MPI_File_read"),
    ("MPI_File_read_shared*", "as MPI_File_read: the position that is shared is locked in the kernel"),
    ("MPI_File_write", "waits in the kernel alone, which is seen"),
    ("MPI_File_write_c", "as MPI_File_write"),
    ("MPI_File_write_at", "as MPI_File_write"),
    ("MPI_File_write_at_c", "as MPI_File_write"),
    ("MPI_File_write_shared*", "as MPI_File_write: the position that is shared is locked in the kernel"),
];

fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
    }
}

/// The functions that a library exports.
fn exported(nm: &str) -> BTreeSet<String> {
    let functions = nm.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        words.next().filter(|_| matches!(kind, "T" | "W" | "i"))
    });
    functions.map(|name| name.split('@').next().unwrap_or(name).to_owned()).collect()
}

fn exports_of(library: &Path) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    assert!(output.status.success(), "nm {}", library.display());
    exported(&String::from_utf8_lossy(&output.stdout))
}

/// The names that the library in a recorded program stands in for.
fn hooked(session: &Session) -> BTreeSet<String> {
    let mut command = longpole();
    command.args(["record", "--quiet", "--force", "--collector", "agent", "--mpi", "-o"]);
    command.arg(session.path().join("names.longpole"));
    let run = session.run(command.args(["--", "sh", "-c", "nm -D --defined-only ${LD_PRELOAD%%:*}"]));
    assert!(run.status.success(), "{}", run.stderr);
    exported(&run.stdout)
}

/// The libraries of MPI that a program is linked with.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = text.lines().filter_map(|line| line.split("=>").nth(1)?.split_whitespace().next());
    paths.filter(|path| path.contains("/libmpi")).map(PathBuf::from).collect()
}

/// `MPI_Send` for the name by which Fortran calls it.
fn name_in_c(name: &str) -> Option<String> {
    let function = name.strip_prefix("mpi_")?.strip_suffix('_').filter(|name| !name.ends_with('_'))?;
    let first = function.chars().next()?;
    let name = format!("MPI_{}{}", first.to_ascii_uppercase(), &function[first.len_utf8()..]);
    (!name.contains("_f08") && !name.contains("_large")).then_some(name)
}

#[test]
fn every_function_is_followed_or_named_or_waits_for_nobody() {
    let session = Session::start();
    let hooked = hooked(&session);
    assert!(hooked.contains("MPI_Send") && hooked.contains("mpi_send_"), "{} names", hooked.len());
    let (mut used, mut problems) = (BTreeSet::new(), Vec::new());
    for mpi in MpiImplementation::ALL {
        let in_c = or_skip!(mpi.build(session.path(), "late_sender.c", &[]));
        let in_fortran = or_skip!(mpi.build(session.path(), "fortran_ring.F90", &["-DMPIF_H"]));
        let libraries: BTreeSet<PathBuf> =
            libraries(&in_c).into_iter().chain(libraries(&in_fortran)).collect();
        let names: BTreeSet<String> = libraries.iter().flat_map(|library| exports_of(library)).collect();
        assert!(names.contains("MPI_Send") && names.contains("mpi_send_"), "{mpi:?}: {libraries:?}");
        for name in &names {
            // Callbacks, constants and capitals of Fortran are in capital letters.
            let is_of_c =
                name.starts_with("MPI_") && name.contains(|letter: char| letter.is_ascii_lowercase());
            let is_of_c =
                is_of_c && !name.ends_with("_f") && !name.ends_with("_f08") && !name.ends_with("_f08ts");
            let Some(function) = (if is_of_c { Some(name.clone()) } else { name_in_c(name) }) else {
                continue;
            };
            // Others are callbacks, and functions of Fortran alone.
            if !names.contains(&function) {
                continue;
            }
            let local = LOCAL.iter().find(|(pattern, _)| matches(&function, pattern));
            match (hooked.contains(name), local) {
                (true, None) => {}
                (false, Some(&(pattern, _))) => _ = used.insert(pattern),
                (true, Some(&(pattern, why))) => {
                    problems.push(format!("{name} ({mpi:?}) is followed or named, and `{pattern}` says that it need not be: {why}"));
                }
                (false, None) => problems
                    .push(format!("{name} ({mpi:?}) is neither followed nor named, and no reason is given")),
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let unused: Vec<&str> =
        LOCAL.iter().map(|&(pattern, _)| pattern).filter(|pattern| !used.contains(pattern)).collect();
    assert!(unused.is_empty(), "no implementation has {unused:?}");
}
