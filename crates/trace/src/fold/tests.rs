use super::*;
use crate::paths::{CodePlace, Procedure};

/// Paths of a program `app` that is told by `name` or `name|module`.
fn path(paths: &mut Paths, from: PathId, names: &str) -> PathId {
    names.split(" > ").fold(from, |caller, told| {
        let (name, module) = told.split_once('|').unwrap_or((told, "app"));
        let procedure = Procedure { name: name.into(), module: module.into(), file: String::new() };
        let procedure = paths.procedure(procedure);
        let place = paths.place(CodePlace { procedure, line: 0 });
        paths.path(caller, place)
    })
}

fn name(paths: &Paths, path: PathId) -> &str {
    &paths.procedure_named_by(paths.innermost(path).expect("not the root").procedure).name
}

const ENCODE: &str = "_start > main > encode_frame > memset|libc.so.6 > asm_exc_page_fault|[kernel] > clear_page_erms|[kernel]";

#[test]
fn leaves_belong_to_the_procedure_of_the_program_that_called_them() {
    let mut paths = Paths::default();
    let leaf = path(&mut paths, Paths::ROOT, ENCODE);
    for (fold, owner, action) in [
        (Fold::None, "clear_page_erms", None),
        (Fold::Kernel, "memset", Some("zeroing pages")),
        (Fold::Libraries, "encode_frame", Some("zeroing pages")),
    ] {
        let folding = Folding::new(&paths, fold);
        assert_eq!(name(&paths, folding.owner(leaf)), owner, "{fold:?}");
        assert_eq!(folding.action(&paths, leaf), action, "{fold:?}");
    }
}

#[test]
fn what_a_library_calls_back_is_the_program_s() {
    let mut paths = Paths::default();
    let leaf = path(&mut paths, Paths::ROOT, "main > qsort|libc.so.6 > by_name > strcmp|libc.so.6");
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, folding.owner(leaf)), "by_name");
}

#[test]
fn a_thread_without_code_of_the_program_keeps_the_outermost_procedure_of_its_runtime() {
    let mut paths = Paths::default();
    let creator = path(&mut paths, Paths::ROOT, "_start > main > start_workers");
    let worker = path(
        &mut paths,
        creator,
        "clone3|libc.so.6 > start_thread|libc.so.6 > gomp_thread_start|libgomp.so.1 > gomp_team_barrier_wait|libgomp.so.1 > do_futex|[kernel]",
    );
    let begin = std::iter::successors(Some(worker), |&path| paths.caller(path))
        .take_while(|&path| path != creator)
        .last()
        .expect("below its creator");
    paths.begin_thread(begin);
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(
        name(&paths, folding.owner(worker)),
        "gomp_team_barrier_wait",
        "not start_workers, not clone3"
    );
}

#[test]
fn a_stack_that_was_cut_off_in_a_library_is_not_its_creator_s_work() {
    let mut paths = Paths::default();
    let creator = path(&mut paths, Paths::ROOT, "main > start_workers");
    let cut_off = path(&mut paths, creator, "memcpy|libc.so.6");
    paths.begin_thread(cut_off);
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, folding.owner(cut_off)), "memcpy");
}

#[test]
fn a_procedure_without_a_name_belongs_to_its_nearest_caller_with_one_in_the_file() {
    let mut paths = Paths::default();
    let part = path(&mut paths, Paths::ROOT, "main|cc1 > pass|cc1 > cc1+0x10|cc1 > cc1+0x20|cc1");
    let other = path(&mut paths, Paths::ROOT, "main|cc1 > libz.so.1+0x10|libz.so.1");
    let stripped = path(&mut paths, Paths::ROOT, "__libc_start_main|libc.so.6 > app+0x10|app > app+0x20|app");
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, folding.owner(part)), "pass");
    assert_eq!(name(&paths, folding.owner(other)), "libz.so.1+0x10");
    assert_eq!(name(&paths, folding.owner(stripped)), "app+0x20", "no name is lost where there is none");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Kernel).owner(part)), "cc1+0x20");
}

