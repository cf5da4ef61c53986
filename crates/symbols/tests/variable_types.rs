//! Elements and fields of the variables of programs that this machine's compilers build.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::path::Path;
use std::process::Command;

use longpole_symbols::{CodeModule, VariableType, variable_types, variables_of};

const C: &str = "
#include <stdatomic.h>
typedef struct { unsigned first; unsigned short second; } inner;
struct outer { _Atomic long count; inner in; char rest[20]; union { int a; float b; } either; };
typedef struct outer part;
static volatile part table[3];
const long grid[4][6] = {{1}};
long lone = 3;
char *words[5] = {0};
long total(int i) { static struct { int low, high; } last; last.low += i; return last.low; }
int main(int n, char **v) { table[n].count++; lone += n; words[1] = v[0]; return total(n) + grid[n][n]; }
";

const RUST: &str = "
use std::sync::atomic::{AtomicU64, Ordering};
struct Part { count: AtomicU64, rest: [u8; 24] }
static PARTS: [Part; 4] = [const { Part { count: AtomicU64::new(0), rest: [1; 24] } }; 4];
static NUMBERS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
fn main() {
    let at = std::env::args().count();
    PARTS[at].count.fetch_add(1, Ordering::Relaxed);
    NUMBERS[at].fetch_add(PARTS[at].rest[at] as u64, Ordering::Relaxed);
}
";

const FORTRAN: &str = "
module sums
  integer(8) :: totals(16)
  real(8) :: matrix(10, 20)
end module
program main
  use sums
  totals(command_argument_count() + 1) = 1
  matrix(1, 1) = totals(2)
  print *, totals(1), matrix(2, 2)
end program
";

/// The type and bytes of a variable of a built program.
fn type_of(program: &Path, name: &str) -> (VariableType, u64) {
    let module = CodeModule::of_file(program).unwrap();
    let variables = variables_of(&module);
    let found = variables.iter().find(|one| one.name.contains(name)).unwrap_or_else(|| panic!("no {name}"));
    let types = variable_types(&module);
    (types.get(&found.address).unwrap_or_else(|| panic!("no type of {name}")).clone(), found.size)
}

fn fields(of: &VariableType) -> Vec<(&str, u64, u64)> {
    of.fields.iter().map(|field| (field.name.as_str(), field.offset, field.size)).collect()
}

/// Builds a program; `None` where the compiler is not there.
fn build(folder: &Path, compiler: &str, (ending, source): (&str, &str)) -> Option<std::path::PathBuf> {
    let (file, program) = (folder.join(format!("data.{ending}")), folder.join(format!("data-{compiler}")));
    std::fs::write(&file, source).unwrap();
    let run =
        Command::new(compiler).current_dir(folder).arg("-g").arg(&file).arg("-o").arg(&program).output();
    let Ok(run) = run else {
        println!("skipped: no {compiler}");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(program)
}

#[test]
fn elements_and_fields_of_c_are_known() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in ["gcc", "clang"] {
        let Some(program) = build(folder.path(), compiler, ("c", C)) else { continue };
        let (table, size) = type_of(&program, "table");
        assert_eq!((table.element, size), (40, 120), "{compiler}");
        let expected =
            [("count", 0, 8), ("in.first", 8, 4), ("in.second", 12, 2), ("rest", 16, 20), ("either", 36, 4)];
        assert_eq!(fields(&table), expected, "{compiler}");
        assert_eq!(type_of(&program, "grid").0, VariableType { element: 8, fields: Vec::new() });
        assert_eq!((type_of(&program, "lone").0.element, type_of(&program, "words").0.element), (8, 8));
        assert_eq!(fields(&type_of(&program, "last").0), [("low", 0, 4), ("high", 4, 4)]);
    }
}

#[test]
fn elements_and_fields_of_rust_and_fortran_are_known() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(program) = build(folder.path(), "rustc", ("rs", RUST)) {
        let (parts, size) = type_of(&program, "PARTS");
        assert_eq!((parts.element, size), (32, 128));
        let mut named: Vec<&str> = parts.fields.iter().map(|field| field.name.as_str()).collect();
        named.sort_unstable();
        assert!(named[0].starts_with("count") && named[1] == "rest", "{named:?}");
        assert_eq!(type_of(&program, "NUMBERS").0.element, 8);
    }
    if let Some(program) = build(folder.path(), "gfortran", ("f90", FORTRAN)) {
        assert_eq!(type_of(&program, "totals").0.element, 8);
        assert_eq!(type_of(&program, "matrix").0.element, 8);
    }
}
