//! Names and lines of programs that real compilers made.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use longpole_event::ModuleKind;
use longpole_symbols::{CodeModule, NamedAddress, Symboliser, Unwinder};
use object::{Object, ObjectSymbol};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/code/names.cpp")
}

/// The line of the source that bears a mark.
fn line(mark: &str) -> u32 {
    let text = std::fs::read_to_string(source()).unwrap();
    text.lines().position(|line| line.contains(&format!("// line-{mark}"))).unwrap() as u32 + 1
}

fn run(program: &str, arguments: &[&str]) {
    let run = Command::new(program).args(arguments).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

fn compile(folder: &Path, options: &[&str]) -> PathBuf {
    let program = folder.join("program");
    let source = source();
    let paths = [source.to_str().unwrap(), "-o", program.to_str().unwrap()];
    run("g++", &[options, &paths[..]].concat());
    program
}

/// Addresses of a function by its mangled name.
fn addresses(program: &Path, name: &str) -> Vec<u64> {
    let bytes = std::fs::read(program).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
    (symbol.address()..symbol.address() + symbol.size()).collect()
}

fn name(program: &Path, addresses: &[u64]) -> Vec<NamedAddress> {
    Symboliser::new().symbolise(&CodeModule::of_file(program).unwrap(), addresses)
}

const OUTER: &str = "_ZN4shop5outerEPVi";
const ADD: &str = "_ZN4shop7CounterIiE3addERKi";

#[test]
fn inlined_calls_are_places_from_the_innermost_to_the_function_around() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2", "-g"]);
    let names = name(&program, &addresses(&program, OUTER));
    let deepest =
        names.iter().find(|named| named.places.len() == 3).expect("an address within both inlined calls");
    // Of a static function compilers record no more than the plain name.
    let procedures: Vec<&str> = deepest.places.iter().map(|place| place.procedure.as_str()).collect();
    assert_eq!(procedures, ["innermost", "shop::middle(int volatile*)", "shop::outer(int volatile*)"]);
    let lines: Vec<u32> = deepest.places.iter().map(|place| place.line).collect();
    assert_eq!(lines, [line("innermost"), line("middle"), line("outer")]);
    assert!(deepest.places.iter().all(|place| place.file.as_deref() == source().to_str()));
}

#[test]
fn templates_are_named_in_every_kind_of_program() {
    for options in [&["-O1", "-g"][..], &["-O1", "-static"], &["-O1", "-no-pie"], &["-O1", "-static-pie"]] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path(), options);
        for named in name(&program, &addresses(&program, ADD)) {
            assert_eq!(
                named.places.last().unwrap().procedure,
                "shop::Counter<int>::add(int const&)",
                "{options:?}"
            );
        }
    }
}

#[test]
fn addresses_of_stripped_programs_are_grouped_by_function() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O1"]);
    let (outer, add) = (addresses(&program, OUTER), addresses(&program, ADD));
    run("strip", &[program.to_str().unwrap()]);
    for function in [outer, add] {
        let expected = format!("program+{:#x}", function[0]);
        for named in name(&program, &function) {
            assert_eq!(named.places.len(), 1);
            assert_eq!(named.places[0].procedure, expected);
        }
    }
}

#[test]
fn a_stripped_program_is_named_by_its_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2", "-g"]);
    let outer = addresses(&program, OUTER);
    let debug = folder.path().join("program.debug");
    let (program_path, debug_path) = (program.to_str().unwrap(), debug.to_str().unwrap());
    run("objcopy", &["--only-keep-debug", program_path, debug_path]);
    run("strip", &[program_path]);
    run("objcopy", &[&format!("--add-gnu-debuglink={debug_path}"), program_path]);
    let names = name(&program, &outer);
    assert!(names.iter().any(|named| named.places.len() == 3));
    assert!(names.iter().all(|named| named.places.last().unwrap().procedure == "shop::outer(int volatile*)"));
}

#[test]
fn a_file_that_was_deleted_after_mapping_is_named_still() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O2", "-g"]);
    let outer = addresses(&program, OUTER);
    let module = CodeModule::of_file(&program).unwrap();
    std::fs::remove_file(&program).unwrap();
    let names = Symboliser::new().symbolise(&module, &outer);
    assert!(names.iter().all(|named| named.places.last().unwrap().procedure == "shop::outer(int volatile*)"));
}

