//! Whose code a procedure is: the table of modules and names that folding goes by.
//!
//! A library that is not in the table (zlib, a codec, a solver) is the program's own: the program chose it, and its names say
//! something. Only what every program has, or what a language brings along, is folded.

use super::Folding;
use super::go_library::is_of_go_library;
use super::python_library::{is_python_library, is_python_module, part_of_library};
use crate::paths::Procedure;
use crate::waiting_frames::AGENT;

/// Whose code a procedure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOwner {
    /// The program's, or of a library that it chose.
    Program,
    /// The C library's, an allocator's, a language's.
    Runtime,
    /// The kernel's.
    Kernel,
}

/// The C library, its threads and its loader, by the begin of the module's name.
const C_LIBRARIES: &[&str] = &["ld-linux", "ld-musl", "libc-2.", "libc.musl", "libc.so", "libpthread"];

/// Other modules whose every procedure is a runtime's, by the begin of their file name.
const RUNTIME_MODULES: &[&str] = &[
    AGENT,
    "[vdso]",
    "libBlocksRuntime.so",
    "libasan.so",
    "libc++.so",
    "libc++abi.so",
    "libclang_rt",
    "libcoreclr.so",
    "libdl",
    "libgcc_s",
    "libgfortran.so",
    "libgomp.so",
    "libiomp5.so",
    "libjemalloc.so",
    "libjli.so",
    "libjvm.so",
    "libm-2.",
    "libm.so",
    "libmimalloc.so",
    "libnode.so",
    "libomp.so",
    "librt-",
    "librt.so",
    "libstdc++.so",
    "libtcmalloc",
    "libtsan.so",
    "libubsan.so",
    "libunwind.so",
    "libunwind-",
];

/// Procedures of a runtime in whichever module, as in a static program: names that a standard reserves, or that only a
/// runtime has. With a trailing `*` by their begin.
const RUNTIME_C_NAMES: &[&str] = &[
    "aligned_alloc",
    "calloc",
    "free",
    "malloc",
    "malloc_consolidate",
    "memalign",
    "posix_memalign",
    "realloc",
    "sysmalloc",
    "xcalloc",
    "xmalloc",
    "xrealloc",
    "xstrdup",
    "g_malloc",
    "g_malloc0",
    "g_free",
    "unlink_chunk",
    "_int_free*",
    "_int_malloc",
    "_int_realloc",
    "__libc_*",
    "__GI_*",
    "_IO_*",
    "_dl_*",
    "__tls_get_addr*",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "__mem*",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "strncpy",
    "strtod",
    "strtol",
    "__str*",
    "printf",
    "__printf_*",
    "vfprintf",
    "__vfprintf_internal",
    "pthread_*",
    "__pthread_*",
    "___pthread_*",
    "__lll_lock*",
    "__nptl_*",
    "__futex_*",
    "__cxa_*",
    "_Unwind_*",
    "__gxx_personality*",
    "gomp_*",
    "GOMP_*",
    "__kmp_*",
    "__kmpc_*",
    "__restore_rt",
    "_start",
    "clone",
    "clone3",
    "__clone*",
    "start_thread",
    "Builtins_*",
];

/// Procedures of C++'s and Go's runtimes, by the begin of the name.
const RUNTIME_NAMES: &[&str] = &[
    "std::",
    "void std::",
    "bool std::",
    "__gnu_cxx::",
    "__cxxabiv1::",
    "__gthread",
    "operator new",
    "operator delete",
    "runtime.",
    "runtime/",
    "aeshashbody",
    "memeqbody",
    "cmpbody",
    "indexbytebody",
    "gogo",
    "v8::",
    "void v8::",
    "bool v8::",
];

/// Rust's libraries, by the begin of the name. C++ has namespaces of such names too, but its names have arguments.
const RUST_NAMES: &[&str] = &[
    "core::",
    "alloc::",
    "<core::",
    "<alloc::",
    "<std::",
    "hashbrown::",
    "<hashbrown::",
    "compiler_builtins::",
    "__rust_",
    "__rdl_",
    "__rg_",
];