#[test]
fn a_stripped_interpreter_of_python_is_its_loop_and_not_addresses() {
    let mut paths = Paths::default();
    let told = "__libc_start_main|libc.so.6 > python3.11+0x10|python3.11 > _PyRun_AnyFileObject|python3.11 > \
                _PyEval_EvalFrameDefault|python3.11 > python3.11+0x20|python3.11";
    let leaf = path(&mut paths, Paths::ROOT, told);
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, folding.owner(leaf)), "_PyEval_EvalFrameDefault");
    assert_eq!(folding.action(&paths, leaf), Some("in the Python interpreter"));
}

#[test]
fn what_python_s_interpreter_does_belongs_to_the_function_of_python() {
    let mut paths = Paths::default();
    let told = "__libc_start_main|libc.so.6 > _PyEval_EvalFrameDefault|libpython3.12.so.1.0 > load g.py|[python] > \
                float_repr|libpython3.12.so.1.0 > quorem|libpython3.12.so.1.0";
    let leaf = path(&mut paths, Paths::ROOT, told);
    let of_python = path(&mut paths, leaf, "EVP_hash|_hashlib.cpython-312-x86_64-linux-gnu.so");
    let library =
        path(&mut paths, of_python, "SHA256_Update|libcrypto.so.3 > libcrypto.so.3+0x10|libcrypto.so.3");
    let package = path(&mut paths, leaf, "DOUBLE_add|_umath.cpython-312-x86_64-linux-gnu.so");
    let called = path(&mut paths, package, "dgemm_kernel|libopenblas.so.0");
    let built = built_path(&mut paths, leaf, "step", "fast.cpython-312-x86_64-linux-gnu.so");
    let inner = path(&mut paths, built, "fft_execute|libfftw3.so.3");
    let stripped = path(&mut paths, built, "libfftw3.so.3+0x10|libfftw3.so.3");
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, folding.owner(leaf)), "load g.py");
    assert_eq!(folding.action(&paths, leaf), Some("in the Python interpreter"));
    assert_eq!(name(&paths, folding.owner(library)), "load g.py");
    assert_eq!(folding.action(&paths, library), Some("in Python's standard library"));
    assert_eq!(name(&paths, folding.owner(called)), "load g.py");
    assert_eq!(folding.action(&paths, called), Some("in an extension module"));
    assert_eq!(name(&paths, folding.owner(built)), "step", "whoever has debug information can change it");
    assert_eq!(name(&paths, folding.owner(inner)), "fft_execute");
    assert_eq!(name(&paths, folding.owner(stripped)), "step", "an address says nothing");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Kernel).owner(leaf)), "quorem");
}

/// A path whose last procedure has debug information.
fn built_path(paths: &mut Paths, from: PathId, name: &str, module: &str) -> PathId {
    let procedure = paths.procedure(Procedure {
        name: name.into(),
        module: module.into(),
        file: format!("/src/{name}.c"),
    });
    let place = paths.place(CodePlace { procedure, line: 1 });
    paths.path(from, place)
}

/// A path of procedures of a program, functions of Python among them: `name.py:folder`.
fn python_path(paths: &mut Paths, told: &str) -> PathId {
    told.split(" > ").fold(Paths::ROOT, |caller, name| {
        let (name, module, file) = match name.split_once(':') {
            Some((name, folder)) => (name, Procedure::PYTHON, format!("{folder}/{name}")),
            None => (name, "python3.11", String::new()),
        };
        let procedure = Procedure { name: name.into(), module: module.into(), file };
        let procedure = paths.procedure(procedure);
        let place = paths.place(CodePlace { procedure, line: 0 });
        paths.path(caller, place)
    })
}