#[test]
fn exported_functions_of_libc_have_the_name_that_programs_call() {
    let libc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"].map(Path::new);
    let libc = libc.into_iter().find(|path| path.exists()).expect("a C library");
    let bytes = std::fs::read(libc).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    for function in ["pthread_mutex_lock", "sched_yield", "realloc", "qsort"] {
        let symbol = elf.dynamic_symbols().find(|symbol| symbol.name() == Ok(function)).unwrap();
        let named = &name(libc, &[symbol.address() + 1])[0];
        assert_eq!(named.places.last().unwrap().procedure, function);
    }
}

#[test]
fn addresses_outside_of_code_have_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-O1"]);
    for named in name(&program, &[0, 1, u64::MAX, 1 << 40]) {
        assert_eq!(named, NamedAddress::default());
    }
}

#[test]
fn functions_of_stripped_go_programs_are_named_by_gos_own_table() {
    if !Command::new("go").arg("version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: this machine has no Go");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("work.go");
    let text = "package main\n//go:noinline\nfunc work(n int) int { return n * n }\nfunc main() { println(work(3)) }\n";
    std::fs::write(&source, text).unwrap();
    let program = folder.path().join("program");
    let build = |options: &[&str]| {
        let paths = ["-o", program.to_str().unwrap(), source.to_str().unwrap()];
        run("go", &[&["build"], options, &paths[..]].concat());
    };
    for mode in ["-buildmode=exe", "-buildmode=pie"] {
        build(&[mode]);
        let work = addresses(&program, "main.work");
        build(&[mode, "-ldflags=-s -w"]);
        for named in name(&program, &work) {
            assert_eq!(named.places.last().unwrap().procedure, "main.work", "{mode}");
        }
    }
}

#[test]
fn the_kernels_code_in_each_process_is_named() {
    let mut unwinder = Unwinder::new();
    unwinder.load_maps(std::process::id()).unwrap();
    let vdso = unwinder.modules().iter().find(|module| module.kind == ModuleKind::Vdso).expect("a vdso");
    let by_name = CodeModule::new(vdso.path.clone(), vdso.build_id.clone(), ModuleKind::Vdso, None);
    for module in [vdso, &by_name] {
        let names = Symboliser::new().symbolise(module, &(0x600..0x1400).collect::<Vec<u64>>());
        let is_clock =
            |named: &NamedAddress| named.places.iter().any(|place| place.procedure == "clock_gettime");
        assert!(names.iter().any(is_clock), "{:?}", names.iter().flat_map(|named| &named.places).next());
    }
}

#[test]
fn code_of_the_running_kernel_is_named_where_it_may_be_seen() {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let find = |line: &str| {
        let (address, rest) = line.split_once(' ')?;
        (rest == "T schedule").then(|| u64::from_str_radix(address, 16).unwrap())
    };
    let Some(address) = text.lines().find_map(find).filter(|&address| address != 0) else {
        eprintln!("skipped: this machine hides the addresses of its kernel");
        return;
    };
    let module = CodeModule::new("[kernel]".into(), Vec::new(), ModuleKind::Kernel, None);
    let names = Symboliser::new().symbolise(&module, &[address + 3]);
    assert_eq!(names[0].places[0].procedure, "schedule");
}

static A_LOCK: std::sync::Mutex<u64> = std::sync::Mutex::new(0);

#[test]
fn a_static_variable_is_found_by_its_address_in_the_process() {
    let pid = std::process::id();
    let mut unwinder = longpole_symbols::Unwinder::new();
    unwinder.load_maps(pid).unwrap();
    let address = &raw const A_LOCK as u64;
    drop(A_LOCK.lock().unwrap());
    let named = |address: u64| {
        let data = unwinder.data(pid, address)?;
        let module = &unwinder.modules()[data.module as usize];
        longpole_symbols::name_variables(module, &[data.address]).pop().flatten()
    };
    let of_lock = named(address).unwrap();
    assert!(of_lock.name.ends_with("naming::A_LOCK"), "{of_lock:?}");
    assert_eq!(of_lock.offset, 0);
    assert_eq!(named(address + 4).unwrap().offset, 4);
    let on_the_stack = 0_u64;
    assert_eq!(named(&raw const on_the_stack as u64), None);
    let on_the_heap = Box::new(0_u64);
    assert_eq!(named(&raw const *on_the_heap as u64), None);
}