/// Names of procedures that only start a program or a thread, or switch its stack; they are nobody's work. With a trailing `*` by
/// their begin, C names without leading underscores.
const STARTS: &[&str] = &[
    "start",
    "clone",
    "clone3",
    "start_thread",
    "advise_stack_range",
    "thread_start",
    "libc_start*",
    "libc_main*",
    "entry_SYSCALL*",
    "do_syscall_64",
    "x64_sys_*",
    "ret_from_fork*",
    "runtime.goexit*",
    "runtime.main",
    "runtime.mstart*",
    "runtime.rt0_go*",
    "rt0_*",
    "runtime.mcall",
    "runtime.systemstack*",
    "runtime.asmcgocall*",
    "runtime.cgocall*",
    "std::rt::*",
    "std::panicking::*",
    "std::panic::*",
    "std::sys::backtrace::*",
    "std::sys_common::backtrace::*",
    "std::thread::*",
    "std::sys::thread::*",
    "std::sys::pal::unix::thread::*",
    "core::ops::function::*",
    "<alloc::boxed::Box*",
    "<core::panic::*",
    "alloc::boxed::*",
    "std::execute_native_thread_routine*",
    "execute_native_thread_routine*",
    "std::__invoke*",
    "std::_Bind*",
    "node::Start(*",
    "node::NodeMainInstance::Run*",
    "node::SpinEventLoop*",
    "node::worker::Worker::StartThread*",
    "uv_run",
    "uv__io_poll",
    "uv__async_io",
    "gomp_thread_start",
    "kmp_launch_worker*",
    "kmp_launch_thread*",
    "thread_native_entry",
    "Thread::call_run*",
    "JavaThread::*",
    "JavaMain",
    "ThreadJavaMain",
    "ContinueInNewThread*",
    "CallJavaMainInNewThread*",
    "Builtins_JSEntry*",
    "Builtins_InterpreterEntryTrampoline",
    "Builtins_CallFunction*",
    "Builtins_Call_*",
    "v8::internal::(anonymous namespace)::Invoke*",
    "v8::internal::Execution::*",
    "v8::Function::Call*",
    "v8::Script::Run*",
    "node::Start*",
    "node::LoadEnvironment*",
    "node::InternalCallbackScope::*",
    "node::InternalMakeCallback*",
    "node::MakeCallback*",
    "node::NodeMainInstance::*",
    "node::(anonymous namespace)::PlatformWorkerThread*",
    "node::SpinEventLoop*",
    "uv_run*",
    "JLI_*",
    "JavaCalls::*",
    "call_stub",
    "StubRoutines*",
    "jni_*",
    "Py_BytesMain",
    "Py_Main",
    "Py_RunMain",
    "PyRun_*",
    "PyEval_EvalCode*",
    "PyEval_Vector*",
    "PyFunction_Vectorcall*",
    "PyVectorcall_*",
    "PyObject_Call*",
    "PyObject_FastCall*",
    "PyObject_Vectorcall*",
    "pymain_*",
    "run_eval_code_obj*",
    "run_mod*",
    "method_vectorcall*",
    "thread_run*",
    "pythread_wrapper*",
    "PyThread_*",
];

/// What CPython runs on behalf of Python's functions; its other procedures are named where no function of Python is known.
const INTERPRETER_NAMES: &[&str] = &["Py*", "do_call_core*", "call_function*", "cfunction_*", "slot_tp_*"];

/// Whose code this is.
pub(super) fn code_owner(procedure: &Procedure) -> CodeOwner {
    let Procedure { name, module, .. } = procedure;
    if module == "[kernel]" {
        return CodeOwner::Kernel;
    }
    if procedure.is_function_of_python() {
        let is_library = is_python_library(&procedure.file);
        return if is_library { CodeOwner::Runtime } else { CodeOwner::Program };
    }
    if procedure.is_region() || is_placeholder(name, module) {
        return CodeOwner::Program;
    }
    let begins = |table: &[&str]| table.iter().any(|prefix| name.starts_with(prefix));
    let is_runtime = procedure.is_of_c_library()
        || RUNTIME_MODULES.iter().any(|prefix| module.starts_with(prefix))
        || procedure.is_of_node()
        || begins(RUNTIME_NAMES)
        || (begins(RUST_NAMES) && !has_arguments(name))
        || (is_of_go_library(name) && !procedure.is_jit())
        || is_in(RUNTIME_C_NAMES, name.split('@').next().unwrap_or(name))
        || (procedure.is_of_python()
            && (is_in(INTERPRETER_NAMES, c_name(name)) || is_start_name(name) || is_unnamed(procedure)));
    if is_runtime { CodeOwner::Runtime } else { CodeOwner::Program }
}