/// To whom such a path belongs, and what is done there.
fn owner_in_python(told: &str) -> (String, Option<&'static str>) {
    let mut paths = Paths::default();
    let leaf = python_path(&mut paths, told);
    let folding = Folding::new(&paths, Fold::Libraries);
    (name(&paths, folding.owner(leaf)).to_owned(), folding.action(&paths, leaf))
}

#[test]
fn python_s_own_library_belongs_to_the_function_of_the_program_that_called_it() {
    let owner = owner_in_python;
    let library = "/usr/lib/python3.11/json";
    let called = owner(&format!("main > load a.py:/src > decode.py:{library} > _PyEval_EvalFrameDefault"));
    assert_eq!(called, ("load a.py".to_owned(), Some("handling JSON")));
    let other = owner("main > load a.py:/src > nlargest heapq.py:/usr/lib/python3.11");
    assert_eq!(other, ("load a.py".to_owned(), Some("in Python's standard library")));
    let back = owner(&format!("main > load a.py:/src > decode.py:{library} > start_hook a.py:/src"));
    assert_eq!(
        back,
        ("start_hook a.py".to_owned(), None),
        "what it calls back is the program's, whatever it is called"
    );
    let package = owner("main > load a.py:/src > fit.py:/usr/lib/python3.11/site-packages/learn");
    assert_eq!(package, ("fit.py".to_owned(), None));
    let alone = owner("main > run_loop > decode.py:/usr/lib/python3.11/json > _PyEval_EvalFrameDefault");
    assert_eq!(alone, ("decode.py".to_owned(), Some("in the Python interpreter")), "where there is no other");
    let compiled = owner(
        "main > compile.py:/usr/lib/python3.11 > call_removed <frozen importlib._bootstrap>:<frozen importlib._bootstrap>",
    );
    assert_eq!(compiled.0, "compile.py", "not what the import machinery calls");
    let called_like_c = owner("main > memcpy_all a.py:/src > _PyEval_EvalFrameDefault");
    assert_eq!(called_like_c.0, "memcpy_all a.py");
}

/// Whatever the interpreter and the kernel do for that.
#[test]
fn what_python_does_to_hand_work_to_processes_is_that() {
    let pool = "main > solve a.py:/src > process.py:/usr/lib/python3.11/concurrent/futures";
    let passing = ("solve a.py".to_owned(), Some(Folding::PASSING));
    assert_eq!(owner_in_python(&format!("{pool} > _PyEval_EvalFrameDefault > memmove")), passing);
    let pickled = format!("{pool} > reduction.py:/usr/lib/python3.11/multiprocessing");
    assert_eq!(owner_in_python(&pickled), passing);
    let item = format!("{pool} > price a.py:/src > _PyEval_EvalFrameDefault");
    assert_eq!(owner_in_python(&item).0, "price a.py");
    let own = "main > solve a.py:/src > process.py:/src/concurrent/futures";
    assert_eq!(owner_in_python(own), ("process.py".to_owned(), None), "the program's own file");
}

#[test]
fn what_is_done_to_import_a_module_of_others_belongs_to_who_imports_it() {
    let owner = owner_in_python;
    let import = "load <frozen importlib._bootstrap>:<frozen importlib._bootstrap>";
    let package = "/venv/lib/python3.11/site-packages/learn";
    let importing = Some("importing modules");
    let of_package =
        owner(&format!("main > setup a.py:/src > {import} > begin.py:{package} > parse.py:{package}"));
    assert_eq!(of_package, ("setup a.py".to_owned(), importing));
    let in_c = owner(&format!("main > setup a.py:/src > {import} > begin.py:{package} > PyObject_Call"));
    assert_eq!(in_c, ("setup a.py".to_owned(), importing));
    let own = format!("main > setup a.py:/src > {import} > begin b.py:/src");
    assert_eq!(owner(&own), ("begin b.py".to_owned(), None), "the program's own module can be changed");
    let called = owner(&format!("{own} > fit.py:{package}"));
    assert_eq!(called, ("fit.py".to_owned(), None), "it calls the package, and imports it no more");
    let alone = owner(&format!("main > run.py:/usr/lib/python3.11 > {import} > begin.py:{package}"));
    assert_eq!(alone, ("run.py".to_owned(), importing), "of `python3 -m`");
}