/// Compilers leave the file of what they inlined at instructions that they made themselves.
#[test]
fn a_function_is_in_one_file_whatever_its_lines_say() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("own.c"), folder.path().join("own"));
    let text = "int sum(volatile int *cells)\n{\n    int all = cells[0];\n#line 70 \"foreign.h\"\n    all += cells[1];\n\
        #line 6 \"own.c\"\n    return all + cells[2];\n}\nint main(int count, char **unused)\n{\n    (void)unused;\n    \
        return sum((int[]){count, 2, 3});\n}\n";
    std::fs::write(&source, text).unwrap();
    run("gcc", &["-g", "-O1", "-fno-inline", source.to_str().unwrap(), "-o", program.to_str().unwrap()]);
    let places: Vec<_> = name(&program, &addresses(&program, "sum"))
        .into_iter()
        .filter_map(|mut named| named.places.pop())
        .collect();
    assert!(
        places.iter().all(|place| place.file.as_deref().is_some_and(|file| file.ends_with("own.c"))),
        "{places:?}"
    );
    // Of the other file's the line is not known.
    let lines: std::collections::BTreeSet<u32> = places.iter().map(|place| place.line).collect();
    assert!(lines.contains(&0) && lines.contains(&3) && !lines.contains(&70), "{lines:?}");
}

/// Stable compilers mangle so that a hash alone tells closures apart; their debug information has a number.
#[test]
fn closures_of_one_procedure_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("closures.rs");
    let text = "#[inline(never)]\nfn begin(body: impl FnOnce(u64) -> u64) -> u64 { body(std::process::id().into()) }\n\
        fn main() {\n    let first = begin(#[inline(never)] |n| n * 3 + 1);\n    \
        let second = begin(#[inline(never)] |n| n * 5 + 2);\n    println!(\"{first} {second}\");\n}\n";
    std::fs::write(&source, text).unwrap();
    for mangling in ["legacy", "v0"] {
        let program = folder.path().join(mangling);
        let mangle = format!("symbol-mangling-version={mangling}");
        let options = ["-O", "-g", "-Z", "unstable-options", "-C", &mangle];
        let built = Command::new("rustc")
            .env("RUSTC_BOOTSTRAP", "1")
            .args(options)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let bytes = std::fs::read(&program).unwrap();
        let elf = object::File::parse(&*bytes).unwrap();
        let in_main =
            |symbol: &object::Symbol<'_, '_>| symbol.name().is_ok_and(|name| name.contains("8closures4main"));
        let functions: Vec<u64> = elf.symbols().filter(in_main).map(|symbol| symbol.address()).collect();
        let named = name(&program, &functions);
        let mut names: Vec<&str> =
            named.iter().map(|named| &*named.places.last().unwrap().procedure).collect();
        names.retain(|name| name.contains("::{closure"));
        names.sort();
        assert_eq!(names, ["closures::main::{closure#0}", "closures::main::{closure#1}"], "{mangling}");
    }
}

/// Linkers put the start files first; their functions have no sizes, and would name all code behind them that has no symbol.
#[test]
fn code_without_a_symbol_is_not_the_start_files() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("local.c"), folder.path().join("local"));
    let text = "__asm__(\".text\\n.skip 256, 0x90\\n.Lwork: ret\\n.globl after\\n.type after, @function\\nafter: call .Lwork\\n\
        ret\\n.size after, . - after\\n\");\nvoid after(void);\nint main(void)\n{\n    after();\n    return 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    let at = |names: Vec<NamedAddress>| {
        names.into_iter().filter_map(|mut named| named.places.pop().map(|place| place.procedure)).collect()
    };
    for flags in [&["-g"][..], &[]] {
        let paths = [source.to_str().unwrap(), "-o", program.to_str().unwrap()];
        run("gcc", &[&["-O1"], flags, &paths[..]].concat());
        let after = addresses(&program, "after");
        let named: Vec<String> = at(name(&program, &after));
        assert!(named.iter().all(|name| name == "after"), "{flags:?} {named:?}");
        // The label stands a byte before.
        let unnamed: Vec<String> = at(name(&program, &[after[0] - 1]));
        assert_eq!(unnamed, [] as [String; 0], "{flags:?}");
    }
}