/// Whether it is code of the program, or of a library that the program chose.
pub(crate) fn is_code_of_program(procedure: &Procedure) -> bool {
    code_owner(procedure) == CodeOwner::Program && !is_thread_start(procedure)
}

/// Whether a procedure only leads to what a thread does.
pub(crate) fn is_thread_start(procedure: &Procedure) -> bool {
    !procedure.is_function_of_python() && is_start_name(&procedure.name)
}

fn is_start_name(name: &str) -> bool {
    is_in(STARTS, name) || is_in(STARTS, c_name(name))
}

impl Procedure {
    /// Whether it is of the C library where that is a file of its own, or of the loader.
    #[must_use]
    pub fn is_of_c_library(&self) -> bool {
        C_LIBRARIES.iter().any(|prefix| self.module.starts_with(prefix))
    }

    /// Whether it is Node's own, and not a procedure of JavaScript. Other programs' names begin with `node` too.
    pub(super) fn is_of_node(&self) -> bool {
        matches!(self.module.as_str(), "node" | "nodejs")
    }

    /// Whether it was made at run time: a function of JavaScript, Python or Java.
    #[must_use]
    pub fn is_jit(&self) -> bool {
        self.module == "[jit]" || self.module == Procedure::PYTHON
    }

    /// Whether it is of the machinery by which Python imports modules and compiles them: who asked for that says more.
    pub(super) fn is_importlib(&self) -> bool {
        self.file.starts_with("<frozen importlib")
    }

    /// Whether it is a function of Python.
    #[must_use]
    pub fn is_function_of_python(&self) -> bool {
        self.module == Procedure::PYTHON
            || (self.module == "[jit]" && (self.file.ends_with(".py") || self.file.starts_with("<frozen ")))
    }

    /// Whether it is of Python's library, and hands work and results to other processes.
    #[must_use]
    pub fn passes_work(&self) -> bool {
        part_of_library(self) == Some(Folding::PASSING)
    }

    /// Whether it comes with Python: the interpreter, or its library.
    pub(crate) fn comes_with_python(&self) -> bool {
        let is_library = || self.is_function_of_python() && is_python_library(&self.file);
        self.is_of_python() || is_python_module(&self.module) || is_library()
    }

    /// Whether it is CPython's own, and not a procedure of Python.
    #[must_use]
    pub fn is_of_python(&self) -> bool {
        ["python", "libpython"].iter().any(|begin| {
            let version = self.module.strip_prefix(begin).unwrap_or_default();
            version.starts_with(['2', '3'])
        })
    }
}

/// Whether the procedure is known by its address only (`cc1+0x81e250`), or not even by that (`[libx264.so.164]`).
pub(super) fn is_unnamed(procedure: &Procedure) -> bool {
    let Procedure { name, module, .. } = procedure;
    procedure.is_address() || name.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) == Some(module)
}

/// What stands for a place that is not known is no library.
pub(super) fn is_placeholder(name: &str, module: &str) -> bool {
    matches!(module, "[unknown]" | longpole_symbols::PROBES)
        || matches!(name, "[no stack]" | "[unknown]" | "[lost]" | "[missing frames]")
}

/// Whether the name is of C++, with its arguments.
fn has_arguments(name: &str) -> bool {
    name.ends_with(')') || name.ends_with(") const")
}

/// The name without leading underscores, arguments and version.
fn c_name(name: &str) -> &str {
    let plain = name.split(['(', '@', '.']).next().unwrap_or(name);
    plain.trim_start_matches('_')
}

fn is_in(table: &[&str], name: &str) -> bool {
    table.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests;