#[test]
fn a_procedure_inlined_into_several_is_divided_among_them() {
    let mut paths = Paths::default();
    let extra = path(&mut paths, Paths::ROOT, "main > extra_step > burn");
    let common = path(&mut paths, Paths::ROOT, "main > common_step > burn");
    let procedure = |paths: &Paths, path: PathId| paths.innermost(path).expect("not the root").procedure;
    let caller = |paths: &Paths, path: PathId| procedure(paths, paths.caller(path).expect("has one"));
    let (burn, outer) = (procedure(&paths, extra), caller(&paths, extra));
    paths.inlined(burn, outer);
    let once = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, once.owner(extra)), "burn", "inlined into one: a part that has a name");
    let outer = caller(&paths, common);
    paths.inlined(burn, outer);
    let folding = Folding::new(&paths, Fold::Libraries);
    assert_eq!(name(&paths, folding.owner(extra)), "extra_step");
    assert_eq!(name(&paths, folding.owner(common)), "common_step");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Kernel).owner(common)), "burn");
}

#[test]
fn a_closure_inlined_into_its_own_procedure_is_part_of_it() {
    let mut paths = Paths::default();
    let fold_of = |paths: &mut Paths, outer: &str, closure: &str| {
        let path = path(paths, Paths::ROOT, &format!("main > {outer} > {closure}"));
        let procedure = |path: PathId| paths.innermost(path).expect("not the root").procedure;
        let ids = (procedure(path), procedure(paths.caller(path).expect("has one")));
        paths.inlined(ids.0, ids.1);
        name(paths, Folding::new(paths, Fold::Libraries).owner(path)).to_owned()
    };
    assert_eq!(fold_of(&mut paths, "sum::total", "sum::total::{closure}"), "sum::total");
    assert_eq!(
        fold_of(&mut paths, "all(int)", "all(int)::{lambda(int)#1}::operator()(int) const"),
        "all(int)"
    );
    assert_eq!(fold_of(&mut paths, "all(int)", "all(int)::$_0::operator()(int) const"), "all(int)");
    // A closure of another procedure, and another procedure with such a name.
    assert_eq!(fold_of(&mut paths, "map", "caller::{closure}"), "caller::{closure}");
    assert_eq!(fold_of(&mut paths, "sum", "sum::total2"), "sum::total2");
}

#[test]
fn a_closure_without_the_name_of_its_procedure_belongs_to_its_caller() {
    let mut paths = Paths::default();
    let leaf = path(&mut paths, Paths::ROOT, "main > t::total > core::iter::fold<usize> > {closure#0}");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Libraries).owner(leaf)), "t::total");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Kernel).owner(leaf)), "{closure#0}");
    let lambda = path(&mut paths, Paths::ROOT, "main > total(int) > operator()");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Libraries).owner(lambda)), "total(int)");
    let named = path(&mut paths, Paths::ROOT, "main > t::total::{closure#0}");
    assert_eq!(name(&paths, Folding::new(&paths, Fold::Libraries).owner(named)), "t::total::{closure#0}");
}

#[test]
fn a_closure_or_body_stands_in_the_procedure_before_the_compiler_s_mark() {
    for (name, outer) in [
        ("table::fill::{closure#0}", "table::fill"),
        ("smooth._omp_fn.1", "smooth"),
        ("smooth(int) [clone ._omp_fn.0]", "smooth(int)"),
        ("smooth.omp_outlined", "smooth"),
        ("smooth.omp_task_entry.", "smooth"),
        (".omp_task_entry.", ".omp_task_entry."),
        ("smooth(int) [clone .isra.0]", "smooth(int) [clone .isra.0]"),
    ] {
        assert_eq!(enclosing_procedure(name), outer);
    }
}
