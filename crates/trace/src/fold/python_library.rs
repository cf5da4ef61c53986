//! What comes with Python, or as a package for it: a library in Python, and modules in C with the libraries that these call.
//!
//! ```text
//!   price app.py → _PyEval_EvalFrameDefault → EVP_hash|_hashlib.cpython-311-x86_64-linux-gnu.so → SHA256_Update|libcrypto.so.3
//!   └ owner        └ the interpreter           └ comes with Python                                └ called by that
//!   fit app.py   → _PyEval_EvalFrameDefault → DOUBLE_add|_multiarray_umath.cpython-311-x86_64-linux-gnu.so
//!   └ owner                                    └ comes as a package: nobody here has its source
//!   fit app.py   → _PyEval_EvalFrameDefault → step (fast.c)|fast.cpython-311-x86_64-linux-gnu.so
//!                                              └ owner: it was built here, with debug information
//! ```

use super::Folding;
use super::code_owner::{is_placeholder, is_unnamed};
use crate::paths::Procedure;

/// Modules in C that come with Python, without `_ctypes`: what that calls the program chose.
const MODULES: &[&str] = &[
    "_asyncio",
    "_bisect",
    "_blake2",
    "_bz2",
    "_codecs_cn",
    "_codecs_hk",
    "_codecs_iso2022",
    "_codecs_jp",
    "_codecs_kr",
    "_codecs_tw",
    "_contextvars",
    "_crypt",
    "_csv",
    "_curses",
    "_curses_panel",
    "_datetime",
    "_dbm",
    "_decimal",
    "_elementtree",
    "_gdbm",
    "_hashlib",
    "_heapq",
    "_json",
    "_lsprof",
    "_lzma",
    "_md5",
    "_multibytecodec",
    "_multiprocessing",
    "_opcode",
    "_pickle",
    "_posixshmem",
    "_posixsubprocess",
    "_queue",
    "_random",
    "_sha1",
    "_sha2",
    "_sha256",
    "_sha3",
    "_sha512",
    "_socket",
    "_sqlite3",
    "_ssl",
    "_statistics",
    "_struct",
    "_tkinter",
    "_typing",
    "_uuid",
    "_xxsubinterpreters",
    "_zoneinfo",
    "_zstd",
    "array",
    "audioop",
    "binascii",
    "cmath",
    "fcntl",
    "grp",
    "math",
    "mmap",
    "nis",
    "ossaudiodev",
    "pyexpat",
    "readline",
    "resource",
    "select",
    "spwd",
    "syslog",
    "termios",
    "unicodedata",
    "zlib",
];

/// Parts of the library that comes with Python, and what they do.
const PARTS: &[(&str, &str)] = &[
    ("/multiprocessing/popen_", Folding::STARTING),
    ("/multiprocessing/process.py", Folding::STARTING),
    ("/multiprocessing/context.py", Folding::STARTING),
    ("/multiprocessing/spawn.py", Folding::STARTING),
    ("/multiprocessing/", Folding::PASSING),
    ("/concurrent/futures/process.py", Folding::PASSING),
    ("/concurrent/futures/", "passing work to threads"),
    ("/queue.py", "passing work to threads"),
    ("/asyncio/", "in asyncio's event loop"),
    ("/json/", "handling JSON"),
    ("/logging/", "writing logs"),
    ("/pickle.py", "pickling"),
];

/// What functions of the library that comes with Python do, where that has a name; `None` for others.
pub(super) fn part_of_library(procedure: &Procedure) -> Option<&'static str> {
    let is_of_library = procedure.is_function_of_python() && is_python_library(&procedure.file);
    let part = PARTS.iter().find(|(part, _)| procedure.file.contains(part)).filter(|_| is_of_library);
    part.map(|&(_, words)| words)
}

/// The same of those that start processes and hand work to them.
pub(super) fn of_processes(procedure: &Procedure) -> Option<&'static str> {
    part_of_library(procedure).filter(|part| [Folding::STARTING, Folding::PASSING].contains(part))
}

/// Whether a source file is of the library that comes with Python, and not of a package that the program chose.
pub(super) fn is_python_library(file: &str) -> bool {
    let folders = ["/lib/python2.", "/lib/python3.", "/lib64/python2.", "/lib64/python3."];
    file.starts_with("<frozen ")
        || (folders.iter().any(|folder| file.contains(folder)) && !is_python_package(file))
}

/// Whether a source file is of a package that was installed.
fn is_python_package(file: &str) -> bool {
    file.contains("/site-packages/") || file.contains("/dist-packages/")
}

/// Whether a path that ends in this procedure executes what a module of others does when it is imported; `of_caller`: its caller does.
pub(super) fn imports(of_caller: bool, procedure: &Procedure) -> bool {
    let is_of_others = || is_python_library(&procedure.file) || is_python_package(&procedure.file);
    procedure.is_importlib() || (of_caller && (!procedure.is_function_of_python() || is_of_others()))
}

/// Whether a file of machine code is a module that comes with Python.
pub(super) fn is_python_module(module: &str) -> bool {
    is_extension(module) && module.split('.').next().is_some_and(|name| MODULES.contains(&name))
}

/// Whether a file of machine code is a module for Python.
pub(super) fn is_extension(module: &str) -> bool {
    module.contains(".cpython-") || module.ends_with(".abi3.so")
}

/// Whether it is the module by which a program calls libraries of its choice.
fn is_caller_of_libraries(module: &str) -> bool {
    module.starts_with("_ctypes.")
}

/// What a path executes beneath the innermost function of Python on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BelowPython {
    /// There is none.
    #[default]
    Outside,
    /// The interpreter, modules that nobody builds here, and libraries that these call.
    Own,
    /// A module of the program, and what that calls.
    Chosen,
}

impl BelowPython {
    /// The same with this procedure as the innermost one.
    pub fn enter(self, procedure: &Procedure) -> BelowPython {
        let module = procedure.module.as_str();
        let is_chosen = || {
            let is_library = ["lib", "ld-", "["].iter().any(|begin| module.starts_with(begin));
            let is_own = is_python_module(module) || is_library || procedure.is_of_python();
            // What is built here has debug information; packages have none.
            let is_built_here = !procedure.file.is_empty() || is_caller_of_libraries(module);
            procedure.is_jit() || (!is_own && is_built_here)
        };
        match self {
            _ if procedure.is_function_of_python() => BelowPython::Own,
            BelowPython::Own if is_chosen() => BelowPython::Chosen,
            below => below,
        }
    }

    /// Whether this procedure, the innermost one, is a part of the function of Python: nobody chose it, or its name says nothing.
    pub fn is_part(self, procedure: &Procedure) -> bool {
        match self {
            BelowPython::Outside => false,
            BelowPython::Own => {
                !procedure.is_function_of_python() && !is_placeholder(&procedure.name, &procedure.module)
            }
            BelowPython::Chosen => is_unnamed(procedure),
        }
    }
}
